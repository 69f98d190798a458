"""Worked cases, oracles (scipy) and properties of the statistics.

The worked numbers were computed independently with numpy 2.4, scipy 1.17, statsmodels 0.15 and arch 8.0. Bootstrap
intervals that must agree to 1e-12 hang on the stream of numpy's `multinomial`, which a later numpy may change (NEP 19).
"""

import math

import numpy as np
import pytest
import scipy.optimize
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal

from pytest_tokenbench import statistics
from pytest_tokenbench.distributions import share_bound, student_t_quantile, unseen_bound
from pytest_tokenbench.statistics import (
    Estimate,
    Unvaried,
    benjamini_hochberg,
    bootstrap_estimate,
    bootstrap_means,
    clustered_t,
    column_means,
    discordance,
    frontier_area,
    percentile_interval,
    reaching,
    reweight,
    stratified,
    t_interval,
    widened,
)

NAN = math.nan
quick = settings(max_examples=40, deadline=None)


def signs(text):
    return np.array([{"+": 1.0, "0": 0.0, "-": -1.0}[sign] for sign in text])


def bootstrapped(values, **options):
    """Estimate and percentile interval of the mean of one column."""
    column = np.asarray(values, dtype=float)[:, None]
    samples = bootstrap_means(column, **options)[:, 0]
    return bootstrap_estimate(float(column_means(column)[0]), samples, int((~np.isnan(column)).sum()))


BINARY_A = signs("+++0++0+++0++++0++++")
BINARY_B = signs("+0+0++++0+0++0+0++0+")
F1_A = np.array([1.0, 0.8, 0.6667, 0.0, 1.0, 0.5, 0.3333, 1.0, 0.4, 0.2222, 1.0, 0.0])
F1_B = np.array([0.8, 0.8, 0.5, 0.25, 1.0, 0.0, 0.3333, 0.6667, 0.4, 0.5, 0.75, 0.0])
STRATA = {"hotpot": signs("+00-+000"), "squad": signs("00+000-00+000000+000-000")}
ARTICLES = [
    "00++00+00+", "00-+00+-00", "00000++000", "00000+0000", "00+000+000",
    "00-0000--0", "0+00000000", "0+++0000++", "0+0-0-0---", "00000+0000",
]  # fmt: skip
CLUSTERED = signs("".join(ARTICLES))
CLUSTERS = [f"art{i}" for i in range(10) for _ in range(10)]


# Worked cases


def test_multinomial_stream_is_the_registered_one():
    first, second = bootstrap_means(np.eye(20), resamples=2) * 20
    assert_allclose(first, [1, 0, 0, 0, 2, 3, 1, 1, 1, 3, 2, 0, 2, 0, 1, 0, 2, 0, 1, 0], atol=1e-12)
    assert_allclose(second, [1, 0, 0, 1, 1, 1, 1, 5, 3, 1, 1, 1, 0, 0, 1, 1, 0, 1, 0, 1], atol=1e-12)


@pytest.mark.parametrize(
    ("differences", "moments", "interval", "others", "tolerance"),
    [
        pytest.param(
            BINARY_A - BINARY_B, (0.15, 0.1066536450385077), (-0.05, 0.35),
            {"scipy, arch, exact": (-0.05, 0.35), "40 seeds": (-0.05, 0.35)}, 0.05,
            id="paired_binary_n20",
        ),
        pytest.param(
            F1_A - F1_B, (0.07685, 0.062370952885849755), (-0.04121958333333333, 0.19999166666666668),
            {"scipy, arch": (-0.041675, 0.20138333333333333), "40 seeds": (-0.0444492917, 0.2004399010)}, 0.009768,
            id="paired_f1_n12",
        ),
    ],
)  # fmt: skip
def test_paired_bootstrap_gives_the_worked_interval(differences, moments, interval, others, tolerance):
    result = bootstrapped(differences)
    mean, se = moments
    assert result.estimate == pytest.approx(mean, abs=1e-12)
    assert (result.low, result.high) == pytest.approx(interval, abs=1e-12)
    for other in others.values():
        assert (result.low, result.high) == pytest.approx(other, abs=tolerance)
    assert bootstrap_means(differences[:, None]).std() == pytest.approx(se, rel=4 / math.sqrt(2 * 10_000))


def test_binary_resamples_give_the_worked_p_value():
    samples = bootstrap_means((BINARY_A - BINARY_B)[:, None])
    worked = 0.23297670232976703
    assert 2 * (np.sum(samples <= 1e-12) + 1) / 10_001 == pytest.approx(worked, abs=1e-12)


