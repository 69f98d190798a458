"""What a selector saves of what an oracle would, against the accuracy that it loses."""

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, MaxNLocator

from pytest_tokenbench.reporting import ablation_words as words
from pytest_tokenbench.reporting.html import labels, numbers
from pytest_tokenbench.reporting.html.drawing import ACCENT, INK, MUTED, PIXELS, Plot, canvas, svg
from pytest_tokenbench.reporting.html.labels import Area

Json = Mapping[str, Any]
_SIZE = (372, 310)
_TITLE = "A selector against the oracle's ceiling"


def plot(made: Json) -> Plot:
    """A point for each score that was swept; the ceiling is all that the oracle saves, which no selector goes beyond."""
    swept = made["selector"]
    if not swept:
        return Plot(_TITLE, None, "Not drawn: no retrieval score was swept.")
    known = [one for one in swept if "estimate" in one["recovered"] and "estimate" in one["drop"]]
    if not known:
        reasons = [
            swept[0][key]["unavailable"] for key in ("recovered", "drop") if "unavailable" in swept[0][key]
        ]
        return Plot(
            _TITLE, None, f"Not drawn: the selector against the oracle's ceiling, since {reasons[0]}."
        )
    absent = [_name(one) for one in swept if one not in known]
    note = f"Not in the plot, since not measured: score {words.listed(absent)}." if absent else ""
    return Plot(_TITLE, _drawn(known, made), note)


def _name(one: Json) -> str:
    return f"{one['score']:g}"


def _drawn(swept: Sequence[Json], made: Json) -> Markup:
    with canvas(*_SIZE) as (figure, axes):
        figure.subplots_adjust(left=0.115, right=0.945, top=0.93, bottom=0.145)
        _set_up(axes, swept, made["threshold"])
        points = [(one["recovered"]["estimate"], one["drop"]["estimate"]) for one in swept]
        axes.plot(*zip(*points, strict=True), color=ACCENT, lw=1, alpha=0.5, zorder=2)
        for one, (x, y) in zip(swept, points, strict=True):
            for figure_of, level, is_across in ((one["drop"], x, False), (one["recovered"], y, True)):
                if figure_of["low"] is not None:
                    ends, others = [figure_of["low"], figure_of["high"]], [level] * 2
                    axes.plot(
                        *((ends, others) if is_across else (others, ends)), color=ACCENT, lw=1.2, alpha=0.6
                    )
            axes.plot(x, y, "o", ms=7, color=ACCENT, mew=0, zorder=5)
        figure.draw_without_rendering()
        for one, point, place in zip(swept, points, _places(axes, points, swept), strict=True):
            axes.annotate(
                _name(one),
                point,
                (place.across, place.up),
                textcoords="offset points",
                ha=place.align,
                va="center",
                color=INK,
                zorder=6,
            )
        told = "; ".join(
            f"score {_name(one)} or more: {words.percent(one['recovered'])} of the oracle's saving, "
            f"{words.drop(one['drop'])} points lost"
            for one in swept
        )
        return svg(figure, "selector", _TITLE, f"{told}. The ceiling is 100%, all that the oracle saves.")


def _set_up(axes: Axes, swept: Sequence[Json], threshold: float) -> None:
    ends = [0.0, threshold]
    for one in swept:
        ends += [one["drop"][key] for key in ("estimate", "low", "high") if one["drop"][key] is not None]
    room = max(0.08 * (max(ends) - min(ends)), 0.01)
    axes.set_xlim(-0.03, 1.03)
    axes.set_ylim(min(ends) - room, max(ends) + room)
    axes.set_xlabel("Share of the oracle's saving", labelpad=7)
    axes.set_title("Points of accuracy lost", loc="left", size=10.5, color=MUTED, pad=6, x=-0.1)
    axes.axvline(1, color=INK, lw=1.6, zorder=2)
    axes.annotate("oracle", (1, 1), (0, 9), **_ASIDE, ha="center")
    axes.axhline(0, color=MUTED, lw=1, zorder=1)
    axes.axhline(threshold, color=INK, lw=1.2, ls=(0, (4, 3)), zorder=2)
    axes.yaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 2.5, 5, 10]))
    axes.yaxis.set_major_formatter(
        FuncFormatter(lambda value, _: numbers.signed(100 * value, 0).removeprefix("+"))
    )
    axes.xaxis.set_major_locator(MaxNLocator(5))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:.0f}%"))
    axes.grid(axis="y")
    axes.tick_params(length=0, pad=5)
    axes.spines["left"].set_visible(False)


_ASIDE: dict[str, Any] = {
    "xycoords": ("data", "axes fraction"),
    "textcoords": "offset points",
    "va": "center",
    "color": INK,
    "size": 10.5,
}


def _places(axes: Axes, points: Sequence[tuple[float, float]], swept: Sequence[Json]) -> list[labels.Place]:
    scale = axes.figure.dpi / PIXELS

    def pixels(x: float, y: float) -> tuple[float, float]:
        across, up = axes.transData.transform((x, y)) / scale
        return float(across), float(up)

    drawn = []
    for one, (x, y) in zip(swept, points, strict=True):
        if one["drop"]["low"] is not None:
            (left, low), (_, high) = pixels(x, one["drop"]["low"]), pixels(x, one["drop"]["high"])
            drawn.append(Area(left - 1, low, left + 1, high))
        if one["recovered"]["low"] is not None:
            (left, low), (right, _) = pixels(one["recovered"]["low"], y), pixels(one["recovered"]["high"], y)
            drawn.append(Area(left, low - 1, right, low + 1))
    box = axes.get_window_extent()
    inside = Area(box.x0 / scale, box.y0 / scale, box.x1 / scale, box.y1 / scale)
    return labels.beside([pixels(*point) for point in points], [_name(one) for one in swept], drawn, inside)
