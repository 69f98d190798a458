"""Opening the files of a run folder: regular ones that lie in it, never what a link there leads to.

A run folder may come from someone else. A link in it must not have this process read or write another file.
"""

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

# Each flag that a system lacks is 0 there. Not blocking: a named pipe would have the opener wait for its other end.
_PLAIN = sum(getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_BINARY"))


def open_regular(path: Path, flags: int) -> int:
    """The handle of a regular file, opened with `flags` of `os.open`, made (for its owner to write) if these say so.

    Raises:
        OSError: It cannot be opened, is no regular file, or would be written to and has a second name somewhere; the
            error has path and reason.
    """
    if path.is_symlink():
        raise OSError(errno.ELOOP, "it is a symbolic link; put the file itself there", str(path))
    handle = os.open(path, flags | _PLAIN, 0o644)
    found = os.fstat(handle)
    reason = None
    if not stat.S_ISREG(found.st_mode):
        reason = "it is no regular file"
    elif flags & (os.O_WRONLY | os.O_RDWR) and found.st_nlink > 1:
        reason = "it is a hard link, so that another file would change with it; put a copy there"
    if reason is not None:
        os.close(handle)
        raise OSError(errno.EINVAL, reason, str(path))
    return handle


@contextlib.contextmanager
def reading(path: Path) -> Iterator[BinaryIO]:
    """The file, open for reading.

    Raises:
        OSError: See `open_regular`.
    """
    with os.fdopen(open_regular(path, os.O_RDONLY), "rb") as file:
        yield file


def replace_text(path: Path, text: str) -> None:
    """Replaces a file's text, whole or not at all. Whatever had the file's name before stays as it was elsewhere.

    Raises:
        OSError: It cannot be written; the former file is there still.
    """
    part = path.with_name(path.name + ".part")
    part.unlink(missing_ok=True)
    handle = os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY | _PLAIN, 0o644)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(text.encode())
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise OSError(error.errno, error.strerror, str(path)) from error
