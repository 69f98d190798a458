"""Which trials are collected and run, and how they are named."""

import pytest
from small_project import IDS, PASSING, QUESTIONS, STUDY

WHOLE = {f"test_small.py::test_small[{name}-{one['id']}]" for name in IDS for one in QUESTIONS}


def test_collecting_needs_no_server_and_writes_nothing(project, workers):
    ran = project.run(workers, "--collect-only", "-q", OLLAMA_HOST="http://127.0.0.1:9")

    assert {line for line in ran.lines if "::" in line} == WHOLE
    assert ran.status == pytest.ExitCode.OK
    assert not ran.folders
    assert not (project.path / ".tokenbench").exists()


def test_faulty_study_cannot_be_collected(make_project):
    ran = make_project(study=STUDY.replace('baseline="A"', 'baseline="Z"')).run("-n0", "--collect-only")

    assert ran.status == pytest.ExitCode.USAGE_ERROR
    assert ran.count("study 'small' has the unknown baseline 'Z'") == 1


@pytest.fixture(scope="module")
def chosen(make_project, server, workers):
    return make_project(study=STUDY + PASSING).run(workers, "--tokenbench-conditions= A, D25", server=server)


def test_conditions_option_leaves_only_these(chosen):
    assert {name.rpartition("-")[0].rpartition("-")[0] for name in chosen.observations} == {"A", "D25"}
    assert len(chosen.observations) == 12
    assert chosen.file("run.json")["scheduled"] == 12


def test_what_was_not_measured_is_said_and_shown_as_unknown(chosen):
    chosen.has("B2 *- *- *- *-", "C *- *- *- *-", "D25 *74 *")
    chosen.has("note: not measured: B2*C*Dall")
    report = [line for line in chosen.file("report.md").splitlines() if line.startswith(("| C ", "| B2"))]
    shown = [line.replace(" ", "") for line in report]
    assert shown == ["|B2|-|-|-|-|-|-|-|0|-|", "|C|-|-|-|-|-|-|-|-|-|", "|B2|0|0|-|", "|C|-|-|-|"]


def test_only_the_preparations_that_are_needed_are_built(chosen):
    assert {one["recipe"] for one in chosen.file("preparations.jsonl")} == {"croutons"}


def test_unavailable_hypothesis_is_skipped_with_its_reason_and_gives_exit_status_0(chosen):
    assert chosen.status == pytest.ExitCode.OK
    assert chosen.verdicts == {"H1": "passed", "H3": "unavailable"}
    chosen.has("H3 unavailable (condition B2 was not measured): D25 makes up answers on*")
    assert chosen.letters().endswith(".s")


def test_strict_makes_an_unavailable_hypothesis_fail(make_project, server):
    ran = make_project(study=STUDY + PASSING).run(
        "-n2", "-rs", "-k", "D25 or A-", "--tokenbench-strict", server=server
    )

    assert ran.status == pytest.ExitCode.TESTS_FAILED
    ran.has("_* H3 _*", "unavailable: condition B2 was not measured")
    ran.has("=* 1 failed, 13 passed* in *")
    assert ran.verdicts == {"H1": "passed", "H3": "unavailable"}


def test_keyword_selects_one_condition(make_project, server):
    ran = make_project(study=STUDY + PASSING).run("-n0", "-rs", "-k", "D25", server=server)

    assert len(ran.observations) == 6
    ran.has("=* 6 passed, 2 skipped, 30 deselected in *")
    ran.has("SKIPPED [[]1] test_small.py:27: unavailable: condition A was not measured")
    assert "this run did not come to its end" not in ran.text


def test_one_trial_can_be_asked_for_by_its_id(make_project, server):
    ran = make_project(study=STUDY + PASSING).run(
        "-pno:xdist", "test_small.py::test_small[A-kell-q01]", server=server
    )

    assert set(ran.observations) == {"A-kell-q01"}
    ran.has("H1 unavailable (condition D25 was not measured): *")


