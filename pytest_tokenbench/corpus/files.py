"""Reading the material's files: nothing outside the corpus folder, nothing but clean UTF-8."""

import hashlib
import json
import unicodedata
from pathlib import Path, PurePosixPath
from typing import Any

from pytest_tokenbench.corpus.faults import CorpusError, Fault

# What paths raise that no file can have: with a null byte, too long, or of links in a circle.
NO_PATH = (OSError, ValueError, RuntimeError)


def inside(folder: Path, relative: str, shown: str, where: str = "") -> Path:
    """The path of `relative` in `folder`, for reading.

    Raises:
        CorpusError: The path is absolute, leaves the folder (by `..` or by a symbolic link), or is no regular file;
            nothing has been opened then. `shown` and `where` say in which file and place the path was written.
    """

    def refuse(sentence: str) -> CorpusError:
        return CorpusError([Fault(shown, where, sentence)])

    pure = PurePosixPath(relative)
    if pure.is_absolute() or Path(relative).is_absolute() or "\\" in relative:
        raise refuse(
            f'the path "{relative}" is absolute or no plain path; write it relative to {folder.name}/'
        )
    if ".." in pure.parts:
        raise refuse(f'the path "{relative}" climbs out of {folder.name}/; move the file inside')
    path = folder / relative
    try:
        if not leads_inside(folder, path):
            raise refuse(f'"{relative}" is a symbolic link out of {folder.name}/; copy the file inside')
        if not path.exists():
            raise refuse(f'the file "{relative}" is missing from {folder.name}/')
        if not path.is_file():
            raise refuse(f'"{relative}" is not a regular file')
    except NO_PATH as error:
        reason = getattr(error, "strerror", None) or error
        raise refuse(f'the path "{relative}" leads to no file ({reason})') from error
    return path


def leads_inside(folder: Path, path: Path) -> bool:
    """Whether a path leads into a folder, whatever links lie on its way."""
    return path.resolve().is_relative_to(folder.resolve())


def may_be_there(path: Path) -> bool:
    """Whether a path that comes from a file may lead to one; if it can lead to none, `inside` tells why."""
    try:
        return path.exists()
    except NO_PATH:
        return True


def read_bytes(path: Path, shown: str) -> bytes:
    """The file's bytes.

    Raises:
        CorpusError: The file is missing, no file, or cannot be read.
    """
    if not path.exists():
        raise CorpusError([Fault(shown, "", "the file is missing")])
    if not path.is_file():
        raise CorpusError([Fault(shown, "", "this is not a regular file")])
    try:
        return path.read_bytes()
    except OSError as error:
        raise CorpusError([Fault(shown, "", f"cannot be read ({error.strerror})")]) from error


def decode(raw: bytes, shown: str) -> str:
    """The bytes as text.

    Raises:
        CorpusError: With every fault found: a byte-order mark, bytes that are not UTF-8, CR line ends, text that is
            not NFC-normalised.
    """
    faults = []
    if raw.startswith(b"\xef\xbb\xbf"):
        faults.append(Fault(shown, "", "starts with a byte-order mark; save it as UTF-8 without one"))
        raw = raw[3:]
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        found = (
            f"byte 0x{raw[error.start]:02x} is not UTF-8 (Latin-1 or Windows-1252?); save the file as UTF-8"
        )
        raise CorpusError([*faults, Fault(shown, f"line {line}", found)]) from error
    if "\r" in text:
        line = text.count("\n", 0, text.index("\r")) + 1
        faults.append(Fault(shown, f"line {line}", "has CR or CRLF line ends; convert them to LF"))
    if not unicodedata.is_normalized("NFC", text):
        line = next(
            n for n, part in enumerate(text.split("\n"), 1) if not unicodedata.is_normalized("NFC", part)
        )
        faults.append(Fault(shown, f"line {line}", "is not in Unicode NFC; normalise the file"))
    if faults:
        raise CorpusError(faults)
    return text


def parse_json(text: str, shown: str) -> Any:
    """The JSON value in `text`.

    Raises:
        CorpusError: It is no JSON (with line and column), or an object names a key twice.
    """

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        value = dict(pairs)
        if len(value) < len(pairs):
            keys = [key for key, _ in pairs]
            twice = next(key for key in keys if keys.count(key) > 1)
            owner = f' in the object with id "{value["id"]}"' if "id" in value else ""
            raise CorpusError([Fault(shown, "", f'the key "{twice}" stands twice{owner}; keep one')])
        return value

    try:
        value = json.loads(text, object_pairs_hook=unique)
        # Half of a pair that stands for one character can be written in JSON, but in no file of text.
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        half = ascii(error.object[error.start])[1:-1]
        raise CorpusError(
            [Fault(shown, "", f"has {half}, which is half a character; write the whole one")]
        ) from error
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise CorpusError([Fault(shown, place, f"is not valid JSON: {error.msg}")]) from error
    except RecursionError as error:
        raise CorpusError([Fault(shown, "", "is nested too deeply to be read")]) from error
    except ValueError as error:  # a number of thousands of digits
        raise CorpusError([Fault(shown, "", f"is not valid JSON: {error}")]) from error
    return value


def sha256(raw: bytes) -> str:
    """SHA-256 of bytes, as 64 lower-case hexadecimal digits."""
    return hashlib.sha256(raw).hexdigest()
