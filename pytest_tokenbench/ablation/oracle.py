"""Which share of the tokens is needed: by the findings on blocks, and by an oracle that knows each case."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pytest_tokenbench.ablation import together
from pytest_tokenbench.ablation.design import ArmKind, BlockPlan, Parts, unit_id
from pytest_tokenbench.ablation.findings import Finding, Ruled
from pytest_tokenbench.ablation.measured import RIGHT, Measured
from pytest_tokenbench.results import Unavailable
from pytest_tokenbench.statistics import Estimate, FloatArray

BoolArray = npt.NDArray[np.bool_]
NOTE = (
    "a ceiling over every selector: it takes knowing each case's answer, the place of that answer among the passages and "
    "which cases are follow-ups, and is not available when a prompt is served"
)
_COUNTS = {Finding.NEEDED, Finding.UNDECIDED}
_MAJORITY = 0.5


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
    """The blocks that count, each whole.

    Raises:
        Unavailable: A block has no finding.
    """
    needed = np.zeros(len(results.questions))
    for name in counting_blocks(results):
        needed += results.tokens_of(name)
    return Needed(needed, total_tokens(results))


def counting_blocks(results: Measured) -> list[str]:
    """The blocks that are needed, or for which that is undecided, or that the composed arm puts back.

    Raises:
        Unavailable: A block has no finding, or what came out removable was not left out together.
    """
    found = {plan.name: _found(results, plan).finding for plan in results.ablation.blocks}
    whole = together.of(results)
    if whole.is_open:
        raise Unavailable(
            f"whether what came out removable ({', '.join(whole.left_out)}) can be left out together was not measured: "
            f"{whole.ruled.reason}"
        )
    return [name for name, its in found.items() if its in _COUNTS or name in whole.put_back]


def by_oracle(results: Measured) -> Needed:
    """What each case needs, to somebody who knows it: see `kept`.

    Raises:
        Unavailable: A block has no finding.
    """
    needed = np.zeros(len(results.questions))
    for block, keeps in kept(results).items():
        units = np.where(keeps, results.unit_tokens(block), 0.0).sum(axis=1)
        needed += np.where(keeps.all(axis=1), results.tokens_of(block), units)
    return Needed(needed, total_tokens(results))


def kept(results: Measured) -> dict[str, BoolArray]:
    """By block what an oracle keeps of it, (cases, units).

    Of a block that only follow-ups are said to need all in each case that is marked as one, and nothing in others: in a
    follow-up it is left out only where the composition holds without it and the case is right so. Of others nothing
    where they do not count, else a whole block is kept whole; of one that is taken apart unit by unit the needed and
    the undecided units and those that the composed arm puts back, or all of it where there are none, as its units then
    stand in for one another. Of retrieved passages those down to the gold one.
    Where what is kept of a case does not hold its answer, every block that counts is kept whole.

    Raises:
        Unavailable: A block has no finding, or what came out removable was not left out together.
    """
    found = _by_rule(results)
    lacking = ~holds_gold(results, found)
    counts = set(counting_blocks(results))
    return {name: keeps | lacking[:, None] if name in counts else keeps for name, keeps in found.items()}


def unsupported(results: Measured) -> tuple[str, ...]:
    """The cases whose answer is not in what the oracle would keep by its rules, so that they count whole.

    Raises:
        Unavailable: A block has no finding.
    """
    held = holds_gold(results, _by_rule(results))
    return tuple(case.id for case, has in zip(results.questions, held, strict=True) if not has)


def holds_gold(results: Measured, keeps: Mapping[str, BoolArray]) -> BoolArray:
    """Whether by case some gold string stands whole in what is kept, (cases,); True where that was not recorded."""
    found = np.ones(len(results.questions), dtype=bool)
    for place, case in enumerate(results.questions):
        golds = results.ablation.support.get(case.id)
        if golds is None:
            continue
        units = {
            unit_id(name, int(at) + 1) for name, its in keeps.items() for at in np.flatnonzero(its[place])
        }
        found[place] = any(all(not units.isdisjoint(part) for part in gold) for gold in golds)
    return found


def fraction(results: Measured, tokens: Needed) -> Estimate:
    """The mean of the needed tokens over that of all, over the cases of the set.

    Its interval is that of the cases alone: what was found on the blocks is taken as it is.
    """
    return results.ratio(tokens.needed, tokens.total, "the fraction of needed tokens")


def down_to_gold(results: Measured, block: str, units: int) -> BoolArray:
    """By case which passages stand at the gold one's rank or before it, (cases, units); none where there is no gold.

    The rank is one among retrieved passages: of a block that has no scores in a case all units stand before it.
    """
    scores = results.ablation.scores
    ranks = np.array(
        [case.gold_rank or 0 if block in scores.get(case.id, {}) else units for case in results.questions]
    )
    found: BoolArray = np.arange(1, units + 1)[None, :] <= ranks[:, None]
    return found


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


def _by_rule(results: Measured) -> dict[str, BoolArray]:
    whole = together.of(results)
    counts = counting_blocks(results)
    return {
        plan.name: _kept_of(results, plan, whole, counts=plan.name in counts)
        for plan in results.ablation.blocks
    }


def _kept_of(results: Measured, plan: BlockPlan, whole: together.Together, *, counts: bool) -> BoolArray:
    shape = len(results.questions), max(1, results.width(plan.name))
    every = np.ones(shape, dtype=bool)
    if plan.follow_ups_only:
        every[~_needs_tail(results, plan.name, whole), :] = False
        return every
    if not counts:
        return ~every
    if plan.parts is Parts.RANKED and is_retrieved(results, plan.name):
        return down_to_gold(results, plan.name, shape[1])
    back = np.array([unit_id(plan.name, at + 1) in whole.put_back for at in range(shape[1])], dtype=bool)
    units = None if plan.parts is Parts.WHOLE else load_bearing(results, plan)
    # A unit that none but stress cases have is kept of no main case.
    bears = np.array([at + 1 in (units or ()) for at in range(shape[1])], dtype=bool)
    if not (bears | back).any():
        return every
    every[:, ~(bears | back)] = False
    return every


def _needs_tail(results: Measured, block: str, whole: together.Together) -> BoolArray:
    """By case whether it is a follow-up, and not known to be right with the block left out in a cut that holds."""
    marked = np.array([case.follow_up for case in results.questions], dtype=bool)
    if block not in whole.left_out or not whole.holds:
        return marked
    # NaN is not above a half.
    found: BoolArray = marked & ~(results.column(RIGHT, results.arm(ArmKind.COMPOSED)) > _MAJORITY)
    return found


def is_retrieved(results: Measured, block: str) -> bool:
    """Whether the units of a block have scores."""
    return any(block in its for its in results.ablation.scores.values())


def _found(results: Measured, plan: BlockPlan) -> Ruled:
    found = results.ruled(results.without(plan.name))
    if found.finding in {Finding.REFUSED, Finding.NOT_MEASURED}:
        raise Unavailable(f"{plan.name} has no finding: {found.reason}")
    return found
