"""Between pytest's session and ours: which studies were collected, and the roads for observations and verdicts."""

import contextlib
from collections.abc import Callable, Iterable, Sequence
from functools import partial, reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

from pytest_tokenbench import options
from pytest_tokenbench.active import Outcome
from pytest_tokenbench.asking import Trial
from pytest_tokenbench.choosing import Choice
from pytest_tokenbench.controller import GO_ON, Controller, StartError, StopRunError
from pytest_tokenbench.deciding import Board
from pytest_tokenbench.ending import Ending
from pytest_tokenbench.handout import ColdPool, Pool, SharedPool, Work
from pytest_tokenbench.loading import Loaded, StudyError
from pytest_tokenbench.marker import PROPERTY, refuse_unrecognised, study_of
from pytest_tokenbench.ordering import put_in_order, trial_of
from pytest_tokenbench.places import below
from pytest_tokenbench.records import Observation, decode, encode
from pytest_tokenbench.reporting import items as shown
from pytest_tokenbench.reporting import terminal
from pytest_tokenbench.reporting.items import Teststatus
from pytest_tokenbench.reporting.live import Showing, end_line
from pytest_tokenbench.scheduling import Order, TrialKey
from pytest_tokenbench.study import Study
from pytest_tokenbench.worker import Worker

if TYPE_CHECKING:
    from pytest_tokenbench.comparing import Compared


def _named(module: Any, name: str) -> Any:
    """The function that test ids name so, `Class::function` in a class; None if there is none."""
    return reduce(lambda found, part: getattr(found, part, None), name.split("::"), module)


