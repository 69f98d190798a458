"""The run folder: what a run leaves behind, and what a later one reuses."""

import copy
import json
import os
import shutil
import socket

import pytest
from small_project import IDS, PASSING, QUESTIONS, STUDY, Reader, Server

from pytest_tokenbench import run_folder
from pytest_tokenbench.reporting import document

TIMINGS = ("prefill_s", "total_s", "seconds_per_document")


def without_timings(value):
    if isinstance(value, dict):
        return {key: without_timings(one) for key, one in value.items() if key not in TIMINGS}
    return value


def test_folder_holds_what_was_run_measured_and_sent(ran):
    assert {file.name for file in ran.folder.iterdir()} == {
        "run.json",
        "observations.jsonl",
        "preparations.jsonl",
        "results.json",
        "report.md",
        "contexts.jsonl",
    }
    assert len(ran.folders) == 1


def test_page_is_written_too_unless_it_is_turned_off(make_project, server, workers):
    ran = make_project(ini="tokenbench_html = on\n").run(workers, "--tokenbench-conditions=A", server=server)

    page = ran.file("report.html")
    assert page.startswith("<!DOCTYPE html>")
    assert "Ada Finch" in page


def test_each_trial_is_one_line(ran):
    lines = (ran.folder / "observations.jsonl").read_bytes().splitlines(keepends=True)

    assert len(lines) == 36
    assert all(line.endswith(b"}\n") for line in lines)
    assert ran.observations.keys() == {f"{name}-{one['id']}" for name in IDS for one in QUESTIONS}


def test_observation_tells_all_that_was_measured(ran):
    seen = ran.observations["C-kell-q02"]

    assert seen | {
        "started": "",
        "worker": "",
        "wall_s": 0,
        "host": "",
        "context_sha256": "",
        "prompt_sha256": "",
    } == {
        "study": "small",
        "question": "kell-q02",
        "document": "kell",
        "condition": "C",
        "reader": "smollm2:135m",
        "repeat": 0,
        "status": "ok",
        "started": "",
        "host": "",
        "worker": "",
        "outcome": "wrong",
        "answer": "not stated",
        "input_tokens": 62,
        "cached_tokens": None,
        "output_tokens": 3,
        "prefill_s": 0.002,
        "decode_s": 0.001,
        "load_s": 0.001,
        "total_s": 0.004,
        "wall_s": 0,
        "stop": "stop",
        "scores": {
            "abstained": True,
            "correct": False,
            "made_up": None,
            "f1": 0.0,
            "squad_f1": 0.0,
            "exact_match": False,
        },
        "context_words": 15,
        "context_sha256": "",
        "units": ["summary"],
        "prompt_sha256": "",
        "preparation": seen["preparation"],
        "error_kind": None,
        "error_message": None,
        "attempts": [],
        "remark": None,
        "nonce": None,
    }
    assert seen["wall_s"] > 0
    assert seen["host"].startswith("http://127.0.0.1:")
    assert seen["preparation"] in {one["key"] for one in ran.file("preparations.jsonl")}


def test_observation_tells_which_worker_made_it(ran, workers):
    made_by = {one["worker"] for one in ran.observations.values()}

    assert made_by == ({"main"} if workers == "-n0" else {"gw0", "gw1"})


def test_run_tells_what_could_change_a_number(ran):
    record = ran.file("run.json")

    assert record["scheduled"] == 36
    assert record["finished"] >= record["started"]
    assert record["study_file"] == "test_small.py"
    assert record["model"]["options"]["temperature"] == 0
    assert record["model"]["window"] == 16384
    assert {
        "questions",
        "manifest",
        "sums",
        "study",
        "prompt answer",
        "prompt croutons",
        "document kell",
    } <= record["hashes"].keys()
    assert (
        record["condition_options"]["D25"] | {"class": "Croutons", "top": 3}
        == record["condition_options"]["D25"]
    )
    assert record["recipes"] == {"C": "summary", "D10": "croutons", "D25": "croutons", "Dall": "croutons"}


def test_results_can_be_computed_again_from_the_folder_to_the_last_byte(ran):
    again = document.as_text(document.build(run_folder.read(ran.folder)))

    assert (ran.folder / "results.json").read_text(encoding="utf-8") == again


def test_verdicts_do_not_outlive_the_trials_that_they_rest_on(ran, tmp_path):
    torn = tmp_path / "torn"
    shutil.copytree(ran.folder, torn)
    ledger = torn / "observations.jsonl"
    ledger.write_bytes(b"".join(ledger.read_bytes().splitlines(keepends=True)[:-4]))
    assert ran.file("run.json")["judged"] == 36

    made = document.build(run_folder.read(torn))

    rulings = {(one["ruling"], one["reason"]) for one in made["hypotheses"]}
    assert rulings == {
        ("unavailable", "not known: the ledger lacks 4 of the 36 trials that it was judged on")
    }
    ledger.write_bytes(b"")
    with pytest.raises(run_folder.RunError, match="has no observation, though trials were run"):
        run_folder.read_measured(torn)


def test_workers_change_no_result(usual):
    alone, two = (without_timings(usual(workers).file("results.json")) for workers in ("-n0", "-n2"))

    assert two == alone
    assert alone["conditions"]["D25"]["measures"]["accuracy"]["estimate"] == 1.0


