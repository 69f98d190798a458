"""The order of trials: cold ones avoid their predecessor's document, shared ones stay with it, none is lost."""

import time
from collections import Counter
from itertools import groupby, pairwise

import pytest
import scripted
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_tokenbench.scheduling import Order, TrialKey, arrange

quick = settings(max_examples=100, deadline=None)
FAMILIES = {"A": "A", "B2": "chunks", "C": "C", "B4": "chunks"}


def asked(*counts):
    """So many questions on each of the documents d0, d1, ..., taking turns in the file."""
    names = [(document, place) for document, count in enumerate(counts) for place in range(count)]
    names.sort(key=lambda name: name[1])
    return [scripted.question(f"d{document}-q{place}", document=f"d{document}") for document, place in names]


def document(key):
    return key.question.split("-")[0]


sizes = st.lists(st.integers(1, 9), min_size=1, max_size=6)
families = st.integers(1, 4).map(lambda count: dict(list(FAMILIES.items())[:count]))


@quick
@given(sizes, families, st.sampled_from(Order))
def test_every_trial_comes_exactly_once(counts, names, order):
    questions = asked(*counts)
    arranged = arrange(names, questions, order)
    assert Counter(arranged) == Counter(TrialKey(name, one.id) for name in names for one in questions)


class TestCold:
    @quick
    @given(sizes, families)
    def test_a_document_follows_itself_only_where_it_has_more_than_half_of_the_trials(self, counts, names):
        arranged = arrange(names, asked(*counts), Order.COLD)
        repeats = sum(document(one) == document(other) for one, other in pairwise(arranged))
        most = max(counts) * len(names)
        others = len(arranged) - most
        # So many of the most frequent one do not find another to come between.
        assert repeats == max(0, most - others - 1)

    def test_with_one_document_it_cannot_be_avoided(self):
        assert len(arrange({"A": "A"}, asked(3), Order.COLD)) == 3

    @pytest.mark.parametrize("counts", [(10,) * 10, (4, 3, 3), (8, 1, 1, 6)])
    def test_an_order_is_the_same_each_time(self, counts):
        assert arrange(FAMILIES, asked(*counts), Order.COLD) == arrange(FAMILIES, asked(*counts), Order.COLD)


class TestShared:
    def test_goes_document_by_document_and_condition_by_condition_a_family_question_by_question(self):
        arranged = arrange(FAMILIES, asked(2, 1), Order.SHARED)
        assert [str(key) for key in arranged] == [
            "A-d0-q0", "A-d0-q1",
            "B2-d0-q0", "B4-d0-q0", "B2-d0-q1", "B4-d0-q1",
            "C-d0-q0", "C-d0-q1",
            "A-d1-q0",
            "B2-d1-q0", "B4-d1-q0",
            "C-d1-q0",
        ]  # fmt: skip

    @quick
    @given(sizes, families)
    def test_trials_of_one_document_and_family_follow_each_other(self, counts, names):
        arranged = arrange(names, asked(*counts), Order.SHARED)
        groups = [group for group, _ in groupby((document(key), names[key.condition]) for key in arranged)]
        assert len(groups) == len(set(groups)) == len(counts) * len(set(names.values()))


@pytest.mark.parametrize("order", Order)
def test_seventy_thousand_trials_are_arranged_in_seconds(order):
    questions = asked(*[10] * 1000)
    names = {f"C{i}": f"C{i}" for i in range(7)}
    start = time.perf_counter()
    assert len(arrange(names, questions, order)) == 70_000
    assert time.perf_counter() - start < 10


def test_nothing_to_run_is_no_trial():
    assert arrange({}, asked(2), Order.COLD) == []
    assert arrange({"A": "A"}, [], Order.SHARED) == []
