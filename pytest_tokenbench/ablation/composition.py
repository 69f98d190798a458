"""What was left out together: whether it costs more than its parts did, and which parts stand in for one another."""

import itertools
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np

from pytest_tokenbench.ablation import reweighting
from pytest_tokenbench.ablation.design import Ablation, ArmKind, BlockPlan, Parts, unit_id
from pytest_tokenbench.ablation.findings import Finding, reaches
from pytest_tokenbench.ablation.measured import RIGHT, Measured
from pytest_tokenbench.distributions import unseen_bound
from pytest_tokenbench.results import Unavailable
from pytest_tokenbench.statistics import Estimate, FloatArray, widened

_MAJORITY = 0.5
# An end that is above zero by rounding alone is not.
_NOTHING = 1e-9


@dataclass(frozen=True, slots=True)
class Part:
    """What is left out of one block: its units, or its name if it goes whole.

    `singles` are the arms that left out a piece of it each, `alone` the one that left out all of it and nothing else,
    which is the composed one where there is no other part.
    """

    block: str
    left_out: tuple[str, ...]
    singles: tuple[str, ...]
    alone: str


@dataclass(frozen=True, slots=True)
class Interaction:
    """Two blocks, or the units of one: what leaving out both parts loses that neither part alone does.

    `lost` are the cases, `arm` left out all of it, `drop` is that arm's, and `excess` this drop less the sum of the single
    ones. It is `redundant` where such cases are lost, and the composed arm falls short of its parts, all of it is a loss,
    and the excess is one, each by its whole paired interval: fewer flipped cases are noise. `free_alone` says whether each
    part came out removable by itself.
    """

    blocks: tuple[str, ...]
    arm: str
    lost: tuple[str, ...]
    drop: Estimate
    excess: Estimate
    redundant: bool
    free_alone: bool


def proposal(results: Measured) -> tuple[str, ...]:
    """All blocks and units that can be cut, each as it came out by itself."""
    left_out: list[str] = []
    for plan in results.ablation.blocks:
        without = results.without(plan.name)
        if can_be_cut(results, without):
            left_out.append(plan.name)
        elif results.ruled(without).finding is Finding.NEEDED:
            left_out += _units_to_cut(results, plan)
    return tuple(left_out)


def can_be_cut(results: Measured, arm: str) -> bool:
    """Whether what an arm leaves out came out removable, clears stress cases and is not needed with production's shares.

    In a quick look it need only lose less than the threshold, whatever the interval, where there can be findings.
    """
    found = results.ruled(arm).finding
    if results.ablation.quick:
        try:
            is_free = not reaches(results.drop_of(arm).estimate, results.ablation.threshold)
        except Unavailable:
            return False
        is_free = is_free and found is not Finding.REFUSED
    else:
        clears = results.stress is None or results.is_clear_of_stress(arm) is True
        is_free = found is Finding.REMOVABLE and clears
    return is_free and not reweighting.forbids(results, arm)


def stand_ins(results: Measured) -> tuple[str, ...]:
    """The needed blocks whose units could be cut one by one: they stand in for one another, so that none is proposed."""
    return tuple(plan.name for plan in results.ablation.blocks if units_stand_in(results, plan))


def units_stand_in(results: Measured, plan: BlockPlan) -> bool:
    """Whether a block is one of `stand_ins`."""
    is_needed = results.ruled(results.without(plan.name)).finding is Finding.NEEDED
    return is_needed and _stand_in(results, plan, *_within_block(results, plan))


def _units_to_cut(results: Measured, plan: BlockPlan) -> list[str]:
    single, after = _within_block(results, plan)
    # What follows a rank was measured as one.
    units = after if _stand_in(results, plan, single, after) else _in_front(single, after) | after
    return [unit_id(plan.name, unit) for unit in sorted(units)]


