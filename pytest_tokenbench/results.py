"""The ledger as columns, and the estimates that reports show and hypotheses ask for."""

import copy
import hashlib
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
            raise Unavailable(f"{self.name} has no interval (n={self.n})")
        return end


class Results:
    """Estimates over the trials of one run; what a hypothesis function is given.

    Every interval is a 95% percentile interval from 10,000 bootstrap resamples of questions with the same draws for
    every condition and measure (protocol, Analysis). Measures: see `MEASURES`. Only trials that ended well count,
    unless `counting` says otherwise. `evidence` has what hypotheses asked for, `in_doubt` the conditions whose missing
    trials could have changed it.
    """

    def __init__(
        self,
        questions: Sequence[Question],
        conditions: Sequence[str],
        baseline: str,
        observations: Iterable[Observation],
    ) -> None:
        self.questions = tuple(questions)
        self.conditions = tuple(conditions)
        self.baseline = baseline
        self.observations = tuple(observations)
        self.evidence: list[Evidence] = []
        self.in_doubt: set[str] = set()
        self._counted: dict[str, bool] = {}
        self._place = {question.id: place for place, question in enumerate(self.questions)}
        self._ended = self._endings()
        self._columns = self._tabulate()
        # Shared with what `counting` returns: it asks for the same columns over and over.
        self._samples: dict[tuple[bytes, ...], tuple[FloatArray, ...]] = {}
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
        for condition in conditions:
            if MEASURES[measure].right is not None:
                if condition not in self._counted and self.missing(condition, measure):
                    self.in_doubt.add(condition)
            elif MEASURES[measure].whole:
                total = sum(map(MEASURES[measure].applies, self.questions))
                missing = total - int(np.count_nonzero(~np.isnan(self.column(measure, condition))))
                if missing:
                    raise Unavailable(
                        f"{measure} of {condition} is missing for {missing} of {total} questions"
                    )
        self.evidence.append(Evidence(name, estimate.estimate, estimate.low, estimate.high, estimate.n))
        return Figure(name, estimate)

    def level(self, measure: str, condition: str) -> Estimate:
        """As `estimate`, without leaving evidence."""
        column = self.column(measure, condition)
        (samples,) = self._drawn(column)
        return self._interval(float(np.nanmean(column)), samples, column)

    def paired_difference(self, measure: str, condition: str, versus: str) -> Estimate:
        """As `difference`, without leaving evidence."""
        ours, theirs = self._pair(measure, condition, versus)
        our_samples, their_samples = self._drawn(ours, theirs)
        return self._interval(float(np.nanmean(ours - theirs)), our_samples - their_samples, ours)

    def paired_reduction(self, measure: str, condition: str, versus: str) -> Estimate:
        """As `reduction`, without leaving evidence."""
        ours, theirs = self._pair(measure, condition, versus)
        if not np.nanmean(theirs):
            raise Unavailable(f"{measure} of {versus} is 0, so that nothing can be less")
        our_samples, their_samples = self._drawn(ours, theirs)
        # A resample may hold nothing but zeros under `versus`: then an end can be infinite, which is none.
        with np.errstate(divide="ignore", invalid="ignore"):
            samples = 1 - our_samples / their_samples
            found = self._interval(float(1 - np.nanmean(ours) / np.nanmean(theirs)), samples, ours)
        bounded = (
            found.low is not None and found.high is not None and np.isfinite([found.low, found.high]).all()
        )
        return found if bounded else Estimate(found.estimate, None, None, found.n)

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
        endings = {
            question.id: self._ended.get((condition, question.id))
            for question in self.questions
            if MEASURES[measure].applies(question)
        }
        return {name: str(ending or "not run") for name, ending in endings.items() if ending is not Status.OK}

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

    def _endings(self) -> dict[tuple[str, str], Status]:
        """How each condition and question ended: well if any of its trials did, else as the last one did."""
        found: dict[tuple[str, str], Status] = {}
        for seen in self.observations:
            if found.get((seen.condition, seen.question)) is not Status.OK:
                found[seen.condition, seen.question] = seen.status
        return found

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
            return {key: sums[key] / counts[key] for key in sums}

    def counting(self, counted: Mapping[str, bool]) -> "Results":
        """The same trials with the missing ones of some conditions counted as right (True) or wrong (False).

        It has its own `evidence` and `in_doubt`. Only binary measures know right and wrong.
        """
        columns = dict(self._columns)
        for (condition, as_right), (name, measure) in itertools.product(counted.items(), MEASURES.items()):
            if measure.right is not None:
                value = measure.right if as_right else 1 - measure.right
                columns[name, condition] = self._filled(name, condition, value)
        view = copy.copy(self)
        view.evidence, view.in_doubt = [], set()
        view._counted, view._columns = dict(counted), columns  # noqa: SLF001  # of the same class
        return view

    def _filled(self, measure: str, condition: str, value: float) -> FloatArray:
        key = measure, condition, value
        if key not in self._fillings:
            column = self._columns[measure, condition].copy()
            column[[self._place[question] for question in self.missing(condition, measure)]] = value
            self._fillings[key] = column
        return self._fillings[key]

    def _pair(self, measure: str, condition: str, versus: str) -> tuple[FloatArray, FloatArray]:
        ours, theirs = self.column(measure, condition), self.column(measure, versus)
        both = ~(np.isnan(ours) | np.isnan(theirs))
        if not both.any():
            raise Unavailable(f"no question has {measure} under both {condition} and {versus}")
        return np.where(both, ours, np.nan), np.where(both, theirs, np.nan)

    def _drawn(self, *columns: FloatArray) -> tuple[FloatArray, ...]:
        """Bootstrap means of columns that share their draws, kept for whoever asks for the same again."""
        name = tuple(map(_digest, columns))
        if name not in self._samples:
            self._draw([columns, *self._usual()])
        return self._samples[name]

    def _usual(self) -> list[tuple[FloatArray, ...]]:
        """Each measured column, and its pairs with the baseline's: what reports show, drawn all at once."""
        found: list[tuple[FloatArray, ...]] = []
        for (measure, condition), column in self._columns.items():
            if np.isnan(column).all():
                continue
            found.append((column,))
            theirs = self._columns.get((measure, self.baseline))
            if condition != self.baseline and theirs is not None and not np.isnan(column + theirs).all():
                found.append(self._pair(measure, condition, self.baseline))
        return found

    def _draw(self, groups: Sequence[tuple[FloatArray, ...]]) -> None:
        """Draws those of the groups of columns that have not been drawn yet."""
        named = {tuple(map(_digest, group)): group for group in groups}
        new = {name: group for name, group in named.items() if name not in self._samples}
        columns = {
            part: column for name, group in new.items() for part, column in zip(name, group, strict=True)
        }
        drawn = statistics.bootstrap_means(np.column_stack(list(columns.values())))
        place = {part: place for place, part in enumerate(columns)}
        self._samples |= {name: tuple(drawn[:, place[part]] for part in name) for name in new}

    @staticmethod
    def _interval(estimate: float, samples: npt.NDArray[np.float64], column: FloatArray) -> Estimate:
        return statistics.bootstrap_estimate(estimate, samples, int(np.count_nonzero(~np.isnan(column))))


def _digest(column: FloatArray) -> bytes:
    return hashlib.blake2b(column.tobytes(), digest_size=16).digest()


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))
