"""Which share of the tokens is needed: by the findings on blocks, and by an oracle that knows each case."""

from dataclasses import dataclass

import numpy as np

from pytest_tokenbench.ablation.design import ArmKind, BlockPlan, Parts
from pytest_tokenbench.ablation.findings import Finding, Ruled
from pytest_tokenbench.ablation.measured import Measured
from pytest_tokenbench.results import Unavailable
from pytest_tokenbench.statistics import Estimate, FloatArray

NOTE = (
    "a ceiling over every selector: it takes knowing each case's answer, the place of that answer among the passages and "
    "which cases are follow-ups, and is not available when a prompt is served"
)
_COUNTS = {Finding.NEEDED, Finding.UNDECIDED}


@dataclass(frozen=True, slots=True)
class Needed:
    """By case the tokens that are needed, and those of all blocks, (cases,)."""

    needed: FloatArray
    total: FloatArray

    def means(self) -> tuple[float, float]:
        """The mean of either over the cases that have both."""
        both = ~np.isnan(self.needed + self.total)
        return float(np.mean(self.needed[both])), float(np.mean(self.total[both]))


def total_tokens(results: Measured) -> FloatArray:
    """By case the tokens of all blocks, each as measured, (cases,)."""
    found: FloatArray = np.sum([results.tokens_of(plan.name) for plan in results.ablation.blocks], axis=0)
    return found


def by_findings(results: Measured) -> Needed:
    """The blocks that are needed, or for which that is undecided, each whole.

    Raises:
        Unavailable: A block has no finding.
    """
    needed = np.zeros(len(results.questions))
    for plan in results.ablation.blocks:
        if _found(results, plan).finding in _COUNTS:
            needed += results.tokens_of(plan.name)
    return Needed(needed, total_tokens(results))


def by_oracle(results: Measured) -> Needed:
    """What each case needs, to somebody who knows it.

    A whole block counts whole. Of one that is taken apart unit by unit count the needed and the undecided units; all of
    it where none is, as its units then stand in for one another. Of a ranked one count the passages down to and
    including the gold one, of one that only follow-ups need nothing in other cases.

    Raises:
        Unavailable: A block that is taken apart has no finding.
    """
    needed = np.zeros(len(results.questions))
    follow_up = np.array([case.follow_up for case in results.questions], dtype=bool)
    for plan in results.ablation.blocks:
        tokens = results.tokens_of(plan.name)
        if plan.follow_ups_only:
            tokens = np.where(follow_up, tokens, 0.0)
        elif plan.parts is Parts.EACH:
            tokens = _of_each(results, plan)
        elif plan.parts is Parts.RANKED:
            units = results.unit_tokens(plan.name)
            tokens = np.where(down_to_gold(results, units.shape[1]), units, 0.0).sum(axis=1)
        needed += tokens
    return Needed(needed, total_tokens(results))


def fraction(results: Measured, tokens: Needed) -> Estimate:
    """The mean of the needed tokens over that of all, over the cases of the set.

    Its interval is that of the cases alone: what was found on the blocks is taken as it is.
    """
    return results.ratio(tokens.needed, tokens.total, "the fraction of needed tokens")


def down_to_gold(results: Measured, units: int) -> np.ndarray[tuple[int, int], np.dtype[np.bool_]]:
    """By case which passages stand at the gold one's rank or before it, (cases, units); none where there is no gold."""
    ranks = np.array([case.gold_rank or 0 for case in results.questions])
    return np.arange(1, units + 1)[None, :] <= ranks[:, None]


def load_bearing(results: Measured, plan: BlockPlan) -> list[int] | None:
    """The units of a block, counted from 1, that are needed or undecided; None where none was left out alone."""
    rulings = {
        arm.unit: results.ruled(arm.id).finding
        for arm in results.ablation.arms
        if arm.kind is ArmKind.UNIT and arm.blocks == (plan.name,) and arm.unit is not None
    }
    measured = {unit: found for unit, found in rulings.items() if found is not Finding.NOT_MEASURED}
    if not measured:
        return None
    # A unit whose arm was lost on the way is not known to be removable.
    return [unit for unit, found in rulings.items() if found is not Finding.REMOVABLE]


def _of_each(results: Measured, plan: BlockPlan) -> FloatArray:
    if _found(results, plan).finding is Finding.REMOVABLE:
        return np.zeros(len(results.questions))
    units = load_bearing(results, plan)
    if not units:
        return results.tokens_of(plan.name)
    tokens = results.unit_tokens(plan.name)
    found: FloatArray = tokens[:, [unit - 1 for unit in units if unit <= tokens.shape[1]]].sum(axis=1)
    return found


def _found(results: Measured, plan: BlockPlan) -> Ruled:
    found = results.ruled(results.without(plan.name))
    if found.finding in {Finding.REFUSED, Finding.NOT_MEASURED}:
        raise Unavailable(f"{plan.name} has no finding: {found.reason}")
    return found
