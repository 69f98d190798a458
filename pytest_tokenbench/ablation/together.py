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

    `holds` is True where it came out removable, clears them, and came out removable with production's shares too if the
    study gives any; False where it did not, None where nothing is left out or that was not measured. `note` says why it
    is not True. `put_back` is what came out removable piece by piece and yet is not shown to be able to go.
    """

    left_out: tuple[str, ...]
    ruled: Ruled
    clears_stress: bool | None
    holds: bool | None
    note: str | None
    put_back: tuple[str, ...]

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
    found, clears = results.ruled(arm), results.clears_stress(arm)
    back = _removable_alone(results, left_out)
    if found.finding is Finding.NOT_MEASURED:
        return Together(left_out, found, clears, None, f"not checked: {found.reason}", back)
    against = _against(results, arm, found, clears)
    if against is not None:
        return Together(left_out, found, clears, holds=False, note=f"does not hold: {against}", put_back=back)
    return Together(left_out, found, clears, holds=True, note=None, put_back=())


def _removable_alone(results: Measured, left_out: tuple[str, ...]) -> tuple[str, ...]:
    """Of what is left out together, what came out removable by itself, as not all has in a quick look."""
    blocks = {plan.name for plan in results.ablation.blocks}
    return tuple(
        name
        for name in left_out
        if name not in blocks or results.ruled(results.without(name)).finding is Finding.REMOVABLE
    )


def _against(results: Measured, arm: str, found: Ruled, clears: bool | None) -> str | None:
    if found.finding is not Finding.REMOVABLE:
        return f"the composed arm {stages.came_out(found.finding)}; {found.reason}"
    if results.stress is not None and not clears:
        said = (
            "does not clear the stress cases" if clears is False else "was not measured on all stress cases"
        )
        return f"the composed arm {said}"
    in_production = against_in_production(results, arm)
    return None if in_production is None else f"with production's shares the composed arm {in_production}"


def against_in_production(results: Measured, arm: str) -> str | None:
    """Why an arm is not shown to be free with production's shares, None where it is or the study gives none."""
    if not results.ablation.production:
        return None
    try:
        reweighting.drop(results, arm)
    except Unavailable as reason:
        return f"has no finding: {reason}"
    found = reweighting.ruled(results, arm)
    if found is None or found.finding is Finding.REMOVABLE:
        return None
    return f"{stages.came_out(found.finding)}; {found.reason}"
