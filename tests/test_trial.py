"""One trial from question to observation: each way it can end, and what is recorded of it."""

import datetime as dt
import hashlib
from dataclasses import replace

import pytest
import scripted

from pytest_tokenbench import trial
from pytest_tokenbench.conditions import Chunks, Croutons, FullText
from pytest_tokenbench.models import base
from pytest_tokenbench.records import Attempt, Outcome, Remark, Scores, Status
from pytest_tokenbench.trial import Case, failed, observe

DOCUMENT = scripted.document("The mill was built in 1901.\n")
CASE = Case(
    study="made",
    question=scripted.question(),
    document=DOCUMENT,
    condition=FullText("A"),
    reader="scripted:1b",
    host="here",
    worker="gw1",
)
PROMPT = (
    "Answer the question using only the context. Reply with the answer in a few words. If the context does not "
    "contain the answer, reply exactly: not stated.\n\n"
    "Context:\nThe mill was built in 1901.\n\nQuestion: When was the mill built?"
)


def seen(said, **changes):
    return observe(replace(CASE, **changes), scripted.patient(scripted.ScriptedModel(*[said] * 9)))


def sha256(text):
    return hashlib.sha256(text.encode()).hexdigest()


class TestAnswered:
    def test_the_model_is_asked_once_with_the_prompt_and_64_tokens_for_the_answer(self):
        model = scripted.ScriptedModel("1901")
        observe(CASE, scripted.patient(model))
        assert model.prompts == [PROMPT]
        assert model.limits == [64]

    def test_everything_the_model_told_is_recorded(self):
        said = scripted.reply(
            " In 1901.\n",
            input_tokens=60,
            cached_tokens=3,
            output_tokens=5,
            prefill_s=0.1,
            decode_s=0.2,
            load_s=0.3,
            total_s=0.6,
            wall_s=0.7,
            stop="length",
        )
        one = seen(said, repeat=2)
        assert one.status is Status.OK
        assert one.answer == " In 1901.\n"
        assert (one.input_tokens, one.cached_tokens, one.output_tokens) == (60, 3, 5)
        assert (one.prefill_s, one.decode_s, one.load_s, one.total_s, one.wall_s) == (0.1, 0.2, 0.3, 0.6, 0.7)
        assert one.stop == "length"
        assert (one.study, one.question, one.document, one.condition) == ("made", "mill-q1", "mill", "A")
        assert (one.reader, one.repeat, one.host, one.worker) == ("scripted:1b", 2, "here", "gw1")
        assert (one.error_kind, one.error_message) == (None, None)
        assert one.key == ("A", "mill-q1", 2)

    def test_what_the_model_did_not_tell_is_unknown_and_not_zero(self):
        one = seen(scripted.reply("1901", input_tokens=None, output_tokens=None, stop=None))
        assert one.status is Status.OK
        assert (one.input_tokens, one.cached_tokens, one.output_tokens) == (None, None, None)
        assert (one.prefill_s, one.total_s, one.stop) == (None, None, None)

    def test_context_and_prompt_are_recorded_by_hash_and_the_context_by_words_and_units(self):
        one = seen("1901")
        assert one.context_sha256 == sha256("The mill was built in 1901.")
        assert one.prompt_sha256 == sha256(PROMPT)
        assert one.context_words == 6
        assert one.units == ("document",)

    def test_the_units_are_those_of_the_condition_in_its_order(self):
        made = scripted.preparation("Sheep graze here.", "The mill is old.", "Hills are high.", key="k7")
        one = seen("old", condition=Croutons("D", top=2), preparation=made)
        assert one.units == ("crouton-1", "crouton-0")
        assert one.context_sha256 == sha256("The mill is old.\nSheep graze here.")
        assert one.preparation == "k7"

    def test_without_a_preparation_none_is_named(self):
        assert seen("1901", condition=Chunks("B2", top=2)).preparation is None

    def test_the_start_is_a_time_of_now_with_its_zone(self):
        before = dt.datetime.now(dt.UTC) - dt.timedelta(milliseconds=1)
        started = dt.datetime.fromisoformat(seen("1901").started)
        assert before <= started <= dt.datetime.now(dt.UTC)


