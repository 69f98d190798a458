"""Drops as they would be with production's shares of the slices."""

import numpy as np

from pytest_tokenbench import statistics
from pytest_tokenbench.ablation.findings import Ruled, rule
from pytest_tokenbench.ablation.measured import Measured
from pytest_tokenbench.distributions import unseen_bound
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

    The shares are renormalised over slices with cases. Its upper end is at least what
    so many cases without any loss allow.

    Raises:
        Unavailable: No case was measured in a slice that has a share.
    """
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
    weights = {name: wanted[name] / total for name in within}
    found = statistics.stratified(within, weights)
    sizes = [column.size for column in within.values()]
    return statistics.allowing(found, unseen_bound(sizes, list(weights.values())))


def ruled(results: Measured, arm: str) -> Ruled | None:
    """What comes out with production's shares, None where there is no such drop."""
    try:
        return rule(drop(results, arm), results.ablation.threshold, results.floor_or_none(), results.base)
    except Unavailable:
        return None
