"""What 1,000 questions cost, as a table for each table of prices."""

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from pytest_tokenbench.reporting import tables, wording

Json = Mapping[str, Any]
QUESTIONS = 1_000
_NONE = "-"
_HEADINGS = ("", "questions", "preparation", "together")
_DROPPED = ("preparation", "questions")


def heading(costs: Json, document: Json) -> str:
    """What the table shows and at which prices, on one line."""
    price = costs["price"]
    rates = [f"input {price['input']:g}"]
    if price["cached_input"] is not None:
        rates.append(f"cached {price['cached_input']:g}")
    rates.append(f"output {price['output']:g}")
    source = f"; {price['source']}" if price["source"] else ""
    text = f"Cost per 1,000 questions in {price['currency']}, {price['name']}: {', '.join(rates)} per million tokens"
    each = document["questions"] / document["documents"]
    built = any(made["preparation"].get("per_question") for made in costs["conditions"].values())
    spread = f"; preparation spread over {each:.3g} questions a document" if built else ""
    return wording.plain(f"{text}{source}{spread}")


def table(costs: Json, baseline: str, width: int = 80) -> str:
    """A row for each condition, the baseline's with prompt caching after its own, in `width` columns."""
    return tables.fitted(_HEADINGS, _cells(costs, baseline, wording.one_line), _DROPPED, width)


def markdown_table(costs: Json, baseline: str, name: Callable[[str], str]) -> str:
    """The table with every column, as Markdown. `name` makes text from outside fit to be shown."""
    return tables.render(_HEADINGS, _cells(costs, baseline, name), style="github")


def _cells(costs: Json, baseline: str, name: Callable[[str], str]) -> list[list[str]]:
    rows = list(_rows(costs, baseline))
    amounts = [amount for _, *its in rows for amount in its if amount]
    # So many decimals that the smallest amount shows three digits.
    decimals = min(6, max(2, 2 - math.floor(math.log10(min(amounts))))) if amounts else 2
    return [[name(row), *(_amount(amount, decimals) for amount in its)] for row, *its in rows]


def _amount(amount: float | None, decimals: int) -> str:
    return _NONE if amount is None else f"{amount:,.{decimals}f}" if amount else "0"


def _rows(costs: Json, baseline: str) -> Iterator[tuple[str, float | None, float | None, float | None]]:
    for name, made in costs["conditions"].items():
        asked, prepared = made["per_question"].get("estimate"), made["preparation"].get("per_question")
        yield _row(name, asked, prepared)
        if name == baseline:
            yield _row(f"{name}, cached", costs["with_prompt_caching"].get("estimate"), prepared)


def _row(
    name: str, asked: float | None, prepared: float | None
) -> tuple[str, float | None, float | None, float | None]:
    together = None if asked is None or prepared is None else asked + prepared
    first, second, third = (None if one is None else one * QUESTIONS for one in (asked, prepared, together))
    return name, first, second, third


def notes(document: Json) -> list[str]:
    """What to know of the costs, a sentence each; none where there are no prices."""
    found = []
    for costs in document.get("costs", []):
        price, cached = costs["price"], costs["with_prompt_caching"]
        name = wording.plain(price["name"])
        measured = [
            condition
            for condition in costs["conditions"]
            if "unavailable" not in document["conditions"][condition]["measures"]["input_tokens"]
        ]
        if "unavailable" in cached and document["baseline"] in measured:
            found.append(f"{name}: no cost with prompt caching, since {wording.plain(cached['unavailable'])}")
        elif "estimate" in cached and price["cache_write"] is not None:
            found.append(
                f"{name}: input put into the cache costs {price['cache_write']:g} per million tokens, which "
                f"{document['baseline']}, cached leaves out"
            )
        found.extend(
            f"{name}: no cost of {what} under {condition}, since {wording.plain(made[key]['unavailable'])}"
            for condition in measured
            for key, what in (("per_question", "a question"), ("preparation", "preparation"))
            if "unavailable" in (made := costs["conditions"][condition])[key]
        )
    if document.get("costs"):
        model = wording.plain(document["model"]["name"])
        found.append(f"costs are for the tokens that {model} counts; another model counts others")
    return found
