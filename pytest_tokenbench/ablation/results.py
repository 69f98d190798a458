"""What a hypothesis over an ablation may ask for: each figure leaves its evidence, as in any other study."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Self

from pytest_tokenbench.ablation import composition, oracle, reweighting, selector, stages, together
from pytest_tokenbench.ablation.design import ArmKind
from pytest_tokenbench.ablation.findings import Finding, Ruled
from pytest_tokenbench.ablation.measured import RIGHT, TOKENS, Measured
from pytest_tokenbench.records import Bound
from pytest_tokenbench.results import Figure, Unavailable
from pytest_tokenbench.statistics import Estimate


class AblationResults(Measured):
    """The results of an ablation: what any study's results tell of its arms, and what leaving out parts came to.

    Shares and drops are from 0 to 1, drops over the main cases unless it says stress.
    """

    _whole: Self | None = None

    def counting(self, counted: Mapping[str, bool]) -> Self:
        """As in `Results`; what the run decided stays as it was decided."""
        view = super().counting(counted)
        view._whole = self._whole or self  # noqa: SLF001  # of the same class
        return view

    def drop(self, block: str) -> Figure:
        """By how much accuracy falls without a block; or under an arm, by its id.

        Raises:
            Unavailable: It was not measured.
            ValueError: The study has no such block or arm.
        """
        arm = self._arm(block)
        found = self.drop_of(arm)
        self._rest_on(RIGHT, self.baseline, arm)
        return self._told(f"drop under {arm}", found)

    def stress_drop(self, block: str) -> Figure:
        """As `drop`, over the stress cases."""
        arm = self._arm(block)
        if self.stress is None:
            raise Unavailable(self.why_no_stress)
        found = self.stress.drop_of(arm)
        self.stress._rest_on(RIGHT, self.baseline, arm)  # noqa: SLF001  # of the same class
        return self._told(f"drop under {arm} on the stress cases", found)

    def verdict(self, block: str) -> str:
        """What came out of leaving out a block, or of an arm: "needed", "removable" or "undecided".

        Raises:
            Unavailable: It was not measured, it is refused since there can be none, or it depends on how missing trials are counted.
        """
        arm = self._arm(block)
        found = self.ruled(arm)
        return self._verdict_of(block, found, f"drop under {arm}", lambda: self.drop_of(arm))

    def reweighted_verdict(self, block: str) -> str:
        """As `verdict`, with production's shares of the slices.

        Raises:
            Unavailable: As there, or there are no such shares.
        """
        arm = self._arm(block)
        drop = reweighting.drop(self, arm)
        found = reweighting.ruled(self, arm) or Ruled(
            Finding.NOT_MEASURED, "no case of production's slices was measured"
        )
        return self._verdict_of(block, found, f"drop under {arm} at production's shares", lambda: drop)

    def clears_stress(self, block: str) -> bool:
        """Whether the drop on the stress cases stays below the threshold, by its estimate.

        Raises:
            Unavailable: There are no stress cases, or it is not known: trials are missing, or too few of the cases are
                right with every block for a drop to reach the threshold.
        """
        arm = self._arm(block)
        if self.stress is None:
            raise Unavailable(self.why_no_stress)
        found, why_open = self.on_stress(arm)
        if found is None:
            raise Unavailable(f"whether {arm} clears the stress cases is not known: {why_open}")
        self._told(f"drop under {arm} on the stress cases", self.stress.drop_of(arm))
        self._compared(Bound("estimate", "<", self.ablation.threshold))
        return found

    def composition_holds(self) -> bool:
        """Whether all that came out removable can go together, as the claim has it.

        It came out removable as one, clears the stress cases, and is neither needed with production's shares nor open
        with them for want of trials.

        Raises:
            Unavailable: Nothing is left out together, or trials are missing or tell nothing that it depends on.
        """
        self._left_out()
        found = together.of(self)
        if found.holds is None or not found.is_known:
            raise Unavailable(f"whether what came out removable can go together is not known: {found.note}")
        arm = self.arm(ArmKind.COMPOSED)
        self._told(f"drop under {arm}", self.drop_of(arm))
        self._compared(Bound("high", "<", self.ablation.threshold))
        return found.holds

    def churn_floor(self) -> Figure:
        """How often a case comes out otherwise when every block is sent once more."""
        found = self.floor()
        self._rest_on(RIGHT, *self._behind(self.baseline))
        return self._told("churn floor", found)

    def needed_fraction(self) -> Figure:
        """The tokens of the needed blocks over those of all.

        An undecided block counts as needed, and so does what came out removable alone but not together with the rest.

        Raises:
            Unavailable: A block has no finding, or what can go alone was not left out together.
        """
        found = oracle.fraction(self, oracle.by_findings(self))
        self._rest_on(TOKENS, *self._screening())
        return self._told("needed fraction", found)

    def oracle_fraction(self) -> Figure:
        """The tokens that each case needs to somebody who knows it, over all: no selector reaches it when it serves."""
        found = oracle.fraction(self, oracle.by_oracle(self))
        self._rest_on(TOKENS, *self._screening())
        return self._told("oracle fraction, a ceiling that is not available at serve time", found)

    def composed_drop(self) -> Figure:
        """By how much accuracy falls without all that came out removable."""
        self._left_out()
        arm = self.arm(ArmKind.COMPOSED)
        found = self.drop_of(arm)
        self._rest_on(RIGHT, self.baseline, arm)
        return self._told(f"drop under {arm}", found)

    def shortfall(self) -> Figure:
        """By how much the drop of the composed arm exceeds the sum of the single drops of what it leaves out."""
        parts = self._left_out()
        found = composition.shortfall(self, parts)
        self._rest_on(RIGHT, *self._behind_composed(parts))
        return self._told("shortfall of the composed arm", found)

    def lost_cases(self) -> tuple[str, ...]:
        """The cases that only leaving out everything together loses: none of its pieces alone does."""
        parts = self._left_out()
        found = composition.lost_together(self, parts)
        self._rest_on(RIGHT, *self._behind_composed(parts))
        return found

    def redundant_pairs(self) -> tuple[tuple[str, str], ...]:
        """The pairs of blocks whose parts stand in for one another: what both together lose, neither alone does.

        None where the composed arm does not fall short of its parts, or a pair loses no more than its two parts, by the
        whole paired interval.
        """
        parts = self._left_out()
        arms = {part.alone for part in composition.parts(self.ablation, parts)}
        found = composition.pairs(self, parts)
        pairs = [
            plan.id for plan in self.ablation.arms if plan.kind is ArmKind.PAIR and plan.id in self._asked()
        ]
        self._rest_on(RIGHT, *self._behind_composed(parts), *sorted(arms), *pairs)
        return tuple((pair.blocks[0], pair.blocks[1]) for pair in found if pair.redundant)

    def reweighted_drop(self, block: str) -> Figure:
        """As `drop`, with production's shares of the slices."""
        arm = self._arm(block)
        found = reweighting.drop(self, arm)
        self._rest_on(RIGHT, self.baseline, arm)
        return self._told(f"drop under {arm} at production's shares", found)

    def points_per_1000_tokens(self, block: str) -> Figure:
        """Points of accuracy (0 to 100) that a block is worth for each 1,000 of its tokens."""
        found = self.per_1000_tokens(block)
        arm = self.without(block)
        self._rest_on(RIGHT, self.baseline, arm)
        self._rest_on(TOKENS, self.baseline, arm)
        return self._told(f"points per 1,000 tokens of {block}", found)

    def recovered(self, arm: str) -> Figure:
        """The share of the oracle's saving that a selecting arm saves as well; never above 1."""
        plan = next((plan for plan in self.ablation.arms if plan.id == arm), None)
        if plan is None:
            raise ValueError(f"the study has no arm {arm!r}; it has {', '.join(self.conditions)}")
        found = selector.recovered(self, plan)
        self._rest_on(TOKENS, self.baseline, arm, *(self.without(block) for block in plan.blocks))
        return self._told(f"share of the oracle's saving recovered by {arm}", found)

    def _verdict_of(self, block: str, found: Ruled, name: str, drop: Callable[[], Estimate]) -> str:
        """A finding, with the drop that it rests on as evidence."""
        if found.finding in {Finding.NOT_MEASURED, Finding.REFUSED}:
            raise Unavailable(f"{block} has no verdict: {found.reason}")
        self._told(name, drop())
        threshold = self.ablation.threshold
        self._compared(Bound("low", ">=", threshold), Bound("high", "<", threshold))
        return str(found.finding)

    def _compared(self, *bounds: Bound) -> None:
        """Notes what the evidence that was left last was compared with."""
        self.evidence[-1] = replace(self.evidence[-1], bounds=bounds)

    def _arm(self, name: str) -> str:
        blocks = [plan.name for plan in self.ablation.blocks]
        if name in blocks:
            return self.without(name)
        if name not in self.conditions:
            known = f"blocks are {', '.join(blocks)}, arms {', '.join(self.conditions)}"
            raise ValueError(f"the study has no block and no arm {name!r}; {known}")
        return name

    def _left_out(self) -> tuple[str, ...]:
        return stages.left_out(self._whole or self)

    def _behind_composed(self, parts: Sequence[str]) -> tuple[str, ...]:
        singles = composition.singles(composition.parts(self.ablation, parts))
        return self.baseline, self.arm(ArmKind.COMPOSED), *singles

    def _screening(self) -> tuple[str, ...]:
        return self.baseline, *(self.without(plan.name) for plan in self.ablation.blocks)

    def _asked(self) -> set[str]:
        return {seen.condition for seen in self.observations if seen.scores is not None}
