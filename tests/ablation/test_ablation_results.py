"""What hypotheses over an ablation may ask for: drops, verdicts, the churn floor, and what is told where trials lack."""

import made_ablation as made
import pytest
import scipy.stats

from pytest_tokenbench.ablation import reweighting
from pytest_tokenbench.ablation.findings import Finding
from pytest_tokenbench.hypotheses import judge
from pytest_tokenbench.records import Bound, Ruling
from pytest_tokenbench.results import Unavailable
from pytest_tokenbench.study import Hypothesis

CASES = [made.question(case) for case in made.MAIN]
SCREENED = made.run(until=0)
EXACT = scipy.stats.binomtest(0, 40).proportion_ci(0.95, method="exact").high


def screened(wrong, *, plan=None, asked=CASES, repeats=1, tokens=lambda _case, _arm: 100):
    """Results of the first stage in which `wrong` says of a case's id and an arm's id whether it came out wrong."""
    return made.told(
        plan or made.ablation(),
        asked,
        lambda case, arm: None if arm.stage else not wrong(case.id, arm.id),
        tokens,
        repeats,
    )


def ruling(results, claim):
    """The ruling on a hypothesis, and the reason."""
    verdict = judge(Hypothesis("N1", claim), results).verdict
    return verdict.ruling, verdict.reason


class TestDrops:
    def test_are_those_of_the_main_cases(self):
        # 30 of 40 cases need a passage, 24 an example.
        assert SCREENED.drop("passages").estimate == pytest.approx(30 / 40)
        assert SCREENED.drop("examples").estimate == pytest.approx((18 + 6) / 40)
        assert SCREENED.drop("passages").n == 40

    def test_the_interval_is_that_of_the_paired_difference_turned_round(self):
        mine, theirs = (
            SCREENED.drop("passages"),
            SCREENED.difference("accuracy", "no-passages", versus="base"),
        )
        assert (mine.low, mine.high) == (-theirs.high, -theirs.low)
        # Of 40 cases 30 are lost: a share of 0.75, whose normal interval has half a width of 0.134.
        assert mine.low == pytest.approx(0.75 - 0.134, abs=0.02)
        assert mine.high == pytest.approx(0.75 + 0.134, abs=0.02)

    def test_an_arm_can_be_asked_for_by_its_id(self):
        assert SCREENED.drop("no-passages").estimate == SCREENED.drop("passages").estimate

    def test_on_the_stress_cases_they_are_apart(self):
        # The three need the first passage and nothing else.
        assert SCREENED.stress_drop("passages").estimate == 1
        assert SCREENED.stress_drop("examples").estimate == 0
        assert SCREENED.stress_drop("passages").n == 3
        with pytest.raises(Unavailable, match="the set has no stress cases"):
            screened(lambda *_: False).stress_drop("tail")

    @pytest.mark.parametrize(
        ("ask", "message"),
        [
            (
                lambda results: results.drop("tails"),
                "no block and no arm 'tails'; blocks are system, examples",
            ),
            (
                lambda results: results.points_per_1000_tokens("tails"),
                "the study has no block 'tails'; it has",
            ),
        ],
    )
    def test_an_unknown_block_is_the_authors_mistake(self, ask, message):
        with pytest.raises(ValueError, match=message):
            ask(SCREENED)


class TestWithoutVariation:
    def test_no_drop_at_all_reaches_to_what_so_many_cases_allow(self):
        found = SCREENED.drop("tail")
        assert (found.low, found.high) == (pytest.approx(-EXACT), pytest.approx(EXACT))
        assert found.source.zero_width

    def test_a_drop_of_every_case_reaches_down_as_far(self):
        found = screened(lambda _case, arm: arm == "no-tail").drop("tail")
        exact = scipy.stats.binomtest(40, 40).proportion_ci(0.95, method="exact").low
        assert (found.low, found.high) == (pytest.approx(exact), 1)

    def test_one_case_that_varies_has_its_bootstrap_interval(self):
        found = screened(lambda case, arm: arm == "no-tail" and case == "a00").drop("tail")
        assert not found.source.zero_width
        assert found.low == 0

    def test_so_few_cases_cannot_call_it_removable(self):
        # 1 - 0.025^(1/35) = 0.1000: with 35 cases the upper end is still at the threshold, with 36 below.
        few = screened(lambda *_: False, asked=CASES[:35])
        enough = screened(lambda *_: False, asked=CASES[:36])
        assert (few.verdict("tail"), enough.verdict("tail")) == ("undecided", "removable")
        assert few.ruled("no-tail").n_to_decide == 36


