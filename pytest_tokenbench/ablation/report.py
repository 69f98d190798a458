"""What reports show of an ablation, as plain JSON values: the part of results.json that only an ablation has."""

import math
from collections import Counter
from collections.abc import Callable, Iterator

import numpy as np

from pytest_tokenbench.ablation import composition, oracle, reweighting, selector, stages, together
from pytest_tokenbench.ablation.claim_words import no_room
from pytest_tokenbench.ablation.design import Ablation, ArmKind, ArmPlan, BlockPlan, Parts
from pytest_tokenbench.ablation.findings import Finding, refusal
from pytest_tokenbench.ablation.measured import RIGHT, TOKENS, Measured
from pytest_tokenbench.figures import Json, figure
from pytest_tokenbench.records import Status
from pytest_tokenbench.results import Unavailable
from pytest_tokenbench.statistics import FloatArray


def build(ablation: Ablation, results: Measured) -> Json:
    """An ablation's findings. Figures as in the rest of the document: shares, tokens, seconds, or why there is none."""
    blocks = [_block(plan, results) for plan in ablation.blocks]
    floor = results.floor_or_none()
    base = figure(lambda: results.level(RIGHT, results.baseline))
    refused = refusal(ablation.threshold, floor, base["estimate"]) if "estimate" in base else None
    made: Json = {
        "cases": len(results.questions),
        "stress_cases": 0 if results.stress is None else len(results.stress.questions),
        "set": ablation.cases,
        "sha256": ablation.sha256,
        "threshold": ablation.threshold,
        "baseline": base,
        "stress_baseline": _stress_base(results),
        "production": ablation.production,
        "covers": reweighting.covered(results) if len(ablation.production) == 1 else None,
        "slices": _slices(results),
        "churn_floor": figure(results.floor),
        "refused": refused,
        "blocks": blocks,
        "composed": _composed(results),
        "needed_fraction": _fraction(results),
        "oracle": _oracle(results),
        "selector": [_selecting(arm, results) for arm in selector.arms(results)],
    }
    return made | {"notes": [*_notes(made, results), *_of_oracle(made, results)]}


def _slices(results: Measured) -> list[Json]:
    """The slices of production, with their cases."""
    try:
        kind, wanted = reweighting.shares(results)
    except Unavailable:
        return []
    return [
        {"kind": kind, "slice": name, "production": wanted[name], "cases": count}
        for name, count in reweighting.cases(results).items()
    ]


def _block(plan: BlockPlan, results: Measured) -> Json:
    arm = results.without(plan.name)
    return {
        "name": plan.name,
        "parts": str(plan.parts),
        "tokens": figure(lambda: results.saved(arm)),
        "share": _share(plan.name, results),
        "drop": figure(lambda: results.drop_of(arm)),
        **_found(arm, results),
        "per_1000_tokens": figure(lambda: results.per_1000_tokens(plan.name)),
        "prefill_saved": figure(lambda: results.saved(arm, "prefill_s")),
        "filler": _filler(plan.name, results),
        "units": [_unit(one, results) for one in _asked(plan, ArmKind.UNIT, results)],
        "ranks": [_rank(one, results) for one in _asked(plan, ArmKind.UP_TO, results)],
        "not_decomposed": _not_decomposed(plan, results),
        "units_stand_in": composition.units_stand_in(results, plan),
    }


def _share(block: str, results: Measured) -> float | None:
    """The share that a block has of the tokens of all blocks."""
    try:
        tokens, total = results.tokens_of(block), oracle.total_tokens(results)
        return results.ratio(tokens, total, block).estimate
    except Unavailable:
        return None


def _found(arm: str, results: Measured) -> Json:
    """What came out of leaving something out: on the main cases, on the stress cases and with production's shares."""
    found = results.ruled(arm)
    return {
        "verdict": str(found.finding),
        "reason": found.reason,
        "n_to_decide": found.n_to_decide,
        **_on_stress(arm, results),
        **_reweighted(arm, results),
    }


def _stress_base(results: Measured) -> Json:
    """The accuracy with every block on the stress cases."""
    stress = results.stress
    if stress is None:
        return {"unavailable": results.why_no_stress}
    return figure(lambda: stress.level(RIGHT, stress.baseline))


def _on_stress(arm: str, results: Measured) -> Json:
    """What comes out on the stress cases; `stress_note` says why it is not known whether they are cleared."""
    stress = results.stress
    none = {"unavailable": results.why_no_stress}
    clears, note = results.on_stress(arm)
    return {
        "stress_drop": none if stress is None else figure(lambda: stress.drop_of(arm)),
        "clears_stress": clears,
        "stress_note": note,
    }


def _reweighted(arm: str, results: Measured) -> Json:
    """What comes out with production's shares."""
    found = reweighting.ruled(results, arm)
    return {
        "reweighted_drop": figure(lambda: reweighting.drop(results, arm)),
        "reweighted_verdict": None if found is None else str(found.finding),
        "reweighted_n_to_decide": None if found is None else found.n_to_decide,
    }


