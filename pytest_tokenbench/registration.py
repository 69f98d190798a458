"""Whether the material and the study are the registered ones: sums and git, in words."""

import datetime as dt
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_tokenbench.corpus.faults import Breach, Fault
from pytest_tokenbench.places import below

DEPARTED = "not pre-registered: "


@dataclass(frozen=True, slots=True)
class Registered:
    """One path's state in git: the last commit that touched it and its time (ISO 8601), None if it has none."""

    path: str
    commit: str | None
    committed: str | None
    clean: bool


@dataclass(frozen=True, slots=True)
class Registration:
    """The paths' states, the head of the repository, and what forbids to call the run pre-registered."""

    paths: tuple[Registered, ...]
    head: str | None
    departures: tuple[str, ...]

    @property
    def sentence(self) -> str:
        """One line for reports."""
        if self.departures:
            return DEPARTED + "; ".join(self.departures)
        times = [path.committed for path in self.paths if path.committed is not None]
        # Each has the offset of where it was committed, so that the last as text need not be the latest.
        return (
            f"pre-registered: last change committed {max(times, key=dt.datetime.fromisoformat, default='')}"
        )


def departed(sentence: str, *clauses: str) -> str:
    """What a run says of its registration, with what else forbids to call it pre-registered."""
    for clause in clauses:
        if clause not in sentence:
            sentence = f"{sentence}; {clause}" if sentence.startswith(DEPARTED) else DEPARTED + clause
    return sentence


def check(paths: Sequence[Path], root: Path, faults: Sequence[Fault]) -> Registration:
    """The state of these files and folders below `root`; `faults` are those of the pinned material."""
    head = _git(root, "rev-parse", "HEAD")
    states = tuple(_state(path, root, tracked=head is not None) for path in paths)
    departures = [str(fault) for fault in faults if fault.breach is Breach.PIN]
    if head is None:
        departures.append("no git repository records when the files were fixed")
    elif _git(root, "rev-parse", "--is-shallow-repository") == "true":
        departures.append(
            "the clone is shallow, so that git does not tell when the files were last changed; fetch the whole history"
        )
    for state in states if head else ():
        if state.commit is None:
            departures.append(f"{state.path} is not committed")
        elif not state.clean:
            departures.append(f"{state.path} differs from commit {state.commit[:12]}")
    return Registration(states, head, tuple(departures))


def _state(path: Path, root: Path, *, tracked: bool) -> Registered:
    shown = below(path, root) or str(path)
    if not tracked:
        return Registered(shown, None, None, clean=False)
    last = _git(root, "log", "-1", "--format=%H %cI", "--", str(path))
    commit, _, time = (last or "").partition(" ")
    changes = _git(root, "status", "--porcelain", "--", str(path))
    return Registered(shown, commit or None, time, clean=changes == "")


def _git(folder: Path, *arguments: str) -> str | None:
    """What git prints, None where there is no git or no repository."""
    try:
        done = subprocess.run(  # noqa: S603  # fixed program, arguments without a shell
            # A repository that was handed over, inside the user's, must not have its own program run by git.
            ["git", "-c", "core.fsmonitor=false", "-C", str(folder), *arguments],  # noqa: S607  # the user's git
            capture_output=True,
            text=True,
            check=False,
            timeout=30,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None
