"""What the tests of disturbed runs share: what a run comes to, timings aside, and servers in processes of their own."""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

import pytest
from small_project import Project, Ran

TESTS = Path(__file__).resolve().parents[1]
SECONDS = {"prefill_s", "total_s", "seconds_per_document"}
_SERVE = """
import sys, threading
from small_project import Server
with Server(delay=0.02, port=int(sys.argv[1])) as server:
    print(server.url, flush=True)
    threading.Event().wait()
"""


def settled(value: Any) -> Any:
    """A results document without what a clock had to do with."""
    if isinstance(value, dict):
        return {name: settled(one) for name, one in value.items() if name not in SECONDS}
    return [settled(one) for one in value] if isinstance(value, list) else value


def measured(ran: Ran) -> dict[tuple[str, ...], Any]:
    """What each trial measured, clocks, places and tries aside. No trial may stand there twice."""
    aside = ("_s", "started", "host", "worker", "attempts")
    found = {}
    for one in ran.file("observations.jsonl"):
        key = one["condition"], one["question"], str(one["repeat"])
        assert key not in found, f"{key} was asked again"
        found[key] = {name: value for name, value in one.items() if not name.endswith(aside)}
    return found


def going_on(project: Project) -> list[str]:
    """The option that goes on with the project's run, if it has begun one."""
    return ["--tokenbench-resume"] * any(project.path.glob("reports/*/*/run.json"))


def lines(project: Project) -> int:
    """How many observations are on disk."""
    return sum(file.read_bytes().count(b"\n") for file in project.path.glob("reports/*/*/observations.jsonl"))


def wait_until(condition: Callable[[], bool], process: subprocess.Popen[str], seconds: float = 60) -> None:
    """Waits until something is so, or the process has ended."""
    deadline = time.monotonic() + seconds
    while not condition() and process.poll() is None:
        if time.monotonic() > deadline:
            process.kill()
            pytest.fail("what was waited for did not come")
        time.sleep(0.005)


def at_a_random_moment(project: Project, process: subprocess.Popen[str], chance: random.Random) -> None:
    """Waits for a moment in the run's beginning, its preparations or its next few trials."""
    if chance.random() < 0.25:
        time.sleep(chance.uniform(0, 1.5))
        return
    enough = lines(project) + chance.randint(1, 3)
    wait_until(lambda: lines(project) >= enough, process)
    time.sleep(chance.uniform(0, 0.05))


def children(process: subprocess.Popen[str]) -> list[int]:
    """The processes that a process has started and that still live."""
    listed = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text(encoding="ascii")
    return [int(one) for one in listed.split()]


class KilledServer:
    """A stub server in a process of its own, which can be killed and comes back at the same address."""

    def __init__(self) -> None:
        self.url = ""
        self._port = "0"
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_exc: object) -> None:
        self.kill()

    def start(self) -> None:
        """Starts it and waits until it serves."""
        path = os.pathsep.join((str(TESTS), str(TESTS / "runs")))
        self._process = subprocess.Popen(
            [sys.executable, "-c", _SERVE, self._port],
            env=os.environ | {"PYTHONPATH": path},
            stdout=subprocess.PIPE,
            encoding="utf-8",
        )
        assert self._process.stdout is not None
        self.url = self._process.stdout.readline().strip()
        self._port = self.url.rpartition(":")[2]

    def kill(self) -> None:
        """Kills it where it stands."""
        if self._process is not None:
            self._process.send_signal(signal.SIGKILL)
            self._process.communicate()
            self._process = None
