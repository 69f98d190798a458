"""The chance that a claim "no worse than by a margin" passes if the truth is no difference, and what 80% needs.

A question's paired difference is -1, 0 or 1: the share of pairs that differ is the discordance, and where the truth is
no difference, that is also its variance. Margins, discordances and chances are shares. A claim passes when the lower
end of the two-sided 95% interval stays above the margin, so that it errs on 2.5% of the cases at most.
"""

import math
from collections.abc import Callable, Sequence
from statistics import NormalDist, harmonic_mean

import numpy as np

from pytest_tokenbench.distributions import student_t_quantile

LEVEL = 0.95
WANTED = 0.80
# More than anybody asks; what is not reached with so many is not planned for.
MOST = 1_000_000
_NORMAL = NormalDist()
# The integral below runs over so many standard deviations on both sides, in so many steps.
_REACH = 9.0
_STEPS = 2_000


def chance(margin: float, discordance: float, questions: int) -> float:
    """Of passing with this many questions, each an independent unit: the normal approximation.

    With standard error se, the square root of discordance / questions, it is Phi(margin / se - z) with z at 97.5%: the
    formula for non-inferiority of paired proportions (Liu, Hsueh, Hsieh & Chen 2002, Statistics in Medicine 21,
    231-245) at a difference of 0. A bootstrap interval of few questions is a little narrower and moves in steps of one
    question: around 100 of them its own chance lies up to 8 points to either side, around 300 within 2.
    """
    return _NORMAL.cdf(margin / math.sqrt(discordance / questions) - _NORMAL.inv_cdf((1 + LEVEL) / 2))


def questions_needed(margin: float, discordance: float, wanted: float = WANTED) -> int:
    """The least number of questions with that chance: (z + z_wanted)^2 discordance / margin^2, rounded up."""
    distance = _NORMAL.inv_cdf((1 + LEVEL) / 2) + _NORMAL.inv_cdf(wanted)
    return max(2, math.ceil(distance**2 * discordance / margin**2))


def clustered_chance(
    margin: float, discordance: float, documents: int, per_document: float, correlation: float
) -> float:
    """Of passing where the document is the unit, by the t interval on the means of the documents.

    `correlation` is that of two differences on one document. A document's mean over m questions has the variance
    discordance (correlation + (1 - correlation) / m), which is discordance / m times the design effect
    1 + (m - 1) correlation (Donner & Klar 2000, ch. 5). With documents of unequal size m is their harmonic mean, see
    `per_document`. The chance is that of a noncentral t with documents - 1 degrees of freedom to exceed the t quantile
    (Julious 2004, Statistics in Medicine 23, 1921-1986).
    """
    variance = discordance * (correlation + (1 - correlation) / per_document)
    distance = margin / math.sqrt(variance / documents)
    return _noncentral_t_above(student_t_quantile((1 + LEVEL) / 2, documents - 1), documents - 1, distance)


def documents_needed(
    margin: float, discordance: float, per_document: float, correlation: float, wanted: float = WANTED
) -> int | None:
    """The least number of documents with that chance, None where it is more than anybody asks."""
    return _least(
        lambda documents: clustered_chance(margin, discordance, documents, per_document, correlation), wanted
    )


def per_document(sizes: Sequence[int]) -> float:
    """The number of questions a document that counts for documents of these sizes: the mean of 1/m decides."""
    return harmonic_mean(sizes)


def _noncentral_t_above(t: float, df: int, noncentrality: float) -> float:
    """P(T > t) for T = (Z + noncentrality) / S with S^2 a chi-square over its df: the mean of Phi(noncentrality - t S).

    The midpoint rule over S, whose density is s^(df - 1) exp(-df s^2 / 2) up to a factor (Johnson, Kotz & Balakrishnan
    1995, Continuous Univariate Distributions 2, ch. 31).
    """
    spread = _REACH / math.sqrt(2 * df)
    low, high = max(0.0, 1 - spread), 1 + spread
    s = low + (high - low) * (np.arange(_STEPS) + 0.5) / _STEPS
    logarithm = (df - 1) * np.log(s) - df * (s**2 - 1) / 2
    weight = np.exp(logarithm - logarithm.max())
    above = np.array([_NORMAL.cdf(noncentrality - t * float(one)) for one in s])
    return float(weight @ above / weight.sum())


def _least(chance_of: Callable[[int], float], wanted: float) -> int | None:
    """The least number from 2 up with the wanted chance, which grows with it."""
    high = 2
    while chance_of(high) < wanted:
        high *= 2
        if high > MOST:
            return None
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if chance_of(middle) >= wanted else (middle, high)
    return max(2, high)
