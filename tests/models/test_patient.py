"""Asking again: what is retried and what is not, how long, on which host, and what is kept of it."""

import subprocess
import sys
import time
from dataclasses import replace

import pytest
import scripted
from scripted import INFO, ScriptedModel, reply
from stub_ollama import StubModel, StubOllama

from pytest_tokenbench.models import BACKOFF_VARIABLE, base, cache_note, open_model, patient
from pytest_tokenbench.models.ollama import OllamaModel
from pytest_tokenbench.models.patient import STOP_AFTER, Failures, Patient, changed, differing
from pytest_tokenbench.records import Generation
from pytest_tokenbench.settings import Settings

NAME = "smollm2:135m"
UNREACHABLE, CRASHED = base.UnreachableError("gone"), base.CrashedError("fell over")
PASSING = [
    UNREACHABLE,
    base.TimedOutError("late"),
    base.BusyError("busy"),
    CRASHED,
    base.MalformedReplyError("odd"),
]
LASTING = [
    base.ModelMissingError("no such model"),
    base.GaveUpError("on and on"),
    base.ModelError("no"),
    base.UnpreparedError("not built"),
]


def ask(model, prompt="hello"):
    return model.generate(prompt, max_tokens=5)


def kinds(model):
    return [attempt.kind for attempt in model.attempts]


def hosts(model):
    return [attempt.host for attempt in model.attempts]


class Clock:
    """Stands for the passing of time: whoever sleeps moves it on, and so does `passes`."""

    def __init__(self, monkeypatch):
        self.now = 1000.0
        self.slept = []
        monkeypatch.setattr(time, "monotonic", lambda: self.now)

    def sleep(self, seconds):
        self.slept.append(seconds)
        self.now += seconds

    def passes(self, seconds, said):
        """A reply or an error that takes so long."""

        def after():
            self.now += seconds
            return said

        return after


@pytest.fixture
def clock(monkeypatch):
    return Clock(monkeypatch)


class TestOneHost:
    def test_an_answer_at_once_has_no_failed_attempts(self):
        model = scripted.patient(ScriptedModel("yes"))
        assert ask(model).text == "yes"
        assert model.attempts == ()
        assert model.host == "here"

    @pytest.mark.parametrize("error", PASSING, ids=lambda error: error.kind)
    def test_trouble_that_may_pass_is_asked_again_and_kept(self, error):
        inner = ScriptedModel(error, error, "yes")
        model = scripted.patient(inner)
        assert ask(model).text == "yes"
        assert [(one.kind, one.message, one.host) for one in model.attempts] == [
            (error.kind, str(error), "here")
        ] * 2
        assert inner.prompts == ["hello"] * 3
        assert inner.limits == [5] * 3

    @pytest.mark.parametrize("error", LASTING, ids=lambda error: error.kind)
    def test_trouble_that_stays_is_not_asked_again_but_kept(self, error):
        inner = ScriptedModel(error, "never said")
        model = scripted.patient(inner)
        with pytest.raises(type(error), match=str(error)):
            ask(model)
        assert len(inner.prompts) == 1
        assert kinds(model) == [error.kind]

    def test_a_prompt_beyond_the_window_is_an_answer_and_no_failed_attempt(self):
        inner = ScriptedModel(base.WindowExceededError(9, 8), "never said")
        model = scripted.patient(inner)
        with pytest.raises(base.WindowExceededError):
            ask(model)
        assert (len(inner.prompts), model.attempts) == (1, ())

    def test_what_is_no_trouble_of_the_model_is_not_asked_again(self):
        inner = ScriptedModel(ZeroDivisionError(), "never said")
        with pytest.raises(ZeroDivisionError):
            ask(scripted.patient(inner))
        assert len(inner.prompts) == 1

    def test_attempts_are_bounded_and_the_last_error_is_the_one_raised(self):
        inner = ScriptedModel(*[base.BusyError(f"busy {number}") for number in range(9)])
        model = scripted.patient(inner)
        with pytest.raises(base.BusyError, match="busy 6"):
            ask(model)
        assert [one.message for one in model.attempts] == [f"busy {number}" for number in range(7)]

    def test_attempts_are_those_of_the_latest_call(self):
        model = scripted.patient(ScriptedModel(CRASHED, "one", "two"))
        ask(model)
        assert kinds(model) == ["crashed"]
        ask(model)
        assert model.attempts == ()

    def test_describing_is_asked_again_too(self):
        inner = ScriptedModel(told=[UNREACHABLE, base.BusyError("busy")])
        model = scripted.patient(inner)
        assert model.describe() == replace(INFO, host="here")
        assert kinds(model) == ["unreachable", "busy"]

    def test_ctrl_c_ends_it_at_once(self):
        inner = ScriptedModel(lambda: (_ for _ in ()).throw(KeyboardInterrupt), "never said")
        with pytest.raises(KeyboardInterrupt):
            ask(scripted.patient(inner))
        assert len(inner.prompts) == 1

    def test_closing_closes_every_model(self):
        models = [ScriptedModel(host="a"), ScriptedModel(host="b")]
        scripted.patient(*models).close()
        assert all(model.is_closed for model in models)


