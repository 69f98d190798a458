"""Which item a worker is handed next where several work at once. Knows neither pytest nor pytest-xdist."""

import heapq
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple


@dataclass(frozen=True, slots=True)
class Work:
    """One item to hand out: a trial, or without any of these an ordinary test.

    `tokens` is what a host is expected to read for it, `document` the one it reads from, None where it reads nothing.
    Items of one `group` have a beginning in common. A worker is handed an item of
    a later `stage` after all that it is handed of those before.
    """

    tokens: int = 0
    document: str | None = None
    group: tuple[str, ...] | None = None
    stage: int = 0


@dataclass(slots=True)
class _Worker:
    """`given` are the items it has not finished, in order; `last` is the document of the last trial it finished."""

    host: int
    given: list[int] = field(default_factory=list)
    last: str | None = None


class Pool(ABC):
    """The items of a session, each by its place in `works`, that no worker has been given yet.

    `ahead` is how many unfinished items a worker needs: pytest starts one only when it knows the next.
    """

    ahead = 2

    def __init__(self, works: Sequence[Work]) -> None:
        self.left = len(works)
        self._works = works
        self._workers: dict[str, _Worker] = {}

    def add(self, worker: str, host: int = 0) -> None:
        """A worker begins; it asks this host."""
        self._workers[worker] = _Worker(host)

    def moved(self, worker: str, host: int) -> None:
        """A worker asks another host from now on."""
        self._workers[worker].host = host

    def next(self, worker: str) -> int | None:
        """Hands the worker an item to run after all that it was given before; None if there is nothing for it."""
        item = self._choose(worker)
        if item is not None:
            self.left -= 1
            self._workers[worker].given.append(item)
        return item

    def finished(self, worker: str, item: int) -> None:
        """The worker is through with an item."""
        one = self._workers[worker]
        one.given.remove(item)
        one.last = self._works[item].document or one.last

    def remove(self, worker: str) -> int | None:
        """The worker is gone. Returns the item that it was at; what it had not begun goes back to its place."""
        given = self._workers.pop(worker).given
        for item in given[1:]:
            self.put_back(item)
        return given[0] if given else None

    def put_back(self, item: int) -> None:
        """An item that was handed out is to be handed out once more."""
        self.left += 1
        self._insert(item)

    @abstractmethod
    def _choose(self, worker: str) -> int | None: ...

    @abstractmethod
    def _insert(self, item: int) -> None: ...


class SharedPool(Pool):
    """Hands out group by group, the costliest of a stage first; a group stays with its worker, in the order of `works`.

    Items without a group come before all others. No worker is busy longer than the mean, one group and one item
    together.
    """

    def __init__(self, works: Sequence[Work]) -> None:
        super().__init__(works)
        names = [work.group or (str(item),) for item, work in enumerate(works)]
        firsts: dict[tuple[str, ...], int] = {}
        self._group = [firsts.setdefault(name, item) for item, name in enumerate(names)]
        self._cost = dict.fromkeys(firsts.values(), 0)
        for item, work in enumerate(works):
            self._cost[self._group[item]] += work.tokens
        self._waiting: dict[int, list[int]] = {}
        self._costliest: list[tuple[bool, int, int, int]] = []
        self._kept: dict[str, deque[int]] = {}
        for item in range(len(works)):
            self._insert(item)

    def remove(self, worker: str) -> int | None:
        """See `Pool.remove`; the rest of the worker's group goes back as well."""
        for item in self._kept.pop(worker, ()):
            self._insert(item)
        return super().remove(worker)

    def _choose(self, worker: str) -> int | None:
        kept = self._kept.get(worker)
        if not kept:
            if not self._costliest:
                return None
            *_, group = heapq.heappop(self._costliest)
            kept = self._kept[worker] = deque(sorted(self._waiting.pop(group)))
        return kept.popleft()

    def _insert(self, item: int) -> None:
        group = self._group[item]
        if group not in self._waiting:
            # What is left of a group costs as much as all of it: its next worker has to read the beginning anew.
            cost = self._cost[group]
            heapq.heappush(self._costliest, (cost > 0, self._works[group].stage, -cost, group))
        self._waiting.setdefault(group, []).append(item)


class _Rank(NamedTuple):
    """A document's trials of one stage: the least is handed out from first."""

    stage: int
    trials: int
    tokens: int
    document: str

    @property
    def place(self) -> tuple[int, str]:
        return self.stage, self.document


