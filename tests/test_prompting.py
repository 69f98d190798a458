"""The prompts as they are registered, and how they are filled."""

import hashlib
from importlib import resources

import pytest

from pytest_tokenbench import prompting

ANSWER = (
    "Answer the question using only the context. Reply with the answer in a few words. "
    "If the context does not contain the answer, reply exactly: not stated."
)


def test_the_answer_prompt_is_the_protocols_instruction_first_question_last():
    filled = prompting.fill("answer", context="The mill was built in 1901.", question="When?")
    assert filled == f"{ANSWER}\n\nContext:\nThe mill was built in 1901.\n\nQuestion: When?"


def test_the_protocol_quotes_the_answer_prompt_word_for_word(repository):
    protocol = (repository / "corpus" / "PROTOCOL.md").read_text(encoding="utf-8")
    quoted = " ".join(line[2:] for line in protocol.splitlines() if line.startswith("> "))
    assert quoted == ANSWER


@pytest.mark.parametrize(
    "value", ["$question", "${question}", "$$", "$", "costs $5", "$context", "{question}", "%s"]
)
def test_a_value_is_never_read_as_a_template(value):
    filled = prompting.fill("answer", context=value, question="When?")
    assert filled.split("\n")[3] == value
    assert filled.count("When?") == 1


def test_a_name_without_a_value_is_an_error():
    with pytest.raises(KeyError, match="question"):
        prompting.fill("answer", context="")


def test_the_summary_prompts_tell_the_limit_and_the_retry_the_count():
    first = prompting.fill("summary", max_words=600, text="T")
    again = prompting.fill("summary_retry", max_words=600, words=731, text="T")
    assert "at most 600 words" in first
    assert "at most 600 words" in again
    assert "731 words" in again
    assert first.startswith("Text:\nT\n\n")
    assert again.startswith("Text:\nT\n\n")


def test_the_hash_of_a_prompt_is_that_of_its_file_without_the_last_line_end():
    text = (
        resources.files("pytest_tokenbench")
        .joinpath("prompts", "answer.txt")
        .read_bytes()
        .removesuffix(b"\n")
    )
    assert prompting.sha256("answer") == hashlib.sha256(text).hexdigest()


def test_the_hash_of_several_prompts_depends_on_each_and_on_their_order():
    names = ["summary", "summary_retry"]
    found = {prompting.sha256(*names), prompting.sha256(*names[::-1]), *map(prompting.sha256, names)}
    assert len(found) == 4
