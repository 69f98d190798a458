"""Arms that depend on what earlier trials came to: deciding them once, and telling whoever runs their trials."""

import os
import shutil
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from pytest_tokenbench.corpus import files
from pytest_tokenbench.loading import Loaded
from pytest_tokenbench.opening import replace_text
from pytest_tokenbench.records import Decision, Observation, Status, decode, encode
from pytest_tokenbench.scheduling import TrialKey

_POLL_S = 0.05
_ENDED = "the session ended before the trials that decide it were in"
# A study's file has the name of a sum.
_END = "ended"


class UndecidedError(Exception):
    """What an arm is to do cannot be decided in this session; the message is the reason."""


@dataclass(frozen=True, slots=True)
class Told:
    """What is decided in one study so far. `hindrance` is why nothing more will be, None while it may."""

    decisions: tuple[Decision, ...] = ()
    hindrance: str | None = None


class Board:
    """Where one process finds what was decided, by study. With a `folder`, another process is told what this one is.

    Whoever asks for an arm that is not decided yet waits if its decision is to come from another process.
    """

    def __init__(self, folder: Path | None, *, reads: bool = False) -> None:
        self._folder = folder
        self._reads = reads
        self._told: dict[str, Told] = {}
        self._parent = os.getppid()

    def tell(self, study: str, told: Told) -> None:
        """Has everyone know.

        Raises:
            OSError: The folder cannot be written.
        """
        self._told[study] = told
        if self._folder is not None:
            self._write(self._folder, self._file(study), encode(told).decode())

    def end(self) -> None:
        """Lets those who wait go on, whatever for, since nothing more will be decided.

        Raises:
            OSError: The folder cannot be written.
        """
        if self._folder is not None:
            self._write(self._folder, self._folder / _END, "")

    @staticmethod
    def _write(folder: Path, file: Path, text: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / ".gitignore").write_text("*\n", encoding="utf-8")
        replace_text(file, text)

    def remove(self) -> None:
        """Takes the folder away, when nobody reads it any more."""
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    def decision(self, study: str, arm: str) -> Decision:
        """What an arm is to do.

        Raises:
            UndecidedError: It cannot be decided in this session.
        """
        while True:
            # What was decided was told before the end, so it is looked for after it.
            has_ended = self._reads and self._folder is not None and (self._folder / _END).exists()
            told = self._read(study) if self._reads else self._told.get(study, Told())
            for decision in told.decisions:
                if decision.arm == arm:
                    return decision
            if told.hindrance or has_ended or not self._reads or os.getppid() != self._parent:
                raise UndecidedError(told.hindrance or _ENDED)
            time.sleep(_POLL_S)

    def _read(self, study: str) -> Told:
        try:
            return decode(self._file(study).read_bytes(), Told)
        except FileNotFoundError:
            return Told()

    def _file(self, study: str) -> Path:
        assert self._folder is not None  # noqa: S101  # whoever reads was given one
        return self._folder / f"{files.sha256(study.encode())}.json"


class Stages:
    """Decides the arms of one run, stage by stage, each as soon as the trials that it needs are in.

    `observations` is the run's and grows; `pending` are the trials that this session still runs. `judge` makes the
    decisions of a stage, `keep` puts one on disk, `tell` has everyone know.
    """

    def __init__(
        self,
        loaded: Loaded,
        observations: Mapping[tuple[str, str, int], Observation],
        pending: Collection[TrialKey],
        *,
        repeats: int,
        kept: tuple[Decision, ...],
        judge: Callable[[int], tuple[Decision, ...]],
        keep: Callable[[Decision], None],
        tell: Callable[[Told], None],
    ) -> None:
        self._loaded = loaded
        self._observations = observations
        self._pending = set(pending)
        self._repeats = repeats
        self._decisions = {one.arm: one for one in kept}
        self._judge, self._keep, self._tell = judge, keep, tell
        self._later = sorted({stage for stage in loaded.layout.stages.values() if stage})
        self._lacking: set[TrialKey] = set()
        self._enter()

    def ended(self, key: TrialKey) -> None:
        """A trial is over, with an observation or without one."""
        self._pending.discard(key)
        if key in self._lacking:
            if self._is_in(key):
                self._lacking.discard(key)
                if not self._lacking:
                    self._decide()
            else:
                self._give_up({key})

    def _is_in(self, key: TrialKey) -> bool:
        seen = self._observations.get((key.condition, key.question, key.repeat))
        return seen is not None and seen.status is not Status.ERROR

    def _enter(self) -> None:
        """Begins to wait for what the next stage needs; decides at once what is in already."""
        if not self._later:
            return
        needed = self._loaded.study.needs(self._loaded.material, self._later[0])
        trials = {
            TrialKey(condition, question, repeat)
            for condition in needed
            for question in self._loaded.questions
            for repeat in range(self._repeats)
        }
        self._lacking = {key for key in trials if not self._is_in(key)}
        never = self._lacking - self._pending
        if never:
            self._give_up(never)
        elif not self._lacking:
            self._decide()

    def _decide(self) -> None:
        stage = self._later.pop(0)
        names = {name for name, at in self._loaded.layout.stages.items() if at == stage}
        if not names <= self._decisions.keys():
            for decision in self._judge(stage):
                if decision.arm not in self._decisions:
                    self._keep(decision)
                    self._decisions[decision.arm] = decision
        self._tell(Told(tuple(self._decisions.values())))
        self._enter()

    def _give_up(self, never: Collection[TrialKey]) -> None:
        arms = sorted({key.condition for key in never})
        count = f"{len(never):,} trial{'s' if len(never) > 1 else ''} of {', '.join(arms)}"
        self._later, self._lacking = [], set()
        self._tell(
            Told(
                tuple(self._decisions.values()),
                f"what it is to leave out is decided by earlier trials, and {count} did not end well or are not "
                "selected; --tokenbench-resume goes on when they are",
            )
        )