def test_study_in_a_class_and_under_another_name_is_run_alike(make_project, server):
    kept = STUDY.partition("@study.trials")[0]
    study = (
        f"{kept}my_trials = study.trials\n\n\nclass TestSmall:\n    @my_trials\n"
        "    def test_it(self, trial):\n        trial.ask()\n"
    )
    ran = make_project(study=study).run("-n2", "--tokenbench-conditions=A", server=server)

    assert len(ran.observations) == 6
    ran.has("=* 6 passed in *")


@pytest.mark.parametrize("beside", [False, True])
def test_study_that_cannot_be_recognised_under_workers_is_refused_and_not_lost(make_project, server, beside):
    project = make_project(study=STUDY.replace("@study.trials", "each = study.trials\n\n\n@each"))
    if beside:
        project.write(
            "test_other.py",
            "class Any:\n    trials = staticmethod(lambda f: f)\n\n\n@Any.trials\ndef test_other():\n    pass\n",
        )

    ran = project.run("-n2", "--tokenbench-conditions=A", server=server)

    assert ran.status == pytest.ExitCode.USAGE_ERROR
    ran.has(
        "ERROR: test_small.py::test_small[[]A-*]: its study was not recognised before the trials began; "
        "decorate with @study.trials"
    )
    assert "Traceback" not in ran.text


def test_other_tests_run_beside_a_study(make_project, server):
    project = make_project()
    project.write("test_other.py", "def test_trials():\n    pass\n")

    ran = project.run("-n2", "--tokenbench-conditions=A", server=server)

    assert len(ran.observations) == 6
    ran.has("=* 7 passed in *")


def test_no_server_is_needed_where_no_trial_is_chosen(project, workers):
    project.write("test_other.py", "def test_trials():\n    pass\n")

    ran = project.run(workers, "-k", "test_trials", OLLAMA_HOST="http://127.0.0.1:9")

    ran.has("=* 1 passed* in *")
    assert ran.status == pytest.ExitCode.OK
    assert not ran.folders


def test_two_studies_have_a_run_each(make_project, server):
    project = make_project(study=STUDY + PASSING)
    project.write("test_other.py", STUDY.replace('"small"', '"other"').replace("test_small", "test_other"))

    ran = project.run("-n2", "--tokenbench-conditions=A,C", server=server)

    ran.has(
        "=* tokenbench =*",
        "other: 2 documents, *",
        "=* tokenbench =*",
        "small: 2 documents, *",
        "H1 unavailable*",
    )
    assert {folder.parent.name for folder in ran.folders} == {"other", "small"}
    for folder in ran.folders:
        assert (folder / "observations.jsonl").read_bytes().count(b"\n") == 12
    ran.has("=* 24 passed, 2 skipped in *")


# As plugins do that shuffle items, or put first what failed the last time.
REVERSED = """\
import pytest


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    items.reverse()
"""
FIRST_IS_LAST = """\
import pytest


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(items):
    yield
    items[:] = items[1:2] + items[3:] + [items[0], items[2]]  # of the ordinary tests, and of the trials
"""


@pytest.mark.parametrize("order", ["cold", "shared"])
@pytest.mark.parametrize("conftest", [REVERSED, FIRST_IS_LAST], ids=["reversed", "first is last"])
def test_trials_run_in_their_order_whatever_other_plugins_do_to_it(make_project, server, order, conftest):
    project = make_project()
    project.write("test_other.py", "def test_one():\n    pass\n\n\ndef test_two():\n    pass\n")
    given = ["-n0", "--tokenbench-conditions=A,B2", f"--tokenbench-order={order}", "-v"]
    found = []
    for text in ("", conftest):
        project.write("conftest.py", text)
        ran = project.run(*given, server=server)
        asked = [(one["condition"], one["question"]) for one in ran.file("observations.jsonl")]
        others = [line.partition(" ")[0] for line in ran.lines if line.startswith("test_other.py::")]
        found.append((asked, others))

    (usual, _), (asked, others) = found
    assert asked == usual
    assert len(asked) == 12
    assert others == ["test_other.py::test_two", "test_other.py::test_one"]
