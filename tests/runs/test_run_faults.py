"""What a user's mistake gets: exit status 4, one clear message, once, and no traceback."""

import json
import re
from collections.abc import Callable

import pytest
from small_project import PASSING, QUESTIONS, STUDY, Project, Ran, Server


def refused(ran: Ran, *sentences: str) -> None:
    """Asserts that nothing was run and that these sentences were all that was said, each once."""
    assert ran.status == pytest.ExitCode.USAGE_ERROR
    place = next(place for place, line in enumerate(ran.lines) if line.startswith("ERROR: "))
    said = [line for line in ran.lines[place:] if line]
    assert [line.removeprefix("ERROR: ") for line in said] == list(sentences)
    for sentence in sentences:
        assert ran.count(sentence) == 1
    assert not re.search(r"Traceback|INTERNALERROR|\.py:\d+: in |^E   ", ran.text, re.MULTILINE)
    assert not [folder for folder in ran.folders if (folder / "observations.jsonl").exists()]


@pytest.fixture
def run(make_project: Callable[..., Project], server: Server, workers: str) -> Callable[..., Ran]:
    """Runs a study against the server: `run(study, *arguments)`."""

    def run(study: str = STUDY, *arguments: str) -> Ran:
        return make_project(study=study).run(workers, *arguments, server=server)

    return run


def test_no_server(project, workers):
    with Server() as server:
        host = server.url

    ran = project.run(workers, OLLAMA_HOST=host)

    refused(
        ran,
        f"nothing answers at {host} ([Errno 111] Connection refused); start it with `ollama serve`, or say with "
        "--tokenbench-host where it runs; --tokenbench-backend embedded needs no server",
    )


def test_model_that_is_not_pulled(run, server):
    refused(
        run(STUDY, "--tokenbench-model=qwen2.5:7b-instruct"),
        f'the Ollama server at {server.url} has no model "qwen2.5:7b-instruct" (it has smollm2:135m); '
        "run `ollama pull qwen2.5:7b-instruct`",
    )


def test_address_that_is_none(run):
    refused(
        run(STUDY, "--tokenbench-host=http://[bad"),
        '"http://[bad" is no address of an Ollama server; --tokenbench-backend embedded needs no server',
    )


def test_unknown_conditions(run):
    known = "known are A, B2, C, D10, D25, Dall"

    refused(
        run(STUDY, "--tokenbench-conditions=A,Z9,d25"),
        f"--tokenbench-conditions: study 'small' has no condition 'Z9'; {known}",
        f"--tokenbench-conditions: study 'small' has no condition 'd25'; {known}",
    )


@pytest.mark.parametrize(
    ("option", "sentence"),
    [
        (
            "--tokenbench-backend=foo",
            "--tokenbench-backend: 'foo' is no backend; choose ollama or embedded or openai",
        ),
        (
            "--tokenbench-conditions=,",
            "--tokenbench-conditions: names no condition; give ids separated by commas, as A,D25",
        ),
        ("--tokenbench-order=warm", "--tokenbench-order: 'warm' is no order; choose cold or shared"),
        ("--tokenbench-timeout=soon", "--tokenbench-timeout: 'soon' is no number from 1 up"),
        ("--tokenbench-timeout=inf", "--tokenbench-timeout: 'inf' is no number from 1 up"),
        ("--tokenbench-repeats=1.5", "--tokenbench-repeats: '1.5' is no whole number from 1 up"),
        (
            "--tokenbench-shard=6/5",
            "--tokenbench-shard: '6/5' is no part of a whole; give the second of five parts as 2/5",
        ),
        ("--tokenbench-resume", "--tokenbench-resume: {path}/reports has no run to go on with"),
        (
            "--tokenbench-resume=elsewhere",
            "--tokenbench-resume: {path}/elsewhere: holds no run (run.json is missing)",
        ),
        (
            "--tokenbench-backend=openai",
            "--tokenbench-host: the backend openai has no default; give the server's address",
        ),
    ],
)
def test_options_of_no_use(run, option, sentence):
    ran = run(STUDY, option)
    refused(ran, sentence.format(path=ran.path))


def test_study_without_a_test_function(run, workers):
    told = "test_small.py, line 6: study 'small' has no test function; decorate one with @study.trials"
    ran = run(STUDY.partition("@study.trials")[0])

    if workers == "-n0":
        refused(ran, told)
    else:  # the workers alone have seen it, and can tell it of the file only
        assert ran.status != pytest.ExitCode.OK
        assert ran.count(told) == 1
        assert "Traceback" not in ran.text


