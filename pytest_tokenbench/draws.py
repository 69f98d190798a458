"""Bootstrap means of columns over questions that share their draws, each drawn once."""

import hashlib
from collections.abc import Callable, Iterable

import numpy as np

from pytest_tokenbench import statistics
from pytest_tokenbench.statistics import FloatArray


class Draws:
    """The same draws of questions for every column that is asked for, kept for whoever asks for it again.

    Above 1,000 questions a draw depends on what is drawn with it. So the `usual` columns, what reports show, are always
    drawn among themselves.
    """

    def __init__(self, usual: Callable[[], Iterable[FloatArray]]) -> None:
        self._usual = usual
        self._together: dict[bytes, FloatArray] = {}
        self._apart: dict[tuple[bytes, ...], tuple[FloatArray, ...]] = {}

    def of(self, *columns: FloatArray) -> tuple[FloatArray, ...]:
        """The means of each column (questions,) in every resample, (resamples,)."""
        if not self._together:
            self._together = _drawn({_digest(column): column for column in self._usual()})
        named = {_digest(column): column for column in columns}
        names = tuple(map(_digest, columns))
        if self._together.keys() >= named.keys():
            return tuple(self._together[name] for name in names)
        if names not in self._apart:
            drawn = _drawn(named)
            self._apart[names] = tuple(drawn[name] for name in names)
        return self._apart[names]


def _drawn(columns: dict[bytes, FloatArray]) -> dict[bytes, FloatArray]:
    if not columns:
        return {}
    means = statistics.bootstrap_means(np.column_stack(list(columns.values())))
    return {name: means[:, place] for place, name in enumerate(columns)}


def _digest(column: FloatArray) -> bytes:
    return hashlib.blake2b(column.tobytes(), digest_size=16).digest()