class TestVerdicts:
    @pytest.mark.parametrize(
        ("block", "verdict"),
        [("system", "removable"), ("examples", "needed"), ("passages", "needed"), ("tail", "removable")],
    )
    def test_follow_the_drop(self, block, verdict):
        assert SCREENED.verdict(block) == verdict

    def test_do_not_follow_the_tokens(self):
        # The tail is nearly the whole prompt and free, the system block a single token and needed.
        sizes = {"no-tail": 10, "no-system": 9_999}
        results = screened(
            lambda _case, arm: arm == "no-system", tokens=lambda _case, arm: sizes.get(arm.id, 10_000)
        )
        assert (results.verdict("tail"), results.verdict("system")) == ("removable", "needed")

    def test_leave_the_drop_and_the_threshold_as_evidence(self):
        view = SCREENED.counting({})
        view.verdict("passages")
        (evidence,) = view.evidence
        assert (evidence.measure, evidence.estimate) == ("drop under no-passages", 0.75)
        assert evidence.bounds == (Bound("low", ">=", 0.1), Bound("high", "<", 0.1))


class TestChurnFloor:
    def test_is_the_share_of_cases_that_come_out_otherwise_when_asked_again(self):
        results = screened(lambda case, arm: arm == "again" and case in made.MAIN[:3])
        assert results.churn_floor().estimate == pytest.approx(3 / 40)
        assert results.verdict("tail") == "removable"

    def test_above_the_threshold_every_verdict_is_refused(self):
        results = screened(lambda case, arm: arm == "again" and case in made.MAIN[:5])
        assert {results.ruled(results.without(plan.name)).finding for plan in made.BLOCKS} == {"refused"}
        for plan in made.BLOCKS:
            with pytest.raises(
                Unavailable, match=r"has no verdict: the threshold of 10\.0 points lies below"
            ):
                results.verdict(plan.name)
        assert "the threshold of 10.0 points lies below the churn floor: 12.5%" in (
            results.ruled("no-tail").reason
        )

    def test_without_any_difference_is_not_certain_to_be_0(self):
        found = screened(lambda *_: False).churn_floor()
        assert (found.estimate, found.low) == (0, 0)
        assert found.high == pytest.approx(EXACT)

    def test_with_repeats_is_the_chance_that_one_of_either_differs(self):
        # The base is right in one of two repeats of a case, the arm that asks again in both: half of the pairs differ.
        seen = [
            made.observation(
                case.id, arm.id, right=not (arm.id == "base" and case.id == "a00" and repeat), repeat=repeat
            )
            for case in CASES
            for arm in made.ablation().arms[:9]
            for repeat in range(2)
        ]
        results = made.AblationResults.of(made.ablation(), CASES, seen, 2)
        assert results.churn_floor().estimate == pytest.approx(0.5 / 40)

    def test_without_an_arm_that_asks_again_it_comes_from_the_repeats_of_the_base(self):
        plan = made.ablation(quick=True)
        seen = [
            made.observation(case.id, arm.id, right=not (case.id in made.MAIN[:10] and repeat), repeat=repeat)
            for case in CASES
            for arm in plan.arms
            for repeat in range(2)
        ]
        assert made.AblationResults.of(plan, CASES, seen, 2).churn_floor().estimate == pytest.approx(10 / 40)

    def test_is_unavailable_where_neither_was_run_and_verdicts_stand(self):
        results = made.told(made.ablation(quick=True), CASES, lambda *_: True)
        with pytest.raises(Unavailable, match="this run has no arm of the kind again"):
            results.churn_floor()
        assert results.verdict("tail") == "removable"


