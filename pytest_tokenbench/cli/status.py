"""What the command's exit status says."""

from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    import argparse

    Commands: TypeAlias = argparse._SubParsersAction[Any]  # noqa: SLF001  # argparse has no public name for it

DIFFERENCE = 1
FAULT = 2
