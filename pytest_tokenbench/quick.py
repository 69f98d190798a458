"""What a quick look asks of a corpus, instead of the whole of it."""

import hashlib
from collections.abc import Sequence
from dataclasses import replace

from pytest_tokenbench import scoring
from pytest_tokenbench.corpus import passages
from pytest_tokenbench.records import Document, Question
from pytest_tokenbench.settings import QUICK_DOCUMENTS, QUICK_WORDS


def quick_look(
    documents: Sequence[Document], questions: Sequence[Question]
) -> tuple[tuple[Document, ...], tuple[Question, ...]]:
    """The first four documents, each cut at the first paragraph boundary after 1,200 words, and what can be asked.

    Kept are the questions whose paragraph lies inside the cut (whose answer stands there, where no paragraph is
    given), and those documents' unanswerable ones.
    """
    kept = tuple(_shortened(document) for document in documents[:QUICK_DOCUMENTS])
    texts = {document.id: document.text for document in kept}
    asked = tuple(
        question
        for question in questions
        if question.document in texts and _stands_in(texts[question.document], question)
    )
    return kept, asked


def _stands_in(text: str, question: Question) -> bool:
    if not question.answerable:
        return True
    if question.paragraph is None:
        return scoring.contains_any(text, question.golds)
    return question.paragraph < len(passages.paragraphs(text))


def _shortened(document: Document) -> Document:
    text = passages.cut(document.text, QUICK_WORDS)
    return replace(
        document,
        text=text,
        words=passages.word_count(text),
        sha256=hashlib.sha256(text.encode()).hexdigest(),
    )