class TestTime:
    def test_a_host_is_asked_every_half_minute_whether_it_has_the_same_model_still(self, clock):
        inner = ScriptedModel(*(clock.passes(20, text) for text in ("one", "two", "three")), info=INFO)
        model = Patient([inner], timeout=1e6, sleep=clock.sleep)
        ask(model)
        ask(model)  # 20 s later
        inner.info = replace(inner.info, digest="sha256:other")
        with pytest.raises(base.ChangedModelError, match="is sha256:other now"):
            ask(model)  # 40 s later
        assert len(inner.prompts) == 2

    def test_pauses_double_with_some_chance_in_them_up_to_an_end(self, clock):
        errors = [base.BusyError("busy")] * 7
        seen = []
        for _ in range(30):
            model = Patient([ScriptedModel(*errors)], timeout=1e6, backoff=8.0, sleep=clock.sleep)
            with pytest.raises(base.BusyError):
                ask(model)
            seen.append(tuple(clock.slept))
            clock.slept.clear()
        for pauses in seen:
            assert all(
                least <= pause <= least + 8
                for least, pause in zip([8, 16, 30, 30, 30, 30], pauses, strict=True)
            )
        assert len(set(seen)) == 30, "chance keeps clients apart"

    def test_every_attempt_gets_what_is_left_of_the_time_and_its_own_time_is_kept(self, clock):
        inner = ScriptedModel(clock.passes(10, CRASHED), clock.passes(20, base.BusyError("b")), "yes")
        model = Patient([inner], timeout=100.0, backoff=0.0, sleep=clock.sleep)
        model.describe()
        inner.timeouts.clear()
        ask(model)
        # What crashed is described again, since it may come back as another.
        # Two thirds of what is left, in case it hangs.
        assert inner.timeouts == pytest.approx([200 / 3, 60.0, 60.0, 140 / 3])
        assert [one.seconds for one in model.attempts] == [10.0, 20.0]

    def test_no_attempt_starts_once_the_time_is_over(self, clock):
        inner = ScriptedModel(*[clock.passes(40, base.BusyError("busy"))] * 9)
        model = Patient([inner], timeout=100.0, backoff=0.0, sleep=clock.sleep)
        with pytest.raises(base.BusyError):
            ask(model)
        assert len(inner.prompts) == 3

    def test_no_pause_is_begun_that_would_outlast_the_time(self, clock):
        inner = ScriptedModel(*[clock.passes(95, base.BusyError("busy"))] * 9)
        model = Patient([inner], timeout=100.0, backoff=5.0, sleep=clock.sleep)
        with pytest.raises(base.BusyError):
            ask(model)
        assert clock.slept == []

    def test_a_call_may_have_a_time_of_its_own(self, clock):
        inner = ScriptedModel(*[clock.passes(4, base.BusyError("busy"))] * 9)
        model = Patient([inner], timeout=1000.0, backoff=0.0, sleep=clock.sleep)
        with pytest.raises(base.BusyError):
            model.generate("hello", max_tokens=5, timeout=6.0)
        assert len(inner.prompts) == 2


def three(*scripts, **given):
    """A patient on hosts a, b and c with these replies."""
    models = [ScriptedModel(*script, host=name) for name, script in zip("abc", scripts, strict=True)]
    return scripted.patient(*models, **given), models


