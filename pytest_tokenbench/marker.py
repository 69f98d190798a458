"""How a test function is known to belong to a study. Imports nothing, since every pytest session asks."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pytest_tokenbench.study import Study

ATTRIBUTE = "__tokenbench_study__"


def study_of(function: Any) -> "Study | None":
    """The study whose trials the function runs, None for any other function."""
    return getattr(function, ATTRIBUTE, None)


def files_that_may_declare(root: Path, ids: Iterable[str]) -> list[Path]:
    """The files of these test ids whose text has the name `trials` in it, so that only they need be imported."""
    files = [root / name for name in dict.fromkeys(node.partition("::")[0] for node in ids)]
    return [file for file in files if file.suffix == ".py" and b"trials" in file.read_bytes()]
