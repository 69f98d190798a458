"""Tables as wide as there is room for."""

from collections.abc import Collection, Sequence

from tabulate import tabulate

_SHORTEST_NAME = 4


def render(
    headings: Sequence[str],
    rows: Sequence[Sequence[str]],
    style: str = "simple",
    words: Collection[str] = (),
) -> str:
    """A table whose first column is names, on the left, and whose others are figures, on the right.

    `words` are the headings of other columns that are on the left.
    """
    alignment = ["left", *("left" if heading in words else "right" for heading in headings[1:])]
    return tabulate(rows, headings, tablefmt=style, disable_numparse=True, colalign=alignment)


def fitted(
    headings: Sequence[str],
    rows: Sequence[Sequence[str]],
    dropped: Sequence[str],
    width: int,
    words: Collection[str] = (),
) -> str:
    """The table in `width` columns: without as many of `dropped` as it takes, the first first; then with names cut."""
    kept = list(range(len(headings)))
    for heading in (None, *dropped):
        kept = [place for place in kept if headings[place] != heading]
        made = _of(headings, rows, kept, words)
        excess = max(map(len, made.splitlines())) - width
        if excess <= 0:
            return made
    room = max(_SHORTEST_NAME, max((len(row[0]) for row in rows), default=0) - excess)
    return _of(headings, [[_cut(row[0], room), *row[1:]] for row in rows], kept, words)


def _of(
    headings: Sequence[str], rows: Sequence[Sequence[str]], places: Sequence[int], words: Collection[str]
) -> str:
    return render(
        [headings[place] for place in places],
        [[row[place] for place in places] for row in rows],
        words=words,
    )


def _cut(name: str, room: int) -> str:
    return name if len(name) <= room else name[: room - 1] + "…"
