"""What preparation costs: cumulative tokens against the number of questions asked of a document, with break-evens."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from markupsafe import Markup
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from pytest_tokenbench.reporting.html.drawing import (
    INK,
    MUTED,
    PIXELS,
    SERIES,
    Plot,
    canvas,
    logarithmic,
    svg,
    whole,
)
from pytest_tokenbench.reporting.html.labels import spread, width

Json = Mapping[str, Any]
TITLE = "Tokens for one document, against the questions asked of it"
_SIZE = (420, 340)
_APART = 14  # pixels between labels


@dataclass(frozen=True, slots=True)
class Line:
    """A condition's tokens: what is built once, and what each question takes; `even` is where it gets cheaper."""

    name: str
    built: float
    asked: float
    even: int | None

    def at(self, questions: float) -> float:
        """Tokens for a document of which so many questions are asked."""
        return self.built + self.asked * questions


def plot(document: Json) -> Plot:
    """One line a condition; on it the number of questions from which it takes fewer tokens than the baseline."""
    lines, absent = [], []
    for name, made in document["conditions"].items():
        asked = made["measures"]["input_tokens"].get("estimate")
        prepared = made["preparation"]
        built = 0.0 if prepared is None else prepared["tokens_per_document"].get("estimate")
        if asked is None or built is None:
            absent.append(name)
            continue
        even = made.get("break_even", {}).get("questions_per_document")
        # What is cheaper from the first question on crosses nothing.
        lines.append(Line(name, built, asked, even if even != 1 else None))
    if not lines:
        return Plot(TITLE, None, "Not drawn: no input tokens were told.")
    note = f"Not in the plot, since tokens are not known: {', '.join(absent)}." if absent else ""
    asked_of_each = document["questions"] / max(1, document["documents"])
    return Plot(TITLE, _drawn(lines, document["baseline"], asked_of_each), note)


def _drawn(lines: Sequence[Line], baseline: str, asked_of_each: float) -> Markup:
    evens = [line.even for line in lines if line.even is not None]
    most = max(10.0, 2.0 * asked_of_each, *(1.6 * even for even in evens))
    questions = np.geomspace(1, most, 60)
    with canvas(*_SIZE) as (figure, axes):
        figure.subplots_adjust(
            left=0.105,
            right=1 - min(0.3, (width(line.name for line in lines) + 14) / _SIZE[0]),
            top=0.97,
            bottom=0.13,
        )
        logarithmic(axes, 1, most)
        axes.set_xlim(1, most)
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5), numticks=9))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: whole(value)))
        axes.yaxis.set_minor_locator(NullLocator())
        axes.grid(axis="both")
        axes.tick_params(length=0, pad=5)
        axes.spines["left"].set_visible(False)
        for place, line in enumerate(lines):
            is_baseline = line.name == baseline
            colour = INK if is_baseline else SERIES[place % len(SERIES)]
            axes.plot(
                questions, [line.at(one) for one in questions], color=colour, lw=2.2 if is_baseline else 1.6
            )
            if line.even is not None:
                axes.plot(line.even, line.at(line.even), "o", ms=7, color=colour, mew=0, zorder=4)
        for even in sorted(set(evens)):
            lowest = min(line.at(even) for line in lines if line.even == even)
            axes.annotate(
                f"{even:,}",
                (even, lowest),
                (0, -12),
                textcoords="offset points",
                ha="center",
                va="center",
                size=10.5,
                color=MUTED,
                zorder=5,
            )
        axes.set_xlabel("Questions asked of one document", labelpad=7)
        figure.draw_without_rendering()
        scale = figure.dpi / PIXELS
        wanted = [axes.transData.transform((most, line.at(most)))[1] / scale for line in lines]
        for place, (line, height) in enumerate(zip(lines, spread(wanted, _APART), strict=True)):
            axes.annotate(
                line.name,
                (most, line.at(most)),
                (7, height - wanted[place]),
                textcoords="offset points",
                va="center",
                color=INK if line.name == baseline else SERIES[place % len(SERIES)],
                weight="bold" if line.name == baseline else "normal",
            )
        return svg(figure, "preparation", TITLE, _told(lines))


def _told(lines: Sequence[Line]) -> str:
    parts = []
    for line in lines:
        even = "" if line.even is None else f", cheaper from {line.even:,} questions"
        parts.append(f"{line.name}: {line.built:,.0f} once and {line.asked:,.0f} a question{even}")
    return "; ".join(parts)
