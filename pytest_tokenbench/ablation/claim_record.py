"""The record of one claim: a share of tokens that is needed, with its caveats. One that contradicts itself cannot be made."""

import datetime as dt
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, fields

from pytest_tokenbench.ablation import oracle
from pytest_tokenbench.ablation.claim_words import (
    BESIDE_SLICES,
    NO_SHARES,
    NO_STRESS,
    QUICK_STRESS,
    Blocks,
    notes,
    sentence,
)
from pytest_tokenbench.ablation.findings import Finding, by_interval, no_room_on_stress, refusal

_GAP = rf"([1-9]\d*) cases?(?:, [^;]+)?; (?:.+; )?({NO_SHARES}|{BESIDE_SLICES})\."
# What two ways to compute one number may differ by.
_NEAR = 1e-9


@dataclass(frozen=True, slots=True)
class CaseSet:
    """The frozen set that a claim is about."""

    name: str
    sha256: str


@dataclass(frozen=True, slots=True)
class ClaimedModel:
    """The model that answered; its digest is None where the server did not tell it."""

    name: str
    digest: str | None


@dataclass(frozen=True, slots=True)
class Composed:
    """What leaving out everything removable together came to, beside the sum of the single drops."""

    drop: float
    low: float | None
    high: float | None
    predicted: float | None


@dataclass(frozen=True, slots=True)
class Stress:
    """How many stress cases were asked, and whether the composed arm clears them; `note` says why that is not known.

    `baseline` is the accuracy with every block on them, None where it was not measured.
    """

    cases: int
    baseline: float | None
    clears: bool | None
    note: str | None


@dataclass(frozen=True, slots=True)
class Production:
    """The composed arm with production's shares: drop and finding; `note` says why there are none.

    `covers` is the share of production whose slices have cases, None where no shares are given.
    """

    covers: float | None
    drop: float | None
    low: float | None
    high: float | None
    verdict: str | None
    note: str | None


@dataclass(frozen=True, slots=True)
class Claim:
    """That `value` of the tokens is needed. Shares from 0 to 1, tokens as means per case.

    `claim` says it in words, those of `sentence`. An oracle's claim is a ceiling and carries its note.
    `composition_checked` says whether what came out removable was left out together too, `composition_holds` whether
    that can go, None where nothing was to be left out or that is not known. Where it is not true `composition_note`
    says why. `notes` are those of `claim_words.notes`. `coverage_gap` says what the set does not cover. `churn` is None
    where it was not measured.

    Raises:
        ValueError: A caveat is missing, or contradicts the numbers.
    """

    claim: str
    value: float
    low: float | None
    high: float | None
    needed_tokens: float
    total_tokens: float
    blocks: Blocks
    set: CaseSet
    cases: int
    threshold: float
    baseline: float
    repeats: int
    churn: float | None
    model: ClaimedModel
    measured_at: str
    oracle: bool
    oracle_note: str | None
    composition_checked: bool
    composition_holds: bool | None
    composition_note: str | None
    composed: Composed | None
    stress: Stress
    production: Production
    notes: tuple[str, ...]
    coverage_gap: str
    quick: bool

    def __post_init__(self) -> None:
        fault = next(_faults(self), None)
        if fault is not None:
            raise ValueError(fault)


def _faults(claim: Claim) -> Iterator[str]:
    """What is wrong with a claim, a sentence each; a later one takes it that there is none before."""
    yield from _of_kinds(claim)
    yield from _of_values(claim)
    yield from _of_words(claim)
    yield from _of_notes(claim)
    yield from _of_shares(claim)
    yield from _of_numbers(claim)
    yield from _of_blocks(claim)
    yield from _of_counting(claim)
    yield from _of_composition(claim)
    yield from _of_stress(claim)
    yield from _of_production(claim)
    told = sentence(
        value=claim.value,
        blocks=claim.blocks,
        cases=claim.cases,
        threshold=claim.threshold,
        oracle=claim.oracle,
        quick=claim.quick,
    )
    if claim.claim != told:
        yield f"a claim says in words what its numbers say, which is {told!r}, and not {claim.claim!r}"
    noted = notes(
        blocks=claim.blocks,
        baseline=claim.baseline,
        production=claim.production.verdict,
        holds=claim.composition_holds,
    )
    if claim.notes != noted:
        yield f"a claim's notes are those that its numbers call for, which are {noted!r}, and not {claim.notes!r}"