def test_columns_share_the_draws_so_that_their_differences_are_paired():
    both = bootstrap_means(np.stack([F1_A, F1_B], axis=1))
    assert_allclose(both[:, 0] - both[:, 1], bootstrap_means((F1_A - F1_B)[:, None])[:, 0], atol=1e-12)


@pytest.mark.parametrize(
    ("a", "b", "interval", "se"),
    [
        (BINARY_A, BINARY_B, (-0.07902775687968744, 0.3790277568796874), 0.1094243309804831),
        (F1_A, F1_B, (-0.0665317160705113, 0.22023171607051129), 0.06514433566855196),
    ],
    ids=["paired_binary_n20", "paired_f1_n12"],
)
def test_t_interval_gives_the_worked_numbers(a, b, interval, se):
    result = t_interval(a - b)
    assert (result.low, result.high) == pytest.approx(interval, abs=1e-12)
    half = student_t_quantile(0.975, len(a) - 1) * se
    assert result.high - result.estimate == pytest.approx(half, abs=1e-12)


def test_no_difference_at_all_has_zero_width_and_says_so():
    result = bootstrapped(np.zeros(15))
    assert (result.estimate, result.low, result.high, result.n) == (0, 0, 0, 15)
    assert result.zero_width
    assert t_interval(np.zeros(15)).zero_width


def test_a_single_question_has_no_interval():
    for result in (bootstrapped([1.0]), bootstrapped([1.0, NAN]), t_interval([1.0])):
        assert result == Estimate(1.0, None, None, 1)
        assert not result.zero_width


def test_stratified_mean_gives_the_worked_interval():
    result = stratified(STRATA)
    assert result.estimate == pytest.approx(0.08333333333333333, abs=1e-12)
    assert (result.low, result.high) == pytest.approx((-0.14583333333333334, 0.3125), abs=1e-12)
    assert result.n == 32
    means = [column_means(STRATA[name][:, None])[0] for name in ("hotpot", "squad")]
    assert means == pytest.approx([0.125, 0.041666666666666664], abs=1e-12)
    pooled = column_means(np.concatenate(list(STRATA.values()))[:, None])[0]
    assert pooled == pytest.approx(0.0625, abs=1e-12)


def test_stratified_interval_is_near_the_normal_one_of_the_exact_standard_error():
    result = stratified(STRATA)
    assert (result.low, result.high) == pytest.approx((-0.14340089785, 0.31006556452), abs=0.0208333)
    assert (result.high - result.low) / 2 / 1.959964 == pytest.approx(0.11568285589553946, abs=0.0208333)


def test_stratified_mean_with_shares_is_the_reweighted_one_and_near_its_normal_interval():
    rng = np.random.default_rng(5)
    strata = {"few": rng.normal(1.0, 2.0, 80), "many": rng.normal(0.0, 1.0, 300)}
    shares = {"few": 0.23, "many": 0.77}
    found, expected = stratified(strata, shares), reweight(strata, shares)
    assert found.estimate == pytest.approx(expected.mean, rel=1e-12)
    half = scipy.stats.norm.ppf(0.975) * expected.se
    assert [found.low, found.high] == pytest.approx([found.estimate - half, found.estimate + half], abs=0.03)
    assert found.n == 380


@quick
@given(st.lists(st.lists(st.integers(-3, 3), min_size=2, max_size=6), min_size=1, max_size=4))
def test_equal_shares_are_those_of_a_stratified_mean_without_any(values):
    strata = {f"s{place}": np.array(its, dtype=float) for place, its in enumerate(values)}
    equal = dict.fromkeys(strata, 1 / len(strata))
    plain, shared = stratified(strata, resamples=200), stratified(strata, equal, resamples=200)
    assert_allclose(
        [plain.estimate, plain.low, plain.high], [shared.estimate, shared.low, shared.high], atol=1e-12
    )


@pytest.mark.parametrize("n", [1, 2, 10, 80, 1_000])
@pytest.mark.parametrize("level", [0.9, 0.95])
def test_the_bound_on_what_was_never_seen_is_scipy_s_exact_one(n, level):
    exact = scipy.stats.binomtest(0, n).proportion_ci(level, method="exact").high
    assert unseen_bound([n], level=level) == pytest.approx(exact, rel=1e-9)


