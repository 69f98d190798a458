"""Runs that are killed, again and again: what is gone on with comes to what an undisturbed run comes to."""

import os
import random
import resource
import signal
import time
from collections.abc import Callable, Iterator
from functools import cache

import pytest
from disturbed import (
    KilledServer,
    at_a_random_moment,
    children,
    going_on,
    lines,
    measured,
    settled,
    wait_until,
)
from small_project import PASSING, STUDY, Project, Ran, Server

REPEATS = "--tokenbench-repeats=3"
TRIALS = 6 * 6 * 3
IMPATIENT = {"TOKENBENCH_BACKOFF": "0.05"}


@pytest.fixture(scope="session")
def undisturbed(make_project: Callable[..., Project]) -> Callable[[str], Ran]:
    @cache
    def run(workers: str) -> Ran:
        with Server() as server:
            return make_project(study=STUDY + PASSING).run(workers, REPEATS, server=server)

    return run


@pytest.fixture
def whole(undisturbed: Callable[[str], Ran], workers: str) -> Ran:
    return undisturbed(workers)


@pytest.fixture
def hurt(make_project: Callable[..., Project]) -> Project:
    """The same project, whose run is going to be disturbed."""
    return make_project(study=STUDY + PASSING)


@pytest.fixture
def slow() -> Iterator[Server]:
    with Server(delay=0.02) as server:
        yield server


def to_the_end(project: Project, workers: str, server: Server | None = None, **environment: str) -> Ran:
    ran = project.run(workers, REPEATS, *going_on(project), server=server, **environment)
    assert ran.status == pytest.ExitCode.OK
    return ran


def assert_nothing_was_lost(ran: Ran, whole: Ran) -> None:
    assert len(ran.folders) == 1
    assert measured(ran) == measured(whole)
    assert settled(ran.file("results.json")) == settled(whole.file("results.json"))
    assert len(ran.cases) == len(whole.cases) == TRIALS + 2


def test_controller_killed_at_twenty_random_moments(hurt, slow, workers, whole):
    chance = random.Random(f"controller {workers}")
    for _ in range(20):
        process = hurt.start(workers, REPEATS, *going_on(hurt), server=slow)
        at_a_random_moment(hurt, process, chance)
        os.killpg(process.pid, signal.SIGKILL)
        hurt.ended(process)
    assert 0 < lines(hurt) < TRIALS

    assert_nothing_was_lost(to_the_end(hurt, workers, slow), whole)


def test_workers_killed_at_ten_random_moments(hurt, slow, undisturbed):
    chance = random.Random("worker")
    process = hurt.start("-n2", REPEATS, "--max-worker-restart=20", server=slow)
    killed = 0
    for _ in range(10):
        before = lines(hurt)
        enough = before + chance.randint(1, 6)
        wait_until(lambda enough=enough: lines(hurt) >= enough, process)
        time.sleep(chance.uniform(0, 0.03))
        if process.poll() is None and (alive := children(process)):
            os.kill(chance.choice(alive), signal.SIGKILL)
            killed += 1
    crashed = hurt.ended(process)
    assert crashed.status == pytest.ExitCode.TESTS_FAILED
    assert TRIALS - 10 <= lines(hurt) < TRIALS
    assert killed >= 5
    # A worker that is killed before it is handed a trial loses none.
    assert 1 <= crashed.text.count("crashed while running") <= killed

    assert_nothing_was_lost(to_the_end(hurt, "-n2", slow), undisturbed("-n2"))


def test_server_killed_at_five_random_moments(hurt, workers, whole):
    chance = random.Random(f"server {workers}")
    with KilledServer() as server:
        environment = IMPATIENT | {"OLLAMA_HOST": server.url}
        model = "--tokenbench-model=smollm2:135m"
        process = hurt.start(workers, REPEATS, model, **environment)
        for _ in range(5):
            at_a_random_moment(hurt, process, chance)
            server.kill()
            time.sleep(chance.uniform(0, 0.5))
            server.start()
        ran = hurt.ended(process)
        # Retries may have sat all of it out.
        if ran.status != pytest.ExitCode.OK:
            ran = hurt.run(workers, REPEATS, model, *going_on(hurt), **environment)

    assert ran.status == pytest.ExitCode.OK
    errors = [one for one in ran.file("observations.jsonl") if one["status"] == "error"]
    assert all(one["attempts"] for one in errors)
    seen = {(one["condition"], one["question"], one["repeat"]) for one in ran.file("observations.jsonl")}
    assert len(seen) == TRIALS
    assert settled(ran.file("results.json")) == settled(whole.file("results.json"))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
def test_run_that_is_told_to_end_says_where_it_stands_and_is_gone_on_with(hurt, slow, workers, whole, number):
    process = hurt.start(workers, REPEATS, server=slow)
    wait_until(lambda: lines(hurt) >= 5, process)
    os.kill(process.pid, number)
    told = hurt.ended(process)
    assert told.status == pytest.ExitCode.INTERRUPTED
    assert told.file("run.json")["finished"] is None
    assert told.count("note: this run did not come to its end") == 1

    assert_nothing_was_lost(to_the_end(hurt, workers, slow), whole)


def test_run_interrupted_while_it_prepares_keeps_what_was_built(hurt, workers, whole):
    with Server(delay=0.3) as server:
        process = hurt.start(workers, REPEATS, server=server)
        built = lambda: sum(  # noqa: E731
            file.read_bytes().count(b"\n") for file in hurt.path.glob("reports/*/*/preparations.jsonl")
        )
        wait_until(lambda: built() >= 2, process)
        os.kill(process.pid, signal.SIGINT)
        told = hurt.ended(process)
        assert told.status == pytest.ExitCode.INTERRUPTED
        assert lines(hurt) == 0
        before = len(server.chats)
    with Server() as server:
        ran = to_the_end(hurt, workers, server)
        again = len(server.chats) - TRIALS

    assert_nothing_was_lost(ran, whole)
    assert again + before - 1 <= 4 + 1, "what was built is not built again"


def test_full_disk_ends_the_run_with_one_sentence(hurt, slow, workers, whole):
    # pytest's own JUnit file would not fit either.
    process = hurt.start(workers, REPEATS, "--junitxml=/dev/null", server=slow)
    wait_until(lambda: lines(hurt) >= 5, process)
    (ledger,) = hurt.path.glob("reports/*/*/observations.jsonl")
    # No file of this process may grow beyond what the ledger has and a part of its next line.
    limit = ledger.stat().st_size + 300
    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (limit, limit))
    told = hurt.ended(process)
    assert told.status == pytest.ExitCode.INTERRUPTED
    assert told.count("--tokenbench-resume goes on from there") >= 1
    assert told.count("INTERNALERROR") == told.count("Traceback") == 0
    assert all(line.endswith(b"}\n") for line in ledger.read_bytes().splitlines(keepends=True))

    assert_nothing_was_lost(to_the_end(hurt, workers, slow), whole)


def test_second_writer_is_told_who_has_the_run(hurt, workers, whole):
    with Server(delay=0.1) as server:
        first = hurt.start(workers, REPEATS, server=server)
        wait_until(lambda: lines(hurt) >= 3, first)
        second = hurt.run(workers, REPEATS, "--tokenbench-resume", server=server)
        assert second.status == pytest.ExitCode.USAGE_ERROR
        assert second.count(f"process {first.pid} on") == 1
        assert second.count("is writing this run") == 1
        os.killpg(first.pid, signal.SIGKILL)
        hurt.ended(first)

    with Server() as server:
        assert_nothing_was_lost(to_the_end(hurt, workers, server), whole)
