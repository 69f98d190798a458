"""The record of a run as it begins: everything that could change a number."""

import datetime as dt
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

from pytest_tokenbench import machine, prompting, registration, run_folder
from pytest_tokenbench.corpus import files
from pytest_tokenbench.loading import Loaded
from pytest_tokenbench.places import below
from pytest_tokenbench.prices import Price
from pytest_tokenbench.records import ModelInfo, Ruling, Verdict
from pytest_tokenbench.resume import STUDY_FILE, doubts, options_of
from pytest_tokenbench.run_folder import RunRecord
from pytest_tokenbench.settings import Settings

UNFINISHED = "the run did not come to its end"


def record_of(
    loaded: Loaded,
    settings: Settings,
    root: Path,
    *,
    scheduled: int,
    models: Collection[ModelInfo],
    prices: tuple[Price, ...],
) -> RunRecord:
    """What is run, as it stands now. `models` is what each host says of the model, the first one's first."""
    registered = registration.check([*loaded.material.paths, loaded.file], root, loaded.material.faults)
    recipes = {condition.id: condition.recipe() for condition in loaded.material.conditions}
    prompts = {
        loaded.study.prompt,
        *(prompt for recipe in recipes.values() if recipe for prompt in recipe.prompts),
    }
    first, *_ = models
    return RunRecord(
        format=run_folder.FORMAT,
        study=loaded.study.name,
        study_file=below(loaded.file, root) or loaded.file.name,
        started=now(),
        quick=settings.quick,
        order=str(settings.order),
        backend=settings.backend,
        baseline=loaded.study.baseline,
        conditions=tuple(condition.id for condition in loaded.material.conditions),
        questions=tuple(loaded.questions.values()),
        scheduled=scheduled,
        model=first,
        hashes=_hashes(loaded) | {f"prompt {name}": prompting.sha256(name) for name in sorted(prompts)},
        registration=registered.sentence,
        registered=tuple(
            {"path": one.path, "commit": one.commit, "committed": one.committed, "clean": one.clean}
            for one in registered.paths
        ),
        commit=registered.head,
        machine=machine.describe(),
        recipes={name: recipe.name for name, recipe in recipes.items() if recipe},
        recipe_options={name: recipe.options() for name, recipe in recipes.items() if recipe},
        condition_options={condition.id: options_of(condition) for condition in loaded.material.conditions},
        prices=prices,
        # What a run that is killed has; one that comes to its end has others.
        verdicts=tuple(
            Verdict(one.name, one.statement, Ruling.UNAVAILABLE, UNFINISHED)
            for one in loaded.study.hypotheses
        ),
        repeats=settings.repeats,
        nonce=settings.nonce,
        shard=str(settings.shard) if settings.shard else None,
        hosts=tuple(models) if len(models) > 1 else (),
        ablation=loaded.material.ablation,
    )


def renewed(old: RunRecord, new: RunRecord, *, is_asked: bool) -> RunRecord:
    """The record of the run `old` as it is gone on with, given what would be recorded of it `new`.

    `is_asked` says whether any trial still is. A study file that is another than at first was written when some of the
    trials could be seen already.
    """
    found = doubts(old, new)
    of_study = [one for one in found if one.startswith(STUDY_FILE)]
    return replace(
        old,
        scheduled=max(old.scheduled, new.scheduled),
        registration=registration.departed(old.registration, *of_study),
        prices=new.prices or old.prices,
        resumed=(*old.resumed, now("milliseconds")) if is_asked else old.resumed,
        finished=None,
        verdicts=new.verdicts,
        doubts=tuple(dict.fromkeys((*old.doubts, *found))),
    )


def now(timespec: str = "seconds") -> str:
    """The time in UTC, ISO 8601."""
    return dt.datetime.now(dt.UTC).isoformat(timespec=timespec)


def _hashes(loaded: Loaded) -> dict[str, str]:
    paths = {**loaded.material.hashed, "study": loaded.file}
    found = {name: files.sha256(path.read_bytes()) for name, path in paths.items() if path.is_file()}
    return found | {f"document {one.id}": one.sha256 for one in loaded.documents.values()}
