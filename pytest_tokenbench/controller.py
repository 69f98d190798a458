"""The side of a session that keeps the ledger: preflight, run folders, results, verdicts."""

import contextlib
import datetime as dt
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_tokenbench import contexts, prices, resume, run_folder
from pytest_tokenbench.active import ActiveRun, Outcome
from pytest_tokenbench.deciding import Stages
from pytest_tokenbench.handout import Work
from pytest_tokenbench.hypotheses import Judgement, judge, spoilt, unavailable
from pytest_tokenbench.ledger import TORN, Ledger
from pytest_tokenbench.loading import Loaded
from pytest_tokenbench.models.base import ModelError, UnreachableError
from pytest_tokenbench.models.patient import STOP_AFTER, Failures
from pytest_tokenbench.places import below
from pytest_tokenbench.preparing import Builder, needed
from pytest_tokenbench.prices import Price, PriceError
from pytest_tokenbench.recording import UNFINISHED, now, record_of, renewed
from pytest_tokenbench.records import Decision, ModelInfo, Observation, Preparation, Status
from pytest_tokenbench.reporting import document
from pytest_tokenbench.reporting.files import write_page, write_reports
from pytest_tokenbench.run_folder import Run, RunError, RunRecord
from pytest_tokenbench.sameness import Sameness
from pytest_tokenbench.scheduling import TrialKey
from pytest_tokenbench.settings import Settings
from pytest_tokenbench.study import Hypothesis
from pytest_tokenbench.worker import Worker

if TYPE_CHECKING:
    from pytest_tokenbench.comparing import Former


# Of a trial whose prompt the model was to read. What needs no asking tells nothing of the server.
_ANSWERED = {Status.OK, Status.OVER_WINDOW}
GO_ON = "what is measured is kept; --tokenbench-resume goes on from there"


class StartError(Exception):
    """The session cannot begin; the message tells the user why and what to do."""


