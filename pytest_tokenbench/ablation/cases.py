"""The cases of an ablation: reading their file, and checking what it says of each case against the case's blocks."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_tokenbench import scoring
from pytest_tokenbench.ablation.design import unit_id
from pytest_tokenbench.ablation.prompts import document_of
from pytest_tokenbench.corpus import files, passages, schema
from pytest_tokenbench.corpus.faults import CorpusError, Fault, few
from pytest_tokenbench.records import Block, Document, Question, Unit

SCHEMA = "cases.schema.json"
PACKAGE = "pytest_tokenbench.ablation"

# What a case has besides its blocks.
_KEYS = ("id", "question", "answers", "aliases", "slices", "gold_rank", "follow_up", "stress")


@dataclass(frozen=True, slots=True)
class Cases:
    """The cases in the file's order, a document and a question for each, both by the case's id.

    `blocks` are the names of every prompt's blocks in their order, `sha256` is that of the file, `name` the set's. With
    `faults` nothing may be asked.
    """

    documents: tuple[Document, ...]
    questions: tuple[Question, ...]
    blocks: tuple[str, ...]
    sha256: str
    name: str
    faults: tuple[Fault, ...] = ()

    @property
    def units(self) -> dict[str, int]:
        """By block the largest number of units it has in a case."""
        found = dict.fromkeys(self.blocks, 0)
        for document in self.documents:
            for block in document.blocks:
                found[block.name] = max(found[block.name], len(block.units))
        return found

    @property
    def words(self) -> dict[str, dict[str, tuple[int, ...]]]:
        """By case and block the words of each unit."""
        return {
            document.id: {
                block.name: tuple(passages.word_count(unit.text) for unit in block.units)
                for block in document.blocks
            }
            for document in self.documents
        }

    @property
    def scores(self) -> dict[str, dict[str, tuple[float, ...]]]:
        """By case and block the score of each unit, for blocks whose units were retrieved."""
        return {
            document.id: {
                block.name: scores for block in document.blocks if (scores := _scores(block)) is not None
            }
            for document in self.documents
        }

    @property
    def support(self) -> dict[str, tuple[tuple[tuple[str, ...], ...], ...]]:
        """By case, for each gold string and each of its parts, the units that the part stands in."""
        return {
            question.id: tuple(
                tuple(_holding(document, part) for part in scoring.parts(gold)) for gold in question.golds
            )
            for document, question in zip(self.documents, self.questions, strict=True)
        }


def load(path: Path, shown: str) -> Cases:
    """The cases of a file, with every fault that its schema does not see.

    Raises:
        CorpusError: The file cannot be read or departs from its schema.
    """
    raw = files.read_bytes(path, shown)
    value = files.parse_json(files.decode(raw, shown), shown)
    faults = _departures(value, shown)
    if faults:
        raise CorpusError(few(faults))
    documents = tuple(_document(entry, value, shown) for entry in value["cases"])
    questions = tuple(map(_question, value["cases"]))
    found = [*_block_faults(value), *_shared_faults(value), *_set_faults(value)]
    found += _repeated(questions, documents)
    for entry, document, question in zip(value["cases"], documents, questions, strict=True):
        where = f'case "{question.id}"'
        found += [(where, sentence) for sentence in _unit_faults(entry, value)]
        found += [(where, sentence) for sentence in _rank_faults(question, document)]
        found += [(where, sentence) for sentence in _gold_faults(question, document)]
    return Cases(
        documents=documents,
        questions=questions,
        blocks=tuple(value["blocks"]),
        sha256=files.sha256(raw),
        name=value["name"],
        faults=few([Fault(shown, *told) for told in dict.fromkeys(found)]),
    )


def _departures(value: Any, shown: str) -> list[Fault]:
    """Where the file departs from its schema, a mistyped key of a case being no block of it."""
    checked, strange = value, []
    if isinstance(value, dict) and isinstance(value.get("cases"), list) and _are_names(value.get("blocks")):
        known = dict.fromkeys((*_KEYS, *value["blocks"]))
        entries = [entry if isinstance(entry, dict) else {} for entry in value["cases"]]
        strange = [
            Fault(shown, _case(entry, number), sentence)
            for number, entry in enumerate(entries, 1)
            for sentence in _unknown_keys(entry, known)
        ]
        checked = value | {
            "cases": [
                {key: its for key, its in entry.items() if key in known} if isinstance(entry, dict) else entry
                for entry in value["cases"]
            ]
        }
    return [*schema.check(checked, SCHEMA, shown, "case", PACKAGE), *strange]


def _are_names(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


def _case(entry: Mapping[str, Any], number: int) -> str:
    """A case as schema faults name it: by its id, or by its number where it has none."""
    name = entry.get("id")
    return f'case "{name}"' if isinstance(name, str) and name else f"case {number}"


def _unknown_keys(entry: Mapping[str, Any], known: Mapping[str, None]) -> Iterator[str]:
    unknown = [key for key in entry if key not in known]
    if unknown:
        names = ", ".join(f'"{key}"' for key in unknown)
        yield f"unknown key {names}; known are {', '.join(known)}"


def _question(entry: Mapping[str, Any]) -> Question:
    return Question(
        id=entry["id"],
        document=entry["id"],
        question=entry["question"],
        answers=tuple(entry["answers"]),
        answerable=True,
        aliases=tuple(entry.get("aliases", ())),
        slices=dict(entry.get("slices", {})),
        gold_rank=entry.get("gold_rank"),
        follow_up=entry.get("follow_up", False),
        stress=entry.get("stress", False),
    )


def _document(entry: Mapping[str, Any], value: Mapping[str, Any], shown: str) -> Document:
    """The blocks of a case. What has no text is left out; that is a fault by itself."""
    blocks = tuple(
        Block(name, tuple(_units(_given(entry, value, name), value.get("passages", {}))))
        for name in value["blocks"]
    )
    return document_of(entry["id"], blocks, shown)


def _given(entry: Mapping[str, Any], value: Mapping[str, Any], block: str) -> Sequence[Any]:
    """What the file gives as a block's units: the case's own, else those that cases share."""
    own = entry.get(block) if block not in _KEYS else None
    given: Sequence[Any] = own or value.get("shared", {}).get(block, ())
    return given


def _units(given: Sequence[Any], known: Mapping[str, str]) -> Iterator[Unit]:
    for one in given:
        if isinstance(one, str):
            yield Unit(one)
        elif one["id"] in known:
            yield Unit(known[one["id"]], float(one["score"]))


def _holding(document: Document, part: str) -> tuple[str, ...]:
    return tuple(
        unit_id(block.name, place)
        for block in document.blocks
        for place, unit in enumerate(block.units, 1)
        if scoring.contains(unit.text, part)
    )


def _scores(block: Block) -> tuple[float, ...] | None:
    scores = tuple(unit.score for unit in block.units if unit.score is not None)
    return scores if scores and len(scores) == len(block.units) else None


def _block_faults(value: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """What is wrong with what the file says of its blocks, each with its place."""
    known = ", ".join(value["blocks"])
    for name, times in Counter(value["blocks"]).items():
        if times > 1:
            yield 'key "blocks"', f'the block "{name}" stands {times} times; keep one'
        if name in _KEYS:
            yield (
                'key "blocks"',
                f'a block cannot be called "{name}", which is a key of every case; rename it',
            )
    for name in value.get("shared", {}):
        if name not in value["blocks"]:
            yield 'key "shared"', f'names the unknown block "{name}"; known are {known}'


def _shared_faults(value: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """What is wrong with the units that cases share, told once and not for each of these."""
    for name, given in value.get("shared", {}).items():
        if any(not text.strip() for text in given):
            yield 'key "shared"', f'the block "{name}" has an empty unit; leave it out'
    for name in value["blocks"]:
        if _is_nowhere(name, value):
            yield 'key "shared"', f'lacks the block "{name}", and no case gives its own; give it a text'


def _is_nowhere(block: str, value: Mapping[str, Any]) -> bool:
    """Whether neither the file nor any of its several cases gives a block."""
    return len(value["cases"]) > 1 and not any(_given(entry, value, block) for entry in value["cases"])


def _repeated(questions: Sequence[Question], documents: Sequence[Document]) -> Iterator[tuple[str, str]]:
    """Cases that ask what another one asks. Follow-ups may: what they ask for depends on what was said before."""
    seen: dict[tuple[str, str], str] = {}
    for question, document in zip(questions, documents, strict=True):
        words = " ".join(question.question.casefold().split())
        first = seen.setdefault((words, document.text if question.follow_up else ""), question.id)
        if first != question.id:
            yield (
                f'case "{question.id}"',
                f'asks what the case "{first}" asks, which would count twice; keep one, or ask otherwise',
            )


def _set_faults(value: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """What is wrong with the passages and the cases as a whole, each with its place."""
    for name, text in value.get("passages", {}).items():
        if not text.strip():
            yield 'key "passages"', f'the passage "{name}" has no text'
    for name, times in Counter(entry["id"] for entry in value["cases"]).items():
        if times > 1:
            yield f'case "{name}"', f"the id stands {times} times; each must be unique"
    if all(entry.get("stress", False) for entry in value["cases"]):
        yield 'key "cases"', "every case is a stress case; verdicts need cases that are none"


def _unit_faults(entry: Mapping[str, Any], value: Mapping[str, Any]) -> Iterator[str]:
    """What is wrong with a case's units as the file gives them."""
    for name in value["blocks"]:
        given = _given(entry, value, name)
        if not given and not _is_nowhere(name, value):
            yield f'the block "{name}" has no text; give the case one, or all cases in "shared"'
        if name in entry and any(isinstance(one, str) and not one.strip() for one in given):
            yield f'the block "{name}" has an empty unit; leave it out'
        yield from _retrieval_faults(name, given, value.get("passages", {}))


