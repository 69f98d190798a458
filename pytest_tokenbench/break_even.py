"""What conditions build for a document, in tokens, and from how many questions of it on that has paid.

Every interval comes from the results' own draws of questions, as that of any other figure.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from pytest_tokenbench import statistics
from pytest_tokenbench.distributions import tail_of
from pytest_tokenbench.figures import figure
from pytest_tokenbench.records import Preparation, Question
from pytest_tokenbench.results import Results, Unavailable
from pytest_tokenbench.statistics import Estimate, FloatArray

NEVER, ALWAYS = "never", "always"
_LEVEL = 0.95
# A quotient of means that should be a whole number seldom is one.
_ROUNDING = 1e-9

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Building:
    """What was built for each document, spread over its questions; both are NaN where nothing usable was built.

    `spread` has the document's tokens by the number of its questions, `parts` one by that number, so that the mean of
    the one by that of the other is the mean over documents.
    """

    spread: FloatArray
    parts: FloatArray

    @classmethod
    def of(cls, built: Mapping[str, Preparation], questions: Sequence[Question]) -> "Building":
        """What was built, by document.

        Raises:
            Unavailable: Nothing was, or how many tokens that took is not known.
        """
        usable = {name: one for name, one in built.items() if one.failure is None}
        asked = Counter(question.document for question in questions)
        tokens = {name: sum(counts_of(one)) for name, one in usable.items()}
        known = [question.document in tokens for question in questions]
        if not any(known):
            raise Unavailable("nothing was prepared")
        parts = np.array([1 / asked[question.document] for question in questions])
        spread = np.array([tokens.get(question.document, 0) for question in questions]) * parts
        return cls(np.where(known, spread, np.nan), np.where(known, parts, np.nan))

    def per_document(self, results: Results) -> Estimate:
        """Tokens for a document."""
        mean = math.fsum(self.spread[~np.isnan(self.spread)]) / math.fsum(self.parts[~np.isnan(self.parts)])
        return statistics.bootstrap_estimate(mean, self.draws(results), self._n)

    def draws(self, results: Results) -> FloatArray:
        """Tokens for a document in each of the results' draws."""
        spread, parts = results.resampled(self.spread, self.parts)
        return spread / parts

    def per_question(self, results: Results) -> Estimate:
        """A document's tokens by the number of its questions."""
        (samples,) = results.resampled(self.spread)
        return statistics.bootstrap_estimate(float(np.nanmean(self.spread)), samples, self._n)

    @property
    def _n(self) -> int:
        return int(np.count_nonzero(~np.isnan(self.spread)))


def counts_of(one: Preparation) -> tuple[int, int]:
    """The tokens that a preparation read and wrote.

    Raises:
        Unavailable: They are not known.
    """
    if one.input_tokens is None or one.output_tokens is None:
        raise Unavailable(f"the preparation of {one.document} has no token counts")
    return one.input_tokens, one.output_tokens


# By condition what it built, None where it builds nothing.
Buildings = Mapping[str, Building | Unavailable | None]


def columns(buildings: Buildings) -> list[FloatArray]:
    """What is to be drawn beside a run's own columns, so that all of this shares their draws."""
    made = [one for one in buildings.values() if isinstance(one, Building)]
    return [column for one in made for column in (one.spread, one.parts)]


def figures(building: Building | Unavailable, results: Results) -> Json:
    """The tokens that were built for a document, and spread over the questions of one."""
    if isinstance(building, Unavailable):
        return {
            name: {"unavailable": str(building)} for name in ("tokens_per_document", "tokens_per_question")
        }
    return {
        "tokens_per_document": figure(lambda: building.per_document(results)),
        "tokens_per_question": figure(lambda: building.per_question(results)),
    }