def test_several_hosts_need_workers(run):
    hosts = ["--tokenbench-host=http://127.0.0.1:1", "--tokenbench-host=http://127.0.0.1:2"]
    ran = run(STUDY, *hosts, "-n0")
    refused(
        ran,
        "--tokenbench-host: 2 hosts are given, and this process asks one; "
        "add -n 2 (pytest-xdist), so that each has a worker",
    )


def test_ini_key_of_no_use(make_project):
    refused(
        make_project(ini="tokenbench_backend = foo\n").run("-n0"),
        "--tokenbench-backend: 'foo' is no backend; choose ollama or embedded or openai",
    )


FAULTY = (
    STUDY.replace('Croutons("D10"', 'Croutons("D25"')
    .replace('Chunks("B2"', 'Chunks("B,2"')
    .replace('"A",\n', '"Z",\n')
    + '''

@study.trials
def test_again(trial):
    trial.ask()


@study.hypothesis("H1")
def h1(results):
    """This one asks, and claims nothing."""
    results.estimate("accuracy", "A")


@study.hypothesis("H1")
def h2(results):
    assert results.estimate("accuracy", "A").estimate > 0.5


@study.hypothesis("H3")
async def h3(results):
    """This one is never run."""
    assert results.estimate("accuracy", "A").estimate > 0.5
'''
)


def test_every_fault_of_a_declaration_is_told_with_its_line(run):
    study = FAULTY.replace('baseline="A"', 'baseline="Z"')
    here = "test_small.py, line 6: study 'small'"

    refused(
        run(study),
        f"{here} has the test functions test_small and test_again; a study has one",
        f"{here} has 2 conditions 'D25'; give each its own id",
        f"{here} has a condition 'B,2'; an id is made of letters of English, digits, '.', '_' and '-'",
        f"{here} has the unknown baseline 'Z'; its conditions are A, B,2, C, D25, D25, Dall",
        f"{here} has several hypotheses 'H1'; give each its own name",
        "test_small.py, line 32: hypothesis 'H1' asserts nothing; state it with assert",
        "test_small.py, line 38: hypothesis 'H1' has no docstring; say in it what is claimed",
        "test_small.py, line 43: hypothesis 'H3' is asynchronous or yields, so that calling it does not run it; "
        "write a plain function",
    )


def test_every_fault_of_questions_and_corpus_is_told_as_verify_words_it(project, server, workers):
    wrong = [
        QUESTIONS[0] | {"answers": ["Nobody"]},
        QUESTIONS[1] | {"document": "nix"},
        QUESTIONS[3] | {"id": "kell-q01"},
    ]
    project.write_questions(wrong)
    (project.path / "corpus/articles/orrin.txt").unlink()

    refused(
        project.run(workers, server=server),
        'corpus/manifest.json: document "orrin": the file "articles/orrin.txt" is missing from corpus/',
        'questions.json: question "kell-q01": the id stands 2 times; each must be unique',
        'questions.json: question "kell-q01": the gold string "Nobody" is not in paragraph 1; copy it from there, or '
        'move it to "aliases"',
        'questions.json: question "kell-q02": names the unknown document "nix"; known are kell',
        'questions.json: question "kell-q01": the gold string "1,470 tonnes" is not in paragraph 0; copy it from there, '
        'or move it to "aliases"',
    )


def test_questions_that_are_no_json(project, server, workers):
    project.write("questions.json", "[{")

    refused(
        project.run(workers, server=server),
        "questions.json: line 1, column 3: is not valid JSON: Expecting property name enclosed in double quotes",
    )


def test_questions_that_are_missing(project, server, workers):
    (project.path / "questions.json").unlink()

    refused(
        project.run(workers, server=server),
        f"test_small.py: there is no 'questions.json' in {project.path} or above it up to {project.path}",
    )


def test_two_studies_of_one_name(project, server, workers):
    project.write("test_other.py", STUDY)

    refused(
        project.run(workers, server=server),
        "several studies of this session are named 'small'; give each its own name",
    )


def test_reports_folder_that_cannot_be_written(project, server, workers):
    project.write("kept", "in the way")

    refused(
        project.run(workers, "--tokenbench-reports=kept/here", server=server),
        f"{project.path}/kept/here/small: cannot be written (Not a directory)",
    )


