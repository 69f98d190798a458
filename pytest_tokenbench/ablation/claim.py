"""The claim record: a needed fraction with everything that keeps it honest. One without its caveats cannot be made."""

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib import resources
from typing import Any, Self

from pytest_tokenbench.run_folder import RunRecord

FILE = "claim.json"
Json = dict[str, Any]
_UNDER_SAMPLED = 0.5


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
class Claim:
    """That `value` of the tokens is needed, in words in `claim`. Shares from 0 to 1, tokens as means per case.

    An oracle's claim is a ceiling and carries its note. `composition_checked` says whether what came out removable was
    left out together too, `composition_holds` whether that came out removable as well and cleared the stress cases, None
    where nothing was to be left out or that is not known. Where it is not true `composition_note` says why.
    `coverage_gap` says what the set does not cover.
    `churn` is None where it was not measured.

    Raises:
        ValueError: A caveat is missing, or contradicts the numbers.
    """

    claim: str
    value: float
    low: float | None
    high: float | None
    needed_tokens: float
    total_tokens: float
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
    coverage_gap: str
    composed: Composed | None
    quick: bool

    def __post_init__(self) -> None:
        told = {
            "claim": self.claim,
            "coverage_gap": self.coverage_gap,
            "measured_at": self.measured_at,
            "set": self.set.name,
            "set's sum": self.set.sha256,
            "model": self.model.name,
        }
        for name, text in told.items():
            if not text.strip():
                raise ValueError(f"a claim needs its {name} in words")
        if self.oracle is not bool(self.oracle_note and self.oracle_note.strip()):
            raise ValueError(
                "an oracle's claim carries the note that it is a ceiling, and no other claim does"
            )
        if self.composition_checked is not (self.composed is not None):
            raise ValueError("the composition is checked if and only if the composed arm's result is there")
        if self.composition_holds is not None and not self.composition_checked:
            raise ValueError("whether the composition holds is known only where it is checked")
        if (self.composition_holds is True) is bool(self.composition_note and self.composition_note.strip()):
            raise ValueError("a claim whose composition does not hold says why, and no other claim does")
        if self.cases < 1 or self.repeats < 1 or not self.total_tokens > 0:
            raise ValueError("a claim rests on cases, on repeats and on tokens")
        if not math.isclose(self.value, self.needed_tokens / self.total_tokens, rel_tol=1e-6, abs_tol=1e-9):
            raise ValueError("a claim's value is its needed tokens over its total tokens")

    @classmethod
    def _of(cls, ablation: Json, record: RunRecord, figure: Json, **own: Any) -> Self:
        composed, churn = ablation["composed"], ablation["churn_floor"]
        drop = composed.get("drop", {})
        is_checked = "estimate" in drop
        return cls(
            value=figure["estimate"],
            low=figure["low"],
            high=figure["high"],
            set=CaseSet(ablation["set"], ablation["sha256"]),
            cases=figure["n"],
            threshold=ablation["threshold"],
            baseline=ablation["baseline"]["estimate"],
            repeats=record.repeats,
            churn=churn.get("estimate"),
            model=ClaimedModel(record.model.name, record.model.digest),
            measured_at=record.finished or record.started,
            composition_checked=is_checked,
            composition_holds=composed["holds"] if is_checked else None,
            composition_note=composed["note"]
            if is_checked
            else f"not checked: {composed.get('unavailable') or drop.get('unavailable')}",
            coverage_gap=coverage_gap(ablation),
            composed=Composed(drop["estimate"], drop["low"], drop["high"], composed["predicted"])
            if is_checked
            else None,
            quick=record.quick,
            **own,
        )


def claims(ablation: Json, record: RunRecord) -> list[Claim]:
    """The claims that a run supports: the needed fraction and the oracle's, each only where it was measured.

    `ablation` is that part of the results document.
    """
    if "estimate" not in ablation["baseline"]:
        return []
    found = []
    back = _put_back(ablation)
    needed, oracle = ablation["needed_fraction"], ablation["oracle"]
    if "estimate" in needed:
        text = f"Of the tokens of the prompt's blocks {100 * needed['estimate']:.1f}% stand in blocks that are needed"
        found.append(
            Claim._of(  # noqa: SLF001  # of this module
                ablation,
                record,
                needed,
                claim=f"{text}: leaving one out costs {100 * ablation['threshold']:g} points or more, or may do so.{back}",
                needed_tokens=needed["needed_tokens"],
                total_tokens=needed["total_tokens"],
                oracle=False,
                oracle_note=None,
            )
        )
    if "fraction" in oracle:
        share = oracle["fraction"]["estimate"]
        found.append(
            Claim._of(  # noqa: SLF001  # of this module
                ablation,
                record,
                oracle["fraction"],
                claim=f"An oracle that knows each case would send {100 * share:.1f}% of the tokens of the blocks.{back}",
                needed_tokens=oracle["tokens"],
                total_tokens=oracle["total_tokens"],
                oracle=True,
                oracle_note=oracle["note"],
            )
        )
    return found


def _put_back(ablation: Json) -> str:
    """What counts as needed although it came out removable, as a sentence to go on with; empty if nothing does."""
    back = ablation["needed_fraction"].get("put_back")
    if not back:
        return ""
    is_measured = "estimate" in ablation["composed"].get("drop", {})
    why = "leaving all of it out together does not hold" if is_measured else "this was not measured together"
    return f" What came out removable one by one ({', '.join(back)}) counts as needed, since {why}."


def coverage_gap(ablation: Json) -> str:
    """What the set does not cover of where the prompts are used, in words. There always is something."""
    slices, cases = ablation["slices"], ablation["cases"]
    if not slices:
        known = "the shares that its slices have in production are not given, so that how far it stands for it is not known"
        return f"{cases} cases; {known}."
    parts = [
        f"{one['slice']} has no case and is {100 * one['production']:g}% of production"
        for one in slices
        if not one["cases"] and one["production"]
    ]
    parts += [
        f"{one['slice']} is {100 * one['cases'] / cases:.0f}% of the cases and {100 * one['production']:g}% of production"
        for one in slices
        if 0 < one["cases"] / cases < _UNDER_SAMPLED * one["production"]
    ]
    parts.append("nothing is known of what production asks beside these slices")
    return f"{cases} cases; {'; '.join(parts)}."


def as_text(found: Sequence[Claim]) -> str:
    """The content of claim.json: a list of claims."""
    made = [asdict(claim) for claim in found]
    return json.dumps(made, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def schema_text() -> str:
    """The text of the JSON Schema of claim.json."""
    return (
        resources.files("pytest_tokenbench.ablation")
        .joinpath("claim.schema.json")
        .read_text(encoding="utf-8")
    )
