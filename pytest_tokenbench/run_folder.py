"""The folder of one run: what was run, what was measured, what came out."""

import contextlib
import json
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import msgspec

from pytest_tokenbench import ledger, locking
from pytest_tokenbench.ablation.design import Ablation
from pytest_tokenbench.locking import Lock
from pytest_tokenbench.opening import reading, replace_text
from pytest_tokenbench.prices import Price
from pytest_tokenbench.records import (
    MOST_COUNT,
    Count,
    Decision,
    ModelInfo,
    Observation,
    Preparation,
    Question,
    Verdict,
    decode,
    encode,
)

FORMAT = 1
RUN = "run.json"
OBSERVATIONS = "observations.jsonl"
PREPARATIONS = "preparations.jsonl"
DECISIONS = "decisions.jsonl"
RESULTS = "results.json"
REPORT = "report.md"
_LONGEST_NAME = 100


@dataclass(frozen=True, slots=True)
class RunRecord:
    """What was run: everything that could change a number, and at the end the verdicts. The content of run.json.

    `judged` counts the trials that the verdicts rest on, None where an earlier version gave them.
    `scheduled` counts the trials that were to run; `finished` is the end's time (ISO 8601), None for a run that did
    not come to its end. `hosts` has what each host said of the model where there were several; `model` is the first.
    `resumed` are the times at which an unfinished run was gone on with. `doubts` are sentences about what may have
    spoilt the run, for every report; `spoilt` is the one that did, None if none. `condition_options` has each condition's class and what it was made with.
    `ablation` is the plan of a study over blocks, None for one over documents.
    """

    format: int
    study: str
    study_file: str
    started: str
    quick: bool
    order: str
    backend: str
    baseline: str
    conditions: tuple[str, ...]
    questions: tuple[Question, ...]
    scheduled: Count
    model: ModelInfo
    hashes: dict[str, str]
    registration: str
    registered: tuple[dict[str, Any], ...]
    commit: str | None
    machine: dict[str, str]
    recipes: dict[str, str] = field(default_factory=dict)
    recipe_options: dict[str, dict[str, Any]] = field(default_factory=dict)
    prices: tuple[Price, ...] = ()
    finished: str | None = None
    verdicts: tuple[Verdict, ...] = ()
    repeats: Annotated[int, msgspec.Meta(ge=1, le=MOST_COUNT)] = 1
    nonce: bool = False
    shard: str | None = None
    hosts: tuple[ModelInfo, ...] = ()
    resumed: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()
    condition_options: dict[str, dict[str, Any]] = field(default_factory=dict)
    spoilt: str | None = None
    ablation: Ablation | None = None
    judged: Count | None = None


@dataclass(frozen=True, slots=True)
class Run:
    """A run as read back from its folder."""

    record: RunRecord
    observations: tuple[Observation, ...]
    preparations: tuple[Preparation, ...]
    torn: tuple[str, ...] = ()
    decisions: tuple[Decision, ...] = ()


class RunError(Exception):
    """A folder holds no run that can be read; the message is one sentence."""


def home(reports: Path, study: str) -> Path:
    """The folder of a study's run folders."""
    return reports / _safe(study)


def create(reports: Path, record: RunRecord) -> Path:
    """Makes the run's folder, reports/<study>/<UTC time>-<model>/, and writes run.json.

    Raises:
        OSError: The reports folder cannot be written; no run folder is left behind then.
    """
    time = re.sub(r"[^0-9TZ]", "", re.sub(r"\.\d+|\+00:00", "", record.started))[:_LONGEST_NAME]
    base = home(reports, record.study) / f"{time}-{_safe(record.model.name)}"
    base.parent.mkdir(parents=True, exist_ok=True)
    folder, number = base, 1
    while True:
        try:
            folder.mkdir()
            break
        except FileExistsError:
            number += 1
            folder = base.with_name(f"{base.name}-{number}")
    try:
        write_record(folder, record)
    except BaseException:
        discard(folder)
        raise
    return folder


def discard(folder: Path) -> None:
    """Removes a run's folder in which nothing was measured, built or reported, and its study's folder if that is empty.

    Its lock must have been released.
    """
    removable = {RUN, f"{RUN}.part", OBSERVATIONS, PREPARATIONS, DECISIONS}
    found = list(folder.iterdir())
    if any(one.name not in removable for one in found):
        return
    if any(one.stat().st_size for one in found if one.name in {OBSERVATIONS, PREPARATIONS, DECISIONS}):
        return
    for one in found:
        one.unlink()
    folder.rmdir()
    with contextlib.suppress(OSError):
        folder.parent.rmdir()


def lock(folder: Path) -> Lock:
    """Takes the right to write a run's folder, for as long as this process lives or until it is released.

    Raises:
        RunError: Another process has it.
        OSError: The folder cannot be written.
    """
    try:
        return Lock(folder)
    except locking.HeldError as holder:
        raise RunError(f"{folder}: {holder} is writing this run; wait until it ends, or end it") from holder


