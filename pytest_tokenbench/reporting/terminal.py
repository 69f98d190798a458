"""The terminal's summary: one table, the hypotheses, what was missing or doubtful."""

import textwrap
from collections.abc import Callable, Mapping
from typing import Any

from tabulate import tabulate

from pytest_tokenbench.reporting import costs, wording

Json = Mapping[str, Any]

# What a narrow terminal does without, the first first.
DROPPED = ("pays from", "abstained", "prepared/doc", "prefill", "made up")

Column = tuple[str, Callable[[Json], str]]


def _difference(made: Json) -> str:
    return wording.points(made["differences"]["accuracy"]) if "differences" in made else "baseline"


def _reduction(made: Json) -> str:
    return wording.reduction(made["reduction"]) if "reduction" in made else "baseline"


def columns(baseline: str) -> list[Column]:
    """Every column of the table: its heading and its cell for a condition."""
    return [
        ("tokens/q", lambda made: wording.tokens(made["measures"]["input_tokens"])),
        (f"less than {baseline}", _reduction),
        ("accuracy [95%]", lambda made: wording.share(made["measures"]["accuracy"], interval=True)),
        (f"points from {baseline}", _difference),
        ("abstained", lambda made: wording.share(made["measures"]["abstention"])),
        ("made up", lambda made: wording.share(made["measures"]["made_up"])),
        ("prefill", lambda made: wording.seconds(made["measures"]["prefill_s"])),
        ("prepared/doc", lambda made: wording.preparation(made["preparation"])),
        ("pays from", wording.break_even),
    ]


def table(document: Json, width: int) -> str:
    """The table for a terminal of `width` columns: every column where they fit, else as many as do."""
    chosen = dict(columns(document["baseline"]))
    for name in ("", *DROPPED):
        chosen.pop(name, None)
        made = _render(document, chosen, "simple")
        if len(made.split("\n", 1)[0]) <= width:
            break
    return made


def markdown_table(document: Json) -> str:
    """The table with every column, as Markdown."""
    return _render(document, dict(columns(document["baseline"])), "github")


def _render(document: Json, chosen: Mapping[str, Callable[[Json], str]], style: str) -> str:
    rows = [
        [wording.plain(name), *(cell(made) for cell in chosen.values())]
        for name, made in document["conditions"].items()
    ]
    alignment = ["left"] + ["right"] * len(chosen)
    return tabulate(rows, ["", *chosen], tablefmt=style, disable_numparse=True, colalign=alignment)


def summary(document: Json, width: int) -> list[tuple[str, dict[str, bool]]]:
    """The lines of the summary in order, each with its markup for pytest's terminal writer."""
    heading = f"{document['study']}: {document['documents']} documents, {document['questions']} questions, "
    heading += f"{wording.plain(document['model']['name'])} ({document['model']['backend']}), {document['order']} order"
    lines: list[tuple[str, dict[str, bool]]] = [(part, {"bold": True}) for part in wrapped(heading, width)]
    if document["quick"]:
        lines += [(part, {"yellow": True, "bold": True}) for part in wrapped(wording.QUICK_NOTICE, width)]
    lines += [("", {})] + [(line, {}) for line in table(document, width).splitlines()] + [("", {})]
    for entry in document.get("costs", []):
        lines += [(part, {}) for part in wrapped(costs.heading(entry, document), width)]
        lines += [(line, {}) for line in costs.table(entry, document["baseline"]).splitlines()] + [("", {})]
    colours = {"passed": "green", "failed": "red", "unavailable": "yellow", "error": "red"}
    for entry in document["hypotheses"]:
        markup = {colours[entry["ruling"]]: True}
        lines += [(part, markup) for part in wrapped(wording.verdict(entry), width)]
        for item in entry["evidence"]:
            lines += [(part, {}) for part in wrapped("    " + wording.evidence(item), width)]
    rest = wording.notes(document)[1 if document["quick"] else 0 :] + costs.notes(document)
    if rest:
        lines += [("", {})] if document["hypotheses"] else []
        lines += [(part, {}) for note in rest for part in wrapped("note: " + note, width)]
    return lines


def wrapped(text: str, width: int) -> list[str]:
    """The lines of a text in a terminal of `width` columns, all but the first indented."""
    indent = " " * (len(text) - len(text.lstrip()) + 4)
    return textwrap.wrap(wording.plain(text), max(40, width), subsequent_indent=indent) or [""]
