"""One study's run while it goes on, and what came out of it."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_tokenbench.deciding import Stages
from pytest_tokenbench.hypotheses import Judgement
from pytest_tokenbench.ledger import Ledger
from pytest_tokenbench.loading import Loaded
from pytest_tokenbench.locking import Lock
from pytest_tokenbench.records import Decision, Observation, Preparation
from pytest_tokenbench.reporting import document
from pytest_tokenbench.run_folder import Run, RunRecord
from pytest_tokenbench.scheduling import TrialKey

if TYPE_CHECKING:
    from pytest_tokenbench.comparing import Compared


@dataclass(slots=True)
class ActiveRun:
    """One study's run while it goes on. `reused` are the trials that an earlier session finished."""

    loaded: Loaded
    selected: frozenset[TrialKey]
    folder: Path
    record: RunRecord
    lock: Lock
    ledger: Ledger
    is_new: bool = True
    reused: frozenset[TrialKey] = frozenset()
    observations: dict[tuple[str, str, int], Observation] = field(default_factory=dict)
    preparations: list[Preparation] = field(default_factory=list)
    decisions: list[Decision] = field(default_factory=list)
    stages: Stages | None = None

    def as_run(self) -> Run:
        """The run as it would be read back from its folder."""
        return Run(
            self.record,
            tuple(self.observations.values()),
            tuple(self.preparations),
            decisions=tuple(self.decisions),
        )

    def close(self) -> None:
        """Leaves the folder to others."""
        try:
            self.ledger.close()
        finally:
            self.lock.release()


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came out of one study's run: the results document and the judgements behind it.

    `compared` is what came of comparing it with an earlier run, None where that was not asked for or the run did not
    end. `unwritten` says why the run folder lacks it, None where it does not.
    """

    run: ActiveRun
    judgements: tuple[Judgement, ...]
    document: document.Json
    compared: "Compared | None" = None
    unwritten: str | None = None