def _of_kinds(claim: Claim) -> Iterator[str]:
    for name, kind in (
        ("blocks", Blocks),
        ("set", CaseSet),
        ("model", ClaimedModel),
        ("stress", Stress),
        ("production", Production),
    ):
        if not isinstance(getattr(claim, name), kind):
            yield f"a claim's {name} is a {kind.__name__}, and not {getattr(claim, name)!r}"
    if claim.composed is not None and not isinstance(claim.composed, Composed):
        yield f"a claim's composed is a Composed or None, and not {claim.composed!r}"


def _of_values(claim: Claim) -> Iterator[str]:
    for name in ("oracle", "composition_checked", "quick"):
        if not isinstance(getattr(claim, name), bool):
            yield f"a claim's {name} is true or false, and not {getattr(claim, name)!r}"
    for name, known in (
        ("composition_holds", claim.composition_holds),
        ("stress.clears", claim.stress.clears),
    ):
        if known is not None and not isinstance(known, bool):
            yield f"a claim's {name} is true, false or None, and not {known!r}"
    for name, count in (
        ("cases", claim.cases),
        ("repeats", claim.repeats),
        ("stress.cases", claim.stress.cases),
    ):
        if not isinstance(count, int) or isinstance(count, bool):
            yield f"a claim's {name} is a whole number, and not {count!r}"
    for field in fields(claim.blocks):
        names = getattr(claim.blocks, field.name)
        if not isinstance(names, tuple) or not all(isinstance(one, str) and one.strip() for one in names):
            yield f"a claim's blocks.{field.name} is a tuple of names, and not {names!r}"


def _of_words(claim: Claim) -> Iterator[str]:
    told = {
        "claim": claim.claim,
        "coverage_gap": claim.coverage_gap,
        "measured_at": claim.measured_at,
        "set": claim.set.name,
        "set's sum": claim.set.sha256,
        "model": claim.model.name,
    }
    for name, text in told.items():
        if not isinstance(text, str) or not text.strip():
            yield f"a claim needs its {name} in words"
    notes = (
        claim.oracle_note,
        claim.composition_note,
        claim.stress.note,
        claim.production.note,
        claim.model.digest,
    )
    for note in notes:
        if note is not None and not (isinstance(note, str) and note.strip()):
            yield f"a note or a digest is words or None, and not {note!r}"
    if not re.fullmatch("[0-9a-f]{64}", claim.set.sha256):
        yield f"the sum of a claim's set is a SHA-256 in 64 hexadecimal digits, and not {claim.set.sha256!r}"
    if not _is_time(claim.measured_at):
        yield f"a claim is measured at a time with its zone, as ISO 8601 writes it, and not at {claim.measured_at!r}"


def _is_time(text: str) -> bool:
    try:
        return dt.datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False


def _of_notes(claim: Claim) -> Iterator[str]:
    if claim.oracle is not (claim.oracle_note is not None):
        yield "an oracle's claim carries the note that it is a ceiling, and no other claim does"
    if claim.oracle and claim.oracle_note != oracle.NOTE:
        yield f"the note of an oracle's claim is {oracle.NOTE!r}"
    gap = re.fullmatch(_GAP, claim.coverage_gap, re.DOTALL)
    if gap is None:
        yield (
            "a claim's coverage_gap tells the cases and what the set does not cover, ending in "
            f"{NO_SHARES!r} or {BESIDE_SLICES!r}, and is not {claim.coverage_gap!r}"
        )
    elif int(gap[1]) < claim.cases or (gap[2] == NO_SHARES) is not (claim.production.covers is None):
        yield "a claim's coverage_gap contradicts its cases or what is known of production's shares"


