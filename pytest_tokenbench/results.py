"""The ledger as columns, and the estimates that reports show and hypotheses ask for."""

import copy
import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np
import numpy.typing as npt

from pytest_tokenbench import statistics
from pytest_tokenbench.draws import Draws
from pytest_tokenbench.measures import MEASURES, Scope, is_cold, is_warm
from pytest_tokenbench.records import MOST_MEASURED, Bound, Evidence, Observation, Question, Status
from pytest_tokenbench.statistics import Estimate, FloatArray
from pytest_tokenbench.tabulation import Tabulation


class Unavailable(Exception):  # noqa: N818  # the design's word; not an error but a ruling
    """Something was asked for that was not measured, or not enough of it; the message is the reason."""


class Compared(float):
    """A number that tells what it is compared with, so that a report can draw it against that."""

    __slots__ = ("_end", "_tell")
    _end: str
    _tell: Callable[[Bound], None]

    def __new__(cls, value: float, end: str, tell: Callable[[Bound], None]) -> Self:
        """The number, which of its figure it is, and whom to tell."""
        made = super().__new__(cls, value)
        made._end, made._tell = end, tell
        return made

    def _told(self, relation: str, other: float) -> None:
        # What no record can hold, as the infinite, is nothing that a plot could draw either.
        if isinstance(other, int | float) and abs(other) <= MOST_MEASURED:
            self._tell(Bound(self._end, relation, float(other)))

    def __lt__(self, other: float) -> bool:
        self._told("<", other)
        return super().__lt__(other)

    def __le__(self, other: float) -> bool:
        self._told("<=", other)
        return super().__le__(other)

    def __gt__(self, other: float) -> bool:
        self._told(">", other)
        return super().__gt__(other)

    def __ge__(self, other: float) -> bool:
        self._told(">=", other)
        return super().__ge__(other)


@dataclass(frozen=True, slots=True)
class Figure:
    """An estimate that a hypothesis asked for. Asking for an end of an interval it does not have is `Unavailable`."""

    name: str
    source: Estimate
    _tell: Callable[[Bound], None] = field(compare=False, repr=False)

    @property
    def estimate(self) -> float:
        """The point estimate, in the unit of the measure (shares, not percent)."""
        return Compared(self.source.estimate, "estimate", self._tell)

    @property
    def n(self) -> int:
        """Questions, or pairs of them, that it rests on."""
        return self.source.n

    @property
    def low(self) -> float:
        """The lower end of the 95% interval."""
        return self._end(self.source.low, "low")

    @property
    def high(self) -> float:
        """The upper end of the 95% interval."""
        return self._end(self.source.high, "high")

    def _end(self, end: float | None, which: str) -> float:
        if end is None:
            raise Unavailable(f"{self.name} has no interval (n={self.n})")
        return Compared(end, which, self._tell)


