"""What stands on an edge: units that only stress cases have, stress cases that nobody answers, ends on the threshold."""

from dataclasses import replace

import made_ablation as made
import pytest
import scipy.stats

from pytest_tokenbench.ablation import claim, composition, report, stages, together
from pytest_tokenbench.ablation.design import ArmKind, ArmPlan, BlockPlan, Parts, arms
from pytest_tokenbench.ablation.findings import Finding, by_interval
from pytest_tokenbench.ablation.losses import Group, allowed
from pytest_tokenbench.records import Decision, Status
from pytest_tokenbench.reporting import ablation, ablation_blocks
from pytest_tokenbench.results import Unavailable
from pytest_tokenbench.statistics import Estimate

NOT_ASKED = {ArmKind.FILLER, ArmKind.PART, ArmKind.PAIR}
DOCUMENT = {
    "baseline": "base",
    "conditions": {"base": {"measures": {"accuracy": {"unavailable": "-"}, "input_tokens": {}}}},
}


def case(name, *, stress=False):
    return replace(made.question("a00"), id=name, document=name, stress=stress)


def some(count, stress=0):
    return [case(f"c{place:02}") for place in range(count)] + [
        case(f"s{place:02}", stress=True) for place in range(stress)
    ]


def plan_of(blocks, units, cases, words=None, **changes):
    its = {one.id: words or {} for one in cases}
    known = {"production": {}, "scores": {}, "words": its, "threshold": 0.1}
    return made.ablation(blocks=blocks, arms=arms(blocks, units), **(known | changes))


def sections(found):
    return {one.name: one for one in ablation.sections({"ablation": found} | DOCUMENT)}


class TestUnitsThatOnlyStressCasesHave:
    BLOCKS = (BlockPlan("examples", Parts.EACH), BlockPlan("system"))
    CASES = some(40, stress=1)
    PLAN = plan_of(
        BLOCKS,
        {"examples": 3, "system": 1},
        CASES,
        words={one.id: {"examples": (3, 3), "system": (2,)} for one in CASES}["c00"],
    )
    PLAN = replace(PLAN, words=PLAN.words | {"s00": {"examples": (3, 3, 3), "system": (2,)}})

    def results(self, needs=lambda arm: arm == "no-examples"):
        def tokens(_case, arm):
            return 100 - {"no-examples": 30, "no-examples-1": 20, "no-examples-2": 10}.get(arm.id, 0)

        return made.told(
            self.PLAN,
            self.CASES,
            lambda _case, arm: None if arm.kind in NOT_ASKED else not needs(arm.id),
            tokens,
        )

    def test_are_in_the_report_and_have_no_tokens_in_main_cases(self):
        (block, _) = report.build(self.PLAN, self.results())["blocks"]
        assert [unit["unit"] for unit in block["units"]] == [1, 2, 3]
        assert [unit["tokens"]["estimate"] for unit in block["units"]] == pytest.approx([20, 10, 0])

    def test_do_not_make_a_block_of_units_that_stand_in_for_one_another_go(self):
        # To leave out units 1 and 2 of a main case is to leave out the whole block.
        results = self.results(lambda arm: arm in {"no-examples", "no-examples-3"})
        assert results.ruled("no-examples-3").finding is Finding.NEEDED
        assert composition.proposal(results) == ("system",)


