"""What the documents hold: fenced blocks by language, and the commands that a reader would type."""

import re
import shlex
from pathlib import Path

_PROGRAMS = ("pytest", "tokenbench")
_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# In YAML a command follows a key or a dash, in a Jenkinsfile it stands alone.
_LEADING = re.compile(r"^\s*(?:- )?(?:run: )?")


def blocks(page: str, language: str = "") -> list[str]:
    """The fenced blocks of a language."""
    return [content for name, content in _BLOCK.findall(page) if name == language]


def commands(page: str) -> list[list[str]]:
    """Each command that begins our two programs, as its words, in fenced blocks and between backticks."""
    lines = [
        _LEADING.sub("", line)
        for name, content in _BLOCK.findall(page)
        if name in {"", "yaml", "groovy"}
        for line in content.splitlines()
    ]
    spans = re.findall(r"`([^`]+)`", _BLOCK.sub("", page))
    return [words for text in [*lines, *spans] for words in _of(" ".join(text.split()))]


def _of(line: str) -> list[list[str]]:
    found = []
    # What a CI server puts in.
    line = re.sub(r"\$\{\{.*?\}\}|\$CI_NODE_[A-Z]+", "1", line)
    for part in re.split(r" (?:&&|\|\|) ", line):
        words = shlex.split(part, comments=True) if part.count("'") % 2 == 0 else []
        while words and (variable := re.fullmatch(r"([A-Z_]+)=(.*)", words[0])):
            words = words[1:]
            if variable[1] == "PYTEST_ADDOPTS":
                found.append(["pytest", *shlex.split(variable[2])])
        if len(words) > 1 and words[0] in _PROGRAMS:
            found.append(words)
    return found


def section(page: str, heading: str) -> str:
    """What stands below a heading, up to the next of its rank."""
    rank, _ = heading.split(" ", 1)
    return re.split(rf"^{rank} ", page.split(f"{heading}\n", 1)[1], maxsplit=1, flags=re.MULTILINE)[0]


def read(repository: Path, name: str) -> str:
    """A page below docs/."""
    return (repository / "docs" / name).read_text(encoding="utf-8")
