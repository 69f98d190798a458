"""Shows where a run stands: below pytest's own lines on a terminal, else as a line now and then."""

import os
import time
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import pytest

from pytest_tokenbench.handout import Work
from pytest_tokenbench.progress import Progress, Trial
from pytest_tokenbench.reporting import wording

# Seconds between two plain lines; for tests.
EVERY_VARIABLE = "TOKENBENCH_PROGRESS_EVERY"
_EVERY = 60.0
# What bars are drawn with.
_BLOCKS = "█▏"


class Live(Protocol):
    """Shows a progress, and is told whenever there may be something new to show."""

    def update(self) -> None:
        """Shows where the run stands now, if it is time for that."""

    def close(self) -> None:
        """Leaves the terminal as pytest knows it; it is not told anything after that."""


def open_live(config: pytest.Config, progress: Progress, how: str) -> Live:
    """What suits the session. `how` is "auto", "plain" or "off"; no line is kept below where that would not hold."""
    reporter: Any = config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None or how == "off" or hasattr(config, "workerinput"):
        return Nothing()
    # Tests that write to the terminal themselves would write over it, and other reporters draw in ways of their own.
    captures = config.getoption("capture", "fd") != "no" or config.getoption("dist", "no") != "no"
    is_usual = type(reporter) is pytest.TerminalReporter and captures
    keeps_lines = is_usual and reporter.isatty and os.environ.get("TERM") != "dumb" and os.name == "posix"
    if how == "auto" and keeps_lines:
        return Below(reporter, progress)
    return Plain(reporter, progress, time.monotonic, _every())


def end_line(reporter: Any) -> None:
    """Ends the line that pytest's reporter is writing; under xdist it does not know itself that there is one."""
    if reporter._tw.width_of_current_line:  # noqa: SLF001
        reporter._tw.line()  # noqa: SLF001
        reporter.currentfspath = None


def _every() -> float:
    try:
        return max(0.0, float(os.environ.get(EVERY_VARIABLE, _EVERY)))
    except ValueError:
        return _EVERY


class Showing:
    """The progress of one session, and what shows it from `open` to `stop`. `trial_of` has the trials by test id."""

    def __init__(self, trial_of: Mapping[str, Trial]) -> None:
        self.progress = Progress(time.monotonic)
        self._live: Live = Nothing()
        self._trial_of = trial_of

    def open(self, config: pytest.Config, how: str) -> None:
        """Begins to show; see `open_live`."""
        self._live = open_live(config, self.progress, how)

    def stop(self) -> None:
        """Shows no more."""
        self._live.close()
        self._live = Nothing()

    def prepares(self, number: int, total: int, what: str) -> None:
        """Preparation `number` of `total` is being built."""
        self.progress.prepares(number, total, what)
        self._live.update()

    def begins(self, works: Mapping[Trial, Work]) -> None:
        """These trials come now."""
        self.progress.begins(works)
        self._live.update()

    def starts(self, nodeid: str) -> None:
        """A test has begun, and pytest has said so."""
        if nodeid in self._trial_of:
            self.progress.starts(self._trial_of[nodeid])
        self._live.update()

    def update(self) -> None:
        """Pytest has said something of a test."""
        self._live.update()

    def ends(self, nodeid: str) -> None:
        """A test has ended, and pytest has said so."""
        if nodeid in self._trial_of:
            self.progress.leaves(self._trial_of[nodeid])
        self._live.update()


class Nothing:
    """Shows nothing."""

    def update(self) -> None:
        """Nothing."""

    def close(self) -> None:
        """Nothing."""


class Plain:
    """A line of its own with the first news after so many seconds."""

    def __init__(self, reporter: Any, progress: Progress, clock: Callable[[], float], every: float) -> None:
        self._reporter = reporter
        self._progress = progress
        self._clock = clock
        self._every = every
        self._last = clock()

    def update(self) -> None:
        """See `Live`."""
        text = self._progress.sentence()
        if not text or self._clock() - self._last < self._every:
            return
        self._last = self._clock()
        end_line(self._reporter)
        self._reporter.write_line(f"tokenbench: {wording.one_line(text)}")
        self._reporter.flush()

    def close(self) -> None:
        """See `Live`."""


class Below:
    """Lines below the one that pytest is writing, gone whenever it writes.

    pytest's lines grow letter by letter, so that nothing may stand on them, and the cursor has to return to where it
    was: no library for progress bars does that. So this stands between pytest's terminal writer and its file: what is
    written passes through, after the lines are taken away.
    """

    def __init__(self, reporter: Any, progress: Progress) -> None:
        self._writer = reporter._tw  # noqa: SLF001
        self._progress = progress
        self._file: Any = self._writer._file  # noqa: SLF001
        self._encoding = getattr(self._file, "encoding", None) or "ascii"
        self._draws = _BLOCKS.encode(self._encoding, "replace").decode(self._encoding) == _BLOCKS
        self._shown = 0
        self._column = 0
        self._writer._file = self  # noqa: SLF001

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def write(self, text: str) -> Any:
        """Writes for pytest."""
        self._erase()
        return self._file.write(text)

    def update(self) -> None:
        """See `Live`."""
        self._erase()
        lines = self._progress.lines(self._writer.fullwidth - 1, in_ascii=not self._draws)
        self._column = self._writer.width_of_current_line % self._writer.fullwidth
        self._shown = len(lines)
        self._put([self._writer.markup(self._writable(line), cyan=True) for line in lines])
        self._file.flush()

    def close(self) -> None:
        """See `Live`."""
        self._erase()
        self._file.flush()
        self._writer._file = self._file  # noqa: SLF001

    def _writable(self, line: str) -> str:
        """Without what the terminal does not know, or could be steered by."""
        return wording.plain(line).encode(self._encoding, "replace").decode(self._encoding)

    def _erase(self) -> None:
        self._put([""] * self._shown)
        self._shown = 0

    def _put(self, lines: list[str]) -> None:
        """Puts the lines below the cursor's, each in place of all that stood there, and the cursor back to its place."""
        if not lines:
            return
        back = f"\x1b[{len(lines)}A\r" + (f"\x1b[{self._column}C" if self._column else "")
        self._file.write("".join(f"\n\x1b[2K{line}" for line in lines) + back)