class ColdPool(Pool):
    """Hands out trial by trial so that those who ask one host at a time do not share a document.

    Taken is the document with most trials left (then most tokens) that no worker of the same host is at or was at
    last; of it the costliest trial. Most trials and not most tokens, since a document that keeps many short ones for
    the end has nothing to alternate with there. With W workers on a host at most 3W - 2 documents are ruled out: no
    two trials that reach the host one after the other share a document, if 3W - 1 documents had trials left when
    they were handed out. With fewer, the least harmful is taken. Items that read nothing come first.
    """

    def __init__(self, works: Sequence[Work]) -> None:
        super().__init__(works)
        self._idle: list[int] = []
        self._trials: dict[tuple[int, str], list[tuple[int, int]]] = {}
        self._tokens: dict[tuple[int, str], int] = {}
        self._fullest: list[_Rank] = []
        # By host, the documents of workers that are gone and whose place no other has taken.
        self._left_behind: dict[int, list[str]] = {}
        for item, work in enumerate(works):
            if work.document is None:
                self._idle.append(item)
            else:
                place = work.stage, work.document
                self._trials.setdefault(place, []).append((-work.tokens, item))
                self._tokens[place] = self._tokens.get(place, 0) + work.tokens
        for place, trials in self._trials.items():
            heapq.heapify(trials)
            self._fullest.append(self._rank(place))
        heapq.heapify(self._fullest)

    def add(self, worker: str, host: int = 0) -> None:
        """See `Pool.add`. It takes the place of one that is gone, whose last document the host may still hold."""
        super().add(worker, host)
        left = self._left_behind.get(host)
        if left:
            self._workers[worker].last = left.pop()

    def moved(self, worker: str, host: int) -> None:
        """See `Pool.moved`."""
        self._leave(self._workers[worker])
        super().moved(worker, host)

    def remove(self, worker: str) -> int | None:
        """See `Pool.remove`."""
        self._leave(self._workers[worker])
        return super().remove(worker)

    def _leave(self, one: _Worker) -> None:
        document = (self._works[one.given[0]].document if one.given else None) or one.last
        if document is not None:
            self._left_behind.setdefault(one.host, []).append(document)

    def _rank(self, place: tuple[int, str]) -> _Rank:
        return _Rank(place[0], -len(self._trials[place]), -self._tokens[place], place[1])

    def _choose(self, worker: str) -> int | None:
        if self._idle:
            return heapq.heappop(self._idle)
        harms = self._harms(worker)
        passed: list[_Rank] = []
        best: _Rank | None = None
        while self._fullest and (best is None or harms.get(best.document, 0)):
            rank = heapq.heappop(self._fullest)
            # A document that something was put back to has a better rank than this one.
            if not self._trials[rank.place] or rank != self._rank(rank.place):
                continue
            passed.append(rank)
            if best is not None and rank.stage > best.stage:
                break
            if best is None or harms.get(rank.document, 0) < harms[best.document]:
                best = rank
        for rank in passed:
            if rank is not best:
                heapq.heappush(self._fullest, rank)
        return None if best is None else self._take(best.place)

    def _take(self, place: tuple[int, str]) -> int:
        cost, item = heapq.heappop(self._trials[place])
        self._tokens[place] += cost
        if self._trials[place]:
            heapq.heappush(self._fullest, self._rank(place))
        return item

    def _insert(self, item: int) -> None:
        work = self._works[item]
        if work.document is None:
            heapq.heappush(self._idle, item)
            return
        place = work.stage, work.document
        heapq.heappush(self._trials[place], (-work.tokens, item))
        self._tokens[place] += work.tokens
        heapq.heappush(self._fullest, self._rank(place))

    def _harms(self, worker: str) -> dict[str, int]:
        """How bad it would be to give the worker a trial of these documents next; not at all for all others.

        1: another of its host was at it last; 2: another is at it or will be; 3: it is what this one has just before.
        """
        me = self._workers[worker]
        harms = dict.fromkeys(self._left_behind.get(me.host, ()), 1)
        others = [one for name, one in self._workers.items() if one.host == me.host and name != worker]
        harms |= {one.last: 1 for one in others if one.last is not None}
        harms |= {document: 2 for one in others for document in self._documents(one)}
        before = self._documents(me)[-1:] or ([] if me.last is None else [me.last])
        return harms | dict.fromkeys(before, 3)

    def _documents(self, one: _Worker) -> list[str]:
        found = (self._works[item].document for item in one.given)
        return [document for document in found if document is not None]
