"""Drops of an ablation as forest plots, against zero and the threshold."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, MaxNLocator

from pytest_tokenbench.reporting import ablation_words as words
from pytest_tokenbench.reporting import wording
from pytest_tokenbench.reporting.html import labels, numbers
from pytest_tokenbench.reporting.html.drawing import INK, MUTED, PAGE, Plot, canvas, svg

Json = Mapping[str, Any]
_WIDTH, _TALL, _ROW = 372, 42, 25
_APART = 0.25  # of a tall row's height, between a drop and those beside it


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a plot: a figure with its colour, and figures beside it with their markers."""

    label: str
    figure: Json
    colour: str
    beside: tuple[tuple[Json, str], ...] = ()


def plot(name: str, title: str, rows: Sequence[Row], threshold: float) -> Plot:
    """Drops with their intervals, one row each, zero and the threshold drawn."""
    known = [row for row in rows if "estimate" in row.figure]
    if not known:
        reasons = dict.fromkeys(wording.one_line(row.figure.get("unavailable", "")) for row in rows)
        why = "; ".join(reason for reason in reasons if reason) or "nothing was measured"
        return Plot(title, None, f"Not drawn: {title[0].lower()}{title[1:]}, since {why}.")
    absent = [row.label for row in rows if row not in known]
    note = f"Not in the plot, since not measured: {words.listed(absent)}." if absent else ""
    return Plot(title, _drawn(name, title, known, threshold), note)


def _drawn(name: str, title: str, rows: Sequence[Row], threshold: float) -> Markup:
    is_tall = any(row.beside for row in rows)
    height = 62 + (_TALL if is_tall else _ROW) * len(rows)
    with canvas(_WIDTH, height) as (figure, axes):
        figure.subplots_adjust(
            left=min(0.36, (labels.width(row.label for row in rows) + 16) / _WIDTH),
            right=0.66,
            top=1 - 24 / height,
            bottom=34 / height,
        )
        _scale(axes, rows, threshold)
        axes.set_ylim(len(rows) - 0.4, -0.6)
        for place, row in enumerate(rows):
            top = place - (_APART if row.beside else 0)
            _interval(axes, row.figure, top, row.colour, "o")
            for number, (figure_beside, marker) in enumerate(row.beside, 1):
                _interval(axes, figure_beside, top + number * _APART, MUTED, marker)
            for text, x, align in ((row.label, -0.03, "right"), (_points(row.figure), 1.04, "left")):
                axes.annotate(
                    text,
                    (x, place - (_APART if row.beside else 0)),
                    xycoords=("axes fraction", "data"),
                    ha=align,
                    va="center",
                    color=INK,
                    size=10.5,
                )
        told = "; ".join(f"{row.label}: {_points(row.figure)}" for row in rows)
        return svg(
            figure, name_of(name), title, f"{told}. The threshold is {words.points(threshold)} points."
        )


def name_of(name: str) -> str:
    """A name fit to be an id in the page, whatever a block is called."""
    return "needed-" + "".join(
        letter if letter.isascii() and letter.isalnum() else f"_{ord(letter):x}_" for letter in name
    )


def _scale(axes: Axes, rows: Iterable[Row], threshold: float) -> None:
    ends = [0.0, threshold]
    for row in rows:
        for figure in (row.figure, *(one for one, _ in row.beside)):
            ends += [figure[key] for key in ("estimate", "low", "high") if figure[key] is not None]
    low, high = 100 * min(ends), 100 * max(ends)
    room = max(1.0, 0.06 * (high - low))
    axes.set_xlim(low - room, high + room)
    axes.axvline(0, color=MUTED, lw=1, zorder=1)
    _threshold(axes, threshold)
    axes.xaxis.set_major_locator(MaxNLocator(5, integer=True))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: _signed(value, 0)))
    axes.grid(axis="x")
    axes.set_yticks([])
    axes.tick_params(length=0, pad=5)
    axes.spines["left"].set_visible(False)


def _threshold(axes: Axes, threshold: float) -> None:
    axes.axvline(100 * threshold, color=INK, lw=1.2, ls=(0, (4, 3)), zorder=2)
    axes.annotate(
        f"threshold {words.points(threshold)}",
        (100 * threshold, 1),
        (0, 9),
        xycoords=("data", "axes fraction"),
        textcoords="offset points",
        ha="center",
        va="center",
        color=INK,
        size=10.5,
    )


def _interval(axes: Axes, figure: Json, place: float, colour: str, marker: str) -> None:
    is_main = marker == "o"
    if figure["low"] is not None:
        ends = [100 * figure["low"], 100 * figure["high"]]
        axes.plot(ends, [place] * 2, color=colour, lw=2 if is_main else 1, zorder=3)
    if is_main:
        axes.plot(100 * figure["estimate"], place, marker, ms=6.5, color=colour, mew=0, zorder=5)
    else:
        axes.plot(100 * figure["estimate"], place, marker, ms=4.5, mfc=PAGE, mec=colour, mew=1.1, zorder=5)


def _signed(value: float, decimals: int = 1) -> str:
    """A drop has no plus, which would look like a gain."""
    return numbers.signed(value, decimals).removeprefix("+")


def _points(figure: Json) -> str:
    return words.drop(figure).replace("-", "\N{MINUS SIGN}").removesuffix(" [no interval]")
