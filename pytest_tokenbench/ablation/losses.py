"""The ends of a drop: what the cases that were lost allow, however little resamples of them vary. Pure functions."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

from pytest_tokenbench.distributions import share_bound, unseen_bound
from pytest_tokenbench.statistics import Estimate, FloatArray, Unvaried, reaching, widened


@dataclass(frozen=True, slots=True)
class Group:
    """Cases that were measured both ways: how many, the weight that they have, and the shares of them lost and gained."""

    size: float
    weight: float
    lost: float
    gained: float

    @classmethod
    def of(cls, drops: FloatArray, weight: float = 1.0) -> Self:
        """The group of cases with these drops, none of which is NaN."""
        n = drops.size
        lost, gained = float(drops[drops > 0].sum()), float(-drops[drops < 0].sum())
        return cls(n, weight, lost / n, gained / n)

    @property
    def is_unvaried(self) -> bool:
        """Whether all of them came out alike, so that resamples of them know nothing."""
        return (self.lost, self.gained) in {(0.0, 0.0), (1.0, 0.0), (0.0, 1.0)}

    @property
    def most(self) -> float:
        """The largest share that can be lost: the exact bound, at most 1."""
        return share_bound(min(self.lost * self.size, self.size), self.size)


def at_least(drop: Estimate) -> tuple[Group, ...]:
    """The group with the fewest lost cases that such a drop has."""
    return (Group(drop.n, 1.0, max(drop.estimate, 0.0), max(-drop.estimate, 0.0)),)


def scaled(groups: Sequence[Group], factor: float) -> tuple[Group, ...]:
    """The groups as they would be with so many times the cases, of which the same shares are lost."""
    return tuple(replace(group, size=group.size * factor) for group in groups)


def unseen(groups: Sequence[Group]) -> float:
    """What so many cases allow of which none is lost."""
    return unseen_bound([group.size for group in groups], [group.weight for group in groups])


def allowed(drop: Estimate, groups: Sequence[Group]) -> Estimate:
    """A drop whose ends know what its cases allow.

    Without weights the upper end is nowhere below the exact bound on the share of lost cases, less the share of gained
    ones. With weights it is nowhere below what cases without any loss allow, and nowhere above what is possible:
    the weighted mean of the bounds by group; and the lower end is at least as far down as the groups allow in which
    nothing varied. Where nothing varied at all either end is what such cases without a change allow.
    """
    found = widened(drop, unseen(groups))
    if len(groups) == 1:
        return reaching(found, _least(groups))
    found = reaching(found, _least(groups), sum(group.weight * group.most for group in groups))
    return found if found.low is None else replace(found, low=min(found.low, _lowest(drop.estimate, groups)))


def with_cases(drop: Estimate, groups: Sequence[Group], n: int) -> Estimate:
    """The drop as it would be with `n` cases of which the same shares are lost: ends as near as the root of n says."""
    if drop.low is None or drop.high is None:
        return drop
    more = scaled(groups, n / drop.n)
    if isinstance(drop, Unvaried):
        return allowed(Estimate(drop.estimate, drop.estimate, drop.estimate, n), more)
    narrower = (drop.n / n) ** 0.5
    low = drop.estimate - (drop.estimate - drop.low) * narrower
    high = drop.estimate + (drop.high - drop.estimate) * narrower
    if math.isclose(drop.high, _least(groups)):
        # The end is what the cases allow and not that of resamples, which lies below it.
        high = drop.estimate
    if math.isclose(drop.low, _lowest(drop.estimate, groups)):
        low = drop.estimate
    return allowed(Estimate(drop.estimate, low, high, n), more)


def _lowest(estimate: float, groups: Sequence[Group]) -> float:
    """What a lower end is not above where there are weights: of groups that did not vary more may do better."""
    unvaried = [group for group in groups if group.is_unvaried]
    if len(groups) == 1 or not unvaried:
        return estimate
    return max(-1.0, estimate - unseen(unvaried))


def _least(groups: Sequence[Group]) -> float:
    """What an upper end is not below."""
    return groups[0].most - groups[0].gained if len(groups) == 1 else unseen(groups)
