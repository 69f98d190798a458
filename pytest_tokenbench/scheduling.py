"""The order of trials."""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from pytest_tokenbench.records import Question


class Order(StrEnum):
    """How trials follow each other on a host.

    cold: consecutive trials never share a document, so that no prompt finds a prefix left over from the one before.
    shared: trials of one document and condition follow each other, so that a context they share is prefilled once.
    """

    COLD = "cold"
    SHARED = "shared"


@dataclass(frozen=True, slots=True)
class TrialKey:
    """What makes a trial unique within its run."""

    condition: str
    question: str
    repeat: int = 0

    def __str__(self) -> str:
        """The trial's part of its test id."""
        return f"{self.condition}-{self.question}"


def arrange(conditions: Sequence[str], questions: Sequence[Question], order: Order) -> list[TrialKey]:
    """All trials of the conditions on the questions, in the given order.

    With one document only, cold trials cannot avoid sharing it.
    """
    by_document: dict[str, list[TrialKey]] = {}
    for condition in conditions:
        for question in questions:
            by_document.setdefault(question.document, []).append(TrialKey(condition, question.id))
    if order is Order.SHARED:
        return [key for keys in by_document.values() for key in keys]
    return _alternate(list(by_document.values()))


def _alternate(queues: list[list[TrialKey]]) -> list[TrialKey]:
    """Takes from the longest queue that is not the one just taken from, so that none is left over at the end."""
    heap = [(-len(queue), place) for place, queue in enumerate(queues)]
    heapq.heapify(heap)
    arranged: list[TrialKey] = []
    last = -1
    while heap:
        taken = [heapq.heappop(heap)]
        if heap and arranged and taken[0][1] == last:
            taken.insert(0, heapq.heappop(heap))
        left, last = taken[0]
        arranged.append(queues[last][len(queues[last]) + left])
        if left + 1:
            taken[0] = (left + 1, last)
        else:
            del taken[0]
        for entry in taken:
            heapq.heappush(heap, entry)
    return arranged
