"""A shadow comparison as text: for a terminal, and as Markdown."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from pytest_tokenbench.figures import is_unvaried
from pytest_tokenbench.reporting import ablation_words, wording
from pytest_tokenbench.reporting.markdown import escape
from pytest_tokenbench.reporting.sections import Table
from pytest_tokenbench.reporting.terminal import wrapped

Json = Mapping[str, Any]
Line = tuple[str, dict[str, bool]]
# Values of a slice, and changed answers, that a terminal is shown.
MOST = 20
_LONGEST_ANSWER = 60
_REMARKS = {
    "thinking": "had no answer, since the tokens went on thinking",
    "empty": "were empty",
    "refusal": "were refusals",
}


def as_text(document: Json) -> str:
    """The content of shadow.json."""
    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def summary(document: Json, width: int) -> list[Line]:
    """The lines for a terminal in order, each with its markup for pytest's terminal writer."""
    lines = [(part, {"bold": True}) for part in wrapped(_heading(document), width)]
    for warning in _warnings(document):
        lines += [
            (part, {"yellow": True}) for part in wrapped(f"warning: {wording.one_line(warning)}", width)
        ]
    lines += [("", {}), *_table(_answers(document), width)]
    lines += [(part, {}) for part in wrapped(_tokens(document), width)]
    for kind, table in _slices(document):
        lines += [("", {}), *((part, {}) for part in wrapped(f"by {wording.one_line(kind)}", width))]
        lines += _table(Table(table.headings, table.rows[:MOST]), width)
        lines += _more(len(table.rows) - MOST)
    changes = document["changes"]
    lines += [("", {})] if changes else []
    for change in changes[:MOST]:
        lines += [(part, {}) for part in wrapped(_change(change, wording.one_line), width)]
    lines += _more(len(changes) - MOST)
    lines.append(("", {}))
    for note in _notes(document):
        lines += [(part, {}) for part in wrapped(f"note: {wording.one_line(note)}", width)]
    return lines


def markdown(document: Json) -> str:
    """The whole comparison as Markdown."""
    parts = ["# Shadow comparison", f"{escape(_heading(document))}."]
    parts += ["\n".join(f"- **{escape(one)}**" for one in _warnings(document))] if _warnings(document) else []
    parts += [_answers(document).markdown(escape), f"{escape(_tokens(document))}."]
    for kind, table in _slices(document):
        parts += [f"## By {escape(kind)}", table.markdown(escape)]
    parts.append("## Answers that changed")
    listed = "\n".join(f"- {_change(change, escape)}" for change in document["changes"])
    parts.append(listed or "None.")
    parts += ["## Notes", "\n".join(f"- {escape(note)}" for note in _notes(document))]
    return "\n\n".join(parts) + "\n"


def _heading(document: Json) -> str:
    count = ablation_words.many(document["requests"]["count"], "real request")
    model = document["model"]
    return (
        f"{document['run']} ({document['study']}): {count} to {model['name']} ({model['backend']}), with every block and "
        f"without {ablation_words.left_out(document['left_out'])}"
    )


def _warnings(document: Json) -> list[str]:
    found = list(document["warnings"])
    left = document["not_asked"]
    if left:
        found.append(f"{ablation_words.many(left, 'request')} not asked yet")
    return found


def _table(table: Table, width: int) -> Iterator[Line]:
    return ((line, {}) for line in table.fitted(width).splitlines())


def _more(rest: int) -> list[Line]:
    return [(f"and {rest:,} more, which shadow.md has", {})] if rest > 0 else []


def _answers(document: Json) -> Table:
    """What became of all requests."""
    over, errors = document["over_window"], document["errors"]
    rows = [
        ("answered both ways", f"{document['compared']:,}", ""),
        ("answer changed", *_counted(document["changed"])),
        ("changed byte for byte", *_counted(document["changed_bytes"])),
        ("a prompt over the window", f"{over['requests']:,}", ""),
        ("ended in an error", f"{errors['requests']:,}", ""),
    ]
    return Table(("", "requests", "share [95%]"), tuple(rows))


