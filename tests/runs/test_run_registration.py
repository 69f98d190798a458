"""The sentence on pre-registration, as every report says it."""

import re
import subprocess

import pytest
from small_project import PASSING, QUESTIONS, STUDY, Project

from pytest_tokenbench.registration import Registered, Registration


def git(project: Project, *arguments: str) -> str:
    who = ["-c", "user.name=Someone", "-c", "user.email=someone@example.org", "-c", "commit.gpgsign=false"]
    done = subprocess.run(
        ["git", *who, *arguments], cwd=project.path, check=True, capture_output=True, encoding="utf-8"
    )
    return done.stdout.strip()


@pytest.fixture
def committed(make_project) -> Project:
    """A project whose material is committed."""
    project = make_project(study=STUDY + PASSING)
    git(project, "init", "--quiet")
    git(project, "add", ".")
    git(project, "commit", "--quiet", "-m", "registered")
    return project


def says(ran, sentence: str) -> None:
    """Asserts that terminal, report, JUnit and both JSON files say this sentence."""
    assert ran.count(f"note: {sentence}") == 1
    assert f"- {sentence}\n" in re.sub(r"\\([_\[\]<>*`])", r"\1", ran.file("report.md"))
    assert ran.file("run.json")["registration"] == sentence
    assert ran.file("results.json")["registration"] == sentence
    properties = {one.name: one.value for suite in ran.junit for one in suite.properties()}
    assert properties["tokenbench.registration"] == sentence
    assert ran.status == pytest.ExitCode.OK


def test_committed_and_clean(committed, server, workers):
    time = git(committed, "log", "-1", "--format=%cI")

    ran = committed.run(workers, server=server)

    says(ran, f"pre-registered: last change committed {time}")
    record = ran.file("run.json")
    assert record["commit"] == git(committed, "rev-parse", "HEAD")
    assert [(one["path"], one["clean"]) for one in record["registered"]] == [
        ("questions.json", True),
        ("corpus", True),
        ("test_small.py", True),
    ]


def test_second_run_is_as_clean_as_the_first(committed, server):
    committed.run("-n0", "-k=A-", server=server)

    assert "not pre-registered" not in committed.run("-n0", "-k=A-", server=server).text


def test_shallow_clone_does_not_know_when_files_were_last_changed(committed, server, tmp_path):
    committed.write("later.txt", "a commit that changes none of the material")
    git(committed, "add", ".")
    git(committed, "commit", "--quiet", "-m", "later")
    git(committed, "clone", "--quiet", "--depth=1", f"file://{committed.path}", str(tmp_path / "clone"))
    (committed.path / ".git").rename(tmp_path / "whole")
    (tmp_path / "clone" / ".git").rename(committed.path / ".git")

    says(
        committed.run("-n0", server=server),
        "not pre-registered: the clone is shallow, so that git does not tell when the files were last changed; "
        "fetch the whole history",
    )


def test_changed_questions_and_a_study_that_is_not_committed(committed, server):
    commit = git(committed, "rev-parse", "HEAD")[:12]
    committed.write_questions([QUESTIONS[0] | {"aliases": ["J. Mereth"]}, *QUESTIONS[1:]])
    committed.pin()
    git(committed, "mv", "test_small.py", "test_tiny.py")

    ran = committed.run("-n0", server=server)

    says(
        ran,
        f"not pre-registered: questions.json differs from commit {commit}; corpus differs from commit {commit}; "
        "test_tiny.py is not committed",
    )


def test_document_that_is_not_the_pinned_one(committed, server):
    file = committed.path / "corpus/articles/orrin.txt"
    file.write_text(file.read_text(encoding="utf-8").replace("four pairs", "five pairs"), encoding="utf-8")
    git(committed, "commit", "--quiet", "-am", "changed")

    ran = committed.run("-n0", server=server)

    sentence = ran.file("run.json")["registration"]
    says(ran, sentence)
    assert re.match(
        r'not pre-registered: corpus/manifest.json: document "orrin": its file articles/orrin.txt has changed: '
        r"SHA-256 is \w{12}\.\.\., recorded is \w{12}\.\.\.; ",
        sentence,
    )
    assert "corpus/SHA256SUMS: corpus/articles/orrin.txt has changed" in sentence


def test_repository_without_a_commit(project, server):
    git(project, "init", "--quiet")

    ran = project.run("-n0", "-k=A-", server=server)

    says(ran, "not pre-registered: no git repository records when the files were fixed")


def test_last_change_is_the_latest_in_time_whatever_offset_it_was_committed_at():
    times = ("2026-01-02T01:00:00+09:00", "2026-01-01T20:00:00+00:00", "2026-01-01T21:00:00+02:00")
    states = tuple(Registered(f"file {time}", "0" * 40, time, clean=True) for time in times)

    assert Registration(states, "0" * 40, ()).sentence == (
        "pre-registered: last change committed 2026-01-01T20:00:00+00:00"
    )
