"""The hypotheses as cards: sentence, verdict, numbers, and each interval drawn against what was asked of it."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_tokenbench.figures import is_unvaried
from pytest_tokenbench.measures import MEASURES
from pytest_tokenbench.reporting import wording
from pytest_tokenbench.reporting.html import numbers

Json = Mapping[str, Any]
# What `results` calls the numbers that it gives to a hypothesis.
_NAME = re.compile(r"(?P<reduction>reduction of )?(?P<measure>\w+) of \S+(?P<paired> (?:less|versus) \S+)?")
_MEASURES = {"made_up": "made-up answers", "squad_f1": "SQuAD F1", "f1": "F1"}
_SECONDS = "_s"
_TOKENS = ("input_tokens", "output_tokens")
# What an ablation's `results` call theirs begins so.
_DROPS = ("drop under ", "shortfall of ")
_SHARES = ("needed fraction", "oracle fraction", "churn floor", "share of the oracle's saving")
_SIGNS = {"passed": "✓", "failed": "✗", "unavailable": "\N{EN DASH}", "error": "!"}
_ENDS = {"estimate": "estimate ", "low": "lower end ", "high": "upper end "}
_RELATIONS = {">=": "≥", "<=": "≤"}
_MARGIN = 6.0  # percent of a scale on either side of what it shows
_CLOSE = 14.0  # percent between two labels that would touch


@dataclass(frozen=True, slots=True)
class Mark:
    """A line across a scale with its label, at a place in percent; `is_asked` for a threshold, else it is zero."""

    place: float
    label: str
    is_asked: bool
    is_high: bool = False


@dataclass(frozen=True, slots=True)
class Scale:
    """Where an estimate, its interval and the marks stand, in percent of the scale's width."""

    estimate: float
    low: float | None
    high: float | None
    marks: tuple[Mark, ...]


@dataclass(frozen=True, slots=True)
class Number:
    """One number behind a verdict: in words, what was asked of it where that is known, and its scale."""

    label: str
    value: str
    asked: str
    scale: Scale


@dataclass(frozen=True, slots=True)
class Card:
    """One hypothesis."""

    name: str
    ruling: str
    sign: str
    statement: str
    reason: str
    numbers: tuple[Number, ...]


def cards(document: Json) -> list[Card]:
    """One card a hypothesis, in the study's order."""
    return [
        Card(
            name=wording.plain(entry["hypothesis"]),
            ruling=entry["ruling"],
            sign=_SIGNS[entry["ruling"]],
            statement=wording.plain(entry["statement"]),
            # Of one that failed, the reason is pytest's account of the assertion, which the numbers tell better.
            reason=""
            if entry["ruling"] == "failed" and entry["evidence"]
            else wording.plain(entry["reason"]),
            numbers=tuple(_numbers(_once(entry["evidence"]))),
        )
        for entry in document["hypotheses"]
    ]


def _once(evidence: Iterable[Json]) -> list[Json]:
    """Each number once, with all that was asked of it, however often the hypothesis read it."""
    found: dict[str, dict[str, Any]] = {}
    for item in evidence:
        kept = found.setdefault(item["measure"], dict(item) | {"bounds": []})
        kept["bounds"] += [bound for bound in item.get("bounds", ()) if bound not in kept["bounds"]]
    return list(found.values())


@dataclass(frozen=True, slots=True)
class _Unit:
    """How numbers of one kind are told. Those of one kind stand on one scale."""

    name: str

    def told(self, value: float) -> str:
        if self.name == "points":
            return numbers.signed(100 * value)
        if self.name == "%":
            return f"{100 * value:.1f}%".replace("-", "\N{MINUS SIGN}")
        return numbers.plain(value) if not self.name else f"{numbers.plain(value)} {self.name}"


def _unit(measure: str) -> _Unit:
    if measure.startswith((*_DROPS, *_SHARES)):
        return _Unit("points" if measure.startswith(_DROPS) else "%")
    named = _NAME.fullmatch(measure)
    if named is None or named["measure"] not in MEASURES:
        return _Unit("")
    if named["reduction"]:
        return _Unit("%")
    if named["measure"] in _TOKENS:
        return _Unit("tokens")
    if named["measure"].endswith(_SECONDS):
        return _Unit("s")
    return _Unit("points" if named["paired"] else "%")


def _numbers(evidence: Sequence[Json]) -> Iterable[Number]:
    units = [_unit(item["measure"]) for item in evidence]
    for item, unit in zip(evidence, units, strict=True):
        alike = [one for one, its in zip(evidence, units, strict=True) if its == unit]
        value = unit.told(item["estimate"])
        if item["low"] is not None:
            value += f" [{unit.told(item['low'])}, {unit.told(item['high'])}]"
            value += "!" if is_unvaried(item) else ""
        value += " points" if unit.name == "points" else ""
        asked = ", ".join(
            f"{_ENDS[bound['end']]}{_relation(bound)} {unit.told(bound['value'])}" for bound in item["bounds"]
        )
        yield Number(_label(item["measure"]), f"{value}, n = {item['n']:,}", asked, _scale(item, unit, alike))


def _label(measure: str) -> str:
    named = _NAME.fullmatch(measure)
    if named is not None and named["measure"] in MEASURES:
        name = str(named["measure"])
        words = _MEASURES.get(name, name.removesuffix(_SECONDS).replace("_", " "))
        measure = measure.replace(name, words, 1)
    return wording.plain(measure)


def _relation(bound: Json) -> str:
    relation = str(bound["relation"])
    return _RELATIONS.get(relation, relation)


def _scale(item: Json, unit: _Unit, alike: Sequence[Json]) -> Scale:
    """The scale of a number; zero is always on it, and so is all that stands beside."""
    values = [0.0]
    for one in alike:
        values += [one[key] for key in ("estimate", "low", "high") if one[key] is not None]
        values += [bound["value"] for bound in one["bounds"]]
    low, high = min(values), max(values)
    width = (high - low) or 1.0

    def place(value: float) -> float:
        return round(_MARGIN + (100 - 2 * _MARGIN) * (value - low) / width, 2)

    marks = [Mark(place(0.0), "0", is_asked=False)]
    for bound in item["bounds"]:
        where = place(bound["value"])
        if where == marks[0].place:
            marks[0] = Mark(where, "0", is_asked=True)
        else:
            close = abs(where - marks[0].place) < _CLOSE
            marks.append(Mark(where, f"{unit.told(bound['value'])}", is_asked=True, is_high=close))
    ends = [None if item[end] is None else place(item[end]) for end in ("low", "high")]
    return Scale(place(item["estimate"]), ends[0], ends[1], tuple(marks))
