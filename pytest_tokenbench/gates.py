"""What may not get worse from one run to the next: gates that a comparison must pass."""

import math
from dataclasses import dataclass

from pytest_tokenbench.comparison import COMPARED, Json

_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Gate:
    """How much of a measure a condition may lose: points, for tokens percent of the first run's."""

    measure: str
    condition: str
    most: float

    def __str__(self) -> str:
        return f"{self.measure}:{self.condition}:{self.most:g}"

    @classmethod
    def parse(cls, given: str) -> "Gate":
        """The gate that a text like accuracy:D25:3 means.

        Raises:
            ValueError: It means none; the message is a clause.
        """
        measure, _, rest = given.partition(":")
        condition, _, most = rest.rpartition(":")
        if measure not in COMPARED or not condition:
            raise ValueError(
                f"{given!r} is no gate; write MEASURE:CONDITION:POINTS, as accuracy:D25:3, "
                f"where the measure is {', '.join(COMPARED)}"
            )
        try:
            number = float(most)
        except ValueError:
            number = math.nan
        if not (math.isfinite(number) and number >= 0):
            raise ValueError(
                f"{given!r} has {most!r} where a number from 0 up is needed, as in accuracy:D25:3"
            )
        return cls(measure, condition, number)

    def failure(self, comparison: Json) -> str | None:
        """Why this gate is shut, in one sentence; None where the condition lost no more than it may.

        It is shut by a loss beyond `most` whose interval excludes 0, and where it cannot be told: the measure is
        missing, or so many trials are that they could hide such a loss. Of tokens any could.
        """
        made = comparison["conditions"].get(self.condition)
        if made is None:
            return f"{self} cannot be judged: {self.condition} is no condition of both runs"
        figure = made["measures"][self.measure]
        if "unavailable" in figure:
            return f"{self} cannot be judged: {figure['unavailable']}"
        if figure["low"] is None:
            return f"{self} cannot be judged: one question alone has no interval"
        loss, low, high = self._loss(figure, figure)
        unit = "%" if self.measure == "input_tokens" else " points"
        if self._is_beyond(loss, low):
            verb = "fell" if COMPARED[self.measure] else "rose"
            return (
                f"{self.measure} of {self.condition} {verb} by {loss:.1f}{unit} [{low:.1f}, {high:.1f}] from the first run "
                f"to the second, more than {self.most:g}{unit} and beyond noise (n={figure['n']})"
            )
        worst = figure.get("worst")
        if worst is None:
            return None
        if "difference" not in worst or self._is_beyond(*self._loss(worst, figure)[:2]):
            return (
                f"{self} cannot be judged: {worst['missing']} of {worst['n']} questions lack trials in one of the runs, "
                "which could hide a loss"
            )
        return None

    def _loss(self, figure: Json, whole: Json) -> tuple[float, float, float]:
        """How much was lost, with both ends of its interval, in the unit of the gate."""
        sign = -1 if COMPARED[self.measure] else 1
        scale = 1.0 if self.measure != "input_tokens" else whole["first"] or math.inf
        loss, *ends = (sign * 100 * figure[key] / scale for key in ("difference", "low", "high"))
        return loss, min(ends), max(ends)

    def _is_beyond(self, loss: float, low: float) -> bool:
        # A difference of shares that should be a whole number of points seldom is one.
        return loss > self.most + _ROUNDING and low > _ROUNDING
