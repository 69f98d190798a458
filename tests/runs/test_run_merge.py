"""Shards of a run, joined by `tokenbench merge`: they give what one whole run gives, and ask no model for it."""

import json
import subprocess
import sys

import pytest
from block_project import CaseReader, add_blocks, cases
from small_project import EVERY, Ran, Server

TIMINGS = ("prefill_s", "total_s", "seconds_per_document")


def comparable(value):
    """A results document without timings and without how the run went."""
    if isinstance(value, dict):
        return {key: comparable(one) for key, one in value.items() if key not in (*TIMINGS, "course")}
    return value


def merge(project, *arguments) -> Ran:
    """Runs the command in the project, where no server can be reached."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest_tokenbench.cli", "merge", *map(str, arguments)],
        cwd=project.path,
        env=project._environment(None, 80) | {"OLLAMA_HOST": "http://127.0.0.1:9"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        check=False,
        timeout=120,
    )
    sys.stdout.write(done.stdout)
    return Ran(done.returncode, done.stdout, project.path)


def results(folder):
    return comparable(json.loads((folder / "results.json").read_text(encoding="utf-8")))


@pytest.fixture(scope="module")
def sharded(make_project, workers):
    """A project whose study was run in three shards, and their folders."""
    project = make_project(study=EVERY)
    with Server() as server:
        for number in (1, 2, 3):
            project.run(workers, f"--tokenbench-shard={number}/3", server=server)
    return project, sorted(project.path.glob("reports/*/*"))


def test_merged_shards_give_the_results_of_one_whole_run(sharded, ran):
    project, shards = sharded
    assert len(shards) == 3

    merged = merge(project, *shards, "--into", "whole")

    (folder,) = project.path.glob("whole/*/*")
    assert results(folder) == results(ran.folder)
    assert merged.status == ran.status == pytest.ExitCode.TESTS_FAILED
    verdicts = json.loads((folder / "run.json").read_text(encoding="utf-8"))["verdicts"]
    assert {one["hypothesis"]: one["ruling"] for one in verdicts} == ran.verdicts
    assert (folder / "report.md").is_file()
    merged.has(f"merged 3 runs, 36 trials, into {folder.relative_to(project.path)}", "H2 failed: *")


def test_what_merged_shards_lack_is_asked_when_the_run_is_gone_on_with(sharded, ran):
    project, shards = sharded

    merged = merge(project, *shards[:2], "--into", "partial")

    (folder,) = project.path.glob("partial/*/*")
    assert merged.status == pytest.ExitCode.TESTS_FAILED
    assert (
        merged.count(f"pytest --tokenbench-resume={folder.relative_to(project.path)}, with the options") == 1
    )
    had = len((folder / "observations.jsonl").read_text(encoding="utf-8").splitlines())
    with Server() as server:
        resumed = project.run("-n0", f"--tokenbench-resume={folder}", server=server)
    asked = len((folder / "observations.jsonl").read_text(encoding="utf-8").splitlines())
    assert 0 < had < asked == 36
    assert results(folder) == results(ran.folder)
    assert resumed.status == ran.status


def test_shards_of_another_model_are_refused_in_one_sentence(sharded, tmp_path):
    project, (first, second, _) = sharded
    other = tmp_path / "other"
    other.mkdir()
    for file in second.iterdir():
        (other / file.name).write_bytes(file.read_bytes())
    record = json.loads((other / "run.json").read_text(encoding="utf-8"))
    record["model"]["digest"] = "another"
    (other / "run.json").write_text(json.dumps(record), encoding="utf-8")

    merged = merge(project, first, other, "--into", "refused")

    assert merged.status == 2
    (line,) = merged.lines
    assert line.startswith(
        f"{other} is no part of the same run as {first}: not the same are the model's digest ("
    )
    assert not (project.path / "refused").exists()


def test_merged_shards_of_a_study_over_blocks_tell_how_to_go_on_with_the_arms_that_wait(make_project):
    project = make_project()
    add_blocks(project)
    with Server(CaseReader(cases())) as server:
        for number in (1, 2):
            project.run("-n0", "test_blocks.py", f"--tokenbench-shard={number}/2", server=server)

        merged = merge(project, *sorted(project.path.glob("reports/blocks/*")), "--into", "whole")

        (folder,) = project.path.glob("whole/*/*")
        named = folder.relative_to(project.path)
        assert merged.count(f"pytest test_blocks.py --tokenbench-resume={named}, with the options of") == 1
        report = (folder / "report.md").read_text(encoding="utf-8")
        assert report.count("arms of later stages had not been asked") == 1
        project.run("-n0", "test_blocks.py", f"--tokenbench-resume={folder}", server=server)

    lines = (folder / "observations.jsonl").read_text(encoding="utf-8").splitlines()
    assert "composed" in {json.loads(line)["condition"] for line in lines}
