"""A part of what was found, for every report alike: a title, a table where it has one, and sentences."""

from collections.abc import Callable
from dataclasses import dataclass

from pytest_tokenbench.reporting import tables, wording

WIDE = 120  # columns of a terminal that has room for every part


@dataclass(frozen=True, slots=True)
class Table:
    """A table whose first column is names; `words` are the headings of others that hold words, not figures.

    `dropped` are the columns that a narrow terminal does without, the first first.
    """

    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    words: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()

    def fitted(self, width: int) -> str:
        """The table in a terminal of `width` columns."""
        rows = [tuple(map(wording.one_line, row)) for row in self.rows]
        return tables.fitted(self.headings, rows, self.dropped, width, self.words)

    def markdown(self, name: Callable[[str], str]) -> str:
        """The table as Markdown. `name` makes text from outside fit to be shown."""
        rows = [(name(row[0]), *row[1:]) for row in self.rows]
        return tables.render(self.headings, rows, "github", self.words)


@dataclass(frozen=True, slots=True)
class Section:
    """One part of what was found: its title, a table where it has one, and sentences."""

    name: str
    title: str
    table: Table | None = None
    sentences: tuple[str, ...] = ()
    is_wide: bool = False
