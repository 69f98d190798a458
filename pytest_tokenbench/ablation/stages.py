"""What the arms of a later stage do, decided once from all trials of the stages before."""

from collections.abc import Iterator, Sequence

import numpy as np

from pytest_tokenbench.ablation import claim_words, composition, reweighting
from pytest_tokenbench.ablation.design import Ablation, ArmKind, ArmPlan
from pytest_tokenbench.ablation.findings import UNMEASURED_STRESS, Finding
from pytest_tokenbench.ablation.measured import TOKENS, Measured
from pytest_tokenbench.records import Decision, Status
from pytest_tokenbench.results import Unavailable

_NAMED = 12
_LEAVING_OUT = {ArmKind.WITHOUT, ArmKind.UNIT, ArmKind.UP_TO}


def decide(ablation: Ablation, results: Measured, stage: int) -> tuple[Decision, ...]:
    """The decision for each arm of a stage; none for the first, whose arms need none."""
    arms = [arm for arm in ablation.arms if arm.stage == stage]
    match stage:
        case 1:
            return tuple(_screened(results, arm) for arm in arms)
        case 2:
            return tuple(_composed(results, arm) for arm in arms)
        case 3:
            return _explained(results, arms)
        case _:
            return ()


def decision(results: Measured, arm: str) -> Decision:
    """The decision that the run made for an arm, else the one that follows from its trials.

    Raises:
        Unavailable: The run has no such arm.
    """
    if arm in results.decisions:
        return results.decisions[arm]
    stages = {plan.stage for plan in results.ablation.arms if plan.id == arm}
    for stage in stages:
        for made in decide(results.ablation, results, stage):
            if made.arm == arm:
                return made
    raise Unavailable(f"nothing is decided on {arm}")


def left_out(results: Measured) -> tuple[str, ...]:
    """What the composed arm leaves out.

    Raises:
        Unavailable: It was not needed; the message is the reason.
    """
    made = decision(results, results.arm(ArmKind.COMPOSED))
    if made.needless is not None:
        raise Unavailable(made.needless)
    return made.left_out


def _screened(results: Measured, arm: ArmPlan) -> Decision:
    (block,) = arm.blocks
    if arm.kind is ArmKind.FILLER:
        lengths = dict(_lengths(results, block))
        needless = None if lengths else f"how many tokens {block} has was not measured in any case"
        return Decision(arm.id, lengths=lengths, needless=needless)
    found = results.ruled(results.without(block))
    if found.finding is Finding.NEEDED:
        return Decision(arm.id)
    return Decision(arm.id, needless=f"{block} {came_out(found.finding)}: its units are not taken apart")


def came_out(finding: Finding) -> str:
    """A finding as the rest of a sentence."""
    match finding:
        case Finding.NEEDED:
            return "came out needed"
        case Finding.REMOVABLE:
            return "came out removable on this set"
        case Finding.UNDECIDED:
            return "came out undecided at this number of cases"
        case Finding.REFUSED:
            return "has no finding, since there can be none with this threshold"
        case Finding.NOT_MEASURED:
            return "has no finding, since trials are missing"


def _lengths(results: Measured, block: str) -> Iterator[tuple[str, int]]:
    """By case how many tokens a block has, where that was measured and it has any."""
    for part in (results, results.stress):
        if part is None:
            continue
        try:
            tokens = part.column(TOKENS, part.baseline) - part.column(TOKENS, part.without(block))
        except Unavailable:
            continue
        for case, count in zip(part.questions, tokens.tolist(), strict=True):
            if not np.isnan(count) and round(count) >= 1:
                yield case.id, round(count)


