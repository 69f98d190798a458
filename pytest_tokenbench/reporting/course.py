"""How a run went, apart from what it measured: going on, trouble, hosts. Another run of the same study has another."""

from collections import Counter
from typing import Any

from pytest_tokenbench.records import Observation, Status
from pytest_tokenbench.run_folder import Run

Json = dict[str, Any]


def build(run: Run) -> Json:
    """The course of a run as plain JSON values, of all its trials; what did not happen left empty."""
    trials: dict[str, list[Observation]] = {name: [] for name in run.record.conditions}
    for seen in run.observations:
        trials[seen.condition].append(seen)
    retried = {name: _retried(its) for name, its in trials.items()}
    errors = {name: _errors(its) for name, its in trials.items()}
    return {
        "doubts": list(run.record.doubts),
        "resumed": [_resumed(time, run) for time in run.record.resumed],
        "retried": {name: made for name, made in retried.items() if made["trials"]},
        "errors": {name: made for name, made in errors.items() if made},
        "torn_lines": len(run.torn),
    }


def _resumed(time: str, run: Run) -> Json:
    """Times are ISO 8601 in UTC, which sort as text."""
    reused = [seen for seen in run.observations if seen.status is not Status.ERROR and seen.started < time]
    return {"time": time, "reused": len(reused)}


def tries(observation: Observation) -> int:
    """How often a trial was tried. Every try of one that ended in an error is among its failed attempts."""
    return max(1, len(observation.attempts) + (observation.status is not Status.ERROR))


def _retried(trials: list[Observation]) -> Json:
    again = [seen for seen in trials if tries(seen) > 1]
    kinds = Counter(attempt.kind for seen in again for attempt in seen.attempts)
    return {"trials": len(again), "kinds": dict(sorted(kinds.items()))}


def _errors(trials: list[Observation]) -> list[Json]:
    counted = Counter(
        (seen.error_kind or "unknown", seen.host) for seen in trials if seen.status is Status.ERROR
    )
    return [{"kind": kind, "host": host, "trials": count} for (kind, host), count in sorted(counted.items())]
