"""Numbers as the page shows them, with a minus sign that is as wide as a plus."""

from collections.abc import Mapping
from typing import Any

from pytest_tokenbench.figures import is_unvaried
from pytest_tokenbench.reporting import wording

Json = Mapping[str, Any]


def signed(value: float, decimals: int = 1) -> str:
    """With its sign, which 0 has not: +2.5, 0.0."""
    text = f"{value:+z.{decimals}f}"
    return (text[1:] if float(text) == 0 else text).replace("-", "\N{MINUS SIGN}")


def points(figure: Json) -> str:
    """A difference of shares in percentage points with its interval: +5.0 [+2.5, +7.5]."""
    text = signed(100 * figure["estimate"])
    if figure["low"] is None:
        return f"{text} [no interval]"
    flag = "!" if is_unvaried(figure) else ""
    noise = "~" if figure.get("within_churn") else ""
    return f"{text} [{signed(100 * figure['low'])}, {signed(100 * figure['high'])}]{flag}{noise}"


def plain(value: float) -> str:
    """A number of unknown kind, with about four digits: 9,512, 0.4123."""
    return wording.number(value).replace("-", "\N{MINUS SIGN}")
