"""The texts that a run's trials were sent, each once, in its folder: built again at its end and checked by their sums.

A trial's observation has only the sum of its context. Conditions are deterministic, so that whoever has the study's
material and the preparations can build the text again, once for all trials that share it.
"""

import hashlib
import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from pytest_tokenbench import ledger, run_folder
from pytest_tokenbench.conditions.base import Staged
from pytest_tokenbench.loading import Loaded
from pytest_tokenbench.records import Decision, Observation, Preparation, encode
from pytest_tokenbench.run_folder import Run, RunError

FILE = "contexts.jsonl"
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Sent:
    """One context; one line of the file."""

    sha256: str
    text: str


def rebuilt(loaded: Loaded, run: Run, known: Iterable[str] = ()) -> dict[str, str]:
    """The contexts that a run's trials were sent, by SHA-256, without those `known`.

    What does not come out as it was sent is left out, since the study's material or a condition is another by now.
    """
    made = {(one.key, one.document): one for one in run.preparations if one.failure is None}
    decided = {one.arm: one for one in run.decisions}
    found: dict[str, str] = {}
    done = set(known)
    for seen in run.observations:
        if seen.context_sha256 is None or seen.context_sha256 in done:
            continue
        text = _build(loaded, seen, made, decided)
        if text is not None and _sha256(text) == seen.context_sha256:
            found[seen.context_sha256] = text
            done.add(seen.context_sha256)
    return found


def _build(
    loaded: Loaded,
    seen: Observation,
    made: Mapping[tuple[str, str], Preparation],
    decided: Mapping[str, Decision],
) -> str | None:
    question, condition = loaded.questions.get(seen.question), loaded.conditions.get(seen.condition)
    document = loaded.documents.get(seen.document)
    if question is None or condition is None or document is None:
        return None
    preparation = None if seen.preparation is None else made.get((seen.preparation, seen.document))
    if isinstance(condition, Staged) and condition.id in decided:
        condition = condition.decided(decided[condition.id])
    try:
        return condition.context(question, document, preparation).text
    except Exception:  # noqa: BLE001  # a condition is the author's own code, and the run it spoils here is over
        _LOG.exception("the context of %s could not be built again", "-".join(map(str, seen.key)))
        return None


def keep(folder: Path, loaded: Loaded, run: Run) -> None:
    """Has the contexts of a run in its folder: those that are there already, and what can be built again.

    Raises:
        OSError: They cannot be written; the former file is there still.
    """
    try:
        known = read(folder)
    except RunError:
        known = {}  # a damaged file is no loss, since it is made again
    found = rebuilt(loaded, run, known)
    if found:
        write(folder, known | found)


def write(folder: Path, texts: Mapping[str, str]) -> None:
    """Writes the contexts, by SHA-256, into a run's folder; in an order that does not depend on the trials'.

    Raises:
        OSError: They cannot be written; the former file is there still.
    """
    lines = [encode(Sent(name, texts[name])).decode() + "\n" for name in sorted(texts)]
    run_folder.write(folder / FILE, "".join(lines))


def read(folder: Path) -> dict[str, str]:
    """The contexts of a run's folder, by SHA-256; none where it has no such file.

    Raises:
        RunError: The file is damaged, or a text in it is not the one that its sum says.
    """
    try:
        found = ledger.read(folder / FILE, Sent)
    except ledger.LedgerError as error:
        raise RunError(f"{folder}: {error}") from error
    except OSError as error:
        raise RunError(f"{error.filename or folder / FILE}: cannot be read ({error.strerror})") from error
    for number, one in enumerate(found.records, 1):
        if _sha256(one.text) != one.sha256:
            raise RunError(f"{folder / FILE}: line {number} is not the text that its sum is of")
    return {one.sha256: one.text for one in found.records}


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
