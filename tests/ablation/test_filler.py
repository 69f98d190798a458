"""Neutral text of a given number of tokens."""

import re
from collections import Counter

import pytest

from pytest_tokenbench.ablation.filler import filler

LENGTHS = [*range(120), 599, 600, 2000, 2407]


@pytest.mark.parametrize("tokens", LENGTHS)
def test_it_has_as_many_words_and_punctuation_marks_as_asked_for(tokens):
    assert len(re.findall(r"[A-Za-z]+|[.,;:!?']", filler(tokens))) == tokens


def test_it_is_letters_single_spaces_and_full_stops():
    for tokens in LENGTHS:
        assert re.fullmatch(r"(?:[A-Za-z]+\.?(?: (?=[A-Za-z]))?)*", filler(tokens))


def test_from_two_tokens_on_it_is_whole_sentences():
    for tokens in LENGTHS[2:]:
        sentences = filler(tokens).split(". ")
        assert filler(tokens).endswith(".")
        assert all(re.fullmatch(r"[A-Z][a-z]*(?: [a-z]+)*\.?", sentence) for sentence in sentences)


def test_no_sentence_comes_again_in_a_long_text():
    sentences = filler(8000).split(". ")
    assert len(sentences) > 900
    assert max(Counter(sentences).values()) == 1


def test_a_longer_text_begins_as_a_shorter_one():
    # So that two cases' fillers differ in length alone.
    assert filler(600).startswith(filler(80).rsplit(". ", 1)[0])


def test_a_negative_number_is_refused():
    with pytest.raises(ValueError, match="cannot have -3 tokens"):
        filler(-3)
