"""Trouble with the model in mid-run: what may pass is asked again, what stays is told once, and no trial is lost."""

import os
import signal
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from disturbed import measured, settled, wait_until
from small_project import EVERY, MODEL, PASSING, STUDY, Project, Ran, Reader, Server
from stub_ollama import Request, StubModel

RESUME = "--tokenbench-resume"
SOME = "--tokenbench-conditions=A,B2"
PASSING_TROUBLE = {
    "reset": "unreachable",
    "half": "unreachable",
    "503": "busy",
    "500": "crashed",
    "malformed": "malformed",
    "not_object": "malformed",
    "empty": "malformed",
    "no_message": "malformed",
    "done_false": "malformed",
    "missing_counts": "malformed",
    "uncounted_prompt": "malformed",
    "uncounted_reply": "malformed",
    "low_count": "malformed",
    "high_count": "malformed",
    "long_duration": "malformed",
    "wrong_count": "malformed",
}
# Four preparations come first. Between two troubles there is room for a worker that asks again.
IN_TRIALS = {6 + 3 * place: fault for place, fault in enumerate(PASSING_TROUBLE)}


@pytest.fixture
def some(make_project: Callable[..., Project], workers: str) -> Ran:
    """The undisturbed run of two conditions."""
    with Server() as server:
        return make_project(study=STUDY + PASSING).run(workers, SOME, server=server)


def errors(ran: Ran) -> list[dict[str, Any]]:
    return [one for one in ran.observations.values() if one["status"] == "error"]


def test_trouble_that_passes_is_asked_again_and_changes_no_result(make_project, workers, ran):
    with Server(faults=IN_TRIALS) as server:
        hurt = make_project(study=EVERY).run(workers, server=server)

    assert measured(hurt) == measured(ran)
    assert settled(hurt.file("results.json")) == settled(ran.file("results.json"))
    assert hurt.status == ran.status
    attempts = [one for seen in hurt.file("observations.jsonl") for one in seen["attempts"]]
    assert Counter(one["kind"] for one in attempts) == Counter(PASSING_TROUBLE.values())
    assert all(one["message"] and one["host"] == server.url and one["seconds"] >= 0 for one in attempts)
    assert len(server.chats) == 4 + 36 + len(PASSING_TROUBLE)
    assert hurt.count("note: trials that took more than one attempt:") == 1


def test_trouble_while_preparing_is_asked_again_and_costs_no_token(make_project, workers, ran):
    with Server(faults={0: "500", 2: "503", 4: "done_false", 5: "reset"}) as server:
        hurt = make_project(study=EVERY).run(workers, server=server)

    assert settled(hurt.file("results.json")) == settled(ran.file("results.json"))
    assert server.preparations == 4 + 4


def test_reply_that_repeats_one_token_is_an_error_that_is_not_asked_again(make_project, workers):
    with Server(faults={3: "gave_up"}) as server:
        ran = make_project().run(workers, "--tokenbench-conditions=A", server=server)

    (seen,) = errors(ran)
    assert seen["error_kind"] == "gave_up"
    assert len(seen["attempts"]) == 1
    assert len(server.chats) == 6
    assert ran.letters().count("E") == 1
    assert ran.status == pytest.ExitCode.TESTS_FAILED


def test_trial_that_the_time_ran_out_for_is_an_error_and_asked_again_by_resume(make_project, workers, some):
    project = make_project(study=STUDY + PASSING)
    with Server(faults={3: "slow"}) as server:
        ran = project.run(workers, SOME, "--tokenbench-timeout=5", server=server)
        (seen,) = errors(ran)
        assert seen["error_kind"] == "timed_out"
        assert "--tokenbench-timeout gives a trial more time" in seen["error_message"]
        again = project.run(workers, SOME, RESUME, server=server)

    assert again.status == pytest.ExitCode.OK
    assert settled(again.file("results.json")) == settled(some.file("results.json"))


