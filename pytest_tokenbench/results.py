"""The ledger as columns, and the estimates that reports show and hypotheses ask for."""

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np
import numpy.typing as npt

from pytest_tokenbench import statistics
from pytest_tokenbench.records import Evidence, Observation, Question, Status
from pytest_tokenbench.statistics import Estimate, FloatArray

COLD_SHARE = 0.05


class Unavailable(Exception):  # noqa: N818  # the design's word; not an error but a ruling
    """Something was asked for that was not measured, or not enough of it; the message is the reason."""


class Scope(Enum):
    """The questions that a measure applies to."""

    ALL = "all"
    ANSWERABLE = "answerable"
    UNANSWERABLE = "unanswerable"


@dataclass(frozen=True, slots=True)
class Measure:
    """A column of the ledger: its questions, its value in an observation, and the value of a right answer if binary.

    What a binary measure would be with the missing trials has bounds; of any other, a hypothesis may ask only when
    none is missing (`whole`). Prefill is the exception: it is taken on a part of the trials anyway.
    """

    scope: Scope
    value: Callable[[Observation], float | None]
    right: float | None = None
    whole: bool = True

    def applies(self, question: Question) -> bool:
        """Whether the measure is taken on this question."""
        return self.scope is Scope.ALL or question.answerable == (self.scope is Scope.ANSWERABLE)


def is_cold(observation: Observation) -> bool:
    """Whether the prompt is known to have been prefilled anew: cached share told, and at most 5%."""
    cached, total = observation.cached_tokens, observation.input_tokens
    return cached is not None and total is not None and total > 0 and cached / total <= COLD_SHARE


def _scored(name: str) -> Callable[[Observation], float | None]:
    def value(observation: Observation) -> float | None:
        found = getattr(observation.scores, name) if observation.scores else None
        return None if found is None else float(found)

    return value


def _field(name: str) -> Callable[[Observation], float | None]:
    def value(observation: Observation) -> float | None:
        found = getattr(observation, name)
        return None if found is None else float(found)

    return value


MEASURES: Mapping[str, Measure] = {
    "input_tokens": Measure(Scope.ALL, _field("input_tokens")),
    "output_tokens": Measure(Scope.ALL, _field("output_tokens")),
    "accuracy": Measure(Scope.ANSWERABLE, _scored("correct"), right=1.0),
    "abstention": Measure(Scope.UNANSWERABLE, _scored("abstained"), right=1.0),
    "made_up": Measure(Scope.UNANSWERABLE, _scored("made_up"), right=0.0),
    "f1": Measure(Scope.ANSWERABLE, _scored("f1")),
    "squad_f1": Measure(Scope.ANSWERABLE, _scored("squad_f1")),
    "exact_match": Measure(Scope.ANSWERABLE, _scored("exact_match"), right=1.0),
    "prefill_s": Measure(Scope.ALL, lambda seen: seen.prefill_s if is_cold(seen) else None, whole=False),
    "total_s": Measure(Scope.ALL, _field("total_s")),
}


@dataclass(frozen=True, slots=True)
class Figure:
    """An estimate that a hypothesis asked for. Asking for an end of an interval it does not have is `Unavailable`."""

    name: str
    source: Estimate

    @property
    def estimate(self) -> float:
        """The point estimate, in the unit of the measure (shares, not percent)."""
        return self.source.estimate

    @property
    def n(self) -> int:
        """Questions, or pairs of them, that it rests on."""
        return self.source.n

    @property
    def low(self) -> float:
        """The lower end of the 95% interval."""
        return self._end(self.source.low)

    @property
    def high(self) -> float:
        """The upper end of the 95% interval."""
        return self._end(self.source.high)

    def _end(self, end: float | None) -> float:
        if end is None:
            raise Unavailable(f"{self.name} rests on {self.n} question and has no interval")
        return end


