"""The order of trials: cold ones avoid their predecessor's document, shared ones stay with it, none is lost.

What trials are expected to cost, and that shards are disjoint parts of about equal cost.
"""

import os
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from itertools import groupby, pairwise

import pytest
import scripted
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_tokenbench.scheduling import PROMPT_TOKENS, Layout, Order, TrialKey, arrange, select

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
@given(sizes, families, st.sampled_from(Order), st.integers(1, 3))
def test_every_trial_comes_exactly_once_a_repeat(counts, names, order, repeats):
    questions = asked(*counts)
    arranged = arrange(names, questions, order, repeats)
    assert Counter(arranged) == Counter(
        TrialKey(name, one.id, repeat) for name in names for one in questions for repeat in range(repeats)
    )


@quick
@given(sizes, families, st.sampled_from(Order))
def test_repeats_of_a_trial_have_the_others_of_its_group_between_them(counts, names, order):
    places = {key: place for place, key in enumerate(arrange(names, asked(*counts), order, 3))}
    for key, place in places.items():
        if key.repeat:
            earlier = places[TrialKey(key.condition, key.question, key.repeat - 1)]
            between = [
                other
                for other, where in places.items()
                if earlier < where < place
                and document(other) == document(key)
                and names[other.condition] == names[key.condition]
            ]
            members = sum(names[name] == names[key.condition] for name in names)
            assert len(between) == counts[int(document(key)[1:])] * members - 1


@quick
@given(sizes, st.sampled_from(Order), st.integers(1, 2))
def test_later_stages_come_after_all_of_those_before(counts, order, repeats):
    names = {name: name for name in ("base", "late", "no-a", "last")}
    stages = {"late": 1, "last": 2}
    arranged = arrange(names, asked(*counts), order, repeats, stages=stages)
    at = [stages.get(key.condition, 0) for key in arranged]
    assert at == sorted(at)
    assert len(arranged) == 4 * sum(counts) * repeats


def test_in_shared_order_what_is_read_together_follows_each_other_arm_by_arm():
    questions = asked(1, 1, 1)
    arranged = arrange(
        {"base": "base", "no-a": "no-a"},
        questions,
        Order.SHARED,
        together=dict.fromkeys((q.id for q in questions), "set"),
    )
    assert [key.condition for key in arranged] == ["base"] * 3 + ["no-a"] * 3


class TestIds:
    def test_the_first_time_has_the_id_that_it_has_without_repeats(self):
        assert str(TrialKey("D25", "harrow-q03")) == "D25-harrow-q03"

    def test_each_further_time_tells_which_it_is(self):
        ids = [str(TrialKey("D25", "harrow-q03", repeat)) for repeat in (1, 2, 11)]
        assert ids == ["D25-harrow-q03-r2", "D25-harrow-q03-r3", "D25-harrow-q03-r12"]


class TestCold:
    @quick
    @given(sizes, families, st.integers(1, 3))
    def test_a_document_follows_itself_only_where_it_has_more_than_half_of_the_trials(
        self, counts, names, times
    ):
        arranged = arrange(names, asked(*counts), Order.COLD, times)
        repeats = sum(document(one) == document(other) for one, other in pairwise(arranged))
        most = max(counts) * len(names) * times
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

    def test_a_family_is_asked_again_when_it_has_been_asked(self):
        arranged = arrange({"B2": "chunks", "B4": "chunks"}, asked(2), Order.SHARED, 2)
        assert [str(key) for key in arranged] == [
            "B2-d0-q0", "B4-d0-q0", "B2-d0-q1", "B4-d0-q1",
            "B2-d0-q0-r2", "B4-d0-q0-r2", "B2-d0-q1-r2", "B4-d0-q1-r2",
        ]  # fmt: skip

    @quick
    @given(sizes, families, st.integers(1, 3))
    def test_trials_of_one_document_and_family_follow_each_other(self, counts, names, repeats):
        arranged = arrange(names, asked(*counts), Order.SHARED, repeats)
        groups = [group for group, _ in groupby((document(key), names[key.condition]) for key in arranged)]
        assert len(groups) == len(set(groups)) == len(counts) * len(set(names.values()))


