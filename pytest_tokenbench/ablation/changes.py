"""What became of real requests' answers when their prompts were cut: how many changed, where, and for which saving."""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np

from pytest_tokenbench import scoring, statistics
from pytest_tokenbench.ablation.setup import FORMAT, Setup
from pytest_tokenbench.ablation.shadow import Pair
from pytest_tokenbench.distributions import unseen_bound
from pytest_tokenbench.figures import Json, figure
from pytest_tokenbench.records import Observation, Status
from pytest_tokenbench.results import Unavailable
from pytest_tokenbench.statistics import Estimate, FloatArray

NO_CLAIM = (
    "no claim is made on which answer is right: nobody said what these requests should be answered, and an answer that "
    "changed may be better or worse"
)
SIDES = ("full", "reduced")
# Columns of a table that is resampled at once: more would take up memory.
_AT_ONCE = 100


def build(setup: Setup, pairs: Sequence[Pair], requests: int) -> Json:
    """The content of shadow.json: of `pairs`, in the requests' order, and of how many `requests` there are.

    A figure is `{"estimate", "low", "high", "n", "zero_width"}`, shares from 0 to 1, or `{"unavailable": reason}`. Only
    requests that were answered both ways are compared; all others are counted, and never as changed.
    """
    compared = [pair for pair in pairs if _is_answered(pair)]
    normalised = [has_changed(pair) for pair in compared]
    exact = [_answers(pair)[0] != _answers(pair)[1] for pair in compared]
    shares = _shares([_column(normalised), _column(exact)])
    alike = [changed for pair, changed in zip(compared, normalised, strict=True) if _is_same_prompt(pair)]
    return {
        "format": FORMAT,
        "run": setup.run,
        "study": setup.study,
        "left_out": list(setup.left_out),
        "requests": {"file": setup.requests, "sha256": setup.sha256, "count": requests},
        "model": {
            "name": setup.model.name,
            "backend": setup.model.backend,
            "digest": setup.model.digest,
            "server_version": setup.model.server_version,
        },
        "started": setup.started,
        "resumed": list(setup.resumed),
        "warnings": list(setup.warnings),
        "claim": NO_CLAIM,
        "compared": len(compared),
        "over_window": _over_window(pairs),
        "errors": _errors(pairs),
        "not_asked": requests - len(pairs),
        "changed": {"requests": sum(normalised), "share": shares[0]},
        "changed_bytes": {"requests": sum(exact), "share": shares[1]},
        "same_prompt": {"requests": len(alike), "changed": sum(alike)},
        "tokens": _tokens(compared),
        "remarks": {
            side: dict(sorted(Counter(one.remark for one in seen if one.remark).items()))
            for side, seen in zip(SIDES, _sides(compared), strict=True)
        },
        "answer_tokens": setup.answer_tokens,
        "slices": _slices(compared, normalised),
        "changes": [
            {"request": pair.request, "slices": pair.slices, "answers": list(_answers(pair))}
            for pair, changed in zip(compared, normalised, strict=True)
            if changed
        ],
    }


def has_changed(pair: Pair) -> bool:
    """Whether both answers are there and differ by more than scoring passes over: case, spacing, punctuation."""
    full, reduced = _answers(pair)
    return _is_answered(pair) and scoring.tokens(full) != scoring.tokens(reduced)


def _is_answered(pair: Pair) -> bool:
    return pair.reduced is not None and all(one.status is Status.OK for one in pair.both)


def _answers(pair: Pair) -> tuple[str, str]:
    return pair.full.answer or "", (pair.reduced and pair.reduced.answer) or ""


def _is_same_prompt(pair: Pair) -> bool:
    """Whether the request has nothing of what is left out."""
    return pair.reduced is not None and pair.full.prompt_sha256 == pair.reduced.prompt_sha256


def _sides(pairs: Sequence[Pair]) -> tuple[list[Observation], list[Observation]]:
    return [pair.full for pair in pairs], [pair.reduced for pair in pairs if pair.reduced is not None]


