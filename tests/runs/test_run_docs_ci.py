"""docs/ci.md: the commands of its job files are run in their order, on a small study and a stub of a server."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pages
import pytest
import yaml
from small_project import MODEL, PASSING, STUDY, Project, Ran, Reader, Server

INSTALLS = re.compile(r"(?:pip install|python -m venv|\. \.venv/)")
EMBEDDED = "--tokenbench-backend embedded"
OUTCOMES = {"H1": "passed", "H3": "passed"}
WRONG = {
    ("Who built the upper light?",): "Ada Finch",
    ("How many people",): "215",
    ("Who was the miller",): "Jo",
}


@pytest.fixture(scope="module")
def page(repository) -> str:
    return pages.read(repository, "ci.md")


@pytest.fixture(scope="module")
def jobs(page) -> list:
    """The YAML files of the page: GitHub's and GitLab's, then both again with shards."""
    return [yaml.safe_load(block) for block in pages.blocks(page, "yaml")]


@pytest.fixture
def make(make_project):
    """Makes a project whose study lies in benchmarks/, as the page has it."""

    def made(study: str = STUDY + PASSING) -> Project:
        project = make_project(study=study)
        project.write("benchmarks/test_small.py", study)
        (project.path / "test_small.py").unlink()
        project.pin()
        return project

    return made


def steps(job: dict) -> list[str]:
    """What a GitHub job runs, one script a step."""
    return [step["run"] for step in job["steps"] if "run" in step]


def script(job: dict, default: dict | None = None) -> list[str]:
    """What a GitLab job runs."""
    return [*job.get("before_script", (default or {}).get("before_script", [])), *job["script"]]


def typed(project: Project, server: Server | None, lines: list[str], **variables: str) -> Ran:
    """Runs what a job runs, without what it installs, in one shell that ends with the first fault."""
    kept = [line.strip() for line in lines if not INSTALLS.match(line.strip())]
    assert len(kept) < len(lines), "a job begins with an installation"
    text = "\n".join(kept).replace(EMBEDDED, f"--tokenbench-backend ollama --tokenbench-model {MODEL}")
    done = subprocess.run(
        ["bash", "-e", "-c", text],
        cwd=project.path,
        env=project._environment(server, 80)
        | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
        | variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        check=False,
        timeout=240,
    )
    sys.stdout.write(done.stdout)
    return Ran(done.returncode, done.stdout, project.path)


def judged(ran: Ran) -> None:
    """That a job came to its end with a verdict for each hypothesis, in the run's folder and in JUnit."""
    assert ran.status == 0
    assert ran.verdicts == OUTCOMES
    assert {name for name, case in ran.cases.items() if not case.result} >= set(OUTCOMES)


def test_github_job_runs(make, jobs):
    job = jobs[0]["jobs"]["study"]
    project = make()
    summary = project.path / "summary.md"
    with Server() as server:
        judged(typed(project, server, steps(job), GITHUB_STEP_SUMMARY=str(summary)))
    assert summary.read_text(encoding="utf-8").startswith("# small: ")
    assert job["steps"][-1]["with"]["path"].split() == ["junit.xml", "reports/"]


def test_gitlab_job_runs(make, jobs):
    job = jobs[1]["study"]
    project = make()
    with Server() as server:
        judged(typed(project, server, script(job)))
    for kept in (*job["artifacts"]["paths"], job["artifacts"]["reports"]["junit"], job["cache"]["paths"][1]):
        assert (project.path / kept).exists(), kept


def test_jenkins_job_runs(make, page):
    (file,) = pages.blocks(page, "groovy")
    assert file.count("{") == file.count("}")
    (commands,) = re.findall(r"sh '''\n(.*?)'''", file, re.DOTALL)
    with Server() as server:
        judged(typed(make(), server, commands.splitlines()))


def test_sharded_github_jobs_give_the_whole_without_a_model(make, jobs):
    made = jobs[2]["jobs"]
    project = make()
    with Server() as server:
        assert typed(project, server, steps(made["prepare"])).status == 0
        built = server.preparations
        assert built == 4
        for number in made["shard"]["strategy"]["matrix"]["number"]:
            shard = [line.replace("${{ matrix.number }}", str(number)) for line in steps(made["shard"])]
            assert typed(project, server, shard).status == 0
            # As the artifact of this name is laid out when it is downloaded.
            shutil.move(project.path / "shard", project.path / "shards" / f"shard-{number}")
        assert server.preparations == built, "every shard has those of the first job"
    summary = project.path / "summary.md"
    merged = typed(
        project,
        None,
        steps(made["merge"]),
        GITHUB_STEP_SUMMARY=str(summary),
        OLLAMA_HOST="http://127.0.0.1:9",
    )
    judged(merged)
    assert len(merged.file("observations.jsonl")) == 36
    assert summary.is_file()
    assert [made[name].get("needs") for name in ("prepare", "shard", "merge")] == [None, "prepare", "shard"]


def test_sharded_gitlab_jobs_give_the_whole_without_a_model(make, jobs):
    made = jobs[3]
    project = make()
    with Server() as server:
        assert typed(project, server, script(made["prepare"], made["default"])).status == 0
        for number in range(1, made["shard"]["parallel"] + 1):
            variables = {"CI_NODE_INDEX": str(number), "CI_NODE_TOTAL": str(made["shard"]["parallel"])}
            assert typed(project, server, script(made["shard"], made["default"]), **variables).status == 0
    judged(typed(project, None, script(made["merge"], made["default"]), OLLAMA_HOST="http://127.0.0.1:9"))
    assert made["stages"] == [name for name in made if name in made["stages"]]


def test_gate_of_the_page_is_shut_as_it_shows(make, page):
    project = make()
    with Server() as server:
        ran = project.run("-n0", server=server)
    ran.folder.rename(project.path / "baseline")
    words = next(words for words in pages.commands(page) if "--tokenbench-compare-fail" in words)
    second = "--tokenbench-compare-fail=input_tokens:D25:5"
    with Server(Reader(WRONG)) as server:
        ran = project.run("-n0", *words[1:], second, server=server, columns=100)
    assert ran.status == pytest.ExitCode.TESTS_FAILED
    (shown,) = pages.blocks(page, "text")
    assert f"\n{shown}" in "\n".join(line.rstrip() for line in ran.lines)
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest_tokenbench.cli", "compare", "baseline", str(ran.folder)),
            *("--fail", "accuracy:D25:3"),
        ],
        cwd=project.path,
        env=project._environment(None, 100),
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr.startswith("accuracy of D25 fell by 75.0 points")


def test_exit_statuses_of_the_page_are_those_of_pytest(page):
    table = pages.section(page, "## What decides the job")
    assert re.findall(r"^\| (\d) \|", table, re.MULTILINE) == [
        str(int(status))
        for status in (
            pytest.ExitCode.OK,
            pytest.ExitCode.TESTS_FAILED,
            pytest.ExitCode.INTERRUPTED,
            pytest.ExitCode.USAGE_ERROR,
        )
    ]
    assert page.count("--tokenbench-strict") > 5


def test_extras_that_jobs_install_are_declared(page, repository):
    project = (repository / "pyproject.toml").read_text(encoding="utf-8")
    named = set(re.findall(r"pytest-tokenbench\[(\w+)\]", page))
    assert named == {"embedded"}
    assert all(f"\n{name} = [" in project for name in named)
