"""Which host each worker of pytest-xdist asks."""

from collections import Counter


class Hosting:
    """Gives each worker the host with the fewest, the first of them where several have as few."""

    def __init__(self, hosts: int) -> None:
        self._hosts = range(max(1, hosts))
        self._of: dict[str, int] = {}

    def assign(self, worker: str) -> int:
        """The place of the worker's host among those given."""
        busy = Counter(self._of.values())
        self._of[worker] = min(self._hosts, key=lambda host: busy[host])
        return self._of[worker]

    def moved(self, worker: str, host: int) -> bool:
        """Takes down that a worker asks another host now; False if it is the same."""
        is_new = self._of.get(worker, host) != host
        if is_new:
            self._of[worker] = host
        return is_new

    def release(self, worker: str) -> None:
        """Frees the place of a worker that is gone."""
        self._of.pop(worker, None)