def _stand_in(results: Measured, plan: BlockPlan, single: set[int], after: set[int]) -> bool:
    """Whether all units that a main case has can go one by one; to leave out all is to leave out the needed block."""
    every = set(range(1, (results.width(plan.name) or _length(results.ablation, plan)) + 1))
    return single >= every or _in_front(single, after) | after >= every


def _in_front(single: set[int], after: set[int]) -> set[int]:
    """Of the units that can go alone those before the last one kept, which to leave out as well is known to cost."""
    return {unit for unit in single if unit < min(after) - 1} if after else single


def _within_block(results: Measured, plan: BlockPlan) -> tuple[set[int], set[int]]:
    """The units of a block that can be cut, each by itself, and those that can be cut as all after a rank."""
    cut = {
        (arm.kind, arm.unit or 0)
        for arm in results.ablation.arms
        if arm.kind in {ArmKind.UNIT, ArmKind.UP_TO}
        and arm.blocks == (plan.name,)
        and can_be_cut(results, arm.id)
    }
    length = _length(results.ablation, plan)
    last = min((unit for kind, unit in cut if kind is ArmKind.UP_TO), default=length)
    return {unit for kind, unit in cut if kind is ArmKind.UNIT}, set(range(last + 1, length + 1))


def _length(ablation: Ablation, plan: BlockPlan) -> int:
    """The largest number of units that a block has in a case, 1 where it is not taken apart."""
    units = [
        arm.unit or 0 for arm in ablation.arms if arm.kind is ArmKind.UNIT and arm.blocks == (plan.name,)
    ]
    return max(units, default=1)


def kept_ranks(ablation: Ablation, left_out: Collection[str]) -> dict[str, int]:
    """By ranked block of which something is left out down to its last unit the rank after which nothing is kept."""
    return {
        plan.name: last
        for plan in ablation.blocks
        if plan.parts is Parts.RANKED and plan.name not in left_out
        for length in [_length(ablation, plan)]
        if (last := _last_kept(_numbers(plan, left_out), length)) < length
    }


def _numbers(plan: BlockPlan, left_out: Collection[str]) -> list[int]:
    """The units of a block that are left out, counted from 1."""
    return sorted(int(one.rpartition("/")[2]) for one in left_out if one.rpartition("/")[0] == plan.name)


def _last_kept(units: Collection[int], length: int) -> int:
    last = length
    while last in units:
        last -= 1
    return last


def parts(ablation: Ablation, left_out: Sequence[str]) -> list[Part]:
    """What is left out by block, with the arms that measured it."""
    ids = {(arm.kind, arm.blocks, arm.unit): arm.id for arm in ablation.arms}
    found = []
    for plan in ablation.blocks:
        name = (plan.name,)
        if plan.name in left_out:
            arm = ids[ArmKind.WITHOUT, name, None]
            found.append(Part(plan.name, name, (arm,), arm))
            continue
        units = _numbers(plan, left_out)
        if not units:
            continue
        keys = [(ArmKind.UNIT, unit) for unit in units]
        if plan.parts is Parts.RANKED:
            keys = _ranked_keys(units, _length(ablation, plan))
        its = tuple(ids[kind, name, unit] for kind, unit in keys)
        alone = its[0] if len(its) == 1 else ids[ArmKind.PART, name, None]
        found.append(Part(plan.name, tuple(unit_id(plan.name, unit) for unit in units), its, alone))
    if len(found) == 1 and len(found[0].singles) > 1:
        return [replace(found[0], alone=ids[ArmKind.COMPOSED, (), None])]
    return found


def _ranked_keys(units: Sequence[int], length: int) -> list[tuple[ArmKind, int]]:
    """The arms that left these units out: the last ones together, each other alone."""
    last = _last_kept(units, length)
    alone = [(ArmKind.UNIT, unit) for unit in units if unit <= last]
    return alone + [(ArmKind.UP_TO, last)] * (last < length)


