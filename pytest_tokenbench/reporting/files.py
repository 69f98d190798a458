"""The files of a run folder that reports are."""

from collections.abc import Sequence
from pathlib import Path

from pytest_tokenbench import contexts, run_folder
from pytest_tokenbench.ablation import claim
from pytest_tokenbench.gates import Gate
from pytest_tokenbench.reporting import document, markdown
from pytest_tokenbench.run_folder import Run, RunRecord

PAGE = "report.html"
COMPARISON = "compare.html"


def write_reports(folder: Path, made: document.Json, record: RunRecord) -> None:
    """Writes results.json and report.md into a run folder, of an ablation claim.json too.

    Raises:
        OSError: They cannot be written; the former ones are there still.
    """
    run_folder.write(folder / run_folder.RESULTS, document.as_text(made))
    run_folder.write(folder / run_folder.REPORT, markdown.render(made, record))
    if "ablation" in made:
        run_folder.write(folder / claim.FILE, claim.as_text(claim.claims(made["ablation"], record)))


def write_page(folder: Path, made: document.Json, run: Run) -> None:
    """Writes report.html into a run folder, with the contexts that stand in it.

    Raises:
        OSError: It cannot be written; the former one is there still.
        RunError: The contexts are damaged.
    """
    # With what draws its plots it takes longer to import than all the rest, and not every session writes it.
    from pytest_tokenbench.reporting.html import page  # noqa: PLC0415

    run_folder.write(folder / PAGE, page.render(made, run, contexts.read(folder)))


def write_comparison(file: Path, made: document.Json, gates: Sequence[Gate]) -> None:
    """Writes the page of a comparison.

    Raises:
        OSError: It cannot be written; the former one is there still.
    """
    from pytest_tokenbench.reporting.html import comparison  # noqa: PLC0415  # as in `write_page`

    run_folder.write(file, comparison.render(made, gates))
