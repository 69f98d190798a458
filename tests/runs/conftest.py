import signal
from collections.abc import Callable, Iterator
from functools import cache

import pytest
from small_project import EVERY, Project, Ran, Server

# Where Ctrl-C is ignored, as in a shell's background jobs, the runs that are started here would ignore it too.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def make_project(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Project]:
    """Makes a project: `make_project(study=..., ini=...)`."""
    compiled = tmp_path_factory.mktemp("compiled")

    def make(**given: str) -> Project:
        return Project(tmp_path_factory.mktemp("project"), compiled=compiled, **given)

    return make


@pytest.fixture
def project(make_project: Callable[..., Project]) -> Project:
    return make_project()


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    with Server() as server:
        yield server


@pytest.fixture(scope="session", params=["-n0", "-n2"])
def workers(request: pytest.FixtureRequest) -> str:
    """The option of xdist: no workers, or two."""
    return request.param


@pytest.fixture(scope="session")
def usual(make_project: Callable[..., Project]) -> Callable[[str], Ran]:
    """The run of the study with every hypothesis, with the given option of xdist; made once."""

    @cache
    def run(workers: str) -> Ran:
        with Server() as server:
            return make_project(study=EVERY).run(workers, server=server)

    return run


@pytest.fixture(scope="session")
def ran(usual: Callable[[str], Ran], workers: str) -> Ran:
    return usual(workers)