def break_even(condition: str, buildings: Buildings, results: Results) -> Json:
    """The number of questions of a document from which on a condition takes fewer tokens than the baseline.

    {"questions_per_document": the number, "tokens_saved_per_question"}; or {"up_to": ...} where the baseline builds more,
    but a question takes more under the condition, so that it takes fewer tokens in all up to that number only; or
    {"never": reason}; each with "low" and "high", which can be "never", and of `up_to` "always"; or
    {"unavailable": reason}.
    """
    try:
        extra, extras = _extra(buildings[condition], buildings[results.baseline], results)
        ours, theirs = results.pair("input_tokens", condition, results.baseline)
    except Unavailable as reason:
        return {"unavailable": str(reason)}
    our_means, their_means = results.resampled(ours, theirs)
    saved, savings = float(np.nanmean(theirs - ours)), their_means - our_means
    first, last = (float(of(extra, saved)) for of in (_first, _last))
    n = int(np.count_nonzero(~np.isnan(ours)))
    told = {"tokens_saved_per_question": saved}
    if math.isinf(first) and last >= 1:
        return {"up_to": int(last)} | told | _ends(_last(extras, savings), ALWAYS, n)
    ends = _ends(_first(extras, savings), NEVER, n)
    if math.isinf(first):
        return {"never": f"a question costs no fewer tokens than under {results.baseline}"} | ends
    return {"questions_per_document": int(first)} | told | ends


def _extra(
    ours: Building | Unavailable | None, theirs: Building | Unavailable | None, results: Results
) -> tuple[float, FloatArray]:
    """How many tokens more are built for a document, and that in each draw; none where both have the same."""
    extra, extras = 0.0, np.zeros(1)
    for one, sign in () if ours is theirs else ((ours, 1), (theirs, -1)):
        if isinstance(one, Unavailable):
            raise one
        if one is not None:
            extra += sign * one.per_document(results).estimate
            extras = extras + sign * one.draws(results)
    return extra, extras


def _first(extra: npt.ArrayLike, saved: npt.ArrayLike) -> FloatArray:
    """From how many questions on `extra` tokens have paid where each saves so many; infinite where they never do."""
    more, each = np.broadcast_arrays(np.asarray(extra, float), np.asarray(saved, float))
    with np.errstate(divide="ignore", invalid="ignore"):
        paid = np.where(more > 0, np.floor(more / each * (1 + _ROUNDING) + _ROUNDING), 0.0) + 1
    return _where_known(more, each, np.where(_saves(more, each), paid, np.inf))


def _last(extra: npt.ArrayLike, saved: npt.ArrayLike) -> FloatArray:
    """Up to how many questions fewer tokens are taken in all; infinite for any number, and 0 for none."""
    more, each = np.broadcast_arrays(np.asarray(extra, float), np.asarray(saved, float))
    with np.errstate(divide="ignore", invalid="ignore"):
        last = np.maximum(np.ceil(more / each * (1 - _ROUNDING) - _ROUNDING) - 1, 0.0)
    last = np.where((each < -_ROUNDING) & (more < 0), last, 0.0)
    return _where_known(more, each, np.where(_saves(more, each), np.inf, last))


def _saves(more: FloatArray, each: FloatArray) -> npt.NDArray[np.bool_]:
    """Whether enough questions take fewer tokens: each does, or as many where less is built."""
    return (each > _ROUNDING) | ((each >= -_ROUNDING) & (more < -_ROUNDING))


def _where_known(more: FloatArray, each: FloatArray, found: FloatArray) -> FloatArray:
    return np.where(np.isnan(more + each), np.nan, found)


def _ends(samples: FloatArray, infinite: str, n: int) -> Json:
    """The ends of the percentile interval of whole numbers, each one of them; the `infinite` as that word."""
    known = samples[~np.isnan(samples)]
    if n <= 1 or not known.size:
        return {"low": None, "high": None}
    tail = tail_of(_LEVEL)
    low = float(np.quantile(known, tail, method="lower"))
    high = float(np.quantile(known, 1 - tail, method="higher"))
    return {
        name: infinite if math.isinf(value) else int(value) or NEVER
        for name, value in (("low", low), ("high", high))
    }
