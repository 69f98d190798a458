"""Estimates over the trials of a run: by hand on four questions, and what is said where something is missing.

The example: questions q1, q2 on the document mill, q3, q4 on quay; q4 cannot be answered.

|    | A tokens | A right | D tokens | D right |
| q1 | 1000     | yes     | 100      | yes     |
| q2 | 1200     | yes     | 150      | no      |
| q3 | 800      | no      | 50       | yes     |
| q4 | 1000     | abstained | 100    | made up |
"""

import itertools
import random
import warnings
from dataclasses import replace

import numpy as np
import pytest
import scipy.stats
import scripted
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_tokenbench.measures import Scope, is_cold
from pytest_tokenbench.records import Evidence, Status
from pytest_tokenbench.results import Results, Unavailable

Q1, Q2 = scripted.question("q1"), scripted.question("q2")
Q3, Q4 = scripted.question("q3", document="quay"), scripted.unanswerable("q4", document="quay")
QUESTIONS = (Q1, Q2, Q3, Q4)
A_TOKENS, A_RIGHT = (1000, 1200, 800, 1000), (True, True, False, True)
D_TOKENS, D_RIGHT = (100, 150, 50, 100), (True, False, True, False)
TRIALS = tuple(
    scripted.observation(question, name, right=right, input_tokens=count)
    for name, counts, rights in (("A", A_TOKENS, A_RIGHT), ("D", D_TOKENS, D_RIGHT))
    for question, count, right in zip(QUESTIONS, counts, rights, strict=True)
)


def results(*trials, questions=QUESTIONS, conditions=("A", "D"), repeats=1):
    return Results(questions, conditions, "A", trials or TRIALS, repeats)


def repeated(signs, condition="D"):
    """Trials of the questions, a sign for each repeat: + right, - wrong, x an error, . not run."""
    return [
        scripted.observation(
            question,
            condition,
            right=sign == "+",
            status=Status.ERROR if sign == "x" else Status.OK,
            repeat=repeat,
        )
        for question, its in zip(QUESTIONS, signs, strict=True)
        for repeat, sign in enumerate(its)
        if sign != "."
    ]


def changed(condition, question, **changes):
    """The example with one trial changed."""
    return [
        replace(one, **changes) if (one.condition, one.question) == (condition, question) else one
        for one in TRIALS
    ]


def lost(condition, question, status=Status.ERROR):
    """The example with one trial that came to nothing."""
    return changed(condition, question, status=status, scores=None, outcome=None, input_tokens=None)


