"""Differences from the baseline as a forest plot, one for each measure that is compared."""

from collections.abc import Mapping
from typing import Any

from markupsafe import Markup
from matplotlib.ticker import FuncFormatter, MaxNLocator

from pytest_tokenbench.reporting.html import labels, numbers
from pytest_tokenbench.reporting.html.drawing import ACCENT, FAINT, INK, MUTED, Plot, canvas, svg

Json = Mapping[str, Any]
# Abstention is made-up answers the other way round.
SHOWN = {"accuracy": "Accuracy", "made_up": "Made-up answers", "f1": "F1"}
_WIDTH, _ROW, _MARGINS = 372, 27, 46
_LONGEST_NAME = 17  # letters that there is room for; the description has the whole name


def plots(document: Json) -> list[Plot]:
    """One plot a measure."""
    return [_plot(measure, title, document) for measure, title in SHOWN.items()]


def _plot(measure: str, title: str, document: Json) -> Plot:
    baseline = document["baseline"]
    heading = f"{title}: points from {baseline}"
    rows: dict[str, Json] = {}
    absent: list[str] = []
    for name, made in document["conditions"].items():
        if "differences" in made:
            found = made["differences"][measure]
            rows |= {name: found} if "estimate" in found else {}
            absent += [] if "estimate" in found else [name]
    if not rows:
        why = (
            "the study has no other condition"
            if not absent
            else f"no question has it under {baseline} and another condition"
        )
        return Plot(heading, None, f"Not drawn: {title if title.isupper() else title.lower()}, since {why}.")
    note = f"Not in the plot, since not measured: {', '.join(absent)}." if absent else ""
    return Plot(heading, drawn(measure, heading, rows), note)


def drawn(measure: str, heading: str, rows: Mapping[str, Json]) -> Markup:
    """Differences by condition against zero, in points; in colour where the interval excludes it."""
    height = _MARGINS + _ROW * len(rows)
    with canvas(_WIDTH, height) as (figure, axes):
        figure.subplots_adjust(
            left=(labels.width(map(_cut, rows)) + 18) / _WIDTH,
            right=0.635,
            top=1 - 10 / height,
            bottom=34 / height,
        )
        ends = [0.0]
        for found in rows.values():
            ends += [found[key] for key in ("estimate", "low", "high") if found[key] is not None]
            ends += [found["by_document"].get(key) or 0.0 for key in ("low", "high")]
        low, high = 100 * min(ends), 100 * max(ends)
        room = max(1.0, 0.06 * (high - low))
        axes.set_xlim(low - room, high + room)
        axes.set_ylim(len(rows) - 0.4, -0.6)
        axes.axvline(0, color=MUTED, lw=1, zorder=1)
        for place, (name, found) in enumerate(rows.items()):
            if found["low"] is None:
                colour = MUTED
            else:
                colour = MUTED if found["low"] <= 0 <= found["high"] else ACCENT
                axes.plot([100 * found["low"], 100 * found["high"]], [place] * 2, color=colour, lw=2)
            by_document = found["by_document"]
            if by_document.get("low") is not None:
                axes.plot(
                    [100 * by_document["low"], 100 * by_document["high"]],
                    [place + 0.27] * 2,
                    color=MUTED,
                    lw=1,
                    alpha=0.7,
                )
            axes.plot(100 * found["estimate"], place, "o", ms=6.5, color=colour, mew=0, zorder=4)
            axes.annotate(
                _cut(name),
                (-0.03, place),
                xycoords=("axes fraction", "data"),
                ha="right",
                va="center",
                color=INK,
            )
            axes.annotate(
                numbers.points(found),
                (1.04, place),
                xycoords=("axes fraction", "data"),
                ha="left",
                va="center",
                color=INK,
                size=10.5,
            )
        axes.xaxis.set_major_locator(MaxNLocator(5, integer=True))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: numbers.signed(value, 0)))
        axes.grid(axis="x")
        axes.set_yticks([])
        axes.tick_params(length=0, pad=5)
        axes.spines["left"].set_visible(False)
        axes.spines["bottom"].set_color(FAINT)
        told = "; ".join(f"{name}: {numbers.points(found)}" for name, found in rows.items())
        return svg(figure, f"forest-{measure}", heading, told)


def _cut(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else name[: _LONGEST_NAME - 1] + "…"
