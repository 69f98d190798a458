"""The order of trials, what each is expected to cost, and which of them a shard runs."""

import heapq
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from pytest_tokenbench.handout import Work
from pytest_tokenbench.records import Question

# Both as measured on the shipped corpus; they need be right only in proportion.
TOKENS_PER_WORD = 1.4
# Instruction, question and chat template.
PROMPT_TOKENS = 100


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
    """What makes a trial unique within its run. `repeat` counts from 0."""

    condition: str
    question: str
    repeat: int = 0

    def __str__(self) -> str:
        """The trial's part of its test id.

        The first time keeps the id that it has without repeats, so that `-k D25-harrow-q03` finds every one of them;
        the second ends with `-r2`. `loading.load` refuses studies in which two trials would share an id.
        """
        return f"{self.condition}-{self.question}" + (f"-r{self.repeat + 1}" if self.repeat else "")


def arrange(
    families: Mapping[str, str],
    questions: Sequence[Question],
    order: Order,
    repeats: int = 1,
    *,
    stages: Mapping[str, int] | None = None,
    together: Mapping[str, str] | None = None,
) -> list[TrialKey]:
    """All trials of the conditions on the questions, each `repeats` times, in the given order, stage by stage.

    `families` names each condition's family: conditions of one family give, for one question, contexts that begin
    alike, so that in shared order the shorter is followed by the longer. With one document only, cold trials cannot
    avoid sharing it.

    A trial is repeated only after all others of its document and family (in cold order: of its document) have been
    asked: directly after itself it would be read from a cache to its last word, and could but give the same answer.
    """
    by_stage: dict[int, dict[str, str]] = {}
    for name, family in families.items():
        by_stage.setdefault((stages or {}).get(name, 0), {})[name] = family
    return [
        key
        for stage in sorted(by_stage)
        for key in _arranged(by_stage[stage], questions, order, repeats, together or {})
    ]


def _arranged(
    families: Mapping[str, str],
    questions: Sequence[Question],
    order: Order,
    repeats: int,
    together: Mapping[str, str],
) -> list[TrialKey]:
    read_with: dict[str, list[Question]] = {}
    for question in questions:
        place = question.document
        if order is Order.SHARED:
            place = together.get(question.id, place)
        read_with.setdefault(place, []).append(question)
    if order is Order.SHARED:
        members = {
            family: [name for name in families if families[name] == family] for family in families.values()
        }
        return [
            TrialKey(condition, question.id, repeat)
            for asked in read_with.values()
            for conditions in members.values()
            for repeat in range(repeats)
            for question in asked
            for condition in conditions
        ]
    return _alternate(
        [
            [
                TrialKey(name, one.id, repeat)
                for repeat in range(repeats)
                for name in families
                for one in asked
            ]
            for asked in read_with.values()
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


@dataclass(frozen=True, slots=True)
class Layout:
    """What a study's trials have in common with each other, as far as their order and cost depend on it.

    `documents` has each question's document, `families` each condition's family, `words` about how many words a
    condition's context of a document has. In `shared` are the conditions with one context for all questions of a
    document. `stages` has the conditions that wait for others, `together` the questions whose prompts begin alike
    though their documents differ; see `conditions.base.Staged` and `Material`. With a `nonce` no prompt begins like another.
    """

    order: Order
    documents: Mapping[str, str]
    families: Mapping[str, str]
    words: Mapping[tuple[str, str], int]
    shared: Collection[str]
    stages: Mapping[str, int] = field(default_factory=dict)
    together: Mapping[str, str] = field(default_factory=dict)
    nonce: bool = False

    def group(self, key: TrialKey) -> tuple[str, str]:
        """Document (or what else is read together) and family, whose trials follow each other in shared order."""
        place = self.together.get(key.question, self.documents[key.question])
        return place, self.families[key.condition]

    def estimated_tokens(
        self, trials: Iterable[TrialKey], done: Collection[TrialKey] = ()
    ) -> dict[TrialKey, int]:
        """About how many tokens each of the trials has a host read, asked in this order; those that are done, none.

        In shared order a beginning counts for the first trial that has it. A family's contexts of one question are
        begun anew with each repeat, since the other questions lie between.
        """
        estimates: dict[TrialKey, int] = {}
        read: dict[tuple[object, ...], int] = {}
        for key in trials:
            if key in done:
                estimates[key] = 0
                continue
            document = self.documents[key.question]
            context = round(self.words[key.condition, document] * TOKENS_PER_WORD)
            fresh = context
            if self.order is Order.SHARED and not self.nonce:
                asked = () if key.condition in self.shared else (key.question, key.repeat)
                beginning = (*self.group(key), *asked)
                fresh = max(0, context - read.get(beginning, 0))
                read[beginning] = max(context, read.get(beginning, 0))
            estimates[key] = fresh + PROMPT_TOKENS
        return estimates

    def works(
        self, study: str, trials: Sequence[TrialKey], done: Collection[TrialKey] = ()
    ) -> dict[TrialKey, Work]:
        """The trials as they are handed out to workers. One that is done has nothing read, so it has no document."""
        return {
            key: Work(
                tokens=tokens,
                document=None if key in done else self.documents[key.question],
                group=(study, *self.group(key)),
                stage=self.stages.get(key.condition, 0),
            )
            for key, tokens in self.estimated_tokens(trials, done).items()
        }


def select(trials: Sequence[TrialKey], layout: Layout, number: int, of: int) -> list[TrialKey]:
    """Part `number` (from 1) of `of` parts of about equal cost, in the layout's order.

    In shared order a group stays whole. In cold order each part has of every condition on every document as many
    trials as any other, or one more or less, so that its documents alternate as well as those of the whole.
    """
    estimates = layout.estimated_tokens(trials)
    alike: dict[tuple[str, str], list[list[TrialKey]]] = {}
    for key in trials:
        if layout.order is Order.SHARED:
            alike.setdefault(layout.group(key), [[]])[0].append(key)
        else:
            alike.setdefault((layout.documents[key.question], key.condition), []).append([key])
    costs = {name: sum(estimates[key] for key in units[0]) for name, units in alike.items()}
    loads = [(0, part) for part in range(1, of + 1)]
    chosen: set[TrialKey] = set()
    # The costliest come first, those of equal cost in their order: `sorted` keeps it.
    for name, units in sorted(alike.items(), key=lambda entry: -costs[entry[0]]):
        everyone = len(units) - len(units) % of
        for unit in units[number - 1 : everyone : of]:
            chosen.update(unit)
        # Dealing the same to every part makes no difference between them; the rest goes to those with least.
        least = [heapq.heappop(loads) for _ in units[everyone:]]
        for (load, part), unit in zip(least, units[everyone:], strict=True):
            heapq.heappush(loads, (load + costs[name], part))
            if part == number:
                chosen.update(unit)
    selected = [key for key in trials if key in chosen]
    if layout.order is Order.SHARED:
        return selected
    queues: dict[str, list[TrialKey]] = {}
    for key in selected:
        queues.setdefault(layout.documents[key.question], []).append(key)
    return _alternate(list(queues.values()))
