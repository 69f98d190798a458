"""Estimates and their uncertainty: bootstrap, t and clustered intervals, adjusted p-values, areas. Pure numpy.

Throughout, NaN stands for "not measured" and is left out; an infinite value is an error. Confidence levels lie
strictly between 0 and 1, and every estimate is in the unit of its values.
"""

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
import numpy.typing as npt
from numpy.random import PCG64, Generator

from pytest_tokenbench.distributions import student_t_quantile, tail_of

FloatArray = npt.NDArray[np.float64]
Scalar = TypeVar("Scalar", bound=np.generic)

_PLAIN_ROWS = 1_000
_FREQUENT = 10
_LONGEST_CHUNK = 2_000
_CHUNK_CELLS = 8_000_000


def is_one_point(low: float | None, high: float | None) -> bool:
    """Whether the ends of an interval are the same, up to rounding; not where there is none."""
    return low is not None and high is not None and math.isclose(low, high, rel_tol=1e-12, abs_tol=1e-12)


@dataclass(frozen=True, slots=True)
class Estimate:
    """A point estimate and its confidence interval, in the unit of the values.

    `n` counts the independent units it rests on: questions, or documents where the interval is clustered. `low`
    and `high` are both None where there is no interval, which is so whenever `n` is 1.
    """

    estimate: float
    low: float | None
    high: float | None
    n: int

    @property
    def zero_width(self) -> bool:
        """Whether both ends are the same, up to rounding: the data held no variation, which is not certainty."""
        return is_one_point(self.low, self.high)


@dataclass(frozen=True, slots=True)
class Unvaried(Estimate):
    """An estimate whose values did not vary, with the ends that so many equal values still allow."""

    @property
    def zero_width(self) -> bool:
        """True: there was no variation to resample."""
        return True


def column_means(values: npt.ArrayLike) -> FloatArray:
    """Mean of each column of `values` (questions, columns) over its measured rows, NaN where there are none."""
    table = _as_table(values)
    measured = ~np.isnan(table)
    with np.errstate(invalid="ignore"):
        means: FloatArray = np.where(measured, table, 0.0).sum(axis=0) / measured.sum(axis=0)
    return means


def bootstrap_means(values: npt.ArrayLike, *, resamples: int = 10_000, seed: int = 0) -> FloatArray:
    """Column means of `resamples` nonparametric bootstrap samples of the rows, (resamples, columns).

    `values` is (questions, columns). All columns share the draws, so that differences and ratios of columns of
    the result are paired. A column's mean in a resample is taken over its measured rows (a ratio of weighted
    sums), and is NaN where the resample holds none.

    A resample's row counts are multinomial (Efron & Tibshirani 1993, An Introduction to the Bootstrap, ch. 6). Up
    to 1,000 rows they are one call of numpy's `multinomial` on a PCG64 stream. Above, a row that stands in the
    table 10 times or more is one category of that call, and all rarer rows together are another, whose draws
    are then made one by one. The law is the same; a category costs about as much as 10 single draws.

    Raises ValueError for anything but a two-dimensional table of finite or NaN values with a row and a column.
    """
    return _resampled_means(_as_table(values), resamples, Generator(PCG64(seed)))


def percentile_interval(samples: npt.ArrayLike, level: float = 0.95) -> tuple[FloatArray, FloatArray]:
    """Both ends of the percentile interval of bootstrap `samples` along axis 0, NaN where all resamples are NaN.

    Quantiles interpolate linearly between order statistics (Hyndman & Fan 1996, type 7) and leave NaN out.
    """
    tail = tail_of(level)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "All-NaN slice", RuntimeWarning)
        low, high = np.nanquantile(np.asarray(samples, dtype=np.float64), [tail, 1 - tail], axis=0)
    return np.asarray(low), np.asarray(high)


def bootstrap_estimate(estimate: float, samples: npt.ArrayLike, n: int, level: float = 0.95) -> Estimate:
    """`estimate` with the percentile interval of its bootstrap `samples` (resamples,).

    `n` counts the questions behind it. Below two, or with no resample that is a number, there is no interval.
    """
    low, high = percentile_interval(samples, level)
    if n <= 1 or np.isnan(low):
        return Estimate(estimate, None, None, n)
    return Estimate(estimate, float(low), float(high), n)


