"""Joining runs of one study, its shards or whatever was run in parts, into one."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path, PurePosixPath
from typing import Any

from pytest_tokenbench import registration, resume, run_folder
from pytest_tokenbench.corpus import files
from pytest_tokenbench.ledger import Ledger
from pytest_tokenbench.marker import files_that_may_declare
from pytest_tokenbench.records import Decision, Observation, Preparation
from pytest_tokenbench.resume import is_final
from pytest_tokenbench.run_folder import Run, RunError, RunRecord
from pytest_tokenbench.scheduling import TrialKey

# What two observations of one trial must have in common; the rest is when, where and how fast.
_MEASURED = (
    "status",
    "answer",
    "outcome",
    "remark",
    "scores",
    "stop",
    "input_tokens",
    "output_tokens",
    "context_sha256",
    "prompt_sha256",
    "preparation",
)
# With a nonce before it, a prompt is another each time, and may have another number of tokens.
_WITH_NONCE = tuple(name for name in _MEASURED if name not in {"input_tokens", "prompt_sha256"})
_LONGEST = 60


class MergeError(RunError):
    """Runs cannot be joined; the message is one sentence."""


@dataclass(frozen=True, slots=True)
class Joined:
    """The run that others were joined into. `conditions` are those it has trials of.

    `missing` tells by condition how many of all trials of these conditions are not measured, in words. `waiting` are the
    arms of later stages that none of the parts asked: no shard has all the trials that decide them.
    """

    run: Run
    conditions: tuple[str, ...]
    missing: tuple[str, ...]
    waiting: tuple[str, ...] = ()


def join(parts: Mapping[str, Run]) -> Joined:
    """One run of the given ones, by name: each trial once, each preparation once, in an order of their own.

    A trial or preparation that came to nothing yields to one that did not. The verdicts are not given yet.

    Raises:
        MergeError: The runs are of different studies, material, models or options, disagree on a trial or on a
            preparation, have no trial, or one of them is spoilt.
    """
    named = list(parts.items())
    _check_unspoilt(named)
    _check_alike(named)
    observations = _observations(named)
    if not observations:
        raise MergeError(f"{', '.join(parts)}: no trial was run in any of them")
    made = _preparations(named)
    first = named[0][1].record
    conditions = tuple(
        name for name in first.conditions if any(one.condition == name for one in observations)
    )
    every = [
        TrialKey(*place)
        for place in product(conditions, (q.id for q in first.questions), range(first.repeats))
    ]
    record = _record([run.record for _, run in named], len(every))
    waiting = _waiting(record, conditions)
    if waiting:
        doubt = f"when its parts were merged, {len(waiting)} arms of later stages had not been asked in any; to go on asks them"
        record = replace(record, doubts=(*record.doubts, doubt))
    run = Run(record, observations, made, decisions=_decisions(named))
    done = resume.finished(run).keys()
    missing = []
    for name in conditions:
        lacking = sum(key.condition == name and key not in done for key in every)
        if lacking:
            missing.append(f"{name} {lacking:,} of {len(every) // len(conditions):,}")
    return Joined(run, conditions, tuple(missing), waiting)


def write(reports: Path, run: Run) -> Path:
    """Makes a run folder of its own for a joined run; tells which.

    Raises:
        OSError: It cannot be written; what was written stays, as of any run that did not come to its end.
    """
    folder = run_folder.create(reports, run.record)
    lock = run_folder.lock(folder)
    try:
        for name, records in (
            (run_folder.PREPARATIONS, run.preparations),
            (run_folder.DECISIONS, run.decisions),
            (run_folder.OBSERVATIONS, run.observations),
        ):
            if not records and name == run_folder.DECISIONS:
                continue  # a study over documents decides nothing
            ledger = Ledger(folder / name)
            try:
                for one in records:
                    ledger.append(one)
            finally:
                ledger.close()
    finally:
        lock.release()
    return folder


def study_file(record: RunRecord, here: Path, handed: Iterable[Path] = ()) -> Path | None:
    """The study of a run, looked up from the folder `here` upwards; None if it is not there as it was then.

    The record may come from someone else, and the file will be run: nothing outside these folders is looked at, no other
    file is taken, and none that could have come along with the folders `handed`. For that it must not stand in one of
    them, nor share with one the folder that its path begins with.
    """
    folders = [folder.resolve() for folder in handed]
    relative = PurePosixPath(record.study_file)
    if relative.is_absolute() or ".." in relative.parts or relative.suffix != ".py":
        return None
    for root in (here, *here.parents):
        file, top = root / relative, root / relative.parts[0]
        try:
            top, real = top.resolve(), file.resolve()
            came_along = any(one.is_relative_to(top) or real.is_relative_to(one) for one in folders)
            if file.is_file() and files.leads_inside(root, file) and not came_along:
                is_the_same = files.sha256(file.read_bytes()) == record.hashes.get("study")
                return file if is_the_same and files_that_may_declare(root, [str(relative)]) else None
        except files.NO_PATH:
            return None
    return None


def named_study_file(record: RunRecord, file: Path) -> Path:
    """The study file that the user names for a run.

    Raises:
        MergeError: It cannot be read, or is not the one of the run.
    """
    try:
        found = files.sha256(file.read_bytes())
    except OSError as error:
        raise MergeError(f"--study: {file} cannot be read ({error.strerror or error})") from error
    if found != record.hashes.get("study"):
        raise MergeError(f"--study: {file} is not the study file of these runs, its SHA-256 is another")
    return file


def judging(folder: Path, joined: Joined, file: Path) -> list[str]:
    """The arguments with which pytest judges the hypotheses of a joined run that lacks nothing, asking no model."""
    record = joined.run.record
    # As it was typed: the record has a model file's name without its place.
    model = joined.run.observations[0].reader
    ini = {
        "quick": record.quick,
        "nonce": record.nonce,
        # What the ini file may have and this session is not to have.
        "shard": "",
        "host": (record.model.host or "") if record.backend == "openai" else "",
    }
    return [
        str(file),
        "-q",
        "--no-header",
        f"--tokenbench-resume={folder.absolute()}",
        f"--tokenbench-backend={record.backend}",
        f"--tokenbench-model={model}",
        f"--tokenbench-order={record.order}",
        f"--tokenbench-repeats={record.repeats}",
        f"--tokenbench-conditions={','.join(joined.conditions)}",
        *(f"--override-ini=tokenbench_{name}={value}" for name, value in ini.items()),
    ]


def _check_alike(named: Sequence[tuple[str, Run]]) -> None:
    (first, run), *others = named
    for name, other in others:
        found = [one for one in resume.compared(run.record, other.record) if one.what != resume.SHARD]
        if found:
            told = "; ".join(f"{one.what} ({one.old} there, {one.new} here)" for one in found)
            raise MergeError(f"{name} is no part of the same run as {first}: not the same are {told}")


def _check_unspoilt(named: Sequence[tuple[str, Run]]) -> None:
    for name, run in named:
        if run.record.spoilt is not None:
            why = run_folder.printable(run.record.spoilt)
            raise MergeError(
                f"{name} cannot be merged, since {why}, and which trials that concerns is not known; run this part anew"
            )


def _waiting(record: RunRecord, asked: Sequence[str]) -> tuple[str, ...]:
    plans = record.ablation.arms if record.ablation is not None else ()
    return tuple(plan.id for plan in plans if plan.stage and plan.id not in asked)


def _observations(named: Sequence[tuple[str, Run]]) -> tuple[Observation, ...]:
    record = named[0][1].record
    compared = _WITH_NONCE if record.nonce else _MEASURED
    kept: dict[TrialKey, tuple[str, Observation, bool]] = {}
    for name, run in named:
        done = resume.finished(run)
        for seen in run.observations:
            key = TrialKey(seen.condition, seen.question, seen.repeat)
            where, other, has_ended = kept.get(key, (name, seen, False))
            if has_ended and key in done:
                _check_agree(f"the trial {key}", (where, other), (name, seen), compared)
            elif not has_ended:
                kept[key] = name, seen, key in done
    condition = _places(record.conditions)
    question = _places(one.id for one in record.questions)
    order = sorted(kept, key=lambda key: (question[key.question], condition[key.condition], key.repeat))
    return tuple(kept[key][1] for key in order)


def _preparations(named: Sequence[tuple[str, Run]]) -> tuple[Preparation, ...]:
    kept: dict[tuple[str, str], tuple[str, Preparation]] = {}
    for name, run in named:
        for made in run.preparations:
            where, other = kept.get((made.key, made.document), (name, made))
            if is_final(other) and is_final(made):
                what = run_folder.printable(f"the {made.recipe} of {made.document}")
                _check_agree(what, (where, other), (name, made), ("units", "failure"))
            kept[made.key, made.document] = (where, other) if is_final(other) else (name, made)
    record = named[0][1].record
    document = _places(question.document for question in record.questions)
    recipe = _places(record.recipes.get(name, "") for name in record.conditions)
    last = len(record.questions) + len(record.conditions)

    def place(made: Preparation) -> tuple[int, int, str]:
        return recipe.get(made.recipe, last), document.get(made.document, last), made.key

    return tuple(sorted((made for _, made in kept.values()), key=place))


def _decisions(named: Sequence[tuple[str, Run]]) -> tuple[Decision, ...]:
    kept: dict[str, tuple[str, Decision]] = {}
    for name, run in named:
        for decision in run.decisions:
            where, other = kept.setdefault(decision.arm, (name, decision))
            what = run_folder.printable(f"what the arm {decision.arm} leaves out")
            _check_agree(what, (where, other), (name, decision), ("left_out", "lengths", "needless"))
    return tuple(decision for _, decision in kept.values())


def _places(names: Iterable[str]) -> dict[str, int]:
    return {name: place for place, name in enumerate(dict.fromkeys(names))}


def _check_agree(what: str, one: tuple[str, Any], other: tuple[str, Any], names: Sequence[str]) -> None:
    for name in names:
        values = [getattr(found, name) for _, found in (one, other)]
        if values[0] != values[1]:
            shown = [ascii(value)[:_LONGEST] for value in values]
            raise MergeError(
                f"{one[0]} and {other[0]} disagree on {what}: its {name} is {shown[0]} there and {shown[1]} here"
            )


def _record(records: Sequence[RunRecord], every: int) -> RunRecord:
    """The record of the whole: what all parts have in common, and of the rest what each has."""
    first, *others = records
    models = {model.host: model for record in records for model in (record.hosts or (record.model,))}
    doubts = [doubt for record in records for doubt in record.doubts]
    doubts += [_not_the_same(one) for record in others for one in resume.doubtful(first, record)]
    machine: dict[str, dict[str, None]] = {}
    for record in records:
        for name, value in record.machine.items():
            machine.setdefault(name, {})[value] = None
    registered = _registered(records)
    return replace(
        first,
        started=min(record.started for record in records),
        scheduled=_scheduled(records) or every,
        registration=registered.registration,
        registered=registered.registered,
        machine={name: "; ".join(values) for name, values in machine.items()},
        prices=tuple(dict.fromkeys(price for record in records for price in record.prices)),
        hosts=tuple(models.values()) if len(models) > 1 else (),
        doubts=tuple(dict.fromkeys(doubts)),
        shard=None,
        finished=None,
        verdicts=(),
        judged=None,
        resumed=(),
    )


def _registered(records: Sequence[RunRecord]) -> RunRecord:
    """A part whose registration holds for the whole: one that has none, if there is one.

    The whole is judged by one study file. If a part was run with another, its trials may have been seen before that was.
    """
    first, *others = records
    chosen = next((one for one in records if one.registration.startswith(registration.DEPARTED)), first)
    clauses = [
        _not_the_same(one)
        for other in others
        for one in resume.doubtful(first, other)
        if one.what == resume.STUDY_FILE
    ]
    return replace(chosen, registration=registration.departed(chosen.registration, *clauses))


def _not_the_same(one: resume.Difference) -> str:
    return f"{one.what} is not the same in all merged parts ({one.old} and {one.new})"


def _scheduled(records: Sequence[RunRecord]) -> int | None:
    """How many trials the shards have together, None if they are not all there."""
    shards = {record.shard: record.scheduled for record in records if record.shard is not None}
    whole = {f"{number}/{len(shards)}" for number in range(1, len(shards) + 1)}
    return sum(shards.values()) if shards and shards.keys() == whole else None