class TestScores:
    @pytest.mark.parametrize(
        ("answer", "outcome", "correct", "abstained"),
        [
            ("It was built in 1901.", Outcome.CORRECT, True, False),
            ("1902", Outcome.WRONG, False, False),
            ("11901", Outcome.WRONG, False, False),
            ("", Outcome.WRONG, False, False),
            ("Not stated.", Outcome.WRONG, False, True),
            ("Not stated, but perhaps 1901.", Outcome.WRONG, False, True),
        ],
    )
    def test_an_answerable_question_is_correct_or_wrong(self, answer, outcome, correct, abstained):
        one = seen(answer)
        assert one.outcome is outcome
        assert one.scores.correct is correct
        assert one.scores.abstained is abstained
        assert one.scores.made_up is None

    def test_an_answerable_question_has_its_overlap_with_the_gold_string(self):
        # Modified: {year, 1901} against {1901}: 2 * 1 / (2 + 1). SQuAD's: the same. Not exact.
        one = seen("the year 1901")
        assert one.scores.f1 == pytest.approx(2 / 3)
        assert one.scores.squad_f1 == pytest.approx(2 / 3)
        assert one.scores.exact_match is False
        assert seen("1901.").scores.exact_match is True

    def test_an_alias_counts_too(self):
        asked = scripted.question(aliases=("nineteen-one",))
        assert seen("Nineteen-one", question=asked).outcome is Outcome.CORRECT

    @pytest.mark.parametrize(
        ("answer", "outcome", "abstained"),
        [
            ("Not stated.", Outcome.ABSTAINED, True),
            ("The owner is not stated in it.", Outcome.ABSTAINED, True),
            ("Mr. Rolle", Outcome.MADE_UP, False),
            ("unstated", Outcome.MADE_UP, False),
            ("", Outcome.MADE_UP, False),
        ],
    )
    def test_an_unanswerable_question_is_abstained_or_made_up_and_nothing_else(
        self, answer, outcome, abstained
    ):
        one = seen(answer, question=scripted.unanswerable())
        assert one.outcome is outcome
        assert one.scores == Scores(abstained=abstained, made_up=not abstained)


class TestNotAnswered:
    def test_over_the_window_it_is_not_scored_and_tells_both_numbers(self):
        one = seen(base.WindowExceededError(needed=16_500, window=16_384))
        assert one.status is Status.OVER_WINDOW
        assert (one.scores, one.outcome, one.answer) == (None, None, None)
        assert one.input_tokens == 16_500
        assert one.error_kind == "over_window"
        assert "16,500" in one.error_message
        assert "16,384" in one.error_message
        assert one.prompt_sha256 == sha256(PROMPT)

    def test_over_the_window_by_an_unknown_number_it_has_no_count(self):
        assert seen(base.WindowExceededError(needed=None, window=None)).input_tokens is None

    @pytest.mark.parametrize(
        ("error", "kind"),
        [
            (base.UnreachableError("m"), "unreachable"),
            (base.TimedOutError("m"), "timed_out"),
            (base.ModelMissingError("m", ["other"]), "model_missing"),
            (base.BusyError("m"), "busy"),
            (base.CrashedError("m"), "crashed"),
            (base.MalformedReplyError("m"), "malformed"),
            (base.ModelError("m"), "model"),
        ],
    )
    def test_trouble_with_the_model_is_an_error_of_its_kind_and_never_a_wrong_answer(self, error, kind):
        one = seen(error)
        assert one.status is Status.ERROR
        assert (one.error_kind, one.error_message) == (kind, "m")
        assert (one.scores, one.outcome, one.answer, one.input_tokens) == (None, None, None, None)
        assert one.context_sha256 is not None

    def test_a_failed_preparation_is_told_with_its_reason_and_the_model_not_asked(self):
        model = scripted.ScriptedModel()
        made = scripted.preparation(key="k7", failure="the model replied with nothing")
        asked = replace(CASE, condition=Croutons("D", top=2), preparation=made)
        one = observe(asked, scripted.patient(model))
        assert one.status is Status.CONSTRUCTION_FAILED
        assert (one.error_kind, one.error_message) == ("construction", "the model replied with nothing")
        assert (one.scores, one.outcome, one.answer) == (None, None, None)
        assert one.preparation == "k7"
        assert model.prompts == []

    def test_a_preparation_that_failed_for_trouble_with_the_model_names_its_kind(self):
        made = scripted.preparation(failure="the server fell", failure_kind="crashed")
        one = seen("1901", condition=Croutons("D", top=2), preparation=made)
        assert one.status is Status.CONSTRUCTION_FAILED
        assert (one.error_kind, one.error_message) == ("crashed", "the server fell")

    def test_what_came_to_nothing_beforehand_is_an_error_with_its_kind(self):
        one = failed(CASE, base.UnpreparedError("not built"))
        assert one.status is Status.ERROR
        assert (one.error_kind, one.error_message) == ("unprepared", "not built")
        assert (one.scores, one.prompt_sha256, one.units, one.attempts) == (None, None, (), ())
        tried = (Attempt("busy", "m", "here", 0.5),)
        assert failed(CASE, base.BusyError("m"), tried).attempts == tried
        assert one.key == ("A", "mill-q1", 0)

    def test_what_is_no_trouble_of_the_model_is_not_swallowed(self):
        with pytest.raises(ZeroDivisionError):
            seen(ZeroDivisionError())


