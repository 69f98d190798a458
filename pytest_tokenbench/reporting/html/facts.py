"""What was run, fact by fact, and what the numbers cannot tell."""

from collections.abc import Mapping
from typing import Any

from pytest_tokenbench import prompting
from pytest_tokenbench.records import ModelInfo
from pytest_tokenbench.reporting import wording
from pytest_tokenbench.run_folder import RunRecord
from pytest_tokenbench.statistics import is_one_point

Json = Mapping[str, Any]
Facts = dict[str, str]
_PROMPT = "prompt "
_CLUSTERED = (
    "Questions on one document are not independent. Thin lines show the interval with documents as the sampling unit; "
    "intervals over questions say nothing of other documents."
)
_SCORED = (
    "An answer is right if it contains a gold answer: one that says something wrong besides is counted right, and one "
    "phrased as no alias foresees is counted wrong."
)
_MANY = "Slices and documents are many, and some differ by chance alone: they show where to look, and prove nothing."
_OF_ARMS = (
    "What is removable on this set may be needed for what the set does not ask: a cut is a proposal to be tried there.",
    "Arms and slices are many, and some differ by chance alone: they show where to look, and prove nothing.",
)


def groups(record: RunRecord) -> dict[str, Facts]:
    """What was run, in groups; a fact that is not known is left out."""
    made = {"Run": _run(record)}
    models = record.hosts or (record.model,)
    for number, model in enumerate(models, 1):
        made["Model" if len(models) == 1 else f"Model, host {number}"] = _model(model)
    made["Conditions"] = {name: _listed(its) for name, its in record.condition_options.items()}
    made["Machine"] = dict(record.machine)
    made["Registration"] = {str(one.get("path", "")): _registered(one) for one in record.registered}
    made["SHA-256"] = dict(record.hashes)
    return {
        title: {wording.plain(name): wording.plain(value) for name, value in facts.items() if value}
        for title, facts in made.items()
        if any(facts.values())
    }


def _run(record: RunRecord) -> Facts:
    return {
        "study": record.study,
        "file": record.study_file,
        "started": record.started,
        "finished": record.finished or "not finished",
        "gone on with": ", ".join(record.resumed),
        "trials": f"{record.scheduled:,}",
        "order": record.order,
        "repeats": str(record.repeats) if record.repeats > 1 else "",
        "nonce": "before every prompt" if record.nonce else "",
        "shard": record.shard or "",
        "commit": record.commit or "",
    }


def _model(model: ModelInfo) -> Facts:
    return {
        "name": model.name,
        "digest": model.digest or "not told",
        "backend": model.backend,
        "server": model.server_version or "not told",
        "host": model.host or "",
        "family": model.family or "",
        "parameters": model.parameter_size or "",
        "quantization": model.quantization or "",
        "window": "not told" if model.window is None else f"{model.window:,} tokens",
        "trained for": "" if model.trained_window is None else f"{model.trained_window:,} tokens",
        "extension": model.extension or "",
        "options": _listed(model.options),
        "engine": _listed(model.engine),
    }


def _registered(one: Mapping[str, Any]) -> str:
    if not one.get("commit"):
        return "not committed"
    state = "" if one.get("clean") else ", changed since"
    return f"last changed in {one['commit']} of {one.get('committed') or 'unknown date'}{state}"


def _listed(options: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {_value(value)}" for name, value in options.items() if value is not None)


def _value(value: Any) -> str:
    """A value as JSON has it, but for quotes and brackets."""
    if isinstance(value, Mapping):
        return _listed(value) or "none"
    if isinstance(value, list | tuple):
        return " ".join(map(_value, value)) or "none"
    return str(value).lower() if isinstance(value, bool) else "none" if value is None else str(value)


def prompts(record: RunRecord) -> dict[str, str]:
    """The texts of the prompts, by name, as far as this version still has those that the run was made with."""
    found = {}
    for name, sha256 in record.hashes.items():
        if name.startswith(_PROMPT):
            short = name.removeprefix(_PROMPT)
            try:
                if prompting.sha256(short) == sha256:
                    found[wording.plain(short)] = prompting.template(short)
            except (OSError, ValueError):
                continue
    return found


def limitations(document: Json) -> list[str]:
    """What the numbers cannot tell, a sentence each."""
    found = []
    ends = {
        name: (figure["low"], figure["high"])
        for name, made in document["conditions"].items()
        if (figure := made.get("differences", {}).get("accuracy", {})).get("low") is not None
    }
    unvaried = [name for name, its in ends.items() if is_one_point(*its)]
    widths = [100 * (high - low) / 2 for name, (low, high) in ends.items() if name not in unvaried]
    ablation = document.get("ablation")
    asked = f"{document['answerable']:,} answerable questions in {document['documents']:,} documents"
    if ablation is not None:
        asked = f"{ablation['cases']:,} cases"
    asked_of = "documents and such questions" if ablation is None else "cases and others like them"
    if widths:
        found.append(
            f"With {asked}, "
            f"differences in accuracy are known to about ±{max(widths):.0f} points where they are known least: "
            "smaller ones cannot be told from none."
        )
    if unvaried:
        found.append(
            f"The difference in accuracy is the same on every question under {wording.plain(', '.join(unvaried))}: how far it is "
            "known cannot be told."
        )
    model = wording.plain(document["model"]["name"])
    found += [
        *((_CLUSTERED, _SCORED, _MANY) if ablation is None else (_SCORED, *_OF_ARMS)),
        f"All of it is said of {model} with these prompts, of these {asked_of}.",
    ]
    if document["repeats"] == 1 and (ablation is None or "unavailable" in ablation["churn_floor"]):
        found.append("Each trial was run once: how much answers vary from one run to the next is not known.")
    if document["quick"]:
        found.append(wording.quick_notice(document) + ".")
    return found
