"""Arms of later stages: decided once, when all that they need is in; whoever waits is told, or told why not."""

import threading
from types import SimpleNamespace

import pytest

from pytest_tokenbench.deciding import Board, Stages, Told, UndecidedError
from pytest_tokenbench.records import Decision, Observation, Status
from pytest_tokenbench.scheduling import TrialKey

QUESTIONS = ("q1", "q2")


def seen(key, status=Status.OK):
    return Observation(
        study="s",
        question=key.question,
        document=key.question,
        condition=key.condition,
        reader="r",
        repeat=key.repeat,
        status=status,
        started="2026-01-01T00:00:00+00:00",
        host="h",
        worker="main",
    )


class Desk:
    """Two arms at once, one that needs both, one that needs that one; keeps what is decided and told."""

    def __init__(self, done=(), pending=None, kept=()):
        self.observations = {}
        self.told, self.kept, self.judged = [], [], []
        for key in done:
            self.receive(key)
        keys = [TrialKey(arm, question) for arm in ("a", "b", "c", "d") for question in QUESTIONS]
        self.pending = [key for key in keys if key not in done] if pending is None else pending
        loaded = SimpleNamespace(
            study=SimpleNamespace(needs=lambda _, stage: {1: ("a", "b"), 2: ("c",)}[stage]),
            material=None,
            questions=dict.fromkeys(QUESTIONS),
            layout=SimpleNamespace(stages={"a": 0, "b": 0, "c": 1, "d": 2}),
        )

        def judge(stage):
            self.judged.append((stage, len(self.observations)))
            return (Decision({1: "c", 2: "d"}[stage], left_out=(f"of stage {stage}",)),)

        self.stages = Stages(
            loaded,
            self.observations,
            self.pending,
            repeats=1,
            kept=tuple(kept),
            judge=judge,
            keep=self.kept.append,
            tell=self.told.append,
        )

    def receive(self, key, status=Status.OK):
        self.observations[key.condition, key.question, key.repeat] = seen(key, status)

    def ask(self, *arms, status=Status.OK):
        for arm in arms:
            for question in QUESTIONS:
                self.receive(TrialKey(arm, question), status)
                self.stages.ended(TrialKey(arm, question))

    @property
    def decided(self):
        return [one.arm for one in self.kept]


def test_a_stage_is_decided_with_the_last_trial_that_it_needs_and_not_before():
    desk = Desk()
    desk.ask("a")
    assert desk.told == []
    desk.ask("b")
    assert desk.decided == ["c"]
    assert desk.judged == [(1, 4)]
    desk.ask("c")
    assert desk.decided == ["c", "d"]
    assert [one.arm for one in desk.told[-1].decisions] == ["c", "d"]
    assert desk.told[-1].hindrance is None


def test_what_is_in_already_is_decided_at_the_start():
    desk = Desk(done=[TrialKey(arm, question) for arm in ("a", "b", "c") for question in QUESTIONS])

    assert desk.decided == ["c", "d"]


def test_what_an_earlier_session_decided_is_not_judged_again():
    kept = [Decision("c", left_out=("as it was then",))]
    desk = Desk(done=[TrialKey(arm, question) for arm in ("a", "b") for question in QUESTIONS], kept=kept)

    assert desk.judged == []
    assert desk.told[-1].decisions == tuple(kept)


@pytest.mark.parametrize("status", [Status.ERROR, None])
def test_a_trial_without_a_result_keeps_the_stage_from_being_decided_at_once(status):
    desk = Desk()
    if status:
        desk.receive(TrialKey("a", "q1"), status)
    desk.stages.ended(TrialKey("a", "q1"))

    assert desk.decided == []
    assert "1 trial of a did not end well" in desk.told[-1].hindrance
    desk.ask("b")
    assert desk.decided == []


def test_trials_that_were_not_selected_are_a_hindrance_from_the_start():
    desk = Desk(pending=[TrialKey("c", "q1")])

    assert "4 trials of a, b" in desk.told[-1].hindrance


@pytest.mark.parametrize("status", [Status.OVER_WINDOW, Status.NOT_NEEDED])
def test_a_trial_that_could_only_come_to_the_same_again_is_in(status):
    desk = Desk()
    desk.ask("a", "b", status=status)

    assert desk.decided == ["c"]


class TestBoard:
    def test_the_same_process_is_told_at_once(self):
        board = Board(None)
        board.tell("s", Told((Decision("c"),)))

        assert board.decision("s", "c") == Decision("c")

    def test_the_same_process_never_waits(self):
        with pytest.raises(UndecidedError, match="before the trials that decide it were in"):
            Board(None).decision("s", "c")

    def test_another_process_waits_until_it_is_told(self, tmp_path):
        writer, reader = Board(tmp_path / "b"), Board(tmp_path / "b", reads=True)
        writer.tell("s", Told((Decision("c"),)))
        timer = threading.Timer(0.2, writer.tell, ("s", Told((Decision("c"), Decision("d", ("x",))))))
        timer.start()

        assert reader.decision("s", "d") == Decision("d", ("x",))
        timer.join()

    @pytest.mark.parametrize(
        "end", [lambda one: one.end(), lambda one: one.tell("s", Told(hindrance="it ended"))]
    )
    def test_who_waits_for_what_will_not_come_is_let_go(self, tmp_path, end):
        writer, reader = Board(tmp_path / "b"), Board(tmp_path / "b", reads=True)
        writer.tell("s", Told())
        timer = threading.Timer(0.2, end, (writer,))
        timer.start()

        with pytest.raises(UndecidedError, match="ended"):
            reader.decision("s", "d")
        timer.join()

    @pytest.mark.parametrize("told", [(), (Told(),), (Told((Decision("c"),)),)])
    def test_the_end_is_seen_whatever_was_told_before(self, tmp_path, told):
        writer, reader = Board(tmp_path / "b"), Board(tmp_path / "b", reads=True)
        reasons = []

        def wait():
            with pytest.raises(UndecidedError) as caught:
                reader.decision("s", "d")
            reasons.append(str(caught.value))

        waiting = threading.Thread(target=wait, daemon=True)
        for one in told:
            writer.tell("s", one)
        waiting.start()
        writer.end()
        waiting.join(60)

        assert [reason[:17] for reason in reasons] == ["the session ended"]
        late = Board(tmp_path / "b", reads=True)
        with pytest.raises(UndecidedError, match="ended"):
            late.decision("another", "d")
        if told and told[0].decisions:
            assert late.decision("s", "c") == Decision("c")

    def test_who_lost_its_controller_does_not_wait(self, tmp_path, monkeypatch):
        reader = Board(tmp_path / "b", reads=True)
        monkeypatch.setattr("os.getppid", lambda: -1)
        monkeypatch.setattr("time.sleep", lambda _: pytest.fail("it waits"))

        with pytest.raises(UndecidedError):
            reader.decision("s", "d")

    def test_names_of_studies_are_no_paths(self, tmp_path):
        writer, reader = Board(tmp_path / "b"), Board(tmp_path / "b", reads=True)
        writer.tell("../../s", Told((Decision("c"),)))

        assert reader.decision("../../s", "c") == Decision("c")
        assert {file.parent for file in tmp_path.rglob("*") if file.is_file()} == {tmp_path / "b"}

    def test_the_folder_is_gone_at_the_end(self, tmp_path):
        board = Board(tmp_path / "b")
        board.tell("s", Told())
        board.remove()

        assert not (tmp_path / "b").exists()
