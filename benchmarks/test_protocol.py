"""Seven ways to give a model a document: what each costs in tokens and gives up in accuracy."""

from pytest_tokenbench import Study
from pytest_tokenbench.conditions import Chunks, Croutons, FullText, Summary

study = Study(
    "protocol",
    questions="questions.json",
    corpus="corpus",
    conditions=[
        FullText("A"),
        Chunks("B2", top=2),
        Chunks("B4", top=4),
        Summary("C", max_words=600),
        Croutons("D10", top=10),
        Croutons("D25", top=25),
        Croutons("Dall"),
    ],
    baseline="A",
)


@study.trials
def test_protocol(trial):
    trial.ask()


@study.hypothesis("H1")
def h1(results):
    """D25 uses at least 80% fewer input tokens per question than A."""
    assert results.reduction("input_tokens", "D25", versus="A").estimate >= 0.80


@study.hypothesis("H2")
def h2(results):
    """D25 accuracy is within 5 points of A: the 95% interval of the paired difference stays above -5 points."""
    assert results.difference("accuracy", "D25", versus="A").low > -0.05


@study.hypothesis("H3")
def h3(results):
    """D25 makes up answers on unanswerable questions no more often than B4."""
    assert results.estimate("made_up", "D25").estimate <= results.estimate("made_up", "B4").estimate
