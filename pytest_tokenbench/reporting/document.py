"""The results document: everything that any report shows, as plain JSON values. The content of results.json."""

import json
import math
from collections import Counter
from collections.abc import Mapping
from typing import Any

from pytest_tokenbench import break_even, costs, hypotheses
from pytest_tokenbench.ablation import report
from pytest_tokenbench.ablation.results import AblationResults
from pytest_tokenbench.break_even import Building
from pytest_tokenbench.figures import figure
from pytest_tokenbench.measures import MEASURES, Scope, is_cold, is_warm
from pytest_tokenbench.records import Observation, Preparation, Status, Verdict
from pytest_tokenbench.reporting import course
from pytest_tokenbench.results import Results, Unavailable
from pytest_tokenbench.run_folder import FORMAT, Run

SHOWN = (
    "input_tokens",
    "output_tokens",
    "accuracy",
    "abstention",
    "made_up",
    "f1",
    "squad_f1",
    "exact_match",
    "prefill_s",
    "total_s",
)
COMPARED = ("accuracy", "abstention", "made_up", "f1")

Json = dict[str, Any]


def results_of(run: Run) -> Results:
    """The estimates over a run's trials; those of an ablation over its main cases, with the stress cases apart."""
    return _results(run, _buildings(run))


def _results(run: Run, buildings: break_even.Buildings) -> Results:
    record = run.record
    if record.ablation is not None:
        return AblationResults.of(
            record.ablation, record.questions, run.observations, record.repeats, run.decisions
        )
    return Results(
        record.questions,
        record.conditions,
        record.baseline,
        run.observations,
        record.repeats,
        beside=break_even.columns(buildings),
    )


def build(run: Run) -> Json:
    """The results document of a run. The same run gives the same document, to the last digit.

    A figure is `{"estimate", "low", "high", "n", "zero_width"}` (shares from 0 to 1, tokens, seconds), or
    `{"unavailable": reason}`. How the run went stands apart in `course`.
    """
    record = run.record
    buildings = _buildings(run)
    results = _results(run, buildings)
    trials: dict[str, list[Observation]] = {name: [] for name in record.conditions}
    for seen in results.observations:
        if seen.status is Status.OK:
            trials[seen.condition].append(seen)
    conditions = {name: _condition(name, trials[name], results, run, buildings) for name in record.conditions}
    document: Json = {
        "format": FORMAT,
        "study": record.study,
        "quick": record.quick,
        "order": record.order,
        "nonce": record.nonce,
        "repeats": record.repeats,
        "shard": record.shard,
        "model": {"name": record.model.name, "backend": record.model.backend, "digest": record.model.digest},
        "baseline": record.baseline,
        "questions": len(record.questions),
        "answerable": sum(question.answerable for question in record.questions),
        "documents": len({question.document for question in record.questions}),
        "registration": record.registration,
        "finished": record.finished is not None,
        "conditions": conditions,
        "hypotheses": [_verdict(verdict) for verdict in hypotheses.standing(run)],
        "course": course.build(run),
    }
    if isinstance(results, AblationResults) and record.ablation is not None:
        document["ablation"] = report.build(record.ablation, results)
    if record.prices:
        document["costs"] = _costs(run, results)
    return document


