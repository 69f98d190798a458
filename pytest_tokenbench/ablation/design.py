"""What an ablation is made of: its blocks, its arms and the stages they are asked in. Imports nothing of ours."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import combinations

BETWEEN = "\n\n"  # one blank line: between the units of a block as between blocks


class Parts(StrEnum):
    """How a block that is needed is taken apart.

    whole: not at all. each: one unit at a time is left out. ranked: that too, and all units after a rank.
    """

    WHOLE = "whole"
    EACH = "each"
    RANKED = "ranked"


@dataclass(frozen=True, slots=True)
class BlockPlan:
    """One block of the prompts. The oracle has one that is `follow_ups_only` needed in follow-ups alone."""

    name: str
    parts: Parts = Parts.WHOLE
    follow_ups_only: bool = False


class ArmKind(StrEnum):
    """What an arm does to the prompt; `ArmPlan.does` says it in words."""

    BASE = "base"
    AGAIN = "again"
    WITHOUT = "without"
    SELECTED = "selected"
    FILLER = "filler"
    UNIT = "unit"
    UP_TO = "up_to"
    COMPOSED = "composed"
    PART = "part"
    PAIR = "pair"


# An arm is decided from the trials of all stages before its own; those of the first need no decision.
_STAGES = {
    ArmKind.BASE: 0,
    ArmKind.AGAIN: 0,
    ArmKind.WITHOUT: 0,
    ArmKind.SELECTED: 0,
    ArmKind.FILLER: 1,
    ArmKind.UNIT: 1,
    ArmKind.UP_TO: 1,
    ArmKind.COMPOSED: 2,
    ArmKind.PART: 3,
    ArmKind.PAIR: 3,
}


@dataclass(frozen=True, slots=True)
class ArmPlan:
    """One arm as it is declared.

    `blocks` are those it is about: the one left out, replaced or taken apart; both of a pair; those that are selected
    from. `unit` counts from 1: the unit left out, or the last one kept. `score` is the lowest that is kept.
    """

    id: str
    kind: ArmKind
    blocks: tuple[str, ...] = ()
    unit: int | None = None
    score: float | None = None

    @property
    def stage(self) -> int:
        """When the arm is asked: 0 at once, a later stage after all before it."""
        return _STAGES[self.kind]

    @property
    def does(self) -> str:
        """What the arm does to the prompt, in words."""
        names = " and ".join(self.blocks)
        match self.kind:
            case ArmKind.BASE:
                return "every block"
            case ArmKind.AGAIN:
                return "every block once more"
            case ArmKind.WITHOUT:
                return f"without {names}"
            case ArmKind.SELECTED:
                return f"of {names} what has a score of {_number(self.score)} or more"
            case ArmKind.FILLER:
                return f"neutral text of equal length for {names}"
            case ArmKind.UNIT:
                return f"without {unit_id(names, self.unit)}"
            case ArmKind.UP_TO:
                return f"nothing of {names} after rank {self.unit}"
            case ArmKind.COMPOSED:
                return "without all that came out removable"
            case ArmKind.PART | ArmKind.PAIR:
                return f"without what came out removable of {names}"


@dataclass(frozen=True, slots=True)
class Ablation:
    """The whole of an ablation, as a run records it.

    `cases` and `sha256` are the set's name and its file's sum. `production` has by kind of slice the shares that its
    slices have where the prompts are used. `words` and `scores` have by case and block those of each unit; only blocks
    whose units were retrieved have scores. `support` has by case, for each gold string and each of its parts, the units
    that the part stands in; it is empty where that was not recorded. A `quick` one has too few cases for findings, and composes what lost less than
    the threshold in these.
    """

    cases: str
    sha256: str
    threshold: float
    blocks: tuple[BlockPlan, ...]
    arms: tuple[ArmPlan, ...]
    production: dict[str, dict[str, float]] = field(default_factory=dict)
    words: dict[str, dict[str, tuple[int, ...]]] = field(default_factory=dict)
    scores: dict[str, dict[str, tuple[float, ...]]] = field(default_factory=dict)
    quick: bool = False
    support: dict[str, tuple[tuple[tuple[str, ...], ...], ...]] = field(default_factory=dict)


def unit_id(block: str, number: int | None) -> str:
    """How a unit is named, counted from 1: in contexts, and in what a decision leaves out."""
    return f"{block}/{number}"


def arms(
    blocks: Sequence[BlockPlan],
    units: Mapping[str, int],
    selector: Sequence[float] = (),
    *,
    quick: bool = False,
    scored: Collection[str] | None = None,
) -> tuple[ArmPlan, ...]:
    """Every arm of an ablation, in the order of stages; of a quick one the base, one per block, and the composed.

    `units` has by block the largest number of units it has in a case, `selector` the scores to select from,
    and `scored` are the blocks whose units have scores: None for all that are ranked.

    Raises:
        ValueError: Two arms would have the same id, or there is nothing to select from.
    """
    made = [ArmPlan("base", ArmKind.BASE)]
    made += [ArmPlan(f"no-{block.name}", ArmKind.WITHOUT, (block.name,)) for block in blocks]
    if quick:
        made.append(ArmPlan("composed", ArmKind.COMPOSED))
    else:
        made += _selected(blocks, selector, scored)
        made.append(ArmPlan("again", ArmKind.AGAIN))
        made += [ArmPlan(f"filler-{block.name}", ArmKind.FILLER, (block.name,)) for block in blocks]
        for block in blocks:
            made += _taken_apart(block, units.get(block.name, 0))
        made.append(ArmPlan("composed", ArmKind.COMPOSED))
        made += [
            ArmPlan(f"part-{block.name}", ArmKind.PART, (block.name,))
            for block in blocks
            if any(_taken_apart(block, units.get(block.name, 0)))
        ]
        names = [block.name for block in blocks]
        made += [ArmPlan(f"pair-{a}-{b}", ArmKind.PAIR, (a, b)) for a, b in combinations(names, 2)]
    for name, times in Counter(arm.id for arm in made).items():
        if times > 1:
            raise ValueError(
                f'{times} arms would be called "{name}"; rename a block, or drop a repeated score'
            )
    return tuple(made)


def _selected(
    blocks: Sequence[BlockPlan], selector: Sequence[float], scored: Collection[str] | None
) -> list[ArmPlan]:
    ranked = tuple(block.name for block in blocks if block.parts is Parts.RANKED)
    if selector and not ranked:
        raise ValueError('a selector needs a block of ranked units; declare one with parts="ranked"')
    ranked = ranked if scored is None else tuple(name for name in ranked if name in scored)
    if selector and not ranked:
        raise ValueError("a selector needs scores, and no block of ranked units has any in the cases")
    return [
        ArmPlan(f"select-{_number(score)}", ArmKind.SELECTED, ranked, score=float(score))
        for score in selector
    ]


def _taken_apart(block: BlockPlan, units: int) -> Iterator[ArmPlan]:
    """The arms within a block. One that has a single unit is not taken apart: that is to leave it out."""
    name = block.name
    if block.parts is not Parts.WHOLE and units > 1:
        for unit in range(1, units + 1):
            yield ArmPlan(f"no-{name}-{unit}", ArmKind.UNIT, (name,), unit=unit)
    if block.parts is Parts.RANKED:
        for rank in range(1, units):
            yield ArmPlan(f"{name}-to-{rank}", ArmKind.UP_TO, (name,), unit=rank)


def _number(score: float | None) -> str:
    return str(score).removesuffix(".0")
