"""The columns of the ledger: which value of an observation each measure takes, and on which questions."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from operator import attrgetter

from pytest_tokenbench.records import Observation

COLD_SHARE = 0.05
# A share this near to its worse end has no room to become much worse.
LITTLE_ROOM = 0.1


class Scope(Enum):
    """The questions that a measure applies to."""

    ALL = "all"
    ANSWERABLE = "answerable"
    UNANSWERABLE = "unanswerable"


@dataclass(frozen=True, slots=True)
class Measure:
    """A column of the ledger: its questions, its value in an observation, and the value of a right answer if binary.

    What a binary measure would be with the missing trials has bounds; of any other, a hypothesis may ask only when
    none is missing (`whole`). Prefill is the exception: it is taken on a part of the trials anyway. Reports show the
    pairs with the baseline of those that are `compared`.
    """

    scope: Scope
    value: Callable[[Observation], float | None]
    right: float | None = None
    whole: bool = True
    compared: bool = False


def is_cold(observation: Observation) -> bool:
    """Whether the prompt is known to have been prefilled anew: cached share told, and at most 5%."""
    cached, total = observation.cached_tokens, observation.input_tokens
    return cached is not None and total is not None and total > 0 and cached / total <= COLD_SHARE


def is_warm(observation: Observation) -> bool:
    """Whether more than 5% of the prompt is known to have come from a cache."""
    cached, total = observation.cached_tokens, observation.input_tokens
    return cached is not None and total is not None and total > 0 and cached / total > COLD_SHARE


MEASURES: Mapping[str, Measure] = {
    "input_tokens": Measure(Scope.ALL, attrgetter("input_tokens"), compared=True),
    "output_tokens": Measure(Scope.ALL, attrgetter("output_tokens")),
    "accuracy": Measure(
        Scope.ANSWERABLE, lambda seen: seen.scores.correct if seen.scores else None, right=1.0, compared=True
    ),
    "abstention": Measure(
        Scope.UNANSWERABLE,
        lambda seen: seen.scores.abstained if seen.scores else None,
        right=1.0,
        compared=True,
    ),
    "made_up": Measure(
        Scope.UNANSWERABLE,
        lambda seen: seen.scores.made_up if seen.scores else None,
        right=0.0,
        compared=True,
    ),
    "f1": Measure(Scope.ANSWERABLE, lambda seen: seen.scores.f1 if seen.scores else None, compared=True),
    "squad_f1": Measure(Scope.ANSWERABLE, lambda seen: seen.scores.squad_f1 if seen.scores else None),
    "exact_match": Measure(
        Scope.ANSWERABLE, lambda seen: seen.scores.exact_match if seen.scores else None, right=1.0
    ),
    "prefill_s": Measure(Scope.ALL, lambda seen: seen.prefill_s if is_cold(seen) else None, whole=False),
    "total_s": Measure(Scope.ALL, attrgetter("total_s")),
}
