"""The order of trials."""

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from pytest_tokenbench.records import Question


class Order(StrEnum):
    """How trials follow each other on a host.

    cold: consecutive trials never share a document, so that no prompt finds a prefix left over from the one before.
    shared: trials whose prompts begin alike follow each other, document by document, so that a common beginning is
    prefilled once.
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


def arrange(families: Mapping[str, str], questions: Sequence[Question], order: Order) -> list[TrialKey]:
    """All trials of the conditions on the questions, in the given order.

    `families` names each condition's family: conditions of one family give, for one question, contexts that begin
    alike, so that in shared order the shorter is followed by the longer. With one document only, cold trials cannot
    avoid sharing it.
    """
    by_document: dict[str, list[Question]] = {}
    for question in questions:
        by_document.setdefault(question.document, []).append(question)
    if order is Order.SHARED:
        members = {
            family: [name for name in families if families[name] == family] for family in families.values()
        }
        return [
            TrialKey(condition, question.id)
            for asked in by_document.values()
            for conditions in members.values()
            for question in asked
            for condition in conditions
        ]
    return _alternate(
        [
            [TrialKey(condition, q.id) for condition in families for q in asked]
            for asked in by_document.values()
        ]
    )


def _alternate(queues: list[list[TrialKey]]) -> list[TrialKey]:
    """Takes from the longest queue that is not the one just taken from, so that none is left over at the end."""
    heap = [(-len(queue), place) for place, queue in enumerate(queues) if queue]
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