class TestAskedAgain:
    def test_the_tries_that_failed_are_kept_with_the_answer_that_came(self):
        model = scripted.ScriptedModel(base.BusyError("one"), base.CrashedError("two"), "1901")
        one = observe(CASE, scripted.patient(model))
        assert (one.status, one.outcome, one.error_kind) == (Status.OK, Outcome.CORRECT, None)
        assert [(try_.kind, try_.message, try_.host) for try_ in one.attempts] == [
            ("busy", "one", "here"),
            ("crashed", "two", "here"),
        ]

    def test_all_tries_are_kept_with_an_error(self):
        one = seen(base.BusyError("m"))
        assert [try_.kind for try_ in one.attempts] == ["busy"] * 7

    def test_the_tries_before_a_prompt_was_found_too_long_are_kept(self):
        model = scripted.ScriptedModel(base.BusyError("m"), base.WindowExceededError(9, 8))
        one = observe(CASE, scripted.patient(model))
        assert one.status is Status.OVER_WINDOW
        assert [try_.kind for try_ in one.attempts] == ["busy"]

    def test_the_host_is_the_one_that_answered(self):
        down = scripted.ScriptedModel(*[base.CrashedError("m")] * 2, host="a")
        one = observe(
            replace(CASE, host="a"), scripted.patient(down, scripted.ScriptedModel("1901", host="b"))
        )
        assert one.host == "b"
        assert [try_.host for try_ in one.attempts] == ["a", "a"]


class TestNonce:
    def test_it_begins_the_prompt_and_is_recorded_with_its_hash(self):
        model = scripted.ScriptedModel("1901")
        one = observe(replace(CASE, nonce="7f3a"), scripted.patient(model))
        assert model.prompts == ["[7f3a]\n" + PROMPT]
        assert one.nonce == "7f3a"
        assert one.prompt_sha256 == sha256("[7f3a]\n" + PROMPT)

    def test_it_changes_no_context(self):
        assert seen("1901", nonce="7f3a").context_sha256 == seen("1901").context_sha256

    def test_without_one_none_is_recorded(self):
        assert seen("1901").nonce is None


def remark(text, **told):
    return seen(scripted.reply(text, **told)).remark


class TestRemarks:
    @pytest.mark.parametrize(
        ("text", "told", "expected"),
        [
            ("1901", {}, None),
            ("Not stated.", {}, None),
            ("It was built in", {"stop": "length"}, Remark.CUT),
            ("1901", {"stop": None}, None),
            ("", {}, Remark.EMPTY),
            (" \n", {"stop": "length"}, Remark.EMPTY),
            ("", {"thinking": "The mill", "stop": "length"}, Remark.THINKING),
            ("", {"thinking": " "}, Remark.EMPTY),
            ("1901", {"thinking": "The mill"}, None),
            ("I'm sorry, but I can't help with that.", {}, Remark.REFUSAL),
            ("I'm sorry, but I can't help with", {"stop": "length"}, Remark.REFUSAL),
            ("<think>The mill was built", {"stop": "length"}, Remark.THINKING),
            ("<think>The mill was built</think>", {}, Remark.THINKING),
            ("<think></think>\n", {}, Remark.EMPTY),
            ("<think>The mill</think>It was built in", {"stop": "length"}, Remark.CUT),
            ("<think>The mill</think>1901", {}, None),
        ],
    )
    def test_the_first_that_fits_is_given(self, text, told, expected):
        assert remark(text, **told) is expected

    def test_what_was_not_answered_has_none(self):
        assert seen(base.CrashedError("m")).remark is None

    def test_thinking_inside_the_text_is_no_part_of_the_answer_and_not_scored(self):
        one = seen("<think>\nNot stated? No: 1902.\n</think>\n\nIn 1901.")
        assert one.answer == "In 1901."
        assert one.outcome is Outcome.CORRECT

    def test_thinking_that_used_up_the_tokens_is_no_answer_though_it_has_the_right_one_in_it(self):
        one = seen(scripted.reply("<think>It says 1901", stop="length"))
        assert one.answer == ""
        assert one.outcome is Outcome.WRONG


def test_every_outcome_follows_from_the_question_and_its_scores():
    answerable, unanswerable = scripted.question(), scripted.unanswerable()
    assert trial.outcome(answerable, Scores(abstained=True, correct=False)) is Outcome.WRONG
    assert trial.outcome(answerable, Scores(abstained=False, correct=True)) is Outcome.CORRECT
    assert trial.outcome(unanswerable, Scores(abstained=True, made_up=False)) is Outcome.ABSTAINED
    assert trial.outcome(unanswerable, Scores(abstained=False, made_up=True)) is Outcome.MADE_UP
