"""The published runs are whole, say what their ledgers say, and tell nothing of where they were run."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_tokenbench import run_folder

REPORTS = Path(__file__).resolve().parents[1] / "reports"
FILES = ["contexts.jsonl", "observations.jsonl", "report.html", "report.md", "results.json", "run.json"]


# Those that their page lists: a checkout may have others, which are not published.
PUBLISHED = re.findall(r"\[[\w/-]+\]\(([\w/-]+)\)", (REPORTS / "README.md").read_text(encoding="utf-8"))


def published(study):
    (found,) = (REPORTS / name for name in PUBLISHED if name.startswith(f"{study}/"))
    return found


@pytest.fixture(scope="module", params=PUBLISHED)
def folder(request):
    return REPORTS / request.param


@pytest.fixture(scope="module")
def again(folder, tmp_path_factory):
    """The run once more, all that can be computed from its ledger removed and made anew."""
    copy = Path(shutil.copytree(folder, tmp_path_factory.mktemp("again") / folder.name))
    for name in ("results.json", "report.md", "report.html"):
        (copy / name).unlink()
    # Which runs have claims, a test of its own says.
    (copy / "claim.json").unlink(missing_ok=True)
    subprocess.run([sys.executable, "-m", "pytest_tokenbench.cli", "report", str(copy)], check=True)
    return copy


def near(found):
    """The same, with numbers that may differ in the last digits, as sums do from processor to processor."""
    if isinstance(found, dict):
        return {key: near(value) for key, value in found.items()}
    if isinstance(found, list):
        return [near(value) for value in found]
    return pytest.approx(found, rel=1e-9, abs=1e-12) if isinstance(found, float) else found


def test_results_and_report_are_those_that_its_ledger_gives(folder, again):
    made, kept = (json.loads((one / "results.json").read_text(encoding="utf-8")) for one in (again, folder))
    assert made == near(kept)
    texts = [(one / "report.md").read_text(encoding="utf-8") for one in (again, folder)]
    assert texts[0] == texts[1], "run tokenbench report on it"


def test_the_claims_are_those_that_the_ledger_of_the_blocks_supports(folder, again):
    made, kept = (
        json.loads(file.read_text(encoding="utf-8")) if file.exists() else None
        for file in (again / "claim.json", folder / "claim.json")
    )
    assert made == near(kept)
    assert bool(made) == (folder.parent.name == "needed-context")


def test_it_came_to_its_end_registered_before_and_measured_every_trial(folder):
    run = run_folder.read(folder)
    assert run.record.finished
    assert not run.record.quick
    assert run.record.order == "shared"
    assert run.record.registration.startswith("pre-registered: ")
    seen = {(one.condition, one.question) for one in run.observations}
    assert len(seen) == len(run.observations) == run.record.scheduled
    assert {one.status for one in run.observations} <= {"ok", "not_needed"}
    assert {one.model_digest for one in run.preparations} <= {run.record.model.digest}
    assert len(run.record.verdicts) > 2


def test_all_of_the_protocol_was_asked():
    run = run_folder.read(published("protocol"))
    assert run.record.conditions == ("A", "B2", "B4", "C", "D10", "D25", "Dall")
    assert len({one.document for one in run.record.questions}) == 10
    assert len(run.observations) == 700
    assert len(run.preparations) == 20


def test_it_has_its_files_and_none_names_a_place_of_the_machine(folder):
    names = {one.name for one in folder.iterdir()}
    assert set(FILES) <= names
    assert "writer.lock" not in names
    for one in folder.iterdir():
        text = one.read_text(encoding="utf-8")
        assert not re.search(r"(?<![\w.])/(?:home|root|tmp|opt|usr|var|work|Users)/", text), one.name


def test_the_readme_names_the_size_of_the_model_beside_its_table():
    page = (REPORTS.parent / "README.md").read_text(encoding="utf-8")
    before = page.split("<!-- published -->")[0].rsplit("\n\n", 2)[-2]
    assert "135M parameters" in " ".join(before.split())
    assert f"reports/protocol/{published('protocol').name}" in before
