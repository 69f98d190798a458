"""The selector's share of the oracle's saving: by hand, and never above 1 whatever it keeps."""

import made_ablation as made
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from pytest_tokenbench.ablation import selector
from pytest_tokenbench.ablation.selector import savings
from pytest_tokenbench.results import Unavailable

SHAPE = st.tuples(st.integers(1, 6), st.integers(1, 6))


@given(st.data())
def test_what_is_recovered_is_never_above_the_ceiling(data):
    shape = data.draw(SHAPE)
    tokens = data.draw(arrays(float, shape, elements=st.floats(0, 5_000)))
    oracle = data.draw(arrays(bool, shape))
    kept = data.draw(arrays(bool, shape))
    both, ceiling = savings(tokens, oracle, kept)
    assert np.all(both >= 0)
    assert np.all(both <= ceiling)
    assert both.sum() <= ceiling.sum()


@settings(max_examples=15, deadline=None)
@given(
    scores=st.lists(
        st.tuples(st.floats(0, 20), st.floats(0, 20), st.floats(0, 20)).map(
            lambda its: tuple(sorted(its, reverse=True))
        ),
        min_size=4,
        max_size=4,
    ),
    ranks=st.lists(st.sampled_from([None, 1, 2, 3]), min_size=4, max_size=4),
    block=st.lists(st.integers(-3, 400), min_size=4, max_size=4),
)
def test_neither_share_nor_interval_of_a_run_leaves_0_to_1(scores, ranks, block):
    names = made.MAIN[:4]
    its = {name: {"passages": its} for name, its in zip(names, scores, strict=True)}
    plan = made.ablation(scores=its)
    asked = [made.replace_rank(made.question(name), rank) for name, rank in zip(names, ranks, strict=True)]
    sizes = dict(zip(names, block, strict=True))
    results = made.told(
        plan, asked, lambda *_: True, lambda case, arm: 500 - sizes[case.id] * (arm.id == "no-passages")
    )
    for arm in selector.arms(results):
        try:
            found = selector.recovered(results, arm)
        except Unavailable:
            continue
        for end in (found.estimate, found.low, found.high):
            assert end is None or 0 <= end <= 1 + 1e-12


def test_by_hand():
    # Passages of 10, 12 and 14 words score 10, 8 and 3. The oracle leaves out by case: rank 1 (18): 12 + 14; rank 2
    # (12): 14; no gold (10): 36. In all 18 * 26 + 12 * 14 + 10 * 36 = 996. From 5 on two are kept, 14 left out in each
    # case, and all of them by the oracle too: 40 * 14 = 560. From 9 on one is kept and 26 left out, of which 12 are gold
    # in the cases of rank 2: 18 * 26 + 12 * 14 + 10 * 26 = 896.
    results = made.run()
    low, high = (results.recovered(arm) for arm in ("select-5", "select-9"))
    assert low.estimate == pytest.approx(560 / 996)
    assert high.estimate == pytest.approx(896 / 996)
    # What that costs: the cases of rank 2 under the higher score.
    assert results.drop("select-5").estimate == 0
    assert results.drop("select-9").estimate == pytest.approx(12 / 40)


def test_a_selector_that_keeps_everything_recovers_nothing():
    its = {case: {"passages": (99.0, 98.0, 97.0)} for case in made.MAIN}
    results = made.told(
        made.ablation(scores=its),
        [made.question(case) for case in made.MAIN],
        lambda *_: True,
        lambda _case, arm: 100 - 36 * (arm.id == "no-passages"),
    )
    assert results.recovered("select-9").estimate == 0


def test_where_the_oracle_saves_nothing_there_is_no_share():
    asked = [made.replace_rank(made.question(case), 3) for case in made.MAIN]
    results = made.told(
        made.ablation(),
        asked,
        lambda _case, arm: arm.id != "no-passages",
        lambda _case, arm: 100 - 36 * (arm.id == "no-passages"),
    )
    with pytest.raises(Unavailable, match="the oracle leaves no passage out"):
        results.recovered("select-9")


def test_an_arm_that_was_not_asked_has_no_share():
    results = made.told(
        made.ablation(),
        [made.question(case) for case in made.MAIN],
        lambda _case, arm: None if arm.id == "select-9" else True,
        lambda _case, arm: 100 - 36 * (arm.id == "no-passages"),
    )
    with pytest.raises(Unavailable, match="condition select-9 was not measured"):
        results.recovered("select-9")


def test_an_arm_that_selects_nothing_and_an_unknown_one_are_the_authors_mistakes():
    results = made.run(until=0)
    with pytest.raises(ValueError, match="no-tail selects nothing"):
        results.recovered("no-tail")
    with pytest.raises(ValueError, match="the study has no arm 'select-7'"):
        results.recovered("select-7")
