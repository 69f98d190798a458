"""What probability laws give without data: quantiles of Student's t, and bounds on shares of which few or none are seen."""

import math
from collections.abc import Sequence
from functools import lru_cache
from itertools import count

_PRECISION = 1e-15
_SMALLEST_P = 1e-100
_HALVINGS = 60


def unseen_bound(
    sizes: Sequence[float], weights: Sequence[float] | None = None, level: float = 0.95
) -> float:
    """The largest share that something can have which none of so many units showed: the upper end for 0 of n.

    For one group of n units that is 1 - a^(1/n), a = (1 - level) / 2 (Clopper & Pearson 1934). With several groups of
    `sizes` units and `weights` that add up to 1, it is the largest weighted mean of shares p with which a sample
    without any still has the chance a: the product of (1 - p)^n. There 1 - p is proportional to n / weight, in
    the groups where that is below 1; a small group with much weight decides it.

    Raises ValueError without a group, and for a size or a weight that is not positive.
    """
    shares = [1 / len(sizes) for _ in sizes] if weights is None else list(weights)
    if not sizes or min(sizes) < 1 or len(shares) != len(sizes) or min(shares) <= 0:
        raise ValueError("groups have a size and a weight each, all of them positive")
    groups = sorted(zip(sizes, shares, strict=True), key=lambda group: group[0] / group[1])
    exponent, log_tail, total = 0.0, math.log(tail_of(level)), 0.0
    for place, (size, weight) in enumerate(groups):
        # The multiplier with which the groups up to here alone come to the chance a; the next may add nothing.
        exponent += size * math.log(size / weight)
        total += size
        log_multiplier = (log_tail - exponent) / total
        following = groups[place + 1 :]
        if not following or log_multiplier + math.log(following[0][0] / following[0][1]) >= 0:
            break
    return math.fsum(
        weight * max(0.0, 1 - math.exp(log_multiplier) * size / weight) for size, weight in groups
    )


@lru_cache(maxsize=4096)
def share_bound(count: float, n: float, level: float = 0.95) -> float:
    """The largest share that something can have which `count` of `n` units showed: the exact upper end.

    It is the share with which so few, or fewer, have the chance a = (1 - level) / 2 (Clopper & Pearson 1934): the root of
    I_{1-p}(n - count, count + 1) = a, found by halving. `count` need not be whole, as where units were asked several
    times; between whole numbers the bound rises steadily.

    Raises ValueError for a count that is negative or above `n`, and for an `n` below 1.
    """
    if not 0 <= count <= n or n < 1:
        raise ValueError(f"a count from 0 to n is needed, and an n of 1 or more, got {count} of {n}")
    tail = tail_of(level)
    # What is left of the last unit is too little to tell from a unit.
    if n - count < _PRECISION * n:
        return 1.0
    low, high = count / n, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if _beta(n - count, count + 1, 1 - middle) > tail else (low, middle)
    return high


def student_t_quantile(p: float, df: float) -> float:
    """The value that a Student t variable with `df` degrees of freedom stays under with probability `p`.

    Newton's method on the tail probability, which is convex for t > 0, so that it climbs from 0 to the root and
    never passes it. Good to 1e-9 relative up to a million degrees of freedom. Raises ValueError for `df` below 1
    and for `p` outside [1e-100, 1).
    """
    if not _SMALLEST_P <= p < 1:
        raise ValueError(f"a probability from {_SMALLEST_P} to below 1 is needed, got {p}")
    if not 1 <= df < math.inf:
        raise ValueError(f"one or more degrees of freedom are needed, got {df}")
    target, t, step = min(p, 1 - p), 0.0, math.inf
    while step > _PRECISION * t:
        tail, density = _t_tail_and_density(t, df)
        step = (tail - target) / density
        t += step
    return math.copysign(t, p - 0.5)


def tail_of(level: float) -> float:
    """The probability beyond either end of an interval of this confidence level."""
    if not 0 < level < 1:
        raise ValueError(f"a confidence level lies between 0 and 1, got {level}")
    return (1 - level) / 2


def _t_tail_and_density(t: float, df: float) -> tuple[float, float]:
    """P(T > t) and the density at t, for t >= 0: the tail is I_x(df/2, 1/2) / 2 at x = df / (df + t^2)."""
    ratio = t * t / df
    log_beta = math.lgamma(df / 2) + math.lgamma(0.5) - math.lgamma((df + 1) / 2)
    density = math.exp(-log_beta - (df + 1) / 2 * math.log1p(ratio)) / math.sqrt(df)
    x = 1 / (1 + ratio)
    if x < (df + 2) / (df + 5):
        return t * density / df * _beta_fraction(df / 2, 0.5, x), density
    return 0.5 - t * density * _beta_fraction(0.5, df / 2, ratio / (1 + ratio)), density


def _beta(a: float, b: float, x: float) -> float:
    """The regularised incomplete beta function I_x(a, b)."""
    if not 0 < x < 1:
        return float(x >= 1)
    log_front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    if x < (a + 1) / (a + b + 2):
        return math.exp(log_front) / a * _beta_fraction(a, b, x)
    return 1 - math.exp(log_front) / b * _beta_fraction(b, a, 1 - x)


def _beta_fraction(a: float, b: float, x: float) -> float:
    """I_x(a, b) without its front factor x^a (1 - x)^b / (a B(a, b)): DLMF 8.17.22 by Lentz's method."""
    c, d = 1.0, 1 / (1 - (a + b) * x / (a + 1))
    fraction = d
    for m in count(1):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for term in (even, odd):
            c, d = 1 + term / c, 1 / (1 + term * d)
            fraction *= c * d
        if abs(c * d - 1) < _PRECISION:
            break
    return fraction