class TestReweighted:
    def lost_on(self, follow_ups, *, cases=100):
        """A tail that only follow-ups need, which make up so many of the cases."""
        asked = [
            made.replace(
                CASES[0],
                id=f"w{place}",
                slices={"turn": "multi_turn" if place < follow_ups else "single_turn"},
            )
            for place in range(cases)
        ]
        ids = {case.id for case in asked[:follow_ups]}
        return screened(lambda case, arm: arm == "no-tail" and case in ids, asked=asked)

    def test_a_drop_that_only_follow_ups_show_grows_from_6_to_23_percent_with_their_share(self):
        # 6 of 100 cases are follow-ups and all of them are lost: 0.06. At 23% in production it is 0.23 * 1 + 0.77 * 0.
        results = self.lost_on(6)
        assert results.drop("tail").estimate == pytest.approx(0.06, rel=1e-12)
        assert results.reweighted_drop("tail").estimate == pytest.approx(0.23, rel=1e-12)

    def test_so_that_the_verdict_at_production_s_shares_is_another_one(self):
        results = self.lost_on(8, cases=200)
        assert results.verdict("tail") == "removable"
        assert reweighting.ruled(results, "no-tail").finding is Finding.NEEDED

    def test_a_slice_without_cases_leaves_the_others_and_says_how_much_they_are(self):
        results = self.lost_on(0)
        assert reweighting.covered(results) == pytest.approx(0.77)
        assert reweighting.cases(results) == {"multi_turn": 0, "single_turn": 100}
        assert results.reweighted_drop("tail").estimate == 0

    def test_without_any_drop_a_small_slice_can_hide_much(self):
        # 5 follow-ups without a loss may still lose 52 of 100 (1 - 0.025^(1/5)), and at 23% of production that is 0.12.
        results = screened(lambda *_: False, asked=self.lost_on(5).questions)
        found = results.reweighted_drop("tail")
        assert found.high == pytest.approx(
            0.23 * scipy.stats.binomtest(0, 5).proportion_ci(method="exact").high
        )
        assert found.source.zero_width
        assert results.drop("tail").high < 0.04

    def test_a_single_case_in_a_slice_leaves_no_interval_and_no_verdict(self):
        assert reweighting.ruled(self.lost_on(1), "no-tail").finding is Finding.UNDECIDED

    def test_without_shares_or_with_several_kinds_there_is_none(self):
        with pytest.raises(Unavailable, match="gives no shares"):
            screened(lambda *_: False, plan=made.ablation(production={})).reweighted_drop("tail")
        two = {"turn": {"multi_turn": 1.0}, "family": {"a": 1.0}}
        with pytest.raises(Unavailable, match="shares of 2 kinds of slices"):
            screened(lambda *_: False, plan=made.ablation(production=two)).reweighted_drop("tail")
        other = {"turn": {"nightly": 1.0}}
        with pytest.raises(Unavailable, match="no case of production's slices was measured"):
            screened(lambda *_: False, plan=made.ablation(production=other)).reweighted_drop("tail")


class TestPointsPer1000Tokens:
    def test_by_hand(self):
        # 10 of 40 cases are lost, 25 points, for 200 tokens: 125 points per 1,000.
        results = screened(
            lambda case, arm: arm == "no-tail" and case in made.MAIN[:10],
            tokens=lambda _case, arm: 800 if arm.id == "no-tail" else 1_000,
        )
        assert results.points_per_1000_tokens("tail").estimate == pytest.approx(125)

    def test_where_tokens_do_not_vary_the_interval_is_that_of_the_drop_in_this_unit(self):
        results = screened(
            lambda case, arm: arm == "no-tail" and case in made.MAIN[:10],
            tokens=lambda _case, arm: 800 if arm.id == "no-tail" else 1_000,
        )
        found, drop = results.points_per_1000_tokens("tail"), results.drop("tail")
        assert (found.low, found.high) == (pytest.approx(500 * drop.low), pytest.approx(500 * drop.high))

    def test_without_any_drop_it_is_as_uncertain_as_the_drop(self):
        results = screened(lambda *_: False, tokens=lambda _case, arm: 800 if arm.id == "no-tail" else 1_000)
        assert results.points_per_1000_tokens("tail").high == pytest.approx(500 * EXACT)

    def test_where_every_case_is_lost_it_is_as_uncertain_as_the_drop_however_the_tokens_vary(self):
        results = screened(
            lambda _case, arm: arm == "no-tail",
            tokens=lambda case, arm: 800 - int(case.id[1:]) % 3 if arm.id == "no-tail" else 1_000,
        )
        found, drop = results.points_per_1000_tokens("tail"), results.drop("tail")
        assert drop.low == pytest.approx(1 - EXACT)
        assert found.low == pytest.approx(found.estimate * drop.low)
        assert found.low < found.estimate < found.high
        assert found.source.zero_width

    def test_a_block_without_tokens_has_none(self):
        with pytest.raises(Unavailable, match="accuracy per 1,000 tokens of tail"):
            screened(lambda *_: False).points_per_1000_tokens("tail")


