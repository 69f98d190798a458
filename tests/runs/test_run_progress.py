"""Where a run stands, told while it goes on: below pytest's lines on a terminal, on lines of its own in a log."""

import re
import sys

import pytest
from screens import Screen, on_a_terminal
from small_project import MODEL, PASSING, STUDY, Project, Server

SOON = {"TOKENBENCH_PROGRESS_EVERY": "0"}


def terminal(project: Project, server: Server, *arguments: str, columns: int = 80) -> str:
    """What a run writes to a terminal."""
    plugins = [f"-pno:{name}" for name in ("cacheprovider", "hypothesispytest", "anyio")]
    command = [sys.executable, "-m", "pytest", *plugins, f"--tokenbench-model={MODEL}", *arguments]
    environment = project._environment(server, columns) | {"TERM": "xterm", "PYTHONUTF8": "1"}
    return on_a_terminal(command, project.path, environment)


def stays(text: str) -> list[str]:
    """What is on the screen at the end, but for times, and places that differ from run to run."""
    screen = Screen()
    screen.write(text)
    return [re.sub(r"\d+\.\d+ ?s|\d{8}T\d{6}|project\d+|=+", "", row) for row in screen.shown if row]


@pytest.fixture(scope="module")
def written(make_project):
    """By option of xdist and way of progress, what a run of 36 trials writes to a terminal."""

    def write(workers: str, how: str, *more: str) -> str:
        with Server() as server:
            return terminal(
                make_project(study=STUDY + PASSING),
                server,
                workers,
                f"--tokenbench-progress={how}",
                "--color=no",
                *more,
            )

    return write


@pytest.mark.parametrize("more", [(), ("-v",)], ids=["letters", "verbose"])
def test_lines_below_come_and_go_and_leave_pytests_own_as_they_are(written, more):
    text = written("-n0", "auto", *more)

    assert "preparing 3/4, croutons of kell" in text
    assert re.search(r"35/36 trials, [\d,]+ tokens/s, 0 s left, \S+ of (kell|orrin)", text)
    assert re.search(r"right so far: A 100%  B2 \d+%", text)
    assert stays(text) == stays(written("-n0", "off", *more))


def test_lines_below_work_with_workers(written):
    text = written("-n2", "auto")

    assert re.search(r"\d+/36 trials, [\d,]+ tokens/s, \d+ s left, \S+ of (kell|orrin) [+]1", text)
    rows = stays(text)
    assert not [row for row in rows if "36 trials" in row or "right so far" in row]
    assert [row for row in rows if re.fullmatch(r"[.aw]{36} +\[ 94%\]", row)]


def test_no_line_is_wider_than_the_terminal(written):
    for line in re.findall(r"\x1b\[2K([^\x1b\r\n]*)", written("-n0", "auto")):
        assert len(line) < 80


def test_off_says_nothing(written):
    text = written("-n0", "off")

    assert "36 trials" not in text
    assert "\x1b[2K" not in text


def test_plain_on_a_terminal_moves_no_cursor(written):
    assert "\x1b[2K" not in written("-n0", "plain")


def test_a_log_has_a_line_a_minute(make_project, server, workers):
    ran = make_project(study=STUDY + PASSING).run(workers, server=server, **SOON)

    assert ran.status == pytest.ExitCode.OK
    ran.has(
        "tokenbench: preparing 1 of 4, summary of kell",
        "tokenbench: preparing 1 of 4, summary of kell, 1 reply so far",
    )
    lines = [line for line in ran.lines if re.match(r"tokenbench: \d+/36 trials", line)]
    assert len(lines) > 36
    assert re.fullmatch(
        r"tokenbench: 36/36 trials \(100% of the tokens\), [\d,]+ tokens/s, 0 s left; right so far: (\w+ \d+%(, )?){6}",
        lines[-1],
    )
    assert any(re.search(r", \S+ of (kell|orrin)( [+]1)?; right so far: ", line) for line in lines)


def test_a_short_run_has_none_of_them(make_project, server, workers):
    make_project(study=STUDY + PASSING).run(workers, server=server).lacks("tokenbench: *36 trials*")


def test_a_way_that_there_is_not_is_refused(project):
    ran = project.run("--tokenbench-progress=loud")

    assert ran.status == pytest.ExitCode.USAGE_ERROR
    ran.has("ERROR: --tokenbench-progress: 'loud' is none of auto, plain, off")


def test_an_ordinary_session_has_no_progress(make_project):
    project = make_project(study="def test_plain():\n    pass\n")
    ran = project.run("-n0", "--tokenbench-progress=plain", **SOON)

    assert ran.status == pytest.ExitCode.OK
    ran.lacks("*tokenbench: *")