@pytest.mark.parametrize(
    ("sizes", "weights"),
    [
        ([5, 75], [0.23, 0.77]),
        ([40, 40], [0.5, 0.5]),
        ([30, 20], [0.05, 0.95]),
        ([12, 7, 3], [0.2, 0.3, 0.5]),
        ([50, 50, 1], [0.98, 0.01, 0.01]),
    ],
)
def test_with_groups_the_bound_is_what_a_search_over_their_shares_finds(sizes, weights):
    def unseen(shares):
        return float(np.sum(sizes * np.log1p(-np.minimum(shares, 1 - 1e-12)))) - math.log(0.025)

    found = scipy.optimize.minimize(
        lambda shares: -float(np.dot(weights, shares)),
        [0.01] * len(sizes),
        bounds=[(0, 1 - 1e-9)] * len(sizes),
        constraints={"type": "ineq", "fun": unseen},
        method="SLSQP",
        options={"maxiter": 500, "ftol": 1e-12},
    )
    assert unseen_bound(sizes, weights) == pytest.approx(-found.fun, rel=1e-4)


@given(st.lists(st.integers(1, 500), min_size=1, max_size=5))
def test_groups_that_stand_for_their_sizes_are_as_good_as_one(sizes):
    weights = [size / sum(sizes) for size in sizes]
    assert unseen_bound(sizes, weights) == pytest.approx(unseen_bound([sum(sizes)]), rel=1e-9)


@given(
    st.lists(st.tuples(st.integers(1, 50), st.floats(0.01, 1)), min_size=1, max_size=5),
    st.integers(0, 4),
    st.integers(1, 50),
)
def test_more_cases_in_any_group_loosen_no_bound(groups, which, more):
    sizes = [size for size, _ in groups]
    weights = [share / sum(share for _, share in groups) for _, share in groups]
    larger = list(sizes)
    larger[which % len(sizes)] += more
    assert unseen_bound(larger, weights) <= unseen_bound(sizes, weights) + 1e-12


def test_an_interval_without_width_is_widened_within_its_scale_and_stays_flagged():
    assert widened(Estimate(0.0, 0.0, 0.0, 9), 0.2) == Unvaried(0.0, -0.2, 0.2, 9)
    assert widened(Estimate(1.0, 1.0, 1.0, 9), 0.2) == Unvaried(1.0, 0.8, 1.0, 9)
    assert widened(Estimate(0.0, 0.0, 0.0, 9), 0.2, low=0.0) == Unvaried(0.0, 0.0, 0.2, 9)
    assert widened(Estimate(0.0, 0.0, 0.0, 9), 0.2).zero_width
    for one in (Estimate(0.1, 0.0, 0.2, 9), Estimate(0.1, None, None, 1)):
        assert widened(one, 0.5) is one


def test_an_upper_end_is_raised_to_the_least_and_brought_down_to_the_most_that_there_can_be():
    assert reaching(Estimate(-0.1, -0.3, 0.0, 9), 0.2) == Estimate(-0.1, -0.3, 0.2, 9)
    assert reaching(Unvaried(0.1, 0.0, 0.4, 9), 0.2, 0.3) == Unvaried(0.1, 0.0, 0.3, 9)
    for one in (Estimate(0.1, 0.0, 0.2, 9), Estimate(0.1, None, None, 1)):
        assert reaching(one, 0.2) == one


@given(n=st.integers(1, 400), level=st.sampled_from([0.8, 0.95, 0.99]), data=st.data())
def test_the_bound_on_a_share_is_the_upper_end_of_scipy_s_exact_interval(n, level, data):
    seen = data.draw(st.integers(0, n))
    exact = scipy.stats.beta.ppf(1 - (1 - level) / 2, seen + 1, n - seen) if seen < n else 1.0
    assert share_bound(seen, n, level) == pytest.approx(exact, rel=1e-9)
    assert share_bound(0, n, level) == pytest.approx(unseen_bound([n], level=level), rel=1e-9)


@given(n=st.integers(1, 400), count=st.floats(0, 1), more=st.floats(0, 1))
def test_the_bound_on_a_share_rises_with_the_count_between_whole_numbers_too(n, count, more):
    first, second = sorted((count * n, more * n))
    assert first / n <= share_bound(first, n) <= share_bound(second, n) + 1e-9


