"""Several hosts: each worker asks one, a dead one's trials move, and hosts that are not alike are refused together."""

from collections.abc import Callable
from typing import Any

import pytest
from disturbed import settled
from small_project import MODEL, PASSING, STUDY, Project, Ran, Server
from stub_ollama import StubModel

SOME = "--tokenbench-conditions=A,B2"


def hosts(*servers: Server) -> list[str]:
    """The options with which these are asked."""
    return [f"--tokenbench-model={MODEL}", *(f"--tokenbench-host={server.url}" for server in servers)]


@pytest.fixture
def project(make_project: Callable[..., Project]) -> Project:
    return make_project(study=STUDY + PASSING)


@pytest.fixture
def whole(make_project: Callable[..., Project]) -> Ran:
    """The undisturbed run on one host."""
    with Server() as server:
        return make_project(study=STUDY + PASSING).run("-n2", SOME, server=server)


def test_each_worker_asks_the_host_it_was_given(project, whole):
    with Server(delay=0.05) as one, Server(delay=0.05) as other:
        ran = project.run("-n2", SOME, *hosts(one, other))

    asked = {(seen["worker"], seen["host"]) for seen in ran.observations.values()}
    assert asked == {("gw0", one.url), ("gw1", other.url)}
    assert [model["host"] for model in ran.file("run.json")["hosts"]] == [one.url, other.url]
    assert settled(ran.file("results.json")) == settled(whole.file("results.json"))


def test_trials_of_a_host_that_dies_move_to_the_other(project, whole):
    with Server(faults={2: "refuse"}, delay=0.05) as dies, Server(delay=0.05) as lives:
        ran = project.run("-n2", SOME, *hosts(dies, lives), columns=300)

    assert ran.status == pytest.ExitCode.OK
    assert settled(ran.file("results.json")) == settled(whole.file("results.json"))
    seen = ran.observations.values()
    assert {one["status"] for one in seen} == {"ok"}
    assert {one["host"] for one in seen if one["worker"] == "gw1"} == {lives.url}
    moved = [one for one in seen if one["worker"] == "gw0" and one["host"] == lives.url]
    (first,) = [one for one in moved if one["attempts"]]
    assert {(one["kind"], one["host"]) for one in first["attempts"]} == {("unreachable", dies.url)}
    # What it has at the end cannot be asked any more, which is said.
    assert ran.count("note: whether the model is the same at the end could not be checked") == 1


@pytest.mark.parametrize(
    ("differs", "what"),
    [
        ({"models": {MODEL: StubModel(digest="f" * 64)}}, "model digest"),
        ({"version": "0.99.0"}, "server version"),
        ({"window": 8192}, "context length"),
    ],
)
def test_hosts_that_differ_are_refused_together(project, differs: dict[str, Any], what):
    with Server() as one, Server(**differs) as other:
        ran = project.run("-n2", SOME, *hosts(one, other), columns=400)

    assert ran.status == pytest.ExitCode.USAGE_ERROR
    assert ran.count(f"the hosts differ in the {what}: ") == 1
    assert ran.count(f" at {one.url}, ") == ran.count(f" at {other.url}; a run needs the same model") == 1
    assert not ran.folders
    assert not one.chats
    assert not other.chats


def test_host_that_is_not_there_at_the_start_is_told(project):
    with Server() as gone:
        pass
    with Server() as server:
        ran = project.run("-n2", SOME, *hosts(server, gone))

    assert ran.status == pytest.ExitCode.USAGE_ERROR
    assert ran.count(f"nothing answers at {gone.url}") == 1
    assert not ran.folders


def test_several_hosts_without_workers_are_refused(project):
    with Server() as one, Server() as other:
        ran = project.run("-n0", SOME, *hosts(one, other))

    assert ran.status == pytest.ExitCode.USAGE_ERROR
    assert ran.count("2 hosts are given, and this process asks one; add -n 2 (pytest-xdist)") == 1
    assert not ran.folders


def test_host_without_a_worker_is_told(project):
    with Server() as one, Server() as other, Server() as third:
        ran = project.run("-n2", SOME, *hosts(one, other, third))

    assert ran.status == pytest.ExitCode.OK
    assert ran.count("-n 2 leaves 1 of 3 hosts without a worker") == 1
    assert not third.chats


def test_one_host_is_asked_without_a_word_on_workers(project, workers):
    with Server() as server:
        ran = project.run(workers, SOME, *hosts(server))

    assert ran.status == pytest.ExitCode.OK
    assert {one["host"] for one in ran.observations.values()} == {server.url}
    ran.lacks("*without a worker*")
