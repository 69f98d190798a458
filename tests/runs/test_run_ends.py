"""Runs that do not come to their end, and workers that die: nothing that was measured is lost."""

import json
import os
import signal
import time

import pytest
from block_project import BLOCK_STUDY, MAIN, STRESS, CaseReader, add_blocks, cases
from disturbed import wait_until
from small_project import PASSING, STUDY, Reader, Server

from pytest_tokenbench import locking


def wait_for_observations(project, count: int) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        for file in project.path.glob("reports/*/*/observations.jsonl"):
            if file.read_bytes().count(b"\n") >= count:
                return
        time.sleep(0.02)
    pytest.fail("no observation came")


@pytest.fixture(scope="module")
def interrupted(make_project, workers):
    """A run that is interrupted from the keyboard, which every process of it notices."""
    project = make_project(study=STUDY + PASSING)
    with Server(delay=0.2) as server:
        process = project.start(workers, "--tokenbench-conditions=A,B2", server=server)
        wait_for_observations(project, 3)
        os.killpg(process.pid, signal.SIGINT)
        return project.ended(process)


def test_interrupted_run_keeps_what_was_measured(interrupted):
    assert interrupted.status == pytest.ExitCode.INTERRUPTED
    assert 3 <= len(interrupted.observations) < 12
    assert all(one["status"] == "ok" for one in interrupted.observations.values())
    assert "INTERNALERROR" not in interrupted.text


def test_interrupted_run_says_so_everywhere(interrupted):
    assert interrupted.count("note: this run did not come to its end") == 1
    assert "- this run did not come to its end\n" in interrupted.file("report.md")
    assert interrupted.file("run.json")["finished"] is None
    assert interrupted.file("results.json")["finished"] is False


def test_interrupted_run_judges_nothing(interrupted):
    assert interrupted.verdicts == {"H1": "unavailable", "H3": "unavailable"}
    interrupted.has("H1 unavailable (the run did not come to its end): D25 uses at least 10%*")


SLOW_END = """

@study.hypothesis("H9")
def h9(results):
    \"\"\"A is measured.\"\"\"
    if not Path("free").exists():
        Path("judging").touch()
        time.sleep(60)
    assert results.estimate("accuracy", "A").n
"""


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM])
def test_run_interrupted_while_it_is_judged_says_so_and_is_gone_on_with(make_project, workers, sign):
    project = make_project(study="import time\nfrom pathlib import Path\n" + STUDY + SLOW_END)
    with Server() as server:
        process = project.start(workers, "--tokenbench-conditions=A,B2", server=server)
        wait_until((project.path / "judging").exists, process)
        process.send_signal(sign)
        ran = project.ended(process)
        asked = len(server.chats)
        project.write("free", "")
        again = project.run(workers, "--tokenbench-conditions=A,B2", "--tokenbench-resume", server=server)

        assert ran.status == pytest.ExitCode.INTERRUPTED
        assert ran.count("interrupted while the results were being written; what is measured is kept") == 1
        assert ran.count("Traceback") == ran.count("KeyboardInterrupt") == 0
        assert len(server.chats) == asked
    assert again.status == pytest.ExitCode.OK
    assert again.verdicts == {"H9": "passed"}


def test_session_of_two_studies_interrupted_at_the_second_leaves_the_first_as_it_is(make_project, workers):
    project = make_project(study="import time\nfrom pathlib import Path\n" + STUDY + SLOW_END)
    project.write("test_other.py", STUDY.replace('"small"', '"other"') + PASSING)
    with Server() as server:
        process = project.start(workers, "--tokenbench-conditions=A,B2", server=server)
        wait_until((project.path / "judging").exists, process)
        process.send_signal(signal.SIGINT)
        ran = project.ended(process)

    assert ran.status == pytest.ExitCode.INTERRUPTED
    assert ran.count("interrupted while the results were being written; what is measured is kept") == 1
    assert ran.count("Traceback") == ran.count("Bad file descriptor") == ran.count("INTERNALERROR") == 0
    finished = {
        folder.parent.name: json.loads((folder / "run.json").read_text())["finished"] is not None
        for folder in ran.folders
    }
    assert finished == {"other": True, "small": False}
    assert not list(project.path.rglob(locking.FILE))


