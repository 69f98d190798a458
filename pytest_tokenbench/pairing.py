"""Two runs of a study, question by question: what both measured, what either lacks, and which answers changed."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from pytest_tokenbench.measures import MEASURES, Scope
from pytest_tokenbench.records import Observation, Question, Status
from pytest_tokenbench.results import Results, Unavailable
from pytest_tokenbench.run_folder import Run, RunError
from pytest_tokenbench.statistics import FloatArray

LOST, GAINED, REWORDED = "lost", "gained", "reworded"

Json = dict[str, Any]
Mask = npt.NDArray[np.bool_]
_Ended = Mapping[tuple[str, str], list[Observation]]


class CompareError(RunError):
    """Two runs cannot be compared; the message is one sentence."""


@dataclass(frozen=True, slots=True)
class _Side:
    """One of the two runs: its estimates, those with every missing trial in favour of a loss, and its trials."""

    results: Results
    extreme: Results
    ended: _Ended
    failed: frozenset[tuple[str, str]]

    @classmethod
    def of(cls, results: Results, *, missing_are_right: bool) -> "_Side":
        ended: dict[tuple[str, str], list[Observation]] = {}
        for seen in results.observations:
            if seen.status is Status.OK and seen.scores is not None:
                ended.setdefault((seen.condition, seen.question), []).append(seen)
        return cls(
            results,
            results.counting(dict.fromkeys(results.conditions, missing_are_right)),
            ended,
            frozenset(
                (seen.condition, seen.question)
                for seen in results.observations
                if seen.status is Status.ERROR
            ),
        )

    def column(self, measure: str, condition: str) -> FloatArray:
        """The measure by question, NaN where it was not measured."""
        try:
            return self.results.column(measure, condition)
        except Unavailable:
            return np.full(len(self.results.questions), np.nan)

    def is_whole(self, measure: str, condition: str) -> Mask:
        """By question, whether every repeat has the measure."""
        value = MEASURES[measure].value
        counts = (
            sum(value(seen) is not None for seen in self.ended.get((condition, question.id), ()))
            for question in self.results.questions
        )
        return np.array([count >= self.results.repeats for count in counts], dtype=bool)

    def has_failed(self, condition: str) -> Mask:
        """By question, whether a trial ended in an error."""
        return np.array(
            [(condition, question.id) in self.failed for question in self.results.questions], dtype=bool
        )


@dataclass(frozen=True, slots=True)
class Pairs:
    """What both runs have: questions that are the same in each, conditions, and each run's trials of these.

    `apart` are the questions that changed or that only one run has. For either run they are questions that the other
    has not measured.
    """

    questions: tuple[Question, ...]
    conditions: tuple[str, ...]
    apart: tuple[Question, ...]
    first: _Side
    second: _Side
    changed: tuple[str, ...]
    alone: tuple[int, int]

    @classmethod
    def of(cls, a: Run, b: Run, names: tuple[str, str]) -> "Pairs":
        """The pairs of two runs, which `names` name.

        Raises:
            CompareError: They have no question or no condition in common.
        """
        ours = {question.id: question for question in a.record.questions}
        theirs = {question.id: question for question in b.record.questions}
        both = [name for name in ours if name in theirs]
        questions = tuple(ours[name] for name in both if ours[name] == theirs[name])
        changed = tuple(name for name in both if ours[name] != theirs[name])
        conditions = tuple(name for name in a.record.conditions if name in b.record.conditions)
        for what, found in (("question", questions), ("condition", conditions)):
            if not found:
                raise CompareError(
                    f"{names[0]} and {names[1]} have no {what} in common; there is nothing to compare"
                )
        baseline = a.record.baseline if a.record.baseline in conditions else conditions[0]
        # Of a question that changed, the first run's trials could have been lost.
        apart = tuple(one for name, one in ours.items() if one != theirs.get(name)) + tuple(
            one for name, one in theirs.items() if name not in ours
        )
        one, other = (
            Results(
                (*questions, *apart),
                conditions,
                baseline,
                (seen for seen in run.observations if seen.question in known),
                run.record.repeats,
            )
            for run, known in ((a, ours.keys()), (b, theirs.keys() - set(changed)))
        )
        return cls(
            questions,
            conditions,
            apart,
            _Side.of(one, missing_are_right=True),
            _Side.of(other, missing_are_right=False),
            changed,
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
        """The measure in each run for each of the `questions`, NaN where it was not measured."""
        size = len(self.questions)
        return self.first.column(measure, condition)[:size], self.second.column(measure, condition)[:size]

    def missing(self, measure: str, condition: str) -> tuple[Mask, Mask]:
        """Which questions, those apart after the others, a loss could be in, and which of them lack a trial in either run.

        What was not asked or could not be in both runs is no worse in the second; an error could hide anything.
        """
        scope = MEASURES[measure].scope
        applies = np.array(
            [
                scope is Scope.ALL or question.answerable is (scope is Scope.ANSWERABLE)
                for question in (*self.questions, *self.apart)
            ],
            dtype=bool,
        )
        counted, whole = np.zeros_like(applies), applies
        for side in (self.first, self.second):
            counted |= ~np.isnan(side.column(measure, condition)) | (side.has_failed(condition) & applies)
            whole &= side.is_whole(measure, condition)
        return counted, counted & ~whole

    def worst(self, measure: str, condition: str, counted: Mask) -> tuple[FloatArray, FloatArray]:
        """A binary measure in each run if every missing trial had gone against the second, NaN where not `counted`."""
        first, second = (
            np.where(counted, side.extreme.column(measure, condition), np.nan)
            for side in (self.first, self.second)
        )
        return first, second

    def differing(self, condition: str) -> Iterator[Json]:
        """The questions that were not answered as before, in their order."""
        for question in self.questions:
            first, second = (
                side.ended.get((condition, question.id), []) for side in (self.first, self.second)
            )
            were, are = _share(first), _share(second)
            if were is None or are is None:
                continue
            change = REWORDED
            if _is_right(were) != _is_right(are):
                change = LOST if _is_right(were) else GAINED
            elif _are_worded_alike(first, second):
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
                "answers": [[seen.answer or "" for seen in run] for run in (first, second)],
            }


def _are_worded_alike(first: Iterable[Observation], second: Iterable[Observation]) -> bool:
    """Whether every repeat that both runs have was answered in the same words."""
    were = {seen.repeat: seen.answer or "" for seen in first}
    return all(were.get(seen.repeat, seen.answer or "") == (seen.answer or "") for seen in second)


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
