"""pytest options and hooks only. Nothing heavy is imported before a study is collected."""

from collections.abc import Generator, Sequence
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any, cast

import pytest

from pytest_tokenbench import options
from pytest_tokenbench.marker import files_that_may_declare, is_study, refuse_unrecognised, study_of

if TYPE_CHECKING:
    from pytest_tokenbench.asking import Trial
    from pytest_tokenbench.bridge import Bridge
    from pytest_tokenbench.handout import Pool
    from pytest_tokenbench.study import Study

_SESSION = pytest.StashKey[pytest.Session]()
_HOOKS = "tokenbench-session"
_GUARD = "tokenbench-guard"
_PLANNER = "tokenbench-planner"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the options."""
    options.add(parser)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Refuses options that cannot be used before anything is collected. xdist's workers are given the same ones."""
    if options.are_given(config) and not hasattr(config, "workerinput"):
        settings = options.read(config)
        if settings.resume is not None:
            options.earlier_runs(config, settings)
        options.compared(settings)
        if options.plans(config):
            config.pluginmanager.register(Planner(), _PLANNER)
            # Before xdist looks at it: a plan needs no workers.
            if hasattr(config.option, "dist"):
                config.option.dist = "no"


def pytest_sessionstart(session: pytest.Session) -> None:
    """Remembers the session, which xdist's hooks do not hand over."""
    session.config.stash[_SESSION] = session


def pytest_pycollect_makeitem(collector: Any, obj: object) -> list[pytest.Item] | None:
    """Notes a study that stands in a test file; one whose trials no function runs would else go by in silence.

    Collects nothing of a study that the session leaves out.
    """
    if is_study(obj):
        _bridge(collector.config).declared(cast("Study", obj), collector.path)
        return None
    # Other things answer to any name, as mocks do.
    study = study_of(obj) if isinstance(obj, FunctionType | MethodType) else None
    return [] if study is not None and not _bridge(collector.config).takes(study, collector.path) else None


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Makes an item of each trial of a study's test function."""
    study = study_of(metafunc.function)
    if study is not None:
        bridge = _bridge(metafunc.config)
        keys = bridge.trials(study, metafunc.definition.path)
        if "trial" in metafunc.fixturenames:
            metafunc.parametrize("trial", keys, ids=map(str, keys), indirect=True)
        else:
            bridge.refuse(str(metafunc.definition.nodeid))


@pytest.fixture
def trial(request: pytest.FixtureRequest) -> "Trial":
    """One question under one condition of a study; `trial.ask()` runs it."""
    if study_of(request.function) is None:
        pytest.fail("the fixture 'trial' is for functions decorated with @study.trials", pytrace=False)
    return _bridge(request.config).trial(request)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tells a worker of xdist its host, and the runs that are gone on with."""
    config: pytest.Config = node.config
    node.workerinput |= options.shared(config)
    if options.are_given(config):
        node.workerinput |= options.for_worker(config, node.gateway.id)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Hands out trials in our own way, unless the user chose a way of xdist's."""
    if config.getoption("dist") != "load":
        return None
    from pytest_tokenbench.distribution import TrialScheduling  # noqa: PLC0415  # needs xdist

    def pool_of(ids: Sequence[str]) -> "Pool | None":
        hooks = config.pluginmanager.get_plugin(_HOOKS)
        pool: Pool | None = None if hooks is None else hooks.bridge.pool(ids)
        return pool

    return TrialScheduling(config, log, pool_of)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: object | None) -> None:
    """Frees the place of a worker of xdist that is gone, and learns what it saw."""
    config: pytest.Config = node.config
    seen = getattr(node, "workeroutput", {}).get(options.SEEN)
    if seen:
        _bridge(config).choice.learn(seen)
    hooks = config.pluginmanager.get_plugin(_HOOKS)
    if hooks is not None:
        hooks.bridge.ending.lost(node, error)
    if options.HOSTING in config.stash:
        config.stash[options.HOSTING].release(node.gateway.id)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_node_collection_finished(node: Any, ids: list[str]) -> None:
    """Begins the runs before xdist hands out the first trial, as soon as one worker has collected."""
    config: pytest.Config = node.config
    hooks = config.pluginmanager.get_plugin(_HOOKS)
    if config.option.collectonly or (hooks is not None and hooks.bridge.has_started):
        return
    files = files_that_may_declare(config.rootpath, ids)
    if files:
        _bridge(config).start_ids(config.stash[_SESSION], files, ids)
    elif not config.pluginmanager.has_plugin(_GUARD):
        config.pluginmanager.register(Guard(), _GUARD)


