"""Tables as wide as there is room for."""

from collections.abc import Sequence

from tabulate import tabulate

_SHORTEST_NAME = 4


def render(headings: Sequence[str], rows: Sequence[Sequence[str]], style: str = "simple") -> str:
    """A table whose first column is names, on the left, and whose others are figures, on the right."""
    alignment = ["left"] + ["right"] * (len(headings) - 1)
    return tabulate(rows, headings, tablefmt=style, disable_numparse=True, colalign=alignment)


def fitted(headings: Sequence[str], rows: Sequence[Sequence[str]], dropped: Sequence[str], width: int) -> str:
    """The table in `width` columns: without as many of `dropped` as it takes, the first first; then with names cut."""
    kept = list(range(len(headings)))
    for heading in (None, *dropped):
        kept = [place for place in kept if headings[place] != heading]
        made = _of(headings, rows, kept)
        excess = len(made.split("\n", 1)[0]) - width
        if excess <= 0:
            return made
    room = max(_SHORTEST_NAME, max((len(row[0]) for row in rows), default=0) - excess)
    return _of(headings, [[_cut(row[0], room), *row[1:]] for row in rows], kept)


def _of(headings: Sequence[str], rows: Sequence[Sequence[str]], places: Sequence[int]) -> str:
    return render([headings[place] for place in places], [[row[place] for place in places] for row in rows])


def _cut(name: str, room: int) -> str:
    return name if len(name) <= room else name[: room - 1] + "…"
