"""An estimate as the JSON values of a results document."""

from collections.abc import Callable, Mapping
from typing import Any

from pytest_tokenbench.results import Unavailable
from pytest_tokenbench.statistics import Estimate, is_one_point

Json = dict[str, Any]


def is_unvaried(figure: Mapping[str, Any]) -> bool:
    """Whether nothing varied behind a figure, which reports mark with !: its interval has no width of its own."""
    return bool(figure.get("zero_width")) or is_one_point(figure.get("low"), figure.get("high"))


def figure(estimate: Callable[[], Estimate]) -> Json:
    """A figure as JSON values, or why there is none."""
    try:
        found = estimate()
    except Unavailable as reason:
        return {"unavailable": str(reason)}
    return {
        "estimate": found.estimate,
        "low": found.low,
        "high": found.high,
        "n": found.n,
        "zero_width": found.zero_width,
    }