def widened(estimate: Estimate, bound: float, low: float = -1.0, high: float = 1.0) -> Estimate:
    """The estimate as it is if it has an interval with a width; else its ends are `bound` away, as far as the scale goes.

    Resamples of values that did not vary do not either, which is no certainty: see `unseen_bound`.
    """
    if not estimate.zero_width:
        return estimate
    mean = estimate.estimate
    return Unvaried(mean, max(low, mean - bound), min(high, mean + bound), estimate.n)


def reaching(estimate: Estimate, least: float, most: float = math.inf) -> Estimate:
    """The estimate with its upper end raised to `least`, and then brought down to `most`; no end where it has none."""
    if estimate.high is None:
        return estimate
    return replace(estimate, high=min(max(estimate.high, least), most))


def stratified(
    strata: Mapping[str, npt.ArrayLike],
    weights: Mapping[str, float] | None = None,
    *,
    level: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> Estimate:
    """Mean of the strata's means with equal weight per stratum, or with `weights`, and its bootstrap interval.

    `weights` are shares that add up to 1, one for each stratum. Each of `strata` holds the values (questions,) of one stratum, which is resampled on its own (Davison &
    Hinkley 1997, Bootstrap Methods and their Application, §3.2): one stream, strata in the order of their names.
    `n` is the number of measured values. Where a stratum holds a single one, its variation is unknown and there is
    no interval.

    Raises ValueError without strata, for a stratum without a measured value, and for weights that do not fit.
    """
    if not strata:
        raise ValueError("no stratum to average over")
    if weights is not None:
        _check_shares(weights)
        if weights.keys() != strata.keys():
            raise ValueError(f"weights of {sorted(weights)} for the strata {sorted(strata)}")
    generator = Generator(PCG64(seed))
    means, samples, sizes = [], [], []
    for name in sorted(strata):
        column = _as_table(np.reshape(np.asarray(strata[name], dtype=np.float64), (-1, 1)))
        sizes.append(_measured(column[:, 0], f"stratum {name!r}").size)
        means.append(float(column_means(column)[0]))
        samples.append(_resampled_means(column, resamples, generator)[:, 0])
    total = sum(sizes)
    if weights is None:
        mean, mixed = math.fsum(means) / len(means), np.mean(samples, axis=0)
    else:
        shares = [weights[name] for name in sorted(strata)]
        mean = math.fsum(share * one for share, one in zip(shares, means, strict=True))
        mixed = np.tensordot(shares, samples, axes=1)
    if min(sizes) == 1:
        return Estimate(mean, None, None, total)
    return bootstrap_estimate(mean, mixed, total, level)


def t_interval(values: npt.ArrayLike, level: float = 0.95) -> Estimate:
    """Mean of `values` (units,) with Student's t interval on n - 1 degrees of freedom.

    A single measured value has no interval. Raises ValueError if nothing was measured.
    """
    measured = _measured(values, "values")
    n, mean, tail = measured.size, float(measured.mean()), tail_of(level)
    if n == 1:
        return Estimate(mean, None, None, n)
    half = student_t_quantile(1 - tail, n - 1) * float(measured.std(ddof=1)) / math.sqrt(n)
    return Estimate(mean, mean - half, mean + half, n)


def clustered_t(values: npt.ArrayLike, clusters: Sequence[str], level: float = 0.95) -> Estimate:
    """Mean of the cluster means, equal weight per cluster, with a t interval on C - 1 degrees of freedom.

    `clusters` names the cluster (the document) of each of `values` (questions,). Questions on one document are
    not independent, so the cluster is the unit of analysis (Donner & Klar 2000, Design and Analysis of Cluster
    Randomization Trials): `n` of the result is C, the number of clusters with a measured value. A single cluster
    has no interval.

    Raises ValueError if nothing was measured or the lengths differ.
    """
    scores = np.asarray(values, dtype=np.float64)
    if scores.shape != (len(clusters),):
        raise ValueError(f"{scores.size} values for {len(clusters)} cluster names")
    measured = ~np.isnan(scores)
    _, cluster = np.unique(np.asarray(clusters, dtype=str)[measured], return_inverse=True)
    return t_interval(np.bincount(cluster, scores[measured]) / np.bincount(cluster), level)


def discordance(a: npt.ArrayLike, b: npt.ArrayLike) -> float:
    """Share of the pairs of `a` and `b` (questions,) whose two values differ; a pair with a NaN is left out.

    Raises ValueError if the lengths differ or no pair is left.
    """
    first, second = _as_vector(a, "a"), _as_vector(b, "b")
    if first.shape != second.shape:
        raise ValueError(f"pairs of {first.size} and {second.size} values")
    difference = _measured(first - second, "pairs")
    return float(np.mean(difference != 0))


def benjamini_hochberg(p: npt.ArrayLike) -> FloatArray:
    """Adjusted p-values (tests,) that control the false discovery rate, in the order of `p` (tests,).

    The step-up procedure of Benjamini & Hochberg (1995): the smallest m p(j) / j over j >= i, for the i-th smallest
    of m p-values. Raises ValueError for a p-value that is NaN or outside [0, 1].
    """
    raw = np.asarray(p, dtype=np.float64)
    if not np.all((raw >= 0) & (raw <= 1)):
        raise ValueError("a p-value is a number from 0 to 1")
    descending = np.argsort(raw)[::-1]
    scaled = raw[descending] * (raw.size / np.arange(raw.size, 0, -1))
    adjusted = np.empty_like(raw)
    adjusted[descending] = np.minimum(np.minimum.accumulate(scaled), 1.0)
    return adjusted


def frontier_area(r: npt.ArrayLike, f: npt.ArrayLike, *, normalized: bool = False) -> float:
    """Area under the line through the points (`r`, `f`) in the order of `r`, by the trapezoid rule.

    `r` are positions (share of tokens kept), `f` heights (scores), both (points,) and in any order. `normalized`
    divides by the width max(r) - min(r), which gives the mean height. Points that share a position stand in the
    order of their heights.

    Raises ValueError for a NaN, for lengths that differ and without two distinct positions.
    """
    x, y = np.asarray(r, dtype=np.float64), np.asarray(f, dtype=np.float64)
    if x.shape != y.shape or not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise ValueError("an area needs as many finite heights as positions")
    if np.unique(x).size <= 1:
        raise ValueError("an area needs two distinct positions")
    order = np.lexsort((y, x))
    x, y = x[order], y[order]
    area = float(np.sum(np.diff(x) * (y[1:] + y[:-1]) / 2))
    return area / float(x[-1] - x[0]) if normalized else area


@dataclass(frozen=True, slots=True)
class Reweighted:
    """Slice means averaged with target shares.

    `mean` renormalizes the shares over the slices with data; `covered_share` is what those make up of the target.
    `se` is the standard error of `mean`, None where a slice that counts holds a single score. `effective_n` is
    Kish's effective sample size (Kish 1965, Survey Sampling).
    """

    mean: float
    covered_share: float
    se: float | None
    effective_n: float


def reweight(
    slice_scores: Mapping[str, npt.ArrayLike | None], target_shares: Mapping[str, float]
) -> Reweighted:
    """Mean score if the slices had their `target_shares`: post-stratification (Cochran 1977, §5A.9).

    `slice_scores` holds the scores (questions,) of each slice, None for a slice without data. With shares w,
    renormalized over slices with data: mean = sum of w mean(slice), se^2 = sum of w^2 s^2 / n with s^2 at ddof=1,
    effective n = 1 / (sum of w^2 / n).

    Raises ValueError if the slices differ from the target's, if the shares are negative or do not add up to 1, and
    if no slice with a share has data.
    """
    if slice_scores.keys() != target_shares.keys():
        raise ValueError(f"slices {sorted(slice_scores)} for the target shares of {sorted(target_shares)}")
    _check_shares(target_shares)
    scores = {name: np.asarray(s, dtype=np.float64) for name, s in slice_scores.items() if s is not None}
    covered = {
        name: _measured(s, f"slice {name!r}")
        for name, s in scores.items()
        if target_shares[name] > 0 and not np.isnan(s).all()
    }
    covered_share = math.fsum(target_shares[name] for name in covered)
    if not covered:
        raise ValueError("no slice with a target share has data")
    weight = {name: target_shares[name] / covered_share for name in covered}
    se = None
    if all(s.size > 1 for s in covered.values()):
        se = math.sqrt(math.fsum(weight[name] ** 2 * s.var(ddof=1) / s.size for name, s in covered.items()))
    return Reweighted(
        mean=math.fsum(weight[name] * s.mean() for name, s in covered.items()),
        covered_share=covered_share,
        se=se,
        effective_n=1 / math.fsum(weight[name] ** 2 / s.size for name, s in covered.items()),
    )


def _resampled_means(table: FloatArray, resamples: int, generator: Generator) -> FloatArray:
    measured = ~np.isnan(table)
    masks, mask_of = _distinct_rows(measured.T)
    columns = table.shape[1]
    sums = _resampled_sums(np.hstack([np.where(measured, table, 0.0), masks.T]), resamples, generator)
    with np.errstate(invalid="ignore"):
        means: FloatArray = sums[:, :columns] / sums[:, columns + mask_of]
    return means


def _resampled_sums(table: FloatArray, resamples: int, generator: Generator) -> FloatArray:
    """Sums over the rows of each resample's draws, (resamples, columns)."""
    n, columns = table.shape
    common, rare, shares = table, table[:0], np.full(n, 1 / n)
    if n > _PLAIN_ROWS:
        common, rare, shares = _split_by_frequency(table)
    sums = np.empty((resamples, columns))
    chunk = min(_LONGEST_CHUNK, max(1, _CHUNK_CELLS // n))
    for start in range(0, resamples, chunk):
        counts = generator.multinomial(n, shares, size=min(chunk, resamples - start))
        part = sums[start : start + chunk]
        part[:] = counts[:, : len(common)] @ common
        if len(rare):
            part += _uniform_counts(counts[:, -1], len(rare), generator) @ rare
    return sums


def _split_by_frequency(table: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Rows that repeat often, once each; all others; and the shares of the former, that of all others last."""
    rows, row_of = _distinct_rows(table)
    repeats = np.bincount(row_of)
    frequent = repeats >= _FREQUENT
    rare = table[~frequent[row_of]]
    return rows[frequent], rare, np.append(repeats[frequent], len(rare)) / len(table)


def _uniform_counts(draws: npt.NDArray[np.int64], n: int, generator: Generator) -> FloatArray:
    """How often each of `n` rows comes up in each number of `draws`, (len(draws), n)."""
    counts = np.empty((len(draws), n))
    for row, size in zip(counts, draws, strict=True):
        row[:] = np.bincount(generator.integers(0, n, size=size), minlength=n)
    return counts


def _distinct_rows(table: npt.NDArray[Scalar]) -> tuple[npt.NDArray[Scalar], npt.NDArray[np.intp]]:
    """The distinct rows in order of appearance, and for each row which one it is."""
    content, width = table.tobytes(), table.itemsize * table.shape[1]
    index: dict[bytes, int] = {}
    row_of = [index.setdefault(content[i : i + width], len(index)) for i in range(0, len(content), width)]
    rows = np.frombuffer(b"".join(index), dtype=table.dtype).reshape(len(index), -1)
    return rows, np.array(row_of, dtype=np.intp)


def _as_table(values: npt.ArrayLike) -> FloatArray:
    table = np.asarray(values, dtype=np.float64)
    if table.ndim != 2 or table.size == 0:  # noqa: PLR2004
        raise ValueError(f"values have the shape (questions, columns), both at least 1, got {table.shape}")
    if np.isinf(table).any():
        raise ValueError("values are finite, or NaN where nothing was measured")
    return table


def _as_vector(values: npt.ArrayLike, what: str) -> FloatArray:
    vector = np.asarray(values, dtype=np.float64)
    if vector.ndim != 1 or np.isinf(vector).any():
        raise ValueError(f"{what}: one dimension of finite values is needed, NaN where nothing was measured")
    return vector


def _measured(values: npt.ArrayLike, what: str) -> FloatArray:
    vector = _as_vector(values, what)
    measured = vector[~np.isnan(vector)]
    if measured.size == 0:
        raise ValueError(f"{what}: nothing was measured")
    return measured


def _check_shares(shares: Mapping[str, float]) -> None:
    if min(shares.values(), default=0.0) < 0 or not math.isclose(math.fsum(shares.values()), 1, abs_tol=1e-6):
        raise ValueError(f"target shares are non-negative and add up to 1, got {dict(shares)}")
