"""Which of the collected studies a session runs, and what it says of the others."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pytest_tokenbench.settings import ALL_STUDIES
from pytest_tokenbench.study import Study


class Choice:
    """What was chosen on the command line, set beside what was collected.

    `names` are those of --tokenbench-study, None where it was not given; `files` are the files that the command line
    names, whose opt-in studies run without it. `left_out` has a place for each study that was collected and not run.
    """

    def __init__(self, names: Iterable[str] | None, files: Iterable[Path]) -> None:
        self._names = None if names is None else tuple(names)
        self._files = frozenset(files)
        self._seen: set[str] = set()
        self.left_out: dict[str, str] = {}

    def takes(self, study: Study, file: Path, place: str) -> bool:
        """Whether the session runs a study that was collected from `file`, shown to the user as `place`."""
        self._seen.add(study.name)
        if self._names is None:
            taken = not study.opt_in or file in self._files
        else:
            taken = study.name in self._names or ALL_STUDIES in self._names
        if not taken:
            self.left_out[study.name] = place
        return taken

    def told(self) -> dict[str, Any]:
        """What a worker of xdist saw, in the plain types that its channel carries."""
        return {"seen": sorted(self._seen), "left_out": dict(self.left_out)}

    def learn(self, told: Mapping[str, Any]) -> None:
        """Takes over what `told` gave in another process."""
        self._seen.update(told["seen"])
        self.left_out.update(told["left_out"])

    def fault(self) -> str | None:
        """A sentence on a name that no collected study has; None without one, or where nothing was collected."""
        unknown = [name for name in self._names or () if name not in {*self._seen, ALL_STUDIES}]
        if not unknown or not self._seen:
            return None
        names = sorted(self._seen)
        known = f"there are {', '.join(names)}, and {ALL_STUDIES} for all of them"
        if len(names) == 1:
            known = f"there is only {names[0]}"
        return f"--tokenbench-study: no study {unknown[0]!r} was collected; {known}"