def _composed(results: Measured, arm: ArmPlan) -> Decision:
    proposed = composition.proposal(results)
    if proposed:
        return Decision(arm.id, left_out=proposed)
    rulings = [results.ruled(results.without(plan.name)) for plan in results.ablation.blocks]
    refused = next((one.reason for one in rulings if one.finding is Finding.REFUSED), None)
    if refused is not None:
        return Decision(arm.id, needless=f"nothing came out removable: {refused}")
    lacking = _without_trials(results)
    if lacking:
        return Decision(arm.id, needless=f"what is removable is not known: trials of {lacking} are missing")
    if results.ablation.quick:
        return Decision(arm.id, needless="without any block more was lost than the threshold allows")
    standing_in = composition.stand_ins(results)
    if standing_in:
        told = "; ".join(map(claim_words.standing_in, standing_in))
        return Decision(arm.id, needless=f"nothing can be left out together: {told}")
    clear = "" if results.stress is None else " and clear of the stress cases"
    weighed = " and is not needed with production's shares" if _is_forbidden(results) else ""
    no_room = _without_room(results)
    return Decision(
        arm.id,
        needless=f"no block and no unit came out removable{clear}{weighed}: there is nothing to leave out{no_room}",
    )


def _without_room(results: Measured) -> str:
    """That the stress cases keep everything from being cut, since so few of them are right; empty where they do not."""
    arms = [arm.id for arm in results.ablation.arms if arm.kind in _LEAVING_OUT]
    removable = [arm for arm in arms if results.ruled(arm).finding is Finding.REMOVABLE]
    reasons = {reason for arm in removable if (reason := results.why_stress_is_open(arm)) is not None}
    reasons.discard(UNMEASURED_STRESS)
    return f" ({'; '.join(sorted(reasons))})" if reasons else ""


def _is_forbidden(results: Measured) -> bool:
    """Whether production's shares keep something from being cut that came out removable."""
    arms = [arm.id for arm in results.ablation.arms if arm.kind in _LEAVING_OUT]
    removable = [arm for arm in arms if results.ruled(arm).finding is Finding.REMOVABLE]
    return any(reweighting.forbids(results, arm) for arm in removable)


def _without_trials(results: Measured) -> str:
    """The arms that have no finding for want of trials, in words; empty if there are none.

    Those within a block count where they would be asked: if the block is needed.
    """
    rulings = {
        plan.name: results.ruled(results.without(plan.name)).finding for plan in results.ablation.blocks
    }
    taken_apart = {name for name, found in rulings.items() if found is Finding.NEEDED}
    arms = [
        arm.id
        for arm in results.ablation.arms
        if arm.kind is ArmKind.WITHOUT
        or (arm.kind in {ArmKind.UNIT, ArmKind.UP_TO} and taken_apart.issuperset(arm.blocks))
    ]
    found = [arm for arm in arms if results.ruled(arm).finding is Finding.NOT_MEASURED]
    if not results.statuses(results.baseline)[Status.OK]:
        # Without the base no arm has a finding, whether it was asked or not.
        found = [results.baseline, *(arm for arm in found if not results.statuses(arm)[Status.OK])]
    rest = len(found) - _NAMED
    return ", ".join(found[:_NAMED]) + (f" and {rest} more" if rest > 0 else "")


def _explained(results: Measured, arms: Sequence[ArmPlan]) -> tuple[Decision, ...]:
    try:
        whole = left_out(results)
        is_lossy = bool(composition.lost_together(results, whole))
    except Unavailable as reason:
        needless = f"the composed arm has nothing to explain: {reason}"
        return tuple(Decision(arm.id, needless=needless) for arm in arms)
    if not is_lossy:
        needless = "the composed arm lost no case that its parts alone did not"
        return tuple(Decision(arm.id, needless=needless) for arm in arms)
    parts = composition.parts(results.ablation, whole)
    return tuple(_explaining(arm, parts) for arm in arms)


def _explaining(arm: ArmPlan, parts: Sequence[composition.Part]) -> Decision:
    its = [part for part in parts if part.block in arm.blocks]
    if len(its) < len(arm.blocks):
        kept = [block for block in arm.blocks if block not in {part.block for part in its}]
        return Decision(arm.id, needless=f"nothing is left out of {' and '.join(kept)}")
    if arm.kind is ArmKind.PART and len(its[0].singles) == 1:
        return Decision(arm.id, needless=f"what is left out of {its[0].block} was left out alone already")
    if len(its) == len(parts):
        return Decision(arm.id, needless="the composed arm leaves out no more than this")
    return Decision(arm.id, left_out=tuple(one for part in its for one in part.left_out))
