"""What the oracle keeps: nothing that was shown to go, always an answer, and ranks of the retrieved block alone."""

import made_ablation as made
import numpy as np
import pytest

from pytest_tokenbench.ablation import oracle, report
from pytest_tokenbench.ablation.design import BlockPlan, Parts, arms

MAIN = [made.question(case) for case in made.MAIN]
SUPPORT = {case: (tuple(tuple(sorted(group)) for group in groups),) for case, groups in made.NEEDS.items()}


def sizes(_case, arm):
    left_out = sum(made.WORDS[arm.blocks[0]]) if arm.kind == "without" else 0
    return 100 - left_out


def told(plan, is_right, asked=MAIN):
    return made.told(plan, asked, is_right, sizes)


def only_passages(_case, arm):
    return arm.id != "no-passages"


def test_a_whole_block_that_can_go_together_with_the_rest_counts_for_neither_fraction():
    results = told(made.ablation(production={}), only_passages)
    assert not oracle.kept(results)["system"].any()
    assert oracle.by_oracle(results).means()[0] <= oracle.by_findings(results).means()[0] == 36


def test_parts_that_cannot_go_together_count_for_both():
    results = told(made.ablation(), lambda _case, arm: arm.id not in {"no-passages", "composed"})
    assert oracle.kept(results)["system"].all()
    assert oracle.by_findings(results).means() == (70, 70)


@pytest.mark.parametrize(
    "is_right", [only_passages, lambda _case, arm: arm.id not in {"no-passages", "composed"}]
)
def test_the_oracle_needs_no_more_than_the_findings_leave(is_right):
    results = told(made.ablation(support=SUPPORT), is_right)
    assert np.all(oracle.by_oracle(results).needed <= oracle.by_findings(results).needed + 1e-9)


def test_a_case_whose_gold_rank_was_left_out_counts_whole_and_is_told():
    asked = [made.replace_rank(one, None) if one.id == "a00" else one for one in MAIN]
    plan = made.ablation(support={"a00": (((("passages/1"),),),), "a18": ((("passages/2",),),)})
    results = told(plan, only_passages, asked)
    assert oracle.unsupported(results) == ("a00",)
    kept = oracle.kept(results)["passages"]
    assert kept[0].all()
    assert not kept[18].all()
    assert any(
        note.startswith("in 1 of 40 cases the answer is not in")
        for note in report.build(plan, results)["notes"]
    )


def test_a_rule_that_a_whole_block_holds_is_not_flagged():
    plan = made.ablation(support={"r0": ((("system/1", "examples/2"),),)})
    results = told(plan, lambda _case, arm: arm.id not in {"no-passages", "no-system"})
    assert oracle.unsupported(results) == ()


def test_all_parts_of_a_gold_string_must_be_kept():
    plan = made.ablation(support={"a00": ((("passages/1",), ("examples/4",)),)}, production={})
    assert oracle.unsupported(told(plan, only_passages)) == ("a00",)


class TestTwoRankedBlocks:
    BLOCKS = (*made.BLOCKS, BlockPlan("more", Parts.RANKED))
    UNITS = made.UNITS | {"more": 2}

    def plan(self):
        words = dict.fromkeys(made.MAIN, made.WORDS | {"more": (3, 3)})
        return made.ablation(
            blocks=self.BLOCKS,
            words=words,
            arms=arms(self.BLOCKS, self.UNITS, (5.0,), scored={"passages"}),
        )

    def test_one_without_scores_is_not_selected_from(self):
        selecting = [arm for arm in self.plan().arms if arm.kind == "selected"]
        assert [arm.blocks for arm in selecting] == [("passages",)]

    def test_one_without_scores_counts_as_unit_by_unit_whatever_the_gold_rank(self):
        results = made.told(
            self.plan(), MAIN, lambda _case, arm: arm.id not in {"no-more", "no-more-2", "no-passages"}
        )
        assert oracle.kept(results)["more"].tolist() == [[False, True]] * 40

    def test_without_any_scores_there_is_nothing_to_select_by(self):
        with pytest.raises(ValueError, match="a selector needs scores"):
            arms(self.BLOCKS, self.UNITS, (5.0,), scored=())


class TestRefused:
    def test_a_quick_look_whose_base_is_never_right_leaves_nothing_out_and_says_why(self):
        plan = made.ablation(quick=True)
        found = report.build(plan, told(plan, lambda *_: False))
        assert "with every block 0.0% of the cases are right" in found["composed"]["unavailable"]

    def test_neither_oracle_nor_selector_tells_a_figure_and_either_says_why(self):
        plan = made.ablation()
        found = report.build(plan, told(plan, lambda *_: False))
        assert found["oracle"]["note"] == oracle.NOTE
        for one in (found["oracle"], found["selector"][0]["drop"], found["selector"][0]["recovered"]):
            assert "with every block 0.0% of the cases are right" in one["unavailable"]


def test_a_block_with_a_single_unit_says_so_where_it_is_not_taken_apart():
    blocks = (BlockPlan("examples", Parts.EACH),)
    plan = made.ablation(blocks=blocks, arms=arms(blocks, {"examples": 1}))
    (found,) = report.build(plan, told(plan, lambda *_: True))["blocks"]
    assert found["not_decomposed"] == "it has a single unit, and to leave that out is to leave out the block"
