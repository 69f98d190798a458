"""The folder of one run: what was run, what was measured, what came out."""

import json
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_tokenbench import ledger
from pytest_tokenbench.prices import Price
from pytest_tokenbench.records import ModelInfo, Observation, Preparation, Question, Verdict, decode, encode

FORMAT = 1
RUN = "run.json"
OBSERVATIONS = "observations.jsonl"
PREPARATIONS = "preparations.jsonl"
RESULTS = "results.json"
REPORT = "report.md"


@dataclass(frozen=True, slots=True)
class RunRecord:
    """What was run: everything that could change a number, and at the end the verdicts. The content of run.json.

    `scheduled` counts the trials that were to run; `finished` is the end's time (ISO 8601), None for a run that did
    not come to its end. `hosts` has what each host said of the model where there were several; `model` is the first.
    `resumed` are the times at which an unfinished run was gone on with. `doubts` are sentences about what may have
    spoilt the run, for every report.
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
    scheduled: int
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
    repeats: int = 1
    nonce: bool = False
    shard: str | None = None
    hosts: tuple[ModelInfo, ...] = ()
    resumed: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Run:
    """A run as read back from its folder."""

    record: RunRecord
    observations: tuple[Observation, ...]
    preparations: tuple[Preparation, ...]
    torn: tuple[str, ...] = ()


class RunError(Exception):
    """A folder holds no run that can be read; the message is one sentence."""


def create(reports: Path, record: RunRecord) -> Path:
    """Makes the run's folder, reports/<study>/<UTC time>-<model>/, and writes run.json.

    Raises:
        OSError: The reports folder cannot be written.
    """
    time = re.sub(r"[-:]|\.\d+|\+00:00", "", record.started)
    base = reports / _safe(record.study) / f"{time}-{_safe(record.model.name)}"
    base.parent.mkdir(parents=True, exist_ok=True)
    folder, number = base, 1
    while True:
        try:
            folder.mkdir()
            break
        except FileExistsError:
            number += 1
            folder = base.with_name(f"{base.name}-{number}")
    write_record(folder, record)
    return folder


def write_record(folder: Path, record: RunRecord) -> None:
    """Writes run.json, whole or not at all."""
    write(folder / RUN, json.dumps(json.loads(encode(record)), indent=2, ensure_ascii=False) + "\n")


def write(path: Path, text: str) -> None:
    """Replaces a file's text, whole or not at all."""
    part = path.with_name(path.name + ".part")
    with part.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)


def read(folder: Path) -> Run:
    """Reads a run's folder. A trial that was observed again, as by a plugin that reruns tests, counts as seen last.

    Raises:
        RunError: It is no run folder, or from a newer version, or a file of it is damaged.
    """
    path = folder / RUN
    if not path.is_file():
        raise RunError(f"{folder}: holds no run ({RUN} is missing)")
    try:
        raw = path.read_bytes()
        version = json.loads(raw).get("format")
        if version != FORMAT:
            raise RunError(
                f"{path}: has format {version!r}; this version of pytest-tokenbench reads {FORMAT}"
            )
        record = decode(raw, RunRecord)
        seen = ledger.read(folder / OBSERVATIONS, Observation)
        prepared = ledger.read(folder / PREPARATIONS, Preparation)
    except (ValueError, AttributeError) as error:
        raise RunError(f"{path}: is damaged ({error})") from error
    except ledger.LedgerError as error:
        raise RunError(f"{folder}: {error}") from error
    _check_belongs(folder, record, seen.records)
    torn = tuple(line for line in (seen.torn, prepared.torn) if line)
    latest = {one.key: one for one in seen.records}
    return Run(record, tuple(latest.values()), prepared.records, torn)


def _check_belongs(folder: Path, record: RunRecord, observations: Sequence[Observation]) -> None:
    known = {question.id for question in record.questions}
    for number, seen in enumerate(observations, 1):
        if (
            seen.study != record.study
            or seen.question not in known
            or seen.condition not in record.conditions
        ):
            raise RunError(
                f"{folder / OBSERVATIONS}: line {number} is of another study ({seen.study}, {seen.question})"
            )


def _safe(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]+", "-", Path(name).name).strip(".-") or "model"