class TestStressCasesOfWhichTooFewAreRight:
    BLOCKS = (BlockPlan("system"), BlockPlan("tail"))
    CASES = some(60, stress=20)
    PLAN = plan_of(BLOCKS, {"system": 1, "tail": 1}, CASES)
    WHY = "with every block 10.0% of the stress cases are right, so that no block can cost the threshold of 10.0 points there"

    def results(self, right_on_stress):
        def is_right(one, arm):
            if arm.kind in NOT_ASKED:
                return None
            return int(one.id[1:]) < right_on_stress if one.stress else arm.id != "no-system"

        cut = {"no-system": 40, "no-tail": 30, "composed": 30}
        return made.told(self.PLAN, self.CASES, is_right, lambda _case, arm: 100 - cut.get(arm.id, 0))

    def test_are_not_cleared_by_what_no_block_can_lose(self):
        few, enough = self.results(2), self.results(3)
        assert (few.is_clear_of_stress("no-tail"), enough.is_clear_of_stress("no-tail")) == (None, True)
        assert (few.why_stress_is_open("no-tail"), enough.why_stress_is_open("no-tail")) == (self.WHY, None)
        assert (composition.proposal(few), composition.proposal(enough)) == ((), ("tail",))
        with pytest.raises(
            Unavailable, match="whether no-tail clears the stress cases is not known: with every"
        ):
            few.clears_stress("tail")

    def test_are_told_apart_from_trials_that_are_missing(self):
        hurt = made.told(
            self.PLAN,
            self.CASES,
            lambda one, arm: None if (arm.id, one.id[0]) == ("no-tail", "s") else arm.id != "no-system",
        )
        assert hurt.why_stress_is_open("no-tail") == "it was not measured on all stress cases"

    def test_say_so_in_every_report_with_their_accuracy(self):
        found = report.build(self.PLAN, self.results(2))
        tail = found["blocks"][1]
        assert (tail["clears_stress"], tail["stress_note"]) == (None, self.WHY)
        assert found["stress_baseline"]["estimate"] == pytest.approx(0.1)
        shown = sections(found)["blocks"].sentences
        assert f"tail: not cut, since not known to clear the stress slice: {self.WHY}" in shown
        assert found["composed"]["unavailable"].endswith(f"there is nothing to leave out ({self.WHY})")
        measured = {"accuracy": found["baseline"], "input_tokens": {}}
        told = ablation.base(
            {"ablation": found, "baseline": "base", "conditions": {"base": {"measures": measured}}}
        )
        assert "; of the stress slice 10% [" in told

    def test_are_not_said_to_be_cleared_by_the_composed_arm_nor_in_a_claim(self):
        # A run that decided to leave out the tail all the same, as one could that did not see this.
        its = self.results(2)
        decided = made.AblationResults.of(
            self.PLAN,
            self.CASES,
            (*its.observations, *its.stress.observations),
            1,
            [Decision("composed", left_out=("tail",))],
        )
        whole = together.of(decided)
        assert (whole.ruled.finding, whole.clears_stress, whole.holds) == (Finding.REMOVABLE, None, False)
        assert (
            whole.note
            == f"does not hold: the composed arm is not known to clear the stress cases: {self.WHY}"
        )
        with pytest.raises(Unavailable, match="is not known to clear the stress cases"):
            decided.composition_holds()
        found = report.build(self.PLAN, decided)
        assert (
            f"; not known to clear the stress slice: {self.WHY}" in sections(found)["composed"].sentences[0]
        )
        one = claim.claims(found, made.record(self.PLAN))[0]
        assert (one.stress.baseline, one.stress.clears) == (pytest.approx(0.1), None)
        assert one.stress.note == f"not known: {self.WHY}"


def test_where_few_cases_are_right_reports_and_claims_say_what_removable_is_worth():
    blocks, cases = (BlockPlan("system"), BlockPlan("tail")), some(80)
    plan = plan_of(blocks, {"system": 1, "tail": 1}, cases, threshold=0.05)
    said = 'with every block 7.5% of the cases are right: no block can lose more than 7.5 points, so that "removable" says little'
    for right, told in ((6, [said]), (8, [])):
        results = made.told(
            plan,
            cases,
            lambda one, arm, right=right: None if arm.kind in NOT_ASKED else int(one.id[1:]) < right,
            lambda _case, arm: 100 - {"no-system": 40, "no-tail": 30, "composed": 70}.get(arm.id, 0),
        )
        found = report.build(plan, results)
        assert [note for note in found["notes"] if "says little" in note] == told
        assert list(claim.claims(found, made.record(plan))[0].notes) == told
        assert [f"note: {one}" in sections(found)["doubts"].sentences for one in told] == [True] * len(told)


class TestEndsOnTheThreshold:
    @pytest.mark.parametrize("right", [80, 75, 70, 65, 60, 50, 40, 33])
    def test_nine_lost_cases_of_eighty_are_the_same_finding_whatever_the_base(self, right):
        # The lower end is 4 of 80, which is the threshold; the sums of which it is made are rounded otherwise each time.
        plan = made.ablation(
            blocks=(BlockPlan("system"),),
            arms=(ArmPlan("base", ArmKind.BASE), ArmPlan("no-system", ArmKind.WITHOUT, ("system",))),
            production={},
            threshold=0.05,
        )
        results = made.told(
            plan,
            some(80),
            lambda one, arm: int(one.id[1:]) < right and (arm.id == "base" or int(one.id[1:]) >= 9),
        )
        assert results.drop("system").low == pytest.approx(0.05)
        assert results.ruled("no-system").finding is Finding.NEEDED

    @pytest.mark.parametrize("off", [-1e-12, 0.0, 1e-12])
    def test_an_end_that_rounding_carries_off_is_on_it(self, off):
        assert by_interval(0.05 + off, 0.2, 0.05) is Finding.NEEDED
        assert by_interval(-0.1, 0.05 + off, 0.05) is Finding.UNDECIDED
        assert by_interval(-0.1, 0.05 - 1e-6, 0.05) is Finding.REMOVABLE
        assert by_interval(0.05 - 1e-6, 0.2, 0.05) is Finding.UNDECIDED


