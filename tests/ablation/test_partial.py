"""A run that was not asked to its end: no needed fraction where it is open what can go together."""

import made_ablation as made
import pytest

from pytest_tokenbench.ablation import report
from pytest_tokenbench.hypotheses import judge
from pytest_tokenbench.records import Ruling
from pytest_tokenbench.results import Unavailable
from pytest_tokenbench.study import Hypothesis

MAIN = [made.question(case) for case in made.MAIN]
OPEN = (
    "whether what came out removable (system, examples/1, examples/2, examples/4, passages/3, tail) can be left out "
    "together was not measured: condition composed was not measured"
)


def at_most_70_percent(results):
    """At most 70% is needed."""
    assert results.needed_fraction().estimate <= 0.7


class TestWithoutTheComposedArm:
    # As after `-k "base or no- or again"`, or a kill before the last stages.
    RESULTS = made.run(until=1)

    def test_the_fractions_are_not_known_and_say_why(self):
        found = report.build(made.ablation(), self.RESULTS)
        assert found["needed_fraction"] == {"unavailable": OPEN}
        assert found["oracle"]["unavailable"] == OPEN
        with pytest.raises(Unavailable, match="can be left out together was not measured"):
            self.RESULTS.oracle_fraction()

    def test_a_hypothesis_on_them_is_unavailable_and_not_failed(self):
        verdict = judge(Hypothesis("N3", at_most_70_percent), self.RESULTS).verdict
        assert (verdict.ruling, verdict.reason) == (Ruling.UNAVAILABLE, OPEN)

    def test_so_it_is_after_the_first_stage(self):
        with pytest.raises(Unavailable, match="what came out removable \\(system, tail\\)"):
            made.run(until=0).needed_fraction()

    def test_and_where_trials_of_it_are_missing_with_which_it_may_come_out_otherwise(self):
        # Four of 40 lost are the threshold of 10 points; with one missing it depends.
        results = made.run(broken=[("composed", case) for case in made.MAIN])
        with pytest.raises(Unavailable, match="condition composed has no measured trial"):
            results.needed_fraction()


def test_where_nothing_came_out_removable_it_is_known_without():
    results = made.told(
        made.ablation(),
        MAIN,
        lambda _case, arm: None if arm.stage else arm.kind in {"base", "again"},
        lambda _case, arm: 100 - (sum(made.WORDS[arm.blocks[0]]) if arm.kind == "without" else 0),
    )
    assert "unavailable" in report.build(made.ablation(), results)["composed"]
    assert results.needed_fraction().estimate == 1


def test_measured_to_the_end_it_is_known():
    verdict = judge(Hypothesis("N3", at_most_70_percent), made.run()).verdict
    assert verdict.ruling is Ruling.FAILED
