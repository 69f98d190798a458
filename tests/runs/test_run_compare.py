"""A run that is compared with an earlier one, by real pytest: what it prints, writes and fails by."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from small_project import PASSING, STUDY, Project, Reader, Server

from pytest_tokenbench.cli import main

WORSE = {("Who built the upper light?",): "Ada Finch", ("How many people",): "215"}
LOST = {"kell-q01", "kell-q02"}


@pytest.fixture(scope="module")
def project(make_project: Callable[..., Project]) -> Project:
    """A project with a run in it whose folder is `reports/former`."""
    made = make_project(study=STUDY + PASSING)
    with Server() as server:
        ran = made.run(server=server)
    assert ran.status == 0
    ran.folder.rename(made.path / "former")
    return made


@pytest.fixture(scope="module")
def worse() -> Iterator[Server]:
    """A server that gets two questions wrong under each condition."""
    with Server(Reader(WORSE)) as server:
        yield server


@pytest.mark.parametrize("workers", ["-n0", "-n2"])
def test_the_comparison_is_shown_after_the_table_and_written_into_the_run_folder(project, worse, workers):
    ran = project.run(workers, "--tokenbench-compare=former", server=worse, columns=140)
    assert ran.status == 0, "losses alone fail nothing"
    ran.has(
        "H1 passed*",
        f"former (first, *) with {ran.folder.name} (second, *): 2 documents, 6 questions, *",
        "*accuracy*points [[]95%]*lost*gained*",
        "A * 100% -> 50% *",
        "kell-q01: Who built the upper light?",
        '    A correct -> wrong: "Jonas Mereth" -> "Ada Finch"',
        "run folder: reports/small/*",
    )
    made = ran.file("compare.json")
    assert made["warnings"] == []
    assert {change["question"] for change in made["changes"] if change["condition"] == "A"} == LOST
    assert made["conditions"]["A"]["measures"]["accuracy"]["difference"] == -0.5
    assert made["conditions"]["A"]["measures"]["input_tokens"]["difference"] == 0
    assert ran.file("compare.md").startswith("# Comparison of two runs\n")


def test_without_html_there_is_no_page_of_a_comparison_either(project, worse):
    ran = project.run("--tokenbench-html=off", "--tokenbench-compare=former", server=worse)
    assert (ran.folder / "compare.md").exists()
    assert not (ran.folder / "compare.html").exists()


def test_the_page_of_a_comparison_is_written_beside_the_rest(project, worse):
    ran = project.run(
        "--tokenbench-html=on",
        "--tokenbench-compare=former",
        "--tokenbench-compare-fail=accuracy:A:3",
        server=worse,
    )
    html = ran.file("compare.html")
    assert html.startswith("<!DOCTYPE html>")
    assert "<h1>small: two runs compared</h1>" in html
    assert "accuracy:A:3" in html
    assert '<blockquote class="outside">Ada Finch</blockquote>' in html


def test_the_command_shows_what_the_run_showed(project, worse, capsys):
    ran = project.run("--tokenbench-compare=former", server=worse)
    capsys.readouterr()
    assert main(["compare", str(project.path / "former"), str(ran.folder), "--json"]) == 0
    told, written = json.loads(capsys.readouterr().out), ran.file("compare.json")
    for made in (told, written):
        del made["first"]["name"], made["second"]["name"]
    assert told == written


def test_a_loss_beyond_noise_fails_the_session_with_one_sentence(project, worse):
    # Two of four questions may be lost by chance; that all four have more tokens may not.
    project.write(
        "test_small.py",
        (STUDY + PASSING).replace('Chunks("B2", top=1, words=20)', 'Chunks("B2", top=2, words=20)'),
    )
    try:
        ran = project.run(
            "--tokenbench-compare=former",
            "--tokenbench-compare-fail=accuracy:A:3",
            "--tokenbench-compare-fail=input_tokens:B2:5",
            "--tokenbench-conditions=A,B2",
            "--junitxml=junit.xml",
            server=worse,
        )
    finally:
        project.write("test_small.py", STUDY + PASSING)
    assert ran.status == pytest.ExitCode.TESTS_FAILED
    assert ran.count("gate accuracy:A:3 is passed") == 1
    assert ran.count("gate input_tokens:B2:5 is shut: input_tokens of B2 rose by") == 1
    assert ran.count("warning: condition B2's top is not the same: 1 in the first run, 2 in the second") == 1
    assert "more than 5% and beyond noise (n=6)" in " ".join(ran.text.split())


def test_gates_that_are_passed_fail_nothing_and_may_stand_in_the_ini_file(make_project, project):
    ini = (
        f"tokenbench_compare = {project.path}/former\ntokenbench_compare_fail = accuracy:A:3 made_up:D25:0\n"
    )
    with Server() as server:
        ran = make_project(ini=ini).run(server=server)
    assert ran.status == 0
    assert ran.count("gate accuracy:A:3 is passed") == 1
    assert ran.count("gate made_up:D25:0 is passed") == 1
    assert ran.count("no answer changed from right to wrong or from wrong to right") == 1


def test_what_too_few_trials_can_tell_shuts_a_gate(project, worse):
    ran = project.run(
        "--tokenbench-compare=former",
        "--tokenbench-compare-fail=accuracy:A:3",
        "-k",
        "A-orrin-q02",
        server=worse,
    )
    assert ran.status == pytest.ExitCode.TESTS_FAILED
    assert ran.count("accuracy:A:3 cannot be judged: one question alone has no interval") == 1


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (
            ["--tokenbench-compare=nowhere"],
            "--tokenbench-compare: {path}/nowhere: holds no run (run.json is missing)",
        ),
        (
            ["--tokenbench-compare-fail=accuracy:A:3"],
            "--tokenbench-compare-fail: there is no run to compare with; name one with --tokenbench-compare",
        ),
        (
            ["--tokenbench-compare=former", "--tokenbench-compare-fail=accuracy:A"],
            "--tokenbench-compare-fail: 'accuracy:A' is no gate; write MEASURE:CONDITION:POINTS, as accuracy:D25:3",
        ),
        (
            ["--tokenbench-compare=former", "--tokenbench-compare-fail=accuracy:E:3"],
            "--tokenbench-compare-fail: accuracy:E:3 is on a condition that small does not have in both runs",
        ),
        (
            ["--tokenbench-compare=former", "other.py"],
            "former is a run of 'small', which is not among the collected studies (other)",
        ),
    ],
)
def test_what_cannot_be_compared_ends_the_session_before_anything_is_asked(project, options, told):
    project.write("other.py", STUDY.replace('"small"', '"other"'))
    before = sorted(project.path.glob("reports/*/*"))
    with Server() as server:
        ran = project.run(*options, server=server)
    assert ran.status == pytest.ExitCode.USAGE_ERROR
    assert ran.count(told.format(path=project.path)) == 1
    assert "Traceback" not in ran.text
    assert not server.chats
    assert sorted(project.path.glob("reports/*/*")) == before


def test_a_run_that_did_not_end_is_not_compared(project):
    with Server(faults=["400"] * 99) as server:
        ran = project.run("--tokenbench-compare=former", "--tokenbench-conditions=A,B2", "-x", server=server)
    assert ran.status != 0
    assert not Path(ran.folder, "compare.json").exists()
    assert "(second, " not in ran.text


def test_a_comparison_that_cannot_be_written_fails_the_session_in_one_sentence(project, worse):
    project.write(
        "conftest.py",
        "def pytest_runtest_logreport(report):\n"
        "    from pathlib import Path\n"
        "    for folder in Path('reports/small').iterdir():\n"
        "        if not (folder / 'compare.json').exists():\n"
        "            (folder / 'compare.json').mkdir()\n",
    )
    try:
        ran = project.run("--tokenbench-compare=former", "--tokenbench-conditions=A", server=worse)
    finally:
        (project.path / "conftest.py").unlink()
    assert ran.status == pytest.ExitCode.TESTS_FAILED
    assert ran.count("compare.json cannot be written (Is a directory)") == 1
    assert "Traceback" not in ran.text
