"""Where labels stand in a plot: beside their points, away from what is drawn already."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

_CHARACTER, _LINE = 6.6, 13.0  # about what a label takes, in pixels
_ASIDE = 9.0
_RISES = (9.0, -9.0, 0.0, 20.0, -20.0)
_POINT = 5.0


def width(names: Iterable[str]) -> float:
    """About how wide the longest of some labels is, in pixels."""
    return _CHARACTER * max(map(len, names), default=0)


@dataclass(frozen=True, slots=True)
class Area:
    """A rectangle, in pixels."""

    left: float
    low: float
    right: float
    high: float

    def overlap(self, other: "Area") -> float:
        """How many square pixels two rectangles share."""
        across = min(self.right, other.right) - max(self.left, other.left)
        up = min(self.high, other.high) - max(self.low, other.low)
        return across * up if across > 0 and up > 0 else 0.0

    def outside(self, other: "Area") -> float:
        """By how many pixels it goes beyond another."""
        return (
            max(0.0, other.left - self.left)
            + max(0.0, self.right - other.right)
            + max(0.0, other.low - self.low)
            + max(0.0, self.high - other.high)
        )


@dataclass(frozen=True, slots=True)
class Place:
    """Where a label stands: away from its point by `across` and `up` pixels, on the side that it is aligned from."""

    across: float
    up: float
    align: str

    def area(self, x: float, y: float, text: str) -> Area:
        """What the label covers there."""
        wide = width([text])
        left = x + self.across - (wide if self.align == "right" else 0.0)
        return Area(left, y + self.up - _LINE / 2, left + wide, y + self.up + _LINE / 2)


_CHOICES = tuple(
    Place(side * _ASIDE, rise, "left" if side > 0 else "right") for rise in _RISES for side in (1, -1)
)


def beside(
    points: Sequence[tuple[float, float]], names: Sequence[str], drawn: Iterable[Area], inside: Area
) -> list[Place]:
    """A place for the name of each point, one after the other; `drawn` are to be kept clear of, as are the points."""
    taken = [Area(x - _POINT, y - _POINT, x + _POINT, y + _POINT) for x, y in points]
    taken += drawn
    found = []
    for (x, y), name in zip(points, names, strict=True):
        areas = [choice.area(x, y, name) for choice in _CHOICES]
        costs = [100 * area.outside(inside) + sum(area.overlap(other) for other in taken) for area in areas]
        best = costs.index(min(costs))
        taken.append(areas[best])
        found.append(_CHOICES[best])
    return found


def spread(wanted: Sequence[float], apart: float) -> list[float]:
    """Heights as near as can be to those wanted, in the same order, none nearer to another than `apart`."""
    groups: list[list[int]] = []
    for place in sorted(range(len(wanted)), key=lambda one: wanted[one]):
        groups.append([place])
        while (
            len(groups) > 1
            and _ends(groups[-2], wanted, apart)[1] + apart > _ends(groups[-1], wanted, apart)[0]
        ):
            upper = groups.pop()
            groups[-1] += upper
    found = list(wanted)
    for group in groups:
        first, _ = _ends(group, wanted, apart)
        for rank, place in enumerate(group):
            found[place] = first + rank * apart
    return found


def _ends(group: Sequence[int], wanted: Sequence[float], apart: float) -> tuple[float, float]:
    """The lowest and the highest of a group's heights, which stand around the middle of those wanted."""
    centre = sum(wanted[place] for place in group) / len(group)
    half = (len(group) - 1) / 2 * apart
    return centre - half, centre + half