def _of_shares(claim: Claim) -> Iterator[str]:
    for name, value in (("value", claim.value), ("baseline", claim.baseline), ("threshold", claim.threshold)):
        if not _is_within(value, 0, 1):
            yield f"a claim's {name} is a share from 0 to 1, and not {value!r}"
    if not 0 < claim.threshold < 1:
        yield f"a claim's threshold lies above 0 and below 1, and is not {claim.threshold!r}"
    if claim.churn is not None and not _is_within(claim.churn, 0, 1):
        yield f"a claim's churn is a share from 0 to 1 or None, and not {claim.churn!r}"


def _of_numbers(claim: Claim) -> Iterator[str]:
    yield from _of_interval("value", claim.value, claim.low, claim.high, 0)
    if claim.composed is not None:
        its = claim.composed
        yield from _of_interval("composed drop", its.drop, its.low, its.high, -1)
        if its.predicted is not None and not _is_within(its.predicted, -math.inf, math.inf):
            yield f"the sum of a claim's single drops is a number or None, and not {its.predicted!r}"
    if not all(_is_within(count, 0, math.inf) for count in (claim.needed_tokens, claim.total_tokens)):
        yield "a claim's tokens are numbers and not negative"
    if claim.cases < 1 or claim.repeats < 1 or not claim.total_tokens > 0:
        yield "a claim rests on cases, on repeats and on tokens"
    if not math.isclose(claim.value, claim.needed_tokens / claim.total_tokens, rel_tol=1e-6, abs_tol=_NEAR):
        yield "a claim's value is its needed tokens over its total tokens"
    refused = refusal(claim.threshold, claim.churn, claim.baseline)
    if refused is not None:
        yield f"a claim rests on findings, and here are none: {refused}"


def _of_interval(
    name: str, value: float, low: float | None, high: float | None, least: float
) -> Iterator[str]:
    if not _is_within(value, least, 1):
        yield f"a claim's {name} lies from {least:g} to 1, and is not {value!r}"
    if low is None or high is None:
        if low is not high:
            yield f"the interval of a claim's {name} has both ends or none, and is not [{low!r}, {high!r}]"
        return
    if not _is_within(low, least, 1) or not _is_within(high, least, 1):
        yield f"the interval of a claim's {name} lies from {least:g} to 1, and is not [{low!r}, {high!r}]"
    if not low <= high or not low - _NEAR <= value <= high + _NEAR:
        yield f"a claim's {name} lies in its interval, and {value:g} is not in [{low:g}, {high:g}]"


def _is_within(value: float | None, least: float, most: float) -> bool:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return False
    return math.isfinite(value) and least <= value <= most


def _of_blocks(claim: Claim) -> Iterator[str]:
    its = claim.blocks
    names = (*its.needed, *its.undecided, *its.removable)
    if not names or len(set(names)) < len(names):
        yield "a claim names its blocks, each once as needed, undecided or removable"
    if not {*its.fails_stress, *its.fails_production} <= {*its.removable}:
        yield "what a claim says is not to be cut all the same came out removable"
    if {*its.put_back} & {*its.needed, *its.undecided}:
        yield "what a claim puts back came out removable, and no whole block of it needed or undecided"
    if not {*its.stand_in} <= {*its.needed}:
        yield "a block whose units stand in for one another is needed"
    if its.fails_stress and not claim.stress.cases:
        yield "a block fails the stress cases only where there are some"
    if its.fails_production and claim.production.covers is None:
        yield "a block fails with production's shares only where some are given"


def _of_counting(claim: Claim) -> Iterator[str]:
    its = claim.blocks
    names = (*its.needed, *its.undecided, *its.removable)
    if (its.put_back or its.free) and not claim.composition_checked:
        yield "what came out removable was not left out together, so that what is needed is not known"
    if its.free and claim.composition_holds is not True:
        yield "what came out removable counts as needed where leaving it out together does not hold"
    if its.put_back and claim.composition_holds is True:
        yield "nothing is put back where leaving out together holds"
    if not claim.oracle and not its.counting and claim.value > _NEAR:
        yield "a claim's value is 0 where no block counts as needed"
    if not claim.oracle and len(its.counting) == len(names) and claim.value < 1 - _NEAR:
        yield "a claim's value is 1 where every block counts as needed"