def test_run_that_stops_at_its_first_failure_did_not_come_to_its_end(make_project, workers):
    with Server(breaks=("Question: How much barley",)) as server:
        ran = make_project(study=STUDY + PASSING).run(
            workers, "-x", "--tokenbench-conditions=A,B2", server=server
        )

    assert 1 <= len(ran.observations) < 12
    assert ran.file("run.json")["finished"] is None
    assert ran.verdicts == {"H1": "unavailable", "H3": "unavailable"}
    assert ran.status != pytest.ExitCode.OK


def test_killed_run_keeps_every_trial_but_those_in_flight(make_project, workers):
    project = make_project()
    with Server(delay=0.05) as server:
        process = project.start(workers, "--tokenbench-conditions=A,B2", server=server)
        wait_for_observations(project, 3)
        os.killpg(process.pid, signal.SIGKILL)
        asked = len(server.chats)
        ran = project.ended(process)

    in_flight = 1 if workers == "-n0" else 4  # a worker begins its next trial while its report travels
    assert asked - in_flight <= len(ran.observations) < 12
    assert not (ran.folder / "results.json").exists()


def test_worker_that_dies_loses_its_trial_only(make_project, server):
    study = STUDY.replace(
        "    trial.ask()", "    if trial.question.id == 'orrin-q02':\n        os._exit(3)\n    trial.ask()"
    )
    ran = make_project(study="import os\n" + study + PASSING).run(
        "-n2", "--tokenbench-conditions=A", server=server
    )

    assert len(ran.observations) == 5
    assert ran.count("note: A: 1 trial missing (1 not run)") == 1
    assert ran.file("run.json")["finished"]
    assert ran.verdicts == {"H1": "unavailable", "H3": "unavailable"}
    assert ran.status == pytest.ExitCode.TESTS_FAILED


def test_server_that_goes_away_gives_errors_and_no_wrong_answers(make_project):
    with Server(Reader(), faults={9: "refuse"}) as server:
        ran = make_project(study=STUDY + PASSING).run(
            "-n2", "--tokenbench-conditions=A,B2", "--tb=line", server=server
        )

    errors = [one for one in ran.observations.values() if one["status"] == "error"]
    assert len(ran.observations) == 12
    assert {one["error_kind"] for one in errors} == {"unreachable"}
    assert 1 <= len(errors) <= 3
    assert ran.letters().count("E") == len(errors)
    assert ran.status == pytest.ExitCode.TESTS_FAILED


# One worker is at its first trial until the other waits for a decision. Then it fails, or dies after it.
WAITED_FOR = """\
import os
import time
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def worker(request):
    yield
    if {in_teardown} and Path("waits").exists() and os.environ["PYTEST_XDIST_WORKER"] == "gw0":
        time.sleep(1)  # what was measured is on its way
        os._exit(3)


"""
TRIALS = """\
def test_blocks(trial):
    arm = trial.key.condition
    screens = arm in ("base", "again", "select-4") or (arm.startswith("no-") and not arm[-1].isdigit())
    if not screens:
        Path("waits").touch()
    trial.ask()
    if os.environ["PYTEST_XDIST_WORKER"] == "gw0" and screens:
        while not Path("waits").exists():
            time.sleep(0.01)
        time.sleep(0.5)
        assert {in_teardown}
"""


@pytest.mark.parametrize("order", ["cold", "shared"])
@pytest.mark.parametrize(
    ("options", "in_teardown"),
    [(["-x"], False), (["--maxfail=1"], False), (["--max-worker-restart=0"], True)],
)
def test_session_ends_though_a_worker_waits_for_what_the_other_brings_no_more(
    make_project, order, options, in_teardown
):
    project = make_project()
    first, _, rest = BLOCK_STUDY.partition("def test_blocks(trial):\n    trial.ask()\n")
    assert rest
    docstring, _, study = first.partition("\n\n")
    begin, trials = (text.format(in_teardown=in_teardown) for text in (WAITED_FOR, TRIALS))
    content = cases((*MAIN[:3], *STRESS))
    add_blocks(project, content, f"{docstring}\n\n{begin}{study}{trials}{rest}")
    with Server(CaseReader(content)) as server:
        ran = project.run(
            "-n2", *options, f"--tokenbench-order={order}", "test_blocks.py", "-rs", server=server
        )

    assert (project.path / "waits").exists()
    assert ran.status != pytest.ExitCode.OK
    assert ran.count("not asked: the session ended before the trials that decide it were in") == 1
    assert "composed" not in {one["condition"] for one in ran.file("observations.jsonl")}
    assert "INTERNALERROR" not in ran.text
