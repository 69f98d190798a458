"""The terminal's summary: one table, the hypotheses, what was missing or doubtful."""

import textwrap
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from pytest_tokenbench.reporting import ablation, costs, sections, tables, wording

Json = Mapping[str, Any]

# What a narrow terminal does without, the first first; then what a condition saves.
DROPPED = ("pays from", "abstained", "prepared/doc", "prefill", "churn", "made up")

# Every case of an arm has an answer, and nothing is built for it.
_NOT_OF_ARMS = ("abstained", "made up", "prepared/doc", "pays from")

Column = tuple[str, Callable[[Json], str]]


def _difference(made: Json) -> str:
    return wording.points(made["differences"]["accuracy"]) if "differences" in made else "baseline"


def _reduction(made: Json) -> str:
    return wording.reduction(made["reduction"]) if "reduction" in made else "baseline"


def columns(document: Json, baseline: str) -> list[Column]:
    """Every column of the table: its heading and its cell for a condition. `baseline` is as it is to be shown."""
    churn: list[Column] = [("churn", lambda made: wording.share(made["churn"]["all"]))]
    found: list[Column] = [
        ("tokens/q", lambda made: wording.tokens(made["measures"]["input_tokens"])),
        (f"less than {baseline}", _reduction),
        ("accuracy [95%]", lambda made: wording.share(made["measures"]["accuracy"], interval=True)),
        (f"points from {baseline}", _difference),
        *(churn if document["repeats"] > 1 else []),
        ("abstained", lambda made: wording.share(made["measures"]["abstention"])),
        ("made up", lambda made: wording.share(made["measures"]["made_up"])),
        ("prefill", wording.prefill),
        ("prepared/doc", lambda made: wording.preparation(made["preparation"])),
        ("pays from", wording.break_even),
    ]
    return [column for column in found if "ablation" not in document or column[0] not in _NOT_OF_ARMS]


def table(document: Json, width: int) -> str:
    """The table for a terminal of `width` columns: every column where they fit, else as many as do."""
    headings, rows = _cells(document, wording.one_line)
    return tables.fitted(headings, rows, (*DROPPED, headings[2]), width)


def markdown_table(document: Json, name: Callable[[str], str]) -> str:
    """The table with every column, as Markdown. `name` makes text from outside fit to be shown."""
    return tables.render(*_cells(document, name), style="github")


def _cells(document: Json, name: Callable[[str], str]) -> tuple[list[str], list[list[str]]]:
    chosen = columns(document, name(document["baseline"]))
    rows = [
        [name(condition), *(cell(made) for _, cell in chosen)]
        for condition, made in wording.asked(document).items()
    ]
    return ["", *(heading for heading, _ in chosen)], rows


def summary(document: Json, width: int) -> list[tuple[str, dict[str, bool]]]:
    """The lines of the summary in order, each with its markup for pytest's terminal writer."""
    heading = f"{document['study']}: {wording.counts(document)}, "
    heading += f"{document['model']['name']} ({document['model']['backend']}), {wording.manner(document)}"
    lines: list[tuple[str, dict[str, bool]]] = [(part, {"bold": True}) for part in wrapped(heading, width)]
    for notice in wording.notices(document):
        lines += [(part, {"yellow": True, "bold": True}) for part in wrapped(notice, width)]
    lines += [("", {}), *((line, {}) for line in _found(document, width))]
    document = ablation.few_costs(document)
    for entry in document.get("costs", []):
        lines += [(part, {}) for part in wrapped(costs.heading(entry, document), width)]
        lines += [(line, {}) for line in costs.table(entry, document["baseline"], width).splitlines()] + [
            ("", {})
        ]
    colours = {"passed": "green", "failed": "red", "unavailable": "yellow", "error": "red"}
    for entry in document["hypotheses"]:
        markup = {colours[entry["ruling"]]: True}
        lines += [(part, markup) for part in wrapped(wording.verdict(entry), width)]
        for item in entry["evidence"]:
            lines += [(part, {}) for part in wrapped("    " + wording.evidence(item), width)]
    rest = wording.notes(document) + costs.notes(document)
    if rest:
        lines += [("", {})] if document["hypotheses"] else []
        lines += [(part, {}) for note in rest for part in wrapped("note: " + note, width)]
    return lines


def _found(document: Json, width: int) -> Iterator[str]:
    """What was measured, with an empty line after each part; of an ablation, instead of the table of its many arms."""
    if "ablation" not in document:
        yield from (*table(document, width).splitlines(), "")
        return
    for section in ablation.sections(document):
        if width >= sections.WIDE or not section.is_wide:
            yield from wrapped(section.title, width) if section.title else ()
            yield from section.table.fitted(width).splitlines() if section.table else ()
            for sentence in section.sentences:
                yield from wrapped(sentence, width)
            yield ""


def wrapped(text: str, width: int) -> list[str]:
    """The lines of a text in a terminal of `width` columns, all but the first indented."""
    indent = " " * (len(text) - len(text.lstrip()) + 4)
    return textwrap.wrap(wording.plain(text), max(40, width), subsequent_indent=indent) or [""]
