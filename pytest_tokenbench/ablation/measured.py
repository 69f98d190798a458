"""Drops, tokens and findings of the arms of an ablation: estimates that leave no evidence."""

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Self

import numpy as np

from pytest_tokenbench import statistics
from pytest_tokenbench.ablation.design import Ablation, ArmKind, Parts
from pytest_tokenbench.ablation.findings import (
    UNMEASURED_STRESS,
    Finding,
    Ruled,
    no_room_on_stress,
    reaches,
    rule,
)
from pytest_tokenbench.ablation.losses import Group, allowed
from pytest_tokenbench.distributions import unseen_bound
from pytest_tokenbench.records import Decision, Observation, Question, Status
from pytest_tokenbench.results import Results, Unavailable
from pytest_tokenbench.statistics import Estimate, FloatArray, Unvaried, reaching, widened

RIGHT = "accuracy"
TOKENS = "input_tokens"
_POINTS_PER_1000 = 100 * 1000


class Measured(Results):
    """Estimates over the main cases of an ablation; `stress` has those over its stress cases, None without any.

    A condition is an arm, the baseline the one with every block. `decisions` are those that the run made, by arm.
    """

    def __init__(
        self,
        ablation: Ablation,
        questions: Sequence[Question],
        observations: Iterable[Observation],
        repeats: int = 1,
        decisions: Iterable[Decision] = (),
    ) -> None:
        base = next(arm.id for arm in ablation.arms if arm.kind is ArmKind.BASE)
        super().__init__(questions, [arm.id for arm in ablation.arms], base, observations, repeats)
        self.ablation = ablation
        self.decisions: Mapping[str, Decision] = {decision.arm: decision for decision in decisions}
        self.stress: Self | None = None
        self._rulings: dict[str, Ruled] = {}
        # Shared with what `counting` returns, as the samples are.
        self._mixed: dict[tuple[tuple[str, float, bytes], ...], Estimate] = {}

    @classmethod
    def of(
        cls,
        ablation: Ablation,
        questions: Iterable[Question],
        observations: Iterable[Observation],
        repeats: int = 1,
        decisions: Iterable[Decision] = (),
    ) -> Self:
        """The estimates of an ablation, from all its cases and trials."""
        cases, seen, decided = tuple(questions), tuple(observations), tuple(decisions)
        made = cls(ablation, [case for case in cases if not case.stress], seen, repeats, decided)
        stress = [case for case in cases if case.stress]
        if stress:
            made._join(cls(ablation, stress, seen, repeats, decided))
        return made

    def counting(self, counted: Mapping[str, bool]) -> Self:
        """As in `Results`, with the stress cases counted alike."""
        view = super().counting(counted)
        view._rulings = {}  # noqa: SLF001  # of the same class
        if self.stress is not None:
            view._join(self.stress.counting(counted))  # noqa: SLF001  # of the same class
        return view

    def _join(self, stress: Self) -> None:
        # What a hypothesis asks of either is evidence of the same hypothesis.
        stress.evidence, stress.in_doubt = self.evidence, self.in_doubt
        self.stress = stress

    def missing(self, condition: str, measure: str = TOKENS) -> dict[str, str]:
        """As in `Results`, over main and stress cases, without those that the arm was not needed on."""
        found = super().missing(condition, measure)
        if self.stress is not None:
            found |= self.stress.missing(condition, measure)
        return {case: reason for case, reason in found.items() if reason != Status.NOT_NEEDED}

    def lacking(self, condition: str) -> Counter[str]:
        """As in `Results`, over main and stress cases, without trials that were not needed."""
        found = super().lacking(condition)
        if self.stress is not None:
            found += self.stress.lacking(condition)
        del found[Status.NOT_NEEDED]
        return found

    def _why_empty(self, measure: str, condition: str) -> str:
        decision = self.decisions.get(condition)
        if decision is not None and decision.needless is not None:
            return f"{condition} was not asked: {decision.needless}"
        return super()._why_empty(measure, condition)

    def arm(self, kind: ArmKind, *blocks: str, unit: int | None = None) -> str:
        """The id of the arm of this kind.

        Raises:
            Unavailable: The run has none, as a quick look has not.
        """
        for plan in self.ablation.arms:
            if plan.kind is kind and plan.unit == unit and (plan.blocks == blocks or not blocks):
                return plan.id
        named = f" of {' and '.join(blocks)}" if blocks else ""
        raise Unavailable(f"this run has no arm of the kind {kind}{named}")

    def without(self, block: str) -> str:
        """The id of the arm that leaves a whole block out.

        Raises:
            ValueError: The study has no such block.
        """
        names = [plan.name for plan in self.ablation.blocks]
        if block not in names:
            raise ValueError(f"the study has no block {block!r}; it has {', '.join(names)}")
        return self.arm(ArmKind.WITHOUT, block)

    def drops(self, arm: str) -> FloatArray:
        """By case the accuracy of the base less that of an arm, (cases,), NaN without the pair."""
        return self.column(RIGHT, self.baseline) - self.column(RIGHT, arm)

    def drop_of(self, arm: str, versus: str | None = None) -> Estimate:
        """The mean drop from the base, or from another arm, with the paired interval.

        Its upper end is never less than the exact bound on the share of lost cases less that of gained ones: resamples of one or two cases
        that differ know less than that.
        """
        above = self.baseline if versus is None else versus
        found = turned(self.paired_difference(RIGHT, arm, above))
        return allowed(found, self._groups(arm, above))

    def _groups(self, arm: str, versus: str) -> tuple[Group, ...]:
        drops = self.column(RIGHT, versus) - self.column(RIGHT, arm)
        return (Group.of(drops[~np.isnan(drops)]),)

    def saved(self, arm: str, measure: str = TOKENS) -> Estimate:
        """By how much a measure of the base exceeds that of an arm, with its paired interval."""
        return turned(self.paired_difference(measure, arm, self.baseline))

    def tokens_of(self, block: str) -> FloatArray:
        """By case the tokens of a block, measured: those of the base less those without it, (cases,)."""
        return self.column(TOKENS, self.baseline) - self.column(TOKENS, self.without(block))

    def width(self, block: str) -> int:
        """The largest number of units that a block has in a case of these."""
        return max(
            (len(self.ablation.words.get(case.id, {}).get(block, ())) for case in self.questions), default=0
        )

    def unit_tokens(self, block: str) -> FloatArray:
        """By case the tokens of each unit of a block, (cases, units), never negative, together those of the block.

        Measured where every arm within the block was asked on the case, else the block's shared out by words.
        """
        whole = np.maximum(self.tokens_of(block), 0.0)[:, None]
        counts = [self.ablation.words.get(case.id, {}).get(block, ()) for case in self.questions]
        words = np.zeros((len(counts), max(map(len, counts), default=0)))
        for row, its in zip(words, counts, strict=True):
            row[: len(its)] = its
        parts = np.where(words > 0, np.maximum(self._units_measured(block, words), 0.0), 0.0)
        measured = ~np.isnan(parts).any(axis=1, keepdims=True) & (parts.sum(axis=1, keepdims=True) > 0)
        sizes = np.where(measured, parts, words)
        found: FloatArray = whole * sizes / np.maximum(sizes.sum(axis=1, keepdims=True), 1e-9)
        return found

    def tokens_of_unit(self, block: str, unit: int) -> FloatArray:
        """By case the tokens of one unit of a block, counted from 1, (cases,): none where a case has not so many."""
        tokens = self.unit_tokens(block)
        return tokens[:, unit - 1] if unit <= tokens.shape[1] else 0.0 * self.tokens_of(block)

    def _units_measured(self, block: str, words: FloatArray) -> FloatArray:
        """By case what leaving out each unit alone saves, from the arms within a block, NaN where not measured."""
        parts = next(plan.parts for plan in self.ablation.blocks if plan.name == block)
        nothing = np.full_like(words, np.nan)
        if parts is Parts.WHOLE:
            return nothing
        kind = ArmKind.UNIT if parts is Parts.EACH else ArmKind.UP_TO
        last = words.shape[1] + (1 if parts is Parts.EACH else 0)
        base = self.column(TOKENS, self.baseline)
        try:
            saved = [base - self.column(TOKENS, self.arm(kind, block, unit=unit)) for unit in range(1, last)]
        except Unavailable:
            return nothing
        if parts is Parts.EACH:
            return np.column_stack(saved) if saved else nothing
        after = np.column_stack([self.tokens_of(block), *saved, np.zeros(len(words))])
        return after[:, :-1] - after[:, 1:]

    def ratio(self, above: FloatArray, below: FloatArray, what: str) -> Estimate:
        """The mean of one column over that of another, over cases that have both, on draws that both share.

        Raises:
            Unavailable: No case has both, or the mean below is not positive; `what` names the ratio.
        """
        both = ~(np.isnan(above) | np.isnan(below))
        if not both.any() or np.mean(below[both]) <= 0:
            raise Unavailable(f"{what}: no case has the tokens that it rests on")
        above, below = np.where(both, above, np.nan), np.where(both, below, np.nan)
        our_samples, their_samples = self.resampled(above, below)
        with np.errstate(divide="ignore", invalid="ignore"):
            samples = our_samples / their_samples
            return self._finite(float(np.nanmean(above) / np.nanmean(below)), samples, above)

    def mean_of(self, column: FloatArray, what: str) -> Estimate:
        """The mean of a column that was made from measured ones, with its interval."""
        if np.isnan(column).all():
            raise Unavailable(f"{what}: no case has all that it rests on")
        (samples,) = self.resampled(column)
        return self._interval(float(np.nanmean(column)), samples, column)

    def stratified(self, strata: Mapping[str, FloatArray], weights: Mapping[str, float]) -> Estimate:
        """As in `statistics`, resampled once for whoever asks for the same again."""
        key = tuple((name, weights[name], strata[name].tobytes()) for name in sorted(strata))
        if key not in self._mixed:
            self._mixed[key] = statistics.stratified(strata, weights)
        return self._mixed[key]

    def per_1000_tokens(self, block: str) -> Estimate:
        """Points of accuracy that a block is worth for each 1,000 of its tokens."""
        arm = self.without(block)
        drops, tokens = self.drops(arm), self.tokens_of(block)
        found = self.ratio(drops * _POINTS_PER_1000, tokens, f"accuracy per 1,000 tokens of {block}")
        drop = self.drop_of(arm)
        if drop.low is None or drop.high is None:
            return found
        scale = _POINTS_PER_1000 / float(np.nanmean(tokens[~np.isnan(drops)]))
        if not isinstance(drop, Unvaried):
            return reaching(found, drop.high * scale)
        ends = [end for end in (found.low, found.high) if end is not None]
        low, high = min([drop.low * scale, *ends]), max([drop.high * scale, *ends])
        return Unvaried(found.estimate, low, high, found.n)

    def floor(self) -> Estimate:
        """The churn floor: how often a case comes out otherwise when the base is asked again.

        From the arm that asks it again, else from repeats of the base itself.

        Raises:
            Unavailable: Neither was run.
        """
        try:
            again = self.column(RIGHT, self.arm(ArmKind.AGAIN))
            base = self.column(RIGHT, self.baseline)
            # With repeats these are shares: the chance that one of either differs.
            found = self.mean_of(base * (1 - again) + again * (1 - base), "the churn floor")
        except Unavailable:
            if self.repeats == 1:
                raise
            found = self.churn(self.baseline)
        return widened(found, unseen_bound([found.n]), 0.0, 1.0)

    def floor_or_none(self) -> float | None:
        """The churn floor's estimate, None where it was not measured."""
        try:
            return self.floor().estimate
        except Unavailable:
            return None

    def ruled(self, arm: str) -> Ruled:
        """The finding on what an arm leaves out.

        Where trials are missing that it rests on, it stands only if it is the same however they are counted.
        """
        if arm not in self._rulings:
            self._rulings[arm] = self.however_counted(arm, lambda view: view._plainly_ruled(arm))  # noqa: SLF001  # of the same class
        return self._rulings[arm]

    def however_counted(self, arm: str, ruling: Callable[[Self], Ruled]) -> Ruled:
        """A ruling on an arm, if it is the same however the missing trials that it rests on are counted; else none."""
        found = ruling(self)
        if found.finding is Finding.NOT_MEASURED:
            return found
        for counted in self._ways(self._behind(arm)):
            other = ruling(self.counting(counted))
            if other.finding is not found.finding:
                missing = ", ".join(f"{self.lacking(name).total()} of {name}" for name in counted)
                reason = (
                    f"trials are missing ({missing}), with which it may be {found.finding} or {other.finding}"
                )
                return Ruled(Finding.NOT_MEASURED, reason)
        return found

    def _plainly_ruled(self, arm: str) -> Ruled:
        try:
            drop = self.drop_of(arm)
        except Unavailable as reason:
            return Ruled(Finding.NOT_MEASURED, str(reason))
        groups = self._groups(arm, self.baseline)
        return rule(drop, self.ablation.threshold, self.floor_or_none(), self.base, groups)

    @property
    def base(self) -> float:
        """Accuracy with every block.

        Raises:
            Unavailable: It was not measured.
        """
        return self.level(RIGHT, self.baseline).estimate

    def is_clear_of_stress(self, arm: str) -> bool | None:
        """Whether the drop on the stress cases is below the threshold, None where that cannot be told."""
        return self.on_stress(arm)[0]

    def why_stress_is_open(self, arm: str) -> str | None:
        """Why it cannot be told of an arm whether it clears the stress cases, None where it can or there are none."""
        return self.on_stress(arm)[1]

    def on_stress(self, arm: str) -> tuple[bool | None, str | None]:
        """Both at once: whether an arm clears the stress cases, and why that is not known."""
        if self.stress is None:
            return None, None
        stress = self.stress
        try:
            views = [stress, *map(stress.counting, stress._ways(self._pair_behind(arm)))]  # noqa: SLF001  # of the same class
            no_room = [no_room_on_stress(view.base, self.ablation.threshold) for view in views]
            if all(no_room):
                return None, no_room[0]
            told = {view._stays_below(arm) for view in views}  # noqa: SLF001  # of the same class
        except Unavailable:
            return None, UNMEASURED_STRESS
        return (told.pop(), None) if len(told) == 1 else (None, UNMEASURED_STRESS)

    def _stays_below(self, arm: str) -> bool | None:
        """Whether the drop is below the threshold, None where so few cases are right that none could reach it."""
        if no_room_on_stress(self.base, self.ablation.threshold):
            return None
        return not reaches(self.drop_of(arm).estimate, self.ablation.threshold)

    @property
    def why_no_stress(self) -> str:
        """Why there are no stress cases, where there are none."""
        return "a quick look asks no stress cases" if self.ablation.quick else "the set has no stress cases"

    def _pair_behind(self, arm: str) -> list[str]:
        return [self.baseline, arm]

    def _behind(self, arm: str) -> list[str]:
        """The arms that a finding on an arm rests on."""
        again = [plan.id for plan in self.ablation.arms if plan.kind is ArmKind.AGAIN]
        return self._pair_behind(arm) + [
            name for name in again if not np.isnan(self._columns[RIGHT, name]).all()
        ]

    def _ways(self, arms: Sequence[str]) -> Iterator[dict[str, bool]]:
        """Every way to count the trials that are missing of these arms."""
        doubtful = [arm for arm in arms if arm not in self._counted and self._table.are_missing(RIGHT, arm)]
        if doubtful:
            for way in itertools.product((True, False), repeat=len(doubtful)):
                yield dict(zip(doubtful, way, strict=True))


def turned(difference: Estimate) -> Estimate:
    """A difference the other way round."""
    if difference.low is None or difference.high is None:
        return Estimate(0.0 - difference.estimate, None, None, difference.n)
    return Estimate(0.0 - difference.estimate, 0.0 - difference.high, 0.0 - difference.low, difference.n)
