"""The manifest's entries for texts: of a folder that has no manifest yet, and of a document that is added."""

import re
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from pytest_tokenbench.corpus import files, passages, sums
from pytest_tokenbench.corpus.faults import CorpusError, Fault

TEXTS = (".txt", ".md")
ARTICLES = "articles"
# What a licence is called that nobody told.
NO_LICENCE = "not stated"
_NO_DOCUMENT = re.compile(r"(readme|licen[cs]e|protocol)\b", re.IGNORECASE)


def is_bare(folder: Path, manifest: str) -> bool:
    """Whether a folder has texts that nothing was recorded of. One with sums has lost its manifest."""
    recorded = (folder / name for name in (manifest, sums.FILE))
    return folder.is_dir() and not any(path.exists() or path.is_symlink() for path in recorded)


def candidates(folder: Path) -> list[Path]:
    """The files of a folder without a manifest that may be documents: those in `articles/` if that is there."""
    return [path for path in _files(folder) if not _NO_DOCUMENT.match(path.name)]


def passed_over(folder: Path, listed: Collection[str]) -> list[str]:
    """The texts that stand among those of the documents and are none, with their paths from the folder.

    Either the folder's manifest does not have them, or their names begin as that of what comes along with documents; a
    plain README is meant to be none. `listed` has the paths of the documents.
    """
    texts = [path for path in _files(folder) if path.suffix.lower() in TEXTS]
    names = (path.relative_to(folder).as_posix() for path in texts if not _NO_DOCUMENT.fullmatch(path.stem))
    return [name for name in names if name not in listed]


def _files(folder: Path) -> list[Path]:
    articles = folder / ARTICLES
    home = articles if articles.is_dir() else folder
    return [path for path in sorted(home.iterdir()) if path.is_file() and not path.name.startswith(".")]


def gathered(folder: Path, manifest: str, paths: Sequence[Path] | None = None) -> list[dict[str, Any]]:
    """An entry for each text of a folder without a manifest, or for these of its files, as they stand.

    Raises:
        CorpusError: There is none, one cannot be read, or a file is no text and would be passed over.
    """
    shown = f"{folder.name}/{manifest}"
    found, faults = [], []
    for path in candidates(folder) if paths is None else paths:
        name = path.relative_to(folder).as_posix()
        if path.suffix.lower() not in TEXTS:
            sentence = f"there is none, and {name} is no text; run `tokenbench corpus add {path}`"
            faults.append(Fault(shown, "", sentence))
            continue
        try:
            raw = files.read_bytes(files.inside(folder, name, shown), f"{folder.name}/{name}")
            found.append(made(name_of(path), name, raw, files.decode(raw, f"{folder.name}/{name}")))
        except CorpusError as error:
            faults.extend(error.faults)
    if not found and not faults:
        sentence = (
            f"the file is missing, and so is any text; run `tokenbench corpus add FILE --corpus {folder}`"
        )
        faults.append(Fault(shown, "", sentence))
    if faults:
        raise CorpusError(faults)
    return found


def made(name: str, file: str, raw: bytes, text: str, licence: str = NO_LICENCE) -> dict[str, Any]:
    """The entry for a text. `file` is its path from the manifest's folder."""
    return {
        "id": name,
        "title": Path(file).stem.replace("_", " ").replace("-", " ").strip() or name,
        "file": file,
        "words": passages.word_count(text),
        "sha256": files.sha256(raw),
        "licence": licence,
        "source": {"kind": "original"},
    }


def name_of(path: Path) -> str:
    """The id that a file's name gives: letters of English, digits, '.', '_' and '-', in lower case."""
    plain = re.sub(r"[^A-Za-z0-9_.-]+", "-", path.stem).strip("._-").lower()
    return plain or "document"