def as_text(document: Json) -> str:
    """The content of results.json: all but the course, so that a run that was disturbed comes to what any other does."""
    kept = {name: value for name, value in document.items() if name != "course"}
    return json.dumps(kept, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _condition(
    name: str, trials: list[Observation], results: Results, run: Run, buildings: break_even.Buildings
) -> Json:
    """A condition's figures; `trials` are those that ended well."""
    baseline = run.record.baseline
    measures = {}
    for measure in SHOWN:
        measures[measure] = figure(lambda measure=measure: results.level(measure, name))  # type: ignore[misc]
        bounds = results.bounds(measure, name) if "estimate" in measures[measure] else None
        if bounds:
            measures[measure]["bounds"] = list(bounds)
    measures["prefill_s"]["trials"] = _coldness(trials)
    made: Json = {
        "statuses": dict(sorted(results.statuses(name).items())),
        "missing": results.missing(name),
        "missing_trials": dict(sorted(results.lacking(name).items())),
        "remarks": dict(sorted(Counter(str(seen.remark) for seen in trials if seen.remark).items())),
        "churn": _churn(name, results),
        "measures": measures,
        "preparation": _preparation(name, buildings[name], results, run),
    }
    if name != baseline:
        made["reduction"] = figure(lambda: results.paired_reduction("input_tokens", name, baseline))
        made["break_even"] = break_even.break_even(name, buildings, results)
        made["differences"] = {measure: _difference(measure, name, results) for measure in COMPARED}
    return made


def _difference(measure: str, name: str, results: Results) -> Json:
    versus = results.baseline
    made = figure(lambda: results.paired_difference(measure, name, versus))
    if "estimate" in made:
        made["by_document"] = figure(lambda: results.clustered_difference(measure, name, versus))
        if MEASURES[measure].right is not None:
            made["discordance"] = results.discordance(measure, name, versus)
            made |= _noise(made["estimate"], MEASURES[measure].scope, name, results)
    return made


def _coldness(trials: list[Observation]) -> Json:
    """How many prompts are known to have been prefilled anew, or to have come in part from a cache."""
    cold, warm = sum(map(is_cold, trials)), sum(map(is_warm, trials))
    return {"cold": cold, "warm": warm, "not_told": len(trials) - cold - warm}


def _churn(name: str, results: Results) -> Json:
    """How often two repeats of a trial disagree, over all questions and over those of either kind."""
    found = {scope.value: figure(lambda scope=scope: results.churn(name, scope)) for scope in Scope}  # type: ignore[misc]
    return found | {"answers": figure(lambda: results.answer_churn(name))}


def _noise(difference: float, scope: Scope, name: str, results: Results) -> Json:
    """Whether a difference from the baseline is smaller than the larger churn of the two; {} if that is not known."""
    try:
        churn = max(results.churn(one, scope).estimate for one in (name, results.baseline))
    except Unavailable:
        return {}
    return {"churn": churn, "within_churn": abs(difference) < churn}


def _preparation(
    name: str, building: Building | Unavailable | None, results: Results, run: Run
) -> Json | None:
    """What was built for a condition, summed over documents; None where nothing is built."""
    if building is None:
        return None
    built = _latest(run, name)
    usable = [one for one in built.values() if one.failure is None]
    return {
        "recipe": run.record.recipes[name],
        "options": run.record.recipe_options.get(name, {}),
        "documents": len(built),
        "failed": {one.document: one.failure for one in built.values() if one.failure is not None},
        "flags": {one.document: list(one.flags) for one in usable if one.flags},
        "units": {one.document: len(one.units) for one in usable},
        "numbers": sum(one.numbers for one in usable),
        "unfaithful_numbers": sum(one.unfaithful_numbers for one in usable),
        "seconds_per_document": math.fsum(one.seconds for one in usable) / len(usable) if usable else None,
    } | break_even.figures(building, results)


def _buildings(run: Run) -> break_even.Buildings:
    """By condition what it built; those with one recipe and the same options share it."""
    record = run.record
    alike = {
        name: repr((recipe, record.recipe_options.get(name, {}))) for name, recipe in record.recipes.items()
    }
    made: dict[str, Building | Unavailable] = {}
    for name, recipe in alike.items():
        if recipe not in made:
            try:
                made[recipe] = Building.of(_latest(run, name), record.questions)
            except Unavailable as reason:
                made[recipe] = reason
    return {name: made[alike[name]] if name in alike else None for name in record.conditions}


def _latest(run: Run, condition: str) -> Mapping[str, Preparation]:
    """What a condition's recipe built for each document; another's of the same name has other options."""
    recipe, options = run.record.recipes[condition], run.record.recipe_options.get(condition, {})
    found = {
        one.document: one
        for one in run.preparations
        if one.recipe == recipe and options.items() <= one.options.items()
    }
    # In the order of the questions' documents, whichever was built first.
    order = dict.fromkeys(question.document for question in run.record.questions)
    return {name: found[name] for name in dict.fromkeys((*order, *sorted(found))) if name in found}


def _costs(run: Run, results: Results) -> list[Json]:
    prepared = {
        name: [one for one in _latest(run, name).values() if one.failure is None]
        for name in run.record.recipes
    }
    return [costs.build(price, results, prepared) for price in run.record.prices]


def _verdict(verdict: Verdict) -> Json:
    return {
        "hypothesis": verdict.hypothesis,
        "statement": verdict.statement,
        "ruling": str(verdict.ruling),
        "reason": verdict.reason,
        "evidence": [
            {
                "measure": e.measure,
                "estimate": e.estimate,
                "low": e.low,
                "high": e.high,
                "n": e.n,
                "bounds": [{"end": b.end, "relation": b.relation, "value": b.value} for b in e.bounds],
            }
            for e in verdict.evidence
        ],
    }