class Controller:
    """Starts the runs of a session, receives their observations and closes them."""

    def __init__(
        self,
        settings: Settings,
        root: Path,
        worker: Worker,
        say: Callable[[str], None],
        prepares: Callable[[int, int, str], None],
    ) -> None:
        self.settings = settings
        self._root = root
        self._worker = worker
        self._say = say
        self._prepares = prepares
        self._runs: dict[str, ActiveRun] = {}
        self._prices: tuple[Price, ...] = ()
        self._former: Former | None = None
        self._models = Sameness(worker, say)
        self._failures = Failures()

    def start(
        self, selections: Iterable[tuple[Loaded, frozenset[TrialKey]]], earlier: Mapping[str, Path]
    ) -> list[ActiveRun]:
        """Preflight, run folders and preparations for the selected trials. Returns the runs that were begun.

        `earlier` has, by study, the run folders to go on with.

        Raises:
            StartError: The model or the prices cannot be had, the reports folder not be written, or an earlier run not
                be gone on with; nothing has been asked then.
        """
        chosen = list(selections)
        names = [loaded.study.name for loaded, _ in chosen]
        for name in {name for name in names if names.count(name) > 1}:
            raise StartError(f"several studies of this session are named {name!r}; give each its own name")
        try:
            if self.settings.prices is not None:
                self._prices = prices.read(self.settings.prices, dt.datetime.now(dt.UTC))
            self._check_earlier(earlier, names)
            if self.settings.compare is not None:
                from pytest_tokenbench.comparing import Former  # noqa: PLC0415  # for such sessions alone

                studies = {loaded.study.name: loaded.conditions.keys() for loaded, _ in chosen}
                shown = self._shown(self.settings.compare)
                self._former = Former.read(self.settings.compare, shown, self.settings.gates, studies)
            for loaded, selected in chosen:
                self._begin(loaded, selected, earlier.get(loaded.study.name))
        except UnreachableError as error:
            raise StartError(f"{error}; --tokenbench-backend embedded needs no server") from error
        except (PriceError, ModelError, RunError) as error:
            raise StartError(str(error)) from error
        except OSError as error:
            raise StartError(
                f"{error.filename or self.settings.reports}: cannot be written ({error.strerror or error})"
            ) from error
        return list(self._runs.values())

    def _check_earlier(self, earlier: Mapping[str, Path], names: Sequence[str]) -> None:
        """Refuses earlier runs that none of the session's studies goes on with, and tells which of these begin anew."""
        if self.settings.resume:  # one that was named; the newest of each study may be of others too
            for study, folder in earlier.items():
                run_folder.check_is_of(study, names, self._shown(folder))
        begun_anew = resume.check_found(earlier, names, self.settings)
        if begun_anew is not None:
            self._say(begun_anew)

    def _begin(self, loaded: Loaded, selected: frozenset[TrialKey], folder: Path | None) -> None:
        run = self._new(loaded, selected) if folder is None else self._again(loaded, selected, folder)
        self._runs[loaded.study.name] = run
        still_open = selected - run.reused
        waiting = [key for key in loaded.trials if key in still_open]
        if not waiting:
            return
        run.stages = self._stages(run, still_open)
        ledger = self._ledger(run.folder / run_folder.PREPARATIONS)

        def keep(made: Preparation) -> None:
            ledger.append(made)
            run.preparations.append(made)

        try:
            wanted = needed(loaded, waiting, self._worker)
            Builder(loaded, self._worker, self._say, self._prepares).build(
                wanted, tuple(run.preparations), keep
            )
        finally:
            ledger.close()

    def _stages(self, run: ActiveRun, pending: frozenset[TrialKey]) -> Stages | None:
        """Who decides the arms that depend on earlier trials; None where there are none."""
        if not any(run.loaded.layout.stages.values()):
            return None
        study, material = run.loaded.study, run.loaded.material

        def keep(decision: Decision) -> None:
            ledger = self._ledger(run.folder / run_folder.DECISIONS)
            try:
                ledger.append(decision)
            finally:
                ledger.close()
            run.decisions.append(decision)

        return Stages(
            run.loaded,
            run.observations,
            pending,
            repeats=self.settings.repeats,
            kept=tuple(run.decisions),
            judge=lambda stage: study.decide(material, document.results_of(run.as_run()), stage),
            keep=keep,
            tell=lambda told: self._worker.board.tell(study.name, told),
        )

    def ended(self, study: str, key: TrialKey) -> None:
        """A trial is over. What waits for it may be decided now.

        Raises:
            StopRunError: What was decided cannot be written.
        """
        run = self._runs.get(study)
        if run is None or run.stages is None:
            return
        try:
            run.stages.ended(key)
        except OSError as error:
            raise StopRunError(
                f"{error.filename or run.folder} cannot be written ({error.strerror or error}); {GO_ON}"
            ) from error

    def _new(self, loaded: Loaded, selected: frozenset[TrialKey]) -> ActiveRun:
        record = self._record(loaded, len(selected), self._models.at_the_start())
        folder = run_folder.create(self.settings.reports, record)
        lock = run_folder.lock(folder)
        try:
            ledger = Ledger(folder / run_folder.OBSERVATIONS)
        except BaseException:
            lock.release()
            run_folder.discard(folder)
            raise
        return ActiveRun(loaded, selected, folder, record, lock, ledger)

    def _again(self, loaded: Loaded, selected: frozenset[TrialKey], folder: Path) -> ActiveRun:
        """Goes on with an earlier run. The model is asked only if a trial is."""
        lock = run_folder.lock(folder)
        try:
            old = run_folder.read(folder)
            reused = frozenset(self._worker.take_over(loaded.study.name, old))
            record = self._renewed(old, loaded, selected, reused, folder)
            run_folder.write_record(folder, record)
            ledger = self._ledger(folder / run_folder.OBSERVATIONS)
        except BaseException:
            lock.release()
            raise
        if any(one.status is Status.OK for one in old.observations):
            self._failures.answered()
        count = len(reused & selected)
        self._say(
            f"going on with {self._shown(folder)}: {count:,} of {len(selected):,} trials are there already"
        )
        return ActiveRun(
            loaded,
            selected,
            folder,
            record,
            lock,
            ledger,
            is_new=False,
            reused=reused,
            observations={one.key: one for one in old.observations},
            preparations=list(old.preparations),
            decisions=list(old.decisions),
        )

    def _ledger(self, path: Path) -> Ledger:
        ledger = Ledger(path)
        if ledger.torn is not None:
            self._say(f"the last line of {path.name} was cut short and is set aside, in {path.name}{TORN}")
        return ledger

    def _renewed(
        self,
        old: Run,
        loaded: Loaded,
        selected: frozenset[TrialKey],
        reused: frozenset[TrialKey],
        folder: Path,
    ) -> RunRecord:
        """The record of a run as it is gone on with, if nothing differs that could change a number."""
        if old.record.spoilt is not None:
            raise StartError(
                f"{self._shown(folder)}: cannot be gone on with, since {old.record.spoilt}, "
                "and which trials that concerns is not known; begin anew without --tokenbench-resume"
            )
        open_ = selected - reused
        models = self._models.at_the_start() if open_ else (old.record.model, *old.record.hosts[1:])
        # What came to nothing was to be asked as well, whether or not it is selected now.
        seen = {TrialKey(one.condition, one.question, one.repeat) for one in old.observations}
        record = self._record(loaded, len(selected | seen), models)
        differences = resume.differences(old.record, record)
        if differences:
            raise StartError(
                f"{self._shown(folder)}: cannot be gone on with, since {'; '.join(differences)}; "
                "leave --tokenbench-resume out to begin anew"
            )
        return renewed(old.record, record, is_asked=bool(open_))

    def _record(self, loaded: Loaded, scheduled: int, models: tuple[ModelInfo, ...]) -> RunRecord:
        return record_of(
            loaded, self.settings, self._root, scheduled=scheduled, models=models, prices=self._prices
        )

    def abandon(self) -> None:
        """Leaves the folders of runs that could not begin, and takes away those that have nothing in them."""
        while self._runs:
            _, run = self._runs.popitem()
            with contextlib.suppress(OSError):  # whatever made them be left is what is told
                run.close()
                if run.is_new:
                    run_folder.discard(run.folder)

    def place_of(self, host: str) -> int | None:
        """The place of a host among those given, None for one that was not there at the start."""
        return self._models.place_of(host)

    @cached_property
    def works(self) -> dict[tuple[str, TrialKey], Work]:
        """The trials of the runs that were begun, by study and key, as they are handed out to workers."""
        return {
            (name, key): work
            for name, run in self._runs.items()
            for key, work in run.loaded.layout.works(
                name, [key for key in run.loaded.trials if key in run.selected], run.reused
            ).items()
        }

    def receive(self, observation: Observation) -> bool:
        """Puts one observation on disk, and tells whether it was there already.

        Raises:
            StopRunError: It cannot be written, or too many trials in a row came to nothing: the session should end.
        """
        run = self._runs[observation.study]
        key = TrialKey(observation.condition, observation.question, observation.repeat)
        if key in run.reused:
            return True
        try:
            run.ledger.append(observation)
        except OSError as error:
            raise StopRunError(
                f"{run.folder / run_folder.OBSERVATIONS} cannot be written ({error.strerror or error}); {GO_ON}"
            ) from error
        run.observations[observation.key] = observation
        if observation.status is Status.ERROR:
            self._failures.failed(observation.error_kind)
        elif observation.status in _ANSWERED:
            self._failures.answered()
        if self._failures.are_too_many:
            raise StopRunError(
                f"{STOP_AFTER} trials in a row came to nothing, the last with {observation.error_kind}: "
                f"{observation.error_message}; {GO_ON}"
            )
        return False

    def finish(self, *, interrupted: bool) -> list[Outcome]:
        """Judges the hypotheses and writes what came out. Called once, when the last trial is in.

        A run that was interrupted is not judged: the trials that it lacks would be those that came late in its order.
        """
        spoilt, doubt = self._models.at_the_end(patiently=not interrupted)
        if interrupted:
            doubt = None  # that a server does not answer may be why
        outcomes = []
        for study, run in list(self._runs.items()):
            doubts = (one for one in (*run.record.doubts, spoilt, doubt) if one is not None)
            run.record = replace(run.record, doubts=tuple(dict.fromkeys(doubts)), spoilt=spoilt)
            outcomes.append(self._close(run, interrupted=interrupted))
            del self._runs[study]
        return outcomes

    def _close(self, run: ActiveRun, *, interrupted: bool) -> Outcome:
        results = document.results_of(run.as_run())

        def ruled(hypothesis: Hypothesis) -> Judgement:
            if run.record.spoilt is not None:
                return spoilt(hypothesis, run.record.spoilt)
            if interrupted:
                return unavailable(hypothesis, UNFINISHED)
            if run.record.shard is not None:
                return unavailable(
                    hypothesis, f"shard {run.record.shard} is a part of the trials; merge the parts"
                )
            return judge(hypothesis, results)

        judgements = tuple(map(ruled, run.loaded.study.hypotheses))
        begun = run.record
        run.record = replace(
            run.record,
            finished=None if interrupted else now(),
            verdicts=tuple(judgement.verdict for judgement in judgements),
            judged=len(run.observations),
        )
        done = run.as_run()
        made = document.build(done)
        compared = unwritten = None
        try:
            # That it is finished stands there when all else does: until then it is gone on with, and that writes it.
            run_folder.write_record(run.folder, begun)
            write_reports(run.folder, made, run.record)
            # Always, since `tokenbench report` could not make them from the folder alone.
            contexts.keep(run.folder, run.loaded, done)
            if self.settings.html:
                write_page(run.folder, made, done)
            run_folder.write_record(run.folder, run.record)
            if self._former is not None and not interrupted:
                compared = self._former.compare(done, run.folder, html=self.settings.html)
            run.close()
        except RunError as error:
            unwritten = f"{error}; {GO_ON}"
        except OSError as error:
            unwritten = (
                f"{error.filename or run.folder} cannot be written ({error.strerror or error}); {GO_ON}"
            )
        finally:
            with contextlib.suppress(OSError):
                run.close()
        return Outcome(run, judgements, made, compared, unwritten)

    def _shown(self, path: Path) -> str:
        return below(path, self._root) or str(path)


class StopRunError(Exception):
    """The session should end now; the message is for the user."""