@pytest.mark.parametrize("order", Order)
def test_of_seventy_thousand_trials_each_is_arranged_once(order):
    questions = asked(*[10] * 1000)
    names = {f"C{i}": f"C{i}" for i in range(7)}
    arranged = arrange(names, questions, order)
    assert len(set(arranged)) == len(arranged) == 70_000


def test_nothing_to_run_is_no_trial():
    assert arrange({}, asked(2), Order.COLD) == []
    assert arrange({"A": "A"}, [], Order.SHARED) == []


WORDS = {"A": 1000, "B2": 100, "C": 200, "B4": 250}


def layout(order, questions, names, words=WORDS):
    """Of documents d0, d1, ...: the n-th has n + 1 times the words."""
    return Layout(
        order=order,
        documents={one.id: one.document for one in questions},
        families=names,
        words={
            (name, one.document): words[name] * (int(one.document[1:]) + 1)
            for name in names
            for one in questions
        },
        shared={"A", "C"},
    )


class TestEstimates:
    def fresh(self, order, *counts, repeats=1, done=()):
        """What each trial reads beside its prompt, by id."""
        questions = asked(*counts)
        trials = arrange(FAMILIES, questions, order, repeats)
        found = layout(order, questions, FAMILIES).estimated_tokens(trials, done)
        assert list(found) == trials
        return {str(key): tokens - PROMPT_TOKENS for key, tokens in found.items()}

    def test_in_cold_order_each_trial_reads_its_whole_context(self):
        found = self.fresh(Order.COLD, 2, 1)
        assert [found[name] for name in ("A-d0-q0", "A-d0-q1", "A-d1-q0")] == [1400, 1400, 2800]
        assert [found[name] for name in ("B2-d0-q0", "B4-d0-q0", "C-d0-q1")] == [140, 350, 280]

    def test_in_shared_order_one_context_of_a_document_is_read_once(self):
        found = self.fresh(Order.SHARED, 3, 1, repeats=2)
        assert [found[f"A-d0-q{place}"] for place in range(3)] == [1400, 0, 0]
        assert found["A-d0-q0-r2"] == 0
        assert found["A-d1-q0"] == 2800

    def test_in_shared_order_the_longer_of_a_family_reads_what_it_has_more(self):
        found = self.fresh(Order.SHARED, 2)
        for name in ("d0-q0", "d0-q1"):
            assert (found[f"B2-{name}"], found[f"B4-{name}"]) == (140, 350 - 140)

    def test_in_shared_order_a_repeat_of_a_questions_own_context_reads_it_anew(self):
        found = self.fresh(Order.SHARED, 2, repeats=2)
        assert (found["B2-d0-q0-r2"], found["B4-d0-q0-r2"]) == (140, 350 - 140)

    def test_with_a_nonce_each_trial_reads_its_whole_context_in_any_order(self):
        questions = asked(3, 1)
        trials = arrange(FAMILIES, questions, Order.SHARED)
        shared, cold = (layout(order, questions, FAMILIES) for order in (Order.SHARED, Order.COLD))
        with_nonces = replace(shared, nonce=True)
        assert with_nonces.estimated_tokens(trials) == cold.estimated_tokens(trials)
        assert with_nonces.works("made", trials)[trials[1]].tokens == cold.estimated_tokens(trials)[trials[1]]

    @pytest.mark.parametrize("order", Order)
    def test_a_trial_that_is_done_costs_nothing_and_leaves_its_context_to_the_next(self, order):
        found = self.fresh(order, 2, done={TrialKey("A", "d0-q0")})
        assert found["A-d0-q0"] == -PROMPT_TOKENS
        assert found["A-d0-q1"] == 1400

    def test_a_trial_that_is_done_is_handed_out_without_a_document(self):
        questions = asked(2)
        trials = arrange(FAMILIES, questions, Order.COLD)
        works = layout(Order.COLD, questions, FAMILIES).works("made", trials, {TrialKey("A", "d0-q0")})
        done, open_ = works[TrialKey("A", "d0-q0")], works[TrialKey("A", "d0-q1")]
        assert (done.document, done.tokens) == (None, 0)
        assert (open_.document, open_.tokens) == ("d0", 1400 + PROMPT_TOKENS)
        assert done.group == open_.group == ("made", "d0", "A")