class TestByHand:
    @pytest.mark.parametrize(
        ("measure", "condition", "mean", "n"),
        [
            ("input_tokens", "A", 1000, 4),  # 4000 / 4
            ("input_tokens", "D", 100, 4),  # 400 / 4
            ("accuracy", "A", 2 / 3, 3),
            ("accuracy", "D", 2 / 3, 3),
            ("abstention", "A", 1, 1),
            ("abstention", "D", 0, 1),
            ("made_up", "A", 0, 1),
            ("made_up", "D", 1, 1),
            ("f1", "A", 2 / 3, 3),
            ("exact_match", "D", 2 / 3, 3),
        ],
    )
    def test_a_level_is_the_mean_over_the_questions_of_the_measure(self, measure, condition, mean, n):
        found = results().estimate(measure, condition)
        assert found.estimate == pytest.approx(mean)
        assert found.n == n

    @pytest.mark.parametrize(
        ("measure", "mean", "n"),
        [
            ("input_tokens", -900, 4),
            ("accuracy", 0, 3),  # 0 - 1 + 1
            ("abstention", -1, 1),
            ("made_up", 1, 1),
        ],
    )
    def test_a_difference_is_the_mean_of_the_pairs_differences(self, measure, mean, n):
        found = results().difference(measure, "D", versus="A")
        assert found.estimate == pytest.approx(mean)
        assert found.n == n

    def test_a_reduction_is_one_less_the_ratio_of_means(self):
        found = results().reduction("input_tokens", "D", versus="A")
        assert found.estimate == pytest.approx(0.9)  # 1 - 100 / 1000, and not a mean of ratios (0.9031)
        assert found.n == 4

    def test_discordance_is_the_share_of_pairs_that_differ(self):
        assert results().discordance("accuracy", "D", "A") == pytest.approx(2 / 3)  # q2 and q3

    def test_by_document_the_documents_weigh_alike(self):
        # mill: (0 - 1) / 2 = -0.5; quay: +1. Mean 0.25, standard deviation 1.06066, by sqrt 2: 0.75.
        # Student's t at 97.5% with 1 degree of freedom: 12.7062. Half width 9.52965.
        found = results().clustered_difference("accuracy", "D", "A")
        assert found.estimate == pytest.approx(0.25)
        assert (found.low, found.high) == pytest.approx((-9.27965, 9.77965), abs=1e-4)
        assert found.n == 2

    def test_the_interval_of_a_reduction_lies_within_the_questions_own_ratios(self):
        # A resample's ratio lies between the smallest and largest ratio of a question: 50/800 and 150/1200.
        found = results().reduction("input_tokens", "D", versus="A")
        assert 1 - 150 / 1200 <= found.low < 0.9 < found.high <= 1 - 50 / 800

    def test_the_interval_reaches_what_more_than_a_fortieth_of_resamples_reaches(self):
        # Pairs 0, -1, +1 and q4 without: four draws of q2 and q4 alone, not of q4 alone, have the mean -1. That is
        # (1/2)^4 - (1/4)^4 = 5.9%, over the tail of 2.5%; +1 likewise.
        found = results().difference("accuracy", "D", versus="A")
        assert (found.low, found.high) == (-1, 1)


