"""Questions a line each: as JSON lines, or as CSV, which a spreadsheet writes. Every fault is told with its line."""

import csv
import io
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pytest_tokenbench.corpus import files, schema
from pytest_tokenbench.corpus.faults import CorpusError, Fault

# Between several answers, aliases or terms in one cell. A string that has it can be written as JSON only.
BETWEEN = "|"
SLICE = "slice:"
REQUIRED = ("id", "document", "question", "answers")
OPTIONAL = ("answerable", "aliases", "paragraph", "checked_terms")
_LISTS = {"answers", "aliases", "checked_terms"}
_WORDS = {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}
_DELIMITERS = ",;\t"
_SCHEMA = "questions.schema.json"


@dataclass(frozen=True, slots=True)
class Line:
    """One question as JSON has it, the line of the file where it begins, and what is wrong with its form."""

    number: int
    entry: dict[str, Any]
    faults: tuple[Fault, ...] = ()


def read(path: Path, shown: str) -> list[Line]:
    """The questions of a file; the entry of a line without a fault fits the schema.

    Raises:
        CorpusError: It cannot be read, its header is faulty, or it has no question.
    """
    raw = files.read_bytes(path, shown)
    # Spreadsheets write CSV with a byte-order mark, and RFC 4180 wants CRLF.
    text = files.decode(raw.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n"), shown)
    lines = [
        replace(line, faults=line.faults or tuple(_departures(line, shown)))
        for line in READERS[path.suffix.lower()](text, shown)
    ]
    if not lines:
        raise CorpusError([Fault(shown, "", "has no question")])
    return lines


def _departures(line: Line, shown: str) -> Iterator[Fault]:
    """The ways in which a line departs from the schema; what it says of the key is told as the column."""
    for path, said in schema.departures([line.entry], _SCHEMA):
        key = next((step for step in path if isinstance(step, str)), None)
        place = f"line {line.number}" + (f', column "{key}"' if key else "")
        yield Fault(shown, place, re.sub(r'^key "[^"]*" ', "", said))


# JSON lines


def _json_lines(text: str, shown: str) -> Iterator[Line]:
    for number, content in enumerate(text.split("\n"), 1):
        if not content.strip():
            continue
        try:
            entry = files.parse_json(content, shown)
        except CorpusError as error:
            # Each line is parsed on its own, as if it was the first.
            places = (
                fault.where.replace("line 1", f"line {number}") or f"line {number}" for fault in error.faults
            )
            told = (
                Fault(shown, place, fault.sentence) for place, fault in zip(places, error.faults, strict=True)
            )
            yield Line(number, {}, tuple(told))
            continue
        if isinstance(entry, dict):
            yield Line(number, entry)
        else:
            sentence = "is no question; each line is one JSON object with id, document, question, answers"
            yield Line(number, {}, (Fault(shown, f"line {number}", sentence),))


# CSV


def _csv(text: str, shown: str) -> Iterator[Line]:
    header = text.partition("\n")[0]
    delimiter = max(_DELIMITERS, key=header.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        columns = [name.strip() for name in next(reader, [])]
        faults = _header_faults(columns, shown)
        if faults:
            raise CorpusError(faults)
        begins = reader.line_num + 1
        for cells in reader:
            if any(cell.strip() for cell in cells):
                yield _row(begins, columns, cells, shown)
            begins = reader.line_num + 1
    except csv.Error as error:
        # What follows cannot be told apart; the lines before are told all the same.
        number = reader.line_num
        yield Line(number, {}, (Fault(shown, f"line {number}", f"is not valid CSV: {error}"),))


def _header_faults(columns: list[str], shown: str) -> list[Fault]:
    def fault(name: str, sentence: str) -> Fault:
        return Fault(shown, f'line 1, column "{name}"', sentence)

    known = f"{', '.join((*REQUIRED, *OPTIONAL))}, and {SLICE}NAME"
    found = [fault(name, "is missing") for name in REQUIRED if name not in columns]
    found += [
        fault(name, f"is unknown; known are {known}")
        for name in columns
        if name not in {*REQUIRED, *OPTIONAL} and not re.fullmatch(rf"{SLICE}\s*\S.*", name)
    ]
    twice = dict.fromkeys(name for name in columns if columns.count(name) > 1)
    return found + [fault(name, "stands twice; keep one") for name in twice]


def _row(number: int, columns: list[str], cells: list[str], shown: str) -> Line:
    if len(cells) > len(columns):
        extra = (
            f"has {len(cells)} cells for {len(columns)} columns; put a cell that has the delimiter in quotes"
        )
        return Line(number, {}, (Fault(shown, f"line {number}", extra),))
    # Spreadsheets leave out empty cells at a line's end.
    filled = dict(zip(columns, (cell.strip() for cell in cells), strict=False))
    entry: dict[str, Any] = {name: filled.get(name, "") for name in REQUIRED}
    entry |= {name: _listed(filled[name]) for name in _LISTS if filled.get(name)}
    entry["answers"] = _listed(filled.get("answers", ""))
    faults = []
    answerable = filled.get("answerable", "")
    entry["answerable"] = _WORDS.get(answerable.lower()) if answerable else bool(entry["answers"])
    if entry["answerable"] is None:
        sentence = f"must be yes or no, or empty, found {answerable!r}"
        faults.append(Fault(shown, f'line {number}, column "answerable"', sentence))
    if filled.get("paragraph"):
        if re.fullmatch(r"[0-9]{1,9}", filled["paragraph"]):
            entry["paragraph"] = int(filled["paragraph"])
        else:
            sentence = f"must be a whole number from 0 up, or empty, found {filled['paragraph']!r}"
            faults.append(Fault(shown, f'line {number}, column "paragraph"', sentence))
    slices = {name[len(SLICE) :].strip(): cell for name, cell in filled.items() if name.startswith(SLICE)}
    entry["slices"] = {name: cell for name, cell in slices.items() if cell}
    return Line(number, entry, tuple(faults))


def _listed(cell: str) -> list[str]:
    return [part for part in (part.strip() for part in cell.split(BETWEEN)) if part]


READERS: Mapping[str, Callable[[str, str], Iterator[Line]]] = {".jsonl": _json_lines, ".csv": _csv}
