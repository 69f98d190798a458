"""What pytest is told of single trials: letters and words, JUnit properties, and text without control characters."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
import scripted
import test_tables

from pytest_tokenbench.hypotheses import spoilt
from pytest_tokenbench.records import Attempt, Outcome, Remark, Status
from pytest_tokenbench.reporting import items
from pytest_tokenbench.study import Hypothesis

ASKED = scripted.question("q1")
SEEN = scripted.observation(ASKED, "A", input_tokens=120)
ENDED = {
    Status.OVER_WINDOW: "skipped",
    Status.CONSTRUCTION_FAILED: "skipped",
    Status.NOT_NEEDED: "skipped",
    Status.ERROR: "failed",
}


class TestLetters:
    def test_every_result_has_its_own_letter_which_the_legend_explains(self):
        shown = {
            str(one): items.teststatus(one, ENDED.get(one, "passed"), reused=False)
            for one in (*Outcome, *(status for status in Status if status is not Status.OK))
        }
        letters = [status[1] for status in shown.values()]
        assert len(set(letters)) == len(letters) == 8
        of_arms = items.legend(SimpleNamespace(ablation=object()))
        explained = of_arms.removeprefix("letters: ").split(", ")
        for result, (_, letter, _) in shown.items():
            assert f"{letter} {result.replace('_', ' ').removesuffix(' answer')}" in explained

    @pytest.mark.parametrize("result", [*Outcome, Status.OVER_WINDOW, Status.CONSTRUCTION_FAILED])
    def test_a_reused_trial_has_another_and_its_result_in_the_word(self, result):
        outcome = ENDED.get(result, "passed")
        category, letter, (word, markup) = items.teststatus(result, outcome, reused=True)
        _, usual, (its_word, its_markup) = items.teststatus(result, outcome, reused=False)
        assert category == outcome
        assert letter == "r" != usual
        assert word == f"REUSED, {its_word}"
        assert markup != its_markup
        assert items.LEGEND.endswith(", r reused")

    @pytest.mark.parametrize("reused", [True, False])
    def test_a_test_that_ended_by_its_own_assert_is_pytests_to_show(self, reused):
        assert items.teststatus(Outcome.WRONG, "failed", reused=reused) is None


class TestProperties:
    def test_of_a_plain_trial_have_nothing_that_is_as_usual(self):
        assert dict(items.properties(SEEN)) == {
            "condition": "A",
            "question": "q1",
            "document": "mill",
            "status": "ok",
            "input_tokens": "120",
            "output_tokens": "10",
            "correct": "true",
            "abstained": "false",
        }

    def test_tell_attempts_remark_repeat_and_that_it_was_reused(self):
        seen = replace(SEEN, attempts=(Attempt("busy", "503", "h", 1.0),) * 2, remark=Remark.CUT, repeat=1)
        found = dict(items.properties(seen, reused=True, repeats=3))
        assert {name: found[name] for name in ("attempts", "remark", "repeat", "reused")} == {
            "attempts": "3",
            "remark": "cut",
            "repeat": "2",  # as in the test id, which ends with -r2
            "reused": "true",
        }

    def test_the_attempts_of_an_error_are_those_that_failed(self):
        seen = replace(
            SEEN, status=Status.ERROR, scores=None, attempts=(Attempt("busy", "503", "h", 1.0),) * 4
        )
        assert dict(items.properties(seen))["attempts"] == "4"

    def test_the_first_of_several_repeats_is_told_as_well(self):
        assert dict(items.properties(SEEN, repeats=2))["repeat"] == "1"

    def test_of_the_suite_tell_how_the_trials_were_run(self):
        record = replace(test_tables.RECORD, order="shared", nonce=True, repeats=3, shard="2/5")
        found = dict(items.suite_properties(record))
        assert found["tokenbench.order"] == "shared"
        assert found["tokenbench.nonce"] == "true"
        assert found["tokenbench.repeats"] == "3"
        assert found["tokenbench.shard"] == "2/5"

    def test_of_the_suite_leave_out_what_is_not_known(self):
        record = replace(test_tables.RECORD, model=replace(scripted.INFO, digest=None))
        found = dict(items.suite_properties(record))
        assert not {"tokenbench.shard", "tokenbench.model_digest", "tokenbench.server_version"} & found.keys()
        assert "None" not in found.values()


def test_a_hypothesis_of_a_spoilt_run_is_an_error_with_its_reason_and_no_traceback():
    def claim(results):
        """It holds."""

    stated = Hypothesis("H1", claim)
    loaded = SimpleNamespace(study=SimpleNamespace(hypotheses=[stated]))
    run = SimpleNamespace(loaded=loaded, record=test_tables.RECORD)
    found = list(items.hypothesis_reports(run, spoilt(stated, "the model changed\x1b"), strict=False))
    # An error of the setup is the only kind that pytest knows.
    assert [(one.when, one.outcome, one.longrepr) for one in found] == [
        ("setup", "failed", "the model changed\ufffd"),
        ("teardown", "passed", None),
    ]


@pytest.mark.parametrize(
    ("longrepr", "shown"),
    [
        ("refused: \x1b[31mno", "refused: \ufffd[31mno"),
        (("test_x.py", 3, "Skipped: \x1bno\u202e"), ("test_x.py", 3, "Skipped: \ufffdno\ufffd")),
    ],
)
def test_reasons_have_no_control_characters(longrepr, shown):
    report = pytest.TestReport(
        "x::y", ("x", 0, "y"), {}, "failed", longrepr, "call", sections=[("out", "a\x07")]
    )
    items.make_plain(report)
    assert report.longrepr == shown
    assert report.sections == [("out", "a\ufffd")]