class TestIntervals:
    def test_agree_with_scipy_within_monte_carlo_error(self):
        generator = np.random.default_rng(7)
        questions = [scripted.question(f"q{i}") for i in range(60)]
        ours, theirs = generator.random(60) < 0.6, generator.random(60) < 0.75
        trials = [
            scripted.observation(question, name, right=bool(right))
            for name, rights in (("A", theirs), ("D", ours))
            for question, right in zip(questions, rights, strict=True)
        ]
        made = results(*trials, questions=questions)
        for found, values in (
            (made.estimate("accuracy", "D"), ours.astype(float)),
            (made.difference("accuracy", "D", versus="A"), ours.astype(float) - theirs),
        ):
            expected = scipy.stats.bootstrap(
                (values,), np.mean, n_resamples=10_000, method="percentile", rng=generator
            ).confidence_interval
            # Means of 60 outcomes come in steps of 1/60.
            assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=1.1 / 60)

    def test_of_a_reduction_agrees_with_scipy(self):
        generator = np.random.default_rng(8)
        questions = [scripted.question(f"q{i}") for i in range(50)]
        theirs, ours = generator.integers(800, 1200, 50), generator.integers(50, 400, 50)
        trials = [
            scripted.observation(question, name, input_tokens=int(count))
            for name, counts in (("A", theirs), ("D", ours))
            for question, count in zip(questions, counts, strict=True)
        ]
        found = results(*trials, questions=questions).reduction("input_tokens", "D", versus="A")
        expected = scipy.stats.bootstrap(
            (ours.astype(float), theirs.astype(float)),
            lambda x, y, axis: 1 - x.mean(axis=axis) / y.mean(axis=axis),
            paired=True,
            vectorized=True,
            n_resamples=10_000,
            method="percentile",
            rng=generator,
        ).confidence_interval
        assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=0.003)

    def test_are_the_same_in_whatever_order_figures_are_asked_for(self):
        one, other = results(), results()
        one.estimate("made_up", "A")
        one.difference("f1", "D", versus="A")
        assert one.estimate("accuracy", "A") == other.estimate("accuracy", "A")

    def test_share_their_draws_between_conditions(self):
        # D is right where A is: whatever is drawn, the difference is 0. Independent draws would give it a width.
        trials = [replace(one, scores=TRIALS[place % 4].scores) for place, one in enumerate(TRIALS)]
        found = results(*trials).paired_difference("accuracy", "D", "A")
        assert (found.estimate, found.low, found.high) == (0, 0, 0)
        assert found.zero_width

    @pytest.mark.parametrize("size", [60, 1500])
    def test_share_their_draws_in_a_pair_without_the_baseline_too(self, size):
        # Above 1,000 questions a column whose values repeat is drawn otherwise than one whose values do not, unless
        # both are drawn at once. B counts up in steps of 1, D in steps of 20: the pairs differ by 0 to 19, uniformly,
        # with a standard deviation of sqrt((20^2 - 1) / 12) = 5.766. Drawn apart it would be that of B and D.
        questions = [scripted.question(f"q{i}") for i in range(size)]
        trials = [
            scripted.observation(question, name, input_tokens=1000 + place // step * step)
            for name, step in (("A", 1), ("B", 1), ("D", 20))
            for place, question in enumerate(questions)
        ]
        made = results(*trials, questions=questions, conditions=("A", "B", "D"))
        found = made.difference("input_tokens", "D", versus="B")
        assert found.estimate == pytest.approx(-9.5)
        assert found.high - found.low == pytest.approx(2 * 1.96 * 5.766 / size**0.5, rel=0.1)

    def test_on_one_question_there_is_none_and_asking_for_an_end_is_unavailable(self):
        found = results().estimate("made_up", "D")
        assert found.estimate == 1
        for end in ("low", "high"):
            with pytest.raises(Unavailable, match=r"made_up of D has no interval \(n=1\)"):
                getattr(found, end)

    def test_by_document_on_one_document_there_is_none(self):
        found = results(questions=(Q1, Q2)).clustered_difference("accuracy", "D", "A")
        assert (found.estimate, found.low, found.high, found.n) == (-0.5, None, None, 1)

    def test_of_zero_width_are_flagged(self):
        trials = changed("D", "q2", scores=TRIALS[0].scores)
        assert results(*trials).level("accuracy", "D").zero_width
        assert not results().level("accuracy", "D").zero_width

    def test_of_a_reduction_from_a_share_that_can_be_drawn_as_0_has_no_end_and_no_warning(self):
        # Under A only q1 is right: (3/4)^4 = 32% of resamples do without it; there the reduction is -infinity or nothing.
        trials = changed("A", "q2", scores=TRIALS[2].scores)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = results(*trials).reduction("accuracy", "D", versus="A")
        assert found.estimate == pytest.approx(-1)  # 1 - (2/3) / (1/3)
        with pytest.raises(Unavailable, match=r"has no interval \(n=3\)"):
            _ = found.low


class TestPairs:
    def test_a_question_without_its_pair_is_left_out_of_differences_and_kept_in_levels(self):
        made = results(*lost("D", "q2"))
        difference = made.paired_difference("accuracy", "D", "A")
        assert (difference.estimate, difference.n) == (0.5, 2)  # q1: 0, q3: +1
        assert made.level("accuracy", "A").estimate == pytest.approx(2 / 3)
        assert made.level("accuracy", "D").estimate == 1
        assert made.discordance("accuracy", "D", "A") == 0.5

    def test_a_reduction_takes_both_means_over_the_pairs(self):
        found = results(*lost("D", "q2")).paired_reduction("input_tokens", "D", "A")
        # Without q2: D 250 / 3, A 2800 / 3.
        assert found.estimate == pytest.approx(1 - 250 / 2800)
        assert found.n == 3

    def test_by_document_only_pairs_count(self):
        made = results(*lost("D", "q3")).clustered_difference("accuracy", "D", "A")
        assert (made.estimate, made.n) == (-0.5, 1)

    def test_without_a_pair_there_is_no_difference(self):
        trials = [one for one in TRIALS if (one.condition, one.question) in {("A", "q1"), ("D", "q2")}]
        with pytest.raises(Unavailable, match="no question has accuracy under both D and A"):
            results(*trials).difference("accuracy", "D", versus="A")


class TestCold:
    @pytest.mark.parametrize(
        ("cached", "total", "cold"),
        [
            (0, 1000, True),
            (50, 1000, True),
            (51, 1000, False),
            (None, 1000, False),
            (0, None, False),
            (0, 0, False),
        ],
    )
    def test_is_a_prompt_of_which_at_most_a_twentieth_is_known_to_have_been_cached(self, cached, total, cold):
        assert is_cold(replace(TRIALS[0], cached_tokens=cached, input_tokens=total)) is cold

    def test_prefill_is_taken_from_cold_trials_only(self):
        cached = {"q1": 0, "q2": 1200, "q3": None, "q4": 10}
        trials = [
            replace(one, cached_tokens=cached[one.question], prefill_s=float(one.question[1]))
            for one in TRIALS[:4]
        ]
        found = results(*trials).estimate("prefill_s", "A")
        assert (found.estimate, found.n) == (2.5, 2)  # q1: 1 s and q4: 4 s

    def test_where_every_prompt_came_in_part_from_a_cache_the_reason_says_so(self):
        trials = [replace(one, cached_tokens=900, input_tokens=1000, prefill_s=1.0) for one in TRIALS]
        with pytest.raises(Unavailable, match="every prompt of condition A came in part from a cache"):
            results(*trials).estimate("prefill_s", "A")

    def test_without_a_cold_trial_there_is_none(self):
        trials = [replace(one, prefill_s=1.0) for one in TRIALS]
        with pytest.raises(Unavailable, match="no trial of condition A is known to be cold"):
            results(*trials).estimate("prefill_s", "A")


class TestMissing:
    def test_names_each_question_and_the_reason(self):
        trials = [one for one in lost("D", "q2", Status.OVER_WINDOW) if one != TRIALS[6]]
        made = results(*trials)
        assert made.missing("D") == {"q2": "over_window", "q3": "not run"}
        assert made.missing("D", "accuracy") == {"q2": "over_window", "q3": "not run"}
        assert made.missing("D", "made_up") == {}
        assert made.missing("A") == {}
        assert made.statuses("D") == {"ok": 2, "over_window": 1}

    def test_a_count_of_a_refused_prompt_is_no_measurement(self):
        trials = changed("D", "q2", status=Status.OVER_WINDOW, scores=None, outcome=None, input_tokens=99_999)
        found = results(*trials).level("input_tokens", "D")
        assert (found.estimate, found.n) == (pytest.approx(250 / 3), 3)

    @pytest.mark.parametrize("order", [1, -1])
    def test_a_question_with_one_trial_that_ended_well_is_not_missing(self, order):
        again = replace(
            TRIALS[4], status=Status.ERROR, scores=None, outcome=None, input_tokens=None, repeat=1
        )
        made = results(*[*TRIALS, again][::order])
        assert made.missing("D") == {}
        assert made.bounds("accuracy", "D") is None
        assert made.level("accuracy", "D").n == 3

    def test_every_question_of_a_condition_that_was_not_run_is_missing(self):
        made = results(*TRIALS[:4])
        assert made.missing("D") == dict.fromkeys(("q1", "q2", "q3", "q4"), "not run")
        assert made.lacking("D") == {"not run": 4}
        assert made.statuses("D") == {}

    def test_bounds_count_every_missing_trial_wrong_and_right(self):
        # D: q1 right, q2 missing, q3 right.
        assert results(*lost("D", "q2")).bounds("accuracy", "D") == pytest.approx((2 / 3, 1))
        # D: q1 missing, q2 wrong, q3 right.
        assert results(*lost("D", "q1")).bounds("accuracy", "D") == pytest.approx((1 / 3, 2 / 3))

    def test_bounds_of_made_up_answers_are_in_order_too(self):
        second = scripted.unanswerable("q5")
        trials = [*TRIALS, scripted.observation(second, "D", status=Status.ERROR)]
        # D made up its answer to q4; to q5 it did not, or did.
        assert results(*trials, questions=(*QUESTIONS, second)).bounds("made_up", "D") == (0.5, 1)

    def test_there_are_no_bounds_where_none_is_missing_or_the_measure_is_not_binary(self):
        assert results().bounds("accuracy", "D") is None
        assert results(*lost("D", "q2")).bounds("input_tokens", "D") is None

    def test_a_missing_trial_of_a_binary_measure_leaves_its_condition_in_doubt(self):
        made = results(*lost("D", "q2"))
        made.estimate("made_up", "D")
        made.estimate("accuracy", "A")
        assert made.in_doubt == {}
        made.difference("accuracy", "D", versus="A")
        assert made.in_doubt == {"D": {"q2": 1}}


class TestCounting:
    @pytest.mark.parametrize(("as_right", "accuracy"), [(True, 2 / 3), (False, 1 / 3)])
    def test_missing_trials_can_be_counted_right_or_wrong(self, as_right, accuracy):
        made = results(*lost("D", "q1")).counting({"D": as_right})  # q2 wrong, q3 right
        assert made.estimate("accuracy", "D").estimate == pytest.approx(accuracy)
        assert made.estimate("accuracy", "D").n == 3
        assert made.in_doubt == {}

    @pytest.mark.parametrize(("as_right", "made_up", "abstention"), [(True, 0, 1), (False, 1, 0)])
    def test_right_is_not_made_up(self, as_right, made_up, abstention):
        made = results(*lost("D", "q4")).counting({"D": as_right})
        assert made.estimate("made_up", "D").estimate == made_up
        assert made.estimate("abstention", "D").estimate == abstention

    def test_other_conditions_and_the_original_stay_as_they_are(self):
        original = results(*lost("D", "q1"))
        before = original.level("accuracy", "D")
        view = original.counting({"D": True})
        assert view.level("accuracy", "D") != before
        assert view.level("accuracy", "A") == original.level("accuracy", "A")
        assert original.level("accuracy", "D") == before
        assert original.bounds("accuracy", "D") == pytest.approx((1 / 3, 2 / 3))

    def test_token_counts_are_not_made_up(self):
        made = results(*lost("D", "q1")).counting({"D": True})
        assert made.level("input_tokens", "D").estimate == 100  # 150, 50, 100

    def test_each_has_its_own_evidence(self):
        original = results()
        view = original.counting({})
        view.estimate("accuracy", "A")
        assert len(view.evidence) == 1
        assert original.evidence == []

    def test_its_intervals_share_their_draws_with_the_rest(self):
        # D's missing q2 counted right: D is right exactly where A is, once A's q3 is right too.
        trials = [
            replace(one, scores=TRIALS[0].scores) if one.question != "q4" else one for one in lost("D", "q2")
        ]
        found = results(*trials).counting({"D": True}).difference("accuracy", "D", versus="A")
        assert (found.low, found.high) == (0, 0)


class TestUnavailable:
    def test_a_condition_that_was_not_run_is_named(self):
        with pytest.raises(Unavailable, match=r"^condition D was not measured$"):
            results(*TRIALS[:4]).estimate("accuracy", "D")

    def test_a_condition_whose_trials_all_failed_says_how(self):
        trials = [
            scripted.observation(question, "D", status=status)
            for question, status in zip(
                QUESTIONS, [Status.ERROR, Status.OVER_WINDOW, Status.ERROR, Status.ERROR], strict=True
            )
        ]
        with pytest.raises(
            Unavailable, match=r"^condition D has no measured trial \(3 error, 1 over_window\)$"
        ):
            results(*TRIALS[:4], *trials).estimate("input_tokens", "D")

    def test_a_measure_that_no_trial_told_is_named(self):
        with pytest.raises(Unavailable, match=r"^total_s of condition A was not measured$"):
            results().estimate("total_s", "A")

    @pytest.mark.parametrize(
        "ask",
        [
            lambda made: made.estimate("input_tokens", "D"),
            lambda made: made.difference("input_tokens", "D", versus="A"),
            lambda made: made.reduction("input_tokens", "D", versus="A"),
            lambda made: made.reduction("input_tokens", "A", versus="D"),
        ],
    )
    @pytest.mark.parametrize(
        "trials",
        [
            pytest.param(lost("D", "q2"), id="a trial that came to nothing"),
            pytest.param([one for one in TRIALS if one != TRIALS[5]], id="a trial that was not run"),
            pytest.param(changed("D", "q2", input_tokens=None), id="a count that was not told"),
        ],
    )
    def test_a_hypothesis_on_tokens_needs_every_question(self, ask, trials):
        made = results(*trials)
        with pytest.raises(Unavailable, match=r"^input_tokens of D is missing for 1 of 4 questions$"):
            ask(made)
        assert made.evidence == []

    def test_a_report_shows_what_there_is_of_them_with_its_n(self):
        found = results(*lost("D", "q2")).level("input_tokens", "D")
        assert (found.estimate, found.n) == (pytest.approx(250 / 3), 3)

    def test_f1_is_asked_of_answerable_questions_only(self):
        made = results(*lost("D", "q4"))
        assert made.estimate("f1", "D").n == 3

    def test_a_reduction_from_nothing_is_unavailable(self):
        with pytest.raises(Unavailable, match="made_up of A is 0"):
            results().reduction("made_up", "D", versus="A")

    @pytest.mark.parametrize(
        ("measure", "condition", "message"),
        [
            ("speed", "A", "no measure 'speed'; known are input_tokens"),
            ("accuracy", "Z", "no condition 'Z'; it has A, D"),
        ],
    )
    def test_a_name_that_the_study_does_not_know_is_the_authors_mistake(self, measure, condition, message):
        with pytest.raises(ValueError, match=message):
            results().estimate(measure, condition)
        with pytest.raises(ValueError, match=message):
            results().difference(measure, condition, versus="A")


class TestEvidence:
    def test_each_figure_that_is_asked_for_leaves_one(self):
        made = results()
        made.estimate("made_up", "D")
        made.difference("accuracy", "D", versus="A")
        made.reduction("input_tokens", "D", versus="A")
        assert [(one.measure, one.estimate, one.n) for one in made.evidence] == [
            ("made_up of D", 1.0, 1),
            ("accuracy of D less A", 0.0, 3),
            ("reduction of input_tokens of D versus A", pytest.approx(0.9), 4),
        ]
        assert made.evidence[0] == Evidence("made_up of D", 1.0, None, None, 1)
        assert (made.evidence[1].low, made.evidence[1].high) == (-1, 1)

    def test_what_reports_show_leaves_none(self):
        made = results()
        made.level("accuracy", "D")
        made.paired_difference("accuracy", "D", "A")
        made.paired_reduction("input_tokens", "D", "A")
        made.clustered_difference("accuracy", "D", "A")
        assert made.evidence == []


class TestRepeats:
    def test_are_averaged_within_their_question(self):
        again = scripted.observation(Q1, "D", right=False, input_tokens=300, repeat=1)
        made = results(*TRIALS, again)
        # q1: one of two right, 200 tokens; q2 wrong, q3 right.
        assert made.level("accuracy", "D").estimate == pytest.approx(1.5 / 3)
        assert made.level("accuracy", "D").n == 3
        assert made.level("input_tokens", "D").estimate == pytest.approx((200 + 150 + 50 + 100) / 4)

    def test_the_question_stays_what_is_resampled(self):
        # Three questions, two right in all 20 repeats and one in none: the interval is that of three values, which
        # reaches from 0 to 1 (a resample of one question alone comes up in (1/3)^3 = 3.7%), not that of 60.
        found = results(*repeated(["+" * 20, "+" * 20, "-" * 20, "+" * 20]), repeats=20).level(
            "accuracy", "D"
        )
        assert (found.estimate, found.low, found.high, found.n) == (pytest.approx(2 / 3), 0, 1, 3)

    def test_bounds_count_the_missing_repeats_and_not_their_questions(self):
        # q1: right, wrong, missing: 1/3 to 2/3. q2: right in all. q3: two missing, one right: 1/3 to 1.
        made = results(*repeated(["+-x", "+++", "+x.", "+++"]), repeats=3)
        assert made.bounds("accuracy", "D") == pytest.approx(((1 / 3 + 1 + 1 / 3) / 3, (2 / 3 + 1 + 1) / 3))
        # What was measured: (1/2 + 1 + 1) / 3.
        assert made.level("accuracy", "D").estimate == pytest.approx(2.5 / 3)
        assert made.bounds("made_up", "D") is None

    def test_bounds_take_a_question_without_any_repeat_too(self):
        made = results(*repeated(["..", "++", "+-", "++"]), repeats=2)
        assert made.bounds("accuracy", "D") == pytest.approx((1.5 / 3, 2.5 / 3))

    def test_missing_says_how_many_repeats_ended_how(self):
        made = results(*repeated(["+-x", "+++", "x..", "+++"]), repeats=3)
        assert made.missing("D") == {"q1": "1 error", "q3": "1 error, 2 not run"}
        assert made.missing("D", "made_up") == {}
        assert made.lacking("D") == {"error": 2, "not run": 2}

    @pytest.mark.parametrize(
        ("as_right", "accuracy"), [(True, (2 / 3 + 1 + 1) / 3), (False, (1 / 3 + 1 + 1) / 3)]
    )
    def test_counting_fills_in_the_missing_repeats_only(self, as_right, accuracy):
        made = results(*repeated(["+-x", "+++", "+++", "+++"]), repeats=3)
        assert made.counting({"D": as_right}).estimate("accuracy", "D").estimate == pytest.approx(accuracy)

    def test_a_missing_repeat_leaves_its_condition_in_doubt(self):
        made = results(*repeated(["+-x", "+++", "+++", "+++"]), repeats=3)
        made.estimate("made_up", "D")
        assert made.in_doubt == {}
        made.estimate("accuracy", "D")
        assert made.in_doubt == {"D": {"q1": 1}}

    def test_a_hypothesis_on_tokens_needs_every_repeat(self):
        made = results(*repeated(["+-x", "+++", "+++", "+++"]), repeats=3)
        with pytest.raises(Unavailable, match=r"^input_tokens of D is missing for 1 of 12 trials$"):
            made.estimate("input_tokens", "D")
        assert made.level("input_tokens", "D").n == 4


class TestChurn:
    def test_by_hand(self):
        # q1: of three pairs the two with the second differ. q2: one pair, which agrees. q3: no pair.
        # q4, unanswerable: made up, abstained, abstained: two of three.
        made = results(*repeated(["+-+", "++x", "+..", "-++"]), repeats=3)
        found = made.churn("D")
        assert (found.estimate, found.n) == (pytest.approx((2 / 3 + 0 + 2 / 3) / 3), 3)
        found = made.churn("D", Scope.ANSWERABLE)
        assert (found.estimate, found.n) == (pytest.approx(1 / 3), 2)
        found = made.churn("D", Scope.UNANSWERABLE)
        assert (found.estimate, found.low, found.n) == (pytest.approx(2 / 3), None, 1)

    def test_of_the_answers_is_that_of_their_texts(self):
        trials = repeated(["+++", "++.", "+..", "..."])
        answers = ["1901", "in 1901", "1901", "Finch", "Finch", "x"]
        made = results(
            *(replace(one, answer=text) for one, text in zip(trials, answers, strict=True)), repeats=3
        )
        assert made.churn("D").estimate == 0
        found = made.answer_churn("D")
        assert (found.estimate, found.n) == (pytest.approx((2 / 3 + 0) / 2), 2)

    def test_agrees_with_counting_the_pairs_and_its_interval_with_scipy(self):
        generator = np.random.default_rng(5)
        questions = [scripted.question(f"q{i}") for i in range(40)]
        rights = generator.random((40, 4)) < generator.random((40, 1))
        trials = [
            scripted.observation(question, "A", right=bool(right), repeat=repeat)
            for question, row in zip(questions, rights, strict=True)
            for repeat, right in enumerate(row)
        ]
        shares = np.array([np.mean([a != b for a, b in itertools.combinations(row, 2)]) for row in rights])
        found = results(*trials, questions=questions, conditions=("A",), repeats=4).churn("A")
        assert found.estimate == pytest.approx(shares.mean())
        expected = scipy.stats.bootstrap(
            (shares,), np.mean, n_resamples=10_000, method="percentile", rng=generator
        ).confidence_interval
        assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=0.01)

    @pytest.mark.parametrize("ask", [Results.churn, Results.answer_churn])
    def test_there_is_none_without_repeats_or_without_a_pair(self, ask):
        with pytest.raises(Unavailable, match=r"^every trial was run once only$"):
            ask(results(), "D")
        made = results(*repeated(["+x", "-x", "+.", "x+"]), repeats=2)
        with pytest.raises(Unavailable, match=r"^no question has two repeats under D that ended well$"):
            ask(made, "D")