def _filler(block: str, results: Measured) -> Json:
    """What the content is worth with its length kept, what the length is, and how well the length was met."""
    try:
        arm, without = results.arm(ArmKind.FILLER, block), results.without(block)
        off = np.abs(results.column(TOKENS, arm) - results.column(TOKENS, results.baseline))
        return {
            "drop": figure(lambda: results.drop_of(arm)),
            "length": figure(lambda: results.drop_of(without, versus=arm)),
            "deviation": {"mean": float(np.nanmean(off)), "largest": float(np.nanmax(off))},
        }
    except Unavailable as reason:
        return {"unavailable": str(reason)}


def _asked(plan: BlockPlan, kind: ArmKind, results: Measured) -> list[ArmPlan]:
    """The arms within a block that were asked, with those that have no finding for want of some trials."""
    arms = [arm for arm in results.ablation.arms if arm.kind is kind and arm.blocks == (plan.name,)]
    both = [results] if results.stress is None else [results, results.stress]
    return [arm for arm in arms if any(one.statuses(arm.id)[Status.OK] for one in both)]


def _unit(arm: ArmPlan, results: Measured) -> Json:
    (block,) = arm.blocks
    return {
        "unit": arm.unit,
        "tokens": figure(lambda: results.mean_of(results.tokens_of_unit(block, arm.unit or 1), block)),
        "drop": figure(lambda: results.drop_of(arm.id)),
        **_found(arm.id, results),
    }


def _rank(arm: ArmPlan, results: Measured) -> Json:
    return {
        "to": arm.unit,
        "drop": figure(lambda: results.drop_of(arm.id)),
        "tokens_saved": figure(lambda: results.saved(arm.id)),
        **_found(arm.id, results),
    }


def _not_decomposed(plan: BlockPlan, results: Measured) -> str | None:
    """Why a block was not taken apart, None where it was."""
    arms = [arm for arm in results.ablation.arms if arm.kind in {ArmKind.UNIT, ArmKind.UP_TO}]
    within = [arm for arm in arms if arm.blocks == (plan.name,)]
    if any(results.statuses(arm.id)["ok"] for arm in within):
        return None
    if plan.parts is Parts.WHOLE:
        return "it is declared as one piece"
    if not within and not results.ablation.quick:
        return "it has a single unit, and to leave that out is to leave out the block"
    if not within:
        return "this run does not take blocks apart"
    return stages.decision(results, within[0].id).needless or "its arms were not measured"


def _composed(results: Measured) -> Json:
    try:
        parts = stages.left_out(results)
        arm = results.arm(ArmKind.COMPOSED)
        results.column(RIGHT, arm)
        predicted = composition.predicted(results, parts)
        lost = composition.lost_together(results, parts)
    except Unavailable as reason:
        return {"unavailable": str(reason)}
    whole = together.of(results)
    return {
        "left_out": list(parts),
        "kept_ranks": composition.kept_ranks(results.ablation, parts),
        **_found(arm, results),
        "holds": whole.holds,
        "note": whole.note,
        "caveat": whole.caveat,
        "drop": figure(lambda: results.drop_of(arm)),
        "predicted": _mean(predicted + 0 * results.drops(arm)),
        "shortfall": figure(lambda: composition.shortfall(results, parts)),
        "tokens_saved": figure(lambda: results.saved(arm)),
        "share_saved": _share_saved(arm, results),
        "lost": [_case(case, results) for case in lost],
        "lost_by_slice": _by_slice(lost, results),
        "pairs": [
            {"blocks": list(pair.blocks)} | _interaction(pair) for pair in composition.pairs(results, parts)
        ],
        "within": [
            {"block": part.blocks[0]} | _interaction(part) for part in composition.within(results, parts)
        ],
    }


def _interaction(found: composition.Interaction) -> Json:
    return {
        "arm": found.arm,
        "lost": list(found.lost),
        "redundant": found.redundant,
        "drop": figure(lambda: found.drop),
        "excess": figure(lambda: found.excess),
        "free_alone": found.free_alone,
    }


def _share_saved(arm: str, results: Measured) -> float | None:
    try:
        saved = results.column(TOKENS, results.baseline) - results.column(TOKENS, arm)
        return results.ratio(saved, oracle.total_tokens(results), arm).estimate
    except Unavailable:
        return None


def _case(name: str, results: Measured) -> Json:
    return {"case": name, "slices": _slices_of(name, results)}


def _slices_of(name: str, results: Measured) -> dict[str, str]:
    return next(case.slices for case in results.questions if case.id == name)


def _by_slice(lost: tuple[str, ...], results: Measured) -> dict[str, dict[str, int]]:
    """How many of the lost cases each slice has, by kind of slice."""
    counts: dict[str, Counter[str]] = {}
    for name in lost:
        for kind, its in _slices_of(name, results).items():
            counts.setdefault(kind, Counter())[its] += 1
    return {kind: dict(sorted(found.items())) for kind, found in sorted(counts.items())}


def _fraction(results: Measured) -> Json:
    try:
        tokens = oracle.by_findings(results)
        found = figure(lambda: oracle.fraction(results, tokens))
    except Unavailable as reason:
        return {"unavailable": str(reason)}
    whole = together.of(results)
    back: Json = {
        "put_back": list(whole.put_back),
        "put_back_note": whole.note if whole.put_back else None,
        "caveat": whole.caveat,
    }
    return found | _means(found, tokens, "needed_tokens") | back


