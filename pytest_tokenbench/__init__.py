"""pytest-tokenbench: pre-registered hypotheses on token cost and accuracy, run as pytest tests."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pytest_tokenbench.ablation.study import Block, NeededContext
    from pytest_tokenbench.results import Results, Unavailable
    from pytest_tokenbench.study import Study

__all__ = ["Block", "NeededContext", "Results", "Study", "Unavailable"]


def __getattr__(name: str) -> Any:
    """Imports the public names when they are asked for: pytest loads this package in every session."""
    if name == "Study":
        from pytest_tokenbench.study import Study  # noqa: PLC0415

        return Study
    if name in {"Block", "NeededContext"}:
        from pytest_tokenbench.ablation import study  # noqa: PLC0415

        return getattr(study, name)
    if name in {"Results", "Unavailable"}:
        from pytest_tokenbench import results  # noqa: PLC0415

        return getattr(results, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
