"""The JUnit file, read back as a CI server reads it."""

import xml.etree.ElementTree as ET

import pytest
from junitparser import xunit2
from small_project import EVERY, IDS, MODEL, PASSING, QUESTIONS, STUDY, Server


def properties(case):
    return {one.name: one.value for one in case.properties()}


def test_every_trial_is_one_testcase_with_its_measures(ran):
    trials = {name: properties(case) for name, case in ran.cases.items() if name.startswith("test_small[")}

    assert trials.keys() == {f"test_small[{name}-{one['id']}]" for name in IDS for one in QUESTIONS}
    assert trials["test_small[A-kell-q01]"] == {
        "condition": "A",
        "question": "kell-q01",
        "document": "kell",
        "status": "ok",
        "input_tokens": "111",
        "output_tokens": "3",
        "correct": "true",
        "abstained": "false",
    }
    assert trials["test_small[C-kell-q02]"]["correct"] == "false"
    assert trials["test_small[C-orrin-q03]"]["abstained"] == "true"
    assert trials["test_small[C-orrin-q03]"]["made_up"] == "false"
    assert "correct" not in trials["test_small[C-orrin-q03]"]
    assert not any(case.result for name, case in ran.cases.items() if name.startswith("test_small["))


def test_every_hypothesis_is_one_testcase_with_its_numbers(ran):
    name = "reduction of input_tokens of D25 versus A"
    found = properties(ran.cases["H1"])

    assert found["ruling"] == "passed"
    assert found["statement"] == "D25 uses at least 10% fewer input tokens per question than A."
    assert float(found[f"{name}: estimate"]) == pytest.approx(0.2344, abs=1e-4)
    assert found[f"{name}: n"] == "6"
    low, high = map(float, found[f"{name}: interval"].strip("[]").split(", "))
    assert low < 0.2344 < high


def test_rulings_are_what_a_ci_server_counts(ran):
    results = {
        name: [type(one).__name__ for one in ran.cases[name].result] for name in ("H1", "H2", "H4", "H5")
    }

    assert results == {"H1": [], "H2": ["Failure"], "H4": ["Skipped"], "H5": ["Error"]}
    assert "a summary loses too much" in ran.cases["H2"].result[0].text
    assert ran.cases["H4"].result[0].message == "unavailable: no trial of condition D25 is known to be cold"
    assert "ZeroDivisionError" in ran.cases["H5"].result[0].message
    (suite,) = ran.junit
    assert (suite.tests, suite.failures, suite.errors, suite.skipped) == (41, 1, 1, 1)


def test_suite_properties_tell_what_was_run(ran):
    (suite,) = ran.junit
    found = properties(suite)

    assert found["tokenbench.study"] == "small"
    assert found["tokenbench.model"] == MODEL
    assert len(found["tokenbench.model_digest"]) == 64
    assert found["tokenbench.server_version"] == "0.33.0"
    assert found["tokenbench.registration"].startswith("not pre-registered: ")
    assert "tokenbench.commit" not in found


def without_times(case: xunit2.TestCase):
    return case.classname, properties(case), [(type(one).__name__, one.message) for one in case.result]


def test_workers_change_nothing_in_it(usual, make_project):
    with Server() as server:
        four = make_project(study=EVERY).run("-n4", server=server)

    expected = {name: without_times(case) for name, case in usual("-n0").cases.items()}
    assert {name: without_times(case) for name, case in usual("-n2").cases.items()} == expected
    assert {name: without_times(case) for name, case in four.cases.items()} == expected


def test_what_the_server_does_not_tell_is_left_out(make_project):
    with Server(faults=lambda _: "no_durations") as server:
        ran = make_project().run("-n0", "--tokenbench-conditions=A", server=server)

    found = properties(ran.cases["test_small[A-kell-q01]"])
    assert found["correct"] == "true"
    assert "cached_tokens" not in found
    assert all(one["prefill_s"] is None for one in ran.observations.values())


def test_trial_whose_counts_are_not_told_is_an_error(make_project):
    with Server(faults=lambda _: "missing_counts") as server:
        ran = make_project(study=STUDY + PASSING).run("-n0", "--tokenbench-conditions=A,B2", server=server)

    assert {one["status"] for one in ran.observations.values()} == {"error"}
    assert {one["error_kind"] for one in ran.observations.values()} == {"malformed"}
    assert not {name for name in properties(ran.cases["test_small[A-kell-q01]"]) if "tokens" in name}
    assert ran.verdicts == {"H1": "unavailable", "H3": "unavailable"}


def test_skipped_and_failed_trials_tell_why(make_project):
    with Server(
        breaks=("Question: Who was the miller", "She sold the mill", "four pairs of stones")
    ) as server:
        ran = make_project().run("-n0", "--tokenbench-conditions=A", server=server)

    case = ran.cases["test_small[A-orrin-q02]"]
    assert properties(case)["status"] == "error"
    assert "model runner has unexpectedly stopped" in case.result[0].message


@pytest.mark.parametrize("family", ["xunit1", "xunit2"])
def test_properties_of_testcases_are_written_in_either_family(make_project, server, family):
    ran = make_project(ini=f"junit_family = {family}\n").run("-n0", "-kA-kell-q01", server=server)

    assert properties(ran.cases["test_small[A-kell-q01]"])["input_tokens"] == "111"
    case = ET.parse(ran.path / "junit.xml").find(".//testcase")
    assert ("file" in case.attrib) == (family == "xunit1")
