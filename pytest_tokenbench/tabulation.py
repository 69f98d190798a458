"""The trials of a run as arrays: each measure by condition and question, what is missing, how repeats disagree."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from pytest_tokenbench.measures import MEASURES, Scope
from pytest_tokenbench.records import Observation, Question, Status
from pytest_tokenbench.statistics import FloatArray

IntArray = npt.NDArray[np.intp]
NOT_RUN = "not run"


class Tabulation:
    """The trials of known conditions and questions, each `repeats` times, in whatever order they were made.

    `observations` are in the order of conditions, questions and repeats, so that no sum depends on who was first.
    """

    def __init__(
        self,
        questions: Sequence[Question],
        conditions: Sequence[str],
        observations: Iterable[Observation],
        repeats: int,
    ) -> None:
        self._questions = questions
        self._place = {name: place for place, name in enumerate(conditions)}
        self._shape = len(conditions), len(questions)
        self._repeats = repeats
        answerable = np.array([question.answerable for question in questions], dtype=bool)
        self._inside = {
            Scope.ALL: np.ones_like(answerable),
            Scope.ANSWERABLE: answerable,
            Scope.UNANSWERABLE: ~answerable,
        }
        self._applies = {name: self._inside[measure.scope] for name, measure in MEASURES.items()}
        self.observations, cells = self._sorted(observations)
        self._statuses = Counter((seen.condition, seen.status) for seen in self.observations)
        self._lost: dict[int, list[Status]] = {}
        for cell, seen in zip(cells.tolist(), self.observations, strict=True):
            if seen.status is not Status.OK:
                self._lost.setdefault(cell, []).append(seen.status)
        self._well = [seen for seen in self.observations if seen.status is Status.OK]
        self._cells = cells[np.array([seen.status is Status.OK for seen in self.observations], dtype=bool)]
        self._lacking = np.maximum(repeats - self._count(self._cells), 0)
        self._not_run = np.maximum(repeats - self._count(cells), 0)
        self._sums, self._counts = self._tabulate()

    def _sorted(self, observations: Iterable[Observation]) -> tuple[tuple[Observation, ...], IntArray]:
        places = {question.id: place for place, question in enumerate(self._questions)}
        known = [seen for seen in observations if seen.condition in self._place and seen.question in places]
        size = len(places)
        cells = [self._place[seen.condition] * size + places[seen.question] for seen in known]
        order = np.lexsort(([seen.repeat for seen in known], cells)) if known else np.zeros(0, dtype=np.intp)
        return tuple(known[place] for place in order), np.array(cells, dtype=np.intp)[order]

    def _count(self, cells: IntArray, weights: npt.NDArray[Any] | None = None) -> npt.NDArray[Any]:
        size = self._shape[0] * self._shape[1]
        return np.bincount(cells, weights, minlength=size).reshape(self._shape)

    def _tabulate(self) -> tuple[dict[str, FloatArray], dict[str, FloatArray]]:
        sums, counts = {}, {}
        for name, measure in MEASURES.items():
            values = np.array([measure.value(seen) for seen in self._well], dtype=np.float64)
            told = ~np.isnan(values)
            cells = self._cells[told]
            sums[name] = self._count(cells, values[told]) * self._applies[name]
            counts[name] = self._count(cells).astype(np.float64) * self._applies[name]
        return sums, counts

    def columns(self) -> dict[tuple[str, str], FloatArray]:
        """By measure and condition the mean over each question's repeats, (questions,), NaN where not measured."""
        with np.errstate(invalid="ignore"):
            means = {name: self._sums[name] / self._counts[name] for name in MEASURES}
        return {
            (name, condition): means[name][place]
            for name in MEASURES
            for condition, place in self._place.items()
        }

    def filled(self, measure: str, condition: str, value: float) -> FloatArray:
        """A column in which every missing repeat has the value."""
        place = self._place[condition]
        lacking = self._lacking[place] * self._applies[measure]
        with np.errstate(invalid="ignore"):
            column: FloatArray = (self._sums[measure][place] + lacking * value) / (
                self._counts[measure][place] + lacking
            )
        return column

    def are_missing(self, measure: str, condition: str) -> bool:
        """Whether any trial is missing among the questions of the measure."""
        return bool((self._lacking[self._place[condition]] * self._applies[measure]).any())

    def untold(self, measure: str, condition: str) -> tuple[int, int]:
        """How many trials do not have the measure, and how many should."""
        wanted = int(self._applies[measure].sum()) * self._repeats
        told = np.minimum(self._counts[measure][self._place[condition]], self._repeats)
        return wanted - int(told.sum()), wanted

    def missing(self, measure: str, condition: str) -> Iterator[tuple[str, Counter[str]]]:
        """The questions of the measure that lack a trial, each with how its missing trials ended."""
        place = self._place[condition]
        for question in np.flatnonzero(self._lacking[place] * self._applies[measure]).tolist():
            reasons = Counter(map(str, self._lost.get(place * self._shape[1] + question, ())))
            if self._not_run[place, question]:
                reasons[NOT_RUN] = int(self._not_run[place, question])
            yield self._questions[question].id, reasons

    def statuses(self, condition: str) -> Counter[str]:
        """How many trials of a condition ended how."""
        found = {str(status): self._statuses[condition, status] for status in Status}
        return Counter({status: count for status, count in found.items() if count})

    def churn(self, condition: str, scope: Scope) -> FloatArray:
        """By question the share of pairs of repeats that disagree: on correctness, or on abstaining if unanswerable.

        (questions,), NaN outside the scope and where fewer than two repeats ended well.
        """
        place = self._place[condition]
        # A question has one of the two.
        right = self._sums["accuracy"][place] + self._sums["abstention"][place]
        count = self._counts["accuracy"][place] + self._counts["abstention"][place]
        found = _of_pairs(right * (count - right), count)
        return np.where(self._inside[scope], found, np.nan)

    def answer_churn(self) -> Mapping[str, FloatArray]:
        """By condition and question the share of pairs of repeats whose answers are not the same text."""
        numbers: dict[str | None, int] = {}
        answers = np.array(
            [numbers.setdefault(seen.answer, len(numbers)) for seen in self._well], dtype=np.intp
        )
        alike, sizes = np.unique(self._cells * max(1, len(numbers)) + answers, return_counts=True)
        agreeing = self._count(alike // max(1, len(numbers)), sizes * (sizes - 1) / 2)
        count = self._count(self._cells).astype(np.float64)
        found = _of_pairs(count * (count - 1) / 2 - agreeing, count)
        return {condition: found[place] for condition, place in self._place.items()}


def _of_pairs(some: FloatArray, count: FloatArray) -> FloatArray:
    """What share `some` pairs are of those that `count` things make, NaN where there are none."""
    pairs = count * (count - 1) / 2
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(pairs > 0, some / pairs, np.nan)