def _bridge(config: pytest.Config) -> "Bridge":
    hooks = config.pluginmanager.get_plugin(_HOOKS)
    if hooks is None:
        from pytest_tokenbench.bridge import Bridge  # noqa: PLC0415  # heavy, and for sessions with a study only

        hooks = SessionHooks(Bridge(config))
        config.pluginmanager.register(hooks, _HOOKS)
    bridge: Bridge = hooks.bridge
    return bridge


def _is_broken(session: pytest.Session) -> bool:
    """Whether errors of the collection keep pytest from running anything."""
    return bool(session.testsfailed) and not session.config.option.continue_on_collection_errors


class Planner:
    """Stands in for what runs tests, in a session that plans only."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        """Prints the plans; runs nothing, whatever was collected. Errors of the collection are pytest's to tell."""
        config = session.config
        if config.option.collectonly or _is_broken(session):
            return None
        hooks = config.pluginmanager.get_plugin(_HOOKS)
        if hooks is not None:
            hooks.bridge.plan_items(session)
        return True


class Guard:
    """Stands in for `SessionHooks` where xdist's workers seem to have collected no study."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Loses no observation in silence."""
        refuse_unrecognised(report)


class SessionHooks:
    """The hooks of a session that has a study; registered when the first is collected."""

    def __init__(self, bridge: "Bridge") -> None:
        self.bridge = bridge

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> Generator[None]:
        """Tells the faults of the collected studies. Workers run nothing then; the controller does not collect.

        Afterwards, when every other plugin has had its way with the items, puts the trials back into their order.
        """
        self.bridge.check()
        if self.bridge.is_worker and self.bridge.choice.fault() is not None:
            items.clear()
        yield
        self.bridge.put_in_order(items)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> None:
        """Begins the runs before the first trial."""
        idle = session.config.option.collectonly or options.plans(session.config)
        if not (self.bridge.is_worker or idle or _is_broken(session)):
            self.bridge.start_items(session)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Gives a trial's observation to its report, the only road to the controller."""
        report = yield
        if call.when == "call":
            self.bridge.attach(item, report)
        elif call.when == "teardown":
            self.bridge.release(item)
        return report

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_logstart(self, nodeid: str) -> Generator[None]:
        """Shows which trial is under way, below what pytest has written."""
        yield
        self.bridge.showing.starts(nodeid)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> Generator[None]:
        """Puts a trial's observation on disk before anything else sees its report; a worker sends it, and lets it go."""
        if not self.bridge.is_worker:
            self.bridge.receive(report)
        yield
        if self.bridge.is_worker:
            self.bridge.forget(report)
        self.bridge.showing.update()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_logfinish(self, nodeid: str) -> Generator[None]:
        """Shows what is done, below what pytest has written."""
        yield
        self.bridge.showing.ends(nodeid)
        self.bridge.ending.look()

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_teststatus(self, report: pytest.TestReport) -> Any:
        """Gives each outcome of a trial its own letter and word."""
        return self.bridge.teststatus(report)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Judges the hypotheses, now that the last trial is in."""
        self.bridge.tell_controller()
        self.bridge.finish(session)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Writes the tables."""
        self.bridge.summarise(terminalreporter)

    def pytest_unconfigure(self) -> None:
        """Gives back the model."""
        self.bridge.close()