def test_clustered_interval_gives_the_worked_numbers():
    result = clustered_t(CLUSTERED, CLUSTERS)
    assert (result.estimate, result.n) == (pytest.approx(0.09, abs=1e-10), 10)
    assert (result.low, result.high) == pytest.approx((-0.10792977472713977, 0.28792977472713976), abs=1e-10)
    se = (result.high - result.estimate) / student_t_quantile(0.975, 9)
    assert se == pytest.approx(0.0874960316560446, abs=1e-10)


def test_bootstrap_of_cluster_means_gives_the_worked_interval():
    result = bootstrapped(CLUSTERED.reshape(10, 10).mean(axis=1))
    assert (result.low, result.high) == pytest.approx((-0.08, 0.25), abs=1e-10)
    assert (result.low, result.high) == pytest.approx((-0.0775, 0.24700625), abs=0.036199)


def test_bootstrap_of_questions_ignores_the_clusters():
    result = bootstrapped(CLUSTERED)
    assert (result.low, result.high) == pytest.approx((-0.01, 0.2), abs=1e-10)
    half = (t_interval(CLUSTERED).high or NAN) - 0.09
    assert half / student_t_quantile(0.975, 99) == pytest.approx(0.05336173486192843, abs=1e-10)


@pytest.mark.parametrize(
    ("p", "adjusted", "reject"),
    [
        pytest.param(
            [0.039, 0.001, 0.205, 0.008, 0.06, 0.041, 0.042, 0.074],
            [0.0672, 0.008, 0.205, 0.032, 0.08, 0.0672, 0.0672, 0.08457142857142856], [1, 3],
            id="bh_8_unsorted",
        ),
        pytest.param(
            [1.0, 0.0, 0.05, 0.05, 0.5, 0.5], [1.0, 0.0, 0.1, 0.1, 0.6, 0.6], [1],
            id="bh_ties_extremes",
        ),
    ],
)  # fmt: skip
def test_benjamini_hochberg_gives_the_worked_values(p, adjusted, reject):
    assert_allclose(benjamini_hochberg(p), adjusted, atol=1e-12)
    assert np.flatnonzero(benjamini_hochberg(p) <= 0.05).tolist() == reject


@pytest.mark.parametrize(
    ("r", "f", "area", "normalized"),
    [
        ([1.0, 0.1, 0.5, 0.25, 0.05], [0.86, 0.62, 0.84, 0.8, 0.4], 0.762, 0.8021052631578948),
        ([0.05, 0.1, 0.2, 0.4, 1.0], [0.5, 0.7, 0.65, 0.85, 0.8], 0.7425, 0.781578947368421),
    ],
    ids=["area_5_points_unsorted", "area_nonmonotone"],
)
def test_frontier_area_gives_the_worked_areas(r, f, area, normalized):
    assert frontier_area(r, f) == pytest.approx(area, abs=1e-12)
    assert frontier_area(r, f, normalized=True) == pytest.approx(normalized, abs=1e-12)


def test_reweighting_three_slices_gives_the_worked_numbers():
    scores = {"answerable": [1, 1, 0, 1, 1, 1], "unanswerable": [0, 1], "multi_hop": [1, 0, 0, 1]}
    result = reweight(scores, {"answerable": 0.6, "unanswerable": 0.3, "multi_hop": 0.1})
    assert result.mean == pytest.approx(0.7, abs=1e-12)
    assert result.covered_share == pytest.approx(1, abs=1e-12)
    assert result.se == pytest.approx(0.18257418583505539, abs=1e-12)
    assert result.effective_n == pytest.approx(9.302325581395346, abs=1e-12)


@pytest.mark.parametrize("nothing", [None, [], [NAN, NAN]], ids=["None", "empty", "NaN"])
def test_reweighting_names_the_share_that_a_slice_without_data_leaves(nothing):
    scores = {"answerable": [1, 1, 0, 1], "unanswerable": nothing, "multi_hop": [1, 0]}
    result = reweight(scores, {"answerable": 0.5, "unanswerable": 0.3, "multi_hop": 0.2})
    assert result.mean == pytest.approx(0.6785714285714286, abs=1e-12)
    assert result.covered_share == pytest.approx(0.7, abs=1e-12)
    assert result.se == pytest.approx(0.2286830084797446, abs=1e-12)
    assert result.effective_n == pytest.approx(5.939393939393939, abs=1e-12)


# Oracles


def endpoint_error(samples):
    """Four standard deviations of the difference of a 2.5% endpoint between two runs of as many resamples."""
    return 15 / math.sqrt(len(samples)) * samples.std(axis=0)