def write_record(folder: Path, record: RunRecord) -> None:
    """Writes run.json, whole or not at all."""
    write(folder / RUN, json.dumps(json.loads(encode(record)), indent=2, ensure_ascii=False) + "\n")


def write(path: Path, text: str) -> None:
    """Replaces a file's text, whole or not at all."""
    replace_text(path, text)


def read_record(folder: Path) -> RunRecord:
    """What a run's folder says was run.

    Raises:
        RunError: It is no run folder, or from a newer version, or run.json is damaged.
    """
    path = folder / RUN
    try:
        with reading(path) as file:
            raw = file.read()
        values = json.loads(raw)
        version = values.get("format")
        if version != FORMAT:
            raise RunError(
                f"{path}: has format {version!r}; this version of pytest-tokenbench reads {FORMAT}"
            )
        record = decode(raw, RunRecord)
        beyond = next(_beyond(values.get("ablation"), "$.ablation"), None)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise RunError(f"{folder}: holds no run ({RUN} is missing)") from error
    except OSError as error:
        raise _unreadable(error, path) from error
    except (ValueError, AttributeError, RecursionError) as error:
        raise RunError(f"{path}: is damaged ({printable(str(error))})") from error
    if beyond is not None:
        raise RunError(f"{path}: is damaged ({printable(f'there can be no such number - at `{beyond}`')})")
    return record


def read(folder: Path) -> Run:
    """Reads a run's folder.

    What was observed again, since it had come to nothing or a plugin reran it, counts once, as seen last; so does what
    was built again.

    Raises:
        RunError: It is no run folder, or from a newer version, or a file of it is damaged.
    """
    record = read_record(folder)
    with ledger.without_collector():
        try:
            seen = ledger.read(folder / OBSERVATIONS, Observation)
            prepared = ledger.read(folder / PREPARATIONS, Preparation)
            decided = ledger.read(folder / DECISIONS, Decision)
        except ledger.LedgerError as error:
            raise RunError(f"{folder}: {printable(str(error))}") from error
        except OSError as error:
            raise _unreadable(error, folder) from error
        _check_belongs(folder, record, seen.records)
        return Run(
            record,
            observations=tuple({one.key: one for one in seen.records}.values()),
            preparations=tuple({(one.key, one.document): one for one in prepared.records}.values()),
            torn=tuple(line for line in (seen.torn, prepared.torn, decided.torn) if line),
            decisions=tuple({one.arm: one for one in decided.records}.values()),
        )


def read_measured(folder: Path) -> Run:
    """Reads a run's folder, in which something was measured.

    Raises:
        RunError: As `read`; or nothing was, or that is lost.
    """
    run = read(folder)
    if not run.observations:
        judged = run.record.judged
        was_asked = run.record.finished is not None if judged is None else judged > 0
        if was_asked:
            raise RunError(
                f"{folder / OBSERVATIONS}: has no observation, though trials were run; put back the file that the run wrote"
            )
        raise RunError(
            f"{folder}: has no observation, since no trial was asked before the run was interrupted; "
            "--tokenbench-resume goes on with it"
        )
    return run


def _beyond(value: Any, place: str) -> Iterator[str]:
    """Where in these values of JSON a number is too large to be reckoned with."""
    if isinstance(value, dict):
        for name, one in value.items():
            yield from _beyond(one, f"{place}.{name}")
    elif isinstance(value, list):
        for number, one in enumerate(value):
            yield from _beyond(one, f"{place}[{number}]")
    elif isinstance(value, int | float) and not -MOST_COUNT <= value <= MOST_COUNT:
        yield place


def _unreadable(error: OSError, path: Path) -> RunError:
    return RunError(f"{error.filename or path}: cannot be read ({error.strerror})")


def _check_belongs(folder: Path, record: RunRecord, observations: Sequence[Observation]) -> None:
    known = {question.id for question in record.questions}
    for number, seen in enumerate(observations, 1):
        if (
            seen.study != record.study
            or seen.question not in known
            or seen.condition not in record.conditions
        ):
            other = f"{printable(seen.study)}, {printable(seen.question)}"
            raise RunError(f"{folder / OBSERVATIONS}: line {number} is of another study ({other})")


def check_is_of(study: str, known: Collection[str], name: str) -> None:
    """Refuses a run, called `name`, whose study is not among those of a session.

    Raises:
        RunError: It is not.
    """
    if study not in known:
        listed = ", ".join(known)
        raise RunError(f"{name} is a run of {study!r}, which is not among the collected studies ({listed})")


def printable(text: str) -> str:
    """Text from a run folder in a message; what could steer a terminal is escaped."""
    return text if text.isprintable() else ascii(text)


def _safe(name: str) -> str:
    """A name from outside as a part of a path: no separators, no dots at its ends, not too long."""
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", Path(name).name)[:_LONGEST_NAME]
    return plain.strip(".-") or "model"
