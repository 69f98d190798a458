"""Whether what came out removable can be left out together: the finding on the composed arm, and what it puts back."""

from dataclasses import dataclass

from pytest_tokenbench.ablation import stages
from pytest_tokenbench.ablation.design import ArmKind
from pytest_tokenbench.ablation.findings import Finding, Ruled
from pytest_tokenbench.ablation.measured import Measured
from pytest_tokenbench.results import Unavailable


@dataclass(frozen=True, slots=True)
class Together:
    """What the composed arm leaves out, its finding, and whether it clears the stress cases (None: not known, or none).

    `holds` is True where it came out removable and clears them, False where it did not, None where nothing is left out or
    that was not measured. `note` says why it is not True.
    """

    left_out: tuple[str, ...]
    ruled: Ruled
    clears_stress: bool | None
    holds: bool | None
    note: str | None

    @property
    def put_back(self) -> tuple[str, ...]:
        """What came out removable piece by piece and yet is not shown to be able to go."""
        return () if self.holds else self.left_out


def of(results: Measured) -> Together:
    """What leaving out together all that came out removable has come to."""
    try:
        left_out = stages.left_out(results)
        arm = results.arm(ArmKind.COMPOSED)
    except Unavailable as reason:
        return Together((), Ruled(Finding.NOT_MEASURED, str(reason)), None, None, f"not checked: {reason}")
    found, clears = results.ruled(arm), results.clears_stress(arm)
    if found.finding is Finding.NOT_MEASURED:
        return Together(left_out, found, clears, None, f"not checked: {found.reason}")
    if found.finding is not Finding.REMOVABLE:
        note = f"does not hold: the composed arm {stages.came_out(found.finding)}; {found.reason}"
        return Together(left_out, found, clears, holds=False, note=note)
    if results.stress is not None and not clears:
        said = (
            "does not clear the stress cases" if clears is False else "was not measured on all stress cases"
        )
        return Together(left_out, found, clears, holds=False, note=f"does not hold: the composed arm {said}")
    return Together(left_out, found, clears, holds=True, note=None)