def test_five_trials_in_a_row_that_come_to_nothing_end_the_session_with_one_message(
    make_project, workers, some
):
    project = make_project(study=STUDY + PASSING)
    with Server(breaks=("\n\nQuestion: ",)) as server:
        ran = project.run(workers, SOME, server=server)

    assert ran.status == pytest.ExitCode.INTERRUPTED
    assert ran.count("5 trials in a row came to nothing, the last with crashed: ") == 1
    assert ran.count("what is measured is kept; --tokenbench-resume goes on from there") == 1
    # Those that were under way are waited for.
    assert 5 <= len(errors(ran)) == len(ran.observations) <= 8
    assert all(len(one["attempts"]) == 7 for one in errors(ran))
    assert ran.verdicts == {"H1": "unavailable", "H3": "unavailable"}
    assert ran.file("run.json")["finished"] is None

    with Server() as server:
        again = project.run(workers, SOME, RESUME, server=server)
        assert len(server.chats) == 12
    assert again.status == pytest.ExitCode.OK
    assert settled(again.file("results.json")) == settled(some.file("results.json"))


def refusing(*words: str) -> Callable[..., Server]:
    """A server that refuses prompts with one of these words, whatever it is asked."""

    class Refusing(Server):
        def reply(self, request: Request) -> tuple[int, Any, str | None]:
            made = super().reply(request)
            messages = request.body.get("messages")
            if messages and any(word in messages[-1]["content"] for word in words):
                return 400, {"error": "this prompt is against the rules"}, None
            return made

    return Refusing


def test_prompts_that_are_refused_for_what_they_hold_do_not_end_the_session(make_project, workers):
    project = make_project()
    # In shared order, all six of them follow each other.
    given = [workers, SOME, "--tokenbench-order=shared"]
    with refusing("barley was ground?", "the miller?", "did the mill have?")() as server:
        resume = f"{RESUME}={project.run(*given, '-k', 'kell', server=server).folder}"
        ran = project.run(*given, resume, server=server)
        asked = len(server.chats)
        again = project.run(*given, resume, server=server)
        assert len(server.chats) == asked + 6

    assert ran.status == again.status == pytest.ExitCode.TESTS_FAILED
    assert ran.file("run.json")["finished"] is not None
    assert len(ran.observations) == 12
    assert [one["error_kind"] for one in errors(ran)] == ["refused"] * 6


def test_server_that_refuses_whatever_it_is_asked_ends_the_session(make_project, workers):
    with refusing("Question: ")() as server:
        ran = make_project().run(workers, SOME, server=server)

    assert ran.status == pytest.ExitCode.INTERRUPTED
    assert ran.count("5 trials in a row came to nothing, the last with refused: ") == 1


def test_three_preparations_in_a_row_that_come_to_nothing_end_the_session_before_the_first_trial(
    make_project, workers
):
    given = [workers, "--tokenbench-conditions=A,C,D10"]
    project = make_project(study=STUDY + PASSING)
    with Server(breaks=("Text:\n",)) as server:
        ran = project.run(*given, server=server)
    assert ran.status == pytest.ExitCode.USAGE_ERROR
    assert ran.count("3 preparations in a row came to nothing, the last with crashed: ") == 1
    assert not ran.observations

    with Server() as server:
        again = project.run(*given, RESUME, server=server)
    assert again.status == pytest.ExitCode.OK
    assert again.file("run.json")["finished"] is not None


def test_preparations_that_repeat_themselves_do_not_keep_a_run_from_beginning(make_project, workers):
    with Server(faults=lambda turn: "gave_up" if turn < 4 else None) as server:
        ran = make_project().run(workers, "--tokenbench-conditions=A,C,D10", server=server)

    assert len(ran.observations) == 18
    assert Counter(one["status"] for one in ran.observations.values()) == {"ok": 6, "construction_failed": 12}


def in_mid_run(server: Server, change: Callable[[Server], None]) -> None:
    """Changes something at the server's sixth answer."""
    usual = server.answer

    def answer(prompt: str) -> str:
        if len(server.chats) == 6:
            change(server)
        return usual(prompt)

    server.answer = answer


def other_digest(server: Server) -> None:
    server.models = {MODEL: StubModel(digest="f" * 64)}


def smaller_window(server: Server) -> None:
    server.window = 8192


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (other_digest, f"the model digest at {{url}} was {StubModel().digest} and is {'f' * 64} now"),
        (smaller_window, "the context length at {url} was 16,384 and is 8,192 now"),
    ],
)
def test_model_that_changed_during_the_run_is_an_error_that_names_both(make_project, workers, change, says):
    with Server() as server:
        in_mid_run(server, change)
        ran = make_project(study=STUDY + PASSING).run(workers, SOME, server=server, columns=300)
        told = says.format(url=server.url)

    assert ran.verdicts == {"H1": "error", "H3": "error"}
    assert {one["reason"] for one in ran.file("run.json")["verdicts"]} == {told}
    assert ran.count(f"note: {told}") == 1
    assert ran.file("report.md").count(told) >= 1
    assert ran.status == pytest.ExitCode.TESTS_FAILED


