"""What a user reads in the terminal: letters, words, the table and the notes."""

import re

import pytest
from small_project import EVERY, MODEL, PASSING, STUDY, Reader, Server
from stub_ollama import StubModel

ANSI = re.compile(r"\x1b\[[\d;]*m")


def test_progress_shows_what_the_answers_were_and_leaves_room_for_the_hypotheses(ran):
    trials, hypotheses = ran.letters()[:36], ran.letters()[36:]

    assert sorted(trials) == sorted("." * 21 + "w" * 3 + "a" * 12)
    assert hypotheses == "..FsE"
    ran.has("*[[] 87%]")
    ran.lacks("*[[]1[0-9][1-9]%]")


def test_wrong_answers_pass_and_hypotheses_are_counted_as_tests(ran):
    ran.has("=* 1 failed, 38 passed, 1 skipped, 1 error in *")
    assert ran.status == pytest.ExitCode.TESTS_FAILED


def test_table_in_80_columns(ran):
    ran.has(
        "=* tokenbench =*",
        f"small: 2 documents, 6 questions, {MODEL} (ollama), cold order",
        "",
        " *tokens/q *less than A *accuracy [[]95%] *points from A",
        "----  -*",
        "A *96 *baseline *100% [[]100, 100]! *baseline*",
        "B2 *",
        "C *58 *39.6% *25% [[]0, 75] *-75.0 [[]-100.0, -25.0]*",
        "D10 *",
        "D25 *74 *23.4% *100% [[]100, 100]! *+0.0 [[]+0.0, +0.0]!*",
        "Dall *95 *1.0% *",
        "",
    )


def test_hypotheses_stand_under_the_table_with_their_numbers(ran):
    ran.has(
        "Dall *",
        "H1 passed: D25 uses at least 10% fewer input tokens per question than A.",
        "    reduction of input_tokens of D25 versus A = 0.2344 [[]0.*], n=6",
        "H3 passed: D25 makes up answers on unanswerable questions no more often than B2.",
        "    made_up of D25 = 0 [[]0, 0]!, n=2",
        "    made_up of B2 = 0 [[]0, 0]!, n=2",
        "H2 failed: C is as accurate as A.",
        "    accuracy of C less A = -0.75 [[]-1, -0.25], n=4",
        "H4 unavailable (no trial of condition D25 is known to be cold): D25 is read",
        "    faster than A.",
        "H5 error (ZeroDivisionError: float division by zero): This one has a mistake in",
        "    it.",
        "    accuracy of D25 = 1 [[]1, 1]!, n=4",
    )


def test_notes_tell_what_is_doubtful_and_where_the_run_lies(ran):
    ran.has(
        "note: not pre-registered: no git repository records when the files were fixed",
        "note: prefill not verified cold and not shown: A, B2, C, D10, D25, Dall",
        "note: ! marks an interval of zero width: nothing varied in this sample, which is",
        "    not certainty",
        "run folder: reports/small/*-smollm2-135m",
        "letters: . correct, w wrong, a abstained, m made up, o over window, c",
        "    construction failed, E error, r reused",
    )


def test_nothing_is_wider_than_the_terminal(ran):
    assert max(map(len, ran.summary)) <= 80


def test_preparations_are_told_as_they_are_built(ran):
    ran.has(
        "tokenbench: 4 preparations (croutons, summary) come before the trials",
        "tokenbench: prepared 1/4, summary of kell: *s, * tokens written",
        "tokenbench: prepared 4/4, croutons of orrin: *s, * tokens written",
        "=* tokenbench =*",
    )


def test_wide_terminal_shows_every_column_also_in_colour(make_project):
    with Server(tells_cached=True) as server:
        ran = make_project(study=EVERY).run("-n0", "--color=yes", server=server, columns=140)
    ran.lines = ANSI.sub("", ran.text).splitlines()

    ran.has(
        "=* tokenbench =*",
        " *tokens/q *less than A *accuracy [[]95%] *points from A *abstained *made up *prefill *prepared/doc *pays from",
        "A *96 *baseline *100% [[]100, 100]! *baseline *100% *0% *0.00 s * 0 *baseline",
        "B2 * 0.00 s * 0 * 1",
        "C *58 *39.6% *25% [[]0, 75] *-75.0 [[]-100.0, -25.0] *100% *0% *0.00 s * 115 * 4",
        "D25 *74 *23.4% * 155 * 7",
        "H2 failed: C is as accurate as A.",
    )
    assert 100 < max(map(len, ran.summary)) <= 140
    assert "\x1b[32mH1 passed" in ran.text
    assert "\x1b[31mH2 failed" in ran.text


