"""Two runs of a study side by side: what differs, what that did to the numbers, and which answers changed.

Questions are paired: a difference is the second run's measure less the first's, of one question under one condition,
repeats averaged. Every interval comes from the same bootstrap draws of questions, as in `results`.
"""

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from pytest_tokenbench import resume, statistics
from pytest_tokenbench.ablation import side_by_side
from pytest_tokenbench.measures import MEASURES
from pytest_tokenbench.pairing import GAINED, LOST, REWORDED, Pairs
from pytest_tokenbench.run_folder import Run, printable
from pytest_tokenbench.statistics import FloatArray

FORMAT = 1
FILE = "compare.json"
REPORT = "compare.md"
# For each, whether more is better.
COMPARED: Mapping[str, bool] = {
    "accuracy": True,
    "abstention": True,
    "made_up": False,
    "input_tokens": False,
}
_BINARY = tuple(name for name in COMPARED if MEASURES[name].right is not None)
DOCUMENT = "document"
# Columns that are drawn at once, so that many slices do not take much memory.
_AT_ONCE = 400

Json = dict[str, Any]
# Slice and its value, condition, measure.
_Place = tuple[str, str, str, str]


def build(a: Run, b: Run, names: tuple[str, str] = ("the first run", "the second run")) -> Json:
    """The comparison as JSON values, of which every report of it is made. `b` is the later, `names` say which are which.

    `conditions` has, by condition, how many questions were "lost", "gained" and "reworded", and under "measures" the
    figures; `slices` has figures by slice, value, condition and measure, the document being a slice; `changes` every
    question whose outcome changed, with both runs' answers, and `rewordings` likewise those that were answered in other
    words, right or wrong as before; `warnings` sentences. A figure is {"first", "second", "difference", "low", "high",
    "n", "zero_width"}, shares from 0 to 1, or {"unavailable": reason}. Beside it stands "worst" where trials are missing
    in either run: {"missing": questions that lack any, "n": questions with them}, and where the measure is binary the
    difference and its ends if those had all gone against the second run (see `Pairs.worst`). Of two runs over blocks,
    "ablation" has their findings side by side, and cases are no slices, since each has a document of its own.

    Raises:
        CompareError: They have no question or no condition in common.
    """
    pairs = Pairs.of(a, b, names)
    found = side_by_side.findings(a, b)
    figures = _figures(pairs, by_document=found is None)
    differing = {name: list(pairs.differing(name)) for name in pairs.conditions}
    answers = [answer for its in differing.values() for answer in its]
    made = {
        "format": FORMAT,
        "first": _run(a, names[0]),
        "second": _run(b, names[1]),
        "warnings": [*_warnings(a, b), *side_by_side.decided_otherwise(a, b), *pairs.left_out()],
        "questions": len(pairs.questions),
        "answerable": sum(question.answerable for question in pairs.questions),
        "documents": len({question.document for question in pairs.questions}),
        "repeats": [run.record.repeats for run in (a, b)],
        "only_in": {
            "first": [name for name in a.record.conditions if name not in b.record.conditions],
            "second": [name for name in b.record.conditions if name not in a.record.conditions],
        },
        "conditions": {name: _condition(name, figures, its) for name, its in differing.items()},
        "slices": _nested(figures),
        "changes": [answer for answer in answers if answer["change"] != REWORDED],
        "rewordings": [answer for answer in answers if answer["change"] == REWORDED],
    }
    return made if found is None else made | {"ablation": found}


def _run(run: Run, name: str) -> Json:
    record = run.record
    return {
        "name": name,
        "study": record.study,
        "started": record.started,
        "finished": record.finished is not None,
        "backend": record.backend,
        "model": record.model.name,
        "digest": record.model.digest,
        "server_version": record.model.server_version,
        "order": record.order,
        "quick": record.quick,
    }


# The numbers


def _figures(pairs: Pairs, *, by_document: bool) -> dict[_Place, Json]:
    """Every figure: over all questions under the slice "", and for each value of each slice, a document being one."""
    columns = dict(_columns(pairs, by_document=by_document))
    paired = [place for place, (first, second) in columns.items() if not np.isnan(first - second).all()]
    made: dict[_Place, Json] = {}
    for start in range(0, len(paired), _AT_ONCE):
        part = paired[start : start + _AT_ONCE]
        made |= zip(part, _drawn([columns[place] for place in part]), strict=True)
    for place, (first, second) in columns.items():
        slice_name, _, condition, measure = place
        if slice_name == "" and place not in made:
            made[place] = {"unavailable": _why_none(measure, condition, first, second)}
        elif slice_name == "":
            made[place] |= _worst(pairs, measure, condition)
    return {place: made[place] for place in columns if place in made}


