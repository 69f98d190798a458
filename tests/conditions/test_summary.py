"""Condition C."""

import pytest
import scripted

from pytest_tokenbench.conditions import Summary
from pytest_tokenbench.preparation import ConstructionError

TEXT = "The mill was built in 1901.\n"


def words(count):
    return " ".join(["word"] * count)


def write(*replies, max_words=10):
    encoder = scripted.encoder(*replies)
    return Summary("C", max_words=max_words).recipe().write(scripted.document(TEXT), encoder), encoder.model


def test_a_summary_within_the_limit_is_taken_at_once():
    written, model = write(f"  {words(10)}\n")
    assert written.units == (words(10),)
    assert written.flags == ()
    assert len(model.prompts) == 1
    assert "at most 10 words" in model.prompts[0]
    assert model.prompts[0].startswith("Text:\nThe mill was built in 1901.\n\n")


def test_one_that_is_too_long_is_asked_for_once_more_with_its_count():
    written, model = write(words(13), words(9))
    assert written.units == (words(9),)
    assert written.flags == ()
    assert len(model.prompts) == 2
    assert "13 words" in model.prompts[1]
    assert "at most 10 words" in model.prompts[1]
    assert TEXT.strip() in model.prompts[1]


def test_one_that_is_still_too_long_is_used_and_flagged():
    written, model = write(words(13), words(11))
    assert written.units == (words(11),)
    assert written.flags == ("over_budget",)
    assert len(model.prompts) == 2


def test_one_that_was_cut_at_the_token_limit_is_flagged():
    written, _ = write(scripted.reply(words(5), stop="length"))
    assert written.flags == ("cut",)


def test_a_first_try_that_was_cut_does_not_flag_the_second():
    written, _ = write(scripted.reply(words(13), stop="length"), words(5))
    assert written.flags == ()


def test_too_long_and_cut_gives_both_flags():
    written, _ = write(words(13), scripted.reply(words(12), stop="length"))
    assert written.flags == ("over_budget", "cut")


@pytest.mark.parametrize("replies", [("",), (" \n\t",), (words(13), "")])
def test_an_empty_one_is_a_failed_construction_that_names_the_document(replies):
    with pytest.raises(ConstructionError, match="empty summary of mill"):
        write(*replies)


def test_a_word_has_two_tokens_at_most():
    _, model = write(words(13), words(9))
    assert model.limits == [20, 20]


def test_the_limits_are_among_the_options():
    assert Summary("C", max_words=600).recipe().options() == {"max_words": 600, "max_tokens": 1200}


def test_the_context_is_the_summary_for_every_question():
    condition, made = Summary("C", max_words=600), scripted.preparation("The mill is old.")
    for asked in (scripted.question(), scripted.unanswerable()):
        context = condition.context(asked, scripted.document(TEXT), made)
        assert context.text == "The mill is old."
        assert context.units == ("summary",)


def test_without_its_preparation_there_is_no_context():
    with pytest.raises(ValueError, match="condition C needs its preparation"):
        Summary("C", max_words=600).context(scripted.question(), scripted.document(TEXT), None)


def test_its_words_are_the_limit_or_the_documents():
    assert Summary("C", max_words=600).words(scripted.document("word " * 1000)) == 600
    assert Summary("C", max_words=600).words(scripted.document("word " * 50)) == 50


def test_one_context_serves_every_question():
    assert Summary("C", max_words=600).shared