class Bridge:
    """Everything the plugin keeps for one pytest session that has a study."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._session: pytest.Session | None = None
        self.settings = options.read(config)
        self.is_worker = hasattr(config, "workerinput")
        name = cast("Any", config).workerinput["workerid"] if self.is_worker else "main"
        self._earlier = options.earlier_runs(config, self.settings)
        board = Board(options.board_folder(config), reads=self.is_worker)
        self.worker = Worker(self.settings, config.rootpath, name, self._say, self._earlier, board=board)
        self.ending = Ending(config, board)
        self._controller: Controller | None = None
        self._faults: dict[str, None] = {}
        self._results: dict[str, tuple[str, bool]] = {}
        self._trial_of: dict[str, tuple[str, TrialKey]] = {}
        # To be called with the first report: until then xdist sets the number of collected tests itself.
        self._announce: Callable[[], None] | None = None
        self.showing = Showing(self._trial_of)
        self.outcomes: list[Outcome] = []
        self.choice = Choice(self.settings.studies, options.named_files(config))

    def _say(self, text: str) -> None:
        reporter = self._config.pluginmanager.get_plugin("terminalreporter")
        if reporter is not None and not self.is_worker:
            end_line(reporter)
            reporter.write_line(f"tokenbench: {text}")

    def declared(self, study: Study, file: Path) -> None:
        """Has `check` tell that nothing runs the trials of a study, if that is so."""
        if not study.has_trials:
            where = below(file, self._config.rootpath) or file.name
            found = [f"{where}, {fault}" for fault in study.faults()]
            if self.is_worker:
                # The controller sees no test of it, and so nothing of the study.
                raise pytest.Collector.CollectError("\n".join(found))
            self._faults |= dict.fromkeys(found)

    def takes(self, study: Study, file: Path) -> bool:
        """Whether the session runs a study that was collected; the summary tells of those that it doesn't."""
        return self.choice.takes(study, file, below(file, self._config.rootpath) or file.name)

    def tell_controller(self) -> None:
        """Has xdist's controller know what a worker saw, and did not run."""
        if self.is_worker:
            cast("Any", self._config).workeroutput[options.SEEN] = self.choice.told()

    def trials(self, study: Study, file: Path) -> Sequence[TrialKey]:
        """The trials of a study in order; none where it is faulty, which `check` then tells."""
        try:
            return self.worker.load(study, file).trials
        except StudyError as error:
            self._faults |= dict.fromkeys(error.sentences)
            return ()

    def check(self) -> None:
        """Raises pytest.UsageError with every fault of the collected studies. Workers leave that to the controller."""
        if self._faults and not self.is_worker:
            raise pytest.UsageError("\n".join(self._faults))
        fault = self.choice.fault()
        if fault is not None and not self.is_worker:
            raise pytest.UsageError(fault)

    def _late_fault(self) -> str | None:
        """The fault of a choice of studies that `check` could not see, since workers of xdist collected them."""
        return self.choice.fault() if self._config.pluginmanager.has_plugin("dsession") else None

    def refuse(self, function: str) -> None:
        """Has `check` tell that a study's test function, named by its test id, does not stand for single trials."""
        fault = "a study's test function takes the fixture 'trial', and no parameter beside it"
        self._faults[f"{function}: {fault}"] = None

    def trial(self, request: pytest.FixtureRequest) -> Trial:
        """The fixture's value."""
        study = cast("Study", study_of(request.function))
        return Trial(self.worker, self.worker.load(study, request.path), request.param)

    def start_items(self, session: pytest.Session) -> None:
        """Begins the runs of the collected items, in this process."""
        self._start(session, self._selected(session))

    def plan_items(self, session: pytest.Session) -> None:
        """Prints what a run of the collected items would do."""
        from pytest_tokenbench import plans  # noqa: PLC0415  # a quarter of a second, for such sessions alone

        plans.write(
            self._config,
            self.settings,
            self.worker,
            [(one, keys) for one, keys in self._selected(session) if keys],
        )

    def put_in_order(self, items: list[pytest.Item]) -> None:
        """Undoes what other plugins did to the order of trials."""
        put_in_order(items, self.trials)

    def _selected(self, session: pytest.Session) -> Iterable[tuple[Loaded, set[TrialKey]]]:
        selected: dict[int, tuple[Loaded, set[TrialKey]]] = {}
        for item in session.items:
            found = trial_of(item)
            if found is not None:
                study, key = found
                entry = selected.setdefault(id(study), (self.worker.load(study, item.path), set()))
                self._select(key, entry[1], item.nodeid)
                self._trial_of[item.nodeid] = study.name, key
        self.check()
        return selected.values()

    def start_ids(self, session: pytest.Session, files: Iterable[Path], ids: Iterable[str]) -> None:
        """Begins the runs of what xdist's workers collected; `files` are imported here as pytest does it."""
        modules = {file: pytest.Module.from_parent(session, path=file).obj for file in files}
        selected: dict[int, tuple[Loaded, set[TrialKey]]] = {}
        names: dict[int, dict[str, TrialKey]] = {}
        for node in ids:
            path, _, rest = node.partition("::")
            file, (name, _, parameter) = self._config.rootpath / path, rest.partition("[")
            study = study_of(_named(modules.get(file), name))
            if study is None:
                continue
            if id(study) not in selected:
                names[id(study)] = {str(key): key for key in self.trials(study, file)}
                self.check()
                selected[id(study)] = (self.worker.load(study, file), set())
            # What may follow the bracket is the group that xdist adds.
            key = names[id(study)].get(parameter.rpartition("]")[0])
            self._select(key, selected[id(study)][1], node)
            if key is not None:
                self._trial_of[node] = study.name, key
        self.check()
        self._start(session, selected.values())
        # The trials run elsewhere: this process needs its model no more.
        self.worker.close()

    def pool(self, ids: Sequence[str]) -> Pool | None:
        """From which workers of xdist are handed the items with these ids; None where no trial is among them."""
        if self._controller is None:
            return None
        works = self._controller.works
        pool = SharedPool if self.settings.order is Order.SHARED else ColdPool
        return pool([works[self._trial_of[node]] if node in self._trial_of else Work() for node in ids])

    def _select(self, key: TrialKey | None, selected: set[TrialKey], node: str) -> None:
        if key is None or key in selected:
            self.refuse(str(node).partition("[")[0])
        else:
            selected.add(key)

    def _start(self, session: pytest.Session, selections: Iterable[tuple[Loaded, set[TrialKey]]]) -> None:
        chosen = [(loaded, frozenset(keys)) for loaded, keys in selections if keys]
        if not chosen:
            return
        self._session = session
        self._check_hosts()
        # Known before the start, which can take long, so that Ctrl-C in it is told to the runs as well.
        self.showing.open(self._config, self.settings.progress)
        self._controller = Controller(
            self.settings, self._config.rootpath, self.worker, self._say, self.showing.prepares
        )
        self.ending.catch_sigterm()
        try:
            runs = self._controller.start(chosen, self._earlier)
        except StartError as error:
            self.showing.stop()
            self._controller.abandon()
            self._controller = None
            raise pytest.UsageError(str(error)) from error
        self.showing.begins(self._controller.works)
        count = sum(len(run.loaded.study.hypotheses) for run in runs)
        self._announce = partial(self._expect, session, count)

    def _check_hosts(self) -> None:
        """Refuses hosts that no worker would ask."""
        hosts = len(self.settings.hosts)
        workers = self._config.getoption("numprocesses", None) or 0
        if hosts > 1 and not workers:
            raise pytest.UsageError(
                f"--tokenbench-host: {hosts} hosts are given, and this process asks one; "
                f"add -n {hosts} (pytest-xdist), so that each has a worker"
            )
        if isinstance(workers, int) and 0 < workers < hosts:
            self._say(f"-n {workers} leaves {hosts - workers} of {hosts} hosts without a worker")

    def _expect(self, session: pytest.Session, more: int) -> None:
        """Counts the hypotheses, tests of their own after the items, so that the progress ends at 100%."""
        session.testscollected += more
        self._announce = None

    @property
    def has_started(self) -> bool:
        """Whether runs are open in this process."""
        return self._controller is not None

    def attach(self, item: pytest.Item, report: pytest.TestReport) -> None:
        """Gives the observation of an item to its call report, and its JUnit properties to the item."""
        found = getattr(item, "funcargs", {}).get("trial")
        if not isinstance(found, Trial):
            return
        shown.make_plain(report)
        if found.observation is not None:
            report.user_properties.append((PROPERTY, encode(found.observation).decode()))
            item.user_properties.extend(
                shown.properties(found.observation, reused=found.is_reused, repeats=self.settings.repeats)
            )
            if report.skipped and isinstance(report.longrepr, tuple):
                # As for a test that is marked to be skipped: its own place, not the one in here.
                line = item.location[1]
                report.longrepr = (str(item.path), (line or 0) + 1, report.longrepr[2])
        elif report.passed:
            report.outcome = "failed"
            report.longrepr = "nothing was measured: the test function did not call trial.ask()"

    @staticmethod
    def release(item: pytest.Item) -> None:
        """Takes from a trial's item what its reports have a copy of: an item lives as long as the session."""
        if isinstance(getattr(item, "funcargs", {}).get("trial"), Trial):
            item.user_properties.clear()

    def forget(self, report: pytest.TestReport) -> None:
        """Takes a report that was sent from the worker's own reporter, which keeps it and shows nobody anything."""
        reporter = self._config.pluginmanager.get_plugin("terminalreporter")
        for kept in reporter.stats.values() if reporter is not None else ():
            if kept and kept[-1] is report:
                kept.pop()

    def receive(self, report: pytest.TestReport) -> None:
        """Takes the observation out of a report and puts it on disk."""
        if self._controller is None:
            refuse_unrecognised(report)
            return
        for place, (name, value) in enumerate(report.user_properties):
            if name == PROPERTY:
                del report.user_properties[place]
                if self._announce is not None:
                    self._announce()
                observation = decode(str(value), Observation)
                reused = False
                try:
                    reused = self._controller.receive(observation)
                except StopRunError as stop:
                    self.ending.stop(self._session, str(stop))
                self.showing.progress.receives(observation, reused=reused)
                self._results[report.nodeid] = shown.result_of(observation), reused
                if not reused and len(self.settings.hosts) > 1:
                    self._follow(observation)
                break
        # xdist has a report of its own for a test whose worker is gone.
        if report.when not in {"setup", "call"} and report.nodeid in self._trial_of:
            try:
                self._controller.ended(*self._trial_of[report.nodeid])
            except StopRunError as stop:
                self.ending.stop(self._session, str(stop))
            self.ending.look()

    def _follow(self, observation: Observation) -> None:
        """Tells those who hand out trials when a worker has left a host that does not answer."""
        hosting = self._config.stash.get(options.HOSTING, None)
        scheduler: Any = getattr(self._config.pluginmanager.get_plugin("dsession"), "sched", None)
        place = None if self._controller is None else self._controller.place_of(observation.host)
        if hosting is not None and place is not None and hosting.moved(observation.worker, place):
            with contextlib.suppress(AttributeError, KeyError):  # another scheduler, or a worker that is gone
                scheduler.moved(observation.worker, place)

    def teststatus(self, report: pytest.TestReport) -> Teststatus | None:
        """Letter and word of a trial's report, None for any other.

        None at the session's end too for skipped ones: pytest sums those up under the word of the first.
        """
        if report.when != "call" or (report.skipped and self._controller is None):
            return None
        if report.nodeid not in self._results:
            return None
        result, reused = self._results[report.nodeid]
        return shown.teststatus(result, report.outcome, reused=reused)

    def finish(self, session: pytest.Session) -> None:
        """Judges the hypotheses and reports them as tests; sets the session's exit status."""
        self.showing.stop()
        if self._late_fault() is not None:
            session.exitstatus = pytest.ExitCode.USAGE_ERROR
        if self._controller is None:
            return
        controller, self._controller = self._controller, None
        self.ending.let_go()
        broken = session.exitstatus not in {pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED}
        try:
            self.outcomes = controller.finish(
                interrupted=broken or bool(session.shouldstop) or bool(session.shouldfail)
            )
        except KeyboardInterrupt:
            # pytest has no answer to this in here but a traceback, and no summary after that.
            controller.abandon()
            self._say(f"interrupted while the results were being written; {GO_ON}")
            session.exitstatus = pytest.ExitCode.INTERRUPTED
            return
        reporter = self._config.pluginmanager.get_plugin("terminalreporter")
        if reporter is not None:
            end_line(reporter)
        for outcome in self.outcomes:
            shown.add_suite_properties(self._config, outcome.run.record)
            for judgement in outcome.judgements:
                self._report(session, outcome, judgement)
            troubles = [one for one in (outcome.run.record.spoilt, outcome.unwritten) if one is not None]
            for trouble in troubles:
                self._say(trouble)
            is_shut = outcome.compared is not None and outcome.compared.failures
            if (troubles or is_shut) and session.exitstatus == pytest.ExitCode.OK:
                session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def _report(self, session: pytest.Session, outcome: Outcome, judgement: Any) -> None:
        for report in shown.hypothesis_reports(outcome.run, judgement, strict=self.settings.strict):
            if report.when == "setup":
                self._config.hook.pytest_runtest_logstart(nodeid=report.nodeid, location=report.location)
            self._config.hook.pytest_runtest_logreport(report=report)
            if report.failed and session.exitstatus == pytest.ExitCode.OK:
                session.exitstatus = pytest.ExitCode.TESTS_FAILED
            if report.when == "teardown":
                self._config.hook.pytest_runtest_logfinish(nodeid=report.nodeid, location=report.location)

    def summarise(self, reporter: pytest.TerminalReporter) -> None:
        """Writes the tables of the session's runs."""
        width = reporter._tw.fullwidth  # noqa: SLF001  # pytest has no public name for the terminal's width
        fault = self._late_fault()
        if fault is not None:
            for line in terminal.wrapped(f"ERROR: {fault}", width):
                reporter.write_line(line, red=True)
        elif self.choice.left_out:
            for line in terminal.wrapped(shown.left_out(self.choice.left_out), width):
                reporter.write_line(line)
        for outcome in self.outcomes:
            title = "tokenbench QUICK" if self.settings.quick else "tokenbench"
            reporter.section(title)
            for line, markup in terminal.summary(outcome.document, width):
                reporter.write_line(line, **markup)
            if outcome.compared is not None:
                self._show_compared(reporter, outcome.compared, width)
            folder = outcome.run.folder
            reporter.write_line(f"run folder: {below(folder, self._config.rootpath) or folder}")
            for line in terminal.wrapped(shown.legend(outcome.run.record), width):
                reporter.write_line(line)

    def _show_compared(self, reporter: pytest.TerminalReporter, compared: "Compared", width: int) -> None:
        from pytest_tokenbench.reporting import comparison  # noqa: PLC0415  # for such sessions alone

        reporter.write_line("")
        if compared.document is None:
            for line in terminal.wrapped(f"--tokenbench-compare: {'; '.join(compared.failures)}", width):
                reporter.write_line(line, red=True)
        else:
            for line, markup in comparison.summary(compared.document, width, self.settings.gates):
                reporter.write_line(line, **markup)

    def close(self) -> None:
        """Gives back what this process holds."""
        self.showing.stop()
        self.worker.close()
        if not self.is_worker:
            self.worker.board.remove()
        self.ending.leave_sigterm()
