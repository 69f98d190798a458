"""What lets one in at a server: it reaches no file that a run writes, and no terminal."""

import base64
from collections.abc import Callable

import pytest
from small_project import MODEL, PASSING, STUDY, Project, Ran, Reader, Server
from stub_openai import StubOpenAI

PASSWORD = "s3cret-p@ss"
KEY = "sk-tokenbench-0123456789abcdef"
SOME = "--tokenbench-conditions=A,C"
BASIC = base64.b64encode(f"reader:{PASSWORD}".encode()).decode()
SPELLINGS = [PASSWORD, "s3cret-p%40ss", "s3cret", BASIC]


class Guarded(Server):
    """Lets in who knows the password."""

    def check(self, headers) -> bool:
        return headers.get("Authorization") == f"Basic {BASIC}"

    @property
    def known(self) -> str:
        """Its address with what lets one in."""
        return self.url.replace("://", f"://reader:{PASSWORD.replace('@', '%40')}@")


@pytest.fixture
def project(make_project: Callable[..., Project]) -> Project:
    return make_project(study=STUDY + PASSING)


def assert_nowhere(ran: Ran, secrets: list[str]) -> None:
    """Asserts that no secret is in what the run printed or in any file below its folder."""
    files = [file for file in ran.path.rglob("*") if file.is_file()]
    assert any(file.name == "junit.xml" for file in files)
    for secret in secrets:
        assert secret not in ran.text
        for file in files:
            assert secret.encode() not in file.read_bytes(), file
            assert secret not in file.name


@pytest.mark.parametrize("given", ["option", "environment"])
def test_password_in_the_address_is_sent_and_shown_nowhere(project, workers, given):
    with Guarded(faults={1: "500", 4: "reset"}, breaks=("rope walk employ",)) as server:
        host = [f"--tokenbench-host={server.known}"] if given == "option" else []
        environment = {} if host else {"OLLAMA_HOST": server.known}
        ran = project.run(workers, SOME, "-v", "-rA", f"--tokenbench-model={MODEL}", *host, **environment)

    assert len(ran.observations) == 12
    assert [one["status"] for one in ran.observations.values()].count("error") == 2
    assert {one["host"] for one in ran.observations.values()} == {server.url}
    assert_nowhere(ran, SPELLINGS)


def test_wrong_password_is_told_without_it(project, workers):
    with Guarded() as server:
        wrong = server.known.replace("s3cret", "s3cret-old")
        ran = project.run(workers, SOME, f"--tokenbench-model={MODEL}", f"--tokenbench-host={wrong}")

    assert ran.status == pytest.ExitCode.USAGE_ERROR
    assert ran.count(" answered 401: ") == 1
    assert not ran.folders
    assert "s3cret" not in ran.text


@pytest.mark.parametrize("address", ["http://reader:s3cret@[bad", "http://reader:s3cret@host:port:1"])
def test_password_in_what_is_no_address_is_told_nowhere(project, workers, address):
    ran = project.run(workers, SOME, f"--tokenbench-model={MODEL}", f"--tokenbench-host={address}")

    assert ran.status == pytest.ExitCode.USAGE_ERROR
    assert "s3cret" not in ran.text


def test_passwords_of_two_hosts_are_shown_nowhere(project):
    with Guarded(faults={2: "refuse"}, delay=0.05) as one, Guarded(delay=0.05) as other:
        hosts = [f"--tokenbench-host={server.known}" for server in (one, other)]
        ran = project.run("-n2", SOME, f"--tokenbench-model={MODEL}", *hosts)

    assert {seen["status"] for seen in ran.observations.values()} == {"ok"}
    assert_nowhere(ran, SPELLINGS)


def test_key_of_the_environment_is_sent_and_shown_nowhere(project, workers):
    faults = [None, "500", None, "503", *["reset", None] * 6]
    with StubOpenAI("vllm", accepts=f"Bearer {KEY}", answer=Reader(), faults=faults) as server:
        given = [
            "--tokenbench-backend=openai",
            "--tokenbench-model=reader",
            f"--tokenbench-host={server.url}",
        ]
        ran = project.run(workers, SOME, "-v", "-rA", *given, OPENAI_API_KEY=KEY)
        assert {one.authorization for one in server.requests} == {f"Bearer {KEY}"}

    assert {seen["status"] for seen in ran.observations.values()} == {"ok"}
    assert any(seen["attempts"] for seen in ran.observations.values())
    assert_nowhere(ran, [KEY, KEY[3:]])


def test_wrong_key_is_told_without_it(project, workers):
    with StubOpenAI("vllm", accepts=f"Bearer {KEY}", answer=Reader()) as server:
        given = [
            "--tokenbench-backend=openai",
            "--tokenbench-model=reader",
            f"--tokenbench-host={server.url}",
        ]
        ran = project.run(workers, SOME, *given, OPENAI_API_KEY="sk-another-0123456789")

    assert ran.status == pytest.ExitCode.USAGE_ERROR
    assert ran.count(" answered 401: ") == 1
    assert not ran.folders
    assert "0123456789" not in ran.text
