"""Which arms an ablation has."""

import pytest

from pytest_tokenbench.ablation.design import Ablation, ArmKind, ArmPlan, BlockPlan, Parts, arms
from pytest_tokenbench.records import decode, encode

SYSTEM = BlockPlan("system")
EXAMPLES = BlockPlan("examples", Parts.EACH)
PASSAGES = BlockPlan("passages", Parts.RANKED)
TAIL = BlockPlan("tail", follow_ups_only=True)
UNITS = {"system": 1, "examples": 2, "passages": 3, "tail": 1}


def ids(*blocks, units=UNITS, **given):
    return [arm.id for arm in arms(blocks, units, **given)]


def test_every_arm_of_a_whole_ablation_in_the_order_of_stages():
    made = arms([SYSTEM, EXAMPLES, PASSAGES], UNITS, [8.5, 10])
    assert [(arm.stage, arm.id) for arm in made] == [
        (0, "base"),
        (0, "no-system"),
        (0, "no-examples"),
        (0, "no-passages"),
        (0, "select-8.5"),
        (0, "select-10"),
        (0, "again"),
        (1, "filler-system"),
        (1, "filler-examples"),
        (1, "filler-passages"),
        (1, "no-examples-1"),
        (1, "no-examples-2"),
        (1, "no-passages-1"),
        (1, "no-passages-2"),
        (1, "no-passages-3"),
        (1, "passages-to-1"),
        (1, "passages-to-2"),
        (2, "composed"),
        (3, "part-examples"),
        (3, "part-passages"),
        (3, "pair-system-examples"),
        (3, "pair-system-passages"),
        (3, "pair-examples-passages"),
    ]


def test_a_quick_ablation_has_the_base_one_arm_per_block_and_the_composed():
    made = ids(SYSTEM, EXAMPLES, PASSAGES, TAIL, selector=[9.0], quick=True)
    assert made == ["base", "no-system", "no-examples", "no-passages", "no-tail", "composed"]


def test_a_block_with_a_single_unit_is_not_taken_apart():
    made = arms([EXAMPLES, PASSAGES], {"examples": 1, "passages": 1})
    assert not {ArmKind.UNIT, ArmKind.UP_TO, ArmKind.PART} & {arm.kind for arm in made}


def test_an_arm_knows_its_blocks_its_unit_and_its_score():
    made = {arm.id: arm for arm in arms([EXAMPLES, PASSAGES], UNITS, [8.5])}
    assert made["no-examples-2"] == ArmPlan("no-examples-2", ArmKind.UNIT, ("examples",), unit=2)
    assert made["passages-to-1"] == ArmPlan("passages-to-1", ArmKind.UP_TO, ("passages",), unit=1)
    assert made["select-8.5"] == ArmPlan("select-8.5", ArmKind.SELECTED, ("passages",), score=8.5)
    assert made["pair-examples-passages"].blocks == ("examples", "passages")


def test_each_arm_says_what_it_does():
    does = {arm.id: arm.does for arm in arms([EXAMPLES, PASSAGES], UNITS, [8.0])}
    assert does["no-examples"] == "without examples"
    assert does["no-examples-2"] == "without examples/2"
    assert does["passages-to-1"] == "nothing of passages after rank 1"
    assert does["select-8"] == "of passages what has a score of 8 or more"
    assert does["pair-examples-passages"] == "without what came out removable of examples and passages"
    assert len(set(does.values())) == len(does)


@pytest.mark.parametrize(
    ("blocks", "selector", "name"),
    [
        ([EXAMPLES, BlockPlan("examples-1")], (), "no-examples-1"),
        ([PASSAGES], (8, 8.0), "select-8"),
        ([SYSTEM, SYSTEM], (), "no-system"),
    ],
    ids=["a block called like a unit", "a score twice", "a block twice"],
)
def test_two_arms_of_one_id_are_refused_by_name(blocks, selector, name):
    with pytest.raises(ValueError, match=f'2 arms would be called "{name}"'):
        arms(blocks, UNITS, selector)


def test_a_selector_with_nothing_to_select_from_is_refused():
    with pytest.raises(ValueError, match="a selector needs a block of ranked units"):
        arms([SYSTEM, EXAMPLES], UNITS, [8.0])


def test_an_ablation_is_the_same_when_it_is_read_back():
    made = Ablation(
        cases="support",
        sha256="0" * 64,
        threshold=0.05,
        blocks=(SYSTEM, EXAMPLES, PASSAGES, TAIL),
        arms=arms([SYSTEM, EXAMPLES, PASSAGES, TAIL], UNITS, [8.5]),
        production={"turn": {"multi_turn": 0.23, "single_turn": 0.77}},
        words={"s1": {"system": (12,), "passages": (30, 40)}},
        scores={"s1": {"passages": (11.5, 8.25)}},
    )
    assert decode(encode(made), Ablation) == made
