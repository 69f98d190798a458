"""A small working study in a folder of its own, to begin from."""

import shlex
from collections.abc import Iterator
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path

from pytest_tokenbench.corpus import adding, verify

# That pytest or a linter does not take it for a file of ours, a Python file of the starter has one more suffix.
_KEPT = ".txt"
_MADE = ("corpus/manifest.json", "corpus/SHA256SUMS")
COMMAND = "pytest --tokenbench-backend embedded"
LICENCE = "CC0-1.0"


class StartingError(Exception):
    """A study cannot be begun in a folder; the message is one sentence."""


def begin(folder: Path) -> list[Path]:
    """Writes the study's files into a folder, new or empty, pinned; tells which, relative to the folder.

    Raises:
        StartingError: The folder is a file, or not empty.
        OSError: It cannot be written.
    """
    if folder.exists() and not folder.is_dir():
        raise StartingError(f"{folder} is a file; name a new or an empty folder")
    if folder.is_dir() and any(folder.iterdir()):
        raise StartingError(f"{folder} is not empty; name a new or an empty folder")
    written = []
    for name, source in _files(resources.files("pytest_tokenbench").joinpath("starter")):
        target = folder / (name.removesuffix(_KEPT) if name.endswith(f".py{_KEPT}") else name)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(source.read_bytes())
        written.append(target.relative_to(folder))
    articles = [folder / path for path in written if path.suffix == ".txt"]
    adding.add(folder / "corpus", articles, licence=LICENCE)
    verify.pin(folder / "corpus", folder / "questions.json")
    return sorted([*written, *map(Path, _MADE)])


def command(folder: Path) -> str:
    """What to type to run the study of a folder, as seen from here."""
    here = folder.resolve() == Path.cwd()
    return COMMAND if here else f"cd {shlex.quote(str(folder))} && {COMMAND}"


def _files(source: Traversable, prefix: str = "") -> Iterator[tuple[str, Traversable]]:
    for entry in sorted(source.iterdir(), key=lambda one: one.name):
        name = f"{prefix}{entry.name}"
        if entry.is_dir():
            yield from _files(entry, f"{name}/")
        else:
            yield name, entry
