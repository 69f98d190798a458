"""Going on with a run that did not come to its end."""

import json
from collections.abc import Callable

import pytest
from disturbed import measured, settled
from small_project import PASSING, QUESTIONS, STUDY, Project, Server
from stub_ollama import StubModel

SOME = "--tokenbench-conditions=A,B2"
RESUME = "--tokenbench-resume"


@pytest.fixture
def half(make_project: Callable[..., Project], workers: str) -> Project:
    """A project whose run came to nothing in 2 of its 12 trials."""
    project = make_project(study=STUDY + PASSING)
    with Server(breaks=("rope walk employ",)) as server:
        ran = project.run(workers, SOME, server=server)
    assert ran.status == pytest.ExitCode.TESTS_FAILED
    assert [one["status"] for one in ran.observations.values()].count("error") == 2
    return project


def test_finished_trials_are_not_asked_again_and_errored_ones_are(half, workers):
    with Server() as server:
        ran = half.run(workers, SOME, RESUME, server=server)
        asked = [chat["messages"][-1]["content"] for chat in server.chats]

    assert ran.status == pytest.ExitCode.OK
    assert len(ran.folders) == 1
    assert len(asked) == 2
    assert all("How many people did the rope walk employ?" in prompt for prompt in asked)
    assert len(ran.file("observations.jsonl")) == 14
    assert ran.verdicts == {"H1": "unavailable", "H3": "unavailable"}
    assert ran.count("10 of 12 trials are there already") == 1


def test_reused_trials_are_shown_as_such(half, workers):
    with Server() as server:
        ran = half.run(workers, SOME, RESUME, "-v", server=server)

    assert ran.text.count("REUSED") == 10
    properties = {
        name: {(one.name, one.value) for one in case.properties()} for name, case in ran.cases.items()
    }
    reused = [name for name, found in properties.items() if ("reused", "true") in found]
    assert len(reused) == 10
    assert not any("kell-q02" in name for name in reused)


def test_resumed_run_equals_an_undisturbed_one(half, make_project, workers):
    with Server() as server:
        ran = half.run(workers, SOME, RESUME, server=server)
    with Server() as server:
        whole = make_project(study=STUDY + PASSING).run(workers, SOME, server=server)

    assert settled(ran.file("results.json")) == settled(whole.file("results.json"))
    assert len(measured(whole)) == 12


def test_run_that_came_to_its_end_is_none_to_go_on_with(half, workers):
    with Server() as server:
        half.run(workers, SOME, RESUME, server=server)
        ran = half.run(workers, SOME, RESUME, server=server)

    assert ran.status == pytest.ExitCode.USAGE_ERROR
    assert ran.count("has no unfinished run") == 1


def test_whole_run_is_judged_again_without_a_server(half, workers):
    with Server() as server:
        done = half.run(workers, SOME, RESUME, server=server)
    before = done.file("results.json")
    ran = half.run(
        workers,
        SOME,
        f"{RESUME}={done.folder}",
        "--tokenbench-model=smollm2:135m",
        "--tokenbench-host=http://127.0.0.1:9",
    )

    assert ran.status == pytest.ExitCode.OK
    assert ran.file("results.json") == before


def test_torn_last_line_is_set_aside_and_told(half, workers):
    (ledger,) = half.path.glob("reports/*/*/observations.jsonl")
    with ledger.open("ab") as file:
        file.write(b'{"study":"small","question":"kell')
    with Server() as server:
        ran = half.run(workers, SOME, RESUME, server=server)

    assert ran.status == pytest.ExitCode.OK
    assert ran.count("was cut short and is set aside, in observations.jsonl.torn") == 1
    assert (ran.folder / "observations.jsonl.torn").read_text() == '{"study":"small","question":"kell\n'
    assert len(ran.file("observations.jsonl")) == 14


def changed_questions(project: Project) -> None:
    project.write_questions(
        [QUESTIONS[0] | {"question": "By whom was the upper light built?"}, *QUESTIONS[1:]]
    )
    project.pin()


