"""How a run went, in results.json and in words: trouble, going on, parts, remarks, and whether differences are noise."""

import random
import re
from dataclasses import replace

import pytest
import scripted
import test_tables
from test_tables import QUESTIONS, A, D, built, lines

from pytest_tokenbench.records import Attempt, Remark, Status
from pytest_tokenbench.reporting import document, markdown, wording
from pytest_tokenbench.run_folder import Run

BUSY = Attempt("busy", "503", "http://a", 1.0)
SLOW = Attempt("timeout", "no answer", "http://a", 9.0)


def lost(one, *attempts, host="http://a"):
    """The trial as one that came to nothing after these attempts."""
    return replace(
        one,
        status=Status.ERROR,
        scores=None,
        outcome=None,
        input_tokens=None,
        error_kind=attempts[-1].kind,
        error_message=attempts[-1].message,
        attempts=attempts,
        host=host,
    )


def reports(made, **changes):
    """Both reports in words, each on long lines."""
    record = replace(test_tables.RECORD, **changes)
    return "\n".join(lines(made, 1000)), markdown.render(made, record)


class TestTrouble:
    def test_trials_that_took_more_than_one_attempt_are_counted_with_the_kinds_of_trouble(self):
        made = built((replace(A[0], attempts=(BUSY, SLOW)), replace(A[1], attempts=(BUSY,)), *A[2:], *D))
        assert made["course"]["retried"] == {"A": {"trials": 2, "kinds": {"busy": 2, "timeout": 1}}}
        assert "trials that took more than one attempt: A 2 (2 busy, 1 timeout)" in wording.notes(made)

    def test_a_trial_whose_only_attempt_failed_took_one(self):
        assert built((*A, lost(D[0], BUSY), *D[1:]))["course"]["retried"] == {}
        assert built((*A, lost(D[0], BUSY, SLOW), *D[1:]))["course"]["retried"] == {
            "D": {"trials": 1, "kinds": {"busy": 1, "timeout": 1}}
        }

    def test_errors_are_counted_by_kind_and_host(self):
        made = built((*A, lost(D[0], BUSY), lost(D[1], BUSY), lost(D[2], SLOW, host="http://b\x1b"), D[3]))
        assert made["course"]["errors"] == {
            "D": [
                {"kind": "busy", "host": "http://a", "trials": 2},
                {"kind": "timeout", "host": "http://b\x1b", "trials": 1},
            ]
        }
        note = "trials that ended in an error: D 2 busy at http://a, D 1 timeout at http://b\ufffd"
        assert note in wording.notes(made)
        assert "D: 3 trials missing (3 error)" in wording.notes(made)

    def test_doubts_come_first_in_both_reports(self):
        made = built(doubts=("the model changed during the run\x1b",))
        assert wording.notes(made)[0] == "the model changed during the run\ufffd"
        assert all("the model changed during the run\ufffd" in text for text in reports(made))

    def test_a_torn_line_is_told(self):
        made = document.build(Run(test_tables.RECORD, (*A, *D), (), torn=('{"study', "x")))
        assert made["course"]["torn_lines"] == 2
        note = "the last line of a ledger was cut short while it was written, and is left out"
        assert note in wording.notes(made)

    def test_a_quiet_run_has_an_empty_course(self):
        assert built()["course"] == {
            "doubts": [],
            "resumed": [],
            "retried": {},
            "errors": {},
            "torn_lines": 0,
        }


class TestGoingOn:
    def test_tells_when_and_how_many_trials_were_there(self):
        before = [replace(one, started="2026-11-30T04:59:59.900+00:00") for one in A]
        after = [replace(one, started="2026-11-30T05:10:00.100+00:00") for one in D]
        # One of those before came to nothing, and was not asked again.
        made = built((lost(before[0], BUSY), *before[1:], *after), resumed=("2026-11-30T05:10:00+00:00",))
        assert made["course"]["resumed"] == [{"time": "2026-11-30T05:10:00+00:00", "reused": 3}]
        assert "gone on with on 2026-11-30T05:10:00+00:00, 3 trials reused" in wording.notes(made)

    def test_one_trial_is_one_trial(self):
        after = replace(D[0], started="2026-11-30T06:00:00.000+00:00")
        made = built((A[0], after), resumed=("2026-11-30T05:30:00+00:00",))
        assert "gone on with on 2026-11-30T05:30:00+00:00, 1 trial reused" in wording.notes(made)


class TestManner:
    def test_a_shard_says_so_in_both_reports_before_its_figures(self):
        notice = "shard 2/5: a part of the trials; merge the parts before reading anything into it"
        made = built(shard="2/5")
        assert made["shard"] == "2/5"
        assert lines(made, 140)[1] == notice
        text = markdown.render(made, test_tables.RECORD)
        assert text.index(notice) < text.index("| A ")
        assert not any("shard" in text for text in reports(built()))

    def test_what_other_shards_run_is_not_missing(self):
        part = (A[0], A[2], lost(D[1], BUSY))
        assert "D: 4 trials missing (1 error, 3 not run)" in wording.notes(built(part))
        assert "D: 1 trial missing (1 error)" in wording.notes(built(part, shard="1/2"))
        assert not any(note.startswith("A: ") for note in wording.notes(built(part, shard="1/2")))

    @pytest.mark.parametrize(
        ("changes", "words"),
        [
            ({}, "cold order"),
            ({"order": "shared"}, "shared order"),
            ({"repeats": 3}, "cold order, 3 repeats"),
            ({"nonce": True, "repeats": 2}, "cold order, 2 repeats, with nonces"),
        ],
    )
    def test_order_repeats_and_nonce_stand_in_both_headings(self, changes, words):
        made = built(**changes)
        assert lines(made, 140)[0] == (f"made: 2 documents, 4 questions, scripted:1b (scripted), {words}")
        assert f"2 documents, 4 questions (3 answerable), {words}.\n" in markdown.render(
            made, test_tables.RECORD
        )
        assert {"order", "nonce", "repeats", "shard"} <= made.keys()


