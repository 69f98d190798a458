"""Puts into README.md the option texts and the table of the published run. Run it after a change; a test compares.

Run: python scripts/refresh_readme.py
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[1]
README = _ROOT / "README.md"
_BLOCK = re.compile(r"(<!-- (\w+) -->\n```(?:text)?\n).*?(```\n<!-- /\2 -->)", re.DOTALL)


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


def published() -> str:
    """What `tokenbench report` prints of the published run of the protocol, in an 80-column terminal."""
    page = (_ROOT / "reports" / "README.md").read_text(encoding="utf-8")
    (name,) = re.findall(r"\]\((protocol/[\w-]+)\)", page)
    run = _ROOT / "reports" / name
    with tempfile.TemporaryDirectory() as folder:
        # A copy, since the command rewrites the reports.
        copy = shutil.copytree(run, Path(folder, run.name))
        done = subprocess.run(
            [sys.executable, "-m", "pytest_tokenbench.cli", "report", str(copy)],
            capture_output=True,
            text=True,
            check=True,
            env=os.environ | {"COLUMNS": "80"},
        )
    return done.stdout.rsplit("rewrote ", 1)[0]


def refreshed(text: str) -> str:
    """The README with the present texts."""
    made = {"options": options, "published": published}
    return _BLOCK.sub(lambda match: match[1] + made[match[2]]() + match[3], text)


if __name__ == "__main__":
    README.write_text(refreshed(README.read_text(encoding="utf-8")), encoding="utf-8")
