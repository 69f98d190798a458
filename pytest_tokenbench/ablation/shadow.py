"""Real requests asked both ways, with every block and as the composed arm has it; each pair kept as it comes in."""

import datetime as dt
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from pytest_tokenbench import ledger, locking, machine, prompting, resume, run_folder, trial
from pytest_tokenbench.ablation.arms import Arm
from pytest_tokenbench.ablation.design import ArmKind
from pytest_tokenbench.ablation.requests import Request, Requests
from pytest_tokenbench.ablation.study import NeededContext
from pytest_tokenbench.ledger import Ledger
from pytest_tokenbench.locking import Lock
from pytest_tokenbench.models.base import ChangedModelError
from pytest_tokenbench.models.patient import Patient, differing
from pytest_tokenbench.opening import reading
from pytest_tokenbench.records import ModelInfo, Observation, Status, decode, encode
from pytest_tokenbench.run_folder import Run, RunError, RunRecord, printable

FORMAT = 1
SETUP = "setup.json"
PAIRS = "pairs.jsonl"
RESULTS = "shadow.json"
REPORT = "shadow.md"
STOP_AFTER = 5  # requests in a row that came to nothing
_PROMPT = NeededContext.prompt
_HASH = f"prompt {_PROMPT}"
_PACKAGE = "pytest-tokenbench"
# What a comparison leaves that was killed before its setup was written.
_NOTHING = {locking.FILE, f"{SETUP}.part"}


@dataclass(frozen=True, slots=True)
class Cut:
    """What a run decided to leave out: the arm with every block and the composed one. `run` is its folder's name."""

    run: str
    record: RunRecord
    full: Arm
    reduced: Arm
    blocks: tuple[str, ...]

    @property
    def left_out(self) -> tuple[str, ...]:
        """The blocks and units that the reduced prompt does without."""
        return self.reduced.decision.left_out if self.reduced.decision else ()


@dataclass(frozen=True, slots=True)
class Setup:
    """All that could change an answer of a comparison; the content of setup.json.

    `warnings` are sentences on what is not as it was in the run. `resumed` are the times at which it was gone on with.
    """

    format: int
    run: str
    study: str
    run_started: str
    left_out: tuple[str, ...]
    requests: str
    sha256: str
    prompt_sha256: str
    answer_tokens: int
    model: ModelInfo
    package: str
    started: str
    resumed: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


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
        return not any(one.status is Status.ERROR for one in self.both)