class TestRemarks:
    def test_are_counted_by_condition_and_told_apart_in_words(self):
        marked = [
            replace(one, remark=remark)
            for one, remark in zip(D, (Remark.CUT, Remark.EMPTY, Remark.CUT, Remark.THINKING), strict=True)
        ]
        made = built((replace(A[0], remark=Remark.REFUSAL), *A[1:], *marked))
        assert made["conditions"]["D"]["remarks"] == {"cut": 2, "empty": 1, "thinking": 1}
        assert made["conditions"]["A"]["remarks"] == {"refusal": 1}
        assert made["conditions"]["Z"]["remarks"] == {}
        for text in reports(made):
            for note in (
                "no answer, since the tokens went on thinking: D 1 of 4",
                "empty answers: D 1 of 4",
                "refusals: A 1 of 4",
                "answers cut at their limit: D 2 of 4",
            ):
                assert note in text


def repeats(name, signs):
    """Trials of the example's questions under a condition, a sign for each repeat: + right, - wrong."""
    return [
        scripted.observation(question, name, right=sign == "+", repeat=repeat)
        for question, its in zip(QUESTIONS, signs, strict=True)
        for repeat, sign in enumerate(its)
    ]


class TestChurn:
    # A always says the same. Of D's pairs of repeats that of q1 disagrees: churn 1/3 on what can be answered.
    STEADY = repeats("A", ("++", "++", "--", "++"))
    WAVERING = repeats("D", ("+-", "++", "--", "++"))

    def test_stands_in_the_document_with_its_interval_and_n(self):
        churn = built((*self.STEADY, *self.WAVERING), repeats=2)["conditions"]["D"]["churn"]
        assert (churn["all"]["estimate"], churn["all"]["n"]) == (0.25, 4)
        assert churn["all"]["low"] <= 0.25 <= churn["all"]["high"]
        assert (churn["answerable"]["estimate"], churn["answerable"]["n"]) == (pytest.approx(1 / 3), 3)
        assert (churn["unanswerable"]["estimate"], churn["unanswerable"]["n"]) == (0, 1)
        assert churn["answers"]["n"] == 4

    def test_is_unavailable_without_repeats(self):
        made = built()
        assert made["conditions"]["D"]["churn"]["all"] == {"unavailable": "every trial was run once only"}
        assert "churn" not in "\n".join(reports(made))

    def test_a_difference_smaller_than_it_is_called_noise_in_both_reports(self):
        made = built((*self.STEADY, *self.WAVERING), repeats=2, conditions=("A", "D"))
        # 1.5 of 3 right against 2 of 3.
        figure = made["conditions"]["D"]["differences"]["accuracy"]
        assert figure["estimate"] == pytest.approx(-1 / 6)
        assert figure["churn"] == pytest.approx(1 / 3)
        assert figure["within_churn"] is True
        for text in reports(made):
            assert "D: the difference from A, -16.7 points, is within churn (33.3 points)" in text
            assert "marks a difference within churn" in text
        (row,) = (line for line in lines(made, 140) if line.startswith("D  "))
        assert re.search(r" -16\.7 \[\S+, \S+\]~ +25% ", row)

    def test_a_larger_difference_is_not(self):
        wrong = repeats("D", ("--", "--", "--", "+-"))
        made = built((*self.STEADY, *wrong), repeats=2, conditions=("A", "D"))
        figure = made["conditions"]["D"]["differences"]["accuracy"]
        assert (figure["churn"], figure["within_churn"]) == (0, False)
        assert "~" not in "\n".join(lines(made, 140))
        # Of made-up answers there are 1/2 more, and the churn is 1: those are noise.
        note = "D: the difference in made-up answers from A, +50.0 points, is within churn (100.0 points)"
        assert note in wording.notes(made)

    def test_the_baselines_churn_counts_too(self):
        made = built(
            (*repeats("A", ("+-", "++", "--", "++")), *repeats("D", ("--", "++", "--", "++"))), repeats=2
        )
        assert made["conditions"]["D"]["differences"]["accuracy"]["churn"] == pytest.approx(1 / 3)


def test_results_do_not_depend_on_the_order_in_which_trials_and_preparations_came_in():
    generator = random.Random(3)
    observations = [
        replace(
            one,
            scores=replace(one.scores, f1=generator.random()) if one.scores.f1 is not None else one.scores,
        )
        for one in (*TestChurn.STEADY, *TestChurn.WAVERING)
    ]
    prepared = [test_tables.MILL, replace(test_tables.QUAY, flags=("cut",))]
    first = document.as_text(built(observations, prepared, repeats=2))
    for _ in range(10):
        generator.shuffle(observations)
        assert document.as_text(built(observations, prepared[::-1], repeats=2)) == first