def test_trial_that_is_observed_twice_counts_once(make_project, server):
    ran = make_project().run("-n2", "--dist=each", "--tokenbench-conditions=A", server=server)

    assert len(ran.file("observations.jsonl")) == 12
    assert ran.file("results.json")["conditions"]["A"]["statuses"] == {"ok": 6}
    assert document.as_text(document.build(run_folder.read(ran.folder))) == (
        ran.folder / "results.json"
    ).read_text(encoding="utf-8")


def test_preparations_are_built_once_and_reused_with_their_cost(make_project, workers):
    project = make_project()
    with Server() as server:
        first = project.run(workers, "--tokenbench-conditions=A,C,D10,D25", server=server)
        assert server.preparations == 4
        made = first.file("preparations.jsonl")
        results = copy.deepcopy(first.file("results.json"))
        second = project.run(workers, "--tokenbench-conditions=A,C,D10,D25", server=server)
        assert server.preparations == 4

    assert [(one["recipe"], one["document"]) for one in made] == [
        ("summary", "kell"),
        ("summary", "orrin"),
        ("croutons", "kell"),
        ("croutons", "orrin"),
    ]
    assert len(second.folders) == 2
    assert second.file("preparations.jsonl") == made
    assert without_timings(second.file("results.json")) == without_timings(results)
    assert results["conditions"]["D25"]["preparation"]["tokens_per_document"]["estimate"] == 155
    second.lacks("tokenbench: prepared *")


def test_failed_preparation_is_tried_again_by_the_next_run(project):
    chosen = "--tokenbench-conditions=A,C"
    with Server(Reader({("Write a summary", "Orrin"): " "})) as server:
        first = project.run("-n0", chosen, server=server)
        assert first.observations["C-orrin-q01"]["status"] == "construction_failed"
        assert (
            first.observations["C-orrin-q01"]["error_message"]
            == "the model replied with an empty summary of orrin"
        )
        assert first.observations["C-kell-q01"]["status"] == "ok"
        first.has(
            "tokenbench: prepared 2/2, summary of orrin: failed: the model replied with an empty summary of*"
        )
        assert first.status == pytest.ExitCode.OK
        server.answer = Reader()
        second = project.run("-n0", chosen, server=server)

    assert second.observations["C-orrin-q01"]["status"] == "ok"
    assert server.preparations == 3


@pytest.fixture
def handed_over(project):
    """A run folder of the project's study, as if it came from someone else, and a file outside of it."""
    with Server() as server:
        ran = project.run("-n0", "-kA-kell-q01", server=server)
    outside = project.write("outside.txt", "mine\n")
    return ran.folder, outside


@pytest.mark.parametrize(
    "name",
    ["run.json", "observations.jsonl", "preparations.jsonl", "writer.lock", "observations.jsonl.torn"],
)
def test_run_is_not_gone_on_with_through_a_link(project, handed_over, name):
    folder, outside = handed_over
    if name.endswith(".torn"):
        with (folder / "observations.jsonl").open("a", encoding="utf-8") as ledger:
            ledger.write("{torn")
    (folder / name).unlink(missing_ok=True)
    (folder / name).symlink_to(outside)

    with Server() as server:
        ran = project.run("-n0", "-kA", f"--tokenbench-resume={folder}", server=server)

    assert ran.status == pytest.ExitCode.USAGE_ERROR
    assert ran.count(f"{name}: ") == 1
    assert ran.count("symbolic link") == 1
    assert "mine" not in ran.text
    assert outside.read_text(encoding="utf-8") == "mine\n"


def test_run_that_another_process_writes_is_not_gone_on_with(project, handed_over):
    folder, _ = handed_over
    before = {file.name: file.read_bytes() for file in folder.iterdir()}
    lock = run_folder.lock(folder)
    with Server() as server:
        ran = project.run("-n0", "-kA", f"--tokenbench-resume={folder}", server=server, columns=400)
        assert not server.chats
    lock.release()

    assert ran.status == pytest.ExitCode.USAGE_ERROR
    assert (
        ran.count(f"process {os.getpid()} on {socket.gethostname()} is writing this run; wait until it ends")
        == 1
    )
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == before


def test_reports_folder_can_be_chosen(project, server):
    ran = project.run("-n0", "-kA-kell-q01", "--tokenbench-reports=out/runs", server=server)

    assert not ran.folders
    (folder,) = project.path.glob("out/runs/small/*")
    assert json.loads((folder / "results.json").read_text(encoding="utf-8"))["study"] == "small"
    ran.has("run folder: out/runs/small/*")


def test_every_option_is_an_ini_key_too(make_project, server):
    keys = {
        "model": "smollm2:135m",
        "backend": "ollama",
        "host": server.url,
        "conditions": "A",
        "quick": "true",
        "reports": "kept",
        "strict": "true",
    }
    project = make_project(
        study=STUDY + PASSING, ini="".join(f"tokenbench_{key} = {value}\n" for key, value in keys.items())
    )

    ran = project.run("-n0", OLLAMA_HOST="http://127.0.0.1:9")

    (folder,) = project.path.glob("kept/small/*")
    record = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    assert record["quick"] is True
    assert record["model"]["host"] == server.url
    assert len((folder / "observations.jsonl").read_text(encoding="utf-8").splitlines()) == 6
    ran.has("=* 2 failed, 6 passed in *")


def test_command_line_goes_before_ini(make_project, server):
    project = make_project(ini="tokenbench_conditions = A\ntokenbench_model = none\n")

    ran = project.run("-n0", "--tokenbench-conditions=B2", server=server)

    assert {one["condition"] for one in ran.observations.values()} == {"B2"}