def changed_corpus(project: Project) -> None:
    file = project.path / "corpus/articles/orrin.txt"
    file.write_text(file.read_text().replace("four pairs", "five pairs"))
    project.pin()


def changed_condition(project: Project) -> None:
    file = project.path / "test_small.py"
    file.write_text(file.read_text().replace("top=1, words=20", "top=2, words=20"))


def changed_prompt(project: Project) -> None:
    project.write(
        "conftest.py",
        "from pytest_tokenbench import prompting\n\n"
        "as_it_was = prompting.template\n"
        "prompting.template = lambda name: as_it_was(name) + ' Be brief.'\n",
    )


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (changed_prompt, "the prompt answer has changed"),
        (changed_questions, "the questions file has changed"),
        (changed_corpus, "the document orrin has changed"),
        (changed_condition, "condition B2's top has changed"),
    ],
)
def test_run_is_not_gone_on_with_when_something_that_counts_has_changed(half, workers, change, says):
    change(half)
    with Server() as server:
        ran = half.run(workers, SOME, RESUME, server=server)

    assert ran.status == pytest.ExitCode.USAGE_ERROR
    assert ran.count(says) == 1
    assert ran.count("cannot be gone on with") == 1
    assert len(server.chats) == 0


@pytest.mark.parametrize("is_finished", [False, True])
def test_changed_hypothesis_is_told_forbids_nothing_and_is_not_pre_registered(half, workers, is_finished):
    (folder,) = half.path.glob("reports/*/*")
    # As if all had been committed before the run.
    record = json.loads((folder / "run.json").read_text())
    record["registration"] = "pre-registered: last change committed 2026-01-02T03:04:05+00:00"
    (folder / "run.json").write_text(json.dumps(record))
    file = half.path / "test_small.py"
    with Server() as server:
        if is_finished:
            half.run(workers, SOME, RESUME, server=server)
        file.write_text(file.read_text().replace(">= 0.10", ">= 0.20"))
        ran = half.run(workers, SOME, f"{RESUME}={folder}", server=server)
        assert len(server.chats) == 2

    assert ran.status == pytest.ExitCode.OK
    assert ran.count("note: the study file changed after the run began") == 1
    sentence = ran.file("run.json")["registration"]
    assert sentence.startswith("not pre-registered: the study file changed after the run began (sha256 ")
    assert ran.file("results.json")["registration"] == sentence
    properties = {one.name: one.value for suite in ran.junit for one in suite.properties()}
    assert properties["tokenbench.registration"] == sentence
    assert ran.count(f"note: {sentence}") == 1


def test_run_is_not_gone_on_with_by_another_model_of_the_same_name(half, workers):
    with Server(models={"smollm2:135m": StubModel(digest="f" * 64)}) as server:
        ran = half.run(workers, SOME, RESUME, server=server)

    assert ran.status == pytest.ExitCode.USAGE_ERROR
    assert ran.count("the model's digest has changed since that run began") == 1


@pytest.mark.parametrize(
    "option", ["--tokenbench-order=shared", "--tokenbench-nonce", "--tokenbench-repeats=2"]
)
def test_run_is_not_gone_on_with_under_other_options(half, workers, option):
    (folder,) = half.path.glob("reports/*/*")
    with Server() as server:
        newest = half.run(workers, SOME, RESUME, option, server=server)
        named = half.run(workers, SOME, f"{RESUME}={folder}", option, server=server)

    assert newest.status == named.status == pytest.ExitCode.USAGE_ERROR
    assert newest.count("no unfinished run in") == 1
    assert named.count(f"{option.partition('=')[0]} has changed since that run began") == 1


