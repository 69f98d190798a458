"""A comparison of two runs as text: for a terminal, and as Markdown."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from pytest_tokenbench.gates import Gate
from pytest_tokenbench.reporting import ablation_words, tables, wording
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
_NONE = "-"
MARK = (
    "* marks a difference whose interval excludes 0, and ! an interval of zero width; of many intervals some exclude 0 "
    "by chance"
)


def as_text(document: Json) -> str:
    """The content of compare.json."""
    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def summary(document: Json, width: int, gates: Sequence[Gate] = ()) -> list[Line]:
    """The lines for a terminal in order, each with its markup for pytest's terminal writer."""
    lines = [(part, {"bold": True}) for part in wrapped(_heading(document), width)]
    for warning in document["warnings"]:
        lines += [(part, {"yellow": True}) for part in wrapped(f"warning: {warning}", width)]
    if "ablation" in document:
        headings, rows, sentences = _findings(document["ablation"], wording.one_line)
        lines += [("", {}), *_table(headings, rows, width, _DROPPED_OF_FINDINGS)]
        lines += [(part, {}) for sentence in sentences for part in wrapped(sentence, width)]
    dropped = _DROPPED_OF_ARMS if "ablation" in document else DROPPED
    lines += [("", {}), *_table(*_cells(document, wording.one_line), width, dropped)]
    lines += [(part, {}) for part in wrapped(_not_compared(document), width)]
    for name, headings, rows in _slices(document, wording.one_line):
        lines += [
            ("", {}),
            *_in_parts([f"points by {name[:_LONGEST_KIND]}", *headings[1:]], rows[:MOST], width),
        ]
        if len(rows) > MOST:
            lines.append((f"and {len(rows) - MOST:,} more, which compare.md and --markdown have", {}))
    lines += [("", {}), *((part, {}) for part in wrapped(f"note: {MARK}", width))]
    changed = list(_changed(document, _columns(document)))
    lines += [("", {})] if changed else []
    for question, changes in changed[:MOST]:
        lines += [(part, {}) for part in wrapped(question, width)]
        for sentence, is_lost in changes:
            markup = {"red" if is_lost else "green": True}
            lines += [(part, markup) for part in wrapped(f"    {sentence}", width)]
    if len(changed) > MOST:
        more = f"and {len(changed) - MOST:,} questions more whose answers changed, which compare.md and --markdown have"
        lines += [(part, {}) for part in wrapped(more, width)]
    others = len(document["changes"]) - sum(len(changes) for _, changes in changed)
    if others:
        more = f"and {others:,} answers that changed under other arms, which compare.md and --markdown have"
        lines += [(part, {}) for part in wrapped(more, width)]
    if not document["changes"]:
        lines += [("", {}), (_NO_CHANGE, {})]
    return lines + _gates(document, gates, width)


def failures(document: Json, gates: Sequence[Gate]) -> list[str]:
    """Why gates are shut, a sentence each."""
    found = (gate.failure(dict(document)) for gate in gates)
    return [one for one in found if one is not None]


def markdown(document: Json, gates: Sequence[Gate] = ()) -> str:
    """The whole comparison as Markdown."""
    parts = ["# Comparison of two runs", escape(_heading(document)) + "."]
    shut = failures(document, gates)
    if gates:
        parts.append("\n".join(f"- **{escape(one)}**" for one in shut) or "Every gate is passed.")
    if document["warnings"]:
        parts.append("\n".join(f"- {escape(warning)}" for warning in document["warnings"]))
    else:
        parts.append("Nothing that could change a number differs between the runs but the time.")
    if "ablation" in document:
        headings, rows, sentences = _findings(document["ablation"], escape)
        parts += ["## Findings", tables.render(headings, rows, style="github"), *map(escape, sentences)]
        parts.append("## Arms")
    parts.append(tables.render(*_cells(document, escape), style="github"))
    parts += [escape(_not_compared(document))] if _not_compared(document) else []
    for name, headings, rows in _slices(document, escape):
        parts += [f"## Accuracy by {name}, in points", tables.render(headings, rows, style="github")]
    parts += [escape(MARK) + ".", "## Answers that changed"]
    changed = [
        "\n".join([f"- {escape(question)}", *(f"  - {escape(sentence)}" for sentence, _ in changes)])
        for question, changes in _changed(document, list(document["conditions"]))
    ]
    parts.append("\n".join(changed) or f"{_NO_CHANGE}.")
    return "\n\n".join(parts) + "\n"


_NO_CHANGE = "no answer changed from right to wrong or from wrong to right"


