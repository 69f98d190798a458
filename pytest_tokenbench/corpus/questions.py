"""The questions, as JSON, JSON lines or CSV: reading them, and checking them against the documents."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_tokenbench import scoring
from pytest_tokenbench.corpus import files, passages, sampling, schema, tabular
from pytest_tokenbench.corpus.faults import Breach, CorpusError, Fault
from pytest_tokenbench.corpus.manifest import Manifest
from pytest_tokenbench.records import Document, Question


@dataclass(frozen=True, slots=True)
class Sampling:
    """How paragraphs were drawn: the draw's arguments, and the recorded 0-based indices by document."""

    seed: int
    per_document: int
    min_words: int
    drawn: dict[str, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class Questions:
    """The questions in the file's order, and the record of the draw if the file has one."""

    items: tuple[Question, ...]
    sampling: Sampling | None = None


def load(path: Path, shown: str) -> tuple[Questions, list[Fault]]:
    """The questions of a file and the faults found in it without looking at the documents.

    Raises:
        CorpusError: The file cannot be read or departs from its schema.
    """
    value = _read(path, shown)
    entries = value if isinstance(value, list) else value["questions"]
    faults = []
    for name, times in Counter(entry["id"] for entry in entries).items():
        if times > 1:
            sentence = f"the id stands {times} times; each must be unique"
            faults.append(Fault(shown, f'question "{name}"', sentence))
    record = None if isinstance(value, list) else value.get("sampling")
    return Questions(tuple(map(_question, entries)), _sampling(record)), faults


def _read(path: Path, shown: str) -> Any:
    if path.suffix.lower() in tabular.READERS:
        return tabular.read(path, shown)
    value = files.parse_json(files.decode(files.read_bytes(path, shown), shown), shown)
    faults = schema.check(value, "questions.schema.json", shown, "question")
    if faults:
        raise CorpusError(faults)
    return value


def _question(entry: dict[str, Any]) -> Question:
    return Question(
        id=entry["id"],
        document=entry["document"],
        question=entry["question"],
        answers=tuple(entry["answers"]),
        answerable=entry["answerable"],
        paragraph=entry.get("paragraph"),
        aliases=tuple(entry.get("aliases", ())),
        slices=dict(entry.get("slices", {})),
        checked_terms=tuple(entry.get("checked_terms", ())),
    )


def _sampling(record: dict[str, Any] | None) -> Sampling | None:
    if record is None:
        return None
    drawn = {document: tuple(indices) for document, indices in record["drawn"].items()}
    return Sampling(record["seed"], record["per_document"], record["min_words"], drawn)


def check(questions: Questions, manifest: Manifest, shown: str) -> list[Fault]:
    """Every fault of the questions against the documents' texts, question by question.

    Questions on a document that could not be read are passed over: its own fault has been told.
    """
    documents = {document.id: document for document in manifest.documents}
    texts = {name: passages.paragraphs(document.text) for name, document in documents.items()}
    faults = []
    for question in questions.items:
        where = f'question "{question.id}"'
        if question.document in manifest.unread:
            continue
        if question.document not in texts:
            known = ", ".join(texts)
            sentence = f'names the unknown document "{question.document}"; known are {known}'
            faults.append(Fault(shown, where, sentence))
            continue
        sentences = _answerable if question.answerable else _unanswerable
        faults.extend(
            Fault(shown, where, sentence) for sentence in sentences(question, texts[question.document])
        )
    if questions.sampling is not None:
        faults.extend(_draw_faults(questions, questions.sampling, documents, shown))
    return faults


def _answerable(question: Question, paragraphs: list[str]) -> Iterator[str]:
    for gold in question.golds:
        if not all(scoring.tokens(part) for part in scoring.parts(gold)):
            yield f'the gold string "{gold}" has an empty part; "&" only separates two parts'
    index = question.paragraph
    if index is None:
        text, place = "\n".join(paragraphs), f'document "{question.document}"'
    elif index < len(paragraphs):
        text, place = paragraphs[index], f"paragraph {index}"
    else:
        yield f'paragraph {index} is out of range; document "{question.document}" has 0 to {len(paragraphs) - 1}'
        return
    for gold in question.answers:
        for part in scoring.parts(gold):
            if scoring.tokens(part) and not scoring.contains(text, part):
                yield f'the gold string "{part}" is not in {place}; copy it from there, or move it to "aliases"'


def _unanswerable(question: Question, paragraphs: list[str]) -> Iterator[str]:
    text = "\n".join(paragraphs)
    for term in question.checked_terms:
        if scoring.contains(text, term):
            yield f'the checked term "{term}" does stand in document "{question.document}"'


def _draw_faults(
    questions: Questions, record: Sampling, documents: Mapping[str, Document], shown: str
) -> Iterator[Fault]:
    asked: dict[str, set[int]] = {}
    for question in questions.items:
        if question.paragraph is not None:
            asked.setdefault(question.document, set()).add(question.paragraph)
    for name, document in documents.items():
        where = f'sampling of document "{name}"'
        recorded = record.drawn.get(name, ())
        drawn = redraw(document, record)
        if list(recorded) != drawn:
            sentence = f"recorded are paragraphs {_listed(recorded)}, the draw gives {_listed(drawn)}"
            yield Fault(shown, where, sentence, Breach.PIN)
        elif not asked.get(name, set()) <= set(recorded):
            stray = sorted(asked[name] - set(recorded))
            yield Fault(
                shown, where, f"questions are asked on paragraphs {_listed(stray)}, which were not drawn"
            )


def redraw(document: Document, record: Sampling) -> list[int]:
    """The paragraphs that the recorded draw gives on this document's text, empty if it has too few."""
    try:
        return sampling.draw(
            document.text,
            document.id,
            seed=record.seed,
            count=record.per_document,
            min_words=record.min_words,
        )
    except ValueError:
        return []


def _listed(indices: tuple[int, ...] | list[int]) -> str:
    return " ".join(map(str, indices)) or "none"
