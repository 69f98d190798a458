"""How fast the last run on this host went, from which the next one's time is foreseen."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_tokenbench import machine, run_folder
from pytest_tokenbench.records import Observation, Preparation, Status
from pytest_tokenbench.run_folder import Run, RunError
from pytest_tokenbench.settings import Settings


@dataclass(frozen=True, slots=True)
class LastRun:
    """A run, and where it lies."""

    folder: Path
    run: Run


@dataclass(frozen=True, slots=True)
class Speed:
    """How fast the last run on this host went; see `speed_of`. `rate` is in tokens read a second, `rest` in seconds a trial.

    `written` has the mean tokens of an answer by condition, `prepared` by recipe the seconds and the tokens written for
    a token read.
    """

    folder: Path
    started: str
    workers: int
    rate: float
    rest: float
    written: Mapping[str, float]
    prepared: Mapping[str, tuple[float, float]]


def last_run(settings: Settings, study: str, host: str | None) -> LastRun | None:
    """The newest run of a study with this backend, model and host, on a machine like this one, that measured anything."""
    here = machine.describe()
    alike = []
    for folder in run_folder.home(settings.reports, study).glob("*"):
        try:
            record = run_folder.read_record(folder)
        except RunError:
            continue
        if (
            record.backend == settings.backend
            and record.model.name in {settings.model, Path(settings.model).name}
            and (host is None or {one.host for one in (record.hosts or (record.model,))} & {host, None})
            and all(record.machine.get(name) == here[name] for name in ("system", "cores"))
        ):
            alike.append((record.started, folder))
    for _, folder in sorted(alike, reverse=True):
        try:
            run = run_folder.read(folder)
        except RunError:
            continue
        if any(_is_timed(seen) and _fresh(seen) and _wall(seen) for seen in run.observations):
            return LastRun(folder, run)
    return None


def speed_of(last: LastRun) -> Speed:
    """How fast a run went.

    A trial takes what its uncached tokens take to be read, and a rest (writing, and the way there) that does not depend
    on them; where the server did not tell how long it read, all of the time counts as reading. Several workers are
    taken to be as fast together as they were then.
    """
    run = last.run
    seen = [one for one in run.observations if _is_timed(one)]
    told = [one for one in seen if one.prefill_s is not None]
    reading, waiting = (sum(map(seconds, its)) for seconds, its in ((_prefill, told), (_wall, seen)))
    # Some servers tell that they read in no time at all.
    timed, taken = (told, reading) if reading else (seen, waiting)
    rest = (sum(map(_wall, told)) - reading) / len(told) if reading else 0.0
    written: dict[str, list[int]] = {}
    for one in seen:
        if one.output_tokens is not None:
            written.setdefault(one.condition, []).append(one.output_tokens)
    return Speed(
        folder=last.folder,
        started=run.record.started,
        workers=len({one.worker for one in seen}),
        rate=sum(map(_fresh, timed)) / taken,
        rest=max(0.0, rest),
        written={name: sum(its) / len(its) for name, its in written.items()},
        prepared=_prepared_speed(run.preparations),
    )


def _is_timed(seen: Observation) -> bool:
    return seen.status is Status.OK and seen.input_tokens is not None and seen.wall_s is not None


def _prefill(seen: Observation) -> float:
    return seen.prefill_s or 0.0


def _wall(seen: Observation) -> float:
    return seen.wall_s or 0.0


def _fresh(seen: Observation) -> int:
    return (seen.input_tokens or 0) - (seen.cached_tokens or 0)


def _prepared_speed(made: Sequence[Preparation]) -> dict[str, tuple[float, float]]:
    sums: dict[str, list[float]] = {}
    for one in made:
        if one.failure is None and one.input_tokens and one.output_tokens is not None:
            its = sums.setdefault(one.recipe, [0.0, 0.0, 0.0])
            for place, value in enumerate((one.input_tokens, one.seconds, one.output_tokens)):
                its[place] += value
    return {name: (seconds / read, written / read) for name, (read, seconds, written) in sums.items()}