class TestShards:
    @staticmethod
    def parts(order, counts, names, of, repeats=1):
        questions = asked(*counts)
        trials = arrange(names, questions, order, repeats)
        plan = layout(order, questions, names)
        return plan, trials, [select(trials, plan, number, of) for number in range(1, of + 1)]

    @quick
    @given(sizes, families, st.sampled_from(Order), st.integers(1, 7), st.integers(1, 2))
    def test_together_they_are_the_whole_and_have_nothing_in_common(self, counts, names, order, of, repeats):
        _, trials, parts = self.parts(order, counts, names, of, repeats)
        assert Counter(key for part in parts for key in part) == Counter(trials)

    @quick
    @given(sizes, families, st.integers(1, 7))
    def test_in_shared_order_a_group_stays_whole_and_the_order_is_that_of_the_whole(self, counts, names, of):
        plan, trials, parts = self.parts(Order.SHARED, counts, names, of)
        assert sum(len({plan.group(key) for key in part}) for part in parts) == len(
            {plan.group(key) for key in trials}
        )
        places = {key: place for place, key in enumerate(trials)}
        for part in parts:
            assert [places[key] for key in part] == sorted(places[key] for key in part)

    @quick
    @given(sizes, families, st.sampled_from(Order), st.integers(1, 7))
    def test_their_costs_differ_by_no_more_than_one_unit(self, counts, names, order, of):
        plan, trials, parts = self.parts(order, counts, names, of)
        costs = plan.estimated_tokens(trials)
        units = Counter()
        for key in trials:
            units[plan.group(key) if order is Order.SHARED else key] += costs[key]
        totals = [sum(costs[key] for key in part) for part in parts]
        assert max(totals) - min(totals) <= max(units.values())

    @quick
    @given(sizes, families, st.integers(1, 7))
    def test_in_cold_order_each_has_its_share_of_every_condition_on_every_document(self, counts, names, of):
        _, trials, parts = self.parts(Order.COLD, counts, names, of)
        for name, whole in Counter((document(key), key.condition) for key in trials).items():
            for part in parts:
                count = sum((document(key), key.condition) == name for key in part)
                assert whole // of <= count <= -(-whole // of)

    @quick
    @given(sizes, families, st.integers(1, 7))
    def test_in_cold_order_documents_alternate_as_far_as_they_can(self, counts, names, of):
        _, _, parts = self.parts(Order.COLD, counts, names, of)
        for part in filter(None, parts):
            repeats = sum(document(one) == document(other) for one, other in pairwise(part))
            most = max(Counter(map(document, part)).values())
            assert repeats == max(0, 2 * most - len(part) - 1)

    def test_the_protocol_in_five_parts_has_no_document_twice_in_a_row(self):
        _, _, parts = self.parts(Order.COLD, (10,) * 10, FAMILIES, 5)
        assert [len(part) for part in parts] == [80] * 5
        assert not any(document(one) == document(other) for part in parts for one, other in pairwise(part))

    def test_they_do_not_depend_on_how_python_hashes(self):
        script = (
            "import test_scheduling as t\n"
            "for order in t.Order: print([list(map(str, p)) for p in t.TestShards.parts(order, (4, 3, 9), t.FAMILIES, 4)[2]])"
        )
        said = {
            subprocess.run(
                [sys.executable, "-c", script],
                env=os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)},
                capture_output=True,
                check=True,
                encoding="utf-8",
            ).stdout
            for seed in ("1", "2", "3")
        }
        assert len(said) == 1
        assert "A-d2-q8" in said.pop()
