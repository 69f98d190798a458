"""The power of a claim: against published reference values, scipy, and the very intervals that runs compute."""

import numpy as np
import pytest
from numpy.random import default_rng
from scipy import stats

from pytest_tokenbench import power, statistics

MARGIN, DISCORDANCE = 0.05, 0.10


@pytest.mark.parametrize(("wanted", "questions"), [(0.80, 314), (0.90, 421)])
def test_questions_that_a_margin_of_5_points_needs(wanted, questions):
    assert abs(power.questions_needed(MARGIN, DISCORDANCE, wanted) - questions) <= 2


def test_chance_with_100_questions():
    assert power.chance(MARGIN, DISCORDANCE, 100) == pytest.approx(0.35, abs=0.01)


def test_needed_questions_are_the_least_that_suffice():
    for margin, discordance, wanted in [(0.05, 0.1, 0.8), (0.02, 0.3, 0.9), (0.1, 0.05, 0.8)]:
        needed = power.questions_needed(margin, discordance, wanted)

        assert (
            power.chance(margin, discordance, needed)
            >= wanted
            > power.chance(margin, discordance, needed - 1)
        )


@pytest.mark.parametrize(("correlation", "documents"), [(0.0, 34), (0.02, 40), (0.05, 48)])
def test_documents_of_10_questions_that_a_margin_of_5_points_needs(correlation, documents):
    assert power.documents_needed(MARGIN, DISCORDANCE, 10, correlation) == documents


def test_more_documents_than_anybody_asks_are_not_planned_for():
    assert power.documents_needed(0.0001, 1.0, 10, 0.5) is None


@pytest.mark.parametrize("documents", [2, 3, 10, 34, 500])
@pytest.mark.parametrize("correlation", [0.0, 0.05, 1.0])
def test_clustered_chance_is_that_of_scipys_noncentral_t(documents, correlation):
    error = np.sqrt(DISCORDANCE * (1 + 9 * correlation) / (10 * documents))
    expected = stats.nct.sf(stats.t.ppf(0.975, documents - 1), documents - 1, MARGIN / error)

    found = power.clustered_chance(MARGIN, DISCORDANCE, documents, 10, correlation)

    assert found == pytest.approx(expected, abs=1e-4)


def test_unequal_documents_have_the_variance_of_a_mean_of_means():
    sizes = [2, 5, 20]
    correlation = 0.1
    # Of each document's mean, as a sum of the covariances of its questions.
    each = [(m + m * (m - 1) * correlation) / m**2 for m in sizes]
    error = np.sqrt(DISCORDANCE * sum(each)) / len(sizes)
    expected = stats.nct.sf(stats.t.ppf(0.975, 2), 2, MARGIN / error)

    found = power.clustered_chance(MARGIN, DISCORDANCE, 3, power.per_document(sizes), correlation)

    assert found == pytest.approx(expected, abs=1e-4)


def chance_of_the_bootstrap(questions: int, random) -> float:
    """How often the percentile interval of a run stays above the margin, over simulated runs without a difference."""
    pairs = random.multinomial(questions, [0.05, 0.05, 0.90], size=3_000)
    outcomes, times = np.unique(pairs, axis=0, return_counts=True)
    # A question's difference is 1, -1 or 0.
    samples = [np.repeat([1.0, -1.0, 0.0], outcome) for outcome in outcomes]
    means = statistics.bootstrap_means(np.transpose(samples), resamples=2_000)
    low, _ = statistics.percentile_interval(means)
    return float(np.average(low > -MARGIN, weights=times))


@pytest.mark.parametrize(("numbers", "apart"), [([90, 95, 100, 105, 110], 0.09), ([300, 314], 0.025)])
def test_chance_is_that_of_the_interval_that_runs_compute(numbers, apart):
    """An interval moves in steps of one question, so that its chance saws up and down around the one foreseen."""
    random = default_rng(5)
    found = [chance_of_the_bootstrap(n, random) for n in numbers]
    foreseen = [power.chance(MARGIN, DISCORDANCE, n) for n in numbers]

    assert found == pytest.approx(foreseen, abs=apart)
    assert np.mean(found) == pytest.approx(np.mean(foreseen), abs=0.04)


@pytest.mark.parametrize(("documents", "correlation"), [(34, 0.0), (48, 0.05)])
def test_clustered_chance_is_that_of_the_interval_that_runs_compute(documents, correlation):
    random, runs, each = default_rng(7), 1_500, 10

    def drawn(*shape: int):
        return random.choice([-1.0, 0.0, 1.0], p=[0.05, 0.9, 0.05], size=shape)

    # Two questions that take their document's own value, each with this probability, are correlated so.
    takes = random.random((runs, documents, each)) < np.sqrt(correlation)
    differences = np.where(takes, drawn(runs, documents, 1), drawn(runs, documents, each))
    clusters = [f"document {number}" for number in range(documents) for _ in range(each)]
    passed = [statistics.clustered_t(one.ravel(), clusters).low > -MARGIN for one in differences]

    found = power.clustered_chance(MARGIN, DISCORDANCE, documents, each, correlation)

    assert np.mean(passed) == pytest.approx(found, abs=0.035)
