"""Drops as they would be with production's shares of the slices."""

import numpy as np

from pytest_tokenbench.ablation.findings import Finding, Ruled, rule
from pytest_tokenbench.ablation.losses import Group, allowed
from pytest_tokenbench.ablation.measured import Measured
from pytest_tokenbench.results import Unavailable
from pytest_tokenbench.statistics import Estimate, FloatArray


def shares(results: Measured) -> tuple[str, dict[str, float]]:
    """The kind of slice that production's shares are of, and the shares.

    Raises:
        Unavailable: None are given, or those of several kinds, which do not tell how the kinds go together.
    """
    production = results.ablation.production
    if not production:
        raise Unavailable("the study gives no shares of production")
    if len(production) > 1:
        raise Unavailable(
            f"the study gives shares of {len(production)} kinds of slices; only one can be weighted to"
        )
    return next(iter(production.items()))


def cases(results: Measured) -> dict[str, int]:
    """How many main cases each of production's slices has."""
    kind, wanted = shares(results)
    return {name: sum(case.slices.get(kind) == name for case in results.questions) for name in wanted}


def covered(results: Measured) -> float:
    """What share of production the slices make up that have cases."""
    _, wanted = shares(results)
    return float(sum(wanted[name] for name, count in cases(results).items() if count))


def drop(results: Measured, arm: str) -> Estimate:
    """The drop under an arm by slice, combined with production's shares, with resampling within slices.

    The shares are renormalised over slices with cases. Its upper end is at least what so many cases without any loss
    allow, and at most what is possible in each slice.

    Raises:
        Unavailable: No case was measured in a slice that has a share.
    """
    within, weights = _weighted(results, arm)
    return allowed(results.stratified(within, weights), _groups(within, weights))


def _groups(within: dict[str, FloatArray], weights: dict[str, float]) -> tuple[Group, ...]:
    return tuple(Group.of(column, weights[name]) for name, column in within.items())


def _weighted(results: Measured, arm: str) -> tuple[dict[str, FloatArray], dict[str, float]]:
    """The drops by slice and the slices' weights, which add up to 1."""
    kind, wanted = shares(results)
    drops = results.drops(arm)
    place = np.array([case.slices.get(kind, "") for case in results.questions])
    within: dict[str, FloatArray] = {}
    for name, share in wanted.items():
        column = drops[place == name]
        if share > 0 and not np.isnan(column).all():
            within[name] = column[~np.isnan(column)]
    if not within:
        raise Unavailable(f"no case of production's slices was measured under {arm}")
    total = sum(wanted[name] for name in within)
    return within, {name: wanted[name] / total for name in within}


def ruled(results: Measured, arm: str) -> Ruled | None:
    """What comes out with production's shares, None where there is no such drop.

    As on the cases as they are, it stands only if it is the same however missing trials are counted.
    """
    try:
        drop(results, arm)
    except Unavailable:
        return None
    return results.however_counted(arm, lambda view: _plainly_ruled(view, arm))


def _plainly_ruled(results: Measured, arm: str) -> Ruled:
    groups = _groups(*_weighted(results, arm))
    found, floor = drop(results, arm), results.floor_or_none()
    return rule(found, results.ablation.threshold, floor, results.base, groups)


def forbids(results: Measured, arm: str) -> bool:
    """Whether what an arm leaves out is needed with production's shares, or may be and trials are missing."""
    found = ruled(results, arm)
    return found is not None and found.finding in {Finding.NEEDED, Finding.NOT_MEASURED}