def _over_window(pairs: Sequence[Pair]) -> Json:
    """How many prompts did not fit, each way; a request that came to an error counts there."""
    ended = [pair for pair in pairs if pair.is_done]
    over = [[one.status is Status.OVER_WINDOW for one in seen] for seen in _sides(ended)]
    either = sum(map(any, zip(*over, strict=True)))
    return {"requests": either} | {side: sum(its) for side, its in zip(SIDES, over, strict=True)}


def _errors(pairs: Sequence[Pair]) -> Json:
    kinds = Counter(
        one.error_kind or "unknown" for pair in pairs for one in pair.both if one.status is Status.ERROR
    )
    return {"requests": sum(not pair.is_done for pair in pairs), "kinds": dict(sorted(kinds.items()))}


def _slices(compared: Sequence[Pair], changed: Sequence[bool]) -> Json:
    """By kind and value of slice how many answers changed of how many."""
    inside: dict[tuple[str, str], list[int]] = {}
    for row, pair in enumerate(compared):
        for place in pair.slices.items():
            inside.setdefault(place, []).append(row)
    columns = []
    for rows in inside.values():
        column = np.full(len(compared), np.nan)
        column[rows] = _column(changed)[rows]
        columns.append(column)
    made: dict[str, dict[str, Json]] = {}
    for (kind, value), column, share in sorted(
        zip(inside, columns, _shares(columns), strict=True), key=_place
    ):
        counts = {"requests": int((~np.isnan(column)).sum()), "changed": int(np.nansum(column))}
        made.setdefault(kind, {})[value] = counts | {"share": share}
    return made


def _place(one: tuple[tuple[str, str], FloatArray, Json]) -> tuple[str, str]:
    return one[0]


def _column(values: Sequence[bool]) -> FloatArray:
    return np.array(values, dtype=np.float64)


def _shares(columns: Sequence[FloatArray]) -> list[Json]:
    """The mean of each column with its bootstrap interval over requests, NaN left out."""
    made: list[Json] = []
    for start in range(0, len(columns), _AT_ONCE):
        part = columns[start : start + _AT_ONCE]
        table = np.column_stack(part)
        samples = statistics.bootstrap_means(table) if len(table) else np.empty((0, len(part)))
        made += (
            figure(partial(_share, column, drawn)) for column, drawn in zip(part, samples.T, strict=True)
        )
    return made


def _share(column: FloatArray, samples: FloatArray) -> Estimate:
    """A share; of one that did not vary, its ends are what so many requests still allow."""
    measured = column[~np.isnan(column)]
    if not measured.size:
        raise Unavailable("no request was answered both ways")
    found = statistics.bootstrap_estimate(float(np.mean(measured)), samples, measured.size)
    return statistics.widened(found, unseen_bound([found.n]), 0.0, 1.0)


def _tokens(compared: Sequence[Pair]) -> Mapping[str, Json]:
    """Input tokens a request each way, their sums, and the share that is saved of all."""
    counted = [
        (pair.full.input_tokens, pair.reduced.input_tokens)
        for pair in compared
        if pair.reduced is not None
        and pair.full.input_tokens is not None
        and pair.reduced.input_tokens is not None
    ]
    if not counted:
        reason = {"unavailable": "the tokens of no request that was answered both ways are known"}
        return dict.fromkeys((*SIDES, "saved"), reason) | {"sums": dict.fromkeys(SIDES, 0)}
    table = np.array(counted, dtype=np.float64)
    samples = statistics.bootstrap_means(table)
    full, reduced = table.mean(axis=0)
    estimates = (
        (float(full), samples[:, 0]),
        (float(reduced), samples[:, 1]),
        (float(1 - reduced / full), 1 - samples[:, 1] / samples[:, 0]),
    )
    made = {
        name: figure(partial(statistics.bootstrap_estimate, mean, drawn, len(table)))
        for name, (mean, drawn) in zip((*SIDES, "saved"), estimates, strict=True)
    }
    return made | {"sums": dict(zip(SIDES, map(int, table.sum(axis=0)), strict=True))}
