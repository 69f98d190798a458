"""The tables of a comparison of two runs, for a terminal, Markdown and the page."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from pytest_tokenbench.comparison import COMPARED
from pytest_tokenbench.figures import is_unvaried
from pytest_tokenbench.reporting import ablation_words, wording

Json = Mapping[str, Any]
NONE = "-"
_MEASURES = {
    "accuracy": "accuracy",
    "abstention": "abstention",
    "made_up": "made-up answers",
    "input_tokens": "tokens",
}
MARK = (
    "* marks a difference whose interval excludes 0, and ! an interval of zero width; of many intervals some exclude 0 "
    "by chance"
)


def legend(document: Json) -> str:
    """What counts as lost, gained and reworded, and why the points need not agree with that."""
    asked, too = (
        ("cases", "")
        if "ablation" in document
        else ("questions", ", unanswerable ones too, which points of accuracy leave out")
    )
    return (
        f"lost and gained count the {asked} that are right in the first run only, and in the second only{too}; reworded "
        "those answered in other words, right or wrong as before"
    )


def heading(document: Json) -> str:
    """Which runs are compared, and on what."""
    first, second = document["first"], document["second"]
    return (
        f"{first['name']} (first, {first['model']}) with {second['name']} (second, {second['model']}): "
        f"{_counted(document)}, differences are second less first"
    )


def _counted(document: Json) -> str:
    if "ablation" in document:
        return f"{document['questions']} cases"
    return f"{document['documents']} documents, {document['questions']} questions"


def cells(document: Json, name: Callable[[str], str]) -> tuple[list[str], list[list[str]]]:
    """Headings and rows of the table of conditions; `name` is how a name is written."""
    headings = ["", "tokens/q", "tokens [95%]", "accuracy", "points [95%]", "lost", "gained", "reworded"]
    rows = []
    for condition in compared(document):
        made = document["conditions"][condition]
        measures = made["measures"]
        rows.append(
            [
                name(condition),
                _both(measures["input_tokens"], "{:,.0f}"),
                difference(measures["input_tokens"], "{:+,.0f}", 1),
                _both(measures["accuracy"], "{:.0%}"),
                difference(measures["accuracy"]),
                str(made["lost"]),
                str(made["gained"]),
                str(made["reworded"]),
                difference(measures["abstention"]),
                difference(measures["made_up"]),
            ]
        )
    return [*headings, "abstained", "made up"], rows


def compared(document: Json) -> list[str]:
    """The conditions with a row of their own: over blocks, those of which something was measured in both runs."""
    return [
        name
        for name, made in document["conditions"].items()
        if "ablation" not in document or any("difference" in figure for figure in made["measures"].values())
    ]


def not_compared(document: Json) -> list[str]:
    """Which arms have no row, in a sentence; none where all have."""
    lacking = [name for name in document["conditions"] if name not in compared(document)]
    names = ablation_words.listed(list(map(wording.one_line, lacking)))
    return [f"not in the table, since not asked in both runs: {names}"] if lacking else []


def missing(document: Json) -> Iterator[str]:
    """Which figures there are not, or not of all questions, a sentence each."""
    names = compared(document)
    # Cases are all answerable.
    measures = ("accuracy", "input_tokens") if "ablation" in document else COMPARED
    lacking: dict[tuple[str, int, int, int], list[str]] = {}
    for measure in measures:
        figures = {name: document["conditions"][name]["measures"][measure] for name in names}
        without = {name: figure["unavailable"] for name, figure in figures.items() if "unavailable" in figure}
        if without and len(without) == len(figures):
            yield f"no difference in {_MEASURES[measure]}, since nothing has it in both runs"
        else:
            yield from map(wording.one_line, without.values())
        for name, figure in figures.items():
            if "worst" in figure:
                worst = figure["worst"]
                key = name, worst["missing"], worst["n"], figure["n"]
                lacking.setdefault(key, []).append(_MEASURES[measure])
    asked = "cases" if "ablation" in document else "questions"
    for (name, count, of, used), what in lacking.items():
        yield (
            f"{wording.one_line(name)}: {count:,} of {of:,} {asked} lack trials with {_listed(what)} in one of the "
            f"runs; {used:,} are compared"
        )


def _listed(words: Sequence[str]) -> str:
    return " and ".join([*([", ".join(words[:-1])] if words[1:] else []), words[-1]])


def columns(document: Json) -> list[str]:
    """The conditions that slices are shown under: over blocks not all arms, which are dozens."""
    shown = document["ablation"]["arms"] if "ablation" in document else document["conditions"]
    return [name for name in document["conditions"] if name in shown]


def findings(found: Json, name: Callable[[str], str]) -> tuple[list[str], list[list[str]], list[str]]:
    """What each run found of the blocks, and of the fraction that is needed."""
    rows = []
    for block in found["blocks"]:
        its = [block["first"], block["second"]]
        verdicts = [NONE if one is None else str(one["verdict"]) for one in its]
        drops = [NONE if one is None else ablation_words.drop(one["drop"]) for one in its]
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
        return NONE
    first, second = (form.format(figure[which]) for which in ("first", "second"))
    return first if first == second else f"{first} -> {second}"


def difference(figure: Json, form: str = "{:+z.1f}", scale: float = 100) -> str:
    """A difference with its interval and marks: +2.5 [+1.0, +4.0]*."""
    if "difference" not in figure:
        return NONE
    text = form.format(scale * figure["difference"])
    if figure["low"] is None:
        return f"{text} [no interval]"
    ends = ", ".join(form.format(scale * figure[end]) for end in ("low", "high"))
    return f"{text} [{ends}]{'!' * is_unvaried(figure)}{_mark(figure)}"


def _mark(figure: Json) -> str:
    """Whether the interval excludes 0."""
    low, high = figure["low"], figure["high"]
    return "" if low is None or low <= 0 <= high else "*"


def slices(document: Json, name: Callable[[str], str]) -> Iterator[tuple[str, list[str], list[list[str]]]]:
    """Each slice's name, headings and rows: the difference in accuracy of each of its values by condition."""
    conditions = columns(document)
    for slice_name, values in document["slices"].items():
        rows = []
        for value, made in values.items():
            figures = [made.get(condition, {}).get("accuracy", {}) for condition in conditions]
            if any("difference" in figure for figure in figures):
                number = max(figure.get("n", 0) for figure in figures)
                rows.append([name(value), str(number), *(_short(figure, number) for figure in figures)])
        if rows:
            yield name(slice_name), ["", "n", *map(name, conditions)], rows


def _short(figure: Json, number: int) -> str:
    """A difference with its mark, and its n where that is not the row's."""
    if "difference" not in figure:
        return NONE
    fewer = "" if figure["n"] == number else f" (n={figure['n']})"
    return f"{100 * figure['difference']:+z.1f}{_mark(figure)}{fewer}"