def test_run_whose_model_changed_is_not_gone_on_with_nor_judged_anew(make_project, workers):
    project = make_project(study=STUDY + PASSING)
    with Server() as server:
        in_mid_run(server, other_digest)
        spoilt = project.run(workers, SOME, server=server)
        newest = project.run(workers, SOME, RESUME, server=server)
        named = project.run(workers, SOME, f"{RESUME}={spoilt.folder}", server=server)

    assert newest.status == named.status == pytest.ExitCode.USAGE_ERROR
    assert newest.count("has no unfinished run") == 1
    assert named.count("cannot be gone on with, since the model digest at") == 1
    assert spoilt.verdicts == {"H1": "error", "H3": "error"}


def test_changed_model_fails_a_study_without_hypotheses_too(make_project, workers):
    with Server() as server:
        in_mid_run(server, other_digest)
        ran = make_project().run(workers, SOME, server=server, columns=300)
        told = f"the model digest at {server.url} was {StubModel().digest} and is {'f' * 64} now"

    assert ran.status == pytest.ExitCode.TESTS_FAILED
    assert ran.count(f"tokenbench: {told}") == 1


def test_model_that_changed_before_an_interruption_is_noticed(make_project, workers):
    project = make_project(study=STUDY + PASSING)
    with Server(delay=0.1) as server:
        in_mid_run(server, other_digest)
        process = project.start(workers, SOME, server=server)
        wait_until(lambda: len(server.chats) >= 9, process)
        os.kill(process.pid, signal.SIGINT)
        ran = project.ended(process)
        again = project.run(workers, SOME, f"{RESUME}={ran.folder}", server=server)

    assert ran.status == pytest.ExitCode.INTERRUPTED
    assert ran.file("run.json")["spoilt"].startswith("the model digest at")
    assert again.status == pytest.ExitCode.USAGE_ERROR


def test_model_that_was_removed_in_mid_run_ends_it_and_resume_needs_it_back(make_project, workers, some):
    project = make_project(study=STUDY + PASSING)
    with Server() as server:
        in_mid_run(server, lambda server: server.models.clear())
        ran = project.run(workers, SOME, server=server)
        without = project.run(workers, SOME, RESUME, server=server)

    assert ran.status == pytest.ExitCode.INTERRUPTED
    assert {one["error_kind"] for one in errors(ran)} == {"model_missing"}
    assert ran.count("5 trials in a row came to nothing, the last with model_missing: ") == 1
    assert without.status == pytest.ExitCode.USAGE_ERROR
    assert without.count(f"run `ollama pull {MODEL}`") == 1

    with Server() as server:
        again = project.run(workers, SOME, RESUME, server=server)
    assert again.status == pytest.ExitCode.OK
    assert settled(again.file("results.json")) == settled(some.file("results.json"))


def test_what_is_out_of_the_ordinary_in_answers_is_told_apart_and_counted(make_project, workers):
    says = {
        ("Question: Who built",): "<think>the quay, the lights",
        ("Question: How many people",): "I'm sorry, but I cannot help with that.",
        ("Question: What was the mayor",): "",
        ("Question: Who was the miller",): " ".join(["Ada Finch and"] * 40),
    }
    with Server(Reader(says)) as server:
        ran = make_project().run(workers, "--tokenbench-conditions=A", server=server)

    remarks = {name: one["remark"] for name, one in ran.observations.items()}
    assert remarks == {
        "A-kell-q01": "thinking",
        "A-kell-q02": "refusal",
        "A-kell-q03": "empty",
        "A-orrin-q01": None,
        "A-orrin-q02": "cut",
        "A-orrin-q03": None,
    }
    assert ran.file("results.json")["conditions"]["A"]["remarks"] == dict.fromkeys(
        ("cut", "empty", "refusal", "thinking"), 1
    )
    for words in (
        "no answer, since the tokens went on thinking",
        "refusals",
        "empty answers",
        "answers cut at their limit",
    ):
        assert ran.count(f"note: {words}: A 1 of 6") == 1