def test_trials_of_other_questions_and_conditions_do_not_count():
    strange = [
        scripted.observation(scripted.question("q99"), "D", right=False),
        scripted.observation(Q1, "Z", right=False),
    ]
    made = results(*TRIALS, *strange)
    assert made.level("accuracy", "D") == results().level("accuracy", "D")


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.booleans(), st.booleans()), min_size=2, max_size=12))
def test_a_measured_value_lies_between_the_bounds_however_the_missing_trials_would_have_come_out(rows):
    questions = [scripted.question(f"q{i}") for i in range(len(rows))]
    truth = [
        scripted.observation(one, "A", right=right)
        for one, (right, _, _) in zip(questions, rows, strict=True)
    ]
    kept = [one for one, (_, first, second) in zip(truth, rows, strict=True) if first or second]
    if not kept or len(kept) == len(truth):
        return
    bounds = results(*kept, questions=questions, conditions=("A",)).bounds("accuracy", "A")
    whole = results(*truth, questions=questions, conditions=("A",)).column("accuracy", "A").mean()
    assert bounds[0] - 1e-12 <= whole <= bounds[1] + 1e-12


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.lists(st.tuples(st.booleans(), st.booleans()), min_size=3, max_size=3), min_size=1, max_size=8
    )
)
def test_a_measured_value_lies_between_the_bounds_however_missing_repeats_would_have_come_out(rows):
    questions = [scripted.question(f"q{i}") for i in range(len(rows))]
    truth = [
        (scripted.observation(one, "A", right=right, repeat=repeat), kept)
        for one, row in zip(questions, rows, strict=True)
        for repeat, (right, kept) in enumerate(row)
    ]
    kept = [one for one, is_kept in truth if is_kept]
    whole = np.mean([one.scores.correct for one, _ in truth])
    made = results(*kept, questions=questions, conditions=("A",), repeats=3)
    if not kept:
        return
    low, high = made.bounds("accuracy", "A") or (whole, whole)
    assert low - 1e-12 <= whole <= high + 1e-12
    assert high - low == pytest.approx(1 - len(kept) / len(truth))