def test_fixture_trial_in_a_test_of_no_study_fails_that_test_only(project, server, workers):
    project.write("test_other.py", "def test_alone(trial):\n    trial.ask()\n")

    ran = project.run(workers, "--tokenbench-conditions=A", server=server)

    ran.has(
        "=* ERRORS =*",
        "_* ERROR at setup of test_alone _*",
        "the fixture 'trial' is for functions decorated with @study.trials",
    )
    ran.lacks("*plugin.py*", "*Traceback*")
    ran.has("=* 6 passed, 1 error in *")
    assert ran.status == pytest.ExitCode.TESTS_FAILED


NO_SINGLE_TRIALS = (
    "test_small.py::test_small: a study's test function takes the fixture 'trial', and no parameter beside it"
)


def test_trials_function_without_the_fixture(run):
    refused(run(STUDY.replace("(trial):\n    trial.ask()", "():\n    pass")), NO_SINGLE_TRIALS)


def test_trials_function_with_parameters_of_its_own(run):
    more = 'import pytest\n\n\n@pytest.mark.parametrize("more", [1, 2])\n@study.trials'
    refused(run(STUDY.replace("@study.trials", more).replace("(trial)", "(trial, more)")), NO_SINGLE_TRIALS)


def test_run_goes_on_beside_a_file_that_cannot_be_collected_if_the_user_wants_that(
    make_project, server, workers
):
    project = make_project(study=STUDY + PASSING)
    project.write("test_broken.py", "import nowhere\n")
    ran = project.run(
        workers, "--tokenbench-conditions=A,B2", "--continue-on-collection-errors", server=server
    )

    assert len(ran.observations) == 12
    assert ran.file("run.json")["finished"]
    assert ran.count("No module named 'nowhere'") >= 1
    assert ran.count("was not recognised") == 0
    assert ran.status == pytest.ExitCode.TESTS_FAILED


def test_assert_of_the_author_fails_the_item_and_keeps_the_observation(make_project, server, workers):
    study = STUDY.replace("    trial.ask()", "    seen = trial.ask()\n    assert seen.output_tokens < 3")
    ran = make_project(study=study + PASSING).run(
        workers, "-rf", "--tokenbench-conditions=A,B2", server=server
    )

    ran.has("E *assert 3 < 3", "FAILED test_small.py::test_small[[]A-kell-q01] - *")
    assert ran.letters()[:12].count("F") == 10
    assert ran.letters()[:12].count(".") == 2
    assert len(ran.observations) == 12
    assert ran.file("results.json")["conditions"]["A"]["missing"] == {}
    assert ran.status == pytest.ExitCode.TESTS_FAILED


def test_trial_that_is_never_asked_fails_and_counts_as_not_run(make_project, server, workers):
    study = STUDY.replace("    trial.ask()", "    if trial.key.question != 'kell-q01':\n        trial.ask()")
    hypothesis = '''

@study.hypothesis("H9")
def h9(results):
    """A is right more often than not."""
    assert results.estimate("accuracy", "A").estimate > 0.5
'''
    ran = make_project(study=study + hypothesis + PASSING).run(
        workers, "--tokenbench-conditions=A,D25", server=server
    )

    ran.has("nothing was measured: the test function did not call trial.ask()")
    ran.has("note: A: 1 trial missing (1 not run)")
    assert len(ran.observations) == 10
    assert ran.verdicts == {"H9": "passed", "H1": "unavailable", "H3": "unavailable"}
    assert ran.file("run.json")["finished"]
    assert ran.status == pytest.ExitCode.TESTS_FAILED


def test_author_may_skip_trials_which_then_count_as_not_run(make_project, server):
    study = STUDY.replace(
        "    trial.ask()",
        "    if trial.key.question == 'kell-q01':\n        pytest.skip('not today')\n    trial.ask()",
    )
    ran = make_project(study="import pytest\n" + study).run(
        "-n0", "-rs", "--tokenbench-conditions=A", server=server
    )

    ran.has("SKIPPED [[]1] test_small.py:*: not today", "=* 5 passed, 1 skipped in *")
    ran.has("note: A: 1 trial missing (1 not run)")
    assert ran.status == pytest.ExitCode.OK


def test_damaged_preparation_is_built_anew(project):
    with Server() as server:
        project.run("-n0", "--tokenbench-conditions=C", server=server)
        for file in (project.path / ".tokenbench" / "preparations").glob("*.json"):
            file.write_text(json.dumps({"key": "?"}), encoding="utf-8")
        ran = project.run("-n0", "--tokenbench-conditions=C", server=server)

    assert server.preparations == 4
    ran.has("=* 6 passed in *")