def lost(results: Measured, together: str, apart: Sequence[str]) -> tuple[str, ...]:
    """The cases that are right in the base and in each of the arms `apart`, and wrong under `together`.

    Of repeats most must be right. A case that lacks one of the trials is not told to be lost.

    Raises:
        Unavailable: One of the arms was not measured.
    """
    kept = np.ones(len(results.questions), dtype=bool)
    for arm in (results.baseline, *apart):
        kept &= results.column(RIGHT, arm) > _MAJORITY
    # NaN is not at most a half.
    gone = kept & (results.column(RIGHT, together) <= _MAJORITY)
    return tuple(case.id for case, is_gone in zip(results.questions, gone, strict=True) if is_gone)


def singles(found: Sequence[Part]) -> tuple[str, ...]:
    """The arms that left out one piece each."""
    return tuple(arm for part in found for arm in part.singles)


def lost_together(results: Measured, left_out: Sequence[str]) -> tuple[str, ...]:
    """The cases that the composed arm loses and none of what it leaves out alone."""
    return lost(results, results.arm(ArmKind.COMPOSED), singles(parts(results.ablation, left_out)))


def predicted(results: Measured, left_out: Sequence[str]) -> FloatArray:
    """By case the sum of the single drops of what is left out, (cases,)."""
    arms = singles(parts(results.ablation, left_out))
    found: FloatArray = np.sum([results.drops(arm) for arm in arms], axis=0)
    return found


def shortfall(results: Measured, left_out: Sequence[str]) -> Estimate:
    """By how much the composed drop exceeds the sum of the single ones, with its paired interval."""
    apart = singles(parts(results.ablation, left_out))
    return _excess(results, results.arm(ArmKind.COMPOSED), apart, "the shortfall of the composed arm")


def _excess(results: Measured, together: str, apart: Sequence[str], what: str) -> Estimate:
    """The drop of an arm less the sum of those of others, with its paired interval."""
    column = results.drops(together) - np.sum([results.drops(arm) for arm in apart], axis=0)
    found = results.mean_of(column, what)
    return widened(found, unseen_bound([found.n]), -1.0 - len(apart), 1.0 + len(apart))


def pairs(results: Measured, left_out: Sequence[str]) -> list[Interaction]:
    """Each two blocks whose parts were left out together.

    Two parts that make up the composed arm are measured by it.
    """
    found = []
    its = parts(results.ablation, left_out)
    for one, other in itertools.combinations(its, 2):
        blocks = one.block, other.block
        try:
            is_all = len(its) == len(blocks)
            together = results.arm(ArmKind.COMPOSED) if is_all else results.arm(ArmKind.PAIR, *blocks)
            found.append(_interaction(results, left_out, blocks, together, (one.alone, other.alone)))
        except Unavailable:
            continue
    return found


def within(results: Measured, left_out: Sequence[str]) -> list[Interaction]:
    """The blocks of which several units were left out together."""
    found = []
    for part in parts(results.ablation, left_out):
        if len(part.singles) > 1:
            try:
                found.append(_interaction(results, left_out, (part.block,), part.alone, part.singles))
            except Unavailable:
                continue
    return found


def _interaction(
    results: Measured, left_out: Sequence[str], blocks: tuple[str, ...], together: str, apart: Sequence[str]
) -> Interaction:
    gone, drop = lost(results, together, apart), results.drop_of(together)
    excess = _excess(results, together, apart, f"what {together} loses beyond its parts")
    falls_short = all(map(_is_above_zero, (shortfall(results, left_out), drop, excess)))
    return Interaction(
        blocks=blocks,
        arm=together,
        lost=gone,
        drop=drop,
        excess=excess,
        redundant=bool(gone) and falls_short,
        free_alone=all(results.ruled(arm).finding is Finding.REMOVABLE for arm in apart),
    )


def _is_above_zero(estimate: Estimate) -> bool:
    return estimate.low is not None and estimate.low > _NOTHING
