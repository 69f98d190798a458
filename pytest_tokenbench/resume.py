"""Going on with a run that did not come to its end: which one, what of it is done, and whether it may be gone on with."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_tokenbench import run_folder
from pytest_tokenbench.preparation import CONSTRUCTION
from pytest_tokenbench.records import Observation, Preparation, Status, decode, encode
from pytest_tokenbench.run_folder import Run, RunError, RunRecord
from pytest_tokenbench.scheduling import TrialKey
from pytest_tokenbench.settings import Settings

_DIGITS = 12
_DOCUMENT = "document "
SHARD = "--tokenbench-shard"
STUDY_FILE = "the study file"
# Beside prompts and documents, what a record has hashes of, in words. The study file is a matter of `doubts`.
_FILES = {
    "questions": "the questions file",
    "cases": "the cases file",
    "manifest": "the corpus' manifest",
    "sums": "the corpus' SHA256SUMS",
}


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing that could change a number and is not the same in two runs: its name, and what it is in each."""

    what: str
    old: str
    new: str


def earlier(settings: Settings, here: Path) -> dict[str, Path]:
    """The run folders to go on with, by study: the one that was named, as seen from `here`, or each study's newest.

    The newest is that of the runs with this model and these options that did not come to their end; the trials that
    are selected are no matter. One that cannot be read may be it: whoever goes on with it is told what is wrong with it.

    Raises:
        RunError: There is none, or the one that was named is no run.
    """
    if settings.resume is None:
        return {}
    if settings.resume:
        folder = here / settings.resume
        return {run_folder.read_record(folder).study: folder}
    records = dict(_newest_first(settings.reports))
    found: dict[str, Path] = {}
    for folder, record in records.items():
        if (
            record.spoilt is None
            and record.study not in found
            and not _other_options(record, settings)
            and _is_open(folder, record)
        ):
            found[record.study] = folder
    if not found:
        raise RunError(_none_found(records, settings))
    return found


def check_found(earlier: Mapping[str, Path], studies: Collection[str], settings: Settings) -> str | None:
    """A sentence on those of a session's studies that none of the `earlier` runs is of; None without one.

    Raises:
        RunError: None of them has a run to go on with.
    """
    missing = [study for study in studies if study not in earlier]
    if settings.resume is None or not missing:
        return None
    if len(missing) == len(studies):
        records = {
            folder: record for folder, record in _newest_first(settings.reports) if record.study in missing
        }
        of = f" of {' or '.join(missing)}"
        raise RunError(f"--tokenbench-resume: {_none_found(records, settings, of)}")
    begin = "begins" if len(missing) == 1 else "begin"
    return f"there is no run of {', '.join(missing)} to go on with, which {begin} anew"


def is_final(made: Preparation) -> bool:
    """Whether another try could not come to another end: it succeeded, or the model's replies were of no use."""
    return made.failure is None or made.failure_kind == CONSTRUCTION


def finished(run: Run) -> dict[TrialKey, Observation]:
    """The trials that need not be asked again: all but those that trouble with the model brought to nothing."""
    prepared = {(one.key, one.document): one for one in run.preparations}

    def is_done(seen: Observation) -> bool:
        if seen.status is Status.CONSTRUCTION_FAILED:
            made = prepared.get((seen.preparation or "", seen.document))
            return made is not None and is_final(made)
        return seen.status is not Status.ERROR

    return {
        TrialKey(seen.condition, seen.question, seen.repeat): seen
        for seen in run.observations
        if is_done(seen)
    }


def is_unfinished(run: Run) -> bool:
    """Whether the run did not come to its end, or some of its scheduled trials came to nothing."""
    return run.record.finished is None or len(finished(run)) < run.record.scheduled


def differences(old: RunRecord, new: RunRecord) -> tuple[str, ...]:
    """Why the run `old` may not be gone on with as `new`, a clause each; none if nothing differs."""
    return tuple(
        f"{one.what} has changed since that run began ({one.old} then, {one.new} now)"
        for one in compared(old, new)
    )


def compared(old: RunRecord, new: RunRecord) -> list[Difference]:
    """Everything that could change a number and is not the same in both, but for `doubts`."""
    # As they are read back: JSON knows no tuples.
    old, new = (decode(encode(record), RunRecord) for record in (old, new))
    pairs = [
        ("the study's name", old.study, new.study),
        ("the backend", old.backend, new.backend),
        ("the model's name", old.model.name, new.model.name),
        ("the model's digest", old.model.digest, new.model.digest),
        ("the model's quantization", old.model.quantization, new.model.quantization),
        ("the window", old.model.window, new.model.window),
        ("the window's extension", old.model.extension, new.model.extension),
        ("--tokenbench-quick", old.quick, new.quick),
        ("--tokenbench-order", old.order, new.order),
        ("--tokenbench-nonce", old.nonce, new.nonce),
        ("--tokenbench-repeats", old.repeats, new.repeats),
        (SHARD, old.shard, new.shard),
        ("the list of conditions", ", ".join(old.conditions), ", ".join(new.conditions)),
        ("the baseline", old.baseline, new.baseline),
        ("the threshold", _threshold(old), _threshold(new)),
        ("the list of blocks", _blocks(old), _blocks(new)),
    ]
    made = [Difference(what, _shown(was), _shown(now)) for what, was, now in pairs if was != now]
    made += _options("the model's option", old.model.options, new.model.options)
    # A record of an earlier version does not tell what its conditions were made with.
    known = bool(old.condition_options and new.condition_options)
    for name in (name for name in old.conditions if name in new.conditions):
        pair = (_condition(record, name, made_with=known) for record in (old, new))
        made += _options(f"condition {_shown(name)}'s", *pair)
    return made + list(_material(old, new))


