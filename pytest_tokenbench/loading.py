"""A study with its material, as one session will use it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_tokenbench.conditions.base import Condition, stage_of
from pytest_tokenbench.corpus.faults import CorpusError
from pytest_tokenbench.material import Material
from pytest_tokenbench.places import below
from pytest_tokenbench.records import Document, Question
from pytest_tokenbench.scheduling import Layout, TrialKey, arrange, select
from pytest_tokenbench.settings import Settings
from pytest_tokenbench.study import Study


class StudyError(Exception):
    """A study cannot be run as it is; `sentences` tell everything that was found."""

    def __init__(self, sentences: Sequence[str]) -> None:
        super().__init__("\n".join(sentences))
        self.sentences = tuple(sentences)


@dataclass(frozen=True, slots=True)
class Loaded:
    """A study's documents, questions and conditions after the session's options, and its trials in order.

    `conditions` are those that were chosen, of those in `material`. With --tokenbench-shard `trials` are the shard's;
    everything else is that of the whole study.
    """

    study: Study
    file: Path
    material: Material
    documents: dict[str, Document]
    questions: dict[str, Question]
    conditions: dict[str, Condition]
    trials: tuple[TrialKey, ...]
    layout: Layout


def load(study: Study, file: Path, root: Path, settings: Settings) -> Loaded:
    """Reads and checks everything a study names.

    Raises:
        StudyError: The declaration, the questions or the corpus are faulty, or the options do not fit the study.
    """
    shown = below(file, root) or file.name
    sentences = [f"{shown}, {fault}" for fault in study.faults()]
    if sentences:
        raise StudyError(sentences)
    try:
        material = study.material(lambda name: _find(name, file, root), quick=settings.quick)
    except CorpusError as error:
        raise StudyError([str(fault) for fault in error.faults]) from error
    conditions = {condition.id: condition for condition in material.conditions}
    unknown = [name for name in settings.conditions or () if name not in conditions]
    if unknown:
        known = ", ".join(conditions)
        raise StudyError(
            [
                f"--tokenbench-conditions: study {study.name!r} has no condition {name!r}; known are {known}"
                for name in unknown
            ]
        )
    chosen = {
        name: condition
        for name, condition in conditions.items()
        if settings.conditions is None or name in settings.conditions
    }
    layout = _layout(chosen, material, settings)
    return Loaded(
        study=study,
        file=file,
        material=material,
        documents={document.id: document for document in material.documents},
        questions={question.id: question for question in material.questions},
        conditions=chosen,
        trials=_trials(layout, material.questions, settings),
        layout=layout,
    )


def _layout(conditions: Mapping[str, Condition], material: Material, settings: Settings) -> Layout:
    return Layout(
        order=settings.order,
        documents={question.id: question.document for question in material.questions},
        families={name: condition.family for name, condition in conditions.items()},
        words={
            (name, document.id): condition.words(document)
            for name, condition in conditions.items()
            for document in material.documents
        },
        shared=frozenset(name for name, condition in conditions.items() if condition.shared),
        stages={name: stage_of(condition) for name, condition in conditions.items()},
        together=material.together,
        nonce=settings.nonce,
    )


def _trials(layout: Layout, questions: Sequence[Question], settings: Settings) -> tuple[TrialKey, ...]:
    """The trials that this session runs, in order.

    Raises:
        StudyError: Two of them would have the same test id, or the shard has none.
    """
    trials = arrange(
        layout.families,
        questions,
        settings.order,
        settings.repeats,
        stages=layout.stages,
        together=layout.together,
    )
    known: dict[str, TrialKey] = {}
    for key in trials:
        other = known.setdefault(str(key), key)
        if other != key:
            raise StudyError([f"{_told(other)} and {_told(key)} would both be called {key}; rename one"])
    shard = settings.shard
    if shard is None:
        return tuple(trials)
    selected = select(trials, layout, shard.number, shard.of)
    if trials and not selected:
        raise StudyError(
            [f"--tokenbench-shard: part {shard} has no trial, since the study has too few; make fewer parts"]
        )
    return tuple(selected)


def _told(key: TrialKey) -> str:
    again = f", repeat {key.repeat + 1}," if key.repeat else ""
    return f"question {key.question!r} under condition {key.condition!r}{again}"


def _find(name: str, file: Path, root: Path) -> Path:
    """The path `name` in the study file's folder or the nearest one above it, up to pytest's rootdir."""
    for folder in file.parents:
        if (folder / name).exists():
            return folder / name
        if folder == root:
            break
    raise StudyError([f"{file.name}: there is no {name!r} in {file.parent} or above it up to {root}"])
