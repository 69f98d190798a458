"""Real requests, a JSON line each: reading them, and checking that each has the blocks of the study's prompts."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_tokenbench.ablation.prompts import document_of
from pytest_tokenbench.corpus import files
from pytest_tokenbench.corpus.faults import CorpusError, Fault, few
from pytest_tokenbench.records import Block, Document, Question, Unit

_KEYS = ("id", "question", "slices")
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Request:
    """One real request as the engine knows it: a question without gold answers, and the blocks of its prompt."""

    question: Question
    document: Document

    @property
    def id(self) -> str:
        """The request's own."""
        return self.question.id


@dataclass(frozen=True, slots=True)
class Requests:
    """The requests of a file in its order, and the SHA-256 of its bytes; `name` is the file's."""

    name: str
    items: tuple[Request, ...]
    sha256: str


def load(path: Path, blocks: Sequence[str]) -> Requests:
    """The requests of a file. Of a block that a request has nothing of, it gives an empty list.

    Raises:
        CorpusError: The file cannot be read or a line is not such a request; told with line and key.
    """
    shown = path.name
    raw = files.read_bytes(path, shown)
    found: list[Request] = []
    faults: list[Fault] = []
    lines: dict[str, int] = {}
    for number, line in _lines(raw):
        where = f"line {number}"
        try:
            entry = _entry(line, shown)
        except ValueError as error:
            faults.append(Fault(shown, where, str(error)))
            continue
        sentences = list(_departures(entry, blocks))
        if not sentences and (first := lines.setdefault(entry["id"], number)) != number:
            sentences.append(f'key "id": "{entry["id"]}" stands in line {first} already; each must be unique')
        faults += [Fault(shown, where, sentence) for sentence in sentences]
        if not sentences:
            found.append(_request(entry, blocks, shown))
    if not found and not faults:
        faults.append(Fault(shown, "", "has no request; write one JSON object a line"))
    if faults:
        raise CorpusError(few(faults))
    return Requests(shown, tuple(found), files.sha256(raw))


def _lines(raw: bytes) -> Iterator[tuple[int, bytes]]:
    """The lines that are not empty, numbered from 1."""
    for number, line in enumerate(raw.removeprefix(_BYTE_ORDER_MARK).split(b"\n"), 1):
        if line.strip():
            yield number, line


def _entry(line: bytes, shown: str) -> dict[str, Any]:
    """The object on a line.

    Raises:
        ValueError: It has none; the message says why.
    """
    try:
        text = line.decode()
    except UnicodeDecodeError as error:
        raise ValueError(f"byte 0x{line[error.start]:02x} is not UTF-8; save the file as UTF-8") from error
    try:
        entry = files.parse_json(text, shown)
    except CorpusError as error:
        (fault,) = error.faults
        place = fault.where.removeprefix("line 1").removeprefix(", ")
        raise ValueError(f"{place}: {fault.sentence}" if place else fault.sentence) from error
    if not isinstance(entry, dict):
        raise ValueError("is no request; each line is one JSON object")  # noqa: TRY004  # it is the line's fault
    return entry


def _departures(entry: Mapping[str, Any], blocks: Sequence[str]) -> Iterator[str]:
    """What is wrong with an object as a request, a sentence each that begins with the key."""
    for key in ("id", "question"):
        if key not in entry:
            yield f'key "{key}" is missing'
        elif not _is_text(entry[key]):
            yield f'key "{key}" must be a string that is not empty'
    for name in blocks:
        if name not in entry:
            yield f'key "{name}" is missing; give the texts of this block, or [] where the request has none of it'
        elif not isinstance(entry[name], list) or not all(map(_is_text, entry[name])):
            yield f'key "{name}" must be a list of strings that are not empty'
    slices = entry.get("slices", {})
    if not isinstance(slices, dict) or not all(_is_text(one) for pair in slices.items() for one in pair):
        yield 'key "slices" must be an object of strings, as {"turn": "multi_turn"}'
    for key in entry:
        if key not in _KEYS and key not in blocks:
            yield f'key "{key}" is unknown; the blocks of the study are {", ".join(blocks)}'


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _request(entry: Mapping[str, Any], names: Sequence[str], shown: str) -> Request:
    blocks = tuple(Block(name, tuple(map(Unit, entry[name]))) for name in names)
    return Request(
        Question(
            id=entry["id"],
            document=entry["id"],
            question=entry["question"],
            answers=(),
            answerable=False,
            slices=dict(entry.get("slices", {})),
        ),
        document_of(entry["id"], blocks, shown),
    )
