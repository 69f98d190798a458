"""What a drop says of the part that was left out: needed, removable on this set, or undecided. Pure functions."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from pytest_tokenbench.ablation.losses import Group, at_least, with_cases
from pytest_tokenbench.statistics import Estimate

UNMEASURED_STRESS = "it was not measured on all stress cases"
_MOST_CASES = 10_000_000
# By how much rounding may carry a share off the threshold that it stands on.
_ROUNDING = 1e-9


class Finding(StrEnum):
    """What an arm found about what it leaves out."""

    NEEDED = "needed"
    REMOVABLE = "removable"
    UNDECIDED = "undecided"
    REFUSED = "refused"
    NOT_MEASURED = "not measured"


@dataclass(frozen=True, slots=True)
class Ruled:
    """A finding, its reason in words, and where it is undecided how many cases would decide, None if no number would."""

    finding: Finding
    reason: str
    n_to_decide: int | None = None


def rule(
    drop: Estimate, threshold: float, floor: float | None, base: float, groups: Sequence[Group] = ()
) -> Ruled:
    """The finding on a drop (a share).

    `floor` is the churn floor, None where it was not measured; `base` the accuracy with every block; `groups` the cases
    that the drop rests on, without which it is taken to have the fewest lost ones that it can have.
    """
    line = f"the threshold of {_points(threshold)}"
    refused = refusal(threshold, floor, base)
    if refused is not None:
        return Ruled(Finding.REFUSED, refused)
    if drop.low is None or drop.high is None:
        return Ruled(Finding.UNDECIDED, f"its drop has no interval (n={drop.n})")
    ends = f"[{100 * drop.low:.1f}, {100 * drop.high:.1f}]"
    found = by_interval(drop.low, drop.high, threshold)
    if found is Finding.NEEDED:
        return Ruled(found, f"its drop of {_points(drop.estimate)} {ends} reaches {line}")
    if found is Finding.REMOVABLE:
        return Ruled(found, f"its drop of {_points(drop.estimate)} {ends} stays below {line}")
    wanted = cases_to_decide(drop, threshold, groups)
    said = "no number of cases would decide" if wanted is None else f"about {wanted} cases would decide"
    return Ruled(Finding.UNDECIDED, f"its drop may lie on either side of {line} {ends}; {said}", wanted)


def by_interval(low: float | None, high: float | None, threshold: float) -> Finding:
    """The finding on a drop by the ends of its interval alone."""
    if low is None or high is None:
        return Finding.UNDECIDED
    if reaches(low, threshold):
        return Finding.NEEDED
    return Finding.UNDECIDED if reaches(high, threshold) else Finding.REMOVABLE


def reaches(share: float, threshold: float) -> bool:
    """Whether a share is the threshold or more: the one comparison of either, to which rounding makes no difference."""
    return share >= threshold - _ROUNDING


def refusal(threshold: float, floor: float | None, base: float) -> str | None:
    """Why there can be no findings with this threshold; None where there can."""
    if reaches(threshold, base):
        return (
            f"with every block {100 * base:.1f}% of the cases are right, so that no block can cost the threshold of "
            f"{_points(threshold)}"
        )
    if floor is not None and not reaches(threshold, floor):
        return (
            f"the threshold of {_points(threshold)} lies below the churn floor: {100 * floor:.1f}% of the cases come out "
            "otherwise when every block is sent once more"
        )
    return None


def no_room_on_stress(base: float, threshold: float) -> str | None:
    """Why nothing can be said to clear the stress cases; None where enough of them are right with every block."""
    if not reaches(threshold, base):
        return None
    return (
        f"with every block {100 * base:.1f}% of the stress cases are right, so that no block can cost the threshold of "
        f"{_points(threshold)} there"
    )


def cases_to_decide(drop: Estimate, threshold: float, groups: Sequence[Group] = ()) -> int | None:
    """How many cases would decide if the same shares of them were lost, None where no number would.

    That is where the drop stands on the threshold, or so near it that more than ten million cases are wanted. More are
    wanted than there are: an interval narrows with the root of the number of cases, and as what they allow does.
    """
    if drop.low is None or drop.high is None or abs(drop.estimate - threshold) <= _ROUNDING:
        return None
    behind = groups or at_least(drop)

    def decides(n: int) -> bool:
        low, high = _ends(with_cases(drop, behind, n))
        return reaches(low, threshold) if drop.estimate > threshold else not reaches(high, threshold)

    below, above = drop.n, 2 * drop.n
    while not decides(above):
        if above >= _MOST_CASES:
            return None
        below, above = above, min(2 * above, _MOST_CASES)
    while above - below > 1:
        middle = (below + above) // 2
        below, above = (below, middle) if decides(middle) else (middle, above)
    return above


def _ends(drop: Estimate) -> tuple[float, float]:
    assert drop.low is not None  # noqa: S101  # for the type checker
    assert drop.high is not None  # noqa: S101
    return drop.low, drop.high


def _points(share: float) -> str:
    return f"{100 * share:.1f} points"
