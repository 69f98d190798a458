"""The trade-off plots: accuracy against input tokens, cost and prefill seconds, with the Pareto frontier."""

import itertools
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, MaxNLocator

from pytest_tokenbench.figures import is_unvaried
from pytest_tokenbench.reporting import costs, wording
from pytest_tokenbench.reporting.html import labels
from pytest_tokenbench.reporting.html.drawing import (
    ACCENT,
    INK,
    MUTED,
    PAGE,
    PIXELS,
    Plot,
    canvas,
    logarithmic,
    svg,
)
from pytest_tokenbench.reporting.html.labels import Area

Json = Mapping[str, Any]
_SIZE = (372, 310)
_NO_ZERO = "0 has no place on a logarithmic axis"


@dataclass(frozen=True, slots=True)
class Point:
    """A condition in a plot: what it takes on x, and its accuracy with interval; `spread` is the interval on x."""

    name: str
    x: float
    y: float
    low: float | None
    high: float | None
    spread: tuple[float, float] | None = None
    is_unvaried: bool = False

    @property
    def label(self) -> str:
        """Its name, marked where its interval is no longer than the point."""
        return self.name + "!" * self.is_unvaried


@dataclass(frozen=True, slots=True)
class Against:
    """What accuracy is drawn against: a figure for each condition; `reason` is why there is none that tells no other."""

    name: str
    title: str
    label: str
    figures: Mapping[str, Json]
    reason: str

    def why_absent(self, condition: str, accuracy: Json) -> str | None:
        """Why a condition cannot be drawn, None where it can."""
        if "estimate" not in accuracy:
            return "no accuracy was measured"
        figure = self.figures[condition]
        if "estimate" not in figure:
            return wording.plain(figure.get("reason", self.reason))
        return None if figure["estimate"] > 0 else _NO_ZERO


def frontier(points: Iterable[Point]) -> list[Point]:
    """The points that no other beats: none is as right or better for less, or better for as much; by what they take."""
    best: list[Point] = []
    for point in sorted(points, key=lambda one: (one.x, -one.y)):
        level = best[-1].y if best else float("-inf")
        if point.y > level or (best and (point.x, point.y) == (best[-1].x, level)):
            best.append(point)
    return best


def plots(document: Json) -> list[Plot]:
    """The trade-off against input tokens first, then against each table of prices and prefill."""
    conditions = document["conditions"]
    tokens = {name: made["measures"]["input_tokens"] for name, made in conditions.items()}
    prefill = {name: made["measures"]["prefill_s"] for name, made in conditions.items()}
    made = [
        _plot(
            Against("tokens", "Input tokens", "Input tokens per question", tokens, "they are not known"),
            document,
        )
    ]
    for number, entry in enumerate(document.get("costs", [])):
        made.append(_against_cost(f"cost-{number}", entry, document))
    if not document.get("costs"):
        made.append(
            Plot("Cost", None, "Not drawn against cost: the run was given no prices (--tokenbench-prices).")
        )
    reason = "no prompt is known to have been read anew, or its time was not told"
    made.append(
        _plot(Against("prefill", "Prefill", "Prefill seconds per question", prefill, reason), document)
    )
    return made


def _against_cost(name: str, entry: Json, document: Json) -> Plot:
    figures = {}
    for condition, made in entry["conditions"].items():
        asked, prepared = made["per_question"].get("estimate"), made["preparation"].get("per_question")
        if asked is not None and prepared is not None:
            figures[condition] = {"estimate": (asked + prepared) * costs.QUESTIONS}
        else:
            lacking = made["per_question" if asked is None else "preparation"]
            figures[condition] = {"reason": lacking["unavailable"]}
    price = entry["price"]
    label = wording.plain(f"{price['currency']} per 1,000 questions, preparation included")
    made = _plot(Against(name, "Cost", label, figures, "the tokens that it takes are not known"), document)
    if made.svg is None:
        return made
    return Plot(made.title, made.svg, f"{made.note} Prices: {wording.plain(price['name'])}.".strip())


def _plot(against: Against, document: Json) -> Plot:
    points = []
    absent: dict[str, list[str]] = {}
    for condition, figure in against.figures.items():
        accuracy = document["conditions"][condition]["measures"]["accuracy"]
        reason = against.why_absent(condition, accuracy)
        if reason is None:
            ends = (figure["low"], figure["high"]) if figure.get("low") else None
            points.append(
                Point(
                    condition,
                    figure["estimate"],
                    accuracy["estimate"],
                    accuracy["low"],
                    accuracy["high"],
                    ends,
                    is_unvaried(accuracy),
                )
            )
        else:
            absent.setdefault(reason, []).append(condition)
    if not points:
        return Plot(against.title, None, f"Not drawn against {against.title.lower()}: {'; '.join(absent)}.")
    told = "; ".join(f"{', '.join(names)} ({reason})" for reason, names in absent.items())
    note = f"Not in the plot: {told}." if absent else ""
    return Plot(against.title, _drawn(against, points, document["baseline"]), note)


