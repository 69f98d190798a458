"""What each arm gives a model of a case's prompt."""

import pytest

from pytest_tokenbench.ablation.arms import Arm
from pytest_tokenbench.ablation.design import ArmKind, ArmPlan
from pytest_tokenbench.conditions import Condition
from pytest_tokenbench.records import Block, Decision, Document, OriginalSource, Question, Unit
from pytest_tokenbench.resume import options_of

BLOCKS = (
    Block("system", (Unit("Answer from the rules."),)),
    Block("examples", (Unit("Q: one?\nA: first"), Unit("Q: two?\nA: second"), Unit("Q: three?\nA: third"))),
    Block(
        "passages",
        (Unit("Top passage.", 9.5), Unit("Middle passage.", 7.0), Unit("Last passage.", 7.0)),
    ),
    Block("tail", (Unit("Customer: hello"),)),
)
WHOLE = """\
Answer from the rules.

Q: one?
A: first

Q: two?
A: second

Q: three?
A: third

Top passage.

Middle passage.

Last passage.

Customer: hello"""
CASE = Document("s1", "s1", "cases.json", 23, "0" * 64, "", OriginalSource(), WHOLE, BLOCKS)
ASKED = Question("s1", "s1", "Which?", ("first",), answerable=True)


def arm(kind, *blocks, unit=None, score=None, name="arm"):
    return Arm(ArmPlan(name, kind, blocks, unit, score))


def context(one):
    return one.context(ASKED, CASE, None)


def later(kind, *blocks, **decided):
    """An arm that is decided, as if another had not been asked for."""
    unit = decided.pop("unit", None)
    return arm(kind, *blocks, unit=unit).decided(Decision("arm", **decided))


@pytest.mark.parametrize("kind", [ArmKind.BASE, ArmKind.AGAIN])
def test_base_is_every_block_as_it_stands_and_again_is_the_same(kind):
    given = context(arm(kind))
    assert given.text == WHOLE == CASE.text
    assert given.units == (
        "system/1",
        "examples/1",
        "examples/2",
        "examples/3",
        "passages/1",
        "passages/2",
        "passages/3",
        "tail/1",
    )


@pytest.mark.parametrize(
    ("block", "gone"),
    [
        ("system", "Answer from the rules.\n\n"),
        ("examples", "Q: one?\nA: first\n\nQ: two?\nA: second\n\nQ: three?\nA: third\n\n"),
        ("passages", "Top passage.\n\nMiddle passage.\n\nLast passage.\n\n"),
        ("tail", "\n\nCustomer: hello"),
    ],
)
def test_a_block_is_left_out_and_nothing_else_changes(block, gone):
    given = context(arm(ArmKind.WITHOUT, block))
    assert given.text == WHOLE.replace(gone, "")
    assert {unit.partition("/")[0] for unit in given.units} == {"system", "examples", "passages", "tail"} - {
        block
    }


def test_one_unit_is_left_out_by_its_number_from_1():
    given = context(later(ArmKind.UNIT, "examples", unit=2))
    assert given.text == WHOLE.replace("Q: two?\nA: second\n\n", "")
    assert "examples/2" not in given.units
    assert len(given.units) == 7


def test_nothing_after_a_rank_is_given():
    given = context(later(ArmKind.UP_TO, "passages", unit=1))
    assert given.text == WHOLE.replace("Middle passage.\n\nLast passage.\n\n", "")


@pytest.mark.parametrize(
    ("score", "kept"),
    [(7.0, ["Top", "Middle", "Last"]), (7.1, ["Top"]), (9.5, ["Top"]), (9.6, [])],
)
def test_passages_of_the_score_or_more_are_selected(score, kept):
    given = context(arm(ArmKind.SELECTED, "passages", score=score))
    assert [name for name in ("Top", "Middle", "Last") if f"{name} passage." in given.text] == kept
    assert "A: third" in given.text
    assert "Customer: hello" in given.text


def test_units_without_a_score_are_not_selected_from():
    assert context(arm(ArmKind.SELECTED, "examples", score=99.0)).text == WHOLE


@pytest.mark.parametrize("kind", [ArmKind.COMPOSED, ArmKind.PART, ArmKind.PAIR])
def test_blocks_and_units_that_were_decided_on_are_left_out_together(kind):
    given = context(later(kind, left_out=("tail", "examples/1", "passages/2", "passages/3")))
    assert given.text == "Answer from the rules.\n\nQ: two?\nA: second\n\nQ: three?\nA: third\n\nTop passage."
    assert given.units == ("system/1", "examples/2", "examples/3", "passages/1")


