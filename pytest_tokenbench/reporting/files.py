"""The files of a run folder that reports are."""

from pathlib import Path

from pytest_tokenbench import run_folder
from pytest_tokenbench.reporting import document, markdown
from pytest_tokenbench.run_folder import RunRecord


def write_reports(folder: Path, made: document.Json, record: RunRecord) -> None:
    """Writes results.json and report.md into a run folder.

    Raises:
        OSError: They cannot be written; the former ones are there still.
    """
    run_folder.write(folder / run_folder.RESULTS, document.as_text(made))
    run_folder.write(folder / run_folder.REPORT, markdown.render(made, record))
