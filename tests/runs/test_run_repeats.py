"""Repeats and nonces: what the same trial gives again, and what stands before each prompt."""

import re

import pytest
from disturbed import settled
from small_project import PASSING, STUDY, Reader, Server

SOME = "--tokenbench-conditions=A,B2"


class Fickle(Reader):
    """Answers one question right under the baseline the first time only."""

    def __init__(self) -> None:
        super().__init__()
        self.times = 0

    def __call__(self, prompt: str) -> str:
        if "quay" in prompt and prompt.endswith("Question: Who built the upper light?"):
            self.times += 1
            return "Jonas Mereth" if self.times == 1 else "Ada Finch"
        return super().__call__(prompt)


@pytest.fixture
def ran(make_project, workers):
    with Server(Fickle()) as server:
        return make_project(study=STUDY + PASSING).run(
            workers, "--tokenbench-conditions=A", "--tokenbench-repeats=2", server=server, columns=160
        )


def test_each_repeat_is_a_trial_of_its_own(ran):
    seen = [(one["question"], one["repeat"]) for one in ran.file("observations.jsonl")]
    assert len(seen) == len(set(seen)) == 12
    assert {repeat for _, repeat in seen} == {0, 1}
    names = {name for name in ran.cases if "kell-q01" in name}
    assert names == {"test_small[A-kell-q01]", "test_small[A-kell-q01-r2]"}
    assert ran.file("run.json")["repeats"] == 2


def test_junit_tells_the_repeat(ran):
    told = {
        name: {one.name: one.value for one in case.properties()}
        for name, case in ran.cases.items()
        if name.startswith("test_small")
    }
    assert told["test_small[A-kell-q01]"]["repeat"] == "1"
    assert told["test_small[A-kell-q01-r2]"]["repeat"] == "2"


def test_churn_is_how_often_two_repeats_disagree(ran):
    churn = ran.file("results.json")["conditions"]["A"]["churn"]
    # One of four answerable questions, one of six in all.
    assert churn["answerable"]["estimate"] == pytest.approx(1 / 4)
    assert churn["all"]["estimate"] == pytest.approx(1 / 6)
    heading, row = (
        next(line for line in ran.lines if re.match(start, line)) for start in (r" +tokens/q", "A ")
    )
    assert "churn" in heading
    assert "17%" in row.split()
    assert "| churn" in re.sub(" +", " ", ran.file("report.md"))


def test_nonce_begins_every_prompt_and_is_recorded(make_project, workers):
    with Server() as server:
        ran = make_project(study=STUDY + PASSING).run(workers, SOME, "--tokenbench-nonce", server=server)
        prompts = [chat["messages"][-1]["content"] for chat in server.chats]

    begun = [re.match(r"\[([0-9a-f]{8})\]\nAnswer the question", prompt) for prompt in prompts]
    assert all(begun)
    nonces = {found[1] for found in begun if found}
    assert len(nonces) == len(prompts) == 12
    assert nonces == {one["nonce"] for one in ran.file("observations.jsonl")}
    assert ran.file("run.json")["nonce"] is True
    assert ran.count("note: a nonce began every prompt") == 1
    assert ran.status == pytest.ExitCode.OK


def test_nonce_changes_no_answer_and_is_gone_on_with(make_project, workers):
    project = make_project(study=STUDY + PASSING)
    with Server() as server:
        whole = make_project(study=STUDY + PASSING).run(workers, SOME, "--tokenbench-nonce", server=server)
    with Server(breaks=("rope walk employ",)) as server:
        project.run(workers, SOME, "--tokenbench-nonce", server=server)
    with Server() as server:
        ran = project.run(workers, SOME, "--tokenbench-nonce", "--tokenbench-resume", server=server)
        assert len(server.chats) == 2

    assert settled(ran.file("results.json")) == settled(whole.file("results.json"))
