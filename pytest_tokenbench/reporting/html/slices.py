"""Accuracy by slice and by document: where a condition is right, and where it is not."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pytest_tokenbench import statistics
from pytest_tokenbench.records import Question
from pytest_tokenbench.reporting import wording
from pytest_tokenbench.results import Results, Unavailable
from pytest_tokenbench.statistics import FloatArray

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Level:
    """A condition's accuracy on a part of the questions, in percent; None where it was not measured on any."""

    condition: str
    estimate: float | None
    low: float | None
    high: float | None

    @property
    def is_unvaried(self) -> bool:
        """Whether its interval is no longer than a point."""
        return statistics.is_one_point(self.low, self.high)


@dataclass(frozen=True, slots=True)
class Panel:
    """One part of the questions: its name, how many of them can be answered, and each condition's accuracy."""

    name: str
    n: int
    levels: tuple[Level, ...]

    @property
    def mean(self) -> float | None:
        """The mean over conditions, None where nothing was measured."""
        known = [level.estimate for level in self.levels if level.estimate is not None]
        return sum(known) / len(known) if known else None


def by_slice(results: Results) -> dict[str, list[Panel]]:
    """For each kind of slice its panels, largest first; those without a question that can be answered are left out."""
    kinds = dict.fromkeys(kind for question in results.questions for kind in question.slices)
    found = {}
    for kind in kinds:
        values = _grouped(results.questions, (question.slices.get(kind) for question in results.questions))
        panels = _panels(results, values, with_intervals=True)
        if panels:
            found[wording.plain(kind)] = sorted(panels, key=lambda panel: -panel.n)
    return found


def by_document(results: Results) -> list[Panel]:
    """A panel for each document, in the order of the questions."""
    documents = _grouped(results.questions, (question.document for question in results.questions))
    return _panels(results, documents, with_intervals=False)


def _grouped(questions: Iterable[Question], values: Iterable[str | None]) -> Mapping[str, Mask]:
    pairs = [(question.answerable, value) for question, value in zip(questions, values, strict=True)]
    names = dict.fromkeys(value for answerable, value in pairs if answerable and value is not None)
    return {name: np.array([answerable and value == name for answerable, value in pairs]) for name in names}


def _panels(results: Results, masks: Mapping[str, Mask], *, with_intervals: bool) -> list[Panel]:
    columns: list[FloatArray] = []
    for condition in results.conditions:
        try:
            columns.append(results.column("accuracy", condition))
        except Unavailable:
            columns.append(np.full(len(results.questions), np.nan))
    if not columns or np.isnan(columns).all():
        return []
    table = np.column_stack(columns)
    return [
        Panel(
            wording.plain(name),
            int(mask.sum()),
            _levels(results.conditions, table[mask], with_intervals=with_intervals),
        )
        for name, mask in masks.items()
    ]


def _levels(conditions: Iterable[str], table: FloatArray, *, with_intervals: bool) -> tuple[Level, ...]:
    means = statistics.column_means(table)
    lows = highs = np.full(len(means), np.nan)
    if with_intervals:
        lows, highs = statistics.percentile_interval(statistics.bootstrap_means(table))
    counts = (~np.isnan(table)).sum(axis=0)
    return tuple(
        Level(condition, _percent(mean), *((_percent(low), _percent(high)) if n > 1 else (None, None)))
        for condition, mean, low, high, n in zip(conditions, means, lows, highs, counts, strict=True)
    )


def _percent(value: float) -> float | None:
    return None if np.isnan(value) else round(100 * float(value), 2)
