"""compare.html: two runs of a study side by side, as a page."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from pytest_tokenbench.gates import Gate
from pytest_tokenbench.reporting import ablation_words, wording
from pytest_tokenbench.reporting import comparison_tables as compared
from pytest_tokenbench.reporting.html import forest, frame
from pytest_tokenbench.reporting.html.drawing import Plot
from pytest_tokenbench.reporting.html.tables import Table, shown

Json = Mapping[str, Any]
_BETWEEN = ("first", "second")
_OUTCOMES = {"correct": "right", "wrong": "wrong", "abstained": "abstained", "made_up": "made up"}


@dataclass(frozen=True, slots=True)
class Outcome:
    """A gate, whether it is passed, and the sentence that tells why."""

    name: str
    is_passed: bool
    reason: str


@dataclass(frozen=True, slots=True)
class Change:
    """How one condition's answer to a question changed: the answers of each run, and what they were worth."""

    condition: str
    change: str
    outcomes: tuple[str, str]
    answers: tuple[tuple[str, ...], tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Changed:
    """A question whose answers changed, with all that is told of it beside."""

    text: str
    golds: tuple[str, ...]
    about: str
    changes: tuple[Change, ...]


def render(document: Json, gates: Sequence[Gate] = ()) -> str:
    """The page of a comparison, whole: it asks for nothing from outside. `document` is the content of compare.json."""
    studies = dict.fromkeys(document[which]["study"] for which in _BETWEEN)
    return frame.page(
        "compare.html.j2",
        f"{' and '.join(studies)}: two runs compared",
        document=document,
        heading=compared.heading(document),
        runs=[_run(document[which]) for which in _BETWEEN],
        only_in=[_sentence(one) for one in _only_in(document)],
        gates=[_outcome(gate, document) for gate in gates],
        findings=_findings(document),
        table=_conditions(document),
        legend=_sentence(compared.legend(document)),
        mark=_sentence(compared.MARK),
        notes=[_sentence(note) for note in (*compared.not_compared(document), *compared.missing(document))],
        forests=list(_forests(document)),
        slices=list(_slices(document)),
        changes=list(_changed(document["changes"])),
        rewordings=list(_changed(document["rewordings"])),
    )


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


# What is compared


def _run(run: Json) -> dict[str, str]:
    return {
        "run": run["name"],
        "study": run["study"],
        "started": run["started"],
        "came to its end": "yes" if run["finished"] else "no",
        "model": run["model"],
        "digest": run["digest"] or "not told",
        "backend": run["backend"],
        "server": run["server_version"] or "not told",
        "order": run["order"],
    } | ({"quick look": "yes"} if run["quick"] else {})


def _only_in(document: Json) -> Iterator[str]:
    what = "arms" if "ablation" in document else "conditions"
    for which, names in document["only_in"].items():
        if names:
            yield f"{what} that only the {which} run has: {ablation_words.listed(names)}"


def _outcome(gate: Gate, document: Json) -> Outcome:
    failure = gate.failure(dict(document))
    if failure is not None:
        return Outcome(str(gate), is_passed=False, reason=failure)
    figure = document["conditions"][gate.condition]["measures"][gate.measure]
    is_tokens = gate.measure == "input_tokens"
    told = compared.difference(figure, "{:+,.0f}", 1) if is_tokens else compared.difference(figure)
    reason = (
        f"{gate.measure} of {gate.condition}: {shown(told)} {'tokens' if is_tokens else 'points'} (n={figure['n']:,}), no "
        f"loss of more than {gate.most:g}{'%' if is_tokens else ' points'} beyond noise"
    )
    return Outcome(str(gate), is_passed=True, reason=reason)


# The figures


def _conditions(document: Json) -> Table:
    headings, rows = compared.cells(document, wording.one_line)
    what = "arm" if "ablation" in document else "condition"
    # Where a column says nothing, a sentence below the table does.
    kept = [place for place in range(1, len(headings)) if any(row[place] != compared.NONE for row in rows)]
    return _table(
        f"Each {what} in both runs",
        [what, *(headings[place] for place in kept)],
        [[row[0], *(row[place] for place in kept)] for row in rows],
    )


def _table(
    caption: str, headings: Iterable[str], rows: Iterable[Sequence[str]], words: tuple[str, ...] = ()
) -> Table:
    made = tuple(
        (row[0], *(shown(cell.replace("->", "\N{RIGHTWARDS ARROW}")) for cell in row[1:])) for row in rows
    )
    return Table(caption, tuple(headings), made, words)


def _findings(document: Json) -> Json | None:
    if "ablation" not in document:
        return None
    headings, rows, sentences = compared.findings(document["ablation"], wording.one_line)
    caption = "What each run found of the blocks"
    return {"table": _table(caption, headings, rows, _BETWEEN), "sentences": sentences}


def _forests(document: Json) -> Iterator[Plot]:
    """The differences of what a condition, over blocks an arm, is mainly judged by."""
    measures = ("accuracy",) if "ablation" in document else ("accuracy", "made_up")
    for measure in measures:
        title = forest.SHOWN[measure]
        heading = f"{title}: points from the first run to the second"
        figures = {
            name: document["conditions"][name]["measures"][measure] for name in compared.columns(document)
        }
        rows = {
            wording.one_line(name): figure | {"estimate": figure["difference"], "by_document": {}}
            for name, figure in figures.items()
            if "difference" in figure
        }
        if not rows:
            yield Plot(heading, None, f"Not drawn: {title.lower()}, since nothing has it in both runs.")
            continue
        absent = [name for name, figure in figures.items() if "difference" not in figure]
        note = (
            f"Not in the plot, since not measured in both runs: {ablation_words.listed(absent)}."
            if absent
            else ""
        )
        yield Plot(heading, forest.drawn(measure, heading, rows), note)


def _slices(document: Json) -> Iterator[Table]:
    for name, headings, rows in compared.slices(document, wording.one_line):
        yield _table(f"Accuracy by {name}, in points", [name, *headings[1:]], rows)


# The answers


def _changed(changes: Iterable[Json]) -> Iterator[Changed]:
    ordered = sorted(changes, key=lambda one: (one["document"], one["question"]))
    for _, its in groupby(ordered, key=lambda one: one["question"]):
        found = list(its)
        first = found[0]
        told = [first["question"]]
        # A case is a document of its own.
        told += [] if first["document"] == first["question"] else [f"document {first['document']}"]
        told += [f"{kind.replace('_', ' ')} {value}" for kind, value in first["slices"].items()]
        yield Changed(
            first["text"], tuple(dict.fromkeys(first["golds"])), " · ".join(told), tuple(map(_change, found))
        )


def _change(change: Json) -> Change:
    were, are = (tuple(_answers(answers)) for answers in change["answers"])
    return Change(
        change["condition"],
        change["change"],
        (_OUTCOMES[change["from"]], _OUTCOMES[change["to"]]),
        (were, are),
    )


def _answers(answers: Iterable[str]) -> Iterator[str]:
    """The answers of a trial's repeats, the same ones once."""
    return (answer or "(no answer)" for answer in dict.fromkeys(answers))