class TestUnitsThatStandInForOneAnother:
    BLOCKS = (BlockPlan("examples", Parts.EACH), BlockPlan("tail"))
    CASES = some(80)
    PLAN = plan_of(
        BLOCKS, {"examples": 2, "tail": 1}, CASES, words={"examples": (3, 3), "tail": (3,)}, threshold=0.05
    )

    def results(self, lost=("no-examples",), plan=None):
        cut = {"no-examples": 50, "no-tail": 40, "composed": 40}
        return made.told(
            plan or self.PLAN,
            self.CASES,
            lambda _case, arm: None if arm.kind in NOT_ASKED else arm.id not in lost,
            lambda _case, arm: 100 - cut.get(arm.id, 0),
        )

    def test_are_not_proposed_so_that_the_tail_is_tried_by_itself(self):
        results = self.results()
        assert {results.verdict(f"no-examples-{unit}") for unit in (1, 2)} == {"removable"}
        assert composition.proposal(results) == ("tail",)
        assert results.composition_holds() is True
        # The examples have 50 of 90 tokens.
        assert results.needed_fraction().estimate == pytest.approx(50 / 90)

    def test_are_told_of_with_the_reason_in_the_report_and_the_claim(self):
        found = report.build(self.PLAN, self.results())
        said = (
            "the units of examples came out removable one by one and none is cut by itself: they stand in for one another, since to "
            "leave out all of them is to leave out examples, which is needed"
        )
        assert said in sections(found)["units-examples"].sentences
        for one in claim.claims(found, made.record(self.PLAN)):
            assert one.blocks.stand_in == ("examples",)
            assert one.notes == (said,)

    def test_are_the_reason_where_there_is_nothing_else_to_leave_out(self):
        results = self.results(("no-examples", "no-tail"))
        with pytest.raises(
            Unavailable, match="nothing can be left out together: the units of examples came out"
        ):
            stages.left_out(results)

    def test_one_that_is_needed_lets_the_others_go(self):
        results = self.results(("no-examples", "no-examples-1"))
        assert composition.proposal(results) == ("examples/2", "tail")
        assert composition.stand_ins(results) == ()

    def test_ranks_that_could_each_go_are_not_cut_by_themselves_and_what_follows_one_is(self):
        blocks = (BlockPlan("passages", Parts.RANKED), BlockPlan("tail"))
        plan = plan_of(
            blocks, {"passages": 3, "tail": 1}, self.CASES, words={"passages": (3, 3, 3), "tail": (3,)}
        )
        results = self.results(("no-passages", "passages-to-1"), plan)
        assert {results.verdict(f"no-passages-{unit}") for unit in (1, 2, 3)} == {"removable"}
        assert composition.proposal(results) == ("passages/3", "tail")
        assert composition.stand_ins(results) == ("passages",)

    def test_what_follows_a_rank_goes_since_it_was_measured_as_one(self):
        blocks = (BlockPlan("passages", Parts.RANKED), BlockPlan("tail"))
        plan = plan_of(
            blocks, {"passages": 3, "tail": 1}, self.CASES, words={"passages": (3, 3, 3), "tail": (3,)}
        )
        results = self.results(("no-passages", "no-passages-3"), plan)
        assert results.verdict("passages-to-1") == "removable"
        assert composition.proposal(results) == ("passages/2", "passages/3", "tail")


def test_a_unit_of_which_trials_are_missing_is_shown_with_the_reason():
    blocks, cases = (BlockPlan("examples", Parts.EACH),), some(40)
    plan = plan_of(blocks, {"examples": 2}, cases, words={"examples": (3, 3)})
    seen = [
        made.observation(one.id, arm.id, Status.OVER_WINDOW)
        if (arm.id, one.id) == ("no-examples-2", "c00")
        else made.observation(one.id, arm.id, right=arm.id != "no-examples")
        for one in cases
        for arm in plan.arms
        if arm.kind not in NOT_ASKED
    ]
    (block,) = report.build(plan, made.AblationResults.of(plan, cases, seen))["blocks"]
    assert [unit["verdict"] for unit in block["units"]] == ["removable", "not measured"]
    (section,) = ablation_blocks.taken_apart(block)
    assert (
        "examples/2 not measured: trials are missing (1 of no-examples-2), with which it may be removable or undecided"
    ) in section.sentences


def test_a_slice_that_did_not_vary_keeps_its_uncertainty_where_another_varies():
    # All of five follow-ups are lost: what they allow is 1 - 0.025^(1/5) of them, and of that their weight.
    follow_ups, others = Group(5, 0.23, 1.0, 0.0), Group(75, 0.77, 1 / 75, 0.0)
    estimate = 0.23 + 0.77 / 75
    found = allowed(Estimate(estimate, 0.23, 0.2608, 80), [follow_ups, others])
    unseen = scipy.stats.binomtest(0, 5).proportion_ci(method="exact").high
    assert found.low == pytest.approx(estimate - 0.23 * unseen)
    # A slice in which some are lost and some are not is resampled as it is.
    varied = Group(5, 0.23, 0.4, 0.0)
    assert allowed(Estimate(0.1, 0.05, 0.15, 80), [varied, others]).low == 0.05
