"""What a hypothesis claims of a difference, told from how it behaves, and what is said where that cannot be told."""

import contextlib
import sys

import pytest

from pytest_tokenbench.claims import Claim, UnplannedError, claim_of
from pytest_tokenbench.records import Question
from pytest_tokenbench.results import Figure
from pytest_tokenbench.study import Hypothesis

QUESTIONS = (Question("q1", "d", "Who?", ("A",), answerable=True),)


def claimed(function) -> Claim:
    return claim_of(Hypothesis("H", function), ("A", "B4", "D25"), "A", QUESTIONS)


def of_d25(results, measure="accuracy"):
    return results.difference(measure, "D25", versus="A")


def above_minus_5(results):
    assert of_d25(results).low > -0.05


def turned_round(results):
    assert not of_d25(results).low <= -0.125, f"lost {of_d25(results).estimate} of {of_d25(results).n}"


def by_hand(results):
    figure = results.difference("abstention", condition="D25", versus=results.baseline)
    sys.stdout.write(figure.name)
    if figure.low < -0.033:
        pytest.fail("too far down")


def within_3_of_none(results):
    assert of_d25(results, "made_up").high <= 0.03


@pytest.mark.parametrize(
    ("function", "measure", "margin", "is_upper"),
    [
        (above_minus_5, "accuracy", 0.05, False),
        (turned_round, "accuracy", 0.125, False),
        (by_hand, "abstention", 0.033, False),
        (within_3_of_none, "made_up", 0.03, True),
    ],
)
def test_the_margin_is_where_the_verdict_turns(function, measure, margin, is_upper, capsys):
    found = claimed(function)

    assert found == Claim("H", measure, "D25", "A", pytest.approx(margin, abs=1e-8), is_upper=is_upper)
    assert capsys.readouterr().out == ""


def a_gain(results):
    assert of_d25(results).low > 0


def a_clear_gain(results):
    assert of_d25(results).low > 0.02


def a_reduction(results):
    assert results.reduction("input_tokens", "D25", versus="A").estimate >= 0.80


def two_estimates(results):
    assert results.estimate("made_up", "D25").estimate <= results.estimate("made_up", "B4").estimate


def two_differences(results):
    for name in ("B4", "D25"):
        assert results.difference("accuracy", name, versus="A").low > -0.05


def the_estimate(results):
    assert of_d25(results).estimate > -0.05


def the_estimate_as_well(results):
    assert of_d25(results).low > -0.05
    assert of_d25(results).estimate >= 0


def both_ends(results):
    assert of_d25(results).low > -0.05
    assert of_d25(results).high < 0.05


def a_band(results):
    assert -0.05 < of_d25(results).low < 0.05


def whatever(results):
    assert of_d25(results).low > -7


def no_binary_measure(results):
    assert of_d25(results, "f1").low > -0.05


def no_such_measure(results):
    assert of_d25(results, "acuracy").low > -0.05


def no_such_condition(results):
    assert results.difference("accuracy", "D99", versus="A").low > -0.05


def mistaken(results):
    assert 1 / of_d25(results).low > -0.05


def skipping(results):
    if of_d25(results).low < 0:
        pytest.skip("not today")


def asking_elsewhere(results):
    assert results.clustered_difference("accuracy", "D25", "A").low > -0.05


def hiding_what_it_asks(results):
    with contextlib.suppress(Exception):
        results.observations  # noqa: B018
    assert of_d25(results).low > -0.05


def asking_nothing(results):
    assert results.repeats


@pytest.mark.parametrize(
    ("function", "why"),
    [
        (a_gain, "it claims that there is a difference"),
        (a_clear_gain, "it claims that there is a difference"),
        (a_reduction, "it asks for the reduction of input_tokens of D25 versus A, not for"),
        (two_estimates, "it asks for made_up of D25, made_up of B4, not for the interval"),
        (two_differences, "it rests on 2 differences at once"),
        (the_estimate, "its verdict does not turn on one end of the interval alone"),
        (the_estimate_as_well, "its verdict does not turn on one end of the interval alone"),
        (both_ends, "its verdict does not turn on one end of the interval alone"),
        (a_band, "its verdict does not turn on one end of the interval alone"),
        (whatever, "its verdict does not turn on one end of the interval alone"),
        (no_binary_measure, "f1 is not right or wrong"),
        (no_such_measure, "there is no measure 'acuracy'"),
        (no_such_condition, "D99 is none of the conditions that are run"),
        (mistaken, "tried on made-up numbers it ends in ZeroDivisionError"),
        (skipping, "tried on made-up numbers it ends in not today"),
        (asking_elsewhere, "it asks for results.clustered_difference, not for"),
        (hiding_what_it_asks, "it asks for results.observations, beside a difference"),
        (asking_nothing, "it asks for no difference"),
    ],
)
def test_what_cannot_be_planned_says_why(function, why):
    with pytest.raises(UnplannedError) as raised:
        claimed(function)
    assert str(raised.value).startswith(why)


def test_a_stand_in_has_all_that_a_figure_has():
    asked = []

    def looking(results):
        asked.append(of_d25(results))
        assert asked[-1].low > -0.05

    claimed(looking)
    public = {name for name in dir(Figure) if not name.startswith("_")} - {"source"}
    assert public <= set(dir(asked[0]))
