"""What is said of where a run stands, by a clock that is set by hand, and how it is kept below pytest's lines."""

import io
import re

import pytest
from _pytest._io import TerminalWriter
from screens import Screen

from pytest_tokenbench.handout import Work
from pytest_tokenbench.progress import Progress, duration
from pytest_tokenbench.records import Observation, Scores, Status
from pytest_tokenbench.reporting.live import Below, Nothing, Plain, open_live
from pytest_tokenbench.scheduling import TrialKey

# A trial of the whole text has 900 tokens, one of chunks 100.
WORKS = {
    ("small", TrialKey(condition, question)): Work(tokens, document=question[:4])
    for condition, tokens in (("A", 900), ("B2", 100))
    for question in ("kell-q01", "tarn-q01")
}


class Clock:
    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def progress(clock) -> Progress:
    made = Progress(clock)
    made.begins(WORKS)
    return made


def seen(condition: str, question: str = "kell-q01", *, correct: bool | None = True, **given) -> Observation:
    counts = {"input_tokens": 500, "cached_tokens": 100, "output_tokens": 20} | given
    return Observation(
        study=counts.pop("study", "small"),
        question=question,
        document=question[:4],
        condition=condition,
        reader="m",
        repeat=0,
        status=Status.OK,
        started="2026-01-01T00:00:00Z",
        host="h",
        worker="main",
        scores=Scores(abstained=correct is None, correct=correct),
        **counts,
    )


def test_time_left_goes_by_tokens_and_not_by_trials(progress, clock):
    clock.now += 10
    progress.receives(seen("B2"), reused=False)
    assert progress.seconds_left == pytest.approx(190)

    clock.now += 90
    progress.receives(seen("A"), reused=False)
    # Half of the tokens took 100 seconds.
    assert progress.share == 0.5
    assert progress.seconds_left == pytest.approx(100)


def test_nothing_is_foreseen_before_a_trial_has_ended(progress, clock):
    clock.now += 10
    assert progress.seconds_left is None
    assert progress.speed is None
    assert progress.sentence() == "0/4 trials (0% of the tokens)"


def test_speed_counts_tokens_read_anew_and_written(progress, clock):
    clock.now += 10
    progress.receives(seen("B2"), reused=False)
    assert progress.speed == pytest.approx(42)


def test_a_count_that_was_not_told_is_not_invented(progress, clock):
    clock.now += 10
    progress.receives(seen("B2", input_tokens=None, cached_tokens=None, output_tokens=None), reused=False)
    assert progress.speed is None
    assert "tokens/s" not in progress.sentence()


def test_a_trial_taken_over_from_an_earlier_session_weighs_nothing(clock):
    progress = Progress(clock)
    progress.begins(WORKS | {("small", TrialKey("A", "kell-q01")): Work()})
    clock.now += 10
    progress.receives(seen("A"), reused=True)
    assert progress.seconds_left is None
    assert progress.speed is None

    progress.receives(seen("B2"), reused=False)
    assert progress.seconds_left == pytest.approx(100)
    assert progress.sentence().startswith("2/4 trials (9% of the tokens)")


def test_a_trial_that_is_run_twice_counts_once(progress):
    for _ in range(2):
        progress.receives(seen("B2"), reused=False)
    assert progress.share == 0.05


def test_preparations_do_not_count_as_time_of_trials(clock):
    progress = Progress(clock)
    progress.prepares(2, 4, "summary of kell")
    assert progress.sentence() == "preparing 2 of 4, summary of kell"
    assert re.fullmatch(r" 25% \|█+. +\| preparing 2/4, summary of kell", progress.lines(79)[0])

    clock.now += 1_000
    progress.begins(WORKS)
    clock.now += 10
    progress.receives(seen("B2"), reused=False)
    assert progress.seconds_left == pytest.approx(190)


def test_running_accuracy_is_of_answerable_questions(progress):
    progress.receives(seen("A", correct=True), reused=False)
    progress.receives(seen("A", "tarn-q01", correct=False), reused=False)
    progress.receives(seen("B2", correct=None), reused=False)
    assert progress.sentence().endswith("; right so far: A 50%")
    assert progress.lines(79)[1] == "right so far: A 50%"


def test_conditions_are_shown_in_the_order_of_the_trials(progress):
    progress.receives(seen("B2"), reused=False)
    progress.receives(seen("A"), reused=False)
    assert progress.lines(79)[1] == "right so far: A 100%  B2 100%"


def test_conditions_of_several_studies_are_told_apart(clock):
    progress = Progress(clock)
    progress.begins(WORKS | {("other", TrialKey("A", "kell-q01")): Work(50, document="kell")})
    progress.receives(seen("A", correct=True), reused=False)
    progress.receives(seen("A", correct=False, study="other"), reused=False)
    assert progress.lines(79)[1] == "right so far: small:A 100%  other:A 0%"


def test_the_trials_under_way_are_named(progress):
    first, second = ("small", TrialKey("A", "kell-q01")), ("small", TrialKey("B2", "tarn-q01"))
    progress.starts(first)
    assert progress.sentence().endswith(", A of kell")
    progress.starts(second)
    assert progress.sentence().endswith(", B2 of tarn +1")
    progress.leaves(second)
    assert progress.sentence().endswith(", A of kell")
    progress.receives(seen("A"), reused=False)
    assert " of kell" not in progress.sentence()


