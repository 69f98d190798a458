"""What the registered questions promise as a set."""

import re
from collections import Counter

import pytest

from pytest_tokenbench import scoring
from pytest_tokenbench.corpus import passages, verify


@pytest.fixture(scope="module")
def material(repository):
    return verify.read(repository / "corpus", repository / "questions.json")


def test_each_document_has_eight_answerable_and_two_unanswerable_questions(material):
    counts = Counter((question.document, question.answerable) for question in material.questions.items)
    assert len(counts) == 20
    assert {counts[name, True] for name, _ in counts} == {8}
    assert {counts[name, False] for name, _ in counts} == {2}


def test_each_answerable_question_has_a_drawn_paragraph_of_its_own(material):
    drawn = material.questions.sampling.drawn
    for document in material.manifest.documents:
        asked = [q.paragraph for q in material.questions.items if q.document == document.id and q.answerable]
        assert tuple(asked) == drawn[document.id]


def test_drawn_paragraphs_have_45_words_or_more(material):
    for document in material.manifest.documents:
        texts = passages.paragraphs(document.text)
        for index in material.questions.sampling.drawn[document.id]:
            assert passages.word_count(texts[index]) >= 45


def test_unanswerable_questions_record_terms_that_are_not_in_their_document(material):
    texts = {document.id: document.text for document in material.manifest.documents}
    for question in material.questions.items:
        if not question.answerable:
            assert len(question.checked_terms) >= 2, question.id
            for term in question.checked_terms:
                assert not scoring.contains(texts[question.document], term), (question.id, term)


def test_no_question_quotes_its_paragraph_wholesale(material):
    texts = {document.id: passages.paragraphs(document.text) for document in material.manifest.documents}
    for question in material.questions.items:
        if question.answerable:
            paragraph = scoring.tokens(texts[question.document][question.paragraph])
            runs = {paragraph[i : i + 6] for i in range(len(paragraph) - 5)}
            asked = scoring.tokens(question.question)
            assert not any(asked[i : i + 6] in runs for i in range(len(asked) - 5)), question.id


def test_no_question_contains_its_answer_or_points_at_a_paragraph(material):
    for question in material.questions.items:
        assert not re.search(
            r"\b(paragraph|passage|text|article) (says|states|mentions)|according to the (paragraph|passage|text|article)",
            question.question,
            re.IGNORECASE,
        )
        assert not scoring.contains_any(question.question, question.answers), question.id


def test_kinds_are_mixed(material):
    kinds = Counter(question.slices["kind"] for question in material.questions.items)
    assert set(kinds) == {"who", "when", "where", "quantity", "which", "why", "what"}
    assert min(kinds.values()) >= 3


def test_promised_numbers_of_special_forms_are_met(material):
    answerable = [question for question in material.questions.items if question.answerable]
    two_parts = [q for q in answerable if any("&" in gold for gold in q.answers)]
    numeric = [q for q in answerable if any(re.search(r"\d,\d{3}|\d+ ?[^\W\d]+", gold) for gold in q.answers)]
    careful = [q for q in answerable if q.slices["reading"] in {"negation", "exception"}]
    assert len(two_parts) >= 10
    assert len(numeric) >= 15
    assert len(careful) >= 10
