"""Which share of the tokens is needed: the figures that were worked by hand, and what counts where."""

import functools
from fractions import Fraction

import made_ablation as made
import numpy as np
import pytest

from pytest_tokenbench.ablation import oracle
from pytest_tokenbench.ablation.design import BlockPlan, Parts, arms
from pytest_tokenbench.results import Unavailable

# The worked prompt: 14,000 tokens in four blocks; 12 examples of 200 tokens, 5 passages of 1,960.
SIZES = {"system": 900, "examples": 2_400, "passages": 9_800, "tail": 900}
COUNT = {"system": 1, "examples": 12, "passages": 5, "tail": 1}
LOAD_BEARING = (1, 4, 7, 12)
RANKS = [1] * 78 + [2] * 14 + [3] * 5 + [4] * 3  # the gold passage deeper than 3 is taken as 4
FOLLOW_UPS = 6


def worked_ablation():
    names = [f"w{place:02}" for place in range(100)]
    words = {name: (size // COUNT[name],) * COUNT[name] for name, size in SIZES.items()}
    return made.ablation(
        threshold=0.1,
        arms=arms(made.BLOCKS, COUNT),
        words=dict.fromkeys([*names, "stress"], words),
        scores={name: {"passages": (5.0, 4.0, 3.0, 2.0, 1.0)} for name in [*names, "stress"]},
        production={},
    )


def tokens_sent(_case, arm):
    """The prompt's frame takes 40 tokens; each arm lacks exactly what it leaves out."""
    sent = 40 + sum(SIZES.values())
    if arm.kind == "without":
        return sent - SIZES[arm.blocks[0]]
    if arm.kind == "unit":
        return sent - SIZES[arm.blocks[0]] // COUNT[arm.blocks[0]]
    if arm.kind == "up_to":
        return sent - (COUNT["passages"] - arm.unit) * 1_960
    return sent


@functools.cache
def worked(needed_blocks=("system", "examples", "passages")):
    """A hundred cases; without a needed block, a load-bearing example or the gold passage the reader is wrong.

    All that came out removable can be left out together. The tail is no part of it: a stress case needs it.
    """

    def is_right(case, arm):
        if case.stress:
            return arm.id != "no-tail"
        if arm.kind == "composed":
            return True
        if arm.kind == "without":
            return arm.blocks[0] not in needed_blocks
        if arm.kind == "unit" and arm.blocks == ("examples",):
            return arm.unit not in LOAD_BEARING
        if arm.kind == "up_to":
            return arm.unit >= case.gold_rank
        return True if arm.stage < 2 else None

    asked = [
        made.replace(made.question("a00"), id=f"w{place:02}", gold_rank=rank, follow_up=place < FOLLOW_UPS)
        for place, rank in enumerate(RANKS)
    ]
    asked.append(made.replace(asked[0], id="stress", stress=True))
    return made.told(worked_ablation(), asked, is_right, tokens_sent)


class TestWorkedFigures:
    def test_three_blocks_of_four_are_94_percent(self):
        # 900 + 2,400 + 9,800 = 13,100 of 14,000 is 131/140 = 0.93571..., rounded half up to whole percent: 94.
        exact = Fraction(900 + 2_400 + 9_800, 14_000)
        assert exact == Fraction(131, 140)
        found = worked().needed_fraction()
        assert found.estimate == pytest.approx(float(exact), rel=1e-12)
        assert f"{100 * found.estimate:.0f}%" == "94%"
        needed = oracle.by_findings(worked())
        assert needed.means() == (13_100, 14_000)

    def test_the_mean_number_of_passages_is_1_33_and_they_are_2_607_tokens(self):
        # 0.78 * 1 + 0.14 * 2 + 0.05 * 3 + 0.03 * 4 = 1.33 exactly; at 1,960 tokens each 2,606.8, which is not 2,640.
        mean = sum(Fraction(rank, 100) for rank in RANKS)
        assert mean == Fraction(133, 100)
        results = worked()
        kept = oracle.down_to_gold(results, "passages", 5)
        assert kept.sum(axis=1).mean() == pytest.approx(1.33, rel=1e-12)
        tokens = np.where(kept, results.unit_tokens("passages"), 0).sum(axis=1)
        assert tokens.mean() == pytest.approx(float(mean * 1_960), rel=1e-12)
        assert float(mean * 1_960) == pytest.approx(2_606.8)

    def test_four_examples_of_200_tokens_are_800(self):
        results = worked()
        examples = results.ablation.blocks[1]
        assert oracle.load_bearing(results, examples) == list(LOAD_BEARING)
        tokens = results.unit_tokens("examples")[:, [unit - 1 for unit in LOAD_BEARING]].sum(axis=1)
        assert tokens == pytest.approx(np.full(100, 800.0))

    def test_a_tail_of_900_tokens_in_6_percent_of_the_cases_is_54(self):
        results = worked()
        kept = oracle.kept(results)["tail"]
        assert np.where(kept, results.unit_tokens("tail"), 0).sum(axis=1).mean() == pytest.approx(54)

    def test_the_oracle_of_that_prompt_by_the_mean_passages_is_31_1_percent(self):
        # 900 + 800 + 2,606.8 + 54 = 4,360.8 of 14,000 is 0.311486..., to one decimal of a percent 31.1.
        found = worked().oracle_fraction()
        assert oracle.by_oracle(worked()).means() == pytest.approx((4_360.8, 14_000))
        assert found.estimate == pytest.approx(4_360.8 / 14_000, rel=1e-12)
        assert f"{100 * found.estimate:.1f}%" == "31.1%"

    def test_with_2640_tokens_of_passages_as_given_it_is_31_4_percent(self):
        # The total that was worked by hand takes 2,640 tokens of passages: 4,394 of 14,000 is 0.313857..., so 31.4.
        # Passages of 1,985 tokens (less 0.04) give that mean: 2,640 / 1.33 = 1,984.96 each.
        assert Fraction(900 + 800 + 2_640 + 54, 14_000) == Fraction(4_394, 14_000)
        needed = np.array([900 + 800 + 2_640 + 54.0, 900 + 800 + 2_640 + 54.0])
        found = oracle.fraction(worked_pair(), oracle.Needed(needed, np.full(2, 14_000.0)))
        assert f"{100 * found.estimate:.1f}%" == "31.4%"


def worked_pair():
    return made.told(worked_ablation(), [made.question("a00"), made.question("a01")], lambda *_: True)


class TestNeededFraction:
    def test_an_undecided_block_counts_as_needed(self):
        # Eight of forty cases need the system block: 0.2 [0.075, 0.325] around a threshold of 0.1.
        results = made.told(
            made.ablation(),
            [made.question(case) for case in made.MAIN],
            lambda case, arm: (
                not (arm.id == "no-passages" or (arm.id == "no-system" and case.id in made.MAIN[:8]))
            ),
            lambda _case, arm: {"base": 200, "no-system": 150, "no-passages": 150}.get(arm.id, 200),
        )
        assert results.verdict("system") == "undecided"
        assert results.verdict("tail") == "removable"
        assert results.needed_fraction().estimate == pytest.approx(1.0)

    def test_without_a_finding_on_some_block_there_is_none(self):
        results = made.told(
            made.ablation(),
            [made.question(case) for case in made.MAIN],
            lambda _case, arm: None if arm.id == "no-tail" else True,
        )
        with pytest.raises(Unavailable, match="tail has no finding: condition no-tail was not measured"):
            results.needed_fraction()

    def test_a_refused_threshold_leaves_none(self):
        results = made.run(changed=[("again", case) for case in made.MAIN[:5]], until=0)
        with pytest.raises(Unavailable, match=r"below the churn floor: 12\.5%"):
            results.needed_fraction()

    def test_one_lost_token_count_leaves_none_to_a_hypothesis(self):
        lost = {("no-tail", "r0")}
        results = made.told(
            made.ablation(),
            [made.question(case) for case in made.MAIN],
            lambda case, arm: (
                None
                if arm.stage == 1 or (arm.id, case.id) in lost
                else arm.id not in {"no-tail", "no-passages"}
            ),
            words_sent,
        )
        with pytest.raises(Unavailable, match="input_tokens of no-tail is missing for 1 of 40 questions"):
            results.needed_fraction()


class TestOracle:
    def test_by_hand(self):
        # Examples: only example 3 (6 of 22 words) is needed by itself; the block is needed. By case: system 7, examples
        # 6, passages 10 (18 cases), 22 (12) and 0 (10), tail 5 in the four follow-ups: 520 + 180 + 264 + 20 = 984 of
        # 40 * 70 words.
        # What comes out removable is put back, as it cannot be left out together: all of the examples.
        found = made.run().oracle_fraction()
        assert found.estimate == pytest.approx((984 + 40 * 16) / 2_800)

    def test_a_removable_block_of_units_is_none_and_one_not_taken_apart_is_whole(self):
        removable = made.told(made.ablation(production={}), cases(), lambda *_: True, words_sent)
        # All of it was left out together too, without a loss.
        assert removable.oracle_fraction().estimate == 0
        whole = made.told(
            made.ablation(quick=True, production={}),
            cases(),
            lambda _case, arm: arm.id != "no-examples",
            words_sent,
        )
        assert whole.oracle_fraction().estimate == pytest.approx(880 / 2_800)

    def test_units_that_stand_in_for_one_another_leave_the_block_whole(self):
        # Without the block every case is wrong, and without all of what is free alone; without any one example none is.
        results = made.told(
            made.ablation(),
            cases(),
            lambda _case, arm: arm.id not in {"no-examples", "composed"},
            words_sent,
        )
        assert oracle.load_bearing(results, made.BLOCKS[1]) == []
        assert results.oracle_fraction().estimate == pytest.approx((280 + 880 + 180 + 264 + 20) / 2_800)

    def test_a_unit_whose_arm_was_lost_is_not_known_to_be_removable(self):
        results = made.told(
            made.ablation(),
            cases(),
            lambda _case, arm: (
                None
                if arm.stage > 1 or arm.id == "no-examples-4"
                else arm.id not in {"no-examples", "no-examples-3"}
            ),
            words_sent,
        )
        assert oracle.load_bearing(results, made.BLOCKS[1]) == [3, 4]

    def test_it_never_needs_more_than_is_sent(self):
        results = made.run()
        tokens = oracle.by_oracle(results)
        assert np.all(tokens.needed <= tokens.total + 1e-9)


class TestUnitTokens:
    def test_without_arms_of_their_own_the_units_share_the_block_by_words(self):
        results = made.run(made.ablation(quick=True))
        assert results.unit_tokens("examples")[0] == pytest.approx([4, 4, 6, 8])

    @pytest.mark.parametrize("block", ["examples", "passages"])
    def test_measured_ones_add_up_to_the_block(self, block):
        results = made.run(until=1)
        assert results.unit_tokens(block).sum(axis=1) == pytest.approx(results.tokens_of(block))

    def test_measured_ones_count_and_not_words(self):
        # By words the examples would be 4, 4, 6 and 8 of 22; leaving each out saves 10, 10, 20 and 40 of 80.
        saved = {
            "no-examples": 80,
            "no-examples-1": 10,
            "no-examples-2": 10,
            "no-examples-3": 20,
            "no-examples-4": 40,
        }
        results = made.told(
            made.ablation(), cases(), lambda *_: True, lambda _case, arm: 500 - saved.get(arm.id, 0)
        )
        assert results.unit_tokens("examples")[0] == pytest.approx([10, 10, 20, 40])

    def test_ranks_are_told_by_what_is_left_after_each(self):
        # 60 tokens in three passages; after the first 25 are gone, after the second 5.
        saved = {"no-passages": 60, "passages-to-1": 25, "passages-to-2": 5}
        results = made.told(
            made.ablation(), cases(), lambda *_: True, lambda _case, arm: 500 - saved.get(arm.id, 0)
        )
        assert results.unit_tokens("passages")[0] == pytest.approx([35, 20, 5])

    def test_a_case_without_the_block_has_none(self):
        words = dict.fromkeys(made.MAIN, made.WORDS) | {made.MAIN[0]: made.WORDS | {"examples": ()}}
        plan = made.ablation(words=words)
        results = made.told(
            plan,
            cases(),
            lambda *_: True,
            lambda case, arm: 500 - 22 * (arm.id == "no-examples" and case.id != made.MAIN[0]),
        )
        assert results.unit_tokens("examples")[0] == pytest.approx(np.zeros(4))
        assert results.unit_tokens("examples")[1].sum() == pytest.approx(22)


def test_a_block_of_one_ranked_unit_is_told_by_its_block():
    plan = made.ablation(
        blocks=(BlockPlan("passages", Parts.RANKED),),
        arms=arms([BlockPlan("passages", Parts.RANKED)], {"passages": 1}),
        words={case: {"passages": (9,)} for case in made.MAIN},
    )
    results = made.told(
        plan,
        cases(),
        lambda _case, arm: arm.id != "no-passages",
        lambda _case, arm: 50 - 9 * (arm.id == "no-passages"),
    )
    assert results.unit_tokens("passages")[0] == pytest.approx([9])
    assert results.oracle_fraction().estimate == pytest.approx(30 / 40)


def cases():
    return [made.question(case) for case in made.MAIN]


def words_sent(_case, arm):
    """Tokens as words: a hundred, less those of what the arm leaves out."""
    if arm.kind == "without":
        return 100 - sum(made.WORDS[arm.blocks[0]])
    if arm.kind == "unit":
        return 100 - made.WORDS[arm.blocks[0]][arm.unit - 1]
    if arm.kind == "up_to":
        return 100 - sum(made.WORDS[arm.blocks[0]][arm.unit :])
    return 100