@pytest.mark.parametrize("width", [10, 39, 79, 139])
def test_lines_keep_to_the_width_and_use_it(progress, clock, width):
    clock.now += 10
    progress.starts(("small", TrialKey("A", "tarn-q01")))
    progress.receives(seen("B2"), reused=False)
    first, second = progress.lines(width)
    assert len(first) == width
    assert len(second) <= width
    if width >= 39:
        assert "1/4 trials" in first
    if width >= 79:
        assert first.endswith("| 1/4 trials, 42 tokens/s, 3 min left, A of tarn")


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0, "0 s"), (99.4, "99 s"), (120, "2 min"), (3_570, "1 h 00 min"), (12_000, "3 h 20 min")],
)
def test_durations_are_as_exact_as_a_forecast(seconds, words):
    assert duration(seconds) == words


class Reporter:
    def __init__(self, file: io.StringIO) -> None:
        self._tw = TerminalWriter(file)
        self._tw.fullwidth = 60
        self.currentfspath = "test_small.py"
        self.flush = self._tw.flush

    def write_line(self, text: str) -> None:
        self._tw.line(text)


@pytest.fixture
def screen() -> Screen:
    return Screen()


@pytest.mark.parametrize(("encoding", "bar"), [("utf-8", "█"), ("ascii", "#"), ("latin-1", "#")])
def test_a_terminal_is_given_what_it_can_show(progress, encoding, bar):
    class Encoded(Screen):
        pass

    Encoded.encoding = encoding
    shown = Encoded()
    progress.prepares(2, 2, "r\u00e9sum\u00e9\x1b[2J of \u6b66")
    Below(Reporter(shown), progress).update()
    shown.rows[1].encode(encoding)
    assert bar in shown.rows[1]
    assert "\x1b" not in shown.rows[1]


def test_lines_stand_below_the_line_that_pytest_goes_on_with(progress, screen):
    reporter = Reporter(screen)
    below = Below(reporter, progress)
    reporter._tw.write("test_small.py ..")
    progress.receives(seen("A"), reused=False)
    below.update()
    assert screen.rows[0] == "test_small.py .."
    assert "1/4 trials" in screen.rows[1]
    assert screen.rows[2] == "right so far: A 100%"

    reporter._tw.write("w")
    assert screen.rows == ["test_small.py ..w", "", ""]
    below.update()
    assert screen.rows[0] == "test_small.py ..w"
    assert "1/4 trials" in screen.rows[1]


def test_a_line_that_pytest_ends_leaves_nothing_of_ours_behind(progress, screen):
    reporter = Reporter(screen)
    below = Below(reporter, progress)
    reporter._tw.write("test_small.py ..")
    below.update()
    reporter._tw.line(" [ 50%]")
    reporter._tw.write("ab")
    assert screen.rows == ["test_small.py .. [ 50%]", "ab"]
    below.update()
    below.close()
    reporter._tw.line("c")
    assert [row for row in screen.rows if row] == ["test_small.py .. [ 50%]", "abc"]
    assert reporter._tw._file is screen


def test_plain_lines_come_as_often_as_wanted_and_on_lines_of_their_own(progress, clock, screen):
    reporter = Reporter(screen)
    plain = Plain(reporter, progress, clock, every=60)
    reporter._tw.write("test_small.py ..")
    clock.now += 59
    plain.update()
    assert screen.rows == ["test_small.py .."]
    clock.now += 1
    plain.update()
    plain.update()
    reporter._tw.write("w")
    assert screen.rows == ["test_small.py ..", "tokenbench: 0/4 trials (0% of the tokens)", "w"]
    assert reporter.currentfspath is None


class Config:
    """What a session was asked, as far as it matters here."""

    def __init__(self, reporter: object, **options: str) -> None:
        self.pluginmanager = self
        self.get_plugin = {"terminalreporter": reporter}.get
        self.getoption = options.get


def usual(*, isatty: bool = True) -> pytest.TerminalReporter:
    """Pytest's own reporter, as much of it as is asked for."""
    reporter = pytest.TerminalReporter.__new__(pytest.TerminalReporter)
    reporter._tw, reporter.isatty = TerminalWriter(Screen()), isatty
    return reporter


@pytest.mark.parametrize(
    ("config", "how", "kind"),
    [
        (Config(usual(), capture="fd"), "auto", Below),
        (Config(usual(), capture="no"), "auto", Plain),
        (Config(usual(), capture="no", dist="load"), "auto", Below),
        (Config(usual(isatty=False), capture="fd"), "auto", Plain),
        (Config(Reporter(Screen()), capture="fd"), "auto", Plain),
        (Config(usual(), capture="fd"), "plain", Plain),
        (Config(usual(), capture="fd"), "off", Nothing),
        (Config(None), "auto", Nothing),
    ],
)
def test_lines_below_are_for_terminals_on_which_they_hold(progress, monkeypatch, config, how, kind):
    monkeypatch.setenv("TERM", "xterm")
    live = open_live(config, progress, how)
    live.close()
    assert type(live) is kind


def test_a_dumb_terminal_gets_plain_lines(progress, monkeypatch):
    monkeypatch.setenv("TERM", "dumb")
    assert type(open_live(Config(usual(), capture="fd"), progress, "auto")) is Plain
