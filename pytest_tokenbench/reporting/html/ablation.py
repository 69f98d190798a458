"""What an ablation found, for the page: its plots, its tables, and the cases that its composed arm lost."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode

from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from matplotlib.ticker import FuncFormatter, MaxNLocator

from pytest_tokenbench.reporting import ablation, sections, wording
from pytest_tokenbench.reporting import ablation_words as words
from pytest_tokenbench.reporting.html import drops, sweep
from pytest_tokenbench.reporting.html.drawing import (
    ACCENT,
    FAINT,
    INK,
    MUTED,
    PAGE,
    SERIES,
    Plot,
    canvas,
    svg,
    whole,
)
from pytest_tokenbench.reporting.html.tables import Table, shown

Json = Mapping[str, Any]
# What is needed is full, what can go is hollow: nothing is told by colour alone.
COLOURS = {"needed": SERIES[0], "undecided": SERIES[1], "removable": SERIES[2]}
_WIDTH, _BLOCK = 372, 42
_BESIDE = (("stress_drop", "s"), ("reweighted_drop", "D"))


@dataclass(frozen=True, slots=True)
class Found:
    """A part of what was found: its table and sentences, and the plots that go with them."""

    name: str
    title: str
    table: Table | None
    sentences: tuple[str, ...]
    plots: tuple[Plot, ...]


@dataclass(frozen=True, slots=True)
class Lost:
    """Cases that an arm lost: what it left out, and each case with its slices and where the page has its two trials."""

    what: str
    cases: tuple[tuple[str, str, str], ...]


def parts(document: Json) -> list[Found]:
    """What was found, in the order of the other reports."""
    drawn = _plots(document["ablation"])
    return [
        Found(
            section.name,
            wording.plain(section.title),
            None if section.table is None else _table(section.title, section.table),
            section.sentences,
            drawn.get(section.name, ()),
        )
        for section in ablation.sections(document)
    ]


def _table(title: str, made: sections.Table) -> Table:
    rows = (
        tuple(
            shown(cell) if place and (cell == words.NONE or heading not in made.words) else cell
            for place, (heading, cell) in enumerate(zip(made.headings, row, strict=True))
        )
        for row in made.rows
    )
    return Table(wording.plain(title) or "Each block's figures", made.headings, tuple(rows), made.words)


def _plots(made: Json) -> dict[str, tuple[Plot, ...]]:
    found = {
        "blocks": (bar(made), of_blocks(made)),
        "composed": (composed(made),),
        "selector": (sweep.plot(made),),
    }
    for block in made["blocks"]:
        name, asked = block["name"], made["threshold"]
        if block["units"]:
            rows = [
                drops.Row(f"{name}/{one['unit']}", one["drop"], _colour(one), _beside(one))
                for one in block["units"]
            ]
            found[f"units-{name}"] = (
                drops.plot(f"units-{name}", f"{name}: drop without one unit", rows, asked),
            )
        if block["ranks"]:
            rows = [drops.Row(f"to {one['to']}", one["drop"], _colour(one)) for one in block["ranks"]]
            found[f"ranks-{name}"] = (
                drops.plot(f"ranks-{name}", f"{name}: drop without lower ranks", rows, asked),
            )
    return found


def lost(document: Json) -> list[Lost]:
    """The cases that are lost only where several parts are left out together, by the arm that lost them."""
    composed, baseline = document["ablation"]["composed"], document["baseline"]
    if "unavailable" in composed:
        return []
    slices = {one["case"]: words.slices(one["slices"]) for one in composed["lost"]}
    found = [("composed", "composed arm", list(slices))]
    for pair in composed["pairs"]:
        names = list(map(wording.plain, pair["blocks"]))
        found.append((pair["arm"], " and ".join(names), pair["lost"]))
    found += [
        (part["arm"], f"within {wording.plain(part['block'])}", part["lost"]) for part in composed["within"]
    ]
    return [
        Lost(what, tuple((case, slices.get(case, ""), _beside_base(arm, case, baseline)) for case in cases))
        for arm, what, cases in found
        if cases
    ]


def _beside_base(arm: str, case: str, baseline: str) -> str:
    """The fragment under which the page shows a case's trial that is wrong beside the base's that is right."""
    wanted = {
        "condition": arm,
        "outcome": "wrong",
        "versus": baseline,
        "versus-outcome": "correct",
        "open": f"{arm}-{case}",
    }
    return "#trials?" + urlencode(wanted, quote_via=quote)


def _colour(made: Json) -> str:
    return COLOURS.get(str(made["verdict"]), MUTED)


def _beside(made: Json) -> tuple[tuple[Json, str], ...]:
    return tuple((made[key], marker) for key, marker in _BESIDE if "estimate" in made.get(key, {}))


def bar(made: Json) -> Plot:
    """The prompt as one bar of its blocks, as long as their tokens, and below it each with its verdict."""
    title = "The prompt, block by block"
    known = [block for block in made["blocks"] if block["tokens"].get("estimate", 0) > 0]
    if not known:
        return Plot(title, None, "Not drawn: the blocks' tokens are not known.")
    others = [block["name"] for block in made["blocks"] if block not in known]
    note = f"Not in the plot, since their tokens are not known: {words.listed(others)}." if others else ""
    return Plot(title, _bar(known, title), note)


def _bar(blocks: Sequence[Json], title: str) -> Markup:
    total = sum(block["tokens"]["estimate"] for block in blocks)
    rows = len(blocks)
    height = 58 + _BLOCK * rows
    with canvas(_WIDTH, height) as (figure, axes):
        figure.subplots_adjust(left=0.004, right=0.996, top=1 - 4 / height, bottom=32 / height)
        axes.set_xlim(0, total)
        axes.set_ylim(58 - 32 + _BLOCK * rows, 0)
        start = 0.0
        for place, block in enumerate(blocks):
            size, top = block["tokens"]["estimate"], 34 + _BLOCK * place
            _fill(axes, (start, 0), size, 20, block["verdict"])
            axes.plot([start, start], [22, top + 18], color=FAINT, lw=0.8, zorder=0)
            _fill(axes, (start, top + 19), size, 12, block["verdict"])
            axes.annotate(
                _label(block, total), (0, top + 10), va="center", ha="left", color=INK, annotation_clip=False
            )
            start += size
        _tokens_axis(axes)
        told = "; ".join(_label(block, total) for block in blocks)
        return svg(figure, "blocks-bar", title, told)


def _label(block: Json, total: float) -> str:
    size = block["tokens"]["estimate"]
    return f"{wording.plain(block['name'])}: {size:,.0f} tokens, {100 * size / total:.0f}%, {words.verdict(block)}"


def _fill(axes: Axes, corner: tuple[float, float], wide: float, high: float, verdict: str) -> None:
    colour = COLOURS.get(verdict, MUTED)
    face = PAGE if verdict not in ("needed", "undecided") else colour
    axes.add_patch(
        Rectangle(
            corner,
            wide,
            high,
            fc=face,
            ec=colour,
            lw=1.4,
            ls="-" if verdict in COLOURS else "--",
            alpha=0.45 if verdict == "undecided" else None,
            zorder=2,
        )
    )


def _tokens_axis(axes: Axes) -> None:
    axes.set_xlabel("Tokens of a prompt", labelpad=4)
    axes.xaxis.set_major_locator(MaxNLocator(5))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: whole(value)))
    axes.set_yticks([])
    axes.tick_params(length=0, pad=4)
    axes.spines["left"].set_visible(False)


def of_blocks(made: Json) -> Plot:
    """What leaving out each block loses, against the threshold: here, on the stress slice and with production's shares."""
    rows = [
        drops.Row(wording.plain(block["name"]), block["drop"], _colour(block), _beside(block))
        for block in made["blocks"]
    ]
    return drops.plot("drops", "Drop in points without each block", rows, made["threshold"])


def composed(made: Json) -> Plot:
    """The composed arm beside what its parts, one by one, would have come to."""
    title = "Left out together, against the sum of its parts"
    found = made["composed"]
    if "unavailable" in found:
        return Plot(title, None, f"Not drawn: {wording.plain(found['unavailable'])}.")
    predicted = found["predicted"]
    sum_of = (
        {} if predicted is None else {"estimate": predicted, "low": None, "high": None, "zero_width": False}
    )
    rows = [
        drops.Row("sum of single drops", sum_of, MUTED),
        drops.Row("measured", found["drop"], ACCENT),
        drops.Row("shortfall", found["shortfall"], SERIES[3]),
        drops.Row("on the stress slice", found["stress_drop"], MUTED),
    ]
    if "estimate" in found["reweighted_drop"]:
        rows.insert(2, drops.Row("with production's shares", found["reweighted_drop"], ACCENT))
    return drops.plot("composed", title, rows, made["threshold"])
