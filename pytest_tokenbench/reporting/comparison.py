"""A comparison of two runs as text: for a terminal, and as Markdown."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from pytest_tokenbench.gates import Gate
from pytest_tokenbench.reporting import comparison_tables as compared
from pytest_tokenbench.reporting import tables, wording
from pytest_tokenbench.reporting.markdown import escape
from pytest_tokenbench.reporting.terminal import wrapped

Json = Mapping[str, Any]
Line = tuple[str, dict[str, bool]]
# What a narrow terminal does without, the first first.
DROPPED = ("reworded", "tokens [95%]", "abstained", "made up")
# Rows of a slice, and questions whose answers changed, that a terminal is shown.
MOST = 20
_LONGEST_ANSWER = 60
_LONGEST_KIND = 24
# A comparison over blocks goes without these as well: arms have long names.
_DROPPED_OF_ARMS = (*DROPPED, "tokens/q")
_DROPPED_OF_FINDINGS = ("drop, second", "drop, first")
# Columns that stand in each part of a table that is too wide for one: the name, and of how many questions.
_KEPT = 2


def as_text(document: Json) -> str:
    """The content of compare.json."""
    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def summary(document: Json, width: int, gates: Sequence[Gate] = ()) -> list[Line]:
    """The lines for a terminal in order, each with its markup for pytest's terminal writer."""
    lines = [(part, {"bold": True}) for part in wrapped(compared.heading(document), width)]
    for warning in document["warnings"]:
        lines += [(part, {"yellow": True}) for part in wrapped(f"warning: {warning}", width)]
    if "ablation" in document:
        headings, rows, sentences = compared.findings(document["ablation"], wording.one_line)
        lines += [("", {}), *_table(headings, rows, width, _DROPPED_OF_FINDINGS), *_told(sentences, width)]
    dropped = _DROPPED_OF_ARMS if "ablation" in document else DROPPED
    lines += [("", {}), *_table(*compared.cells(document, wording.one_line), width, dropped)]
    lines += _told((*compared.not_compared(document), *compared.missing(document)), width)
    for name, headings, rows in compared.slices(document, wording.one_line):
        lines += [
            ("", {}),
            *_in_parts([f"points by {name[:_LONGEST_KIND]}", *headings[1:]], rows[:MOST], width),
        ]
        if len(rows) > MOST:
            lines.append((f"and {len(rows) - MOST:,} more, which compare.md and --markdown have", {}))
    lines += [
        ("", {}),
        *_told((f"note: {note}" for note in (compared.legend(document), compared.MARK)), width),
    ]
    return lines + _changes(document, width) + _gates(document, gates, width)


def _told(sentences: Iterable[str], width: int) -> Iterator[Line]:
    return ((part, {}) for sentence in sentences for part in wrapped(sentence, width))


def _changes(document: Json, width: int) -> list[Line]:
    """The questions whose answers changed, as far as they are not too many."""
    if not document["changes"]:
        return [("", {}), (_NO_CHANGE, {})]
    changed = list(_changed(document, compared.columns(document)))
    lines: list[Line] = [("", {})]
    for question, changes in changed[:MOST]:
        lines += _told([question], width)
        for sentence, is_lost in changes:
            markup = {"red" if is_lost else "green": True}
            lines += [(part, markup) for part in wrapped(f"    {sentence}", width)]
    beyond = len(changed) - MOST
    others = len(document["changes"]) - sum(len(changes) for _, changes in changed)
    more = []
    if beyond > 0:
        more.append(
            f"and {beyond:,} questions more whose answers changed, which compare.md and --markdown have"
        )
    if others:
        more.append(
            f"and {others:,} answers that changed under other arms, which compare.md and --markdown have"
        )
    return [*lines, *_told(more, width)]


def failures(document: Json, gates: Sequence[Gate]) -> list[str]:
    """Why gates are shut, a sentence each."""
    found = (gate.failure(dict(document)) for gate in gates)
    return [one for one in found if one is not None]


