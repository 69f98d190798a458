"""The whole check of a corpus and its questions, and the pinning of both."""

import json
from dataclasses import dataclass
from pathlib import Path

from pytest_tokenbench.corpus import entries, files, manifest, questions, sums
from pytest_tokenbench.corpus.faults import Breach, CorpusError, Fault, few
from pytest_tokenbench.corpus.manifest import Manifest
from pytest_tokenbench.corpus.questions import Questions
from pytest_tokenbench.opening import replace_text


@dataclass(frozen=True, slots=True)
class Material:
    """Documents and questions as read, with what was found wrong with them, content first."""

    manifest: Manifest
    questions: Questions
    faults: tuple[Fault, ...]

    def unusable(self) -> tuple[Fault, ...]:
        """The faults that forbid a run, not too many to read; the rest only say that this is not the pinned material."""
        return few([fault for fault in self.faults if fault.breach is Breach.CONTENT])

    def __str__(self) -> str:
        """What was checked, in one line."""
        documents, items = self.manifest.documents, self.questions.items
        answerable = sum(question.answerable for question in items)
        return (
            f"{len(documents)} documents, {sum(document.words for document in documents):,} words, "
            f"{len(items)} questions ({answerable} answerable, {len(items) - answerable} unanswerable)"
        )


def read(corpus: Path, questions_file: Path) -> Material:
    """The corpus in the folder `corpus` and the questions file, checked.

    Checks the sums, both schemas, unique ids, word counts and cuts, that every gold string stands in its paragraph
    on token boundaries, that the terms checked for unanswerable questions are absent, and the recorded draw.

    Raises:
        CorpusError: Either file cannot be read or departs from its schema; holds the faults of both, and what else can
            be told.
    """
    shown = questions_file.name
    faults: list[Fault] = []
    documents = None
    asked = None
    try:
        documents, found = manifest.load(corpus)
        faults.extend(found)
    except CorpusError as error:
        faults.extend(error.faults)
    try:
        asked, found = questions.load(questions_file, shown)
        faults.extend((*asked.malformed, *found))
    except CorpusError as error:
        faults.extend(error.faults)
    if documents is not None and asked is not None:
        faults.extend(questions.check(asked, documents, shown))
    if documents is None or asked is None or asked.malformed:
        raise CorpusError(few([fault for fault in faults if fault not in manifest.unpinned(corpus)]))
    if not entries.is_bare(corpus, manifest.FILE):
        faults.extend(sums.check(_pinned(corpus, questions_file, documents), corpus))
    return Material(documents, asked, tuple(sorted(faults, key=lambda fault: fault.breach is Breach.PIN)))


def pin(corpus: Path, questions_file: Path) -> Path:
    """Records the present words and hashes of every document in the manifest, then the sums; returns their file.

    A folder that has texts alone gets a manifest.

    Raises:
        CorpusError: The manifest, a document or the questions cannot be read; nothing has been written then.
    """
    files.read_bytes(questions_file, questions_file.name)
    documents, faults = manifest.load(corpus, pinning=True)
    faults = [fault for fault in faults if fault.breach is Breach.CONTENT]
    if faults:
        raise CorpusError(faults)
    value = manifest.read(corpus, pinning=True)
    for entry, document in zip(value["documents"], documents.documents, strict=True):
        entry["words"], entry["sha256"] = document.words, document.sha256
    # Replaced and not written into: whatever a link there leads to stays as it is.
    replace_text((corpus / manifest.FILE).resolve(), json.dumps(value, indent=2, ensure_ascii=False) + "\n")
    target = corpus / sums.FILE
    replace_text(target, sums.render(_pinned(corpus, questions_file, documents), corpus))
    return target


def _pinned(corpus: Path, questions_file: Path, documents: Manifest) -> list[Path]:
    articles = [corpus / document.file for document in documents.documents]
    return [questions_file, corpus / manifest.FILE, *articles]
