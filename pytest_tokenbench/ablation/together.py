"""Whether what came out removable can be left out together: the finding on the composed arm, and what it puts back."""

from dataclasses import dataclass

from pytest_tokenbench.ablation import reweighting, stages
from pytest_tokenbench.ablation.design import ArmKind
from pytest_tokenbench.ablation.findings import Finding, Ruled
from pytest_tokenbench.ablation.measured import Measured
from pytest_tokenbench.results import Unavailable


@dataclass(frozen=True, slots=True)
class Together:
    """What the composed arm leaves out, its finding, and whether it clears the stress cases (None: not known, or none).

    `holds` is True where it came out removable, clears them, and production's shares do not forbid it, as they do not
    where it is undecided with them: `caveat` says so. It is False where it is not so, None where nothing is left out or
    that was not measured. `note` says why it is not True, and `is_known` whether that is a finding and not want of one.
    `put_back` is what came out removable piece by piece and yet is not shown to be able to go.
    """

    left_out: tuple[str, ...]
    ruled: Ruled
    clears_stress: bool | None
    holds: bool | None
    note: str | None
    put_back: tuple[str, ...]
    caveat: str | None = None
    is_known: bool = False

    @property
    def is_open(self) -> bool:
        """Whether something is to be left out together, and what that comes to was not measured."""
        return bool(self.left_out) and self.ruled.finding is Finding.NOT_MEASURED


def of(results: Measured) -> Together:
    """What leaving out together all that came out removable has come to."""
    try:
        left_out = stages.left_out(results)
        arm = results.arm(ArmKind.COMPOSED)
    except Unavailable as reason:
        found = Ruled(Finding.NOT_MEASURED, str(reason))
        return Together((), found, None, None, f"not checked: {reason}", ())
    found, (clears, why_open) = results.ruled(arm), results.on_stress(arm)
    back = _removable_alone(results, left_out)
    if found.finding is Finding.NOT_MEASURED:
        return Together(left_out, found, clears, None, f"not checked: {found.reason}", back)
    against = _against(results, arm, found, clears, why_open)
    if against is not None:
        why, is_known = against
        note = f"does not hold: {why}"
        return Together(left_out, found, clears, holds=False, note=note, put_back=back, is_known=is_known)
    caveat = open_in_production(results, arm)
    return Together(left_out, found, clears, holds=True, note=None, put_back=(), caveat=caveat, is_known=True)


def _removable_alone(results: Measured, left_out: tuple[str, ...]) -> tuple[str, ...]:
    """Of what is left out together, what came out removable by itself, as not all has in a quick look."""
    blocks = {plan.name for plan in results.ablation.blocks}
    return tuple(
        name
        for name in left_out
        if name not in blocks or results.ruled(results.without(name)).finding is Finding.REMOVABLE
    )


def _against(
    results: Measured, arm: str, found: Ruled, clears: bool | None, why_open: str | None
) -> tuple[str, bool] | None:
    """Why the composed arm does not hold, and whether that is known of it; None where it holds.

    `clears` and `why_open` are what came out on the stress cases.
    """
    if found.finding is not Finding.REMOVABLE:
        return f"the composed arm {stages.came_out(found.finding)}; {found.reason}", True
    if results.stress is not None and not clears:
        if clears is False:
            return "the composed arm does not clear the stress cases", True
        return f"the composed arm is not known to clear the stress cases: {why_open}", False
    in_production = against_in_production(results, arm)
    if in_production is None:
        return None
    its = reweighting.ruled(results, arm)
    is_known = its is not None and its.finding is Finding.NEEDED
    return f"with production's shares the composed arm {in_production}", is_known


def against_in_production(results: Measured, arm: str) -> str | None:
    """Why production's shares forbid what an arm leaves out, as they forbid single blocks; None where they do not.

    They do where it is needed with them, or has no finding.
    """
    if not results.ablation.production:
        return None
    try:
        reweighting.drop(results, arm)
    except Unavailable as reason:
        return f"has no finding: {reason}"
    found = reweighting.ruled(results, arm)
    if found is None or not reweighting.forbids(results, arm):
        return None
    return f"{stages.came_out(found.finding)}; {found.reason}"


def open_in_production(results: Measured, arm: str) -> str | None:
    """That an arm is undecided with production's shares, which forbids nothing, and why; None where it is not."""
    found = reweighting.ruled(results, arm)
    if found is None or found.finding is not Finding.UNDECIDED:
        return None
    return f"{stages.came_out(found.finding)} with production's shares; {found.reason}"