OUTCOMES = {
    "A-kell-q01": "OVER WINDOW",
    "A-orrin-q01": "CORRECT",
    "A-orrin-q02": "ERROR",
    "A-orrin-q03": "MADE UP",
    "B2-kell-q03": "ABSTAINED",
    "C-kell-q01": "CONSTRUCTION FAILED",
    "C-orrin-q02": "WRONG ANSWER",
}


@pytest.fixture(scope="module")
def troubled():
    """A server under which trials come to every possible end: kell is too long for its model's window."""
    with Server(
        Reader({("Question: How many horses",): "Twelve horses"}),
        breaks=("Question: Who was the miller", "She sold the mill", "four pairs of stones"),
        models={MODEL: StubModel(trained_window=105)},
    ) as server:
        yield server


@pytest.fixture(scope="module")
def outcomes(make_project, troubled, workers):
    study = STUDY.replace("max_words=30", "max_words=60")
    return make_project(study=study).run(workers, "-rA", server=troubled)


def test_each_outcome_has_its_letter(outcomes):
    letters = outcomes.letters()

    assert {letter: letters.count(letter) for letter in "ocE"} == {"o": 3, "c": 12, "E": 1}
    assert set(letters) == set(".wamocE")
    assert len(letters) == 36


def test_each_outcome_has_its_word(outcomes):
    for name, word in OUTCOMES.items():
        if word not in {"OVER WINDOW", "CONSTRUCTION FAILED"}:
            assert f"\n{word} test_small.py::test_small[{name}]" in outcomes.text


def test_verbose_run_tells_words(make_project, troubled, workers):
    ran = make_project().run(workers, "-v", "--tokenbench-conditions=A,B2,C", server=troubled)

    for name, word in OUTCOMES.items():
        item = f"test_small.py::test_small[[]{name}]"
        pattern = f"{item} {word}*" if workers == "-n0" else f"[[]gw?] [[]*%] {word} {item}*"
        pytest.LineMatcher(ran.lines).fnmatch_lines([pattern])


def test_over_window_and_failed_construction_are_skipped_with_the_reason(outcomes):
    line = STUDY.splitlines().index("def test_small(trial):")
    where = f"test_small.py:{line}"
    limit = "tokens and does not fit the window of 105 tokens"
    for reason in (
        f"{where}: over window: the prompt needs 111 {limit}",
        f"{where}: construction failed: the prompt needs 117 {limit}",
        f"{where}: construction failed: the prompt needs 125 {limit}",
    ):
        outcomes.has(f"SKIPPED [[]*] {reason}")
    outcomes.has("=* 1 failed, 20 passed, 15 skipped in *")


def test_error_fails_its_item_with_one_sentence_and_the_run(outcomes):
    outcomes.has(
        "=* FAILURES =*",
        "_* test_small[[]A-orrin-q02] _*",
        "crashed: http://127.0.0.1:*/api/chat answered 500: model runner has unexpectedly stopped",
    )
    outcomes.lacks("*Traceback*", "*bridge.py*", "*INTERNALERROR*")
    assert outcomes.status == pytest.ExitCode.TESTS_FAILED


def test_missing_trials_and_failed_preparations_are_named_under_the_table(outcomes):
    outcomes.has(
        "note: A: 4 trials missing (1 error, 3 over window)",
        "note: C: 3 trials missing (3 construction failed)",
        "note: Dall: 3 trials missing (3 construction failed)",
        "note: summary of kell failed: the prompt needs 117 tokens and does not fit the",
        "    window of 105 tokens",
    )


def test_quick_is_said_wherever_a_number_is(make_project, server):
    ran = make_project(study=STUDY + PASSING).run("-n2", "--tokenbench-quick", server=server)

    ran.has(
        "=* tokenbench QUICK =*",
        "small: 2 documents, 6 questions, smollm2:135m (ollama), shared order",
        "QUICK look: shortened documents (at most four), few questions; not the protocol,",
        "    its verdicts prove nothing",
        "H1 passed*",
    )
    assert ran.file("report.md").startswith("# small (QUICK): smollm2:135m\n")
    assert "QUICK look: shortened documents (at most four)" in ran.file("report.md")
    assert ran.file("run.json")["quick"] is True
    assert ran.file("results.json")["quick"] is True
    properties = {one.name: one.value for suite in ran.junit for one in suite.properties()}
    assert properties["tokenbench.quick"] == "true"
    assert max(map(len, ran.summary)) <= 80
    assert ran.status == pytest.ExitCode.OK
