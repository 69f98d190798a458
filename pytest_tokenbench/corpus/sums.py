"""SHA256SUMS: the pre-registered hashes, in the format that `sha256sum -c` accepts."""

import os
import re
from collections.abc import Iterable
from pathlib import Path

from pytest_tokenbench.corpus import files
from pytest_tokenbench.corpus.faults import Breach, CorpusError, Fault

FILE = "SHA256SUMS"
_LINE = re.compile(r"(?P<sum>[0-9a-f]{64}) [ *](?P<name>\S.*)")


def name_of(path: Path, folder: Path) -> str:
    """The name a file has in the sums of the corpus in `folder`: its path from the folder's parent."""
    return Path(os.path.relpath(path, folder.parent)).as_posix()


def render(paths: Iterable[Path], folder: Path) -> str:
    """The text of SHA256SUMS over these files, in their order."""
    return "".join(f"{files.sha256(path.read_bytes())}  {name_of(path, folder)}\n" for path in paths)


def check(paths: Iterable[Path], folder: Path) -> list[Fault]:
    """Every way in which the recorded sums depart from these files. Files that are not among them are not opened."""
    shown = f"{folder.name}/{FILE}"
    try:
        text = files.decode(files.read_bytes(files.inside(folder, FILE, shown), shown), shown)
    except CorpusError as error:
        if not (folder / FILE).resolve().is_relative_to(folder.resolve()):
            return list(error.faults)  # a fault of the material: nobody else is to read it either
        advice = "; run `tokenbench corpus pin` to make it"
        return [Fault(f.file, f.where, f.sentence + advice, Breach.PIN) for f in error.faults]
    recorded: dict[str, str] = {}
    faults = []
    for number, line in enumerate(text.splitlines(), 1):
        match = _LINE.fullmatch(line)
        if match:
            recorded[match["name"]] = match["sum"]
        else:
            sentence = "is not a checksum line (64 hexadecimal digits, two spaces, a path)"
            faults.append(Fault(shown, f"line {number}", sentence, Breach.PIN))
    for path in paths:
        name = name_of(path, folder)
        wanted = recorded.pop(name, None)
        if wanted is None:
            sentence = f"{name} is not listed; run `tokenbench corpus pin` to record it"
            faults.append(Fault(shown, "", sentence, Breach.PIN))
        elif wanted != (found := files.sha256(path.read_bytes())):
            sentence = f"{name} has changed: SHA-256 is {found[:12]}..., recorded is {wanted[:12]}..."
            faults.append(Fault(shown, "", sentence, Breach.PIN))
    faults.extend(
        Fault(shown, "", f"lists {name}, which is no file of this corpus; remove the line", Breach.PIN)
        for name in recorded
    )
    return faults