def _retrieval_faults(block: str, given: Sequence[Any], known: Mapping[str, str]) -> Iterator[str]:
    retrieved = [one for one in given if not isinstance(one, str)]
    if retrieved and len(retrieved) < len(given):
        yield f'the block "{block}" has texts among its retrieved passages; make them all the one or the other'
    for name, times in Counter(one["id"] for one in retrieved).items():
        if name not in known:
            yield f'the block "{block}" names the unknown passage "{name}"; add it to "passages"'
        if times > 1:
            yield f'the block "{block}" has the passage "{name}" {times} times; keep one'
    scores = [one["score"] for one in retrieved]
    if not all(map(math.isfinite, scores)):
        yield f'the block "{block}" has a score that is no finite number'
    elif scores != sorted(scores, reverse=True):
        told = ", ".join(map(str, scores))
        yield f'the scores of the block "{block}" do not descend ({told}); put the passages in rank order'


def _rank_faults(question: Question, document: Document) -> Iterator[str]:
    rank = question.gold_rank
    if rank is None:
        return
    retrieved = [block for block in document.blocks if _scores(block) is not None]
    if len(retrieved) != 1:
        named = ", ".join(block.name for block in retrieved) or "none"
        yield f"gold_rank {rank} needs one block of retrieved passages, and the case has {named}; make it null"
        return
    (block,) = retrieved
    if rank > len(block.units):
        yield f'gold_rank {rank} is out of range; the block "{block.name}" has ranks 1 to {len(block.units)}'
    elif not any(
        scoring.contains(block.units[rank - 1].text, part)
        for gold in question.golds
        for part in scoring.parts(gold)
    ):
        yield f"the passage at gold_rank {rank} holds no part of a gold string; give the one that does, or null"


def _gold_faults(question: Question, document: Document) -> Iterator[str]:
    texts = [unit.text for block in document.blocks for unit in block.units]
    for gold in question.golds:
        if not all(scoring.tokens(part) for part in scoring.parts(gold)):
            yield f'the gold string "{gold}" has an empty part; "&" only separates two parts'
            continue
        for part in scoring.parts(gold):
            if scoring.contains(question.question, part):
                yield f'the gold string "{part}" stands in the question; an answer could repeat it from there'
            elif gold in question.answers and not any(scoring.contains(text, part) for text in texts):
                yield (
                    f'the gold string "{part}" is in no block of the case; copy it from one, '
                    'or move it to "aliases"'
                )