class Results:
    """Estimates over the trials of one run; what a hypothesis function is given.

    Every interval is a 95% percentile interval from 10,000 bootstrap resamples of questions with the same draws for
    every condition and measure (protocol, Analysis). Measures: see `MEASURES`. Only trials that ended well count;
    `counted` says for conditions whose other trials shall count in binary measures whether as right or as wrong.
    `evidence` has what hypotheses asked for, `in_doubt` the conditions whose missing trials could have changed it.
    """

    def __init__(
        self,
        questions: Sequence[Question],
        conditions: Sequence[str],
        baseline: str,
        observations: Iterable[Observation],
        counted: Mapping[str, bool] | None = None,
    ) -> None:
        self.questions = tuple(questions)
        self.conditions = tuple(conditions)
        self.baseline = baseline
        self.observations = tuple(observations)
        self.evidence: list[Evidence] = []
        self.in_doubt: set[str] = set()
        self._counted = dict(counted or {})
        self._place = {question.id: place for place, question in enumerate(self.questions)}
        self._columns = self._tabulate()
        self._samples: dict[tuple[str, ...], FloatArray] = {}

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
        for condition in conditions:
            missing = self.missing(condition, measure)
            if missing and MEASURES[measure].right is not None and condition not in self._counted:
                self.in_doubt.add(condition)
            elif missing and MEASURES[measure].right is None and MEASURES[measure].whole:
                total = sum(map(MEASURES[measure].applies, self.questions))
                raise Unavailable(
                    f"{measure} of {condition} is missing for {len(missing)} of {total} questions"
                )
        self.evidence.append(Evidence(name, estimate.estimate, estimate.low, estimate.high, estimate.n))
        return Figure(name, estimate)

    def level(self, measure: str, condition: str) -> Estimate:
        """As `estimate`, without leaving evidence."""
        column = self.column(measure, condition)
        return self._interval(float(np.nanmean(column)), self._drawn((measure, condition)), column)

    def paired_difference(self, measure: str, condition: str, versus: str) -> Estimate:
        """As `difference`, without leaving evidence."""
        ours, theirs = self._pair(measure, condition, versus)
        samples = self._drawn((measure, condition, versus)) - self._drawn((measure, versus, condition))
        return self._interval(float(np.nanmean(ours - theirs)), samples, ours)

    def paired_reduction(self, measure: str, condition: str, versus: str) -> Estimate:
        """As `reduction`, without leaving evidence."""
        ours, theirs = self._pair(measure, condition, versus)
        if not np.nanmean(theirs):
            raise Unavailable(f"{measure} of {versus} is 0, so that nothing can be less")
        samples = 1 - self._drawn((measure, condition, versus)) / self._drawn((measure, versus, condition))
        return self._interval(float(1 - np.nanmean(ours) / np.nanmean(theirs)), samples, ours)

    def clustered_difference(self, measure: str, condition: str, versus: str) -> Estimate:
        """The paired difference with the document as sampling unit: t interval on document means, n documents."""
        ours, theirs = self._pair(measure, condition, versus)
        kept = ~np.isnan(ours)
        documents = [question.document for question, keep in zip(self.questions, kept, strict=True) if keep]
        return statistics.clustered_t((ours - theirs)[kept], documents)

    def discordance(self, measure: str, condition: str, versus: str) -> float:
        """Share of pairs in which a binary measure differs."""
        return statistics.discordance(*self._pair(measure, condition, versus))

    def bounds(self, measure: str, condition: str) -> tuple[float, float] | None:
        """A binary measure's mean with every missing trial counted wrong and right, None where none is missing."""
        column, right = self._columns[measure, condition], MEASURES[measure].right
        missing = len(self.missing(condition, measure))
        if right is None or not missing:
            return None
        measured = column[~np.isnan(column)]
        total = len(measured) + missing
        ends = sorted((measured.sum() + missing * fill) / total for fill in (0.0, 1.0))
        return float(ends[0]), float(ends[1])

    def missing(self, condition: str, measure: str = "input_tokens") -> dict[str, str]:
        """The questions without an `ok` trial under a condition, among those of the measure, each with the reason."""
        seen = {seen.question: seen for seen in self.observations if seen.condition == condition}
        return {
            question.id: str(seen[question.id].status) if question.id in seen else "not run"
            for question in self.questions
            if MEASURES[measure].applies(question)
            and (question.id not in seen or seen[question.id].status is not Status.OK)
        }

    def statuses(self, condition: str) -> Counter[str]:
        """How many trials of a condition ended how."""
        return Counter(str(seen.status) for seen in self.observations if seen.condition == condition)

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
            return f"no trial of condition {condition} is known to be cold"
        return f"{measure} of condition {condition} was not measured"

    def _tabulate(self) -> dict[tuple[str, str], FloatArray]:
        size = len(self.questions)
        sums = {key: np.zeros(size) for key in itertools.product(MEASURES, self.conditions)}
        counts = {key: np.zeros(size) for key in sums}
        for seen in self.observations:
            place = self._place.get(seen.question)
            if seen.status is not Status.OK or place is None or seen.condition not in self.conditions:
                continue
            for name, measure in MEASURES.items():
                value = measure.value(seen)
                if value is not None and measure.applies(self.questions[place]):
                    sums[name, seen.condition][place] += value
                    counts[name, seen.condition][place] += 1
        with np.errstate(invalid="ignore"):
            table: dict[tuple[str, str], FloatArray] = {key: sums[key] / counts[key] for key in sums}
        for condition, as_right in self._counted.items():
            self._count_missing(table, condition, as_right=as_right)
        return table

    def _count_missing(
        self, table: dict[tuple[str, str], FloatArray], condition: str, *, as_right: bool
    ) -> None:
        for name, measure in MEASURES.items():
            if measure.right is not None:
                for question in self.missing(condition, name):
                    value = measure.right if as_right else 1 - measure.right
                    table[name, condition][self._place[question]] = value

    def _pair(self, measure: str, condition: str, versus: str) -> tuple[FloatArray, FloatArray]:
        ours, theirs = self.column(measure, condition), self.column(measure, versus)
        both = ~(np.isnan(ours) | np.isnan(theirs))
        if not both.any():
            raise Unavailable(f"no question has {measure} under both {condition} and {versus}")
        return np.where(both, ours, np.nan), np.where(both, theirs, np.nan)

    def _drawn(self, key: tuple[str, ...]) -> FloatArray:
        """Bootstrap means of a column, or of its part that is paired with another condition's."""
        if not self._samples:
            self._draw(self._usual_keys())
        if key not in self._samples:
            self._draw([key])
        return self._samples[key]

    def counting(self, counted: Mapping[str, bool]) -> "Results":
        """The same trials with the missing ones of some conditions counted as right (True) or wrong (False)."""
        return Results(self.questions, self.conditions, self.baseline, self.observations, counted)

    def _usual_keys(self) -> list[tuple[str, ...]]:
        found: list[tuple[str, ...]] = []
        for (measure, condition), column in self._columns.items():
            if np.isnan(column).all():
                continue
            found.append((measure, condition))
            theirs = self._columns.get((measure, self.baseline))
            if condition != self.baseline and theirs is not None and not np.isnan(column + theirs).all():
                found += [(measure, condition, self.baseline), (measure, self.baseline, condition)]
        return found

    def _draw(self, keys: Sequence[tuple[str, ...]]) -> None:
        columns: dict[bytes, FloatArray] = {}
        source: dict[tuple[str, ...], bytes] = {}
        for key in keys:
            column = self._columns[key[0], key[1]] if len(key) == 2 else self._pair(key[0], key[1], key[2])[0]  # noqa: PLR2004
            source[key] = column.tobytes()
            columns[source[key]] = column
        drawn = statistics.bootstrap_means(np.column_stack(list(columns.values())))
        places = {name: place for place, name in enumerate(columns)}
        self._samples |= {key: drawn[:, places[name]] for key, name in source.items()}

    @staticmethod
    def _interval(estimate: float, samples: npt.NDArray[np.float64], column: FloatArray) -> Estimate:
        return statistics.bootstrap_estimate(estimate, samples, int(np.count_nonzero(~np.isnan(column))))


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))
