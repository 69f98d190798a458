"""The manifest and the documents it names."""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_tokenbench.corpus import entries, files, passages, schema
from pytest_tokenbench.corpus.faults import Breach, CorpusError, Fault
from pytest_tokenbench.records import Document, OriginalSource, Source, WikipediaSource

FILE = "manifest.json"
UNPINNED: dict[str, Any] = {"words": 1, "sha256": "0" * 64}


@dataclass(frozen=True, slots=True)
class Manifest:
    """The documents in order, and the cut rule (None where the documents are not cut).

    `unread` has the ids of documents whose file could not be read.
    """

    documents: tuple[Document, ...]
    max_words: int | None = None
    unread: frozenset[str] = frozenset()


def load(folder: Path, *, pinning: bool = False) -> tuple[Manifest, list[Fault]]:
    """The manifest of the corpus in `folder` with its documents' texts, and every fault found in them.

    Documents whose file cannot be read are left out of the manifest; their faults are in the list. See `read` for
    `pinning`.

    Raises:
        CorpusError: The manifest itself cannot be read or departs from its schema.
    """
    shown = f"{folder.name}/{FILE}"
    value = read(folder, pinning=pinning)
    faults = _duplicates(value["documents"], shown) + unpinned(folder)
    max_words = value["cut"]["max_words"] if "cut" in value else None
    documents = []
    unread = set()
    for entry in value["documents"]:
        try:
            document, found = _document(folder, entry, max_words, shown)
        except CorpusError as error:
            faults.extend(error.faults)
            unread.add(entry["id"])
        else:
            documents.append(document)
            faults.extend(found)
    return Manifest(tuple(documents), max_words, frozenset(unread)), faults


def read(folder: Path, *, pinning: bool = False) -> dict[str, Any]:
    """The manifest's JSON value; what it would be where the folder has texts alone.

    While `pinning`, an entry may lack what is about to be recorded: words and hash.

    Raises:
        CorpusError: It cannot be read or departs from its schema.
    """
    shown = f"{folder.name}/{FILE}"
    if entries.is_bare(folder, FILE):
        return {"documents": entries.gathered(folder, FILE)}
    path = files.inside(folder, FILE, shown)
    value: dict[str, Any] = files.parse_json(files.decode(files.read_bytes(path, shown), shown), shown)
    listed = value.get("documents") if pinning and isinstance(value, dict) else None
    for entry in listed if isinstance(listed, list) else ():
        if isinstance(entry, dict):
            for key, unknown in UNPINNED.items():
                entry.setdefault(key, unknown)
    faults = schema.check(value, "manifest.schema.json", shown, "document")
    if faults:
        raise CorpusError(faults)
    return value


def unpinned(folder: Path) -> list[Fault]:
    """What reports say of a folder that has texts alone, which is no fault before a run; else nothing."""
    if not entries.is_bare(folder, FILE):
        return []
    sentence = "there is none; the texts are taken as they stand, and `tokenbench corpus pin` records them"
    return [Fault(f"{folder.name}/{FILE}", "", sentence, Breach.PIN)]


def _duplicates(listed: list[dict[str, Any]], shown: str) -> list[Fault]:
    faults = []
    for key in ("id", "file"):
        for name, times in Counter(entry[key] for entry in listed).items():
            if times > 1:
                where = f'document "{name}"' if key == "id" else ""
                faults.append(
                    Fault(shown, where, f'the {key} "{name}" stands {times} times; each must be unique')
                )
    return faults


def _document(
    folder: Path, entry: dict[str, Any], max_words: int | None, shown: str
) -> tuple[Document, list[Fault]]:
    where = f'document "{entry["id"]}"'
    path = files.inside(folder, entry["file"], shown, where)
    file_shown = f"{folder.name}/{entry['file']}"
    raw = files.read_bytes(path, file_shown)
    text = files.decode(raw, file_shown)
    words = passages.word_count(text)
    faults = []
    if files.sha256(raw) != entry["sha256"]:
        sentence = (
            f"its file {entry['file']} has changed: SHA-256 is {files.sha256(raw)[:12]}..., "
            f"recorded is {entry['sha256'][:12]}...; restore it, or run `tokenbench corpus pin`"
        )
        faults.append(Fault(shown, where, sentence, Breach.PIN))
    if words != entry["words"]:
        sentence = f"words is {entry['words']:,}, its file has {words:,}; run `tokenbench corpus pin`"
        faults.append(Fault(shown, where, sentence, Breach.PIN))
    if max_words is not None and not passages.is_cut(text, max_words):
        sentence = f"does not end at the first paragraph boundary after {max_words:,} words ({words:,} words)"
        faults.append(Fault(file_shown, "", sentence, Breach.PIN))
    faults += _original(folder, entry, shown, where)
    if not passages.paragraphs(text):
        faults.append(Fault(file_shown, "", "has no paragraph"))
    document = Document(
        id=entry["id"],
        title=entry["title"],
        file=entry["file"],
        words=words,
        sha256=files.sha256(raw),
        licence=entry["licence"],
        source=_source(entry["source"]),
        text=text,
    )
    return document, faults


def _original(folder: Path, entry: dict[str, Any], shown: str, where: str) -> list[Fault]:
    """Whether what the text was converted from has changed, where that lies in the folder."""
    made_from = entry.get("converted")
    if made_from is None or not files.may_be_there(folder / made_from["file"]):
        return []
    path = files.inside(folder, made_from["file"], shown, where)
    if files.sha256(files.read_bytes(path, f"{folder.name}/{made_from['file']}")) == made_from["sha256"]:
        return []
    sentence = f"its text was made from another {made_from['file']} than this; convert it anew, or restore it"
    return [Fault(shown, where, sentence, Breach.PIN)]


def _source(value: dict[str, Any]) -> Source:
    if value["kind"] == "wikipedia":
        return WikipediaSource(title=value["title"], revision=value["revision"], url=value["url"])
    return OriginalSource()