class TestManyHosts:
    def test_the_host_given_is_the_one_asked(self):
        model, _ = three((), ("from b",), (), first=1)
        assert ask(model).text == "from b"
        assert model.host == "b"

    @pytest.mark.parametrize("error", [UNREACHABLE, CRASHED])
    def test_a_host_that_is_down_twice_in_a_row_is_left_for_good(self, error):
        model, (a, _, _) = three((error, error), ("one", "two"), ())
        assert ask(model).text == "one"
        assert hosts(model) == ["a", "a"]
        assert model.host == "b"
        assert ask(model).text == "two"
        assert (model.attempts, len(a.prompts)) == ((), 2)

    def test_being_down_once_is_not_enough(self):
        model, _ = three((CRASHED, "yes"), (), ())
        assert ask(model).text == "yes"
        assert model.host == "a"

    def test_down_in_two_trials_once_each_is_not_enough(self):
        model, _ = three((CRASHED, "one", CRASHED, "two"), (), ())
        ask(model)
        assert ask(model).text == "two"
        assert model.host == "a"

    def test_being_busy_or_odd_is_not_being_down(self):
        model, _ = three(
            (CRASHED, base.BusyError("b"), CRASHED, base.MalformedReplyError("m"), "yes"), (), ()
        )
        assert ask(model).text == "yes"
        assert hosts(model) == ["a"] * 4

    def test_a_host_that_lets_the_time_run_out_is_left_before_the_next_trial(self, clock):
        late = clock.passes(60, base.TimedOutError("late"))
        model, _ = three((late,), ("yes",), ())
        with pytest.raises(base.TimedOutError):
            ask(model)
        assert ask(model).text == "yes"
        assert model.host == "b"

    def test_no_time_is_lost_before_another_host_is_asked(self, clock):
        models = [ScriptedModel(CRASHED, CRASHED, host="a"), ScriptedModel("yes", host="b")]
        ask(Patient(models, timeout=100.0, backoff=1.0, sleep=clock.sleep))
        paused = [pause for pause in clock.slept if pause]
        assert len(paused) == 1

    def test_after_the_last_host_comes_the_first_one(self):
        model, _ = three(("yes",), (), (CRASHED, CRASHED), first=2)
        assert ask(model).text == "yes"
        assert model.host == "a"

    def test_a_failed_host_is_passed_over_as_long_as_another_has_not_failed(self):
        model, (a, _, _) = three(
            (CRASHED, CRASHED, "again"), ("one", CRASHED, CRASHED), ("two", CRASHED, CRASHED)
        )
        assert (ask(model).text, model.host) == ("one", "b")
        assert (ask(model).text, model.host) == ("two", "c")
        assert len(a.prompts) == 2
        assert (ask(model).text, model.host) == ("again", "a")

    def test_with_all_hosts_down_the_call_ends_after_each_was_tried(self):
        model, models = three(*[(UNREACHABLE,) * 9] * 3)
        with pytest.raises(base.UnreachableError):
            ask(model)
        assert len(model.attempts) <= 7 + 2 * 2
        assert all(len(one.prompts) >= 2 for one in models)

    @pytest.mark.parametrize(
        "other", [{"digest": "sha256:other"}, {"server_version": "9.9"}, {"window": 2048}]
    )
    def test_a_host_with_another_model_does_not_take_over(self, other):
        a = ScriptedModel("first", CRASHED, CRASHED, host="a")
        b = ScriptedModel("wrong", host="b", info=replace(INFO, **other))
        c = ScriptedModel("right", host="c")
        model = scripted.patient(a, b, c)
        ask(model)
        assert ask(model).text == "right"
        assert (model.host, b.prompts) == ("c", [])
        assert kinds(model) == ["crashed", "crashed", "changed"]
        (told,) = {str(value) for value in other.values()}
        assert told.replace("2048", "2,048") in model.attempts[2].message
        assert "at b" in model.attempts[2].message

    def test_a_host_without_the_model_does_not_take_over(self):
        a = ScriptedModel(CRASHED, CRASHED, host="a")
        b = ScriptedModel(host="b", told=[base.ModelMissingError("none here")])
        model = scripted.patient(a, b, ScriptedModel("right", host="c"))
        model.describe()
        assert ask(model).text == "right"
        assert kinds(model) == ["crashed", "crashed", "model_missing"]

    def test_every_host_is_described_in_its_order(self):
        model, _ = three((), (), (), first=2)
        assert [info.host for info in model.describe_hosts()] == ["a", "b", "c"]

    def test_describing_hosts_ends_with_the_first_trouble_unless_it_is_patient(self):
        a, b = ScriptedModel(host="a"), ScriptedModel(host="b", told=[UNREACHABLE] * 2)
        with pytest.raises(base.UnreachableError):
            scripted.patient(a, b).describe_hosts()
        assert [info.host for info in scripted.patient(a, b).describe_hosts(patiently=True)] == ["a", "b"]


