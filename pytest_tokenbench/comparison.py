"""Two runs of a study side by side: what differs, what that did to the numbers, and which answers changed.

Questions are paired: a difference is the second run's measure less the first's, of one question under one condition,
repeats averaged. Every interval comes from the same bootstrap draws of questions, as in `results`.
"""

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pytest_tokenbench import resume, statistics
from pytest_tokenbench.ablation import side_by_side
from pytest_tokenbench.measures import MEASURES
from pytest_tokenbench.records import Observation, Question, Status
from pytest_tokenbench.results import Results, Unavailable
from pytest_tokenbench.run_folder import Run, RunError, printable
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
LOST, GAINED, REWORDED = "lost", "gained", "reworded"
# Columns that are drawn at once, so that many slices do not take much memory.
_AT_ONCE = 400

Json = dict[str, Any]
# Slice and its value, condition, measure.
_Place = tuple[str, str, str, str]


class CompareError(RunError):
    """Two runs cannot be compared; the message is one sentence."""


def build(a: Run, b: Run, names: tuple[str, str] = ("the first run", "the second run")) -> Json:
    """The comparison as JSON values, of which every report of it is made. `b` is the later, `names` say which are which.

    `conditions` has, by condition, how many questions were "lost", "gained" and "reworded", and under "measures" the
    figures; `slices` has figures by slice, value, condition and measure, the document being a slice; `changes` every
    question whose outcome changed, with both runs' answers, and `rewordings` likewise those that were answered in other
    words, right or wrong as before; `warnings` sentences. A figure is {"first", "second",
    "difference", "low", "high", "n", "zero_width"}, shares from 0 to 1, with "worst" beside where trials are missing
    that the other run has (see `_worst`), or {"unavailable": reason}. Of two runs over blocks, "ablation" has their
    findings side by side, and cases are no slices, since each has a document of its own.

    Raises:
        CompareError: They have no question or no condition in common.
    """
    pairs = _Pairs.of(a, b, names)
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


# What is compared


@dataclass(frozen=True, slots=True)
class _Pairs:
    """What both runs have: questions that are the same in each, conditions, and each run's trials of these."""

    questions: tuple[Question, ...]
    conditions: tuple[str, ...]
    results: tuple[Results, Results]
    ended: tuple[Mapping[tuple[str, str], list[Observation]], Mapping[tuple[str, str], list[Observation]]]
    changed: tuple[str, ...] = ()
    alone: tuple[int, int] = field(default=(0, 0))

    @classmethod
    def of(cls, a: Run, b: Run, names: tuple[str, str]) -> "_Pairs":
        ours = {question.id: question for question in a.record.questions}
        theirs = {question.id: question for question in b.record.questions}
        both = [name for name in ours if name in theirs]
        questions = tuple(ours[name] for name in both if ours[name] == theirs[name])
        conditions = tuple(name for name in a.record.conditions if name in b.record.conditions)
        for what, found in (("question", questions), ("condition", conditions)):
            if not found:
                raise CompareError(
                    f"{names[0]} and {names[1]} have no {what} in common; there is nothing to compare"
                )
        baseline = a.record.baseline if a.record.baseline in conditions else conditions[0]
        one, other = (
            Results(questions, conditions, baseline, run.observations, run.record.repeats) for run in (a, b)
        )
        return cls(
            questions,
            conditions,
            (one, other),
            (_by_trial(one.observations), _by_trial(other.observations)),
            changed=tuple(name for name in both if ours[name] != theirs[name]),
            alone=(len(ours) - len(both), len(theirs) - len(both)),
        )

    def left_out(self) -> Iterator[str]:
        """What is no part of the comparison, a sentence each."""
        if self.changed:
            yield f"{_questions(len(self.changed))} left out, since they changed: {', '.join(self.changed)}"
        for count, which in zip(self.alone, ("first", "second"), strict=True):
            if count:
                yield f"{_questions(count)} left out, since only the {which} run has them"

    def columns(self, measure: str, condition: str) -> tuple[FloatArray, FloatArray]:
        """The measure in each run by question, NaN where it was not measured."""
        first, second = (_column(results, measure, condition) for results in self.results)
        return first, second

    def differing(self, condition: str) -> Iterator[Json]:
        """The questions that were not answered as before, in their order."""
        for question in self.questions:
            first, second = (ended.get((condition, question.id), []) for ended in self.ended)
            were, are = _share(first), _share(second)
            answers = [[seen.answer or "" for seen in run] for run in (first, second)]
            if were is None or are is None:
                continue
            change = REWORDED
            if _is_right(were) != _is_right(are):
                change = LOST if _is_right(were) else GAINED
            elif answers[0] == answers[1]:
                continue
            good, bad = ("correct", "wrong") if question.answerable else ("abstained", "made_up")
            yield {
                "condition": condition,
                "question": question.id,
                "document": question.document,
                "slices": dict(question.slices),
                "text": question.question,
                "golds": list(question.golds),
                "change": change,
                "from": good if _is_right(were) else bad,
                "to": good if _is_right(are) else bad,
                "right": [were, are],
                "answers": answers,
            }


def _by_trial(observations: Iterable[Observation]) -> dict[tuple[str, str], list[Observation]]:
    found: dict[tuple[str, str], list[Observation]] = {}
    for seen in observations:
        if seen.status is Status.OK and seen.scores is not None:
            found.setdefault((seen.condition, seen.question), []).append(seen)
    return found


def _share(repeats: Sequence[Observation]) -> float | None:
    """The share of a trial's repeats that were right, None if none of them ended well."""
    scores = [seen.scores for seen in repeats if seen.scores is not None]
    right = [float(one.abstained if one.correct is None else one.correct) for one in scores]
    return sum(right) / len(right) if right else None


def _is_right(share: float) -> bool:
    """Whether most repeats were right."""
    return share > 0.5  # noqa: PLR2004


def _questions(count: int) -> str:
    return f"{count:,} question{'s' * (count != 1)}"


# The numbers


def _column(results: Results, measure: str, condition: str) -> FloatArray:
    try:
        return results.column(measure, condition)
    except Unavailable:
        return np.full(len(results.questions), np.nan)


def _figures(pairs: _Pairs, *, by_document: bool) -> dict[_Place, Json]:
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
        elif slice_name == "" and measure in _BINARY:
            made[place] |= _worst(measure, first, second)
    return {place: made[place] for place in columns if place in made}


def _columns(pairs: _Pairs, *, by_document: bool) -> Iterator[tuple[_Place, tuple[FloatArray, FloatArray]]]:
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


def _worst(measure: str, first: FloatArray, second: FloatArray) -> Json:
    """The difference if all trials that only one run has had gone against the second; {} where there are none."""
    alone = np.isnan(first) != np.isnan(second)
    if not alone.any():
        return {}
    right = MEASURES[measure].right or 0.0
    filled = np.where(np.isnan(first), right, first), np.where(np.isnan(second), 1 - right, second)
    neither = np.isnan(first) & np.isnan(second)
    (figure,) = _drawn([(np.where(neither, np.nan, filled[0]), np.where(neither, np.nan, filled[1]))])
    return {
        "worst": {"missing": int(alone.sum())} | {k: figure[k] for k in ("difference", "low", "high", "n")}
    }


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
