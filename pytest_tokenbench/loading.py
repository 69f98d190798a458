"""A study with its material, as one session will use it."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pytest_tokenbench import scoring
from pytest_tokenbench.conditions.base import Condition
from pytest_tokenbench.corpus import passages, verify
from pytest_tokenbench.corpus.faults import CorpusError, Fault
from pytest_tokenbench.places import below
from pytest_tokenbench.records import Document, Question
from pytest_tokenbench.scheduling import Layout, TrialKey, arrange, select
from pytest_tokenbench.settings import QUICK_DOCUMENTS, QUICK_WORDS, Settings
from pytest_tokenbench.study import Study


class StudyError(Exception):
    """A study cannot be run as it is; `sentences` tell everything that was found."""

    def __init__(self, sentences: Sequence[str]) -> None:
        super().__init__("\n".join(sentences))
        self.sentences = tuple(sentences)


@dataclass(frozen=True, slots=True)
class Loaded:
    """A study's documents, questions and conditions after the session's options, and its trials in order.

    With --tokenbench-shard `trials` are the shard's; everything else is that of the whole study.
    """

    study: Study
    file: Path
    questions_file: Path
    corpus: Path
    documents: dict[str, Document]
    questions: dict[str, Question]
    conditions: dict[str, Condition]
    trials: tuple[TrialKey, ...]
    layout: Layout
    faults: tuple[Fault, ...]


def load(study: Study, file: Path, root: Path, settings: Settings) -> Loaded:
    """Reads and checks everything a study names.

    Raises:
        StudyError: The declaration, the questions or the corpus are faulty, or the options do not fit the study.
    """
    shown = below(file, root) or file.name
    sentences = [f"{shown}, {fault}" for fault in study.faults()]
    conditions = {condition.id: condition for condition in study.conditions}
    for name in settings.conditions or ():
        if name not in conditions:
            known = ", ".join(conditions)
            sentences.append(
                f"--tokenbench-conditions: study {study.name!r} has no condition {name!r}; known are {known}"
            )
    if sentences:
        raise StudyError(sentences)
    questions_file = _find(study.questions, file, root)
    corpus = _find(study.corpus, file, root)
    try:
        material = verify.read(corpus, questions_file)
    except CorpusError as error:
        raise StudyError([str(fault) for fault in error.faults]) from error
    if material.unusable():
        raise StudyError([str(fault) for fault in material.unusable()])
    documents, questions = material.manifest.documents, material.questions.items
    if settings.quick:
        documents, questions = quick_look(documents, questions)
    chosen = {
        name: condition
        for name, condition in conditions.items()
        if settings.conditions is None or name in settings.conditions
    }
    layout = _layout(chosen, documents, questions, settings)
    return Loaded(
        study=study,
        file=file,
        questions_file=questions_file,
        corpus=corpus,
        documents={document.id: document for document in documents},
        questions={question.id: question for question in questions},
        conditions=chosen,
        trials=_trials(layout, questions, settings),
        layout=layout,
        faults=material.faults,
    )


def _layout(
    conditions: Mapping[str, Condition],
    documents: Sequence[Document],
    questions: Sequence[Question],
    settings: Settings,
) -> Layout:
    return Layout(
        order=settings.order,
        documents={question.id: question.document for question in questions},
        families={name: condition.family for name, condition in conditions.items()},
        words={
            (name, document.id): condition.words(document)
            for name, condition in conditions.items()
            for document in documents
        },
        shared=frozenset(name for name, condition in conditions.items() if condition.shared),
    )


def _trials(layout: Layout, questions: Sequence[Question], settings: Settings) -> tuple[TrialKey, ...]:
    """The trials that this session runs, in order.

    Raises:
        StudyError: Two of them would have the same test id, or the shard has none.
    """
    trials = arrange(layout.families, questions, settings.order, settings.repeats)
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


def quick_look(
    documents: Sequence[Document], questions: Sequence[Question]
) -> tuple[tuple[Document, ...], tuple[Question, ...]]:
    """The first four documents, each cut at the first paragraph boundary after 1,200 words, and what can be asked.

    Kept are the questions whose paragraph lies inside the cut (whose answer stands there, where no paragraph is
    given), and those documents' unanswerable ones.
    """
    kept = tuple(_shortened(document) for document in documents[:QUICK_DOCUMENTS])
    texts = {document.id: document.text for document in kept}
    asked = tuple(
        question
        for question in questions
        if question.document in texts and _stands_in(texts[question.document], question)
    )
    return kept, asked


def _stands_in(text: str, question: Question) -> bool:
    if not question.answerable:
        return True
    if question.paragraph is None:
        return scoring.contains_any(text, question.golds)
    return question.paragraph < len(passages.paragraphs(text))


def _shortened(document: Document) -> Document:
    text = passages.cut(document.text, QUICK_WORDS)
    return replace(
        document,
        text=text,
        words=passages.word_count(text),
        sha256=hashlib.sha256(text.encode()).hexdigest(),
    )


def _find(name: str, file: Path, root: Path) -> Path:
    """The path `name` in the study file's folder or the nearest one above it, up to pytest's rootdir."""
    for folder in file.parents:
        if (folder / name).exists():
            return folder / name
        if folder == root:
            break
    raise StudyError([f"{file.name}: there is no {name!r} in {file.parent} or above it up to {root}"])