def test_run_is_gone_on_with_although_the_store_of_preparations_is_gone(make_project, workers):
    project = make_project(study=STUDY + PASSING)
    with Server(breaks=("Question: How much barley",)) as server:
        project.run(workers, server=server)
    for file in (project.path / ".tokenbench/preparations").glob("*.json"):
        file.unlink()
    with Server() as server:
        ran = project.run(workers, RESUME, server=server)
        asked = [chat["messages"][-1]["content"] for chat in server.chats]

    assert ran.status == pytest.ExitCode.OK
    assert len(asked) == 6
    assert all("How much barley" in prompt for prompt in asked)
    assert len({json.dumps(one) for one in ran.file("preparations.jsonl")}) == 4


OTHER = STUDY.replace('"small"', '"other"').replace("test_small", "test_other")


def test_study_without_a_run_to_go_on_with_does_not_begin_anew_since_another_has_one(half, workers):
    half.write("test_other.py", OTHER)
    before = {file: file.read_bytes() for file in half.path.glob("reports/*/*/*")}
    with Server() as server:
        ran = half.run(workers, "test_other.py", SOME, RESUME, server=server)

    assert ran.status == pytest.ExitCode.USAGE_ERROR
    assert ran.count("--tokenbench-resume: ") == ran.count("has no run of other to go on with") == 1
    assert len(server.chats) == 0
    assert {file: file.read_bytes() for file in half.path.glob("reports/*/*/*")} == before


def test_study_that_begins_anew_beside_one_that_is_gone_on_with_is_told(half, workers):
    half.write("test_other.py", OTHER)
    with Server() as server:
        ran = half.run(workers, SOME, RESUME, server=server)

    assert ran.status == pytest.ExitCode.OK
    assert ran.count("tokenbench: there is no run of other to go on with, which begins anew") == 1
    assert {folder.parent.name for folder in ran.folders} == {"small", "other"}
    assert len(ran.folders) == 2


def test_damaged_run_of_another_study_keeps_none_from_being_gone_on_with(half, workers):
    half.write("test_other.py", OTHER)
    with Server() as server:
        half.run(workers, SOME, "test_other.py", server=server)
        (ledger,) = half.path.glob("reports/other/*/observations.jsonl")
        ledger.write_bytes(b"damaged\n" + ledger.read_bytes())
        ran = half.run(workers, "test_small.py", SOME, RESUME, server=server)
        both = half.run(workers, "test_other.py", SOME, RESUME, server=server)

    assert ran.status == pytest.ExitCode.OK
    assert ran.count("10 of 12 trials are there already") == 1
    assert both.status == pytest.ExitCode.USAGE_ERROR
    assert both.count("observations.jsonl, line 1: ") == 1


def test_trials_that_came_to_nothing_are_open_still_when_others_were_selected(make_project, workers):
    project = make_project()
    with Server(breaks=("rope walk employ",)) as server:
        project.run(workers, "--tokenbench-conditions=A", server=server)
    with Server() as server:
        between = project.run(workers, "--tokenbench-conditions=B2", RESUME, server=server)
        assert between.file("run.json")["scheduled"] == 12
        ran = project.run(workers, SOME, RESUME, server=server)

    assert ran.count("11 of 12 trials are there already") == 1
    assert {one["status"] for one in ran.observations.values()} == {"ok"}


def test_prices_that_are_given_when_a_run_is_gone_on_with_are_used_and_kept(half, workers):
    prices = '[prices."{}"]\ninput = 2\ncached_input = 0.5\noutput = 10\n'
    half.write("first.toml", prices.format("at first"))
    half.write("later.toml", prices.format("later"))
    (folder,) = half.path.glob("reports/*/*")
    names = []
    with Server() as server:
        for given in (["--tokenbench-prices=first.toml"], ["--tokenbench-prices=later.toml"], []):
            ran = half.run(workers, SOME, f"{RESUME}={folder}", *given, server=server)
            names.append([one["name"] for one in ran.file("run.json")["prices"]])

    assert names == [["at first"], ["later"], ["later"]]
    assert ran.file("results.json")["costs"]
