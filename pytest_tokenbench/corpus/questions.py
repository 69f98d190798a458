"""The questions, as JSON, JSON lines or CSV: reading them, and checking them against the documents."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_tokenbench import scoring
from pytest_tokenbench.corpus import files, passages, sampling, schema, tabular
from pytest_tokenbench.corpus.faults import Breach, CorpusError, Fault
from pytest_tokenbench.corpus.manifest import Manifest
from pytest_tokenbench.records import Document, Question

_SCHEMA = "questions.schema.json"


@dataclass(frozen=True, slots=True)
class Sampling:
    """How paragraphs were drawn: the draw's arguments, and the recorded 0-based indices by document."""

    seed: int
    per_document: int
    min_words: int
    drawn: dict[str, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class Questions:
    """The questions in the file's order, where each stands, and the record of the draw if the file has one.

    `malformed` tells of those that are left out, since they depart from the schema.
    """

    items: tuple[Question, ...]
    places: tuple[str, ...]
    sampling: Sampling | None = None
    malformed: tuple[Fault, ...] = ()


@dataclass(frozen=True, slots=True)
class _Entry:
    """A question as JSON has it, and what is wrong with its form; its line, where the file has one for each."""

    value: Any
    faults: Sequence[Fault]
    line: int | None = None

    @property
    def id(self) -> str | None:
        name = self.value.get("id") if isinstance(self.value, dict) else None
        return name if isinstance(name, str) else None

    @property
    def place(self) -> str:
        return ("" if self.line is None else f"line {self.line}, ") + f'question "{self.id}"'


def load(path: Path, shown: str) -> tuple[Questions, list[Fault]]:
    """The questions of a file and the faults found in it without looking at the documents.

    Raises:
        CorpusError: The file cannot be read, or what holds its questions departs from the schema.
    """
    if path.suffix.lower() in tabular.READERS:
        entries = [_Entry(line.entry, line.faults, line.number) for line in tabular.read(path, shown)]
        record = None
    else:
        entries, record = _read(path, shown)
    sound = [entry for entry in entries if not entry.faults]
    asked = Questions(
        tuple(_question(entry.value) for entry in sound),
        tuple(entry.place for entry in sound),
        _sampling(record),
        malformed=tuple(fault for entry in entries for fault in entry.faults),
    )
    return asked, _duplicates(entries, shown)


def _read(path: Path, shown: str) -> tuple[list[_Entry], dict[str, Any] | None]:
    """The questions of a JSON file, and the record of their draw."""
    value = files.parse_json(files.decode(files.read_bytes(path, shown), shown), shown)
    above = 1 if isinstance(value, list) else 2  # how many steps of a path lead to a question
    of_questions: dict[str | int, list[Fault]] = {}
    faults = []
    for path_in, said in schema.departures(value, _SCHEMA):
        fault = Fault(shown, schema.place(value, path_in, "question"), said)
        faults.append(fault)
        number = path_in[above - 1] if len(path_in) >= above else ""
        of_questions.setdefault(number, []).append(fault)
    if not all(isinstance(number, int) for number in of_questions):
        raise CorpusError(faults)
    listed, record = (value, None) if isinstance(value, list) else (value["questions"], value.get("sampling"))
    return [_Entry(one, of_questions.get(number, [])) for number, one in enumerate(listed)], record


def _duplicates(entries: Sequence[_Entry], shown: str) -> list[Fault]:
    places: dict[str, list[int | None]] = {}
    for entry in entries:
        if entry.id:
            places.setdefault(entry.id, []).append(entry.line)
    faults = []
    for name, lines in places.items():
        if len(lines) > 1:
            told = [str(line) for line in lines if line is not None]
            where = f"lines {', '.join(told[:-1])} and {told[-1]}, " if told else ""
            sentence = f"the id stands {len(lines)} times; each must be unique"
            faults.append(Fault(shown, f'{where}question "{name}"', sentence))
    return faults


def _question(entry: dict[str, Any]) -> Question:
    return Question(
        id=entry["id"],
        document=entry["document"],
        question=entry["question"],
        answers=tuple(entry["answers"]),
        answerable=entry.get("answerable", bool(entry["answers"])),
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
    for question, where in zip(questions.items, questions.places, strict=True):
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
