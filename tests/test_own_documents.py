"""docs/own-documents.md: its commands are run in its order, on its questions and its study."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from stub_ollama import StubOllama

MODEL = "smollm2:135m"
sys.path.append(str(Path(__file__).parent / "corpus"))
from test_converting import docx, pdf  # noqa: E402  # documents that are made by hand

HANDBOOK = docx(
    ("Heading1", "Leave"),
    ("", "There are 28 days of leave."),
    ("", "Leave is granted by the head of section."),
)


@pytest.fixture(scope="module")
def page(repository) -> str:
    return (repository / "docs" / "own-documents.md").read_text(encoding="utf-8")


def blocks(page: str, language: str = "") -> list[str]:
    """The fenced blocks of a language."""
    found = re.findall(r"^```(\w*)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    return [content for name, content in found if name == language]


def shell(command: str, here: Path, server: StubOllama, *more: str) -> str:
    """Runs a command as typed, with the stub for a model, and gives what it prints."""
    environment = os.environ | {
        "OLLAMA_HOST": server.url,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    }
    done = subprocess.run(
        ["sh", "-c", " ".join([command, *more])],
        cwd=here,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def server():
    with StubOllama() as server:
        yield server


ON_THE_STUB = ("--tokenbench-backend=ollama", f"--tokenbench-model={MODEL}")


def test_a_study_is_begun_and_run(page, server, tmp_path):
    init, run = blocks(page)[0].strip().splitlines()
    shell(init, tmp_path, server)
    # The stub answers "not stated" to all, and so makes up nothing.
    assert "H2 passed" in shell(run, tmp_path, server, *ON_THE_STUB)


def test_documents_are_added_pinned_and_asked_about(page, server, tmp_path):
    (tmp_path / "handbook.docx").write_bytes(HANDBOOK)
    (tmp_path / "minutes.pdf").write_bytes(pdf(["The meeting was opened at nine."]))
    (tmp_path / "page.html").write_text("<h1>Lunch</h1><p>Lunch is at noon.</p>", encoding="utf-8")
    add, pinning = (block.strip() for block in blocks(page)[1:3])
    assert "handbook: corpus/articles/handbook.txt" in shell(add, tmp_path, server)

    (tmp_path / "questions.csv").write_text(blocks(page, "csv")[0], encoding="utf-8")
    assert "3 questions (2 answerable, 1 unanswerable): no fault" in shell(
        pinning.replace("\n", " && "), tmp_path, server
    )

    (tmp_path / "test_handbook.py").write_text(blocks(page, "python")[0], encoding="utf-8")
    told = shell("pytest", tmp_path, server, *ON_THE_STUB)
    assert "7 passed" in told, "two conditions on three questions, and the hypothesis"


def test_the_columns_of_the_page_are_those_that_are_read(page):
    from pytest_tokenbench.corpus import tabular

    named = re.findall(r"^\| `([a-z_:]+)(?:NAME)?` \|", page, re.MULTILINE)
    assert set(named) == {*tabular.REQUIRED, *tabular.OPTIONAL, tabular.SLICE}


def test_the_kinds_of_the_page_are_those_that_are_converted(page):
    from pytest_tokenbench.corpus import converting

    named = set(re.findall(r"`(\.[a-z]+)`", page))
    assert named == set(converting.KINDS.split(", ")) - {".htm"}


def test_the_fault_of_the_page_is_the_one_that_is_told(page, tmp_path):
    from pytest_tokenbench.corpus import questions

    file = tmp_path / "questions.csv"
    file.write_text("id,document,question,answers,answerable\na,b,c,d,yes\ne,f,g,h,maybe\n", encoding="utf-8")
    (fault,) = questions.load(file, file.name)[0].malformed
    assert f"`{fault}`" in page


def test_a_folder_of_texts_alone_runs_and_the_report_says_what_to_do(page, server, tmp_path):
    (tmp_path / "corpus").mkdir()
    (tmp_path / "corpus" / "handbook.md").write_text(
        "# Leave\n\nThere are 28 days of leave.\n\nLeave is granted by the head of section.\n",
        encoding="utf-8",
    )
    (tmp_path / "questions.csv").write_text(blocks(page, "csv")[0], encoding="utf-8")
    (tmp_path / "test_handbook.py").write_text(blocks(page, "python")[0], encoding="utf-8")
    told = " ".join(shell("pytest", tmp_path, server, *ON_THE_STUB).split())
    assert "7 passed" in told
    assert (
        "not pre-registered: corpus/manifest.json: there is none; the texts are taken as they stand, "
        "and `tokenbench corpus pin` records them"
    ) in told
