"""What a GGUF file says of the model in it. Reads its header only, and trusts none of it."""

import mmap
import struct
from pathlib import Path
from typing import NoReturn

MAGIC = b"GGUF"
VERSIONS = (2, 3)
TEXT_LIMIT = 1 << 24  # chat templates are the longest texts, and thousands of times shorter

_NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_TEXT, _ARRAY = 8, 9

Value = int | float | bool | str


class GGUFError(ValueError):
    """The file is none, or is damaged. The message completes a sentence that names the file."""


def metadata(path: Path) -> dict[str, Value]:
    """The file's metadata without the arrays (vocabulary and such).

    Raises:
        GGUFError: It is no GGUF file, or a damaged one.
        OSError: It cannot be read.
    """
    with path.open("rb") as file:
        if file.read(len(MAGIC)) != MAGIC:
            raise GGUFError("is not a GGUF file")
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as view:
            return _Header(view).entries()


class _Header:
    """A place in the bytes, moved on by each reading."""

    def __init__(self, view: mmap.mmap) -> None:
        self._view = view
        self._at = len(MAGIC)

    def entries(self) -> dict[str, Value]:
        version = self._whole("I")
        if version not in VERSIONS:
            raise GGUFError(f"is a GGUF file of version {version}, not {' or '.join(map(str, VERSIONS))}")
        self._whole("Q")  # tensors
        found = {}
        for _ in range(self._whole("Q")):
            key, kind = self._text(), self._whole("I")
            if kind == _ARRAY:
                self._skip_array()
            else:
                found[key] = self._text() if kind == _TEXT else self._number(kind)
        return found

    def _skip_array(self) -> None:
        kind, length = self._whole("I"), self._whole("Q")
        if kind == _TEXT:
            for _ in range(length):
                self._skip(self._whole("Q"))
        elif kind in _NUMBERS:
            self._skip(length * struct.calcsize("<" + _NUMBERS[kind]))
        else:
            self._damaged()

    def _text(self) -> str:
        length = self._whole("Q")
        if length > TEXT_LIMIT:
            self._damaged()
        start = self._at
        self._skip(length)
        return self._view[start : self._at].decode("utf-8", "replace")

    def _number(self, kind: int) -> Value:
        if kind not in _NUMBERS:
            self._damaged()
        return self._unpacked(_NUMBERS[kind])

    def _whole(self, code: str) -> int:
        return int(self._unpacked(code))

    def _unpacked(self, code: str) -> int | float | bool:
        start = self._at
        self._skip(struct.calcsize("<" + code))
        (value,) = struct.unpack_from("<" + code, self._view, start)
        number: int | float | bool = value
        return number

    def _skip(self, size: int) -> None:
        self._at += size
        if self._at > len(self._view):
            self._damaged()

    def _damaged(self) -> NoReturn:
        raise GGUFError("is a damaged GGUF file: its header breaks off or makes no sense")