def test_a_host_that_comes_back_with_another_model_is_not_asked():
    inner = ScriptedModel("one", CRASHED, "wrong")
    model = scripted.patient(inner)
    ask(model)
    inner.info = replace(inner.info, digest="sha256:new")
    with pytest.raises(base.ChangedModelError) as caught:
        ask(model)
    assert str(caught.value) == "the model digest at here was sha256:abc and is sha256:new now"
    assert len(inner.prompts) == 2
    with pytest.raises(base.ChangedModelError):
        ask(model)


def test_hosts_that_are_alike_differ_in_nothing():
    assert differing([INFO]) is None
    assert differing([replace(INFO, host=name) for name in "abc"]) is None
    assert differing([replace(INFO, host=name, name=name, engine={"threads": name}) for name in "ab"]) is None


@pytest.mark.parametrize(
    ("field", "value", "sentence"),
    [
        (
            "digest",
            "sha256:x",
            "the hosts differ in the model digest: sha256:abc at a, sha256:abc at b, sha256:x at c",
        ),
        (
            "digest",
            None,
            "the hosts differ in the model digest: sha256:abc at a, sha256:abc at b, unknown at c",
        ),
        (
            "server_version",
            "0.9",
            "the hosts differ in the server version: unknown at a, unknown at b, 0.9 at c",
        ),
        ("window", 8192, "the hosts differ in the context length: 4,096 at a, 4,096 at b, 8,192 at c"),
    ],
)
def test_what_differs_is_told_in_one_sentence_with_every_host(field, value, sentence):
    alike = [replace(INFO, host=name) for name in "ab"]
    assert differing([*alike, replace(INFO, host="c", **{field: value})]) == sentence


def test_what_changed_on_a_host_is_told_with_both_values():
    before = replace(INFO, host="a", window=16384)
    assert changed(before, before) is None
    assert (
        changed(before, replace(before, window=4096)) == "the context length at a was 16,384 and is 4,096 now"
    )


class TestRealServers:
    @pytest.mark.parametrize(
        ("fault", "kind"),
        [
            ("refuse", "unreachable"),
            ("reset", "unreachable"),
            ("half", "unreachable"),
            ("503", "busy"),
            ("500", "crashed"),
            ("malformed", "malformed"),
            ("empty", "malformed"),
            ("done_false", "malformed"),
            ("missing_counts", "malformed"),
            ("uncounted_reply", "malformed"),
            ("high_count", "malformed"),
            ("long_duration", "malformed"),
        ],
    )
    def test_each_passing_fault_is_followed_by_the_answer(self, fault, kind):
        with StubOllama(answer=lambda _: "42", faults=[fault]) as server:
            port = int(server.url.rpartition(":")[2])
            model = scripted.patient(OllamaModel(NAME, host=server.url, timeout=5))
            if fault == "refuse":  # nobody listens after it: another takes the port
                with pytest.raises(base.UnreachableError):
                    ask(model)
                failed = kinds(model)
                server.stop()
                with StubOllama(answer=lambda _: "42", port=port):
                    text = ask(model).text
            else:
                text, failed = ask(model).text, kinds(model)
            model.close()
        assert text == "42"
        assert set(failed) == {kind}

    @pytest.mark.parametrize("fault", ["gave_up", "repeat_limit"])
    def test_a_reply_that_was_given_up_is_asked_for_once(self, fault):
        with StubOllama(faults=[fault]) as server:
            model = scripted.patient(OllamaModel(NAME, host=server.url))
            with pytest.raises(base.GaveUpError):
                ask(model)
            model.close()
        assert len(server.chats) == 1
        assert kinds(model) == ["gave_up"]

    def test_a_reply_that_never_tells_its_counts_is_an_error_in_the_end(self):
        with StubOllama(faults=["missing_counts"] * 9) as server:
            model = scripted.patient(OllamaModel(NAME, host=server.url))
            with pytest.raises(base.MalformedReplyError, match="does not tell how many tokens"):
                ask(model)
            model.close()
        assert len(server.chats) == 7

    def test_a_dead_server_s_trials_go_to_another_one_and_are_its_own(self):
        with StubOllama(answer=lambda _: "a") as a, StubOllama(answer=lambda _: "b") as b:
            model = scripted.patient(OllamaModel(NAME, host=a.url), OllamaModel(NAME, host=b.url))
            assert (ask(model).text, model.host) == ("a", a.url)
            a.stop()
            assert (ask(model).text, model.host) == ("b", b.url)
            model.close()
        assert set(hosts(model)) == {a.url}

    def test_a_server_with_another_version_of_the_model_is_never_asked(self):
        other = {NAME: StubModel(digest="0" * 64)}
        with StubOllama() as a, StubOllama(other) as b:
            model = scripted.patient(OllamaModel(NAME, host=a.url), OllamaModel(NAME, host=b.url))
            ask(model)
            a.stop()
            with pytest.raises(base.ModelError):
                ask(model)
            model.close()
        assert not b.chats
        assert "changed" in kinds(model)

    def test_a_password_is_in_no_attempt(self):
        with StubOllama(faults=["500"]) as server:
            model = scripted.patient(OllamaModel(NAME, host=server.url.replace("//", "//kim:s3cret@")))
            ask(model)
            model.close()
        (attempt,) = model.attempts
        assert attempt.host == model.host == server.url
        assert "s3cret" not in str(model.attempts)