class Results:
    """Estimates over the trials of one run; what a hypothesis function is given.

    Every interval is a 95% percentile interval from 10,000 bootstrap resamples of questions with the same draws for
    every condition and measure (protocol, Analysis). Measures: see `MEASURES`. Only trials that ended well count,
    unless `counting` says otherwise. Repeats are averaged within their question, which stays what is resampled; one of
    them that is missing is a missing trial. `evidence` has what hypotheses asked for, `in_doubt` by condition how many
    trials of which questions are missing that could have changed it. The order of `observations` does not matter.
    `beside` are columns of whoever asks for them to be `resampled`, by the same draws.
    """

    def __init__(
        self,
        questions: Sequence[Question],
        conditions: Sequence[str],
        baseline: str,
        observations: Iterable[Observation],
        repeats: int = 1,
        *,
        beside: Iterable[FloatArray] = (),
    ) -> None:
        self.questions = tuple(questions)
        self.conditions = tuple(conditions)
        self.baseline = baseline
        self.repeats = repeats
        self._table = Tabulation(self.questions, self.conditions, observations, repeats)
        self.observations: tuple[Observation, ...] = self._table.observations
        self.evidence: list[Evidence] = []
        self.in_doubt: dict[str, dict[str, int]] = {}
        self._counted: dict[str, bool] = {}
        self._columns = self._table.columns()
        self._churn = self._churn_columns()
        self._beside = tuple(beside)
        # Shared with what `counting` returns: it asks for the same columns over and over.
        self._draws = Draws(self._usual)
        self._fillings: dict[tuple[str, str, float], FloatArray] = {}

    def estimate(self, measure: str, condition: str) -> Figure:
        """Mean of a measure under a condition.

        Raises:
            Unavailable: It was not measured, or (unless binary) not on every question.
            ValueError: The study has no such measure or condition.
        """
        return self._witness(f"{measure} of {condition}", self.level(measure, condition), measure, condition)

    def difference(self, measure: str, condition: str, *, versus: str) -> Figure:
        """Mean over questions of the paired difference: the measure under `condition` less that under `versus`.

        Raises:
            Unavailable: No question was measured under both, or (unless binary) not every one.
            ValueError: The study has no such measure or condition.
        """
        estimate = self.paired_difference(measure, condition, versus)
        return self._witness(f"{measure} of {condition} less {versus}", estimate, measure, condition, versus)

    def reduction(self, measure: str, condition: str, *, versus: str) -> Figure:
        """By what share the mean under `condition` is lower than under `versus`, over questions that have both.

        Raises:
            Unavailable: No question was measured under both, or (unless binary) not every one.
            ValueError: The study has no such measure or condition.
        """
        estimate = self.paired_reduction(measure, condition, versus)
        name = f"reduction of {measure} of {condition} versus {versus}"
        return self._witness(name, estimate, measure, condition, versus)

    def _witness(self, name: str, estimate: Estimate, measure: str, *conditions: str) -> Figure:
        self._rest_on(measure, *conditions)
        return self._told(name, estimate)

    def _rest_on(self, measure: str, *conditions: str) -> None:
        """Notes which conditions a hypothesis rests on in part, or refuses it where too little was measured."""
        for condition in conditions:
            if MEASURES[measure].right is not None:
                if condition not in self._counted and self._table.are_missing(measure, condition):
                    self.in_doubt.setdefault(condition, {}).update(
                        (question, reasons.total() - reasons[Status.NOT_NEEDED])
                        for question, reasons in self._table.missing(measure, condition)
                    )
            elif MEASURES[measure].whole:
                missing, total = self._table.untold(measure, condition)
                if missing:
                    what = "questions" if self.repeats == 1 else "trials"
                    raise Unavailable(f"{measure} of {condition} is missing for {missing} of {total} {what}")

    def _told(self, name: str, estimate: Estimate) -> Figure:
        """The estimate as a hypothesis gets it, with what it compares it with kept as evidence."""
        place, evidence = len(self.evidence), self.evidence
        evidence.append(Evidence(name, estimate.estimate, estimate.low, estimate.high, estimate.n))

        def tell(bound: Bound) -> None:
            evidence[place] = replace(evidence[place], bounds=(*evidence[place].bounds, bound))

        return Figure(name, estimate, tell)

    def level(self, measure: str, condition: str) -> Estimate:
        """As `estimate`, without leaving evidence."""
        column = self.column(measure, condition)
        (samples,) = self.resampled(column)
        return self._interval(float(np.nanmean(column)), samples, column)

    def paired_difference(self, measure: str, condition: str, versus: str) -> Estimate:
        """As `difference`, without leaving evidence."""
        ours, theirs = self.pair(measure, condition, versus)
        our_samples, their_samples = self.resampled(ours, theirs)
        return self._interval(float(np.nanmean(ours - theirs)), our_samples - their_samples, ours)

    def paired_reduction(self, measure: str, condition: str, versus: str) -> Estimate:
        """As `reduction`, without leaving evidence."""
        ours, theirs = self.pair(measure, condition, versus)
        if not np.nanmean(theirs):
            raise Unavailable(f"{measure} of {versus} is 0, so that nothing can be less")
        our_samples, their_samples = self.resampled(ours, theirs)
        # A resample may hold nothing but zeros under `versus`: then an end can be infinite, which is none.
        with np.errstate(divide="ignore", invalid="ignore"):
            samples = 1 - our_samples / their_samples
            return self._finite(float(1 - np.nanmean(ours) / np.nanmean(theirs)), samples, ours)

    def clustered_difference(self, measure: str, condition: str, versus: str) -> Estimate:
        """The paired difference with the document as sampling unit: t interval on document means, n documents."""
        ours, theirs = self.pair(measure, condition, versus)
        kept = ~np.isnan(ours)
        documents = [question.document for question, keep in zip(self.questions, kept, strict=True) if keep]
        return statistics.clustered_t((ours - theirs)[kept], documents)

    def discordance(self, measure: str, condition: str, versus: str) -> float:
        """Share of pairs in which a binary measure differs."""
        return statistics.discordance(*self.pair(measure, condition, versus))

    def bounds(self, measure: str, condition: str) -> tuple[float, float] | None:
        """A binary measure's mean with every missing trial counted wrong and right, None where none is missing."""
        if MEASURES[measure].right is None or not self._table.are_missing(measure, condition):
            return None
        low, high = (float(np.nanmean(self._filled(measure, condition, value))) for value in (0.0, 1.0))
        return low, high

    def churn(self, condition: str, scope: Scope = Scope.ALL) -> Estimate:
        """How often two repeats of a trial disagree: on correctness, for unanswerable questions on abstaining.

        The mean over questions of the share of their pairs of repeats; `n` counts the questions that have a pair.

        Raises:
            Unavailable: There are no repeats, or no question has two that ended well.
        """
        return self._of_repeats("correctness " + scope.value, condition)

    def answer_churn(self, condition: str) -> Estimate:
        """As `churn`, for how often two repeats are answered with other text."""
        return self._of_repeats("answers", condition)

    def _of_repeats(self, kind: str, condition: str) -> Estimate:
        if self.repeats == 1:
            raise Unavailable("every trial was run once only")
        column = self._churn[kind, condition]
        if np.isnan(column).all():
            raise Unavailable(f"no question has two repeats under {condition} that ended well")
        (samples,) = self.resampled(column)
        return self._interval(float(np.nanmean(column)), samples, column)

    def _churn_columns(self) -> dict[tuple[str, str], FloatArray]:
        if self.repeats == 1:
            return {}
        found = {
            ("correctness " + scope.value, condition): self._table.churn(condition, scope)
            for scope in Scope
            for condition in self.conditions
        }
        answers = self._table.answer_churn()
        return found | {("answers", condition): answers[condition] for condition in self.conditions}

    def missing(self, condition: str, measure: str = "input_tokens") -> dict[str, str]:
        """The questions that lack an `ok` trial under a condition, among those of the measure, each with the reason.

        With repeats the reason says how many of them ended how: "1 error, 2 not run".
        """
        return {
            question: _listed(reasons) if self.repeats > 1 else next(reversed(reasons))
            for question, reasons in self._table.missing(measure, condition)
        }

    def lacking(self, condition: str) -> Counter[str]:
        """How many trials of a condition are missing, by the reason."""
        return sum((reasons for _, reasons in self._table.missing("input_tokens", condition)), Counter[str]())

    def statuses(self, condition: str) -> Counter[str]:
        """How many trials of a condition ended how."""
        return self._table.statuses(condition)

    def column(self, measure: str, condition: str) -> FloatArray:
        """The measure under a condition for each question, (questions,), NaN where not measured.

        Raises:
            Unavailable: It was measured on no question.
            ValueError: The study has no such measure or condition.
        """
        if measure not in MEASURES:
            raise ValueError(f"there is no measure {measure!r}; known are {', '.join(MEASURES)}")
        if condition not in self.conditions:
            raise ValueError(f"the study has no condition {condition!r}; it has {', '.join(self.conditions)}")
        column = self._columns[measure, condition]
        if np.isnan(column).all():
            raise Unavailable(self._why_empty(measure, condition))
        return column

    def _why_empty(self, measure: str, condition: str) -> str:
        statuses = self.statuses(condition)
        if not statuses:
            return f"condition {condition} was not measured"
        if not statuses[Status.OK]:
            return f"condition {condition} has no measured trial ({_listed(statuses)})"
        if measure == "prefill_s":
            ended = [
                seen for seen in self.observations if seen.condition == condition and seen.status is Status.OK
            ]
            if all(map(is_warm, ended)):
                return f"every prompt of condition {condition} came in part from a cache"
            if not any(map(is_cold, ended)):
                return f"no trial of condition {condition} is known to be cold"
        return f"{measure} of condition {condition} was not measured"

    def counting(self, counted: Mapping[str, bool]) -> Self:
        """The same trials with the missing ones of some conditions counted as right (True) or wrong (False).

        It has its own `evidence` and `in_doubt`. Only binary measures know right and wrong.
        """
        columns = dict(self._columns)
        for (condition, as_right), (name, measure) in itertools.product(counted.items(), MEASURES.items()):
            if measure.right is not None:
                value = measure.right if as_right else 1 - measure.right
                columns[name, condition] = self._filled(name, condition, value)
        view = copy.copy(self)
        view.evidence, view.in_doubt = [], {}
        view._counted, view._columns = dict(counted), columns  # noqa: SLF001  # of the same class
        return view

    def _filled(self, measure: str, condition: str, value: float) -> FloatArray:
        key = measure, condition, value
        if key not in self._fillings:
            self._fillings[key] = self._table.filled(measure, condition, value)
        return self._fillings[key]

    def pair(self, measure: str, condition: str, versus: str) -> tuple[FloatArray, FloatArray]:
        """The columns of a measure under two conditions, NaN where either was not measured.

        Raises:
            Unavailable: No question was measured under both.
        """
        ours, theirs = self.column(measure, condition), self.column(measure, versus)
        both = ~(np.isnan(ours) | np.isnan(theirs))
        if not both.any():
            raise Unavailable(f"no question has {measure} under both {condition} and {versus}")
        return np.where(both, ours, np.nan), np.where(both, theirs, np.nan)

    def resampled(self, *columns: FloatArray) -> tuple[FloatArray, ...]:
        """The means of columns (questions,) over the bootstrap's draws of questions, (resamples,)."""
        return self._draws.of(*columns)

    def _usual(self) -> Iterator[FloatArray]:
        """Each measured column, its pair with the baseline's, and what else is drawn with them: what reports show."""
        for (measure, condition), column in self._columns.items():
            if np.isnan(column).all():
                continue
            yield column
            theirs = self._columns.get((measure, self.baseline))
            if condition == self.baseline or theirs is None or not MEASURES[measure].compared:
                continue
            if not np.isnan(column + theirs).all():
                yield from self.pair(measure, condition, self.baseline)
        yield from (column for column in (*self._churn.values(), *self._beside) if not np.isnan(column).all())

    @classmethod
    def _finite(cls, estimate: float, samples: npt.NDArray[np.float64], column: FloatArray) -> Estimate:
        """As `_interval`, without one where an end is infinite."""
        found = cls._interval(estimate, samples, column)
        bounded = (
            found.low is not None and found.high is not None and np.isfinite([found.low, found.high]).all()
        )
        return found if bounded else Estimate(found.estimate, None, None, found.n)

    @staticmethod
    def _interval(estimate: float, samples: npt.NDArray[np.float64], column: FloatArray) -> Estimate:
        return statistics.bootstrap_estimate(estimate, samples, int(np.count_nonzero(~np.isnan(column))))


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))
