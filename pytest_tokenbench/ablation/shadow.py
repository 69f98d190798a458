"""Real requests asked both ways, with every block and as the composed arm has it; each pair kept as it comes in."""

import datetime as dt
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from pytest_tokenbench import ledger, locking, resume, run_folder, trial
from pytest_tokenbench.ablation.arms import Arm
from pytest_tokenbench.ablation.requests import Request, Requests
from pytest_tokenbench.ablation.setup import PROMPT, SETUP, Cut, as_run, check_same, read_setup, setup_of
from pytest_tokenbench.ledger import Ledger
from pytest_tokenbench.locking import Lock
from pytest_tokenbench.models.base import ChangedModelError
from pytest_tokenbench.models.patient import STOP_AFTER, Failures, Patient, differing
from pytest_tokenbench.records import ModelInfo, Observation, Status, encode
from pytest_tokenbench.run_folder import RunError, printable

PAIRS = "pairs.jsonl"
RESULTS = "shadow.json"
REPORT = "shadow.md"


@dataclass(frozen=True, slots=True)
class Pair:
    """One request both ways; one JSON line of the ledger. Neither answer is scored, since nobody said which is right.

    `reduced` is None where the full prompt came to an error, so that there was nothing to compare with.
    """

    request: str
    full: Observation
    reduced: Observation | None
    slices: dict[str, str] = field(default_factory=dict)

    @property
    def both(self) -> tuple[Observation, ...]:
        """Those of the two that were asked."""
        return (self.full,) if self.reduced is None else (self.full, self.reduced)

    @property
    def is_done(self) -> bool:
        """Whether it need not be asked again: no trouble with the model brought it to nothing."""
        return self.reduced is not None and not any(one.status is Status.ERROR for one in self.both)


def ask(cut: Cut, request: Request, model: Patient, reader: str) -> Pair:
    """Asks a request both ways, the full prompt first."""

    def asked(arm: Arm) -> Observation:
        case = trial.Case(
            study=cut.record.study,
            question=request.question,
            document=request.document,
            condition=arm,
            reader=reader,
            host=model.host,
            worker="main",
            prompt=PROMPT,
        )
        return replace(trial.observe(case, model), outcome=None, scores=None)

    full = asked(cut.full)
    reduced = None if full.status is Status.ERROR else asked(cut.reduced)
    return Pair(request.id, full, reduced, dict(request.question.slices))


def the_model(model: Patient) -> ModelInfo:
    """What answers, the same on every host.

    Raises:
        ModelError: It cannot be had, or the hosts differ.
    """
    told = model.describe_hosts()
    difference = differing(told)
    if difference is not None:
        raise ChangedModelError(f"{difference}; a comparison needs the same model everywhere")
    return told[0]


class Shadow:
    """The folder of a comparison, with its pairs as they come in. One process writes."""

    def __init__(self, folder: Path, cut: Cut, requests: Requests, describe: Callable[[], ModelInfo]) -> None:
        """Goes on with the comparison in the folder, or begins one where there is none.

        `describe` tells what the model is now; it is called if anything is left to ask.

        Raises:
            RunError: What is there is another comparison, no comparison, damaged, or being written.
            ModelError: As `describe`.
            OSError: The folder cannot be written.
        """
        self.folder = folder
        self._cut = cut
        self._requests = requests
        earlier = read_setup(folder)
        if earlier is not None:
            check_same(folder, cut.record, earlier, setup_of(cut, requests, earlier.model))
        # A model that cannot be had leaves no folder behind.
        self.setup = earlier or setup_of(cut, requests, describe())
        folder.mkdir(parents=True, exist_ok=True)
        self._lock = _lock(folder)
        try:
            self._pairs = _read_pairs(folder, requests)
            if earlier is not None:
                self._go_on(describe)
            run_folder.write(
                folder / SETUP,
                json.dumps(json.loads(encode(self.setup)), indent=2, ensure_ascii=False) + "\n",
            )
            self._ledger = Ledger(folder / PAIRS)
        except BaseException:
            self._lock.release()
            raise

    def _go_on(self, describe: Callable[[], ModelInfo]) -> None:
        record = self._cut.record
        if not self.left:
            return
        now = setup_of(self._cut, self._requests, describe())
        check_same(self.folder, record, self.setup, now)
        doubts = [
            f"{one.what} changed after the comparison began ({one.old}, later {one.new})"
            for one in resume.doubtful(as_run(record, self.setup), as_run(record, now))
        ]
        self.setup = replace(
            self.setup,
            resumed=(*self.setup.resumed, now.started),
            warnings=tuple(dict.fromkeys((*self.setup.warnings, *doubts))),
        )

    @property
    def left(self) -> tuple[Request, ...]:
        """The requests that have not been asked, or came to nothing."""
        return tuple(
            one
            for one in self._requests.items
            if one.id not in self._pairs or not self._pairs[one.id].is_done
        )

    @property
    def pairs(self) -> tuple[Pair, ...]:
        """What has been asked, in the order of the requests."""
        return tuple(self._pairs[one.id] for one in self._requests.items if one.id in self._pairs)

    def ask(self, model: Patient) -> Iterator[Pair]:
        """Asks what is left, keeping each pair before the next is asked.

        Raises:
            StoppedError: Several requests in a row came to nothing.
            OSError: A pair cannot be written.
        """
        failures = Failures()
        for request in self.left:
            pair = ask(self._cut, request, model, self.setup.model.name)
            self._ledger.append(pair)
            self._pairs[request.id] = pair
            last = pair.both[-1]
            if pair.is_done:
                failures.answered()
            else:
                failures.failed(last.error_kind)
            yield pair
            if failures.are_too_many:
                raise StoppedError(
                    f"{STOP_AFTER} requests in a row came to nothing, the last with {last.error_kind}: "
                    f"{printable(last.error_message or '')}"
                )

    def write(self, results: str, report: str) -> None:
        """Writes shadow.json and shadow.md.

        Raises:
            OSError: They cannot be written; the former ones are there still.
        """
        run_folder.write(self.folder / RESULTS, results)
        run_folder.write(self.folder / REPORT, report)

    def close(self) -> None:
        """Has the disk keep everything, and lets others write."""
        try:
            self._ledger.close()
        finally:
            self._lock.release()


class StoppedError(Exception):
    """Going on would fail as well; what was asked is kept."""


def new_folder(run: Path) -> Path:
    """A folder in the run's that is not there yet, named by the time."""
    base = run / f"shadow-{dt.datetime.now(dt.UTC):%Y%m%dT%H%M%SZ}"
    folder, number = base, 1
    while folder.exists() or folder.is_symlink():
        number += 1
        folder = base.with_name(f"{base.name}-{number}")
    return folder


def _lock(folder: Path) -> Lock:
    try:
        return Lock(folder)
    except locking.HeldError as holder:
        raise RunError(
            f"{folder}: {holder} is writing this comparison; wait until it ends, or end it"
        ) from holder


def _read_pairs(folder: Path, requests: Requests) -> dict[str, Pair]:
    """The pairs that a folder has, by request; of one that was asked again, the last."""
    try:
        seen: Sequence[Pair] = ledger.read(folder / PAIRS, Pair).records
    except ledger.LedgerError as error:
        raise RunError(f"{folder}: {printable(str(error))}") from error
    known = {one.id for one in requests.items}
    for number, pair in enumerate(seen, 1):
        if pair.request not in known:
            raise RunError(
                f"{folder / PAIRS}: line {number} is of a request that is not in {printable(requests.name)} "
                f"({printable(pair.request)})"
            )
    return {pair.request: pair for pair in seen}
