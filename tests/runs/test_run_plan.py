"""`--tokenbench-plan`: all that is foreseen is printed, and nothing is asked, run or written."""

import pytest
from small_project import COLD, MODEL, PASSING, STUDY, Server

PLAN = "--tokenbench-plan"
NAMED = f"--tokenbench-model={MODEL}"
BOUNDED = '''

@study.hypothesis("H2")
def h2(results):
    """D25 is within 20 points of A."""
    assert results.difference("accuracy", "D25", versus="A").low > -0.20
'''
PLAIN = "def test_of_another_kind():\n    raise RuntimeError\n"
PRICES = '[prices."by hand"]\ninput = 2\ncached_input = 0.5\noutput = 10\n'


@pytest.fixture
def project(make_project):
    made = make_project(study=STUDY + PASSING + BOUNDED + COLD)
    made.write("test_plain.py", PLAIN)
    made.write("prices.toml", PRICES)
    return made


def test_plan_needs_no_server_and_runs_nothing(project, workers):
    ran = project.run(workers, PLAN, NAMED, OLLAMA_HOST="http://127.0.0.1:9")

    assert ran.status == pytest.ExitCode.OK
    ran.has(
        "collected 37 items",
        "=* tokenbench plan =*",
        f"small: 2 documents, 6 questions, {MODEL} (ollama), cold order",
        "A *6 *~172 *~1,029 *~743",
        "in all *36 *",
        "summary *2 *up to 2 *at most 120",
        "croutons *2 *up to 2 *at most *",
        "expected time: not known*",
        "H2: accuracy of D25 less A, interval above -20 points; *",
        "4 questions (its verdict) *20 questions",
        "2 documents, correlation 0.05 *",
        "H1: no power is told, since it asks for the reduction of input_tokens of D25*",
        "H4: no power is told, since prefill_s is not right or wrong*",
        "=* no tests ran in *",
    )
    assert max(map(len, ran.narrow)) <= 80
    assert not ran.folders
    assert not (project.path / ".tokenbench").exists()


def test_plan_asks_the_server_nothing(project, server):
    before = len(server.requests)
    project.run("-n0", PLAN, server=server)
    assert len(server.requests) == before


def test_plan_is_of_the_trials_selected(project):
    project.run("-n0", PLAN, NAMED, "-k", "B2 and kell").has(
        "collected 37 items / 34 deselected / 3 selected",
        "small: 1 document, 3 questions, *",
        "B2 *3 *",
        "H2: no power is told, since fewer than two of its questions are run*",
    )


def test_plan_goes_by_the_last_run(project):
    with Server() as server:
        project.run("-n0", server=server)
        ran = project.run("-n0", PLAN, "--tokenbench-prices=prices.toml", server=server)

    ran.has(
        "summary *2 *0 *",
        "expected time: about * s, as fast as reports/small/*",
        "expected cost, by hand: about *USD*",
        "in the last run 0% of these pairs differed",
    )
    assert len(ran.folders) == 1


def test_plan_leaves_out_what_an_unfinished_run_has(project):
    with Server(breaks=("rope walk employ",)) as server:
        project.run("-n0", "--tokenbench-conditions=A,B2", server=server)
        ran = project.run("-n0", PLAN, "--tokenbench-resume", "--tokenbench-conditions=A,B2", server=server)

    ran.has(
        "small: 1 document, 1 question, *", "in all *2 *", "10 trials more are there already from the run*"
    )


@pytest.mark.parametrize(("given", "needed"), [("20%", "40 questions"), ("0.2", "40 questions")])
def test_discordance_can_be_given(project, given, needed):
    project.run("-n0", PLAN, NAMED, f"--tokenbench-discordance={given}").has(
        "*and 20% of the*", f"4 questions (its verdict) * {needed}"
    )


@pytest.mark.parametrize("given", ["0", "120%", "some"])
def test_discordance_that_is_no_share_is_refused(project, given):
    ran = project.run("-n0", PLAN, NAMED, f"--tokenbench-discordance={given}")

    assert ran.status == pytest.ExitCode.USAGE_ERROR
    ran.has(f"ERROR: --tokenbench-discordance: '{given}' is no share above 0 and up to 1; *")


def test_faults_are_told_as_in_a_run(project):
    project.write("prices.toml", "[prices]\n")
    ran = project.run("-n0", PLAN, NAMED, "--tokenbench-prices=prices.toml")
    assert ran.status == pytest.ExitCode.USAGE_ERROR
    ran.has("ERROR: *prices.toml: holds no table *")

    project.write("test_small.py", STUDY.replace('"corpus"', '"corpora"'))
    ran = project.run("-n0", PLAN, NAMED)
    assert ran.status == pytest.ExitCode.USAGE_ERROR
    ran.has("ERROR: *there is no 'corpora' in *")

    project.write("test_small.py", "import nothing_of_this_name\n")
    assert project.run("-n0", PLAN, NAMED).status == pytest.ExitCode.INTERRUPTED
