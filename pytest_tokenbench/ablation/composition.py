"""What was left out together: whether it costs more than its parts did, and which parts stand in for one another."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from pytest_tokenbench.ablation.design import Ablation, ArmKind, BlockPlan, Parts, unit_id
from pytest_tokenbench.ablation.findings import Finding
from pytest_tokenbench.ablation.measured import RIGHT, Measured
from pytest_tokenbench.distributions import unseen_bound
from pytest_tokenbench.results import Unavailable
from pytest_tokenbench.statistics import Estimate, FloatArray, widened

_MAJORITY = 0.5


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
class Pair:
    """Two blocks, and the cases that are lost without both parts though neither part alone loses them."""

    blocks: tuple[str, str]
    lost: tuple[str, ...]


def proposal(results: Measured) -> tuple[str, ...]:
    """All blocks and units that came out removable and clear the stress cases."""
    left_out: list[str] = []
    for plan in results.ablation.blocks:
        without = results.without(plan.name)
        if results.can_be_cut(without):
            left_out.append(plan.name)
        elif results.ruled(without).finding is Finding.NEEDED:
            left_out += _units_to_cut(results, plan)
    return tuple(left_out)


def _units_to_cut(results: Measured, plan: BlockPlan) -> list[str]:
    cut = {
        (arm.kind, arm.unit)
        for arm in results.ablation.arms
        if arm.kind in {ArmKind.UNIT, ArmKind.UP_TO}
        and arm.blocks == (plan.name,)
        and results.can_be_cut(arm.id)
    }
    units = {unit for kind, unit in cut if kind is ArmKind.UNIT and unit is not None}
    if plan.parts is Parts.RANKED:
        length = _length(results.ablation, plan)
        last = min((unit for kind, unit in cut if kind is ArmKind.UP_TO and unit is not None), default=length)
        # To leave out the last one kept as well was measured, and is not free.
        units = {unit for unit in units if unit < last} | set(range(last + 1, length + 1))
    return [unit_id(plan.name, unit) for unit in sorted(units)]


def _length(ablation: Ablation, plan: BlockPlan) -> int:
    """The largest number of units that a ranked block has in a case."""
    ranks = [
        arm.unit or 0 for arm in ablation.arms if arm.kind is ArmKind.UP_TO and arm.blocks == (plan.name,)
    ]
    return 1 + max(ranks, default=0)


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
        units = sorted(int(one.rpartition("/")[2]) for one in left_out if one.rpartition("/")[0] == plan.name)
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
    last = length
    while last in units:
        last -= 1
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
    column = results.drops(results.arm(ArmKind.COMPOSED)) - predicted(results, left_out)
    found = results.mean_of(column, "the shortfall of the composed arm")
    pieces = len(singles(parts(results.ablation, left_out)))
    return widened(found, unseen_bound([found.n]), -1.0 - pieces, 1.0 + pieces)


def pairs(results: Measured, left_out: Sequence[str]) -> list[Pair]:
    """Each two blocks whose parts were left out together, with the cases that only this loses.

    Two parts that make up the composed arm are measured by it.
    """
    found = []
    its = parts(results.ablation, left_out)
    for one, other in itertools.combinations(its, 2):
        blocks = one.block, other.block
        try:
            is_all = len(its) == len(blocks)
            together = results.arm(ArmKind.COMPOSED) if is_all else results.arm(ArmKind.PAIR, *blocks)
            found.append(Pair(blocks, lost(results, together, (one.alone, other.alone))))
        except Unavailable:
            continue
    return found


def within(results: Measured, left_out: Sequence[str]) -> list[tuple[str, tuple[str, ...]]]:
    """The blocks of which several units were left out together, with the cases that no single one of them loses."""
    found = []
    for part in parts(results.ablation, left_out):
        if len(part.singles) > 1:
            try:
                found.append((part.block, lost(results, part.alone, part.singles)))
            except Unavailable:
                continue
    return found