def _oracle(results: Measured) -> Json:
    """The oracle's fraction, or why there is none; with its caveat either way."""
    caveat: Json = {"oracle": True, "note": oracle.NOTE}
    try:
        tokens = oracle.by_oracle(results)
        found = figure(lambda: oracle.fraction(results, tokens))
        lacking = list(oracle.unsupported(results))
    except Unavailable as reason:
        return caveat | {"unavailable": str(reason)}
    if "unavailable" in found:
        return caveat | found
    return caveat | {"fraction": found, "unsupported": lacking} | _means(found, tokens, "tokens")


def _means(found: Json, tokens: oracle.Needed, name: str) -> Json:
    if "unavailable" in found:
        return {}
    needed, total = tokens.means()
    return {name: needed, "total_tokens": total}


def _selecting(arm: ArmPlan, results: Measured) -> Json:
    return {
        "arm": arm.id,
        "score": arm.score,
        "recovered": figure(lambda: selector.recovered(results, arm)),
        "drop": figure(lambda: selector.lost(results, arm)),
        "saved_tokens": figure(lambda: results.saved(arm.id)),
        **_on_stress(arm.id, results),
        **_reweighted(arm.id, results),
    }


def _mean(column: FloatArray) -> float | None:
    return (
        None
        if np.isnan(column).all()
        else math.fsum(column[~np.isnan(column)]) / int((~np.isnan(column)).sum())
    )


def _notes(made: Json, results: Measured) -> list[str]:
    """What to know when reading the figures, each only where it applies."""
    found = []
    room = no_room(made["baseline"].get("estimate", 1.0))
    if room is not None and not made["refused"]:
        found.append(room)
    if results.ablation.quick and "drop" in made["composed"]:
        found.append(
            "quick look: the composed arm leaves out what lost less than the threshold in these few cases, and not what "
            "came out removable"
        )
    if not made["stress_cases"]:
        found.append(f"{results.why_no_stress}, so that nothing was cleared on them")
    if "estimate" in made["needed_fraction"]:
        found.append("the intervals of fractions are those of the cases; the verdicts are taken as they are")
    found += _of_production(made)
    return found


def _of_oracle(made: Json, results: Measured) -> list[str]:
    """What the fractions count otherwise than by the verdicts."""
    found = []
    lacking = made["oracle"].get("unsupported", ())
    if lacking:
        found.append(
            f"in {len(lacking)} of {made['cases']} cases the answer is not in what an oracle would keep (no gold_rank, or "
            "another one; a follow-up that is not marked; an answer that the model knows by itself): of these each block "
            "that counts is counted whole"
        )
    if "estimate" not in made["needed_fraction"]:
        return found
    counting = set(oracle.counting_blocks(results))
    found += _barred(made, counting)
    kept = [
        f"{plan.name} in {cases}"
        for plan in results.ablation.blocks
        if plan.follow_ups_only and plan.name not in counting and (cases := _cases_kept(plan.name, results))
    ]
    if kept and "fraction" in made["oracle"]:
        found.append(
            f"not counted in the needed fraction, and counted by the oracle in follow-ups that are not known to be right "
            f"without: {', '.join(kept)}"
        )
    return found


def _barred(made: Json, counting: set[str]) -> Iterator[str]:
    """What the needed fraction leaves out although it is not to be cut."""
    removable = [one for one in made["blocks"] if one["verdict"] == Finding.REMOVABLE]
    reasons: dict[str, Callable[[Json], bool]] = {
        "it is not shown to clear the stress cases": lambda one: (
            made["stress_cases"] and one["clears_stress"] is not True
        ),
        "it is needed with production's shares": lambda one: one["reweighted_verdict"] == Finding.NEEDED,
        "it may be needed with production's shares, of which trials are missing": lambda one: (
            one["reweighted_verdict"] == Finding.NOT_MEASURED
        ),
    }
    for reason, bars in reasons.items():
        names = [one["name"] for one in removable if bars(one) and one["name"] not in counting]
        if names:
            yield (
                "not counted in the needed fraction, which is of the main cases as they are, and yet not to be cut, since "
                f"{reason}: {', '.join(names)}"
            )


def _cases_kept(block: str, results: Measured) -> str:
    """In how many cases the oracle keeps some of a block, in words; empty if in none."""
    count = int(oracle.kept(results)[block].any(axis=1).sum())
    return f"{count} case" + "s" * (count != 1) if count else ""


def _of_production(made: Json) -> list[str]:
    found = []
    if len(made["production"]) > 1:
        found.append(
            "production's shares are of several kinds of slices, so that nothing is re-weighted to them"
        )
    if made["covers"] is not None and made["covers"] < 1 - 1e-9:
        empty = ", ".join(one["slice"] for one in made["slices"] if not one["cases"])
        found.append(
            f"production's shares are covered to {100 * made['covers']:.0f}%: there is no case of {empty}"
        )
    return found
