"""How a test function is known to belong to a study. Imports nothing of ours, since every pytest session asks."""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pytest_tokenbench.study import Study

ATTRIBUTE = "__tokenbench_study__"
PROPERTY = "tokenbench.observation"  # under which a test report carries its observation
_DECORATED = re.compile(rb"^\s*@[\w.]*trials\b", re.MULTILINE)


def study_of(function: Any) -> "Study | None":
    """The study whose trials the function runs, None for any other function."""
    return getattr(function, ATTRIBUTE, None)


def is_study(thing: object) -> bool:
    """Whether it is a study, of whichever kind; known without importing any."""
    return any(
        kind.__module__ == "pytest_tokenbench.study" and kind.__name__ == "Study"
        for kind in type(thing).__mro__
    )


def files_that_may_declare(root: Path, ids: Iterable[str]) -> list[Path]:
    """The files of these test ids whose text has a decorator `@....trials`, so that only they need be imported."""
    files = [root / name for name in dict.fromkeys(node.partition("::")[0] for node in ids)]
    return [file for file in files if file.suffix == ".py" and _DECORATED.search(file.read_bytes())]


def refuse_unrecognised(report: pytest.TestReport) -> None:
    """Raises pytest.UsageError where an observation comes from a study whose run was not begun, lest it is lost."""
    if any(name == PROPERTY for name, _ in report.user_properties):
        raise pytest.UsageError(
            f"{report.nodeid}: its study was not recognised before the trials began; decorate with @study.trials"
        )