@pytest.mark.parametrize("n", [40, 1_500], ids=["plain", "above 1,000 rows"])
def test_paired_interval_agrees_with_scipy(n):
    rng = np.random.default_rng(5)
    a = rng.beta(2, 1, n)
    b = np.clip(a + rng.normal(-0.05, 0.2, n), 0, 1)
    samples = bootstrap_means(np.stack([a, b], axis=1), seed=1)
    ours = samples[:, 0] - samples[:, 1]
    scipys = scipy.stats.bootstrap(
        (a, b),
        lambda a, b, axis: np.mean(a - b, axis=axis),
        paired=True,
        method="percentile",
        n_resamples=10_000,
        batch=500,
        rng=rng,
    ).confidence_interval
    assert percentile_interval(ours) == pytest.approx((scipys.low, scipys.high), abs=endpoint_error(ours))


def test_paired_ratio_agrees_with_scipy():
    rng = np.random.default_rng(6)
    tokens = np.stack([rng.integers(2_000, 9_000, 60), rng.integers(100, 900, 60)], axis=1).astype(float)
    samples = bootstrap_means(tokens)
    ours = 1 - samples[:, 1] / samples[:, 0]
    scipys = scipy.stats.bootstrap(
        (tokens[:, 0], tokens[:, 1]),
        lambda a, b, axis: 1 - b.mean(axis) / a.mean(axis),
        paired=True,
        method="percentile",
        n_resamples=10_000,
        rng=rng,
    ).confidence_interval
    assert percentile_interval(ours) == pytest.approx((scipys.low, scipys.high), abs=endpoint_error(ours))


@pytest.mark.parametrize("df", [1, 1.5, 2, 3, 4, 5, 7, 9, 10, 19, 29, 61.3, 99, 499, 1_000, 1e4, 1e5, 1e6])
def test_student_t_quantile_agrees_with_scipy(df):
    p = np.concatenate(
        [[1e-12, 1e-8, 1e-4], np.linspace(0.001, 0.999, 75), [0.4999, 0.5001, 0.9999, 1 - 1e-8]]
    )
    ours = [student_t_quantile(float(value), df) for value in p]
    assert_allclose(ours, scipy.stats.t.ppf(p, df), rtol=1e-8 if df > 1e4 else 1e-10, atol=1e-12)


def test_student_t_quantile_of_a_far_tail_agrees_with_the_cauchy_law():
    assert student_t_quantile(1e-100, 1) == pytest.approx(-1e100 / math.pi, rel=1e-12)


def test_t_interval_agrees_with_scipy():
    values = np.random.default_rng(7).normal(3, 2, 37)
    scipys = scipy.stats.ttest_1samp(values, 0).confidence_interval(0.9)
    ours = t_interval(values, level=0.9)
    assert (ours.low, ours.high) == pytest.approx((scipys.low, scipys.high), rel=1e-10)


p_values = arrays(float, st.integers(1, 30), elements=st.floats(0, 1))


@quick
@given(p_values)
def test_benjamini_hochberg_agrees_with_scipy(p):
    assert_allclose(benjamini_hochberg(p), scipy.stats.false_discovery_control(p), rtol=1e-12, atol=1e-300)


# The law of the draws


