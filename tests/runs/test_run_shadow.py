"""`tokenbench shadow` on a real run over blocks, against a server."""

import json
import os
import subprocess
import sys
import time
from dataclasses import replace

import pytest
from block_project import MAIN, RULES, CaseReader, add_blocks, cases
from small_project import MODEL, Server
from stub_ollama import StubModel

from pytest_tokenbench.cli import main

CONTENT = cases()
# The blocks, and the passage at the last rank, which few cases need.
LEFT_OUT = ["system", "examples", "what follows passages rank 2"]
NEED_IT = {f"live-{case['id']}" for case in MAIN if case["id"].startswith("r-") or case.get("gold_rank") == 3}


@pytest.fixture(scope="module")
def served():
    with Server(CaseReader(CONTENT)) as server:
        yield server


@pytest.fixture(scope="module")
def run(make_project, served):
    """The folder of a run whose composed arm was decided; only a rule's cases need what it leaves out."""
    project = make_project()
    add_blocks(project)
    return project.run("-n0", "test_blocks.py", server=served).folder


def request(case, name):
    texts = {passage["id"]: CONTENT["passages"][passage["id"]] for passage in case["passages"]}
    kind = "rule" if case["id"].startswith("r-") else "town"
    return {
        "id": name,
        "question": case["question"],
        "slices": case["slices"] | {"kind": kind},
        **CONTENT["shared"],
        "passages": list(texts.values()),
        "tail": case["tail"],
    }


@pytest.fixture
def requests(tmp_path):
    file = tmp_path / "requests.jsonl"
    file.write_text("".join(json.dumps(request(case, f"live-{case['id']}")) + "\n" for case in MAIN))
    return file


def shadow(run, requests, server, *arguments):
    return main(["shadow", str(run), str(requests), "--host", server.url, *map(str, arguments)])


def results(folder):
    return json.loads((folder / "shadow.json").read_text())


def test_answers_that_need_what_is_left_out_are_those_that_change(run, requests, served, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")

    assert shadow(run, requests, served) == 0

    (folder,) = run.glob("shadow-*")
    made = results(folder)
    assert {one["request"] for one in made["changes"]} == NEED_IT
    assert made["compared"] == len(MAIN)
    assert (
        made["slices"]["kind"]["rule"]["changed"] == made["slices"]["kind"]["rule"]["requests"] == len(RULES)
    )
    assert made["slices"]["kind"]["town"]["changed"] == len(NEED_IT) - len(RULES)
    assert made["left_out"] == LEFT_OUT
    (warning,) = made["warnings"]
    assert warning.startswith(
        "in the run this cut did not come out removable but undecided: left out together, it lost"
    )
    assert made["tokens"]["sums"]["reduced"] < made["tokens"]["sums"]["full"]
    assert {one.name for one in folder.iterdir()} == {"setup.json", "pairs.jsonl", "shadow.json", "shadow.md"}
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines()[:-1])) <= 80
    assert f"answer changed {len(NEED_IT)} {100 * len(NEED_IT) / len(MAIN):.0f}%" in " ".join(out.split())
    assert "no claim is made on which answer is right" in " ".join(out.split())
    assert out.endswith(f"wrote {folder}/shadow.json, {folder}/shadow.md\n")
    assert main(["report", str(run)]) == 0  # a comparison in its folder does a run no harm


def test_prompts_are_those_of_the_run_as_is_how_they_are_asked(run, requests, served, tmp_path):
    before = list(served.chats)
    shadow(run, requests, served, "--into", tmp_path / "into")
    during = served.chats[len(before) :]

    def of(chats):
        return {chat["messages"][-1]["content"]: chat for chat in chats}

    ran, asked = of(before), of(during)
    assert len(during) == 2 * len(MAIN)
    assert asked.keys() <= ran.keys()
    assert all(asked[prompt] == ran[prompt] for prompt in asked)


def test_killed_comparison_is_gone_on_with(run, requests, served, tmp_path):
    into, whole = tmp_path / "into", tmp_path / "whole"
    shadow(run, requests, served, "--into", whole)
    with Server(CaseReader(CONTENT), delay=0.1) as slow:
        command = [sys.executable, "-m", "pytest_tokenbench.cli", "shadow", run, requests, "--host", slow.url]
        process = subprocess.Popen([*map(str, command), "--into", str(into)], env=dict(os.environ))
        while not (into / "pairs.jsonl").exists() or (into / "pairs.jsonl").read_bytes().count(b"\n") < 3:
            assert process.poll() is None
            time.sleep(0.02)
        process.kill()
        process.wait(timeout=60)
    kept = (into / "pairs.jsonl").read_bytes()
    assert kept.count(b"\n") < len(MAIN)
    before = len(served.chats)

    assert shadow(run, requests, served, "--into", into) == 0

    assert (into / "pairs.jsonl").read_bytes().startswith(kept)
    assert len(served.chats) - before == 2 * (len(MAIN) - kept.count(b"\n"))
    made, expected = results(into), results(whole)
    assert len(made.pop("resumed")) == 1
    expected.pop("resumed")
    assert made | {"started": expected["started"]} == expected


def test_model_of_another_digest_is_warned_of(run, requests, tmp_path, capsys):
    other = {MODEL: replace(StubModel(), digest="b" * 64)}
    with Server(CaseReader(CONTENT), models=other) as server:
        assert shadow(run, requests, server, "--into", tmp_path / "into") == 0
    told = "warning: the model's digest is not the run's:"
    assert told in capsys.readouterr().out
    assert any(told[9:] in one for one in results(tmp_path / "into")["warnings"])


def test_server_that_dies_leaves_what_was_asked_and_says_how_to_go_on(
    run, requests, tmp_path, capsys, monkeypatch
):
    monkeypatch.setenv("TOKENBENCH_BACKOFF", "0.01")
    with Server(CaseReader(CONTENT), faults={4: "refuse"}) as server:
        assert shadow(run, requests, server, "--into", tmp_path / "into", "--timeout", 1) == 2
    told = capsys.readouterr()
    made = results(tmp_path / "into")
    assert (made["compared"], made["errors"]["requests"], made["not_asked"]) == (2, 5, len(MAIN) - 7)
    assert "5 requests in a row came to nothing, the last with unreachable: " in told.err
    assert told.err.endswith(f"; --into {tmp_path / 'into'} goes on\n")
    assert f"{len(MAIN) - 7} requests not asked yet" in told.out


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (
            ["--backend", "openai"],
            "the backend openai has no default host; give the server's address with --host",
        ),
        (["--timeout", "0"], "--timeout: 0 is no number of seconds above 0"),
    ],
    ids=" ".join,
)
def test_options_that_cannot_be_get_one_sentence(run, requests, capsys, arguments, told):
    assert main(["shadow", str(run), str(requests), *arguments]) == 2
    assert capsys.readouterr().err == f"{told}\n"


def test_bad_input_gets_one_sentence_and_no_folder(run, requests, served, tmp_path, capsys):
    requests.write_text(requests.read_text().replace('"tail": [', '"tale": [', 1))
    assert shadow(run, requests, served, "--into", tmp_path / "into") == 2
    told = capsys.readouterr().err.splitlines()
    assert told[0].startswith('requests.jsonl: line 1: key "tail" is missing; give the texts of this block')
    assert not (tmp_path / "into").exists()
    assert main(["shadow", str(tmp_path), str(requests)]) == 2
    assert capsys.readouterr().err == f"{tmp_path}: holds no run (run.json is missing)\n"
