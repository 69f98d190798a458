"""Numbers and sentences that every text report words alike."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from pytest_tokenbench.figures import is_unvaried
from pytest_tokenbench.measures import LITTLE_ROOM

Json = Mapping[str, Any]
QUICK_NOTICE = "QUICK look: shortened documents (at most four), few questions; not the protocol, its verdicts prove nothing"
ABLATION_QUICK_NOTICE = (
    "QUICK look: few cases, nothing but each block and then all removable ones left out; not the study, its verdicts "
    "prove nothing"
)
_UNVARIED = (
    "! marks what did not vary in this sample, which is not certainty: the interval of a drop is then what so many cases "
    "without a change allow"
)
_NONE = "-"
_NEEDLESS = "not_needed"
_NAMED = 8
_REMARKS = {
    "thinking": "no answer, since the tokens went on thinking",
    "empty": "empty answers",
    "refusal": "refusals",
    "cut": "answers cut at their limit",
}
# Beside control characters what some take for a line's end, and what turns the direction of text.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f]")


def plain(text: str) -> str:
    """Text from outside without control characters, which could steer a terminal."""
    return _CONTROL.sub("\ufffd", text)


def one_line(text: str) -> str:
    """Text from outside, without control characters, on one line."""
    return " ".join(plain(text).split())


def tokens(figure: Json) -> str:
    """A mean number of tokens: 9,512."""
    return f"{figure['estimate']:,.0f}" if "estimate" in figure else _NONE


def share(figure: Json, *, interval: bool = False) -> str:
    """A share in percent, with its interval if wanted: 62% [51, 72]."""
    if "estimate" not in figure:
        return _NONE
    text = f"{100 * figure['estimate']:.0f}%"
    return text + _ends(figure, "{:.0f}") if interval else text


def reduction(figure: Json) -> str:
    """A reduction in percent with one decimal: 93.1%."""
    return f"{100 * figure['estimate']:.1f}%" if "estimate" in figure else _NONE


def points(figure: Json) -> str:
    """A paired difference in percentage points with its interval: -5.0 [-12.5, +2.5]."""
    if "estimate" not in figure:
        return _NONE
    noise = "~" if figure.get("within_churn") else ""
    return f"{100 * figure['estimate']:+z.1f}" + _ends(figure, "{:+z.1f}") + noise


def prefill(made: Json) -> str:
    """Mean seconds of the prompts known to be cold: 3.21 s, with n where those are a part; else why there are none."""
    figure = made["measures"]["prefill_s"]
    trials = figure["trials"]
    if "estimate" in figure:
        whole = not trials["warm"] and not trials["not_told"]
        return f"{figure['estimate']:.2f} s" + ("" if whole else f" (n={figure['n']})")
    if trials["not_told"]:
        return "not verified"
    return "none cold" if trials["warm"] and not trials["cold"] else _NONE


def manner(document: Json) -> str:
    """How the trials were run: cold order, 3 repeats, with nonces."""
    parts = [f"{document['order']} order"]
    parts += [f"{document['repeats']} repeats"] if document["repeats"] > 1 else []
    return ", ".join(parts + (["with nonces"] if document["nonce"] else []))


def _ends(figure: Json, form: str) -> str:
    if figure["low"] is None:
        return " [no interval]"
    flag = "!" if is_unvaried(figure) else ""
    return f" [{form.format(100 * figure['low'])}, {form.format(100 * figure['high'])}]{flag}"


def preparation(made: Json | None) -> str:
    """Preparation tokens per document: 12,345; 0 where nothing is built."""
    if made is None:
        return "0"
    return tokens(made["tokens_per_document"])


def break_even(made: Json) -> str:
    """Questions per document from which on a condition is cheaper than the baseline, or up to which."""
    if "break_even" not in made:
        return "baseline"
    found = made["break_even"]
    if "up_to" in found:
        return f"up to {found['up_to']:,}"
    return "never" if "never" in found else str(found.get("questions_per_document", _NONE))


def evidence(entry: Json) -> str:
    """One number behind a verdict, with interval and n."""
    ends = ""
    if entry["low"] is not None:
        ends = f" [{number(entry['low'])}, {number(entry['high'])}]" + "!" * is_unvaried(entry)
    return f"{entry['measure']} = {number(entry['estimate'])}{ends}, n={entry['n']}"


def number(value: float) -> str:
    """A number of unknown kind, with about four digits: 9,512, 0.4123."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"  # noqa: PLR2004  # as people write them


def verdict(entry: Json) -> str:
    """One hypothesis on one line, without the numbers."""
    reason = f" ({plain(entry['reason'])})" if entry["reason"] and entry["ruling"] != "failed" else ""
    return f"{entry['hypothesis']} {entry['ruling']}{reason}: {plain(entry['statement'])}"


def notices(document: Json) -> list[str]:
    """What to know before anything else: that these are not the whole study's results."""
    found = [quick_notice(document)] if document["quick"] else []
    if document["shard"]:
        found.append(
            f"shard {document['shard']}: a part of the trials; merge the parts before reading anything into it"
        )
    refused = document.get("ablation", {}).get("refused")
    return [*found, f"refused: {one_line(refused)}"] if refused else found