def _threshold(record: RunRecord) -> str | None:
    return None if record.ablation is None else str(record.ablation.threshold)


def _blocks(record: RunRecord) -> str | None:
    """What arms leave out, and how it is taken apart."""
    if record.ablation is None:
        return None
    return ", ".join(f"{block.name} ({block.parts})" for block in record.ablation.blocks)


def doubts(old: RunRecord, new: RunRecord) -> tuple[str, ...]:
    """What has changed since the run `old` began and does not forbid to go on with it; a sentence each, for reports."""
    return tuple(
        f"{one.what} changed after the run began ({one.old}, later {one.new})" for one in doubtful(old, new)
    )


def doubtful(old: RunRecord, new: RunRecord) -> list[Difference]:
    """What is not the same in both and need not, but may have changed a number.

    The study file is one of these: what it declares is compared, and to mend a hypothesis must not cost a run.
    """
    package = "pytest-tokenbench"
    pairs = [
        ("the server's version", old.model.server_version, new.model.server_version),
        (f"the version of {package}", old.machine.get(package), new.machine.get(package)),
    ]
    made = [Difference(what, _shown(was), _shown(now)) for what, was, now in pairs if was != now]
    was, now = old.hashes.get("study"), new.hashes.get("study")
    return made if was == now else [*made, Difference(STUDY_FILE, _sum(was), _sum(now))]


def options_of(condition: object) -> dict[str, Any]:
    """A condition's class and the plain values it was made with, for recording."""
    values = {name: getattr(condition, name, None) for name in _attributes(condition)}
    plain = {
        name: value
        for name, value in sorted(values.items())
        if not name.startswith("_") and isinstance(value, str | int | float)
    }
    return {"class": type(condition).__qualname__} | plain


def _attributes(condition: object) -> set[str]:
    slots = (getattr(kind, "__slots__", ()) for kind in type(condition).__mro__)
    named = {name for names in slots for name in ((names,) if isinstance(names, str) else names)}
    return named | getattr(condition, "__dict__", {}).keys()


def _newest_first(reports: Path) -> Iterator[tuple[Path, RunRecord]]:
    """Every run under a reports folder that can be read. A link there is no run of its own."""
    found = []
    for folder in reports.glob("*/*"):
        if folder.is_symlink() or folder.parent.is_symlink():
            continue
        try:
            found.append((folder, run_folder.read_record(folder)))
        except RunError:
            continue  # a folder of something else, or what a killed process had just begun
    # Of one second and model, the later has the higher number at its end.
    found.sort(key=lambda one: (one[1].started, len(one[0].name), one[0].name), reverse=True)
    yield from found


def _is_open(folder: Path, record: RunRecord) -> bool:
    try:
        return record.finished is None or is_unfinished(run_folder.read(folder))
    except RunError:
        return True  # as far as can be told


def _other_options(record: RunRecord, settings: Settings) -> list[str]:
    """What a run was begun with other than these settings, in words."""
    shard = str(settings.shard) if settings.shard else None
    models = {settings.model, Path(settings.model).name}  # a model file is recorded by its name
    pairs: list[tuple[str, Any, set[Any]]] = [
        ("backend", record.backend, {settings.backend}),
        ("model", record.model.name, models),
        ("quick", record.quick, {settings.quick}),
        ("order", record.order, {str(settings.order)}),
        ("nonce", record.nonce, {settings.nonce}),
        ("repeats", record.repeats, {settings.repeats}),
        ("shard", record.shard, {shard}),
    ]
    return [f"{name} {_shown(was)}" for name, was, wanted in pairs if was not in wanted]


def _none_found(records: Mapping[Path, RunRecord], settings: Settings, of: str = "") -> str:
    here = settings.reports
    for folder, record in records.items():
        if record.spoilt is None and _is_open(folder, record):
            other = ", ".join(_other_options(record, settings))
            return f"no unfinished run{of} in {here} has these options; the newest, {folder}, has {other}"
    return f"{here} has no unfinished run{of}" if records else f"{here} has no run{of} to go on with"


def _options(whose: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> list[Difference]:
    return [
        Difference(f"{whose} {name}", _shown(old.get(name)), _shown(new.get(name)))
        for name in dict.fromkeys((*old, *new))
        if old.get(name) != new.get(name)
    ]


def _condition(record: RunRecord, name: str, *, made_with: bool) -> dict[str, Any]:
    options = record.recipe_options.get(name, {})
    return (
        (record.condition_options.get(name, {}) if made_with else {})
        | {"recipe": record.recipes.get(name)}
        | {f"recipe's {option}": value for option, value in options.items()}
    )


def _material(old: RunRecord, new: RunRecord) -> Iterator[Difference]:
    unknown = {"study"}
    for record in (old, new):
        if not any(key.startswith(_DOCUMENT) for key in record.hashes):
            # It was recorded before documents were; the sums have them.
            unknown |= {key for key in (*old.hashes, *new.hashes) if key.startswith(_DOCUMENT)}
    for key in sorted((old.hashes.keys() | new.hashes.keys()) - unknown):
        was, now = old.hashes.get(key), new.hashes.get(key)
        if was != now:
            yield Difference(_FILES.get(key, f"the {_shown(key)}"), _sum(was), _sum(now))
    if old.questions != new.questions and old.hashes.get("questions") == new.hashes.get("questions"):
        yield Difference("the list of questions", f"{len(old.questions)} of them", f"{len(new.questions)}")


def _sum(value: str | None) -> str:
    return "absent" if value is None else f"sha256 {_shown(value[:_DIGITS])}..."


def _shown(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "on" if value else "off"
    return run_folder.printable(str(value))
