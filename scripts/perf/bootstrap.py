"""Time and peak memory of `bootstrap_means` beside `scipy.stats.bootstrap`, with an interval of both.

    python scripts/perf/bootstrap.py

Each run has a process of its own, so that its peak memory is its own. Where scipy would take minutes, it draws fewer
resamples and its time is scaled up to 10,000; its endpoints are then as rough as so few resamples make them. On a
busy machine the processor seconds are the steadier ones.
"""

import resource
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context

import numpy as np
import numpy.typing as npt

from pytest_tokenbench.statistics import bootstrap_means, percentile_interval

RESAMPLES = 10_000
Table = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Run:
    """What one process measured: wall and processor seconds for `RESAMPLES` resamples, peak memory, first column's ends."""

    seconds: float
    processor: float
    mebibytes: float
    low: float
    high: float


def scores() -> Table:
    """7 conditions x 4 measures, 100 questions: continuous scores."""
    return np.random.default_rng(0).beta(4, 2, (100, 28))


def one_measure() -> Table:
    """7 conditions, one measure of 0/1, 100,000 questions: at most 128 distinct rows."""
    return _outcomes(measures=1)


def four_measures() -> Table:
    """7 conditions x 4 measures of 0/1, 100,000 questions of varied difficulty, measures mostly in agreement."""
    return _outcomes(measures=4)


def coin_flips() -> Table:
    """28 columns of 0/1 in no relation, 100,000 questions: the worst case, no row repeats."""
    return np.random.default_rng(0).integers(0, 2, (100_000, 28)).astype(np.float64)


def continuous() -> Table:
    """60 columns of continuous scores, 14,286 questions: no row repeats."""
    return np.random.default_rng(0).beta(4, 2, (14_286, 60))


def _outcomes(measures: int) -> Table:
    rng = np.random.default_rng(0)
    ease = rng.beta(2, 0.5, (100_000, 1))
    correct = rng.random((100_000, 7)) < ease
    others = [correct ^ (rng.random(correct.shape) < 0.01) for _ in range(measures - 1)]
    return np.hstack([correct, *others]).astype(np.float64)


def ours(table: Callable[[], Table], resamples: int) -> Run:
    values = table()
    start = _clocks()
    low, high = percentile_interval(bootstrap_means(values, resamples=resamples))
    return _run(start, resamples, low, high)


def scipys(table: Callable[[], Table], resamples: int) -> Run:
    from scipy.stats import bootstrap  # noqa: PLC0415 - its memory is not ours

    values = table()
    batch = max(1, 20_000_000 // values.size)
    start = _clocks()
    interval = bootstrap(
        (values,),
        np.mean,
        axis=0,
        vectorized=True,
        method="percentile",
        n_resamples=resamples,
        batch=batch,
        rng=0,
    ).confidence_interval
    return _run(start, resamples, interval.low, interval.high)


def _clocks() -> Table:
    return np.array([time.perf_counter(), time.process_time()])


def _run(start: Table, resamples: int, low: Table, high: Table) -> Run:
    seconds, processor = (_clocks() - start) * RESAMPLES / resamples
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return Run(seconds, processor, peak, float(low[0]), float(high[0]))


def measure(
    way: Callable[[Callable[[], Table], int], Run], table: Callable[[], Table], resamples: int
) -> Run:
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
        return process.submit(way, table, resamples).result()


def main() -> None:
    """Print one block a size."""
    sizes = [
        (scores, RESAMPLES, RESAMPLES),
        (one_measure, RESAMPLES, 400),
        (four_measures, RESAMPLES, 100),
        (coin_flips, 1_000, 100),
        (continuous, RESAMPLES, 300),
    ]
    for table, our_resamples, scipy_resamples in sizes:
        values = table()
        print(f"\n{table.__doc__}")
        print(f"{values.shape[0]:,} x {values.shape[1]}, {len(np.unique(values, axis=0)):,} distinct rows")
        mine = measure(ours, table, our_resamples)
        theirs = measure(scipys, table, scipy_resamples)
        for name, run, resamples in (("ours", mine, our_resamples), ("scipy", theirs, scipy_resamples)):
            scaled = "" if resamples == RESAMPLES else f"  (scaled from {resamples:,} resamples)"
            times = f"{run.seconds:9.3f} s ({run.processor:8.3f} s processor) {run.mebibytes:5.0f} MiB"
            print(f"  {name:6}{times}  [{run.low:.5f}, {run.high:.5f}]{scaled}")
        wall, processor = theirs.seconds / mine.seconds, theirs.processor / mine.processor
        print(f"  scipy / ours: {wall:.1f} x the time, {processor:.1f} x the processor time")


if __name__ == "__main__":
    main()
