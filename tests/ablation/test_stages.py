"""What later arms do follows from earlier trials; what is left out together shows what single arms cannot."""

import made_ablation as made
import pytest

from pytest_tokenbench.ablation import composition, stages
from pytest_tokenbench.ablation.arms import Arm
from pytest_tokenbench.results import Unavailable

WHOLE = made.run()


def decided(results, stage):
    return {one.arm: one for one in stages.decide(results.ablation, results, stage)}


class TestScreening:
    def test_the_first_arms_need_no_decision(self):
        assert stages.decide(made.ablation(), made.run(until=0), 0) == ()

    def test_every_arm_of_a_stage_is_decided_once(self):
        for stage in (1, 2, 3):
            made_of = [one.arm for one in stages.decide(WHOLE.ablation, WHOLE, stage)]
            assert made_of == [arm.id for arm in WHOLE.ablation.arms if arm.stage == stage]

    def test_a_filler_is_as_long_as_what_it_replaces_in_every_case(self):
        found = decided(made.run(until=0), 1)["filler-passages"]
        assert found.lengths == dict.fromkeys(made.MAIN + made.STRESS, 36)
        assert found.needless is None

    def test_a_case_whose_tokens_are_not_known_has_no_length(self):
        results = made.run(broken=[("no-tail", "r0"), ("base", "s1")], until=0)
        found = decided(results, 1)["filler-tail"]
        assert set(made.MAIN + made.STRESS) - set(found.lengths) == {"r0", "s1"}

    def test_without_any_length_a_filler_is_needless(self):
        results = made.run(broken=[("no-tail", case) for case in made.MAIN + made.STRESS], until=0)
        found = decided(results, 1)["filler-tail"]
        assert found.needless == "how many tokens tail has was not measured in any case"

    def test_only_blocks_that_are_needed_are_taken_apart(self):
        found = decided(made.run(until=0), 1)
        assert found["no-examples-1"].needless is None
        assert found["passages-to-1"].needless is None
        removable = made.told(made.ablation(), [made.question(case) for case in made.MAIN], lambda *_: True)
        assert decided(removable, 1)["no-examples-1"].needless == (
            "examples came out removable on this set: its units are not taken apart"
        )

    def test_a_refused_threshold_takes_nothing_apart_and_leaves_nothing_out(self):
        results = made.run(changed=[("again", case) for case in made.MAIN[:5]])
        assert "there can be none with this threshold" in decided(results, 1)["no-examples-1"].needless
        assert "lies below the churn floor" in decided(results, 2)["composed"].needless
        assert results.statuses("composed") == {"not_needed": 40}


class TestComposed:
    def test_leaves_out_all_that_came_out_removable(self):
        assert decided(WHOLE, 2)["composed"].left_out == (
            "system",
            "examples/1",
            "examples/2",
            "examples/4",
            "passages/3",
            "tail",
        )

    def test_what_does_not_clear_the_stress_cases_stays(self):
        # One stress case of three is lost without the tail: 33 points.
        results = made.run(changed=[("no-tail", "s0")])
        assert results.verdict("tail") == "removable"
        assert "tail" not in decided(results, 2)["composed"].left_out

    def test_what_was_lost_on_the_stress_cases_is_not_cleared(self):
        results = made.run(broken=[("no-tail", case) for case in made.STRESS])
        assert results.verdict("tail") == "removable"
        assert results.is_clear_of_stress("no-tail") is None
        assert "tail" not in decided(results, 2)["composed"].left_out

    def test_a_stress_trial_that_could_make_the_difference_is_counted_both_ways(self):
        # Of three cases one is missing: wrong it would be a drop of 33 points, right of none.
        results = made.run(broken=[("no-tail", "s0")])
        assert results.is_clear_of_stress("no-tail") is None

    def test_without_stress_cases_the_main_ones_decide(self):
        results = made.run(cases=made.MAIN)
        assert results.stress is None
        assert decided(results, 2)["composed"].left_out[-1] == "tail"

    def test_where_nothing_came_out_removable_there_is_nothing_to_leave_out(self):
        results = made.told(
            made.ablation(),
            [made.question(case) for case in made.MAIN],
            lambda _case, arm: arm.stage == 0 and arm.kind != "without",
        )
        found = decided(results, 2)["composed"]
        assert found.left_out == ()
        assert found.needless == "no block and no unit came out removable: there is nothing to leave out"

    def test_a_ranked_block_is_cut_at_the_first_rank_after_which_nothing_is_missed(self):
        results = passages_only(lambda arm: arm.id in {"no-passages", "no-passages-1"})
        assert composition.proposal(results) == ("system", "examples", "passages/2", "passages/3", "tail")

    def test_the_last_passage_kept_is_not_cut_for_being_free_alone(self):
        # The second passage alone is free, but not together with the third: what was measured together counts.
        results = passages_only(lambda arm: arm.id in {"no-passages", "passages-to-1", "no-passages-1"})
        assert composition.proposal(results) == ("system", "examples", "passages/3", "tail")

    def test_a_passage_in_between_that_is_free_is_cut_too(self):
        # Nothing can be cut after a rank, but the second passage is free.
        missed = {"no-passages", "passages-to-1", "passages-to-2", "no-passages-1", "no-passages-3"}
        results = passages_only(lambda arm: arm.id in missed)
        assert composition.proposal(results) == ("system", "examples", "passages/2", "tail")


