"""What becomes of hypotheses, with and without workers."""

import pytest
from small_project import FAILING, PASSING, STUDY, Reader, Server

MISSING = '''

@study.hypothesis("H6")
def h6(results):
    """A is right more often than not on answerable questions."""
    assert results.estimate("accuracy", "A").estimate > 0.70


@study.hypothesis("H7")
def h7(results):
    """A is right now and then."""
    assert results.estimate("accuracy", "A").estimate > 0.10


@study.hypothesis("H8")
def h8(results):
    """A is short."""
    assert results.estimate("input_tokens", "A").estimate < 1000
'''


def test_verdicts_are_the_same_with_and_without_workers(ran):
    assert ran.verdicts == {
        "H1": "passed",
        "H3": "passed",
        "H2": "failed",
        "H4": "unavailable",
        "H5": "error",
    }


def test_failed_hypothesis_shows_the_assertion_and_the_numbers(ran):
    ran.has(
        "=* FAILURES =*",
        "_* H2 _*",
        '    @study.hypothesis("H2")',
        '>       assert difference.estimate >= 0, "a summary loses too much"',
        "E       AssertionError: a summary loses too much",
        "E       assert -0.75 >= 0",
        "E        +  where -0.75 = Figure(name='accuracy of C less A'*).estimate",
        "test_small.py:*: AssertionError",
        "-* tokenbench -*",
        "accuracy of C less A = -0.75 [[]-1, -0.25], n=4",
    )
    ran.has("FAILED test_small.py::H2 - AssertionError: a summary loses too much")
    ran.lacks("*hypotheses.py*", "*bridge.py*")


def test_mistake_in_a_hypothesis_is_an_error_and_no_failed_hypothesis(ran):
    ran.has(
        "=* ERRORS =*",
        "_* H5 _*",
        '>       assert results.estimate("accuracy", "D25").estimate / 0 > 1',
        "E       ZeroDivisionError: float division by zero",
    )
    ran.has("ERROR test_small.py::H5 - ZeroDivisionError: float division by zero")
    ran.lacks("FAILED test_small.py::H5*")


def test_hypotheses_stand_in_the_report_too(ran):
    report = ran.file("report.md").splitlines()

    assert "- **H2 failed**: C is as accurate as A." in report
    assert "  - accuracy of C less A = -0.75 \\[-1, -0.25\\], n=4" in report
    assert "- **H4 unavailable**: D25 is read faster than A." in report


@pytest.mark.parametrize("hypotheses", [PASSING, FAILING])
def test_exit_status_follows(make_project, server, hypotheses):
    ran = make_project(study=STUDY + hypotheses).run("-n0", server=server)

    assert ran.status == (pytest.ExitCode.OK if hypotheses is PASSING else pytest.ExitCode.TESTS_FAILED)


@pytest.fixture(scope="module")
def lacking(make_project, workers):
    """One wrong answer, and one trial of A that came to nothing: 2 of 3, or 2 of 4, or 3 of 4 are right."""
    with Server(
        Reader({("Question: How much barley",): "No idea"}),
        breaks=("Question: Who was the miller", "four pairs of stones"),
    ) as server:
        yield make_project(study=STUDY + MISSING).run(
            workers, "--tokenbench-conditions=A", "-rs", server=server
        )


def test_verdict_that_hangs_on_missing_trials_is_unavailable(lacking):
    assert lacking.verdicts["H6"] == "unavailable"
    assert lacking.count(
        "H6 unavailable (failed without the missing trials, but passed counting 1 missing of A as right): "
        "A is right more often than not on answerable questions."
    )
    lacking.has("SKIPPED [[]1] test_small.py:*: unavailable: failed without the missing trials, but passed*")


def test_verdict_that_missing_trials_cannot_change_stands(lacking):
    assert lacking.verdicts["H7"] == "passed"


def test_token_measures_need_every_trial(lacking):
    assert lacking.verdicts["H8"] == "unavailable"
    lacking.has("H8 unavailable (input_tokens of A is missing for 1 of 6 questions): A is*")


def test_errored_trial_gives_exit_status_1(lacking):
    assert lacking.status == pytest.ExitCode.TESTS_FAILED
    lacking.has("=* 1 failed, 6 passed, 2 skipped in *")
