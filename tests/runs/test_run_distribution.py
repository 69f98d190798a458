"""Which worker runs which trial, in real runs: groups, documents, a killed worker, repeats and shards."""

import json
import re
from collections import Counter
from itertools import groupby, pairwise

import pytest
from small_project import Server, _entry
from stub_ollama import answer_not_stated

STUDY = '''\
"""What the tests run."""

import os
import signal
from pathlib import Path

from pytest_tokenbench import Study
from pytest_tokenbench.conditions import Chunks, FullText

study = Study(
    "wide",
    questions="questions.json",
    corpus="corpus",
    conditions=[FullText("A"), Chunks("B2", top=2, words=20), Chunks("B4", top=4, words=20)],
    baseline="A",
)


@study.trials
def test_wide(trial):
    fatal = Path("fatal")
    if str(trial.key) == "B4-town4-q2" and fatal.exists():
        fatal.unlink()
        os.kill(os.getpid(), signal.SIGKILL)
    trial.ask()


def test_plain():
    assert True
'''
DOCUMENTS = [f"town{number}" for number in range(9)]
QUESTIONS = 4
TRIALS = {
    f"{condition}-{name}-q{place}"
    for condition in ("A", "B2", "B4")
    for name in DOCUMENTS
    for place in range(QUESTIONS)
}


@pytest.fixture
def wide(make_project):
    """A project with nine documents, four questions on each, three conditions, and an ordinary test."""
    project = make_project(study=STUDY)
    for name in DOCUMENTS:
        lines = [f"The street number {place} of {name} is paved with blue stone." for place in range(12)]
        project.write(f"corpus/articles/{name}.txt", "\n\n".join(lines) + "\n")
    project.write("corpus/manifest.json", json.dumps({"documents": [_entry(name) for name in DOCUMENTS]}))
    project.write_questions(
        [
            {"id": f"{name}-q{place}", "question": f"Who paved street {place} of {name}?", "answers": []}
            for name in DOCUMENTS
            for place in range(QUESTIONS)
        ]
    )
    project.pin()
    return project


def asked(server):
    """The documents that the server was asked about, in the order it was asked."""
    found = [
        re.search(r"Question: .* of (town\d)\?", chat["messages"][-1]["content"]) for chat in server.chats
    ]
    return [match[1] for match in found if match]


def families(observations):
    """Document and family of conditions of each."""
    return [(one["document"], one["condition"][0]) for one in observations]


@pytest.mark.parametrize("workers", ["-n2", "-n3"])
def test_in_cold_order_a_host_is_not_asked_twice_in_a_row_about_a_document(wide, workers):
    with Server(answer_not_stated, delay=0.01) as server:
        ran = wide.run(workers, server=server)
    assert ran.status == 0
    assert set(ran.observations) == TRIALS
    documents = asked(server)
    assert len(documents) == len(TRIALS)
    # Towards the end there may be too few documents left to choose from.
    assert not any(one == other for one, other in pairwise(documents[:80]))


@pytest.mark.parametrize("workers", ["-n2", "-n3"])
def test_in_shared_order_a_group_has_one_worker_and_nothing_comes_between(wide, workers):
    with Server(answer_not_stated, delay=0.01) as server:
        ran = wide.run(workers, "--tokenbench-order=shared", server=server)
    assert ran.status == 0
    assert set(ran.observations) == TRIALS
    observations = ran.file("observations.jsonl")
    runs = Counter()
    names = {one["worker"] for one in observations}
    assert len(names) == int(workers[-1])
    for name in names:
        mine = [one for one in observations if one["worker"] == name]
        runs.update(group for group, _ in groupby(families(mine)))
    assert runs == Counter((name, family) for name in DOCUMENTS for family in "AB")


@pytest.mark.parametrize("order", ["cold", "shared"])
def test_a_killed_worker_costs_the_trial_it_was_at_and_no_other(wide, order):
    wide.write("fatal", "")
    with Server(answer_not_stated, delay=0.01) as server:
        ran = wide.run("-n2", f"--tokenbench-order={order}", server=server)
    assert ran.status == 1
    ran.has("*crashed while running 'test_small.py::test_wide[[]B4-town4-q2[]]'*")
    assert set(ran.observations) == TRIALS - {"B4-town4-q2"}
    assert len(ran.file("observations.jsonl")) == len(TRIALS) - 1
    failed = [name for name, case in ran.cases.items() if case.result]
    assert failed == ["test_wide[B4-town4-q2]"]


def test_a_way_of_distributing_that_the_user_chose_is_kept(wide):
    with Server(answer_not_stated) as server:
        ran = wide.run("-n2", "--dist=loadfile", "-v", server=server)
    ran.has("scheduling tests via LoadFileScheduling")
    assert set(ran.observations) == TRIALS


def test_a_session_without_a_study_is_scheduled_by_xdist(wide):
    wide.write("test_other.py", "def test_other():\n    assert True\n")
    ran = wide.run("-n2", "-v", "test_other.py")
    ran.has("scheduling tests via LoadScheduling")
    assert ran.status == 0


@pytest.mark.parametrize(("order", "workers"), [("cold", "-n2"), ("shared", "-n0")])
def test_shards_have_each_trial_once(wide, order, workers):
    trials = []
    with Server(answer_not_stated) as server:
        for part in ("1/2", "2/2"):
            given = [f"--tokenbench-order={order}", f"--tokenbench-shard={part}"]
            trials += wide.run(workers, *given, server=server).observations
    assert Counter(trials) == Counter(TRIALS)


def test_a_shard_without_a_trial_is_refused(wide):
    with Server(answer_not_stated) as server:
        ran = wide.run("-n0", "--tokenbench-shard=109/200", server=server)
    assert ran.status == pytest.ExitCode.USAGE_ERROR
    assert (
        ran.count(
            "--tokenbench-shard: part 109/200 has no trial, since the study has too few; make fewer parts"
        )
        == 1
    )


def test_each_repeat_is_an_item_of_its_own(wide, workers):
    with Server(answer_not_stated) as server:
        ran = wide.run(workers, "--tokenbench-repeats=3", "-k", "A-town1-q0 or plain", server=server)
    assert ran.status == 0
    assert {name for name in ran.cases if "A-town1" in name} == {
        "test_wide[A-town1-q0]",
        "test_wide[A-town1-q0-r2]",
        "test_wide[A-town1-q0-r3]",
    }
    assert sorted(one["repeat"] for one in ran.file("observations.jsonl")) == [0, 1, 2]


def test_trials_that_would_have_one_id_are_refused(wide):
    questions = [
        {"id": name, "document": "town1", "question": f"Who paved street {place} of town1?", "answers": []}
        for place, name in enumerate(["town1-q0", "town1-q0-r2"])
    ]
    wide.write_questions(questions)
    wide.pin()
    with Server(answer_not_stated) as server:
        assert wide.run("-n0", server=server).status == 0
        ran = wide.run("-n0", "--tokenbench-repeats=2", server=server)
    assert ran.status == pytest.ExitCode.USAGE_ERROR
    said = (
        "question 'town1-q0-r2' under condition 'A' and question 'town1-q0' under condition 'A', repeat 2, "
        "would both be called A-town1-q0-r2; rename one"
    )
    assert ran.count(said) == 1
