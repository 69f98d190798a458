"""Tables of the page."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Table:
    """A table whose first column is names; `words` are the headings of others that hold words, not figures."""

    caption: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    words: tuple[str, ...] = ()


def shown(cell: str) -> str:
    """A figure as the page shows it: with a minus sign, and a dash where there is none."""
    return "\N{EN DASH}" if cell == "-" else cell.replace("-", "\N{MINUS SIGN}")