def rows(kind, n=3_000):
    """A table of `n` rows whose first two columns are correlated."""
    rng = np.random.default_rng(8)
    if kind == "distinct":
        first = rng.normal(size=n)
        return np.stack([first, first + rng.normal(size=n), rng.exponential(size=n)], axis=1)
    table = (rng.random((n, 3)) < rng.random((n, 1))).astype(float)
    if kind == "mixed":
        table[: n // 3, 2] = rng.random(n // 3)
    return table


@pytest.mark.parametrize("kind", ["repeated", "mixed", "distinct"])
def test_above_1000_rows_resamples_have_the_exact_moments_of_the_bootstrap(kind):
    table = rows(kind)
    samples = bootstrap_means(table)
    exact = np.cov(table.T, ddof=0) / len(table)
    se = np.sqrt(np.diag(exact))
    assert_allclose(samples.mean(axis=0), table.mean(axis=0), atol=4 * se.max() / 100)
    assert_allclose(
        np.cov(samples.T) / np.outer(se, se), exact / np.outer(se, se), atol=4 * math.sqrt(2 / 10_000)
    )


@pytest.mark.parametrize("kind", ["repeated", "mixed", "distinct"])
def test_above_1000_rows_endpoints_agree_with_the_plain_stream(kind, monkeypatch):
    table = rows(kind, n=1_100)
    table[::5, 1] = NAN
    ours = percentile_interval(bootstrap_means(table, resamples=3_000, seed=3))
    monkeypatch.setattr(statistics, "_PLAIN_ROWS", len(table))
    plain = bootstrap_means(table, resamples=3_000, seed=4)
    assert_allclose(
        np.array(ours), percentile_interval(plain), atol=(1 / 1_100 + endpoint_error(plain)).max()
    )


def test_rare_rows_are_drawn_as_often_as_frequent_ones():
    table = np.zeros((1_500, 3))
    table[:500, 0] = 1
    table[500:1_000, 1] = np.arange(500)
    table[500:1_000, 2] = 1
    samples = bootstrap_means(table)
    third = math.sqrt(2 / 9 / 1_500)
    assert_allclose(samples[:, [0, 2]].mean(axis=0), 1 / 3, atol=4 * third / 100)
    assert_allclose(samples[:, [0, 2]].std(axis=0), third, rtol=4 / math.sqrt(20_000))


def test_frequency_split_keeps_every_row_once():
    table = rows("mixed")
    common, rare, shares = statistics._split_by_frequency(table)
    assert len(common) + 1 == len(shares)
    assert shares.sum() == pytest.approx(1, abs=1e-12)
    assert shares[-1] * len(table) == pytest.approx(len(rare), abs=1e-9)
    assert_allclose((shares[:-1] @ common) * len(table) + rare.sum(axis=0), table.sum(axis=0))


def test_resamples_without_a_measured_row_are_nan_and_left_out_of_the_interval():
    samples = bootstrap_means([[1.0, NAN], [NAN, NAN], [2.0, NAN]])
    assert np.isnan(samples[:, 0]).mean() == pytest.approx(1 / 27, abs=4 * math.sqrt(1 / 27 / 10_000))
    assert np.isnan(samples[:, 1]).all()
    low, high = percentile_interval(samples)
    assert (low[0], high[0]) == (1.0, 2.0)
    assert np.isnan([low[1], high[1]]).all()
    assert bootstrap_estimate(NAN, samples[:, 1], 2).low is None


def test_mean_of_a_resample_is_over_its_measured_rows():
    values = np.array([1.0, 5.0, NAN, 2.0, NAN, 8.0])
    counts = bootstrap_means(np.eye(6), resamples=50) * 6
    measured = ~np.isnan(values)
    expected = (counts[:, measured] @ values[measured]) / counts[:, measured].sum(axis=1)
    assert_allclose(bootstrap_means(values[:, None], resamples=50)[:, 0], expected)


@pytest.mark.parametrize("kind", ["repeated", "mixed", "distinct"])
def test_the_same_seed_gives_the_same_resamples_and_another_seed_others(kind):
    table = rows(kind, n=1_100)
    first = bootstrap_means(table, resamples=20, seed=1)
    assert_array_equal(first, bootstrap_means(table, resamples=20, seed=1))
    assert not np.array_equal(first, bootstrap_means(table, resamples=20, seed=2))


# Properties

finite = st.floats(-1e3, 1e3).map(lambda value: round(value, 3))
columns = arrays(float, st.integers(2, 25), elements=finite)


@quick
@given(columns, st.floats(-50, 50), st.floats(-50, 50))
def test_bootstrap_is_equivariant_under_scaling_and_shifting(values, scale, shift):
    samples = bootstrap_means(values[:, None], resamples=100)
    moved = bootstrap_means(scale * values[:, None] + shift, resamples=100)
    assert_allclose(moved, scale * samples + shift, rtol=1e-9, atol=1e-7)


@quick
@given(columns)
def test_interval_lies_within_the_data_and_widens_with_the_level(values):
    samples = bootstrap_means(values[:, None], resamples=200)
    (low,), (high,) = percentile_interval(samples)
    (low_80,), (high_80,) = percentile_interval(samples, level=0.8)
    slack = 1e-9
    assert values.min() - slack <= low <= low_80 <= high_80 <= high <= values.max() + slack


@quick
@given(finite, st.integers(2, 1_500))
def test_constant_values_have_zero_width(value, n):
    values = np.full((n, 1), value)
    assert bootstrap_estimate(value, bootstrap_means(values, resamples=50)[:, 0], n).zero_width
    assert t_interval(values[:, 0]).zero_width


@quick
@given(columns, st.randoms(use_true_random=False))
def test_point_estimates_do_not_depend_on_the_order_of_questions(values, random):
    order = random.sample(range(len(values)), len(values))
    clusters = [f"document {i % 3}" for i in range(len(values))]
    assert_allclose(column_means(values[order, None]), column_means(values[:, None]), atol=1e-9)
    assert_allclose(t_interval(values[order]).estimate, t_interval(values).estimate, atol=1e-9)
    shuffled = clustered_t(values[order], [clusters[i] for i in order])
    assert_allclose(shuffled.estimate, clustered_t(values, clusters).estimate, atol=1e-9)


@quick
@given(columns, st.data())
def test_unmeasured_questions_count_as_absent_ones(values, data):
    absent = data.draw(arrays(bool, len(values)).filter(lambda mask: not mask.all()))
    with_nan, without = np.where(absent, NAN, values), values[~absent]
    clusters = np.array([f"document {i % 3}" for i in range(len(values))])
    assert_allclose(column_means(with_nan[:, None]), column_means(without[:, None]), atol=1e-9)
    assert t_interval(with_nan) == t_interval(without)
    kept = clustered_t(without, clusters[~absent].tolist())
    dropped = clustered_t(with_nan, clusters.tolist())
    assert (dropped.n, dropped.estimate) == (kept.n, pytest.approx(kept.estimate, abs=1e-9))
    assert discordance(with_nan, values + 1) == 1


@quick
@given(st.dictionaries(st.text(max_size=3), columns, min_size=1, max_size=3))
def test_stratified_mean_weighs_strata_equally_in_any_order(strata):
    result = stratified(strata, resamples=50)
    assert result.estimate == pytest.approx(np.mean([s.mean() for s in strata.values()]), abs=1e-9)
    assert result == stratified(dict(reversed(strata.items())), resamples=50)
    assert result.n == sum(s.size for s in strata.values())


@quick
@given(p_values)
def test_adjusted_p_values_are_at_least_the_raw_ones_and_keep_their_order(p):
    adjusted = benjamini_hochberg(p)
    assert (adjusted >= p).all()
    assert (adjusted <= 1).all()
    assert (np.diff(adjusted[np.argsort(p)]) >= 0).all()


@quick
@given(p_values, st.data())
def test_a_larger_p_value_makes_no_adjusted_one_smaller(p, data):
    i = data.draw(st.integers(0, len(p) - 1))
    larger = p.copy()
    larger[i] = data.draw(st.floats(p[i], 1))
    assert (benjamini_hochberg(larger) >= benjamini_hochberg(p) * (1 - 1e-12)).all()


@quick
@given(
    st.lists(st.tuples(st.integers(0, 9), st.floats(0, 1)), min_size=2).filter(lambda ps: len(dict(ps)) > 1),
    st.randoms(use_true_random=False),
)
def test_area_does_not_depend_on_the_order_and_its_mean_height_lies_within_the_heights(points, random):
    shuffled = random.sample(points, len(points))
    assert frontier_area(*zip(*points, strict=True)) == frontier_area(*zip(*shuffled, strict=True))
    height = frontier_area(*zip(*points, strict=True), normalized=True)
    heights = [f for _, f in points]
    assert min(heights) - 1e-12 <= height <= max(heights) + 1e-12


@quick
@given(st.floats(0.01, 0.99), st.floats(0.01, 0.99), st.integers(1, 1_000))
def test_student_t_quantile_rises_with_p_and_is_symmetric(p, q, df):
    assert (student_t_quantile(p, df) <= student_t_quantile(q, df)) == (p <= q) or math.isclose(p, q)
    assert student_t_quantile(p, df) == pytest.approx(-student_t_quantile(1 - p, df), rel=1e-9, abs=1e-12)


@quick
@given(st.lists(st.sampled_from([0.0, 1.0]), min_size=2, max_size=20))
def test_reweighting_by_the_sample_shares_is_the_plain_mean(scores):
    half = len(scores) // 2
    shares = {"first": half / len(scores), "second": 1 - half / len(scores)}
    result = reweight({"first": scores[:half], "second": scores[half:]}, shares)
    assert result.mean == pytest.approx(np.mean(scores), abs=1e-12)
    assert result.effective_n == pytest.approx(len(scores), rel=1e-12)


# Edges and errors


def test_identical_columns_differ_by_zero_width_even_after_rounding():
    assert Estimate(0.0, -1e-17, 1e-17, 10).zero_width
    assert not Estimate(0.0, -1e-6, 1e-6, 10).zero_width


def test_discordance_leaves_out_pairs_with_nan():
    assert discordance([1, 0, NAN, 1], [1, 1, 1, NAN]) == 0.5
    assert discordance(BINARY_A, BINARY_B) == 0.25


def test_a_single_document_has_no_interval():
    assert clustered_t([1.0, 0.0], ["d", "d"]) == Estimate(0.5, None, None, 1)


def test_documents_weigh_equally_whatever_their_number_of_questions():
    assert clustered_t([1, 1, 1, 0], ["d", "d", "d", "e"]).estimate == 0.5


def test_a_stratum_of_one_question_leaves_no_interval():
    assert stratified({"a": [1.0], "b": [0.0, 1.0]}) == Estimate(0.75, None, None, 3)


def test_a_slice_with_a_single_score_leaves_no_standard_error():
    result = reweight({"a": [1.0], "b": [0.0, 1.0]}, {"a": 0.5, "b": 0.5})
    assert (result.mean, result.se) == (0.75, None)


def test_points_at_one_position_stand_in_the_order_of_their_heights():
    assert frontier_area([0, 1, 1, 2], [0, 3, 1, 3]) == frontier_area([0, 1, 1, 2], [0, 1, 3, 3]) == 3.5


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: bootstrap_means([1.0, 2.0]), r"shape \(questions, columns\).*got \(2,\)"),
        (lambda: bootstrap_means(np.empty((0, 3))), r"both at least 1, got \(0, 3\)"),
        (lambda: bootstrap_means([[math.inf]]), "values are finite"),
        (lambda: percentile_interval([1.0], level=95), "level lies between 0 and 1, got 95"),
        (lambda: t_interval([NAN]), "values: nothing was measured"),
        (lambda: t_interval([1.0, math.inf]), "values: one dimension of finite values"),
        (lambda: clustered_t([1.0, 2.0], ["d"]), "2 values for 1 cluster names"),
        (lambda: stratified({}), "no stratum"),
        (lambda: stratified({"a": [1.0], "b": [NAN]}), "stratum 'b': nothing was measured"),
        (lambda: discordance([1.0], [1.0, 2.0]), "pairs of 1 and 2 values"),
        (lambda: discordance([NAN], [1.0]), "pairs: nothing was measured"),
        (lambda: benjamini_hochberg([0.5, NAN]), "from 0 to 1"),
        (lambda: benjamini_hochberg([1.5]), "from 0 to 1"),
        (lambda: frontier_area([1.0, 1.0], [0.0, 1.0]), "two distinct positions"),
        (lambda: frontier_area([1.0, NAN], [0.0, 1.0]), "as many finite heights as positions"),
        (lambda: reweight({"a": [1.0]}, {"b": 1.0}), r"slices \['a'\] for the target shares of \['b'\]"),
        (lambda: reweight({"a": [1.0]}, {"a": 0.9}), "add up to 1"),
        (lambda: reweight({"a": [1.0], "b": [1.0]}, {"a": 1.5, "b": -0.5}), "non-negative"),
        (lambda: reweight({"a": None}, {"a": 1.0}), "no slice with a target share has data"),
        (lambda: unseen_bound([]), "groups have a size and a weight each"),
        (lambda: share_bound(-1, 3), "a count from 0 to n is needed"),
        (lambda: share_bound(4, 3), "a count from 0 to n is needed"),
        (lambda: share_bound(0, 0), "an n of 1 or more"),
        (lambda: unseen_bound([0]), "groups have a size and a weight each"),
        (lambda: unseen_bound([3, 4], [1.0]), "groups have a size and a weight each"),
        (lambda: unseen_bound([3, 4], [1.0, 0.0]), "groups have a size and a weight each"),
        (lambda: stratified({"a": [1, 2]}, {"b": 1.0}), r"weights of \['b'\] for the strata \['a'\]"),
        (lambda: stratified({"a": [1, 2]}, {"a": 0.5}), "add up to 1"),
        (lambda: student_t_quantile(0.5, 0), "degrees of freedom are needed, got 0"),
        (lambda: student_t_quantile(1.0, 5), "probability from 1e-100 to below 1 is needed, got 1.0"),
    ],
)
def test_input_without_an_answer_is_a_value_error_that_says_why(call, message):
    with pytest.raises(ValueError, match=message):
        call()
