"""How much of a support desk's prompt a model needs: blocks are left out, one by one and together, and asked again."""

from pytest_tokenbench import Block, NeededContext

study = NeededContext(
    "needed-context",
    cases="data/support.json",
    blocks=[
        Block("system"),
        Block("examples", parts="each"),
        Block("passages", parts="ranked"),
        Block("tail", follow_ups_only=True),
    ],
    threshold=0.05,
    production={"turn": {"multi_turn": 0.23, "single_turn": 0.77}},
    selector=[8, 9, 10, 11, 12, 14],
)


@study.trials
def test_needed_context(trial):
    trial.ask()


@study.hypothesis("N1")
def n1(results):
    """The retrieved passages are needed: without them accuracy drops by 5 points or more."""
    assert results.verdict("passages") == "needed"


@study.hypothesis("N2")
def n2(results):
    """All that came out removable can be left out together: the 95% interval of the drop stays below 5 points."""
    assert results.composed_drop().high < 0.05


@study.hypothesis("N3")
def n3(results):
    """At most 80% of the blocks' tokens are needed."""
    assert results.needed_fraction().estimate <= 0.80
