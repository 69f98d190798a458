"""Conditions B2 and B4."""

import scripted

from pytest_tokenbench.conditions import Chunks

# Five sections, each a chunk of its own at 8 words a chunk: 2 tokens on the mill in 4, then 1 in 1, none elsewhere.
SECTIONS = [
    "The harbour lies open to the wide west.",
    "A mill stood beside the upper river once.",
    "Sheep were kept on all the northern hills.",
    "Ferries ran each day to the other side.",
    "The mill wheel of the mill was oak.",
]
DOCUMENT = scripted.document("\n\n".join(f"== S{i} ==\n\n{text}" for i, text in enumerate(SECTIONS)) + "\n")
ASKED = scripted.question(text="Which mill?")


def test_the_best_chunks_come_in_rank_order_and_not_in_document_order():
    context = Chunks("B2", top=2, words=8).context(ASKED, DOCUMENT, None)
    assert context.units == ("chunk-4", "chunk-1")
    assert context.text == f"{SECTIONS[4]}\n\n{SECTIONS[1]}"


def test_the_top_two_begin_the_top_four():
    two = Chunks("B2", top=2, words=8).context(ASKED, DOCUMENT, None)
    four = Chunks("B4", top=4, words=8).context(ASKED, DOCUMENT, None)
    assert four.units == ("chunk-4", "chunk-1", "chunk-0", "chunk-2")
    assert four.units[:2] == two.units
    assert four.text.startswith(two.text)


def test_fewer_chunks_than_asked_for_are_all_given():
    context = Chunks("B4", top=4).context(ASKED, scripted.document("The mill stood.\n"), None)
    assert context.units == ("chunk-0",)
    assert context.text == "The mill stood."


def test_a_chunk_has_about_200_words_unless_told_otherwise():
    text = " ".join(["One two three four five six seven eight nine ten."] * 60)
    context = Chunks("B2", top=9).context(ASKED, scripted.document(text), None)
    assert [len(part.split()) for part in context.text.split("\n\n")] == [200, 200, 200]


def test_the_same_question_gives_the_same_context_after_other_documents():
    condition = Chunks("B2", top=2, words=8)
    first = condition.context(ASKED, DOCUMENT, None)
    condition.context(ASKED, scripted.document("Another text. With a mill.\n", name="other"), None)
    assert condition.context(ASKED, DOCUMENT, None) == first


def test_nothing_is_prepared():
    assert Chunks("B2", top=2).recipe() is None


def test_chunks_of_one_size_are_a_family():
    assert Chunks("B2", top=2).family == Chunks("B4", top=4).family
    assert Chunks("B2", top=2).family != Chunks("B2", top=2, words=100).family


def test_its_words_are_at_most_the_documents():
    long, short = scripted.document("word " * 1000), scripted.document("word " * 50)
    assert Chunks("B2", top=2).words(long) == 400
    assert Chunks("B4", top=4, words=100).words(long) == 400
    assert Chunks("B2", top=2).words(short) == 50


def test_each_question_has_a_context_of_its_own():
    assert not Chunks("B2", top=2).shared
