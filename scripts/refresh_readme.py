"""Puts the real option texts into README.md. Run it after an option has changed; a test compares.

Run: python scripts/refresh_readme.py
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

README = Path(__file__).resolve().parents[1] / "README.md"
_BLOCK = re.compile(r"(<!-- options -->\n```\n).*?(```\n<!-- /options -->)", re.DOTALL)


def options() -> str:
    """The plugin's group of `pytest --help` in an 80-column terminal."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "--help", "-p", "no:cacheprovider"],
            cwd=folder,
            capture_output=True,
            text=True,
            check=True,
            env=os.environ | {"COLUMNS": "80"},
        )
    group = done.stdout.split("tokenbench: token cost and accuracy studies:\n", 1)[1]
    return group.split("\n\n", 1)[0] + "\n"


def refreshed(text: str) -> str:
    """The README with the present option texts."""
    return _BLOCK.sub(lambda match: match[1] + options() + match[2], text)


if __name__ == "__main__":
    README.write_text(refreshed(README.read_text(encoding="utf-8")), encoding="utf-8")
