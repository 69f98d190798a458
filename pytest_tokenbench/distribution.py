"""How pytest-xdist hands trials to its workers. Imported by sessions without a study too, so it imports nothing heavy."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import pytest
from xdist.report import report_collection_diff
from xdist.scheduler import LoadScheduling

if TYPE_CHECKING:
    from pytest_tokenbench.handout import Pool


class TrialScheduling(LoadScheduling):  # type: ignore[misc]  # xdist ships no types
    """Hands out the items of a session from a pool; without one it becomes xdist's own scheduling.

    `pool_of` is asked once, when the first worker has collected: whether a session has a study is not known before.
    A worker has never more items than it needs, so that a session which is told to stop does so soon.
    """

    def __init__(
        self, config: pytest.Config, log: Any, pool_of: "Callable[[Sequence[str]], Pool | None]"
    ) -> None:
        super().__init__(config, log)
        self.collection: list[str] | None = None
        self._pool_of = pool_of
        self._pool: Pool | None = None

    @property
    def pool(self) -> "Pool":
        """What has not been handed out."""
        assert self._pool is not None  # noqa: S101  # without a pool this is no longer the object's class
        return self._pool

    @property
    def tests_finished(self) -> bool:
        """Whether the workers have all that there is to run, and no more than one item each."""
        return super().tests_finished and not (self.collection and self.pool.left)

    @property
    def has_pending(self) -> bool:
        """Whether items have been handed out or wait for it, and have not ended."""
        return super().has_pending or bool(self.collection and self.pool.left)

    def add_node_collection(self, node: Any, collection: Sequence[str]) -> None:
        """Takes in what a worker has collected; one that comes late must have found the same as the others."""
        super().add_node_collection(node, collection)
        if self._pool is None:
            self._pool = self._pool_of(collection)
            if self._pool is None:
                self.__class__ = LoadScheduling
                return
        if node in self.node2collection:
            self.pool.add(node.gateway.id, node.workerinput.get("tokenbench_host", 0))
        else:
            self._refuse(node, collection)

    def _refuse(self, node: Any, collection: Sequence[str]) -> None:
        other = next(iter(self.node2collection))
        message = report_collection_diff(
            self.node2collection[other], collection, other.gateway.id, node.gateway.id
        )
        report = pytest.CollectReport(node.gateway.id, "failed", message or "", [])
        self.config.hook.pytest_collectreport(report=report)
        node.shutdown()

    def schedule(self) -> None:
        """Begins to hand out, and later on has workers begin that were added."""
        if self.collection is None:
            if not self._check_nodes_have_same_collection():
                return
            self.collection = next(iter(self.node2collection.values()))
            # One for each before anyone has two.
            for node in self.nodes:
                self._send(node, 1)
        for node in self.nodes:
            self.check_schedule(node)

    def mark_test_complete(self, node: Any, item_index: int, duration: float = 0) -> None:
        """A worker is through with an item."""
        self.pool.finished(node.gateway.id, item_index)
        super().mark_test_complete(node, item_index, duration)

    def mark_test_pending(self, item: str) -> None:
        """Another plugin wants an item to run once more, after the worker that was at it has crashed."""
        assert self.collection is not None  # noqa: S101  # something has crashed, so something was handed out
        self.pool.put_back(self.collection.index(item))
        for node in self.nodes:
            self.check_schedule(node)

    def check_schedule(self, node: Any, duration: float = 0) -> None:  # noqa: ARG002
        """Gives a worker what it needs to go on; if nothing is left for it, lets it run what it has and end."""
        if not node.shutting_down and node in self.node2collection:
            self._send(node, self.pool.ahead)
            if len(self.node2pending[node]) < self.pool.ahead:
                node.shutdown()

    def _send(self, node: Any, ahead: int) -> None:
        pending = self.node2pending[node]
        fresh: list[int] = []
        while len(pending) + len(fresh) < ahead:
            item = self.pool.next(node.gateway.id)
            if item is None:
                break
            fresh.append(item)
        if fresh:
            pending.extend(fresh)
            node.send_runtest_some(fresh)

    def remove_node(self, node: Any) -> str | None:
        """A worker is gone. Returns the item that it was at; what it had not begun goes to the others."""
        del self.node2pending[node]
        if node not in self.node2collection:
            return None
        item = self.pool.remove(node.gateway.id)
        for other in self.nodes:
            self.check_schedule(other)
        return None if item is None or self.collection is None else self.collection[item]

    def moved(self, worker: str, host: int) -> None:
        """A worker asks another host from now on."""
        self.pool.moved(worker, host)