class TestMissingTrials:
    def test_an_arm_that_came_to_nothing_has_no_verdict(self):
        results = made.run(broken=[("no-tail", case) for case in made.MAIN], until=0)
        assert results.ruled("no-tail").finding is Finding.NOT_MEASURED
        with pytest.raises(
            Unavailable, match=r"tail has no verdict: condition no-tail has no measured trial"
        ):
            results.verdict("tail")

    def test_a_verdict_that_hangs_on_a_missing_trial_is_none(self):
        # Three of forty missing: wrong, they are a drop of 7.5 points and no longer removable.
        results = made.run(broken=[("no-tail", case) for case in made.MAIN[:3]], until=0)
        found = results.ruled("no-tail")
        assert found.finding is Finding.NOT_MEASURED
        assert found.reason == (
            "trials are missing (3 of no-tail), with which it may be removable or undecided"
        )

    def test_a_verdict_that_does_not_hang_on_it_stands(self):
        results = made.run(broken=[("no-passages", "a00")], until=0)
        assert results.verdict("passages") == "needed"

    def test_a_hypothesis_on_a_drop_is_run_for_every_way_to_count_them(self):
        results = made.run(broken=[("no-tail", case) for case in made.MAIN[:3]], until=0)
        assert ruling(results, lambda its: check(its.drop("tail").estimate < 0.01))[0] is Ruling.UNAVAILABLE
        assert ruling(results, lambda its: check(its.drop("tail").estimate < 0.2))[0] is Ruling.PASSED

    def test_a_missing_stress_trial_counts_both_ways_too(self):
        results = made.run(broken=[("no-tail", "s0")], until=0)
        found, reason = ruling(results, lambda its: check(its.stress_drop("tail").estimate < 0.1))
        assert found is Ruling.UNAVAILABLE
        assert "1 missing of no-tail as wrong" in reason

    def test_a_missing_trial_of_the_arm_that_asks_again_can_refuse_the_threshold(self):
        # Four of forty differ already, which is the threshold; with the missing one more do.
        results = made.run(
            broken=[("again", "a20")], changed=[("again", case) for case in made.MAIN[:4]], until=0
        )
        assert results.ruled("no-tail").finding is Finding.NOT_MEASURED

    def test_trials_that_were_not_needed_are_not_missing(self):
        results = made.run(changed=[("again", case) for case in made.MAIN[:5]])
        assert results.statuses("composed") == {"not_needed": 40}
        assert results.missing("composed") == {}
        assert not results.lacking("composed")

    def test_those_of_stress_cases_are_named_with_the_rest(self):
        results = made.run(broken=[("no-tail", "s0"), ("no-tail", "a00")], until=0)
        assert results.missing("no-tail") == {"a00": "error", "s0": "error"}
        assert results.lacking("no-tail") == {"error": 2}


