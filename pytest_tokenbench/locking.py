"""One writer at a time: a lock on a folder that the system takes back when its holder dies, however that happens."""

import contextlib
import os
import re
import socket
import sys
from pathlib import Path

from pytest_tokenbench.opening import open_regular

FILE = "writer.lock"
# Beyond what the file says of its holder: on Windows a locked range cannot be read, here a range is not looked at.
_PLACE = 1 << 20

if sys.platform == "win32":
    import msvcrt

    def _take(handle: int) -> None:
        os.lseek(handle, _PLACE, os.SEEK_SET)
        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)

else:
    import fcntl

    def _take(handle: int) -> None:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


class HeldError(Exception):
    """Another process holds the lock; the message says which."""


class Lock:
    """The lock on a folder, taken when this is made, held until `release` or the end of the process.

    A file in the folder bears it and says who holds it. The holder removes the file; one that is left over from a
    process that died locks nothing.
    """

    def __init__(self, folder: Path) -> None:
        """Takes the lock.

        Raises:
            HeldError: Another process holds it.
            OSError: The file cannot be written.
        """
        self._path = folder / FILE
        self._handle: int | None = self._taken()

    def _taken(self) -> int:
        while True:
            handle = open_regular(self._path, os.O_CREAT | os.O_RDWR)
            try:
                _take(handle)
                # Its last holder may have removed the file since it was opened: then another is the one to lock.
                if os.path.samestat(os.fstat(handle), self._path.stat()):
                    os.ftruncate(handle, 0)
                    os.write(handle, f"process {os.getpid()} on {socket.gethostname()}\n".encode())
                    return handle
            except (BlockingIOError, PermissionError) as error:
                holder = _holder(handle)
                os.close(handle)
                raise HeldError(holder) from error
            except FileNotFoundError:
                pass
            except BaseException:
                os.close(handle)
                raise
            os.close(handle)

    def release(self) -> None:
        """Gives the lock back. Once is enough, more does no harm."""
        if self._handle is None:
            return
        handle, self._handle = self._handle, None
        # Removed while it is held: after that another could have it. Windows removes no open file, and leaves it.
        with contextlib.suppress(OSError):
            self._path.unlink()
        os.close(handle)


def _holder(handle: int) -> str:
    """What the lock's file says of its holder, in the only form that is believed."""
    os.lseek(handle, 0, os.SEEK_SET)
    found = re.fullmatch(
        r"process \d{1,20} on [\w.-]{1,255}\n", os.read(handle, 300).decode("utf-8", "replace")
    )
    return found[0].rstrip() if found else "another process"
