"""Figures and verdicts of an ablation as every report words them."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pytest_tokenbench.figures import is_unvaried
from pytest_tokenbench.reporting import wording

Json = Mapping[str, Any]
NONE = "-"
_VERDICTS = {"removable": "removable on this set", "undecided": "undecided at this n"}
_UNIT = re.compile(r"(?P<block>.+)/(?P<number>[1-9][0-9]*)")
_NAMED = 12


def many(count: int, what: str) -> str:
    """A count of something: 1 case, 2 cases."""
    return f"{count:,} {what}" + "s" * (count != 1)


def points(share: float) -> str:
    """A share as percentage points, with one decimal."""
    return f"{100 * share:z.1f}"


def drop(figure: Json) -> str:
    """What is lost in points, with its interval: 12.5 [5.0, 20.0]. A gain has a minus."""
    return _with_ends(figure, points)


def percent(figure: Json) -> str:
    """A share in percent with one decimal and its interval: 31.4% [29.0, 34.1]."""
    return _with_ends(figure, points, "%")


def number(figure: Json) -> str:
    """A figure with one decimal and its interval: 45.0 [33.1, 57.0]."""
    return _with_ends(figure, lambda value: f"{value:z,.1f}")


def seconds(figure: Json) -> str:
    """Seconds: 0.42 s."""
    return f"{figure['estimate']:z.2f} s" if "estimate" in figure else NONE


def share(value: float | None) -> str:
    """A share in whole percent, a dash where it is not known."""
    return NONE if value is None else f"{100 * value:.0f}%"


def _with_ends(figure: Json, form: Any, sign: str = "") -> str:
    if "estimate" not in figure:
        return NONE
    text = f"{form(figure['estimate'])}{sign}"
    if figure["low"] is None:
        return f"{text} [no interval]"
    flag = "!" if is_unvaried(figure) else ""
    return f"{text} [{form(figure['low'])}, {form(figure['high'])}]{flag}"


def verdict(made: Json) -> str:
    """A verdict; one that is undecided comes with the number of cases that would decide."""
    told = str(made["verdict"])
    if told != "undecided":
        return _VERDICTS.get(told, told)
    if "estimate" in made.get("drop", {}) and made["drop"]["low"] is None:
        return "undecided (no interval)"
    decides = made["n_to_decide"]
    return f"{_VERDICTS[told]} ({f'n={decides:,}' if decides else 'no n decides'})"


def reweighted_verdict(of: Json) -> str | None:
    """The verdict with production's shares of slices, None where there is none."""
    told = of["reweighted_verdict"]
    if told is None:
        return None
    made = {
        "verdict": told,
        "n_to_decide": of["reweighted_n_to_decide"],
        "drop": of.get("reweighted_drop", {}),
    }
    return verdict(made).removesuffix(" on this set")


def in_production(made: Json) -> str:
    """The same as a sentence that goes on after others, empty where there is none."""
    told = reweighted_verdict(made)
    return "" if told is None else f"; {told} with production's shares of slices"


def stress(made: Json) -> str:
    """How it does on the stress slice as a sentence that goes on after others, empty where there is none."""
    if made["clears_stress"] is None:
        why = made["stress_note"]
        return "" if why is None else f"; not known to clear the stress slice: {wording.one_line(why)}"
    return "; clears the stress slice" if made["clears_stress"] else "; does not clear the stress slice"


def beside(its: Sequence[Json]) -> dict[str, str]:
    """The columns beside a drop that have a figure in any of these, by heading the key."""
    return {
        heading: key
        for heading, key in (("stress drop", "stress_drop"), ("re-weighted drop", "reweighted_drop"))
        if any("estimate" in one[key] for one in its)
    }


def left_out(names: Sequence[str]) -> str:
    """Blocks and units in few words: tail, examples/1-3, examples/5."""
    runs: list[tuple[str, int, int] | str] = []
    for name in names:
        found = _UNIT.fullmatch(name)
        if found is None:
            runs.append(name)
            continue
        block, place = found["block"], int(found["number"])
        last = runs[-1] if runs else ""
        if isinstance(last, tuple) and last[0] == block and last[2] == place - 1:
            runs[-1] = (block, last[1], place)
        else:
            runs.append((block, place, place))
    return ", ".join(one if isinstance(one, str) else _run(*one) for one in runs)


def _run(block: str, first: int, last: int) -> str:
    return f"{block}/{first}" if first == last else f"{block}/{first}-{last}"


def listed(names: Sequence[str]) -> str:
    """Names in a sentence, no more of them than can be read there."""
    shown = ", ".join(names[:_NAMED])
    rest = len(names) - _NAMED
    return f"{shown} and {rest} more" if rest > 0 else shown


def slices(its: Mapping[str, Any]) -> str:
    """The slices of a case, or how many cases each has: turn multi_turn, category billing."""
    parts = []
    for kind, value in its.items():
        if isinstance(value, Mapping):
            parts.append(f"{kind}: " + ", ".join(f"{name} {count}" for name, count in value.items()))
        else:
            parts.append(f"{kind} {value}")
    return "; ".join(parts)


def absent(what: str, figures: Iterable[tuple[str, Json]]) -> list[str]:
    """Why figures are missing, a sentence for each reason; all of them are named as one where all have the same."""
    reasons: dict[str, list[str]] = {}
    total = 0
    for name, figure in figures:
        total += 1
        if "estimate" not in figure:
            reasons.setdefault(wording.one_line(figure["unavailable"]), []).append(name)
    return [
        f"{what} not known{'' if len(names) == total else f' of {listed(names)}'}: {reason}"
        for reason, names in reasons.items()
    ]