def test_no_figure_depends_on_the_order_in_which_trials_came_in():
    generator = random.Random(4)
    scores = [replace(one.scores, f1=0.1 * place) for place, one in enumerate(repeated(["+++"] * 4))]
    trials = [
        replace(one, scores=score, total_s=generator.random())
        for one, score in zip(repeated(["+++"] * 4), scores, strict=True)
    ]
    first = results(*trials, repeats=3)
    for _ in range(20):
        generator.shuffle(trials)
        made = results(*trials, repeats=3)
        assert made.observations == first.observations
        for measure in ("f1", "total_s"):
            assert made.level(measure, "D") == first.level(measure, "D")


def test_above_1000_questions_a_figure_is_the_same_whenever_it_is_asked_for():
    questions = [scripted.question(f"q{i}") for i in range(1100)]
    trials = [
        scripted.observation(question, name, input_tokens=1000 + place * factor % 97)
        for name, factor in (("A", 3), ("B", 5), ("D", 7))
        for place, question in enumerate(questions)
    ]
    one, other = (results(*trials, questions=questions, conditions=("A", "B", "D")) for _ in range(2))
    one.level("input_tokens", "A")
    assert one.paired_difference("input_tokens", "D", "B") == other.paired_difference(
        "input_tokens", "D", "B"
    )
    assert one.level("input_tokens", "A") == other.level("input_tokens", "A")
