"""The claims that a run supports, as claim.json has them, and why it supports no other."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from importlib import resources
from typing import Any

from pytest_tokenbench.ablation.claim_record import (
    CaseSet,
    Claim,
    ClaimedModel,
    Composed,
    Production,
    Stress,
)
from pytest_tokenbench.ablation.claim_words import (
    BESIDE_SLICES,
    NO_SHARES,
    NO_STRESS,
    QUICK_STRESS,
    Blocks,
    by_rank,
    notes,
    sentence,
)
from pytest_tokenbench.ablation.findings import Finding
from pytest_tokenbench.figures import Json
from pytest_tokenbench.run_folder import RunRecord

FILE = "claim.json"
_UNDER_SAMPLED = 0.5
# By how much rounding may carry a share over its bound.
_ROUNDING = 1e-9
_FORBIDDING = {str(one) for one in (Finding.NEEDED, Finding.NOT_MEASURED)}
_DECIDED = {str(one) for one in (Finding.NEEDED, Finding.REMOVABLE, Finding.UNDECIDED)}


def claims(ablation: Json, record: RunRecord) -> list[Claim]:
    """The claims that a run supports: the needed fraction and the oracle's, each only where it was measured.

    `ablation` is that part of the results document.
    """
    return [one for one in _tried(ablation, record) if isinstance(one, Claim)]


def refusals(ablation: Json, record: RunRecord) -> list[str]:
    """Why a run does not support a claim that it would have, each once."""
    return list(dict.fromkeys(one for one in _tried(ablation, record) if isinstance(one, str)))


def _tried(ablation: Json, record: RunRecord) -> Iterator[Claim | str]:
    """Each claim, or why it cannot be made."""
    barrier = _barrier(ablation, record)
    if barrier is not None:
        yield barrier
        return
    needed, oracle = ablation["needed_fraction"], ablation["oracle"]
    yield _made(
        ablation,
        record,
        needed,
        needed_tokens=needed["needed_tokens"],
        total_tokens=needed["total_tokens"],
        oracle_note=None,
    )
    if "fraction" not in oracle:
        yield f"of the oracle: {oracle['unavailable']}"
        return
    yield _made(
        ablation,
        record,
        oracle["fraction"],
        needed_tokens=oracle["tokens"],
        total_tokens=oracle["total_tokens"],
        oracle_note=oracle["note"],
    )


def _barrier(ablation: Json, record: RunRecord) -> str | None:
    """Why a run supports no claim at all, None where it may."""
    if record.finished is None:
        return "the run did not come to its end"
    if record.spoilt is not None:
        return record.spoilt
    if record.shard is not None:
        return f"shard {record.shard} is a part of the trials; merge the parts"
    # The oracle chooses among what counts as needed, so that its claim rests on the same findings.
    found = (ablation["baseline"], ablation["needed_fraction"])
    return next((str(one["unavailable"]) for one in found if "unavailable" in one), None)


def _made(ablation: Json, record: RunRecord, figure: Json, **tokens: Any) -> Claim | str:
    composed = ablation["composed"]
    drop = composed.get("drop", {"unavailable": composed.get("unavailable")})
    is_checked = "estimate" in drop
    churn = ablation["churn_floor"].get("estimate")
    value, low, high = _ends(figure, 0.0)
    said = {
        "value": value,
        "blocks": _blocks(ablation),
        "cases": figure["n"],
        "threshold": ablation["threshold"],
        "oracle": tokens["oracle_note"] is not None,
        "quick": record.quick,
    }
    holds = composed["holds"] if is_checked else None
    in_production = _production(ablation, is_checked=is_checked)
    baseline = ablation["baseline"]["estimate"]
    try:
        return Claim(
            claim=sentence(**said),
            notes=notes(
                blocks=said["blocks"], baseline=baseline, production=in_production.verdict, holds=holds
            ),
            low=low,
            high=high,
            set=CaseSet(ablation["set"], ablation["sha256"]),
            baseline=baseline,
            repeats=record.repeats,
            churn=None if churn is None else _within(churn, 0.0),
            model=ClaimedModel(record.model.name, record.model.digest),
            measured_at=record.finished or "",
            composition_checked=is_checked,
            composition_holds=holds,
            composition_note=composed["note"] if is_checked else f"not checked: {drop['unavailable']}",
            composed=Composed(*_ends(drop, -1.0), composed["predicted"]) if is_checked else None,
            stress=_stress(ablation, quick=record.quick, is_checked=is_checked),
            production=in_production,
            coverage_gap=coverage_gap(ablation, figure["n"]),
            **said,
            **tokens,
        )
    except ValueError as reason:
        return f"its record would contradict itself: {reason}"


def _ends(figure: Json, least: float) -> tuple[float, float | None, float | None]:
    """A figure of shares with its interval, without what rounding carries them over their bounds."""
    low, high = (None if figure[end] is None else _within(figure[end], least) for end in ("low", "high"))
    return _within(figure["estimate"], least), low, high


def _within(share: float, least: float) -> float:
    is_near = least - _ROUNDING <= share <= 1 + _ROUNDING
    return min(1.0, max(least, share)) if is_near else share


def _blocks(ablation: Json) -> Blocks:
    by_verdict: dict[str, list[str]] = {verdict: [] for verdict in _DECIDED}
    for one in ablation["blocks"]:
        by_verdict.setdefault(one["verdict"], []).append(one["name"])
    its = {one["name"]: one for one in ablation["blocks"]}
    removable = by_verdict[Finding.REMOVABLE]
    return Blocks(
        needed=tuple(by_verdict[Finding.NEEDED]),
        undecided=tuple(by_verdict[Finding.UNDECIDED]),
        removable=tuple(removable),
        put_back=by_rank(
            ablation["needed_fraction"].get("put_back", ()), ablation["composed"].get("kept_ranks", {})
        ),
        fails_stress=tuple(
            name for name in removable if ablation["stress_cases"] and its[name]["clears_stress"] is not True
        ),
        fails_production=tuple(name for name in removable if its[name]["reweighted_verdict"] in _FORBIDDING),
        stand_in=tuple(one["name"] for one in ablation["blocks"] if one["units_stand_in"]),
    )


def _stress(ablation: Json, *, quick: bool, is_checked: bool) -> Stress:
    cases, composed = ablation["stress_cases"], ablation["composed"]
    if not cases:
        return Stress(0, None, None, QUICK_STRESS if quick else NO_STRESS)
    base = ablation["stress_baseline"].get("estimate")
    if not is_checked:
        return Stress(cases, base, None, "not known: the composed arm was not measured")
    clears = composed["clears_stress"]
    return Stress(cases, base, clears, f"not known: {composed['stress_note']}" if clears is None else None)


def _production(ablation: Json, *, is_checked: bool) -> Production:
    covers, composed = ablation["covers"], ablation["composed"]
    if covers is None:
        return Production(None, None, None, None, None, "the study gives no shares of production")
    covers = _within(covers, 0.0)
    if not is_checked:
        return Production(covers, None, None, None, None, "the composed arm was not measured")
    drop, verdict = composed["reweighted_drop"], composed["reweighted_verdict"]
    if "unavailable" in drop or verdict not in _DECIDED:
        note = drop.get("unavailable", "with trials that are missing it may come out otherwise")
        return Production(covers, None, None, None, None, note)
    return Production(covers, *_ends(drop, -1.0), verdict, None)


def coverage_gap(ablation: Json, measured: int) -> str:
    """What the set does not cover of where the prompts are used, in words. There always is something.

    `measured` is how many of its main cases the claim rests on.
    """
    slices, cases = ablation["slices"], ablation["cases"]
    head = f"{cases} case" + "s" * (cases != 1)
    if measured < cases:
        head += f", of which the value rests on {measured}"
    if not slices:
        return f"{head}; {NO_SHARES}."
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
    return f"{'; '.join([head, *parts, BESIDE_SLICES])}."


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
