"""The terminal's summary: one table, the hypotheses, what was missing or doubtful."""

import textwrap
from collections.abc import Callable, Mapping
from typing import Any

from tabulate import tabulate

from pytest_tokenbench.reporting import wording

Json = Mapping[str, Any]
WIDE = 120

Column = tuple[str, Callable[[Json], str]]


def _difference(made: Json) -> str:
    return wording.points(made["differences"]["accuracy"]) if "differences" in made else "baseline"


def _reduction(made: Json) -> str:
    return wording.reduction(made["reduction"]) if "reduction" in made else "baseline"


def columns(baseline: str) -> list[Column]:
    """Every column of the table: its heading and its cell for a condition."""
    return [
        ("tokens/question", lambda made: wording.tokens(made["measures"]["input_tokens"])),
        (f"less than {baseline}", _reduction),
        ("accuracy [95%]", lambda made: wording.share(made["measures"]["accuracy"], interval=True)),
        (f"points from {baseline} [95%]", _difference),
        ("abstained", lambda made: wording.share(made["measures"]["abstention"])),
        ("made up", lambda made: wording.share(made["measures"]["made_up"])),
        ("prefill", lambda made: wording.seconds(made["measures"]["prefill_s"])),
        ("prepared tok/doc", lambda made: wording.preparation(made["preparation"])),
        ("cheaper from", lambda made: wording.break_even(made["preparation"])),
    ]


def table(document: Json, width: int, style: str = "simple") -> str:
    """The table for a terminal of `width` columns: all its columns from 120 on, else the five that matter most."""
    baseline = document["baseline"]
    chosen = columns(baseline)
    if width < WIDE:
        narrow = {"tokens/question": "tokens", f"points from {baseline} [95%]": f"points from {baseline}"}
        kept = {
            "tokens/question",
            f"less than {baseline}",
            "accuracy [95%]",
            f"points from {baseline} [95%]",
            "made up",
        }
        chosen = [(narrow.get(name, name), cell) for name, cell in chosen if name in kept]
    rows = [[name, *(cell(made) for _, cell in chosen)] for name, made in document["conditions"].items()]
    headings = ["", *(name for name, _ in chosen)]
    return tabulate(
        rows, headings, tablefmt=style, disable_numparse=True, colalign=["left"] + ["right"] * len(chosen)
    )


def summary(document: Json, width: int) -> list[tuple[str, dict[str, bool]]]:
    """The lines of the summary in order, each with its markup for pytest's terminal writer."""
    heading = f"{document['study']}: {document['documents']} documents, {document['questions']} questions, "
    heading += f"{wording.plain(document['model']['name'])} ({document['model']['backend']}), {document['order']} order"
    lines: list[tuple[str, dict[str, bool]]] = [(part, {"bold": True}) for part in _wrapped(heading, width)]
    if document["quick"]:
        lines += [(part, {"yellow": True, "bold": True}) for part in _wrapped(wording.QUICK_NOTICE, width)]
    lines += [("", {})] + [(line, {}) for line in table(document, width).splitlines()] + [("", {})]
    colours = {"passed": "green", "failed": "red", "unavailable": "yellow", "error": "red"}
    for entry in document["hypotheses"]:
        markup = {colours[entry["ruling"]]: True}
        lines += [(part, markup) for part in _wrapped(wording.verdict(entry), width)]
        for item in entry["evidence"]:
            lines += [(part, {}) for part in _wrapped("    " + wording.evidence(item), width)]
    rest = wording.notes(document)[1 if document["quick"] else 0 :]
    if rest:
        lines.append(("", {}))
        lines += [(part, {}) for note in rest for part in _wrapped("note: " + note, width)]
    return lines


def _wrapped(text: str, width: int) -> list[str]:
    indent = " " * (len(text) - len(text.lstrip()) + 4)
    return textwrap.wrap(text, max(40, width), subsequent_indent=indent, break_long_words=False) or [""]
