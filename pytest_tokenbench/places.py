"""Where a file is, as messages and records name it."""

from pathlib import Path


def below(path: Path, root: Path) -> str | None:
    """The path from the folder `root` down, with slashes; None where it does not lie in there."""
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else None