class TestHypotheses:
    """Over a whole run, with all that a hypothesis can ask for."""

    def test_all_of_it_survives_counting_and_leaves_evidence(self):
        view = made.run().counting({})
        asked = [
            view.drop("passages"),
            view.stress_drop("passages"),
            view.composed_drop(),
            view.shortfall(),
            view.needed_fraction(),
            view.oracle_fraction(),
            view.churn_floor(),
            view.reweighted_drop("tail"),
            view.points_per_1000_tokens("passages"),
            view.recovered("select-9"),
        ]
        assert [one.name for one in asked] == [evidence.measure for evidence in view.evidence]
        assert not view.in_doubt
        assert asked[2].estimate == pytest.approx(10 / 40)

    def test_what_the_claim_says_can_be_asked_and_leaves_its_drop_as_evidence(self):
        view = made.run().counting({})
        assert view.composition_holds() is False
        assert (view.clears_stress("tail"), view.clears_stress("passages")) == (True, False)
        assert (view.reweighted_verdict("examples"), view.reweighted_verdict("no-tail")) == (
            "needed",
            "undecided",
        )
        below = (Bound("high", "<", 0.1),)
        assert [(one.measure, one.bounds) for one in view.evidence] == [
            ("drop under composed", below),
            ("drop under no-tail on the stress cases", (Bound("estimate", "<", 0.1),)),
            ("drop under no-passages on the stress cases", (Bound("estimate", "<", 0.1),)),
            ("drop under no-examples at production's shares", (Bound("low", ">=", 0.1), *below)),
            ("drop under no-tail at production's shares", (Bound("low", ">=", 0.1), *below)),
        ]

    @pytest.mark.parametrize(
        ("ask", "reason"),
        [
            (lambda its: its.clears_stress("tail"), "a quick look asks no stress cases"),
            (lambda its: its.reweighted_verdict("tail"), "the study gives no shares of production"),
        ],
    )
    def test_what_there_is_none_of_is_unavailable(self, ask, reason):
        plan = made.ablation(quick=True, production={})
        with pytest.raises(Unavailable, match=reason):
            ask(made.told(plan, CASES, lambda *_: True))

    def test_where_nothing_is_left_out_together_nothing_can_hold(self):
        none = screened(lambda _case, arm: arm.startswith("no-"), plan=made.ablation(quick=True))
        with pytest.raises(Unavailable, match="without any block more was lost than the threshold allows"):
            none.composition_holds()

    def test_a_missing_stress_trial_makes_it_unknown_whether_the_composition_holds(self):
        # Three stress cases: with one of them lost a third is, and with none nothing.
        is_right = {"no-passages": False}
        asked = [made.question(case) for case in made.MAIN + made.STRESS]
        results = made.told(
            made.ablation(production={}),
            asked,
            lambda case, arm: None if (arm.id, case.id) == ("composed", "s0") else is_right.get(arm.id, True),
        )
        assert results.is_clear_of_stress("composed") is None
        found, reason = ruling(results, lambda its: check(its.composition_holds()))
        assert found is Ruling.UNAVAILABLE
        assert "it was not measured on all stress cases" in reason

    def test_what_is_compared_is_told(self):
        view = SCREENED.counting({})
        assert view.stress_drop("examples").estimate < 0.5
        assert view.evidence[0].bounds == (Bound("estimate", "<", 0.5),)

    def test_a_quick_look_has_blocks_and_the_composed_arm(self):
        results = made.run(made.ablation(quick=True))
        assert results.verdict("system") == "removable"
        # Without units taken apart the two blocks that state the same rules go together.
        assert results.composed_drop().estimate == pytest.approx(4 / 40)
        assert results.redundant_pairs() == (("system", "tail"),)
        assert results.lost_cases() == made.RULES
        with pytest.raises(ValueError, match="has no arm 'select-9'"):
            results.recovered("select-9")

    def test_a_missing_trial_of_the_composed_arm_puts_it_in_doubt(self):
        results = made.run(made.ablation(quick=True), broken=[("composed", "a00")])
        view = results.counting({})
        view.lost_cases()
        assert list(view.in_doubt) == ["composed"]
        assert ruling(results, lambda its: check(its.composed_drop().estimate < 0.11))[0] is (
            Ruling.UNAVAILABLE
        )

    def test_counting_a_trial_does_not_change_what_the_composed_arm_leaves_out(self):
        results = made.run(made.ablation(quick=True), broken=[("no-tail", "a00")])
        results.decisions = {}
        view = results.counting({"no-tail": False, "base": True})
        assert view.composed_drop().estimate == results.composed_drop().estimate

    def test_without_a_composed_arm_the_reason_is_told(self):
        results = made.told(
            made.ablation(),
            [made.question(case) for case in made.MAIN],
            lambda _case, arm: None if arm.stage > 1 else arm.kind in {"base", "again"},
        )
        with pytest.raises(Unavailable, match="no block and no unit came out removable"):
            results.composed_drop()


def check(holds):
    assert holds
