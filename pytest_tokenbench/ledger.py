"""The append-only file of what was measured: one JSON line a record, on disk before the next one is made."""

import contextlib
import errno
import gc
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from pytest_tokenbench.opening import open_regular, reading
from pytest_tokenbench.records import decode, encode

TORN = ".torn"
_SYNC_INTERVAL_S = 1.0
_BLOCK = 1 << 16
Record = TypeVar("Record")


class Ledger:
    """Appends records to one file. One process writes; a record is with the operating system when `append` returns.

    So killing the process loses nothing. The disk itself is told to keep it (fsync) once a second and at `close`,
    since doing that for each record would cost more than a fast trial does.

    A last line without its end is what a write left that was cut short. Opening the ledger moves it into the file
    `<name>.torn` beside it, so that no record is ever glued to it; `torn` has it then.
    """

    def __init__(self, path: Path) -> None:
        """Opens the file, which is made where there is none.

        Raises:
            OSError: It cannot be opened, or is not a file that lies there (see `opening.open_regular`).
        """
        self._path = path
        self._is_closed = False
        self._handle = open_regular(path, os.O_CREAT | os.O_RDWR | os.O_APPEND)
        try:
            self.torn = self._set_torn_aside()
        except BaseException:
            os.close(self._handle)
            raise
        self._synced = time.monotonic()

    def append(self, record: Any) -> None:
        """Adds one record as a line, in a single write; if that cannot be done, the file stays as it was.

        Raises:
            OSError: The disk is full or the file cannot be written.
        """
        line = encode(record) + b"\n"
        before = os.fstat(self._handle).st_size
        try:
            written = os.write(self._handle, line)
        except OSError as error:
            raise OSError(error.errno, error.strerror, str(self._path)) from error
        if written != len(line):
            os.ftruncate(self._handle, before)
            short = f"only {written} of {len(line)} bytes could be written; is the disk full?"
            raise OSError(errno.ENOSPC, short, str(self._path))
        now = time.monotonic()
        if now - self._synced >= _SYNC_INTERVAL_S:
            os.fsync(self._handle)
            self._synced = now

    def close(self) -> None:
        """Has the disk keep everything, then closes the file. Once is enough, more does no harm."""
        if self._is_closed:
            return
        self._is_closed = True
        try:
            os.fsync(self._handle)
        finally:
            os.close(self._handle)

    def _set_torn_aside(self) -> str | None:
        size = os.fstat(self._handle).st_size
        torn = _after_last_line(self._handle, size)
        if not torn:
            return None
        beside = open_regular(
            self._path.with_name(self._path.name + TORN), os.O_CREAT | os.O_WRONLY | os.O_APPEND
        )
        # On disk there before it is cut off here: killed in between, it is set aside twice, never lost.
        with os.fdopen(beside, "wb") as file:
            file.write(torn + b"\n")
            file.flush()
            os.fsync(file.fileno())
        os.ftruncate(self._handle, size - len(torn))
        return torn.decode("utf-8", "replace")


def _after_last_line(handle: int, size: int) -> bytes:
    """What follows the last line end of a file of this size."""
    found = b""
    while size and b"\n" not in found:
        start = max(0, size - _BLOCK)
        os.lseek(handle, start, os.SEEK_SET)
        found = os.read(handle, size - start) + found
        size = start
    return found.rpartition(b"\n")[2]


@dataclass(frozen=True, slots=True)
class Reading(Generic[Record]):
    """The records of a ledger in order, and its torn last line if it has one (a write that was cut short)."""

    records: tuple[Record, ...]
    torn: str | None = None


@contextlib.contextmanager
def without_collector() -> Iterator[None]:
    """Spares Python its search for garbage, which takes half the time of making many records and finds none."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def read(path: Path, kind: type[Record]) -> Reading[Record]:
    """The records of the given kind in a ledger file. A file that does not exist holds none.

    Raises:
        LedgerError: A line other than an unfinished last one does not hold such a record.
        OSError: It cannot be opened, or is not a file that lies there (see `opening.open_regular`).
    """
    records: list[Record] = []
    try:
        with reading(path) as file, without_collector():
            for number, line in enumerate(file, 1):
                if not line.endswith(b"\n"):
                    return Reading(tuple(records), torn=line.decode("utf-8", "replace"))
                try:
                    records.append(decode(line, kind))
                except (ValueError, RecursionError) as error:
                    raise LedgerError(f"{path.name}, line {number}: {error}") from error
    except FileNotFoundError:
        return Reading(())
    return Reading(tuple(records))


class LedgerError(Exception):
    """A ledger holds what is no record; the message names file and line."""
