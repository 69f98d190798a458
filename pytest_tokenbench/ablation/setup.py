"""What a shadow comparison is made of: what a run decided to leave out, and how both prompts are asked."""

import datetime as dt
import json
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from pytest_tokenbench import locking, machine, prompting, resume, run_folder, trial
from pytest_tokenbench.ablation import composition, together
from pytest_tokenbench.ablation.arms import Arm
from pytest_tokenbench.ablation.claim_words import by_rank
from pytest_tokenbench.ablation.design import ArmKind
from pytest_tokenbench.ablation.findings import Finding
from pytest_tokenbench.ablation.requests import Requests
from pytest_tokenbench.ablation.results import AblationResults
from pytest_tokenbench.ablation.study import NeededContext
from pytest_tokenbench.opening import reading
from pytest_tokenbench.records import ModelInfo, decode
from pytest_tokenbench.run_folder import Run, RunError, RunRecord, printable

FORMAT = 1
SETUP = "setup.json"
PROMPT = NeededContext.prompt
_HASH = f"prompt {PROMPT}"
_PACKAGE = "pytest-tokenbench"
# What a comparison leaves that was killed before its setup was written.
_NOTHING = {locking.FILE, f"{SETUP}.part"}


@dataclass(frozen=True, slots=True)
class Cut:
    """What a run decided to leave out: the arm with every block and the composed one. `run` is its folder's name.

    `failures` tell why the run itself speaks against leaving that out, a sentence each.
    """

    run: str
    record: RunRecord
    full: Arm
    reduced: Arm
    blocks: tuple[str, ...]
    failures: tuple[str, ...]

    @property
    def left_out(self) -> tuple[str, ...]:
        """The blocks and units that the reduced prompt does without; what follows a rank is one, however long it is."""
        left_out = self.reduced.decision.left_out if self.reduced.decision else ()
        return by_rank(left_out, self.reduced.kept_ranks)


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
    unknown = [name for name in decision.left_out if name not in blocks and not _is_unit(name, blocks)]
    if unknown or not decision.left_out:
        named = ", ".join(map(printable, unknown)) or "nothing"
        raise RunError(
            f"{folder / run_folder.DECISIONS}: is damaged (the composed arm leaves out {named}, which is no block)"
        )
    results = AblationResults.of(
        record.ablation, record.questions, run.observations, record.repeats, run.decisions
    )
    failures = tuple(_failures(results, composed.id))
    # Requests may have more passages than any case of the set.
    ranks = composition.kept_ranks(record.ablation, decision.left_out)
    reduced = replace(composed, kept_ranks=ranks).decided(decision)
    return Cut(folder.absolute().name, record, full, reduced, blocks, failures)


def _is_unit(name: str, blocks: Collection[str]) -> bool:
    block, _, number = name.rpartition("/")
    return block in blocks and number.isdecimal()


def _failures(results: AblationResults, composed: str) -> Iterator[str]:
    """Why a run speaks against what it left out together, a sentence each."""
    found = results.ruled(composed)
    if found.finding is Finding.NOT_MEASURED:
        yield f"what the run left out together has no verdict there: {printable(found.reason)}"
    elif found.finding is not Finding.REMOVABLE:
        lost = 100 * results.drop_of(composed).estimate
        yield (
            f"in the run this cut did not come out removable but {found.finding}: left out together, it lost "
            f"{lost:.1f} points, and the threshold is {100 * results.ablation.threshold:g}"
        )
    else:
        in_production = together.against_in_production(results, composed)
        if in_production is not None:
            yield f"in the run this cut, with production's shares, {in_production}"
        undecided = together.open_in_production(results, composed)
        if undecided is not None:
            yield f"in the run this cut {undecided}"
    clears, why = results.on_stress(composed)
    if clears is False:
        yield "in the run this cut failed on the stress cases"
    if why is not None:
        yield f"in the run it is not known of this cut whether it clears the stress cases: {why}"


def setup_of(cut: Cut, requests: Requests, model: ModelInfo) -> Setup:
    """A comparison as it would begin now."""
    made = Setup(
        format=FORMAT,
        run=cut.run,
        study=cut.record.study,
        run_started=cut.record.started,
        left_out=cut.left_out,
        requests=requests.name,
        sha256=requests.sha256,
        prompt_sha256=prompting.sha256(PROMPT),
        answer_tokens=trial.ANSWER_TOKENS,
        model=model,
        package=machine.describe()[_PACKAGE],
        started=dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
    )
    return replace(made, warnings=(*cut.failures, *_warnings(cut.record, made)))


def as_run(record: RunRecord, setup: Setup) -> RunRecord:
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
    here = as_run(record, setup)
    for one in (*resume.compared(record, here), *resume.doubtful(record, here)):
        yield f"{one.what} is not the run's: {one.old} there, {one.new} here"
    if record.quick:
        yield "the run was a quick look, so that what it left out is no finding"
    if record.finished is None:
        yield "the run did not come to its end"
    if record.spoilt is not None:
        yield f"of the run: {record.spoilt}"


def check_same(folder: Path, record: RunRecord, old: Setup, new: Setup) -> None:
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
        for one in resume.compared(as_run(record, old), as_run(record, new))
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


def read_setup(folder: Path) -> Setup | None:
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