def _drawn(against: Against, points: Sequence[Point], baseline: str) -> Markup:
    best = frontier(points)
    with canvas(*_SIZE) as (figure, axes):
        figure.subplots_adjust(left=0.115, right=0.965, top=0.965, bottom=0.145)
        _set_up(axes, points)
        axes.set_xlabel(against.label, labelpad=7)
        stairs = [(point.x, point.y) for point in best]
        stairs.append((axes.get_xlim()[1], best[-1].y))
        across, up = zip(*stairs, strict=True)
        axes.step(across, up, where="post", color=ACCENT, lw=1, alpha=0.5, zorder=2)
        axes.fill_between(
            across, up, axes.get_ylim()[0], step="post", color=ACCENT, alpha=0.07, lw=0, zorder=0
        )
        for point in points:
            _mark(axes, point, on_frontier=point in best, is_baseline=point.name == baseline)
        figure.draw_without_rendering()
        for point, place in zip(points, _places(axes, points, stairs), strict=True):
            axes.annotate(
                point.label,
                (point.x, point.y),
                (place.across, place.up),
                textcoords="offset points",
                ha=place.align,
                va="center",
                color=INK if point in best else MUTED,
                weight="bold" if point in best else "normal",
                zorder=6,
            )
        return svg(
            figure, f"tradeoff-{against.name}", f"Accuracy against {against.label}", _told(points, best)
        )


def _set_up(axes: Axes, points: Sequence[Point]) -> None:
    ends = [end for point in points for end in (point.low, point.high, point.y) if end is not None]
    low, high = min(ends), max(ends)
    room = max(0.06 * (high - low), 0.02)
    axes.set_ylim(max(-0.02, low - room), min(1.02, high + room))
    axes.yaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 2.5, 5, 10]))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:.0f}%"))
    axes.grid(axis="y")
    axes.tick_params(length=0, pad=5)
    axes.spines["left"].set_visible(False)
    logarithmic(axes, min(point.x for point in points), max(point.x for point in points))


def _mark(axes: Axes, point: Point, *, on_frontier: bool, is_baseline: bool) -> None:
    colour = ACCENT if on_frontier else MUTED
    if point.low is not None and point.high is not None:
        axes.plot([point.x] * 2, [point.low, point.high], color=colour, lw=1.2, alpha=0.6, zorder=3)
    if point.spread is not None:
        axes.plot(point.spread, [point.y] * 2, color=colour, lw=1.2, alpha=0.6, zorder=3)
    shape = "s" if is_baseline else "o"
    if on_frontier:
        axes.plot(point.x, point.y, shape, ms=7.5, color=colour, mew=0, zorder=5)
    else:
        axes.plot(point.x, point.y, shape, ms=6.5, mfc=PAGE, mec=colour, mew=1.3, zorder=5)


def _places(axes: Axes, points: Sequence[Point], stairs: Sequence[tuple[float, float]]) -> list[labels.Place]:
    scale = axes.figure.dpi / PIXELS

    def pixels(x: float, y: float) -> tuple[float, float]:
        across, up = axes.transData.transform((x, y)) / scale
        return float(across), float(up)

    drawn = []
    for point in points:
        if point.low is not None and point.high is not None:
            (x, low), (_, high) = pixels(point.x, point.low), pixels(point.x, point.high)
            drawn.append(Area(x - 1, low, x + 1, high))
    for (x, y), (right, top) in itertools.pairwise(pixels(*one) for one in stairs):
        drawn += [Area(x, y - 1, right, y + 1), Area(right - 1, y, right + 1, top)]
    box = axes.get_window_extent()
    # A label may reach into the right margin.
    inside = Area(box.x0 / scale, box.y0 / scale, box.x1 / scale + 12, box.y1 / scale)
    return labels.beside(
        [pixels(point.x, point.y) for point in points], [point.label for point in points], drawn, inside
    )


def _told(points: Iterable[Point], best: Collection[Point]) -> str:
    return "; ".join(
        f"{point.name}: {100 * point.y:.0f}%{'!' * point.is_unvaried} at {point.x:,.4g}{'' if point in best else ' (dominated)'}"
        for point in points
    )
