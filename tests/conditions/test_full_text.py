"""Condition A."""

import pytest
import scripted

from pytest_tokenbench.conditions import FullText

TEXT = "== Head ==\n\nThe  mill \u2013 built in 1,470 \u2013 stands.\n\n  Indented.\n"


@pytest.mark.parametrize(
    ("text", "given"), [(TEXT, TEXT[:-1]), ("No line end", "No line end"), ("\nLead\n", "\nLead")]
)
def test_the_context_is_the_documents_text_to_the_letter_without_its_last_line_end(text, given):
    context = FullText("A").context(scripted.question(), scripted.document(text), None)
    assert context.text == given
    assert context.units == ("document",)


def test_nothing_is_prepared():
    assert FullText("A").recipe() is None


def test_it_is_a_family_of_its_own():
    assert FullText("A").family != FullText("A2").family


def test_its_words_are_the_documents_and_the_same_for_every_question():
    text = scripted.document("One two three.\n")
    assert FullText("A").words(text) == 3
    assert FullText("A").shared
