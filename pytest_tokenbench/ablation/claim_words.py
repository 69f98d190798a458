"""What a claim says in words: derived from the numbers, so that it cannot say something else."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pytest_tokenbench.measures import LITTLE_ROOM

NO_STRESS = "the set has no stress cases, so that nothing was cleared on them"
QUICK_STRESS = "a quick look asks no stress cases, so that nothing was cleared on them"
NO_SHARES = "the shares that its slices have in production are not given, so that how far it stands for it is not known"
BESIDE_SLICES = "nothing is known of what production asks beside these slices"


@dataclass(frozen=True, slots=True)
class Blocks:
    """The blocks by what came out of leaving each out alone, and what else decides whether they count.

    `put_back` are removable blocks, units of needed ones, and what follows a rank of these, that count as needed since
    leaving out all of them together is not shown to be free. `stand_in` are needed blocks whose units came out removable
    one by one. `fails_stress` and `fails_production` are removable blocks that must not be cut: they are not shown to
    clear the stress cases, or are needed with production's shares, or may be for want of trials.
    """

    needed: tuple[str, ...]
    undecided: tuple[str, ...]
    removable: tuple[str, ...]
    put_back: tuple[str, ...]
    fails_stress: tuple[str, ...]
    fails_production: tuple[str, ...]
    stand_in: tuple[str, ...] = ()

    @property
    def counting(self) -> tuple[str, ...]:
        """The blocks that count as needed."""
        return (*self.needed, *self.undecided, *(one for one in self.removable if one in self.put_back))

    @property
    def barred(self) -> tuple[str, ...]:
        """The blocks that do not count and yet are not to be cut."""
        barred = {*self.fails_stress, *self.fails_production} - {*self.put_back}
        return tuple(one for one in self.removable if one in barred)

    @property
    def free(self) -> tuple[str, ...]:
        """The blocks that do not count and can be cut."""
        return tuple(one for one in self.removable if one not in {*self.put_back, *self.barred})


def by_rank(names: Sequence[str], kept_ranks: Mapping[str, int]) -> tuple[str, ...]:
    """Names of blocks and units, with all that follows the last rank that is kept of a block as one."""
    found: dict[str, None] = {}
    for name in names:
        block, _, number = name.rpartition("/")
        is_after = number.isdecimal() and int(number) > kept_ranks.get(block, int(number))
        found[f"what follows {block} rank {kept_ranks[block]}" if is_after else name] = None
    return tuple(found)


def notes(*, blocks: Blocks, baseline: float, production: str | None, holds: bool | None) -> tuple[str, ...]:
    """What is to be told with a claim, each only where it applies.

    `production` is the verdict on the composed arm with production's shares, `holds` whether what it leaves out can go.
    """
    found = []
    room = no_room(baseline)
    if room is not None:
        found.append(room)
    if holds and production == "undecided":
        found.append(
            "what can go together is undecided with production's shares of slices: these do not forbid it, and are not shown "
            "to allow it"
        )
    return (*found, *map(standing_in, blocks.stand_in))


def no_room(base: float) -> str | None:
    """What findings are worth where few cases are right with every block, None where there are enough."""
    if base >= LITTLE_ROOM:
        return None
    share = f"{100 * base:.1f}"
    return (
        f"with every block {share}% of the cases are right: no block can lose more than {share} points, so that "
        '"removable" says little'
    )


def standing_in(block: str) -> str:
    """Why no unit of a needed block is cut that could go alone."""
    return (
        f"the units of {block} came out removable one by one and none is cut by itself: they stand in for one another, since to leave "
        f"out all of them is to leave out {block}, which is needed"
    )


def sentence(
    *,
    value: float,
    blocks: Blocks,
    cases: int,
    threshold: float,
    oracle: bool,
    quick: bool,
) -> str:
    """What is claimed, in words."""
    points, share = f"{100 * threshold:g} points", f"{100 * value:.1f}%"
    if oracle:
        told = [
            f"{_begun('an', quick=quick)} oracle that knows each case would send {share} of the tokens of the prompt's blocks,"
        ]
        told.append("a ceiling that no selector reaches.")
    else:
        told = [f"{_begun('of', quick=quick)} the tokens of the prompt's blocks {share} count as needed."]
        told += _of_counting(blocks, points, cases)
    if blocks.put_back:
        it = "all of them can go together" if len(blocks.put_back) > 1 else "it can go"
        told.append(
            f"{_each(blocks.put_back)} came out as costing less than {points}, and counts as needed all the same, since it "
            f"is not shown that {it}."
        )
    if blocks.free and not oracle:
        both = ", each alone and all together" if len(blocks.free) > 1 else ""
        do = "do" if len(blocks.free) > 1 else "does"
        told.append(
            f"{_listed(blocks.free)} came out as costing less than {points}{both}, and {do} not count."
        )
    return " ".join([*told, *_of_barred(blocks, points, oracle=oracle)])


def _begun(word: str, *, quick: bool) -> str:
    return f"A quick look, which settles nothing: {word}" if quick else word.capitalize()


def _of_counting(blocks: Blocks, points: str, cases: int) -> Iterator[str]:
    if blocks.needed:
        yield f"Leaving out {_any(blocks.needed)} costs {points} or more."
    if blocks.undecided:
        among = f"{cases} cases" if cases > 1 else "one case"
        each = "each counts" if len(blocks.undecided) > 1 else "it counts"
        yield (
            f"Whether leaving out {_any(blocks.undecided)} costs {points} or more is undecided with {among}, so that {each} as "
            "well."
        )


def _of_barred(blocks: Blocks, points: str, *, oracle: bool) -> Iterator[str]:
    all_the_same = "" if oracle else "; this share is without it all the same"
    for one in blocks.barred:
        reasons = ["is not shown to clear the stress cases"] * (one in blocks.fails_stress)
        reasons += ["is or may be needed with production's shares"] * (one in blocks.fails_production)
        yield (
            f"{one} came out as costing less than {points} on the main cases, and is not to be cut, since it "
            f"{' and '.join(reasons)}{all_the_same}."
        )


def _listed(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _any(names: Sequence[str]) -> str:
    return f"any one of {_listed(names)}" if len(names) > 1 else names[0]


def _each(names: Sequence[str]) -> str:
    return f"Each of {_listed(names)}" if len(names) > 1 else names[0]