def settings(tmp_path, **given):
    known = {
        "backend": "ollama", "model": NAME, "hosts": (), "conditions": None, "quick": False, "reports": tmp_path,
        "strict": False, "prices": None, "preparations": tmp_path,
    }  # fmt: skip
    return Settings(**(known | given))


class TestOpening:
    def test_every_host_is_there_and_the_one_of_this_process_is_asked(self, tmp_path, monkeypatch):
        monkeypatch.setenv(BACKOFF_VARIABLE, "0")
        with StubOllama() as a, StubOllama(answer=lambda _: "b") as b:
            model = open_model(settings(tmp_path, hosts=(a.url, b.url), first_host=1), lambda _: None)
            assert ask(model).text == "b"
            assert [info.host for info in model.describe_hosts()] == [a.url, b.url]
            model.close()
        assert b.loads[0]["options"]["num_ctx"] == 16384

    def test_the_embedded_model_has_one_host_named_so(self, tmp_path):
        model = open_model(settings(tmp_path, backend="embedded", model="smollm2-135m"), lambda _: None)
        assert model.host == "embedded"

    def test_the_time_of_a_trial_is_the_one_of_the_settings(self, tmp_path, monkeypatch):
        monkeypatch.setenv(BACKOFF_VARIABLE, "0")
        with StubOllama(delay=1.0) as server:
            model = open_model(settings(tmp_path, hosts=(server.url,), timeout=0.3), lambda _: None)
            with pytest.raises(base.TimedOutError, match=r"within 0\.[1-3] s"):
                ask(model)
            model.close()

    def test_a_note_on_former_prompts_is_for_ollama_alone(self):
        assert cache_note(replace(INFO, backend="ollama", server_version="0.33.0")) is not None
        assert cache_note(replace(INFO, backend="embedded", server_version="0.33.0")) is None

    @pytest.mark.parametrize(("given", "seconds"), [("0.5", 0.5), ("-1", 0.0), ("soon", patient.BACKOFF)])
    def test_the_pause_can_be_set_for_who_knows_better(self, tmp_path, monkeypatch, given, seconds):
        monkeypatch.setenv(BACKOFF_VARIABLE, given)
        assert open_model(settings(tmp_path, hosts=("box",)), lambda _: None)._backoff == seconds


def test_a_reply_comes_through_as_it_was_given():
    said = reply("yes", cached_tokens=3, stop="length", thinking="hm")
    got = ask(scripted.patient(ScriptedModel(said)))
    assert isinstance(got, Generation)
    assert got is said


def test_nothing_for_waiting_is_imported_before_a_model_is_asked():
    program = (
        "import sys, pytest_tokenbench.plugin, pytest_tokenbench.models, pytest_tokenbench.trial\n"
        "sys.exit('tenacity' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


class TestFailures:
    def test_as_many_in_a_row_as_are_too_many(self):
        failures = Failures()
        for _ in range(STOP_AFTER - 1):
            failures.failed("unreachable")
            assert not failures.are_too_many
        failures.failed("busy")
        assert failures.are_too_many

    def test_an_answer_begins_a_new_row(self):
        failures = Failures(2)
        failures.failed("unreachable")
        failures.answered()
        failures.failed("unreachable")
        assert not failures.are_too_many

    def test_replies_that_repeat_themselves_neither_count_nor_begin_a_new_row(self):
        failures = Failures(2)
        for kind in ("gave_up", "unreachable", "gave_up", "gave_up"):
            failures.failed(kind)
        assert not failures.are_too_many
        failures.failed("timed_out")
        assert failures.are_too_many

    @pytest.mark.parametrize("answers", [True, False])
    def test_refusals_count_only_where_the_server_has_answered_nothing(self, answers):
        failures = Failures(2, answers=answers)
        failures.failed("refused")
        failures.failed("refused")
        assert failures.are_too_many is not answers
