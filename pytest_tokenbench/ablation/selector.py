"""A selector that could ship, keeping what scores high enough, against the oracle that knows the gold passage."""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from pytest_tokenbench.ablation.design import ArmKind, ArmPlan
from pytest_tokenbench.ablation.findings import refusal
from pytest_tokenbench.ablation.measured import Measured
from pytest_tokenbench.ablation.oracle import is_retrieved, kept
from pytest_tokenbench.results import Unavailable
from pytest_tokenbench.statistics import Estimate, FloatArray

BoolArray = npt.NDArray[np.bool_]


def savings(
    tokens: FloatArray, oracle_keeps: BoolArray, selector_keeps: BoolArray
) -> tuple[FloatArray, FloatArray]:
    """By case the tokens that oracle and selector both save, and those that the oracle saves, (cases,) each.

    All three are (cases, units), the tokens not negative. What the selector leaves out and the oracle keeps is no saving
    of the oracle's, so that the former never exceed the latter.
    """
    left_out = np.where(oracle_keeps, 0.0, tokens)
    return np.where(selector_keeps, 0.0, left_out).sum(axis=1), left_out.sum(axis=1)


def arms(results: Measured) -> Iterator[ArmPlan]:
    """The arms that select by score."""
    return (arm for arm in results.ablation.arms if arm.kind is ArmKind.SELECTED)


def recovered(results: Measured, arm: ArmPlan) -> Estimate:
    """The share of the oracle's saving that a selecting arm saves as well, from 0 to 1.

    Raises:
        Unavailable: The arm was not asked, a block has no finding, or the oracle saves nothing.
        ValueError: It is no selecting arm.
    """
    if arm.kind is not ArmKind.SELECTED:
        raise ValueError(f"{arm.id} selects nothing")
    asked = ~np.isnan(results.drops(arm.id))
    both, oracle = np.zeros(len(asked)), np.zeros(len(asked))
    oracle_keeps = kept(results)
    for block in arm.blocks:
        if not is_retrieved(results, block):
            continue
        tokens = results.unit_tokens(block)
        keeps = _keeps(results, block, arm.score or 0.0, tokens.shape[1])
        found = savings(tokens, oracle_keeps[block], keeps)
        both, oracle = both + found[0], oracle + found[1]
    if not np.nansum(oracle[asked]):
        raise Unavailable("the oracle leaves no passage out, so that there is no saving to recover")
    return results.ratio(
        np.where(asked, both, np.nan), np.where(asked, oracle, np.nan), f"what {arm.id} recovers"
    )


def lost(results: Measured, arm: ArmPlan) -> Estimate:
    """The accuracy that a selecting arm loses.

    Raises:
        Unavailable: It was not asked, or the base is right too rarely to lose anything by it.
    """
    reason = refusal(results.ablation.threshold, None, results.base)
    if reason is not None:
        raise Unavailable(reason)
    return results.drop_of(arm.id)


def _keeps(results: Measured, block: str, score: float, units: int) -> BoolArray:
    """What the selector keeps; a passage without a score was not retrieved and is not selected from."""
    scores = np.full((len(results.questions), units), np.inf)
    for row, case in zip(scores, results.questions, strict=True):
        its = results.ablation.scores.get(case.id, {}).get(block, ())[:units]
        row[: len(its)] = its
    return scores >= score