def cut_of(run: Run, folder: Path) -> Cut:
    """What a run's composed arm leaves out.

    Raises:
        RunError: It is no run over blocks, its composed arm was not decided, or there was nothing to leave out.
    """
    record = run.record
    if record.ablation is None:
        raise RunError(
            f"{folder}: is a run of {printable(record.study)}, a study over documents; name one of a study over blocks"
        )
    arms = {plan.kind: Arm(plan) for plan in record.ablation.arms}
    full, composed = arms.get(ArmKind.BASE), arms.get(ArmKind.COMPOSED)
    decision = next((one for one in run.decisions if composed and one.arm == composed.id), None)
    if full is None or composed is None or decision is None:
        raise RunError(
            f"{folder}: what to leave out together was not decided; go on with the run until its composed arm is"
        )
    if decision.needless is not None:
        raise RunError(f"{folder}: leaves out nothing: {printable(decision.needless)}")
    blocks = tuple(plan.name for plan in record.ablation.blocks)
    unknown = [name for name in decision.left_out if name.rpartition("/")[0] not in blocks and name not in blocks]
    if unknown or not decision.left_out:
        named = ", ".join(map(printable, unknown)) or "nothing"
        raise RunError(
            f"{folder / run_folder.DECISIONS}: is damaged (the composed arm leaves out {named}, which is no block)"
        )
    return Cut(folder.absolute().name, record, full, composed.decided(decision), blocks)


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
            prompt=_PROMPT,
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
        earlier = _read_setup(folder)
        # A model that cannot be had leaves no folder behind.
        self.setup = earlier or _setup(cut, requests, describe())
        folder.mkdir(parents=True, exist_ok=True)
        self._lock = _lock(folder)
        try:
            self._pairs = _read_pairs(folder, requests)
            if earlier is not None:
                self._go_on(describe)
            run_folder.write(
                folder / SETUP, json.dumps(json.loads(encode(self.setup)), indent=2, ensure_ascii=False) + "\n"
            )
            self._ledger = Ledger(folder / PAIRS)
        except BaseException:
            self._lock.release()
            raise

    def _go_on(self, describe: Callable[[], ModelInfo]) -> None:
        record = self._cut.record
        _check_same(self.folder, record, self.setup, _setup(self._cut, self._requests, self.setup.model))
        if not self.left:
            return
        now = _setup(self._cut, self._requests, describe())
        _check_same(self.folder, record, self.setup, now)
        doubts = [
            f"{one.what} changed while the comparison lay unfinished ({one.old}, later {one.new})"
            for one in resume.doubtful(_as_run(record, self.setup), _as_run(record, now))
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
            one for one in self._requests.items if one.id not in self._pairs or not self._pairs[one.id].is_done
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
        failed = 0
        for request in self.left:
            pair = ask(self._cut, request, model, self.setup.model.name)
            self._ledger.append(pair)
            self._pairs[request.id] = pair
            failed = 0 if pair.is_done else failed + 1
            yield pair
            if failed == STOP_AFTER:
                last = pair.both[-1]
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
        raise RunError(f"{folder}: {holder} is writing this comparison; wait until it ends, or end it") from holder


def _setup(cut: Cut, requests: Requests, model: ModelInfo) -> Setup:
    made = Setup(
        format=FORMAT,
        run=cut.run,
        study=cut.record.study,
        run_started=cut.record.started,
        left_out=cut.left_out,
        requests=requests.name,
        sha256=requests.sha256,
        prompt_sha256=prompting.sha256(_PROMPT),
        answer_tokens=trial.ANSWER_TOKENS,
        model=model,
        package=machine.describe()[_PACKAGE],
        started=dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
    )
    return replace(made, warnings=tuple(_warnings(cut.record, made)))


def _as_run(record: RunRecord, setup: Setup) -> RunRecord:
    """The run as it would be if its trials were asked as those of a comparison are."""
    return replace(
        record,
        backend=setup.model.backend,
        model=setup.model,
        nonce=False,
        hashes=record.hashes | {_HASH: setup.prompt_sha256},
        machine=record.machine | {_PACKAGE: setup.package},
    )


def _warnings(record: RunRecord, setup: Setup) -> Iterator[str]:
    """What makes it doubtful that the run's decision holds for these answers, a sentence each."""
    as_run = _as_run(record, setup)
    for one in (*resume.compared(record, as_run), *resume.doubtful(record, as_run)):
        yield f"{one.what} is not the run's: {one.old} there, {one.new} here"
    if record.quick:
        yield "the run was a quick look, so that what it left out is no finding"
    if record.finished is None:
        yield "the run did not come to its end"
    if record.spoilt is not None:
        yield f"of the run: {record.spoilt}"


def _check_same(folder: Path, record: RunRecord, old: Setup, new: Setup) -> None:
    """Refuses to go on with a comparison of other requests, another run or another model.

    Raises:
        RunError: It is one.
    """
    if old.sha256 != new.sha256:
        raise RunError(
            f"{folder}: compares other requests ({printable(old.requests)}, sha256 {printable(old.sha256[:12])}...) than "
            f"{printable(new.requests)} (sha256 {new.sha256[:12]}...) has now; name a new folder with --into"
        )
    changed = [
        f"{one.what} ({one.old} then, {one.new} now)"
        for one in resume.compared(_as_run(record, old), _as_run(record, new))
    ]
    for what, was, now in (
        ("the run", (old.study, old.run_started), (new.study, new.run_started)),
        ("what is left out", old.left_out, new.left_out),
        ("the longest answer", (str(old.answer_tokens),), (str(new.answer_tokens),)),
    ):
        if was != now:
            changed.append(f"{what} ({printable(', '.join(was))} then, {printable(', '.join(now))} now)")
    if changed:
        raise RunError(
            f"{folder}: cannot be gone on with, since something has changed: {'; '.join(changed)}; "
            "name a new folder with --into"
        )


def _read_setup(folder: Path) -> Setup | None:
    """What a folder says was compared, None where nothing was begun in it.

    Raises:
        RunError: It holds something else, or is damaged.
    """
    path = folder / SETUP
    try:
        with reading(path) as file:
            raw = file.read()
        version = json.loads(raw).get("format")
        if version != FORMAT:
            raise RunError(f"{path}: has format {version!r}; this version of {_PACKAGE} reads {FORMAT}")
        return decode(raw, Setup)
    except FileNotFoundError as error:
        if folder.is_dir() and any(one.name not in _NOTHING for one in folder.iterdir()):
            raise RunError(
                f"{folder}: holds no comparison ({SETUP} is missing); name a new or an empty folder with --into"
            ) from error
        return None
    except (ValueError, AttributeError, RecursionError) as error:
        raise RunError(f"{path}: is damaged ({printable(str(error))})") from error


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