def test_a_filler_stands_in_the_place_of_its_block():
    given = context(later(ArmKind.FILLER, "examples", lengths={"s1": 13}))
    assert given.units == (
        "system/1",
        "filler/examples",
        "passages/1",
        "passages/2",
        "passages/3",
        "tail/1",
    )
    before, _, rest = given.text.partition("Answer from the rules.\n\n")
    neutral, _, after = rest.partition("\n\nTop passage.")
    assert (before, after) == ("", "\n\nMiddle passage.\n\nLast passage.\n\nCustomer: hello")
    # 13 tokens were measured, one of them for the blank line.
    assert len(neutral.replace(".", " .").split()) == 12


@pytest.mark.parametrize("lengths", [{}, {"s2": 40}, {"s1": 0}, {"s1": -2}])
def test_a_filler_is_needless_in_a_case_in_which_its_length_is_not_known(lengths):
    one = later(ArmKind.FILLER, "tail", lengths=lengths)
    assert one.needless("s1") == "how many tokens tail has in this case was not measured"
    with pytest.raises(ValueError, match="how many tokens tail has"):
        context(one)


@pytest.mark.parametrize("kind", [kind for kind in ArmKind if ArmPlan("arm", kind).stage])
def test_an_arm_of_a_later_stage_has_no_context_before_it_is_decided(kind):
    one = arm(kind, "examples", unit=1)
    with pytest.raises(ValueError, match='the arm "arm" has no context before it is decided'):
        context(one)


@pytest.mark.parametrize("kind", [kind for kind in ArmKind if ArmPlan("arm", kind).stage])
def test_a_needless_arm_has_no_context_and_says_why(kind):
    one = later(kind, "examples", unit=1, lengths={"s1": 5}, needless="nothing came out removable")
    assert one.needless("s1") == "nothing came out removable"
    with pytest.raises(ValueError, match="nothing came out removable"):
        context(one)


def test_an_arm_that_is_decided_is_not_needless():
    assert later(ArmKind.COMPOSED, left_out=("tail",)).needless("s1") is None
    assert arm(ArmKind.BASE).needless("s1") is None


def test_a_decision_on_another_arm_is_refused():
    with pytest.raises(ValueError, match='a decision on the arm "composed" is none on "arm"'):
        arm(ArmKind.PAIR, "system", "tail").decided(Decision("composed"))


def test_to_decide_an_arm_changes_nothing_else():
    one = arm(ArmKind.PAIR, "system", "tail")
    two = one.decided(Decision("arm", left_out=("tail",)))
    assert (two.id, two.plan, two.stage, two.does) == (one.id, one.plan, one.stage, one.does)
    assert one.decision is None


@pytest.mark.parametrize(
    ("one", "words"),
    [
        (arm(ArmKind.BASE), 24),
        (arm(ArmKind.WITHOUT, "examples"), 12),
        (arm(ArmKind.UNIT, "examples", unit=3), 20),
        (arm(ArmKind.UP_TO, "passages", unit=2), 22),
        (arm(ArmKind.SELECTED, "passages", score=8.0), 20),
        (later(ArmKind.COMPOSED, left_out=("tail", "passages/1")), 20),
    ],
)
def test_the_words_told_are_those_of_the_context(one, words):
    assert one.words(CASE) == words


@pytest.mark.parametrize("kind", [ArmKind.COMPOSED, ArmKind.FILLER])
def test_as_long_as_it_is_not_decided_an_arm_tells_the_words_of_the_whole_case(kind):
    assert arm(kind, "examples").words(CASE) == CASE.words


def test_an_arm_is_a_condition_that_prepares_nothing():
    one = arm(ArmKind.BASE, name="base")
    assert isinstance(one, Condition)
    assert (one.id, one.family, one.shared, one.recipe()) == ("base", "base", False, None)


def test_what_an_arm_does_is_recorded_and_what_was_decided_is_not():
    one = arm(ArmKind.UP_TO, "passages", unit=2, name="passages-to-2")
    expected = {"class": "Arm", "id": "passages-to-2", "does": "nothing of passages after rank 2"}
    assert options_of(one) == expected
    assert options_of(one.decided(Decision("passages-to-2"))) == expected
