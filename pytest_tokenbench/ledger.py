"""The append-only file of what was measured: one JSON line a record, on disk before the next one is made."""

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from pytest_tokenbench.records import decode, encode

_SYNC_INTERVAL_S = 1.0
Record = TypeVar("Record")


class Ledger:
    """Appends records to one file. One process writes; a record is with the operating system when `append` returns.

    So killing the process loses nothing. The disk itself is told to keep it (fsync) once a second and at `close`,
    since doing that for each record would cost more than a fast trial does.
    """

    def __init__(self, path: Path) -> None:
        self._handle = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o644)
        self._synced = time.monotonic()

    def append(self, record: Any) -> None:
        """Adds one record as a line, in a single write.

        Raises:
            OSError: The disk is full or the file cannot be written.
        """
        line = encode(record) + b"\n"
        written = os.write(self._handle, line)
        if written != len(line):
            raise OSError(f"only {written} of {len(line)} bytes were written; is the disk full?")
        now = time.monotonic()
        if now - self._synced >= _SYNC_INTERVAL_S:
            os.fsync(self._handle)
            self._synced = now

    def close(self) -> None:
        """Has the disk keep everything, then closes the file."""
        os.fsync(self._handle)
        os.close(self._handle)


@dataclass(frozen=True, slots=True)
class Reading(Generic[Record]):
    """The records of a ledger in order, and its torn last line if it has one (a write that was cut short)."""

    records: tuple[Record, ...]
    torn: str | None = None


def read(path: Path, kind: type[Record]) -> Reading[Record]:
    """The records of the given kind in a ledger file. A file that does not exist holds none.

    Raises:
        LedgerError: A line other than an unfinished last one does not hold such a record.
    """
    if not path.exists():
        return Reading(())
    *lines, last = path.read_bytes().split(b"\n")
    records = []
    for number, line in enumerate(lines, 1):
        try:
            records.append(decode(line, kind))
        except ValueError as error:
            raise LedgerError(f"{path.name}, line {number}: {error}") from error
    return Reading(tuple(records), torn=last.decode("utf-8", "replace") if last else None)


class LedgerError(Exception):
    """A ledger holds what is no record; the message names file and line."""
