"""The study that `tokenbench init` writes: sound, pinned, and run by the very command that is printed."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from stub_ollama import StubOllama

from pytest_tokenbench.cli import main

MODEL = "smollm2:135m"
ANSWERS = {
    "How high": "34 metres",
    "Who kept bees": "It was Matias Brune.",
    "How many looms": "312 looms",
    "What animal": "a hare",
}


def reader(prompt: str) -> str:
    """Answers from the context alone, as a model does that reads well."""
    if "Write a summary" in prompt:
        return "A summary of it."
    context, _, question = prompt.rpartition("\n\nQuestion: ")
    found = next((answer for words, answer in ANSWERS.items() if words in question), "not stated")
    return found if found.split()[-1].strip(".") in context else "not stated"


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def told(capsys) -> list[str]:
    """What is printed when a study is begun in a folder whose name has a space."""
    assert main(["init", "my study"]) == 0
    return capsys.readouterr().out.splitlines()


def test_every_file_is_named_and_there_is_no_other(told):
    there = sorted(
        path.relative_to("my study").as_posix() for path in Path("my study").rglob("*") if path.is_file()
    )
    assert [line.strip() for line in told[1:-2]] == there
    assert "test_study.py" in there


def test_it_is_pinned_without_a_fault(told, monkeypatch, capsys):
    assert told
    monkeypatch.chdir("my study")
    assert main(["corpus", "verify"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("checked 2 documents, ")
    assert out.endswith("6 questions (4 answerable, 2 unanswerable): no fault\n")


def test_the_printed_command_runs_it_and_both_hypotheses_are_judged(told):
    command = told[-1].strip()
    assert command == "cd 'my study' && pytest --tokenbench-backend embedded"
    with StubOllama(answer=reader) as server:
        # On the stub, since the tests of the embedded backend are elsewhere; the last option given counts.
        environment = os.environ | {
            "OLLAMA_HOST": server.url,
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        }
        done = subprocess.run(
            ["sh", "-c", f"{command} --tokenbench-backend ollama --tokenbench-model {MODEL}"],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "26 passed" in done.stdout, "24 trials and 2 hypotheses"
    assert "H1 passed" in done.stdout
    assert "H2 passed" in done.stdout
    assert "100%" in done.stdout, "A answers all that the texts answer"
    assert len(list(Path("my study/reports/first-study").iterdir())) == 1


def test_from_within_the_folder_the_command_needs_no_cd(tmp_path, monkeypatch, capsys):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    assert main(["init", "."]) == 0
    assert capsys.readouterr().out.splitlines()[-1].strip() == "pytest --tokenbench-backend embedded"


@pytest.mark.parametrize("name", ["kept", ".hidden"])
def test_a_folder_that_is_not_empty_is_refused_and_stays_as_it_is(capsys, name):
    Path("mine").mkdir()
    Path("mine", name).write_text("mine", encoding="utf-8")
    assert main(["init", "mine"]) == 2
    assert capsys.readouterr().err == "mine is not empty; name a new or an empty folder\n"
    assert [path.name for path in Path("mine").iterdir()] == [name]


def test_a_file_is_refused(capsys):
    Path("mine").write_text("mine", encoding="utf-8")
    assert main(["init", "mine"]) == 2
    assert capsys.readouterr().err == "mine is a file; name a new or an empty folder\n"
    assert Path("mine").read_text(encoding="utf-8") == "mine"


def test_a_folder_that_cannot_be_made_is_one_sentence(capsys):
    Path("file").write_text("", encoding="utf-8")
    assert main(["init", "file/below"]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_the_command_is_quoted_for_a_shell(capsys):
    strange = "a'b $HOME"
    assert main(["init", strange]) == 0
    cd, folder, *_ = shlex.split(capsys.readouterr().out.splitlines()[-1])
    assert (cd, folder) == ("cd", strange)
