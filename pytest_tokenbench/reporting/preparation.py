"""What was built for a document, and from how many questions of it on that pays, each with its interval."""

from collections.abc import Callable, Mapping
from typing import Any

from pytest_tokenbench.figures import is_unvaried
from pytest_tokenbench.reporting import tables, wording

Json = Mapping[str, Any]
HEADINGS = ("prepared/doc [95%]", "spread [95%]", "pays from [95%]")


def is_there(document: Json) -> bool:
    """Whether any condition built something."""
    return any(made["preparation"] for made in document["conditions"].values())


def row(made: Json) -> list[str]:
    """What a condition builds for a document in tokens, that spread over its questions, and from how many on it pays."""
    built = made["preparation"]
    amounts = ["0", "0"]
    if built is not None:
        amounts = [_tokens(built[name]) for name in ("tokens_per_document", "tokens_per_question")]
    return [*amounts, _break_even(made)]


def _tokens(figure: Json) -> str:
    """A number of tokens with its interval: 1,575 [1,100, 2,050]."""
    text = wording.tokens(figure)
    if figure.get("low") is None:
        return text
    return f"{text} [{figure['low']:,.0f}, {figure['high']:,.0f}]{'!' * is_unvaried(figure)}"


def _break_even(made: Json) -> str:
    """The number with its interval, whose ends may be words: 7 [5, never]."""
    text, found = wording.break_even(made), made.get("break_even", {})
    if found.get("low") is None:
        return text
    ends = (f"{end:,}" if isinstance(end, int) else end for end in (found["low"], found["high"]))
    return f"{text} [{', '.join(ends)}]"


def markdown(document: Json, name: Callable[[str], str]) -> str:
    """The table as Markdown. `name` makes text from outside fit to be shown."""
    rows = [[name(condition), *row(made)] for condition, made in document["conditions"].items()]
    return tables.render(["", *HEADINGS], rows, style="github")