def markdown(document: Json, gates: Sequence[Gate] = ()) -> str:
    """The whole comparison as Markdown."""
    parts = ["# Comparison of two runs", escape(compared.heading(document)) + "."]
    shut = failures(document, gates)
    if gates:
        parts.append("\n".join(f"- **{escape(one)}**" for one in shut) or "Every gate is passed.")
    if document["warnings"]:
        parts.append("\n".join(f"- {escape(warning)}" for warning in document["warnings"]))
    else:
        parts.append("Nothing that could change a number differs between the runs but the time.")
    if "ablation" in document:
        headings, rows, sentences = compared.findings(document["ablation"], escape)
        parts += ["## Findings", tables.render(headings, rows, style="github"), *map(escape, sentences)]
        parts.append("## Arms")
    parts.append(tables.render(*compared.cells(document, escape), style="github"))
    parts.append(escape(compared.legend(document)) + ".")
    lacking = [*compared.not_compared(document), *compared.missing(document)]
    parts += ["\n".join(f"- {escape(sentence)}" for sentence in lacking)] if lacking else []
    for name, headings, rows in compared.slices(document, escape):
        parts += [f"## Accuracy by {name}, in points", tables.render(headings, rows, style="github")]
    parts += [escape(compared.MARK) + ".", "## Answers that changed"]
    changed = [
        "\n".join([f"- {escape(question)}", *(f"  - {escape(sentence)}" for sentence, _ in changes)])
        for question, changes in _changed(document, list(document["conditions"]))
    ]
    parts.append("\n".join(changed) or f"{_NO_CHANGE}.")
    return "\n\n".join(parts) + "\n"


_NO_CHANGE = "no answer changed from right to wrong or from wrong to right"


def _table(
    headings: Sequence[str], rows: Sequence[Sequence[str]], width: int, dropped: Sequence[str] = ()
) -> Iterator[Line]:
    return ((line, {}) for line in tables.fitted(headings, rows, dropped, width).splitlines())


def _in_parts(headings: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> Iterator[Line]:
    """The table in `width` columns: as several, one below the other, where there is no room for all its columns."""
    places = list(range(_KEPT, len(headings)))
    while places:
        taken = len(places)
        while taken > 1 and _width(*_some(headings, rows, places[:taken])) > width:
            taken -= 1
        yield from _table(*_some(headings, rows, places[:taken]), width)
        places = places[taken:]
        if places:
            yield "", {}


def _some(
    headings: Sequence[str], rows: Sequence[Sequence[str]], places: Sequence[int]
) -> tuple[list[str], list[list[str]]]:
    kept = [*range(_KEPT), *places]
    return [headings[place] for place in kept], [[row[place] for place in kept] for row in rows]


def _width(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> int:
    return max(map(len, tables.render(headings, rows).splitlines()))


def _gates(document: Json, gates: Sequence[Gate], width: int) -> list[Line]:
    lines: list[Line] = [("", {})] if gates else []
    for gate in gates:
        failure = gate.failure(dict(document))
        text = f"gate {gate} is passed" if failure is None else f"gate {gate} is shut: {failure}"
        markup = {"green" if failure is None else "red": True}
        lines += [(part, markup) for part in wrapped(text, width)]
    return lines


# The answers


def _changed(document: Json, conditions: Sequence[str]) -> Iterator[tuple[str, list[tuple[str, bool]]]]:
    """Each question whose answers changed, and how under which condition; whether something was lost by that."""
    changes_there = (one for one in document["changes"] if one["condition"] in conditions)
    ordered = sorted(changes_there, key=lambda one: (one["document"], one["question"]))
    for _, changes in groupby(ordered, key=lambda one: one["question"]):
        found = list(changes)
        question = f"{found[0]['question']}: {wording.one_line(found[0]['text'])}"
        yield question, [(_change(one), one["change"] == "lost") for one in found]


def _change(change: Json) -> str:
    were, are = map(_answers, change["answers"])
    words = f"{change['from']} -> {change['to']}".replace("_", " ")
    return f"{change['condition']} {words}: {were} -> {are}"


def _answers(answers: Sequence[str]) -> str:
    """The answers of a trial's repeats, the same ones once, shortened."""
    shown = dict.fromkeys(wording.one_line(answer) for answer in answers)
    return " / ".join(
        f'"{one[: _LONGEST_ANSWER - 1] + "…" if len(one) > _LONGEST_ANSWER else one}"' for one in shown
    )