def _columns(pairs: Pairs, *, by_document: bool) -> Iterator[tuple[_Place, tuple[FloatArray, FloatArray]]]:
    inside: dict[tuple[str, str], list[bool]] = {}
    for number, question in enumerate(pairs.questions):
        for key in [*question.slices.items(), *([(DOCUMENT, question.document)] if by_document else [])]:
            inside.setdefault(key, [False] * len(pairs.questions))[number] = True
    for condition, measure in itertools.product(pairs.conditions, COMPARED):
        first, second = pairs.columns(measure, condition)
        yield ("", "", condition, measure), (first, second)
        if measure in _BINARY:
            for (name, value), mask in sorted(inside.items()):
                part = np.where(mask, first, np.nan), np.where(mask, second, np.nan)
                yield (name, value, condition, measure), part


def _drawn(columns: Sequence[tuple[FloatArray, FloatArray]]) -> list[Json]:
    """The figures of pairs of columns, drawn at once."""
    differences = [second - first for first, second in columns]
    samples = statistics.bootstrap_means(np.column_stack(differences))
    return [_figure(first, second, samples[:, number]) for number, (first, second) in enumerate(columns)]


def _figure(first: FloatArray, second: FloatArray, samples: FloatArray) -> Json:
    both = ~np.isnan(second - first)
    difference = float(np.mean((second - first)[both]))
    found = statistics.bootstrap_estimate(difference, samples, int(both.sum()))
    return {
        "first": float(np.mean(first[both])),
        "second": float(np.mean(second[both])),
        "difference": found.estimate,
        "low": found.low,
        "high": found.high,
        "n": found.n,
        "zero_width": found.zero_width,
    }


def _worst(pairs: Pairs, measure: str, condition: str) -> Json:
    """What the figure is without, and what it could be at worst with that; {} where nothing is missing."""
    counted, lacking = pairs.missing(measure, condition)
    if not lacking.any():
        return {}
    made: Json = {"missing": int(lacking.sum()), "n": int(counted.sum())}
    if measure in _BINARY:
        (figure,) = _drawn([pairs.worst(measure, condition, counted)])
        made |= {key: figure[key] for key in ("difference", "low", "high")}
    return {"worst": made}


def _why_none(measure: str, condition: str, first: FloatArray, second: FloatArray) -> str:
    nowhere = [which for which, column in (("first", first), ("second", second)) if np.isnan(column).all()]
    if nowhere:
        return f"{measure} of {condition} was not measured in the {' or the '.join(nowhere)} run"
    return f"no question has {measure} under {condition} in both runs"


def _condition(name: str, figures: Mapping[_Place, Json], differing: Sequence[Json]) -> Json:
    counted = Counter(answer["change"] for answer in differing)
    return {change: counted[change] for change in (LOST, GAINED, REWORDED)} | {
        "measures": {measure: figures["", "", name, measure] for measure in COMPARED},
    }


def _nested(figures: Mapping[_Place, Json]) -> Json:
    """Figures by slice, value, condition and measure; only those there are."""
    made: Json = {}
    for (name, value, condition, measure), figure in figures.items():
        if name:
            values = made.setdefault(name, {})
            values.setdefault(value, {}).setdefault(condition, {})[measure] = figure
    return made


# What differs


def _warnings(a: Run, b: Run) -> list[str]:
    """What is not the same and could have changed a number, and what may have spoilt either run; a sentence each."""
    found = [
        f"{one.what} is not the same: {one.old} in the first run, {one.new} in the second"
        for one in (*resume.compared(a.record, b.record), *resume.doubtful(a.record, b.record))
    ]
    for run, which in ((a, "first"), (b, "second")):
        if run.record.finished is None:
            found.append(f"the {which} run did not come to its end")
        found += [f"of the {which} run: {printable(doubt)}" for doubt in run.record.doubts]
    return found
