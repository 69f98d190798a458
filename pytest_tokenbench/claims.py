"""What a hypothesis claims of a paired difference, found by trying it on made-up intervals, and the power of that.

A hypothesis is a function with asserts, so its margin stands nowhere but in its behaviour. It is run on a stand-in for
the results whose one difference has a known interval, over and over: where its verdict turns on one end of the
interval alone, and turns once, the place where it turns is the margin. Nothing is declared twice, and nothing is
guessed: whatever behaves otherwise is told in a sentence.
"""

import contextlib
import io
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pytest_tokenbench import power, statistics
from pytest_tokenbench.hypotheses import judge
from pytest_tokenbench.loading import Loaded
from pytest_tokenbench.measures import MEASURES, Scope
from pytest_tokenbench.records import Evidence, Question, Ruling, Status
from pytest_tokenbench.run_folder import Run
from pytest_tokenbench.scheduling import TrialKey
from pytest_tokenbench.study import Hypothesis

# Of two differences on one document: none, and what is common between small and large.
CORRELATIONS = (0.0, 0.02, 0.05)
# In shares: ends are tried so far apart, then the place between two of them is halved so often.
_STEP = 0.01
_HALVINGS = 40
_DIGITS = 9
# Where the other two numbers of an interval lie: how far from its known end to the end of the scale.
_ELSEWHERE = ((0.0, 0.0), (0.0, 1.0), (0.5, 0.5), (1.0, 0.0))
_RULINGS = {Ruling.PASSED: True, Ruling.FAILED: False}


@dataclass(frozen=True, slots=True)
class Claim:
    """That a binary measure under `condition` differs from that under `versus` by less than `margin`, a share.

    The claim is that the lower end of the interval lies above -margin, or the upper one below it (`is_upper`).
    """

    hypothesis: str
    measure: str
    condition: str
    versus: str
    margin: float
    is_upper: bool = False


class UnplannedError(Exception):
    """A hypothesis has no power that could be told; the message is the reason, as the rest of a sentence."""


def claim_of(
    hypothesis: Hypothesis, conditions: Sequence[str], baseline: str, questions: Sequence[Question]
) -> Claim:
    """What the hypothesis claims of a difference between two of these conditions.

    Raises:
        UnplannedError: It claims something else, or what it claims cannot be told.
    """
    trial = _Trial(hypothesis, conditions, baseline, tuple(questions))
    with contextlib.redirect_stdout(io.StringIO()):
        trial.passes(0.0, 0.0, 0.0)
        asked = trial.asked()
        for is_upper in (False, True):
            turning = _turning(trial.passes, is_upper=is_upper)
            if turning is not None:
                break
        else:
            raise UnplannedError("its verdict does not turn on one end of the interval alone")
    measure, condition, versus = asked
    margin = turning if is_upper else -turning
    if margin <= 0:
        raise UnplannedError(
            "it claims that there is a difference; without one it passes once in 40 times at most"
        )
    return Claim(hypothesis.name, measure, condition, versus, margin, is_upper=is_upper)


class _Trial:
    """One hypothesis, to be tried on intervals."""

    def __init__(
        self,
        hypothesis: Hypothesis,
        conditions: Sequence[str],
        baseline: str,
        questions: tuple[Question, ...],
    ) -> None:
        self._hypothesis = hypothesis
        self._known = conditions
        self._results = _StandIn(tuple(conditions), baseline, questions)

    def passes(self, low: float, estimate: float, high: float) -> bool:
        """Whether it passes on this interval.

        Raises:
            UnplannedError: It neither passes nor fails, or asks for something that is no interval of one difference.
        """
        self._results.interval = low, estimate, high
        verdict = judge(self._hypothesis, self._results).verdict  # type: ignore[arg-type]
        self.asked()
        if verdict.ruling not in _RULINGS:
            raise UnplannedError(f"tried on made-up numbers it ends in {verdict.reason or verdict.ruling}")
        return _RULINGS[verdict.ruling]

    def asked(self) -> tuple[str, str, str]:
        """Measure, condition and versus of the one difference it asked for."""
        others, pairs = self._results.others, self._results.pairs
        if others:
            also = ", beside a difference" if pairs else ""
            raise UnplannedError(
                f"it asks for {', '.join(others)}{also}, not for the interval of a difference"
            )
        if len(pairs) != 1:
            raise UnplannedError(
                "it asks for no difference" if not pairs else f"it rests on {len(pairs)} differences at once"
            )
        ((measure, condition, versus),) = pairs
        for name in (condition, versus):
            if name not in self._known:
                raise UnplannedError(f"{name} is none of the conditions that are run")
        if measure not in MEASURES:
            raise UnplannedError(f"there is no measure {measure!r}")
        if MEASURES[measure].right is None:
            raise UnplannedError(f"{measure} is not right or wrong, so that it has no discordance")
        return measure, condition, versus


