"""What a drop says of a part: the edges of each finding, and how many cases decide, against scipy's exact interval."""

import math

import pytest
import scipy.stats
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from pytest_tokenbench.ablation.findings import Finding, cases_to_decide, rule
from pytest_tokenbench.statistics import Estimate, Unvaried

THRESHOLD = 0.05


def drop(estimate, low, high, n=100):
    return Estimate(estimate, low, high, n)


@pytest.mark.parametrize(
    ("low", "high", "finding"),
    [
        (0.05, 0.2, Finding.NEEDED),
        (0.0499, 0.2, Finding.UNDECIDED),
        (-0.02, 0.0499, Finding.REMOVABLE),
        (-0.02, 0.05, Finding.UNDECIDED),
        (-0.3, -0.1, Finding.REMOVABLE),
        (-0.02, 0.2, Finding.UNDECIDED),
    ],
)
def test_needed_from_the_threshold_on_and_removable_below_it(low, high, finding):
    assert rule(drop((low + high) / 2, low, high), THRESHOLD, None, 1.0).finding is finding


@pytest.mark.parametrize(("floor", "refused"), [(None, False), (0.0, False), (0.05, False), (0.0501, True)])
def test_a_threshold_below_the_churn_floor_is_refused_whatever_the_drop(floor, refused):
    found = rule(drop(0.4, 0.3, 0.5), THRESHOLD, floor, 1.0)
    assert (found.finding is Finding.REFUSED) is refused
    assert ("below the churn floor: 5.0%" in found.reason) is refused


def test_without_an_interval_nothing_is_decided_and_no_number_is_named():
    found = rule(drop(0.0, None, None, n=1), THRESHOLD, None, 1.0)
    assert (found.finding, found.n_to_decide) == (Finding.UNDECIDED, None)
    assert found.reason == "its drop has no interval (n=1)"


@pytest.mark.parametrize("base", [0.0, 0.03, THRESHOLD])
def test_where_no_block_can_cost_the_threshold_there_is_no_finding(base):
    found = rule(drop(0.0, 0.0, 0.0), THRESHOLD, None, base)
    assert found.finding is Finding.REFUSED
    assert found.reason.startswith(
        f"with every block {100 * base:.1f}% of the cases are right, so that no block can cost"
    )


def test_how_many_cases_decide_by_hand():
    # From 0.02 the upper end is 0.06 away, the threshold 0.03: half as far. That takes four times the cases.
    assert cases_to_decide(drop(0.02, -0.04, 0.08 + 1e-12), THRESHOLD) == 401
    # From 0.08 the lower end is 0.04 away and 0.03 is wanted: 100 * 16 / 9 = 177.8. The upper end does not matter.
    assert cases_to_decide(drop(0.08, 0.04, 0.5), THRESHOLD) == 178
    assert "about 178 cases would decide" in rule(drop(0.08, 0.04, 0.5), THRESHOLD, None, 1.0).reason


def test_up_to_ten_million_cases_are_named():
    # The lower end is 0.25 away and 0.005 is wanted, a fiftieth: 2,500 times the cases.
    assert cases_to_decide(drop(0.055, -0.195, 0.5, 3_999), THRESHOLD) == pytest.approx(9_997_500, rel=1e-6)
    assert cases_to_decide(drop(0.055, -0.195, 0.5, 4_001), THRESHOLD) is None


def test_on_the_threshold_no_number_of_cases_decides():
    found = rule(drop(THRESHOLD, 0.0, 0.1), THRESHOLD, None, 1.0)
    assert found.n_to_decide is None
    assert "no number of cases would decide" in found.reason


@settings(deadline=None)
@given(
    estimate=st.floats(-0.5, 0.5),
    below=st.floats(0.001, 0.5),
    above=st.floats(0.001, 0.5),
    n=st.integers(2, 500),
)
def test_the_number_is_the_first_at_which_an_interval_that_narrows_with_its_root_clears_the_threshold(
    estimate, below, above, n
):
    found = rule(drop(estimate, estimate - below, estimate + above, n), THRESHOLD, None, 1.0)
    # Nearer than this more than ten million cases may be wanted, and none is named.
    assume(found.finding is Finding.UNDECIDED and abs(estimate - THRESHOLD) > 5e-3)

    def clears(cases, slack):
        width = math.sqrt(n / cases)
        if estimate < THRESHOLD:
            # Nor does any number whose exact interval for the fewest lost cases does not.
            lost, gained = max(estimate, 0) * cases, max(-estimate, 0)
            exact = scipy.stats.beta.ppf(0.975, lost + 1, cases - lost) - gained
            return max(estimate + above * width, exact) <= THRESHOLD + slack
        return estimate - below * width >= THRESHOLD - slack

    assert found.n_to_decide > n
    assert clears(found.n_to_decide, 1e-9)
    assert found.n_to_decide == n + 1 or not clears(found.n_to_decide - 1, -1e-9)


@pytest.mark.parametrize("threshold", [0.02, 0.05, 0.1, 0.25])
def test_without_any_drop_the_number_is_the_first_that_the_exact_interval_clears(threshold):
    first = next(
        n
        for n in range(2, 1_000)
        if scipy.stats.binomtest(0, n).proportion_ci(0.95, method="exact").high < threshold
    )
    unvaried = Unvaried(0.0, -0.9, 0.9, 5)
    assert cases_to_decide(unvaried, threshold) == first
