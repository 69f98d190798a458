"""The upper end of a drop: one lost case of many is not removable, and weights allow no more than is possible."""

import made_ablation as made
import numpy as np
import pytest
import scipy.stats

from pytest_tokenbench.ablation import reweighting
from pytest_tokenbench.ablation.findings import Finding, rule
from pytest_tokenbench.ablation.losses import Group, allowed
from pytest_tokenbench.statistics import Estimate

COUNT = 80


def exact(lost, n):
    return scipy.stats.beta.ppf(0.975, lost + 1, n - lost)


def case(place, kind="single_turn"):
    return made.replace(made.question("a00"), id=f"w{place:02}", slices={"turn": kind})


def losing(lost, gained=0, kinds=lambda _place: "single_turn", threshold=0.05):
    """Eighty cases of which the first are lost without the tail and the last are gained."""

    def is_right(one, arm):
        place = int(one.id[1:])
        if place >= COUNT - gained:
            return arm.id == "no-tail"
        return not (arm.id == "no-tail" and place < lost)

    asked = [case(place, kinds(place)) for place in range(COUNT)]
    return made.told(made.ablation(threshold=threshold), asked, is_right)


def test_one_lost_case_of_eighty_is_not_removable_at_five_points():
    results = losing(1)
    assert results.drop("tail").high == pytest.approx(exact(1, 80))
    found = results.ruled("no-tail")
    assert found.finding is Finding.UNDECIDED
    wanted = found.n_to_decide
    assert exact(wanted / 80, wanted) < 0.05 <= exact((wanted - 1) / 80, wanted - 1)
    assert losing(0).verdict("tail") == "removable"


def test_gained_cases_are_taken_off_the_bound():
    drops = np.array([1.0] * 2 + [-1.0] * 4 + [0.0] * 74)
    found = allowed(Estimate(-0.025, -0.09, 0.01, 80), [Group.of(drops)])
    assert found.high == pytest.approx(exact(2, 80) - 4 / 80)


def test_with_weights_no_slice_loses_more_than_all_it_has():
    # Five follow-ups of eighty cases are all lost and nothing else: 23 points, and what 75 cases allow of the rest.
    results = losing(5, kinds=lambda place: "multi_turn" if place < 5 else "single_turn")
    found = reweighting.drop(results, "no-tail")
    assert found.estimate == pytest.approx(0.23)
    assert found.high == pytest.approx(0.23 + 0.77 * exact(0, 75))


def test_cases_to_decide_with_weights_are_more_than_there_are_and_the_first_that_decide():
    # No case is lost, but five follow-ups know too little for a share of 23%.
    results = losing(0, kinds=lambda place: "multi_turn" if place < 5 else "single_turn")
    found = reweighting.ruled(results, "no-tail")
    assert found.finding is Finding.UNDECIDED
    assert found.n_to_decide > 80

    def high(n):
        # All of the allowance is with the follow-ups, whose cases are few for their weight.
        return 0.23 * (1 - 0.025 ** (1 / (n * 5 / 80)))

    assert high(found.n_to_decide) < 0.05 <= high(found.n_to_decide - 1)


def test_where_nothing_varied_more_cases_are_wanted_than_there_are():
    found = rule(Estimate(0.0, 0.0, 0.0, 30), 0.05, None, 1.0)
    assert found.finding is Finding.REMOVABLE
    given = allowed(Estimate(0.0, 0.0, 0.0, 30), [Group(30, 1.0, 0.0, 0.0)])
    assert rule(given, 0.05, None, 1.0).n_to_decide == 72


def test_a_filler_s_length_has_the_bound_too():
    results = losing(0)
    assert results.drop_of("no-tail", versus="filler-tail").high == pytest.approx(exact(0, 80))
