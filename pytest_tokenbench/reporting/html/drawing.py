"""A matplotlib figure as SVG to stand in the page: text stays text, colours are the page's, ids are its own."""

import io
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator

# Written by matplotlib as they stand, and replaced by the page's own, which differ in light and dark.
INK, MUTED, FAINT, ACCENT, PAGE = "#010101", "#020202", "#030303", "#040404", "#060606"
SERIES = tuple(f"#0500{number:02x}" for number in range(8))
_COLOURS = {INK: "ink", MUTED: "muted", FAINT: "line", ACCENT: "accent", PAGE: "page"} | {
    colour: f"series-{number}" for number, colour in enumerate(SERIES)
}
_COLOUR = re.compile("|".join(_COLOURS))
_ID = re.compile(r'(\bid="|url\(#|href="#)')
# A style of matplotlib's own would hold for the whole page, and its fonts are not the page's.
_LEFT_OUT = re.compile(r"<metadata>.*?</metadata>|<style.*?</style>|font-family: [^;\"]*;? ?", re.DOTALL)
_SIZE = re.compile(r'<svg [^>]*viewBox="([^"]*)"[^>]*>', re.DOTALL)
PIXELS = 72  # an SVG of matplotlib has 72 units to the inch
_LABEL = 11.5
_STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "text.parse_math": False,
    "font.size": _LABEL,
    "axes.edgecolor": FAINT,
    "axes.labelcolor": MUTED,
    "axes.linewidth": 1,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.unicode_minus": True,
    "xtick.color": FAINT,
    "ytick.color": FAINT,
    "xtick.labelcolor": MUTED,
    "ytick.labelcolor": MUTED,
    "xtick.labelsize": 10.5,
    "ytick.labelsize": 10.5,
    "grid.color": FAINT,
    "grid.linewidth": 0.8,
    "text.color": INK,
    "path.simplify": False,
}


@dataclass(frozen=True, slots=True)
class Plot:
    """A figure of the page: its drawing, or None and the sentence that says why there is none."""

    title: str
    svg: Markup | None
    note: str = ""


@contextmanager
def canvas(width: float, height: float) -> Iterator[tuple[Figure, Axes]]:
    """An empty figure with one pair of axes, its size in pixels of the page."""
    with rc_context(_STYLE):
        figure = Figure(figsize=(width / PIXELS, height / PIXELS))
        figure.patch.set_visible(False)
        axes = figure.add_subplot()
        axes.patch.set_visible(False)
        axes.set_axisbelow(True)
        yield figure, axes


def svg(figure: Figure, name: str, title: str, description: str) -> Markup:
    """The figure's SVG, with `title` and `description` for whoever cannot see it. `name` is unique in the page."""
    file = io.StringIO()
    with rc_context(_STYLE | {"svg.hashsalt": name}), warnings.catch_warnings():
        # The page's fonts show the text, and not the one that matplotlib measures it with.
        warnings.filterwarnings("ignore", r"Glyph \d+ .* missing from font", UserWarning)
        FigureCanvasSVG(figure).print_svg(  # type: ignore[no-untyped-call]
            file, metadata={"Date": None, "Creator": None, "Format": None, "Type": None}
        )
    drawn = file.getvalue()
    drawn = drawn[drawn.index("<svg") :]
    drawn = _LEFT_OUT.sub("", drawn)
    drawn = _ID.sub(rf"\g<1>{name}-", drawn)
    drawn = _COLOUR.sub(lambda found: f"var(--{_COLOURS[found[0]]})", drawn)
    box = _SIZE.match(drawn)
    if box is None:
        raise ValueError("matplotlib wrote an SVG without a size")
    head = Markup(
        '<svg class="plot" viewBox="{box}" role="img" aria-labelledby="{name}-title {name}-description" '
        'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink">'
        '<title id="{name}-title">{title}</title><desc id="{name}-description">{description}</desc>'
    ).format(box=box[1], name=name, title=title, description=description)
    # matplotlib escapes what it writes, texts of the run included.
    return head + Markup(drawn[box.end() :])  # noqa: S704


def whole(value: float) -> str:
    """A number on an axis: 200, 5,000, 20k, 0.05."""
    if value >= 10_000:  # noqa: PLR2004  # from there on thousands are shorter
        return f"{value / 1000:,.4g}k"
    return f"{value:,.4g}"


def logarithmic(axes: Axes, low: float, high: float, form: Callable[[float], str] = whole) -> None:
    """Gives the x axis a logarithmic scale around the positive values from `low` to `high`, with plain numbers."""
    axes.set_xscale("log")
    span = max(high / low, 1.5)
    margin = span**0.12
    axes.set_xlim(low / margin, low * span * margin)
    steps: Sequence[float] = (1, 2, 5) if span < 300 else (1,)  # noqa: PLR2004  # some two decades and a half
    if span < 4:  # noqa: PLR2004  # less than a decade holds too few round numbers
        steps = (1, 1.5, 2, 3, 4, 5, 6, 8)
    axes.xaxis.set_major_locator(LogLocator(subs=steps, numticks=12))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: form(value)))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_minor_formatter(NullFormatter())