def _counted(made: Json) -> tuple[str, str]:
    return f"{made['requests']:,}", wording.share(made["share"], interval=True)


def _tokens(document: Json) -> str:
    made = document["tokens"]
    if "unavailable" in made["saved"]:
        return f"tokens: {made['saved']['unavailable']}"
    sums = made["sums"]
    return (
        f"tokens per request: {wording.tokens(made['full'])} full, {wording.tokens(made['reduced'])} reduced; "
        f"{ablation_words.percent(made['saved'])} less "
        f"({sums['full']:,} and {sums['reduced']:,} over {ablation_words.many(made['full']['n'], 'request')})"
    )


def _slices(document: Json) -> Iterator[tuple[str, Table]]:
    """Each kind of slice with its values, those with the most changed answers first."""
    for kind, values in document["slices"].items():
        rows = [
            (
                value,
                f"{made['requests']:,}",
                f"{made['changed']:,}",
                wording.share(made["share"], interval=True),
            )
            for value, made in sorted(values.items(), key=lambda one: (-one[1]["changed"], one[0]))
        ]
        yield kind, Table(("", "requests", "changed", "share [95%]"), tuple(rows))


def _change(change: Json, name: Callable[[str], str]) -> str:
    full, reduced = (f'"{name(_short(answer))}"' for answer in change["answers"])
    its = ablation_words.slices(change["slices"])
    return f"{name(change['request'])}{f' ({name(its)})' if its else ''}: {full} -> {reduced}"


def _short(answer: str) -> str:
    shown = wording.one_line(answer)
    return shown[: _LONGEST_ANSWER - 1] + "…" if len(shown) > _LONGEST_ANSWER else shown


def _notes(document: Json) -> list[str]:
    found = [document["claim"], *_missing(document)]
    same = document["same_prompt"]
    if same["requests"]:
        has = "has" if same["requests"] == 1 else "have"
        found.append(
            f"{ablation_words.many(same['requests'], 'request')} {has} nothing of what is left out, so that both prompts "
            f"are the same; {same['changed']:,} of these answers changed, which is what the model varies by itself"
        )
    found += _remarks(document["remarks"], document["answer_tokens"])
    figures = [document["changed"]["share"], document["changed_bytes"]["share"]]
    figures += [made["share"] for values in document["slices"].values() for made in values.values()]
    if any(map(is_unvaried, figures)):
        found.append(
            "! marks a share that did not vary: its interval is what so many requests without an exception allow"
        )
    found.append("this folder has the answers to real requests; look at them before it is passed on")
    return found


def _missing(document: Json) -> Iterator[str]:
    """Requests that were not compared."""
    over, errors = document["over_window"], document["errors"]
    if over["requests"]:
        yield (
            f"over the window, and not compared: {over['full']:,} full and {over['reduced']:,} reduced "
            f"prompts of {ablation_words.many(over['requests'], 'request')}"
        )
    if errors["requests"]:
        kinds = ", ".join(f"{count:,} {kind.replace('_', ' ')}" for kind, count in errors["kinds"].items())
        yield (
            f"ended in an error, and not compared: {ablation_words.many(errors['requests'], 'request')} ({kinds}); "
            "--into with this folder asks them again"
        )


def _remarks(remarks: Json, limit: int) -> Iterator[str]:
    """What was out of the ordinary in answers that were compared."""
    kinds: Sequence[str] = list(dict.fromkeys(kind for its in remarks.values() for kind in its))
    for kind in kinds:
        counts = " and ".join(f"{its.get(kind, 0):,} {side}" for side, its in remarks.items())
        words = _REMARKS.get(
            kind, f"were cut at {limit} tokens, and what might have come after is not compared"
        )
        yield f"{counts} answers {words}"
