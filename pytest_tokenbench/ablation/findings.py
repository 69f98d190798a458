"""What a drop says of the part that was left out: needed, removable on this set, or undecided. Pure functions."""

import math
from dataclasses import dataclass
from enum import StrEnum

from pytest_tokenbench.statistics import Estimate, Unvaried

_TAIL = 0.025


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


def rule(drop: Estimate, threshold: float, floor: float | None, base: float) -> Ruled:
    """The finding on a drop (a share).

    `floor` is the churn floor, None where it was not measured; `base` the accuracy with every block.
    """
    line = f"the threshold of {_points(threshold)}"
    refused = refusal(threshold, floor, base)
    if refused is not None:
        return Ruled(Finding.REFUSED, refused)
    if drop.low is None or drop.high is None:
        return Ruled(Finding.UNDECIDED, f"its drop has no interval (n={drop.n})")
    ends = f"[{100 * drop.low:.1f}, {100 * drop.high:.1f}]"
    if drop.low >= threshold:
        return Ruled(Finding.NEEDED, f"its drop of {_points(drop.estimate)} {ends} reaches {line}")
    if drop.high < threshold:
        return Ruled(Finding.REMOVABLE, f"its drop of {_points(drop.estimate)} {ends} stays below {line}")
    wanted = cases_to_decide(drop, threshold)
    said = "no number of cases would decide" if wanted is None else f"about {wanted} cases would decide"
    return Ruled(Finding.UNDECIDED, f"its drop may lie on either side of {line} {ends}; {said}", wanted)


def refusal(threshold: float, floor: float | None, base: float) -> str | None:
    """Why there can be no findings with this threshold; None where there can."""
    if base <= threshold:
        return (
            f"with every block {100 * base:.1f}% of the cases are right, so that no block can cost the threshold of "
            f"{_points(threshold)}"
        )
    if floor is not None and threshold < floor:
        return (
            f"the threshold of {_points(threshold)} lies below the churn floor: {100 * floor:.1f}% of the cases come out "
            "otherwise when every block is sent once more"
        )
    return None


def cases_to_decide(drop: Estimate, threshold: float) -> int | None:
    """How many cases would decide if the drop stayed what it is, None where it stands on the threshold.

    An interval narrows with the root of the number of cases; one without variation as `unseen_bound` does.
    """
    distance = abs(drop.estimate - threshold)
    if drop.low is None or drop.high is None or not distance:
        return None
    if isinstance(drop, Unvaried):
        return math.floor(math.log(_TAIL) / math.log1p(-distance)) + 1
    if drop.estimate > threshold:
        return max(drop.n + 1, math.ceil(drop.n * ((drop.estimate - drop.low) / distance) ** 2))
    # No fewer than would decide if not a single case was lost.
    least = math.floor(math.log(_TAIL) / math.log1p(-threshold)) + 1
    return max(drop.n + 1, least, math.ceil(drop.n * ((drop.high - drop.estimate) / distance) ** 2))


def _points(share: float) -> str:
    return f"{100 * share:.1f} points"
