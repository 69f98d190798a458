"""report.md: the terminal's summary as Markdown, with what was run."""

import re
from collections.abc import Mapping
from typing import Any

from pytest_tokenbench.reporting import ablation, costs, preparation, terminal, wording
from pytest_tokenbench.run_folder import RunRecord

Json = Mapping[str, Any]
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~&])")


def escape(text: str) -> str:
    """Text from outside, shown as it is written, on one line."""
    return _SPECIAL.sub(r"\\\1", " ".join(wording.plain(text).split()))


def render(document: Json, record: RunRecord) -> str:
    """The whole report."""
    quick = " (QUICK)" if document["quick"] else ""
    parts = [f"# {escape(record.study)}{quick}: {escape(record.model.name)}"]
    answerable = "" if "ablation" in document else f" ({document['answerable']} answerable)"
    parts.append(f"{wording.counts(document)}{answerable}, {escape(wording.manner(document))}.")
    parts += [f"**{escape(notice)}**" for notice in wording.notices(document)]
    parts += [ablation.markdown(document, escape), "## Arms"] if "ablation" in document else []
    parts.append(terminal.markdown_table(document, escape))
    if preparation.is_there(document):
        parts.append("Tokens for one document, and spread over the questions that were asked of it:")
        parts.append(preparation.markdown(document, escape))
    for entry in document.get("costs", []):
        parts.append(f"{escape(costs.heading(entry, document))}:")
        parts.append(costs.markdown_table(entry, document["baseline"], escape))
    parts.append(_hypotheses(document))
    notes = wording.notes(document) + costs.notes(ablation.few_costs(document))
    parts.append("## Missing or doubtful\n\n" + "\n".join(f"- {escape(note)}" for note in notes))
    parts.append(_what_was_run(record))
    return "\n\n".join(parts) + "\n"


def _hypotheses(document: Json) -> str:
    if not document["hypotheses"]:
        return "## Hypotheses\n\nNone was judged."
    lines = ["## Hypotheses", ""]
    for entry in document["hypotheses"]:
        lines.append(f"- **{escape(entry['hypothesis'])} {entry['ruling']}**: {escape(entry['statement'])}")
        if entry["reason"]:
            lines.append(f"  - {escape(entry['reason'])}")
        lines += [f"  - {escape(wording.evidence(item))}" for item in entry["evidence"]]
    return "\n".join(lines)


def _what_was_run(record: RunRecord) -> str:
    model = record.model
    facts = (
        {
            "model": f"{model.name} ({model.digest or 'digest not told'})",
            "backend": f"{model.backend} {model.server_version or ''}".strip(),
            "quantization": model.quantization,
            "parameters": model.parameter_size,
            "window": "not told" if model.window is None else f"{model.window:,} tokens",
            "extension": model.extension,
            "hosts": ", ".join(one.host for one in (record.hosts or (model,)) if one.host),
            "started": record.started,
            "finished": record.finished,
            "commit": record.commit,
        }
        | record.machine
        | record.hashes
    )
    lines = [f"- {escape(name)}: {escape(str(value))}" for name, value in facts.items() if value]
    return "## What was run\n\n" + "\n".join(lines)
