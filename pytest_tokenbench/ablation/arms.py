"""The arms of an ablation as conditions: each gives a case's prompt with something left out or replaced."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Self

from pytest_tokenbench.ablation.design import BETWEEN, ArmKind, ArmPlan, unit_id
from pytest_tokenbench.ablation.filler import filler
from pytest_tokenbench.preparation import Recipe
from pytest_tokenbench.records import Block, Context, Decision, Document, Preparation, Question

# Of the tokens that a block was measured to have, its blank line is none to two, as the vocabulary goes: one leaves a
# filler at most one token off.
_BLANK_LINE = 1
_DECIDED = {ArmKind.COMPOSED, ArmKind.PART, ArmKind.PAIR}


@dataclass(frozen=True, slots=True)
class Arm:
    """One arm. Those of a later stage have a context only once they are `decided`.

    `does` says in words what it does to the prompt, for recording. `kept_ranks` has by ranked block the rank after which
    a decided arm keeps nothing, however many units there are.
    """

    plan: ArmPlan
    decision: Decision | None = None
    kept_ranks: Mapping[str, int] = field(default_factory=dict, hash=False)
    id: str = field(init=False)
    does: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "id", self.plan.id)
        object.__setattr__(self, "does", self.plan.does)

    @property
    def stage(self) -> int:
        """That of the plan."""
        return self.plan.stage

    @property
    def family(self) -> str:
        """A family of its own."""
        return self.id

    @property
    def shared(self) -> bool:
        """Each case has its own prompt."""
        return False

    def decided(self, decision: Decision) -> Self:
        """The same arm with what it is to do.

        Raises:
            ValueError: The decision is on another arm.
        """
        if decision.arm != self.id:
            raise ValueError(f'a decision on the arm "{decision.arm}" is none on "{self.id}"')
        return replace(self, decision=decision)

    def needless(self, question: str) -> str | None:
        """Why the arm is not asked on the case of a question, None where it is or is not decided yet."""
        if self.decision is None:
            return None
        if self.decision.needless is not None:
            return self.decision.needless
        if self.plan.kind is ArmKind.FILLER and self.decision.lengths.get(question, 0) < 1:
            return f"how many tokens {self.plan.blocks[0]} has in this case was not measured"
        return None

    def words(self, document: Document) -> int:
        """Those that are left of the case's; of a filler, and as long as it is not decided, all of them."""
        if self.plan.kind is ArmKind.FILLER or (self.plan.kind in _DECIDED and self.decision is None):
            return document.words
        return sum(
            len(unit.text.split())
            for block in document.blocks
            for number, unit in enumerate(block.units, 1)
            if self._keeps(block.name, number, unit.score)
        )

    def recipe(self) -> Recipe | None:
        """Nothing needs to be built."""
        return None

    def context(self, question: Question, document: Document, preparation: Preparation | None) -> Context:  # noqa: ARG002
        """The units that are kept, as they stand and in the case's order, a blank line between any two.

        Raises:
            ValueError: The arm is of a later stage and not decided, or is needless on this case.
        """
        if self.stage and self.decision is None:
            raise ValueError(f'the arm "{self.id}" has no context before it is decided')
        reason = self.needless(question.id)
        if reason is not None:
            raise ValueError(f'the arm "{self.id}" has no context for "{question.id}": {reason}')
        pieces = [piece for block in document.blocks for piece in self._pieces(block, question.id)]
        return Context(
            text=BETWEEN.join(text for _, text in pieces),
            units=tuple(name for name, _ in pieces),
        )

    def _pieces(self, block: Block, case: str) -> Iterator[tuple[str, str]]:
        """The name and text of each piece of a block that the prompt has."""
        if self.plan.kind is ArmKind.FILLER and self.decision and block.name in self.plan.blocks:
            yield f"filler/{block.name}", filler(max(1, self.decision.lengths[case] - _BLANK_LINE))
            return
        for number, unit in enumerate(block.units, 1):
            if self._keeps(block.name, number, unit.score):
                yield unit_id(block.name, number), unit.text

    def _keeps(self, block: str, number: int, score: float | None) -> bool:
        plan = self.plan
        if plan.kind in _DECIDED:
            left_out = self.decision.left_out if self.decision else ()
            if number > self.kept_ranks.get(block, number):
                return False
            return block not in left_out and unit_id(block, number) not in left_out
        if block not in plan.blocks:
            return True
        match plan.kind:
            case ArmKind.WITHOUT:
                return False
            case ArmKind.UNIT:
                return number != plan.unit
            case ArmKind.UP_TO:
                return plan.unit is None or number <= plan.unit
            case ArmKind.SELECTED:
                # What was not retrieved is not selected from.
                return score is None or plan.score is None or score >= plan.score
            case _:
                return True
