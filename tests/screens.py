"""A terminal as far as it is used here, and pytest runs on a real one."""

import io
import os
import re
import subprocess
from pathlib import Path

_PARTS = re.compile(r"\x1b\][^\x1b\x07]*(?:\x1b\\\\|\x07)|\x1b\[[\d;?]*[A-Za-z]|[^\x1b]")


class Screen(io.StringIO):
    """Knows line feeds, carriage returns, the cursor's way up and right, and erasing a line; never scrolls or wraps.

    As on a real terminal, a line feed also returns to the line's start.
    """

    def __init__(self) -> None:
        super().__init__()
        self.rows = [""]
        self.row = self.column = 0

    def write(self, text: str) -> int:
        for part in _PARTS.findall(text):
            count = int(re.sub(r"\D", "", part) or 1) if part[0] == "\x1b" else 0
            match part[0], part[-1]:
                case "\n", _:
                    self.row, self.column = self.row + 1, 0
                    self.rows += [""] * (self.row + 1 - len(self.rows))
                case "\r", _:
                    self.column = 0
                case "\x1b", "A":
                    self.row -= count
                case "\x1b", "C":
                    self.column += count
                case "\x1b", "K":
                    self.rows[self.row] = ""
                case "\x1b", _:
                    pass
                case _:
                    row = self.rows[self.row].ljust(self.column)
                    self.rows[self.row] = row[: self.column] + part + row[self.column + 1 :]
                    self.column += 1
        return len(text)

    @property
    def shown(self) -> list[str]:
        """The rows as they are seen."""
        return [row.rstrip() for row in self.rows]


def on_a_terminal(command: list[str], folder: Path, environment: dict[str, str]) -> str:
    """All that a command writes to the terminal it runs on."""
    ours, theirs = os.openpty()
    process = subprocess.Popen(
        command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs
    )
    os.close(theirs)
    written = bytearray()
    try:
        while piece := os.read(ours, 65_536):
            written += piece
    except OSError:  # on Linux, the end
        pass
    os.close(ours)
    process.wait(timeout=60)
    return written.decode()
