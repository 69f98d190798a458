"""The earlier run that a session compares its own with: read before the first trial, compared after the last."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from pytest_tokenbench import comparison, run_folder
from pytest_tokenbench.comparison import Json
from pytest_tokenbench.gates import Gate
from pytest_tokenbench.reporting import comparison as shown
from pytest_tokenbench.reporting import files
from pytest_tokenbench.run_folder import Run, RunError


@dataclass(frozen=True, slots=True)
class Compared:
    """What became of a comparison: the document, None where there can be none, and why the session fails by it."""

    document: Json | None
    failures: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Former:
    """The run to compare with, its folder as reports name it, and the gates that must be passed."""

    name: str
    run: Run
    gates: tuple[Gate, ...]

    @classmethod
    def read(
        cls, folder: Path, name: str, gates: tuple[Gate, ...], studies: Mapping[str, Collection[str]]
    ) -> "Former":
        """The run in a folder. `studies` has the conditions of each study of this session.

        Raises:
            RunError: It cannot be read, is of none of these studies, or a gate is on a condition that is not in both.
        """
        run = run_folder.read_measured(folder)
        study = run.record.study
        run_folder.check_is_of(study, studies, name)
        for gate in gates:
            if gate.condition not in studies[study] or gate.condition not in run.record.conditions:
                raise RunError(
                    f"--tokenbench-compare-fail: {gate} is on a condition that {study} does not have in both runs"
                )
        return cls(name, run, gates)

    def compare(self, run: Run, folder: Path, *, html: bool = True) -> Compared | None:
        """Compares a finished run with this one and writes that into its folder; None if it is of another study.

        `html` is whether the page is wanted, as it is of the run's own report.

        Raises:
            OSError: It cannot be written.
        """
        if run.record.study != self.run.record.study:
            return None
        try:
            made = comparison.build(self.run, run, (self.name, folder.name))
        except RunError as error:
            return Compared(None, (str(error),))
        run_folder.write(folder / comparison.FILE, shown.as_text(made))
        run_folder.write(folder / comparison.REPORT, shown.markdown(made, self.gates))
        if html:
            files.write_comparison(folder / files.COMPARISON, made, self.gates)
        return Compared(made, tuple(shown.failures(made, self.gates)))