class _StandIn:
    """What a hypothesis is given in place of `Results`: it has every paired difference, all with one interval."""

    def __init__(self, conditions: tuple[str, ...], baseline: str, questions: tuple[Question, ...]) -> None:
        self.conditions = conditions
        self.baseline = baseline
        self.questions = questions
        self.repeats = 1
        self.interval = (0.0, 0.0, 0.0)
        self.pairs: dict[tuple[str, str, str], None] = {}
        self.others: dict[str, None] = {}
        self.evidence: list[Evidence] = []
        self.in_doubt: dict[str, dict[str, int]] = {}

    def counting(self, counted: object) -> "_StandIn":  # noqa: ARG002
        return self

    def difference(self, measure: str, condition: str, *, versus: str) -> "_Interval":
        self.pairs[measure, condition, versus] = None
        return _Interval(f"{measure} of {condition} less {versus}", len(self.questions), *self.interval)

    def estimate(self, measure: str, condition: str) -> "_Interval":
        self.others[f"{measure} of {condition}"] = None
        return _Interval(f"{measure} of {condition}", len(self.questions), *self.interval)

    def reduction(self, measure: str, condition: str, *, versus: str) -> "_Interval":
        self.others[f"the reduction of {measure} of {condition} versus {versus}"] = None
        return _Interval("reduction", len(self.questions), *self.interval)

    def __getattr__(self, name: str) -> Any:
        # Kept, since a hypothesis may catch what is raised here.
        self.others[f"results.{name}"] = None
        raise UnplannedError(f"it asks for results.{name}")


@dataclass(frozen=True, slots=True)
class _Interval:
    """What a hypothesis is given in place of a `Figure`."""

    name: str
    n: int
    low: float
    estimate: float
    high: float


def _turning(passes: Callable[[float, float, float], bool], *, is_upper: bool) -> float | None:
    """Where the verdict turns on one end of the interval, None where it does not turn on that end alone, or not once."""

    def verdict(known: float) -> bool | None:
        """That with this lower end (this upper end, with `is_upper`); None if it depends on the rest as well."""
        found = set()
        for share, rest in _ELSEWHERE:
            away = -1.0 if is_upper else 1.0
            estimate = known + share * (away - known)
            other = estimate + rest * (away - estimate)
            found.add(passes(other, estimate, known) if is_upper else passes(known, estimate, other))
        return found.pop() if len(found) == 1 else None

    steps = round(1 / _STEP)
    ends = [place * _STEP for place in range(-steps, steps + 1)]
    verdicts = [verdict(end) for end in ends]
    turns = [place for place in range(1, len(ends)) if verdicts[place] is not verdicts[place - 1]]
    # A higher interval is to pass where the lower end counts, a lower one where the upper end does.
    if len(turns) != 1 or verdicts[0] is not is_upper or verdicts[-1] is is_upper:
        return None
    low, high = ends[turns[0] - 1], ends[turns[0]]
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if verdict(middle) is is_upper else (low, middle)
    return round(high, _DIGITS)


@dataclass(frozen=True, slots=True)
class PowerPlan:
    """The chance that a claim passes, with questions and with documents as units.

    `needed` are the questions that 80% takes, `clustered` has for each correlation the chance and the documents that
    80% takes. `measured` is the discordance that the last run had, None without one.
    """

    claim: Claim
    questions: int
    documents: int
    per_document: float
    chance: float
    needed: int
    clustered: tuple[tuple[float, float, int | None], ...]
    measured: float | None = None


def powers_of(
    loaded: Loaded, selected: Collection[TrialKey] | None, discordance: float, last: Run | None
) -> tuple[tuple[PowerPlan, ...], dict[str, str]]:
    """The power of each hypothesis on the selected trials (None: on all), and for those without one, why."""
    found, unplanned = [], {}
    for hypothesis in loaded.study.hypotheses:
        questions = tuple(loaded.questions.values())
        try:
            claim = claim_of(hypothesis, tuple(loaded.conditions), loaded.study.baseline, questions)
            found.append(_power(claim, _asked_under_both(claim, questions, selected), discordance, last))
        except UnplannedError as reason:
            unplanned[hypothesis.name] = str(reason)
    return tuple(found), unplanned


def _asked_under_both(
    claim: Claim, questions: Sequence[Question], selected: Collection[TrialKey] | None
) -> list[Question]:
    scope = MEASURES[claim.measure].scope
    asked = [
        {question.id for question in questions}
        if selected is None
        else {key.question for key in selected if key.condition == name}
        for name in (claim.condition, claim.versus)
    ]
    return [
        question
        for question in questions
        if all(question.id in its for its in asked)
        and (scope is Scope.ALL or question.answerable is (scope is Scope.ANSWERABLE))
    ]


def _power(claim: Claim, questions: Sequence[Question], discordance: float, last: Run | None) -> PowerPlan:
    sizes = list(Counter(question.document for question in questions).values())
    if len(questions) <= 1:
        raise UnplannedError("fewer than two of its questions are run, so that there is no interval")
    each, margin = power.per_document(sizes), claim.margin
    return PowerPlan(
        claim=claim,
        questions=len(questions),
        documents=len(sizes),
        per_document=each,
        chance=power.chance(margin, discordance, len(questions)),
        needed=power.questions_needed(margin, discordance),
        clustered=tuple(
            (
                correlation,
                power.clustered_chance(margin, discordance, len(sizes), each, correlation)
                if len(sizes) > 1
                else 0.0,
                power.documents_needed(margin, discordance, each, correlation),
            )
            for correlation in CORRELATIONS
        ),
        measured=None if last is None else _measured_discordance(claim, last),
    )


def _measured_discordance(claim: Claim, run: Run) -> float | None:
    """What share of the pairs differed in a run; of several repeats the first counts."""
    value = MEASURES[claim.measure].value
    columns = [
        {
            seen.question: value(seen)
            for seen in run.observations
            if seen.condition == name and seen.status is Status.OK and seen.repeat == 0
        }
        for name in (claim.condition, claim.versus)
    ]
    pairs = [
        (ours, theirs)
        for question, ours in columns[0].items()
        if ours is not None and (theirs := columns[1].get(question)) is not None
    ]
    if not pairs:
        return None
    table = np.array(pairs, dtype=np.float64)
    return statistics.discordance(table[:, 0], table[:, 1])