def _heading(document: Json) -> str:
    first, second = document["first"], document["second"]
    return (
        f"{first['name']} (first, {first['model']}) with {second['name']} (second, {second['model']}): "
        f"{_counted(document)}, differences are second less first"
    )


def _counted(document: Json) -> str:
    if "ablation" in document:
        return f"{document['questions']} cases"
    return f"{document['documents']} documents, {document['questions']} questions"


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


# The tables


def _cells(document: Json, name: Callable[[str], str]) -> tuple[list[str], list[list[str]]]:
    headings = ["", "tokens/q", "tokens [95%]", "accuracy", "points [95%]", "lost", "gained", "reworded"]
    rows = []
    for condition in _compared(document):
        made = document["conditions"][condition]
        measures = made["measures"]
        rows.append(
            [
                name(condition),
                _both(measures["input_tokens"], "{:,.0f}"),
                _difference(measures["input_tokens"], "{:+,.0f}", 1),
                _both(measures["accuracy"], "{:.0%}"),
                _difference(measures["accuracy"]),
                str(made["lost"]),
                str(made["gained"]),
                str(made["reworded"]),
                _difference(measures["abstention"]),
                _difference(measures["made_up"]),
            ]
        )
    return [*headings, "abstained", "made up"], rows


def _compared(document: Json) -> list[str]:
    """The conditions with a row of their own: over blocks, those of which something was measured in both runs."""
    return [
        name
        for name, made in document["conditions"].items()
        if "ablation" not in document or any("difference" in figure for figure in made["measures"].values())
    ]


def _not_compared(document: Json) -> str:
    """Which arms have no row, in a sentence; nothing where all have."""
    lacking = [name for name in document["conditions"] if name not in _compared(document)]
    names = ablation_words.listed(list(map(wording.one_line, lacking)))
    return f"not in the table, since not asked in both runs: {names}" if lacking else ""


def _columns(document: Json) -> list[str]:
    """The conditions that slices are shown under: over blocks not all arms, which are dozens."""
    shown = document["ablation"]["arms"] if "ablation" in document else document["conditions"]
    return [name for name in document["conditions"] if name in shown]


def _findings(found: Json, name: Callable[[str], str]) -> tuple[list[str], list[list[str]], list[str]]:
    """What each run found of the blocks, and of the fraction that is needed."""
    rows = []
    for block in found["blocks"]:
        its = [block["first"], block["second"]]
        verdicts = [_NONE if one is None else str(one["verdict"]) for one in its]
        drops = [_NONE if one is None else ablation_words.drop(one["drop"]) for one in its]
        rows.append([name(block["name"]), *verdicts, *drops])
    told = ", ".join(
        f"{ablation_words.percent(figure)} in the {which} run"
        if "estimate" in figure
        else f"not known in the {which} run ({wording.one_line(figure['unavailable'])})"
        for which, figure in found["needed_fraction"].items()
    )
    notes = [f"needed fraction: {told}", "findings are those of each run by itself, over all its main cases"]
    return ["block", "first", "second", "drop, first", "drop, second"], rows, notes


def _both(figure: Json, form: str) -> str:
    if "difference" not in figure:
        return _NONE
    first, second = (form.format(figure[which]) for which in ("first", "second"))
    return first if first == second else f"{first} -> {second}"


def _difference(figure: Json, form: str = "{:+z.1f}", scale: float = 100) -> str:
    if "difference" not in figure:
        return _NONE
    text = form.format(scale * figure["difference"])
    if figure["low"] is None:
        return f"{text} [no interval]"
    ends = ", ".join(form.format(scale * figure[end]) for end in ("low", "high"))
    return f"{text} [{ends}]{'!' * figure['zero_width']}{_mark(figure)}"


def _mark(figure: Json) -> str:
    """Whether the interval excludes 0."""
    low, high = figure["low"], figure["high"]
    return "" if low is None or low <= 0 <= high else "*"


def _slices(document: Json, name: Callable[[str], str]) -> Iterator[tuple[str, list[str], list[list[str]]]]:
    """Each slice's name, headings and rows: the difference in accuracy of each of its values by condition."""
    conditions = _columns(document)
    for slice_name, values in document["slices"].items():
        rows = []
        for value, made in values.items():
            figures = [made.get(condition, {}).get("accuracy", {}) for condition in conditions]
            if any("difference" in figure for figure in figures):
                number = max(figure.get("n", 0) for figure in figures)
                rows.append([name(value), str(number), *map(_short, figures)])
        if rows:
            yield name(slice_name), ["", "n", *map(name, conditions)], rows


def _short(figure: Json) -> str:
    return f"{100 * figure['difference']:+z.1f}{_mark(figure)}" if "difference" in figure else _NONE


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
