"""The page: what all parts of it show, put into its template with its style, its script and its data."""

import base64
import json
import re
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from markupsafe import Markup

from pytest_tokenbench.reporting import costs, terminal, wording
from pytest_tokenbench.reporting import preparation as prepared
from pytest_tokenbench.reporting.ablation import few_costs
from pytest_tokenbench.reporting.document import results_of
from pytest_tokenbench.reporting.html import (
    ablation,
    facts,
    forest,
    frame,
    preparation,
    slices,
    tradeoff,
    trials,
    verdicts,
)
from pytest_tokenbench.reporting.html.slices import Panel
from pytest_tokenbench.reporting.html.tables import Table, shown
from pytest_tokenbench.results import Results
from pytest_tokenbench.run_folder import Run

Json = Mapping[str, Any]
# What could end a script element, begin a comment in it, or end a line of it.
_UNSAFE = re.compile("[<>&\u2028\u2029]")


def render(document: Json, run: Run, contexts: Mapping[str, str]) -> str:
    """The page of a run, whole: it asks for nothing from outside. `contexts` are the texts sent, by SHA-256.

    The same run gives the same page.
    """
    found = trials.data(run, contexts)
    lacking = sum(one["lines"] is None for one in found["contexts"])
    kept = {name: found.pop(name) for name in ("lines", "units", "contexts")}
    results = results_of(run)
    notes = wording.notes(document) + costs.notes(few_costs(document))
    if lacking:
        notes.append(
            f"the texts of {lacking:,} of {len(kept['contexts']):,} contexts are not in the run's folder and are not shown"
        )
    return frame.page(
        "report.html.j2",
        f"{run.record.study}: {run.record.model.name}",
        document=document,
        run=run,
        manner=wording.manner(document),
        counts=_counts(document),
        notices=wording.notices(document),
        cards=verdicts.cards(document),
        tables=[_conditions(document), *_costs(document)],
        disagreements=trials.disagreements(run, wording.asked(document)),
        choices=_choices(run),
        **(_of_arms if "ablation" in document else _of_conditions)(document, results),
        groups=facts.groups(run.record),
        prompts=facts.prompts(run.record),
        notes=notes,
        limitations=facts.limitations(document),
        trials=embedded(found),
        contexts=packed(kept),
    )


def _of_conditions(document: Json, results: Results) -> Json:
    """What is shown of ways to give a document."""
    return {
        "needed": None,
        "tradeoffs": tradeoff.plots(document),
        "forests": forest.plots(document),
        "prepared": preparation.plot(document),
        "breaks": _breaks(document),
        "slices": slices.by_slice(results),
        "documents": slices.by_document(results),
    }


def _of_arms(document: Json, results: Results) -> Json:
    """What is shown of arms, which build nothing and whose documents are the cases themselves."""
    return {
        "needed": {"parts": ablation.parts(document), "lost": ablation.lost(document)},
        "slices": {
            kind: [_of_main_arms(panel, document) for panel in panels]
            for kind, panels in slices.by_slice(results).items()
        },
        "documents": [],
    }


def _of_main_arms(panel: Panel, document: Json) -> Panel:
    """A panel without the many arms that take a block apart."""
    blocks = [block["name"] for block in document["ablation"]["blocks"]]
    wanted = (document["baseline"], *(f"no-{name}" for name in blocks), "composed")
    return replace(panel, levels=tuple(level for level in panel.levels if level.condition in wanted))


def _counts(document: Json) -> str:
    if "ablation" in document:
        return wording.counts(document)
    documents = document["documents"]
    return (
        f"{document['questions']:,} questions ({document['answerable']:,} answerable) on "
        f"{documents:,} document{'' if documents == 1 else 's'}"
    )


def embedded(value: Any) -> Markup:
    """A value as JSON that can stand in a script element, whatever its texts hold."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return Markup(_UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text))  # noqa: S704  # nothing is left


def packed(value: Any) -> str:
    """A value as JSON, packed: what is large, and wanted only when a trial is opened."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return base64.b64encode(zlib.compress(text.encode())).decode()


def _conditions(document: Json) -> Table:
    columns = terminal.columns(document, wording.one_line(document["baseline"]))
    rows = tuple(
        (name, *(shown(cell(made)) for _, cell in columns)) for name, made in wording.asked(document).items()
    )
    what = "arm" if "ablation" in document else "condition"
    return Table(f"Each {what}'s figures", (what, *(heading for heading, _ in columns)), rows)


def _costs(document: Json) -> Iterator[Table]:
    for entry in document.get("costs", []):
        rows = []
        for name, made in entry["conditions"].items():
            asked, prepared = made["per_question"].get("estimate"), made["preparation"].get("per_question")
            rows.append((name, *_amounts(asked, prepared)))
            if name == document["baseline"]:
                cached = entry["with_prompt_caching"].get("estimate")
                rows.append((f"{name}, cached", *_amounts(cached, prepared)))
        headings = ("condition", "questions", "preparation", "together")
        yield Table(costs.heading(entry, document), headings, tuple(rows))


def _amounts(asked: float | None, prepared: float | None) -> tuple[str, ...]:
    together = None if asked is None or prepared is None else asked + prepared
    found = (None if amount is None else amount * costs.QUESTIONS for amount in (asked, prepared, together))
    return tuple("\N{EN DASH}" if amount is None else f"{amount:,.4f}" if amount else "0" for amount in found)


def _breaks(document: Json) -> Table:
    rows = tuple((name, *map(shown, prepared.row(made))) for name, made in document["conditions"].items())
    return Table("Tokens for one document", ("condition", *prepared.HEADINGS), rows)


def _choices(run: Run) -> dict[str, list[str]]:
    """What the trials can be filtered by, as far as there is something to choose."""
    questions = run.record.questions
    pairs = sorted({(kind, value) for question in questions for kind, value in question.slices.items()})
    documents = dict.fromkeys(question.document for question in questions)
    # A case is a document of its own, and the search finds it.
    is_told = any(question.document != question.id for question in questions)
    return {
        "document": list(documents) if is_told else [],
        "slice": [f"{kind}: {value}" for kind, value in pairs],
    }
