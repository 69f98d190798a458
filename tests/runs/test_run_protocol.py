"""The study that is shipped, as a user runs it, with a model that finds nothing."""

import shutil

import pytest
from small_project import Server
from stub_ollama import answer_not_stated


@pytest.fixture
def shipped(project, repository):
    """The shipped material in a project of its own."""
    for name in ("test_small.py", "questions.json"):
        (project.path / name).unlink()
    shutil.rmtree(project.path / "corpus")
    for name in ("benchmarks", "corpus"):
        shutil.copytree(repository / name, project.path / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(repository / "questions.json", project.path)
    return project


def test_quick_look_at_the_protocol(shipped, workers):
    def answer(prompt: str) -> str:
        return "One fact. Another fact." if "Text:" in prompt else answer_not_stated(prompt)

    with Server(answer) as server:
        ran = shipped.run(workers, "benchmarks/", "--tokenbench-quick", server=server)

    conditions = ran.file("results.json")["conditions"]
    assert list(conditions) == ["A", "B2", "B4", "C", "D10", "D25", "Dall"]
    assert {made["measures"]["accuracy"]["estimate"] for made in conditions.values()} == {0.0}
    assert {made["measures"]["abstention"]["estimate"] for made in conditions.values()} == {1.0}
    assert ran.verdicts == {"H1": "passed", "H2": "passed", "H3": "passed"}
    assert ran.status == pytest.ExitCode.OK
    assert max(map(len, ran.summary)) <= 80


def test_whole_protocol_can_be_collected_without_a_server(shipped):
    ran = shipped.run("-n0", "--collect-only", "-q", "benchmarks/", OLLAMA_HOST="http://127.0.0.1:9")

    found = [line for line in ran.lines if "::" in line]
    assert len(found) == len(set(found)) == 700
    assert sum("[D25-" in line for line in found) == 100