def quick_notice(document: Json) -> str:
    """What a quick look leaves out."""
    return ABLATION_QUICK_NOTICE if "ablation" in document else QUICK_NOTICE


def counts(document: Json) -> str:
    """What was asked about: 8 documents, 80 questions; of an ablation, 80 cases and 20 of the stress slice."""
    its = document.get("ablation")
    if its is None:
        return f"{document['documents']} documents, {document['questions']} questions"
    cases = f"{its['cases']:,} case" + "s" * (its["cases"] != 1)
    return f"{cases} and {its['stress_cases']:,} of the stress slice" if its["stress_cases"] else cases


def notes(document: Json) -> list[str]:
    """What was missing or is doubtful, a sentence each, most serious first."""
    found = [] if document["finished"] else ["this run did not come to its end"]
    found.extend(_course_notes(document["course"]))
    found.append(plain(document["registration"]))
    conditions = document["conditions"]
    untouched = [name for name, made in conditions.items() if not made["statuses"]]
    if untouched:
        found.append(f"not measured: {_named(untouched, document)}")
    found.extend(_needless_notes(document))
    for name, made in conditions.items():
        if name not in untouched:
            found.extend(_missing_notes(name, made, document))
    found.extend(_trial_notes(document))
    found.extend(_room_notes(document))
    found.extend(_prefill_notes(document))
    found.extend(_churn_notes(document))
    for recipe, made in _prepared(document).items():
        found.extend(_preparation_notes(recipe, made))
    if "ablation" in document:
        found.extend([_UNVARIED] if _is_unvaried(document["ablation"]) or _shows_zero_width(document) else [])
    elif _shows_zero_width(document):
        found.append(
            "! marks an interval of zero width: nothing varied in this sample, which is not certainty"
        )
    return found


def _course_notes(course: Json) -> list[str]:
    found = [plain(doubt) for doubt in course["doubts"]]
    if course["torn_lines"]:
        found.append("the last line of a ledger was cut short while it was written, and is left out")
    return found + [
        f"gone on with on {plain(again['time'])}, {_trials(again['reused'])} reused"
        for again in course["resumed"]
    ]


def _named(names: Sequence[str], document: Json) -> str:
    """Names in a row; of arms, which are many, as many as can be read."""
    if "ablation" not in document or len(names) <= _NAMED:
        return ", ".join(names)
    return f"{', '.join(names[:_NAMED])} and {len(names) - _NAMED} more"


def asked(document: Json) -> dict[str, Json]:
    """The conditions without those of which earlier trials made every trial needless: they have no figures."""
    return {
        name: made for name, made in document["conditions"].items() if set(made["statuses"]) != {_NEEDLESS}
    }


def _needless_notes(document: Json) -> list[str]:
    needless = [name for name, made in document["conditions"].items() if _NEEDLESS in made["statuses"]]
    return (
        [f"not asked, since earlier trials made that needless: {_named(needless, document)}"]
        if needless
        else []
    )


def _missing_notes(name: str, made: Json, document: Json) -> list[str]:
    # A shard's other trials are not missing: another part has them.
    reasons = {
        reason: count
        for reason, count in made["missing_trials"].items()
        if reason != _NEEDLESS and not (document["shard"] and reason == "not run")
    }
    if not reasons:
        return []
    return [f"{name}: {_trials(sum(reasons.values()))} missing ({_counted(reasons)})"]


def _trial_notes(document: Json) -> list[str]:
    conditions, course = document["conditions"], document["course"]
    found = []
    for remark, words in _REMARKS.items():
        counted = [
            f"{name} {made['remarks'][remark]} of {made['statuses']['ok']}"
            for name, made in conditions.items()
            if remark in made["remarks"]
        ]
        if counted:
            found.append(f"{words}: {_named(counted, document)}")
    errors = [
        f"{name} {one['trials']} {one['kind']} at {one['host']}"
        for name, its in course["errors"].items()
        for one in its
    ]
    if errors:
        found.append(plain(f"trials that ended in an error: {_named(errors, document)}"))
    retried = [
        f"{name} {its['trials']} ({_counted(its['kinds'])})" for name, its in course["retried"].items()
    ]
    if retried:
        found.append(plain(f"trials that took more than one attempt: {_named(retried, document)}"))
    return found


def _trials(count: int) -> str:
    return f"{count:,} trial" + "s" * (count != 1)


def _counted(reasons: Json) -> str:
    return ", ".join(f"{count} {reason.replace('_', ' ')}" for reason, count in sorted(reasons.items()))


