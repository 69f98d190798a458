"""What was built and when it pays, against sums by hand, a search question by question, and draws of our own."""

from dataclasses import replace

import made_runs
import numpy as np
import pytest

from pytest_tokenbench.records import Question
from pytest_tokenbench.reporting import document, markdown, wording
from pytest_tokenbench.run_folder import Run

# Questions of each document in made_runs: three on the mill, one on the quay.
BUILT = np.array([1100, 1100, 1100, 2050])
ASKED = np.array([3, 3, 3, 1])
A_TOKENS = np.array(list(made_runs.A_INPUT.values()))


def drawn() -> np.ndarray:
    """How often each of the four questions comes up in each of the registered draws."""
    return np.random.Generator(np.random.PCG64(0)).multinomial(4, [1 / 4] * 4, size=10_000)


def percentiles(samples: np.ndarray) -> tuple[float, float]:
    return tuple(np.percentile(samples, [2.5, 97.5]))


def made(run: Run, condition: str = "C") -> dict:
    return document.build(run)["conditions"][condition]


def against(
    baseline: str, *, tokens: dict[str, int], recipes: dict[str, dict], built: dict[str, int]
) -> dict:
    """What X comes to where each question takes so many tokens; `recipes` has the options of what is built."""
    questions = tuple(Question(f"q{n}", "mill", "?", ("x",), answerable=True) for n in range(3))
    trials = tuple(
        made_runs.observation(question, name, count)
        for question in questions
        for name, count in tokens.items()
    )
    preparations = tuple(
        replace(made_runs.preparation("mill", count, 0), key=name, options=recipes[name])
        for name, count in built.items()
    )
    record = replace(
        made_runs.record(),
        questions=questions,
        conditions=tuple(tokens),
        baseline=baseline,
        recipes=dict.fromkeys(recipes, "summary"),
        recipe_options=recipes,
    )
    return document.build(Run(record, trials, preparations))["conditions"]["X"]


def test_what_was_built_for_a_document_is_a_mean_over_documents_in_every_draw():
    figure = made(made_runs.run())["preparation"]["tokens_per_document"]
    counts = drawn() / ASKED
    assert figure["estimate"] == (1100 + 2050) / 2
    assert (figure["low"], figure["high"]) == pytest.approx(percentiles(counts @ BUILT / counts.sum(axis=1)))
    assert figure["n"] == 4


def test_spread_over_its_questions_each_has_its_part_of_its_document():
    figure = made(made_runs.run())["preparation"]["tokens_per_question"]
    assert figure["estimate"] == (1100 + 2050) / 4
    assert (figure["low"], figure["high"]) == pytest.approx(percentiles(drawn() @ (BUILT / ASKED) / 4))


def test_the_ends_of_a_break_even_are_those_of_the_same_draws():
    def first(built: float, saved: float) -> int:
        return next(n for n in range(1, 1000) if built < n * saved)

    dear = replace(made_runs.run(), preparations=tuple(
        replace(one, input_tokens=10 * one.input_tokens) for one in made_runs.PREPARATIONS
    ))  # fmt: skip
    found = made(dear)["break_even"]
    built = np.array([10_100, 10_100, 10_100, 20_050])
    counts = drawn()
    parts = counts / ASKED
    firsts = [
        first(one, saved)
        for one, saved in zip(parts @ built / parts.sum(axis=1), counts @ (A_TOKENS - 100) / 4, strict=True)
    ]
    assert found["questions_per_document"] == first((10_100 + 20_050) / 2, (A_TOKENS - 100).mean())
    assert [found["low"], found["high"]] == [
        sorted(firsts)[249],  # 2.5% of the 9,999 steps between draws, rounded outwards
        sorted(firsts)[9750],
    ]


@pytest.mark.parametrize(
    ("x", "a", "built", "told"),
    [
        # One recipe with the same options is built once for both, whatever it took.
        ((100, {"n": 1}), (101, {"n": 1}), {"X": 9000}, "1"),
        ((100, {"n": 1}), (100, {"n": 1}), {"X": 9000}, "never"),
        # 9,000 less 8,000 are even after ten questions that save 100 each.
        ((100, {"n": 2}), (200, {"n": 1}), {"X": 9000, "A": 8000}, "11"),
        ((100, {"n": 2}), (200, {"n": 1}), {"X": 7000, "A": 8000}, "1"),
        ((200, {"n": 2}), (100, {"n": 1}), {"X": 9000, "A": 8000}, "never"),
        # What is not built pays for ten questions that take 100 more, and in the tenth it is even.
        ((200, None), (100, {"n": 1}), {"A": 1000}, "up to 9"),
        ((200, None), (100, {"n": 1}), {"A": 1001}, "up to 10"),
        ((200, None), (100, {"n": 1}), {"A": 100}, "never"),
        ((100, None), (100, {"n": 1}), {"A": 1000}, "1"),
        ((100, None), (200, {"n": 1}), {"A": 1000}, "1"),
        ((100, None), (200, {"n": 1}), {}, "-"),
    ],
)
def test_what_the_baseline_had_to_build_counts_too(x, a, built, told):
    sides = {"X": x, "A": a}
    found = against(
        "A",
        tokens={name: tokens for name, (tokens, _) in sides.items()},
        recipes={name: options for name, (_, options) in sides.items() if options is not None},
        built=built,
    )
    assert wording.break_even(found) == told


def varied(*tokens: int) -> dict:
    """The break-even of C where its questions take so many."""
    run = made_runs.run()
    taken = dict(zip(made_runs.A_INPUT, tokens, strict=True))
    trials = [
        replace(one, input_tokens=taken[one.question]) if one.condition == "C" else one
        for one in run.observations
    ]
    return made(replace(run, observations=tuple(trials)))


def test_an_end_at_which_it_never_pays_is_said_so():
    found = varied(100, 3000, 100, 100)
    assert found["break_even"]["questions_per_document"] == 4
    assert found["break_even"]["high"] == "never"
    found = varied(3000, 3000, 100, 100)
    assert "never" in found["break_even"]
    assert isinstance(found["break_even"]["low"], int)


def test_one_question_alone_has_no_interval():
    run = made_runs.run()
    alone = replace(run, record=replace(run.record, questions=made_runs.QUESTIONS[:1]))
    found = made(alone)
    assert (found["break_even"]["low"], found["break_even"]["high"]) == (None, None)
    assert found["preparation"]["tokens_per_document"]["low"] is None


def test_the_report_has_the_intervals_and_the_terminals_table_not():
    run = made_runs.run()
    text = markdown.render(document.build(run), run.record)
    (row,) = (line for line in text.splitlines() if line.startswith("| C") and "1,955" in line)
    assert [cell.strip() for cell in row.strip("|").split("|")] == [
        "C", "1,575 [1,100, 1,955]", "788 [367, 1,629]", "2 [2, 2]",
    ]  # fmt: skip
    assert "spread [95%]" not in markdown.render(
        document.build(replace(run, record=replace(run.record, recipes={}))), run.record
    )
