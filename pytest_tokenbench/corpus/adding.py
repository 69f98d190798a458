"""Putting documents into a corpus: each is converted once, and its text and where it came from are recorded."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_tokenbench.corpus import converting, entries, files, manifest
from pytest_tokenbench.corpus.faults import CorpusError, Fault
from pytest_tokenbench.opening import replace_text


@dataclass(frozen=True, slots=True)
class Added:
    """A document that a corpus now has: its entry in the manifest, and what its author should know of its text."""

    entry: dict[str, Any]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Making:
    """A text yet to be written, at a path from the corpus; `text` is None where it stands there already."""

    entry: dict[str, Any]
    text: str | None
    notes: tuple[str, ...]


def add(corpus: Path, originals: Sequence[Path], *, licence: str = entries.NO_LICENCE) -> list[Added]:
    """Converts these files, writes their texts into the corpus and records both, all or none of them.

    A text that lies in the corpus stays where it is. The folder and its manifest are made where they are missing.

    Raises:
        CorpusError: A file cannot be converted or is there already, or the manifest is faulty; nothing has been written
            then.
    """
    value = _present(corpus, originals)
    makings: list[_Making] = []
    faults: list[Fault] = []
    for original in originals:
        known = [*value["documents"], *(making.entry for making in makings)]
        try:
            makings.append(_make(corpus, original, licence, known))
        except CorpusError as error:
            faults.extend(error.faults)
    if faults:
        raise CorpusError(faults)
    for making in makings:
        if making.text is not None:
            target = corpus / making.entry["file"]
            target.parent.mkdir(parents=True, exist_ok=True)
            replace_text(target, making.text)
    value["documents"] += [making.entry for making in makings]
    replace_text((corpus / manifest.FILE).resolve(), json.dumps(value, indent=2, ensure_ascii=False) + "\n")
    return [Added(making.entry, making.notes) for making in makings]


def _present(corpus: Path, originals: Sequence[Path]) -> dict[str, Any]:
    """The manifest's value before; without one, its documents are the texts there but for those to be added."""
    if not entries.is_bare(corpus, manifest.FILE):
        return manifest.read(corpus) if corpus.exists() else {"documents": []}
    new = {path.resolve() for path in originals}
    there = [
        path
        for path in entries.candidates(corpus)
        if path.resolve() not in new and path.suffix.lower() in entries.TEXTS
    ]
    return {"documents": entries.gathered(corpus, manifest.FILE, there) if there else []}


def _make(corpus: Path, original: Path, licence: str, known: Sequence[dict[str, Any]]) -> _Making:
    shown = str(original)
    name = entries.name_of(original)
    made = converting.convert(original)
    raw = files.read_bytes(original, shown)
    digest = files.sha256(raw)
    inside = original.resolve().is_relative_to(corpus.resolve())
    stays = inside and made.converter is None
    if stays:
        file = original.resolve().relative_to(corpus.resolve()).as_posix()
    else:
        suffix = ".md" if original.suffix.lower() == ".md" else ".txt"
        file = f"{entries.ARTICLES}/{name}{suffix}"
    for entry in known:
        if entry["id"] == name or entry["file"] == file:
            sentence = (
                f'the corpus has a document "{entry["id"]}" already; rename this file, or take that one out'
            )
            raise CorpusError([Fault(shown, "", sentence)])
    home = (corpus / file).parent
    if not stays and not files.leads_inside(corpus, home):
        sentence = f"{home} is a symbolic link out of {corpus.name}/; put the folder itself there"
        raise CorpusError([Fault(shown, "", sentence)])
    if not stays and (corpus / file).exists():
        sentence = f"{corpus / file} is there already and no document of the manifest; move it away"
        raise CorpusError([Fault(shown, "", sentence)])
    entry = entries.made(name, file, made.text.encode(), made.text, licence)
    if made.converter is not None:
        place = original.resolve().relative_to(corpus.resolve()).as_posix() if inside else original.name
        entry["converted"] = {"file": place, "sha256": digest, "converter": made.converter}
    return _Making(entry, None if stays else made.text, made.notes)
