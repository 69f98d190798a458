"""The results document: everything that any report shows, as plain JSON values. The content of results.json."""

import json
import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from pytest_tokenbench import costs
from pytest_tokenbench.records import Preparation, Verdict
from pytest_tokenbench.results import MEASURES, Results, Unavailable
from pytest_tokenbench.run_folder import FORMAT, Run
from pytest_tokenbench.statistics import Estimate

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
    """The estimates over a run's trials."""
    record = run.record
    return Results(record.questions, record.conditions, record.baseline, run.observations)


def build(run: Run) -> Json:
    """The results document of a run. The same run gives the same document, to the last digit.

    A figure is `{"estimate", "low", "high", "n", "zero_width"}` (shares from 0 to 1, tokens, seconds), or
    `{"unavailable": reason}`.
    """
    record = run.record
    results = results_of(run)
    conditions = {name: _condition(name, results, run) for name in record.conditions}
    document: Json = {
        "format": FORMAT,
        "study": record.study,
        "quick": record.quick,
        "order": record.order,
        "model": {"name": record.model.name, "backend": record.model.backend, "digest": record.model.digest},
        "baseline": record.baseline,
        "questions": len(record.questions),
        "answerable": sum(question.answerable for question in record.questions),
        "documents": len({question.document for question in record.questions}),
        "registration": record.registration,
        "finished": record.finished is not None,
        "conditions": conditions,
        "hypotheses": [_verdict(verdict) for verdict in record.verdicts],
    }
    if record.prices:
        document["costs"] = _costs(run, results)
    if run.torn:
        document["torn_lines"] = len(run.torn)
    return document


def as_text(document: Json) -> str:
    """The content of results.json."""
    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def figure(estimate: Callable[[], Estimate]) -> Json:
    """A figure as JSON values, or why there is none."""
    try:
        found = estimate()
    except Unavailable as reason:
        return {"unavailable": str(reason)}
    return {
        "estimate": found.estimate,
        "low": found.low,
        "high": found.high,
        "n": found.n,
        "zero_width": found.zero_width,
    }


def _condition(name: str, results: Results, run: Run) -> Json:
    baseline = run.record.baseline
    measures = {}
    for measure in SHOWN:
        measures[measure] = figure(lambda measure=measure: results.level(measure, name))  # type: ignore[misc]
        bounds = results.bounds(measure, name) if "estimate" in measures[measure] else None
        if bounds:
            measures[measure]["bounds"] = list(bounds)
    made: Json = {
        "statuses": dict(sorted(results.statuses(name).items())),
        "missing": results.missing(name),
        "measures": measures,
        "preparation": _preparation(name, results, run),
    }
    if name != baseline:
        made["reduction"] = figure(lambda: results.paired_reduction("input_tokens", name, baseline))
        made["differences"] = {measure: _difference(measure, name, results) for measure in COMPARED}
    return made


def _difference(measure: str, name: str, results: Results) -> Json:
    versus = results.baseline
    made = figure(lambda: results.paired_difference(measure, name, versus))
    if "estimate" in made:
        made["by_document"] = figure(lambda: results.clustered_difference(measure, name, versus))
        if MEASURES[measure].right is not None:
            made["discordance"] = results.discordance(measure, name, versus)
    return made


def _preparation(name: str, results: Results, run: Run) -> Json | None:
    """What was built for a condition, summed over documents; None where nothing is built."""
    recipe = run.record.recipes.get(name)
    if recipe is None:
        return None
    built = _latest(run, name)
    usable = [one for one in built.values() if one.failure is None]
    tokens = [_tokens(one) for one in usable]
    per_document = (
        None if not tokens or None in tokens else math.fsum(t for t in tokens if t is not None) / len(tokens)
    )
    questions = len(run.record.questions) / max(1, len({q.document for q in run.record.questions}))
    return {
        "recipe": recipe,
        "options": run.record.recipe_options.get(name, {}),
        "documents": len(built),
        "failed": {one.document: one.failure for one in built.values() if one.failure is not None},
        "flags": {one.document: list(one.flags) for one in usable if one.flags},
        "units": {one.document: len(one.units) for one in usable},
        "numbers": sum(one.numbers for one in usable),
        "unfaithful_numbers": sum(one.unfaithful_numbers for one in usable),
        "tokens_per_document": per_document,
        "tokens_per_question": None if per_document is None else per_document / questions,
        "seconds_per_document": math.fsum(one.seconds for one in usable) / len(usable) if usable else None,
        "break_even": _break_even(name, per_document, results),
    }


def _latest(run: Run, condition: str) -> Mapping[str, Preparation]:
    """What a condition's recipe built for each document; another's of the same name has other options."""
    recipe, options = run.record.recipes[condition], run.record.recipe_options.get(condition, {})
    return {
        one.document: one
        for one in run.preparations
        if one.recipe == recipe and options.items() <= one.options.items()
    }


def _tokens(one: Preparation) -> int | None:
    return (
        None
        if one.input_tokens is None or one.output_tokens is None
        else one.input_tokens + one.output_tokens
    )


def _break_even(name: str, per_document: float | None, results: Results) -> Json:
    """The number of questions per document from which preparation and questions cost fewer tokens than A's."""
    try:
        ours = results.column("input_tokens", name)
        theirs = results.column("input_tokens", results.baseline)
    except Unavailable as reason:
        return {"unavailable": str(reason)}
    both = ~(np.isnan(ours) | np.isnan(theirs))
    if per_document is None or not both.any():
        return {"unavailable": "the preparation's tokens or paired trials are not known"}
    saved = float((theirs[both] - ours[both]).mean())
    if saved <= 0:
        return {"never": f"a question costs no fewer tokens than under {results.baseline}"}
    return {
        "questions_per_document": math.floor(per_document / saved) + 1,
        "tokens_saved_per_question": saved,
    }


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
            {"measure": e.measure, "estimate": e.estimate, "low": e.low, "high": e.high, "n": e.n}
            for e in verdict.evidence
        ],
    }