def _room_notes(document: Json) -> list[str]:
    """Where no condition can do much worse, so that an assertion that one does no worse is met by any."""
    # A study over blocks refuses its verdicts by a rule of its own.
    if "ablation" in document:
        return []
    found = []
    name, conditions = document["baseline"], document["conditions"]
    accuracy = conditions[name]["measures"]["accuracy"] if name in conditions else {}
    if accuracy.get("estimate", 1) < LITTLE_ROOM:
        found.append(
            f"{name} is right on {share(accuracy)} of the questions: no condition can lose more points than that, so "
            "that little is lost shows nothing"
        )
    at_the_end = [
        one
        for one, made in conditions.items()
        if made["measures"]["made_up"].get("estimate", 0) > 1 - LITTLE_ROOM
    ]
    if at_the_end:
        found.append(
            f"nearly every unanswerable question got a made-up answer under {', '.join(at_the_end)}: that another "
            "condition makes up no more of them shows nothing"
        )
    return found


def _prefill_notes(document: Json) -> list[str]:
    measured = {
        name: made["measures"]
        for name, made in document["conditions"].items()
        if "estimate" in made["measures"]["input_tokens"]
    }
    shown = {name: made for name, made in measured.items() if "estimate" in made["prefill_s"]}
    unverified = [
        name for name in measured if name not in shown and measured[name]["prefill_s"]["trials"]["not_told"]
    ]
    rest = [name for name in measured if name not in shown and name not in unverified]
    warm = [name for name in rest if measured[name]["prefill_s"]["trials"]["warm"]]
    untimed = [name for name in rest if name not in warm]
    partly = [
        f"{name} {made['prefill_s']['n']} of {made['input_tokens']['n']}"
        for name, made in shown.items()
        if made["prefill_s"]["n"] < made["input_tokens"]["n"]
    ]
    found = []
    if unverified:
        found.append(f"prefill not verified cold and not shown: {_named(unverified, document)}")
    if warm:
        found.append(f"prefill not shown, since a cache had a part of the prompts: {_named(warm, document)}")
    if untimed:
        found.append(f"prefill not told: {_named(untimed, document)}")
    if partly and document["order"] == "shared":
        found.append(f"shared order, prefill from the first of each group only: {_named(partly, document)}")
    elif partly:
        found.append(f"prefill from questions known to be cold only: {_named(partly, document)}")
    if document["nonce"]:
        found.append(
            "a nonce began every prompt, so that none could find its beginning in a cache; it changes the prompt"
        )
    return found


def _churn_notes(document: Json) -> list[str]:
    found = []
    kinds = (("accuracy", "difference"), ("made_up", "difference in made-up answers"))
    # Those of arms would be many, and the churn floor says it once.
    for measure, what in () if "ablation" in document else kinds:
        for name, made in document["conditions"].items():
            figure = made.get("differences", {}).get(measure, {})
            if figure.get("within_churn"):
                found.append(
                    f"{name}: the {what} from {document['baseline']}, {100 * figure['estimate']:+z.1f} points, "
                    f"is within churn ({100 * figure['churn']:.1f} points)"
                )
    if any(
        made.get("differences", {}).get("accuracy", {}).get("within_churn")
        for made in document["conditions"].values()
    ):
        found.append(
            "~ marks a difference within churn: repeats of the same trial differ by more, so it is noise"
        )
    return found


def _preparation_notes(recipe: str, made: Json) -> list[str]:
    found = [f"{recipe} of {document} failed: {plain(reason)}" for document, reason in made["failed"].items()]
    words = {
        "recovered": "recovered from prose",
        "over_budget": "over its word budget",
        "cut": "cut at its token limit",
    }
    for flag, text in words.items():
        documents = [document for document, flags in made["flags"].items() if flag in flags]
        if documents:
            found.append(f"{recipe}: {text} for {len(documents)} of {made['documents']} documents")
    if made["unfaithful_numbers"]:
        found.append(
            f"{recipe}: {made['unfaithful_numbers']:,} of {made['numbers']:,} numbers do not stand in the source"
        )
    return found


def _prepared(document: Json) -> dict[str, Json]:
    """What was built, by recipe; recipes of one name but other options are told apart by their conditions."""
    sharing: dict[tuple[str, str], dict[str, Json]] = {}
    for name, made in document["conditions"].items():
        if made["preparation"]:
            recipe = made["preparation"]["recipe"], repr(made["preparation"]["options"])
            sharing.setdefault(recipe, {})[name] = made["preparation"]
    names = [name for name, _ in sharing]
    return {
        name if names.count(name) == 1 else f"{name} ({', '.join(made)})": next(iter(made.values()))
        for (name, _), made in sharing.items()
    }


def _is_unvaried(found: Any) -> bool:
    """Whether a figure somewhere in what an ablation found did not vary."""
    if isinstance(found, Mapping):
        return bool(found.get("zero_width")) or any(map(_is_unvaried, found.values()))
    return isinstance(found, list) and any(map(_is_unvaried, found))


def _shows_zero_width(document: Json) -> bool:
    for made in document["conditions"].values():
        # Those whose intervals any report shows.
        figures = [made["measures"]["accuracy"]]
        figures += [
            found for measure, found in made.get("differences", {}).items() if measure != "abstention"
        ]
        figures += [
            found for name, found in (made["preparation"] or {}).items() if name.startswith("tokens_")
        ]
        if any(map(is_unvaried, figures)):
            return True
    evidence = [entry for verdict in document["hypotheses"] for entry in verdict["evidence"]]
    return any(map(is_unvaried, evidence))