def _of_composition(claim: Claim) -> Iterator[str]:
    holds, its = claim.composition_holds, claim.composed
    if claim.composition_checked is not (its is not None):
        yield "the composition is checked if and only if the composed arm's result is there"
    if holds is not None and its is None:
        yield "whether the composition holds is known only where it is checked"
    if (holds is True) is (claim.composition_note is not None):
        yield "a claim whose composition does not hold says why, and no other claim does"
    begins = "not checked: " if holds is None else "does not hold: "
    if claim.composition_note is not None and not claim.composition_note.startswith(begins):
        yield f"the note on a composition that is {begins.strip(': ')!r} begins so, and not {claim.composition_note!r}"
    if holds is None or its is None:
        return
    can_go = (
        by_interval(its.low, its.high, claim.threshold) is Finding.REMOVABLE
        and (not claim.stress.cases or claim.stress.clears is True)
        and claim.production.verdict in {None, str(Finding.REMOVABLE), str(Finding.UNDECIDED)}
    )
    if holds and not can_go:
        yield (
            "a composition holds only where the composed drop's whole interval is below the threshold, the stress cases are "
            "cleared, and production's shares do not forbid it"
        )
    # Where shares are given and the drop with them is not known, that may be why.
    if not holds and can_go and (claim.production.verdict or claim.production.covers is None):
        yield "a composition holds where the composed drop, stress cases and production's shares all allow it"


def _of_stress(claim: Claim) -> Iterator[str]:
    its = claim.stress
    if its.cases < 0 or (claim.quick and its.cases):
        yield f"a claim has stress cases or none, and a quick look has none, and not {its.cases}"
    if (its.clears is None) is not (its.note is not None):
        yield "a claim says why it is not known whether the stress cases are cleared, and only then"
    if its.clears is not None and (not its.cases or claim.composed is None):
        yield "stress cases are cleared or not only where there are some and the composed arm was measured"
    if its.baseline is not None and (not its.cases or not _is_within(its.baseline, 0, 1)):
        yield f"accuracy on stress cases takes some and is a share from 0 to 1 or None, and not {its.baseline!r}"
    no_room = None if its.baseline is None else no_room_on_stress(its.baseline, claim.threshold)
    if its.clears is not None and (its.baseline is None or no_room):
        yield f"stress cases are cleared or not only where a loss could show on them: {no_room or 'not measured'}"
    if no_room and claim.composed is not None and its.note != f"not known: {no_room}":
        yield f"a claim says why its stress cases show nothing: {no_room}"
    expected = QUICK_STRESS if claim.quick else NO_STRESS
    if not its.cases and its.note != expected:
        yield f"the note on stress cases that were not asked is {expected!r}"
    if its.cases and its.note is not None and not its.note.startswith("not known: "):
        yield f"the note on what is not known of stress cases begins 'not known: ', and not {its.note!r}"


def _of_production(claim: Claim) -> Iterator[str]:
    its = claim.production
    if its.covers is not None and not _is_within(its.covers, 0, 1):
        yield f"what a claim's set covers of production is a share from 0 to 1 or None, and not {its.covers!r}"
    if its.drop is None:
        if its.low is not None or its.high is not None or its.verdict is not None or its.note is None:
            yield "without a drop with production's shares there is a note, and no interval and no verdict"
        return
    if its.covers is None or claim.composed is None:
        yield "a drop with production's shares takes shares and a composed arm"
    if its.note is not None:
        yield "where there is a drop with production's shares no note says why there is none"
    yield from _of_interval("drop with production's shares", its.drop, its.low, its.high, -1)
    found = by_interval(its.low, its.high, claim.threshold)
    if its.verdict != str(found):
        yield f"the verdict with production's shares follows from the drop's interval: {found}, and not {its.verdict!r}"