class TestParts:
    def test_each_piece_is_measured_by_its_arm(self):
        found = composition.parts(
            made.ablation(), ("system", "examples/1", "examples/4", "passages/1", "passages/3")
        )
        assert [(part.block, part.singles, part.alone) for part in found] == [
            ("system", ("no-system",), "no-system"),
            ("examples", ("no-examples-1", "no-examples-4"), "part-examples"),
            ("passages", ("no-passages-1", "passages-to-2"), "part-passages"),
        ]

    def test_of_a_single_block_the_composed_arm_is_the_part(self):
        (found,) = composition.parts(made.ablation(), ("examples/1", "examples/2"))
        assert found.alone == "composed"


class TestExplaining:
    def test_only_what_can_explain_a_loss_is_asked(self):
        found = decided(WHOLE, 3)
        assert found["pair-system-tail"].left_out == ("system", "tail")
        assert found["pair-system-passages"].left_out == ("system", "passages/3")
        assert found["part-examples"].left_out == ("examples/1", "examples/2", "examples/4")
        assert found["part-passages"].needless == "what is left out of passages was left out alone already"

    def test_nothing_is_asked_where_nothing_is_lost(self):
        # The redundant rules and examples are right whatever is left out.
        results = made.run(changed=[("composed", case) for case in made.RULES + made.EXAMPLES])
        found = decided(results, 3)
        assert {one.needless for one in found.values()} == {
            "the composed arm lost no case that its parts alone did not"
        }

    def test_a_pair_that_is_the_composed_arm_is_not_asked_again(self):
        # Only system and tail come out removable: the examples are needed, each of them.
        results = made.told(
            made.ablation(),
            [made.question(case) for case in made.MAIN],
            lambda case, arm: (
                (arm.stage == 0 and arm.id not in {"no-examples", "no-passages"})
                or (arm.id == "composed" and case.id not in made.RULES)
            ),
        )
        found = decided(results, 3)
        assert found["pair-system-tail"].needless == "the composed arm leaves out no more than this"
        assert found["pair-system-examples"].needless == "nothing is left out of examples"
        assert results.redundant_pairs() == (("system", "tail"),)

    def test_without_a_composed_arm_there_is_nothing_to_explain(self):
        results = made.told(
            made.ablation(), [made.question(case) for case in made.MAIN], lambda _case, arm: arm.id == "base"
        )
        assert all("nothing to explain" in one.needless for one in decided(results, 3).values())


class TestPlantedRedundancy:
    def test_single_arms_do_not_find_it(self):
        # Beside what each case needs by itself, nothing is lost without any one block or unit.
        alone = ["no-system", "no-tail", "no-examples-1", "no-examples-2", "no-examples-4", "passages-to-2"]
        for arm in alone:
            assert WHOLE.drop(arm).estimate == 0
            assert WHOLE.verdict(arm) == "removable"

    def test_the_composed_arm_does(self):
        assert WHOLE.composed_drop().estimate == pytest.approx(10 / 40)
        assert WHOLE.shortfall().estimate == pytest.approx(10 / 40)
        assert WHOLE.lost_cases() == made.RULES + made.EXAMPLES

    def test_pairs_name_the_two_blocks_and_within_the_one(self):
        assert WHOLE.redundant_pairs() == (("system", "tail"),)
        left_out = stages.left_out(WHOLE)
        found = {pair.blocks: pair.lost for pair in composition.pairs(WHOLE, left_out)}
        assert len(found) == 6
        assert {blocks: cases for blocks, cases in found.items() if cases} == {("system", "tail"): made.RULES}
        assert [(one.blocks, one.lost, one.redundant) for one in composition.within(WHOLE, left_out)] == [
            (("examples",), made.EXAMPLES, True)
        ]

    def test_what_a_part_loses_by_itself_is_not_blamed_on_a_pair(self):
        # The cases of the examples are lost in every pair with the examples, and without the system block in none.
        assert set(made.EXAMPLES).isdisjoint(
            case for pair in composition.pairs(WHOLE, stages.left_out(WHOLE)) for case in pair.lost
        )


def test_what_the_run_decided_counts_and_not_what_follows_from_its_trials_today():
    plan = made.ablation()
    known = stages.decision(WHOLE, "composed")
    other = made.AblationResults.of(
        plan, WHOLE.questions, (), decisions=[made.replace(known, left_out=("tail",))]
    )
    assert stages.left_out(other) == ("tail",)
    assert stages.left_out(WHOLE) == known.left_out


def test_an_arm_that_was_not_needed_says_why():
    results = made.run(changed=[("again", case) for case in made.MAIN[:5]])
    with pytest.raises(Unavailable, match="no-examples-1 was not asked: examples has no finding"):
        results.drop("no-examples-1")


def test_an_arm_of_which_nothing_is_decided_is_named():
    with pytest.raises(Unavailable, match="nothing is decided on base"):
        stages.decision(WHOLE, "base")


def test_what_is_decided_is_what_an_arm_sends():
    (composed,) = (arm for arm in WHOLE.ablation.arms if arm.id == "composed")
    arm = Arm(composed).decided(stages.decision(WHOLE, "composed"))
    sent = arm.context(made.question("a00"), made.documents()["a00"], None)
    assert sent.units == ("examples/3", "passages/1", "passages/2")


def passages_only(is_missed):
    """Cases that only the passages are for: wrong under the arms that `is_missed` says."""
    return made.told(
        made.ablation(),
        [made.question(case) for case in made.MAIN],
        lambda _case, arm: None if arm.stage > 1 else not is_missed(arm),
    )
