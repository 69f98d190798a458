"""An estimate as the JSON values of a results document."""

from collections.abc import Callable
from typing import Any

from pytest_tokenbench.results import Unavailable
from pytest_tokenbench.statistics import Estimate

Json = dict[str, Any]


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
