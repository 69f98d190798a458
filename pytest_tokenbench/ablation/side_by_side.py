"""Two runs over blocks side by side: what each found, and where arms of one name leave out different things."""

from collections.abc import Iterator, Sequence
from functools import partial

from pytest_tokenbench.ablation import oracle
from pytest_tokenbench.ablation.design import ArmKind
from pytest_tokenbench.ablation.results import AblationResults
from pytest_tokenbench.figures import Json, figure
from pytest_tokenbench.run_folder import Run, printable
from pytest_tokenbench.statistics import Estimate

# Arms of later stages are too many to stand beside one another.
_SHOWN = {ArmKind.BASE, ArmKind.WITHOUT, ArmKind.COMPOSED}
_ORDINALS = ("first", "second")


def findings(first: Run, second: Run) -> Json | None:
    """What each run found, from all main cases that it has; None unless both are runs over blocks.

    `arms` are the base, those that leave out one block and the composed one, `blocks` has the verdict on each block and
    its drop in both runs, None where a run has no such block, and `needed_fraction` is that of both.
    """
    if first.record.ablation is None or second.record.ablation is None:
        return None
    both = [_results(run) for run in (first, second)]
    names = dict.fromkeys(plan.name for results in both for plan in results.ablation.blocks)
    return {
        "arms": [plan.id for plan in first.record.ablation.arms if plan.kind in _SHOWN],
        "blocks": [
            {"name": name} | {which: _block(name, its) for which, its in zip(_ORDINALS, both, strict=True)}
            for name in names
        ],
        "needed_fraction": {
            which: figure(partial(_needed_fraction, its)) for which, its in zip(_ORDINALS, both, strict=True)
        },
    }


def _results(run: Run) -> AblationResults:
    record = run.record
    if record.ablation is None:
        raise TypeError("a run over documents has no findings on blocks")
    return AblationResults.of(
        record.ablation, record.questions, run.observations, record.repeats, run.decisions
    )


def _block(name: str, results: AblationResults) -> Json | None:
    if not any(plan.name == name for plan in results.ablation.blocks):
        return None
    arm = results.without(name)
    return {"verdict": str(results.ruled(arm).finding), "drop": figure(partial(results.drop_of, arm))}


def _needed_fraction(results: AblationResults) -> Estimate:
    return oracle.fraction(results, oracle.by_findings(results))


def decided_otherwise(first: Run, second: Run) -> Iterator[str]:
    """Where an arm does not stand for the same prompt in both runs, a sentence each."""
    decided = [{one.arm: one for one in run.decisions} for run in (first, second)]
    alone: tuple[list[str], list[str]] = ([], [])
    for name in (name for name in decided[0] if name in decided[1]):
        one, other = (its[name] for its in decided)
        if (one.needless is None) != (other.needless is None):
            alone[one.needless is not None].append(printable(name))
        elif one.needless is None and set(one.left_out) != set(other.left_out):
            yield (
                f"the arm {printable(name)} is not the same: it leaves out {_listed(one.left_out)} in the first run, "
                f"{_listed(other.left_out)} in the second, so that its figures are those of different prompts"
            )
    for names, which in zip(alone, _ORDINALS, strict=True):
        if names:
            yield f"asked in the {which} run alone, since earlier trials made it needless in the other: {', '.join(names)}"


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(printable, names)) or "nothing"
