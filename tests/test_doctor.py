"""The doctor, on servers that are well and on servers that lack one thing each."""

import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest
from stub_ollama import StubModel, StubOllama
from stub_openai import StubOpenAI

from pytest_tokenbench import doctor
from pytest_tokenbench.cli import main
from pytest_tokenbench.doctor import Finding, Level
from pytest_tokenbench.models import weights
from pytest_tokenbench.settings import settings_for

MODEL = "smollm2:135m"


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TOKENBENCH_BACKOFF", "0.001")
    for name in ("OLLAMA_HOST", "OPENAI_API_KEY", "PYTEST_DISABLE_PLUGIN_AUTOLOAD"):
        monkeypatch.delenv(name, raising=False)


def examined(backend: str, model: str, *hosts: str) -> dict[str, Finding]:
    """The findings by what was looked at."""
    settings = settings_for(backend, model, hosts, Path("reports"), timeout=20.0)
    return {found.what: found for found in doctor.examine(settings, lambda _line: None, patience=5.0)}


def ollama(**given) -> dict[str, Finding]:
    with StubOllama(**given) as server:
        return examined("ollama", MODEL, server.url)


def openai(kind: str, **given) -> dict[str, Finding]:
    with StubOpenAI(kind, **given) as server:
        return examined("openai", "reader", server.url)


def levels(findings: dict[str, Finding]) -> dict[str, str]:
    return {what: str(found.level) for what, found in findings.items()}


SERVED = ("server", "model", "window", "answer", "cached counts", "over-long", "prompt cache")


def test_a_server_that_is_well_has_every_line_ok():
    found = ollama(version="0.20.0", tells_cached=True)
    assert {what: level for what, level in levels(found).items() if what in SERVED} == dict.fromkeys(
        SERVED, "ok"
    )
    assert "ollama 0.20.0 at http://127.0.0.1:" in found["server"].sentence
    assert "smollm2:135m, 9077fe9d2ae1a4a41a8..." in found["model"].sentence
    assert "trained for a window of 32,768 tokens" in found["model"].sentence
    assert found["window"].sentence == "16,384 tokens, where 16,384 were asked for"
    # The stub counts a word as a token, and ten for the chat's template.
    assert found["over-long"].sentence == "a prompt of 18,442 tokens is refused, not cut"


@pytest.mark.parametrize(
    ("given", "what", "level", "sentence"),
    [
        ({"models": {MODEL: StubModel(trained_window=8192)}}, "window", "warning", "8,192 tokens of the 16,384 asked for"),
        ({"models": {MODEL: StubModel(trained_window=8192)}, "window": 16384}, "window", "warning", "beyond the trained 8,192"),
        ({"tells_window": False}, "window", "warning", "the server does not tell what it gave; update it"),
        ({"tells_cached": False}, "cached counts", "warning", "not told, so that no prefill can be shown as cold"),
        ({"honours_truncate": False}, "over-long", "warning", "the server may cut prompts"),
        ({"honours_truncate": False, "count": lambda text: min(len(text.split()), 9) + 10}, "over-long", "fault", "it counts 19, fewer than there are words"),
        ({"version": "0.33.0"}, "prompt cache", "warning", "LLAMA_ARG_CACHE_RAM=0"),
        ({"faults": ["500"] * 9}, "answer", "fault", "answered 500"),
        ({"faults": [None, "400"]}, "over-long", "fault", "was not refused as such"),
        ({"faults": ["uncounted_prompt"] * 9}, "answer", "fault", "does not tell how many tokens the prompt had"),
        ({"models": {}}, "model", "fault", "run `ollama pull smollm2:135m`"),
    ],
)  # fmt: skip
def test_what_an_ollama_server_lacks_is_told_with_what_to_do(given, what, level, sentence):
    found = ollama(**({"tells_cached": True, "version": "0.20.0"} | given))[what]
    assert str(found.level) == level, found
    assert sentence in found.sentence


def test_a_server_that_cuts_and_does_not_count_is_a_fault():
    found = openai("lmstudio", cut_to=100, usage={"prompt_tokens": None})
    assert found["answer"].level is Level.FAULT
    assert found["over-long"].level is Level.FAULT
    assert "may cut prompts unseen" in found["over-long"].sentence


def test_a_server_that_does_not_run_is_a_fault_and_the_embedded_model_a_way_out():
    with StubOllama() as server:
        address = server.url
    found = examined("ollama", MODEL, address)
    assert found["server"].level is Level.FAULT
    assert f"nothing answers at {address}" in found["server"].sentence
    assert "say with --host where it runs" in found["server"].sentence
    assert "--tokenbench-backend embedded needs no server" in found["server"].sentence
    assert "answer" not in found


@pytest.mark.parametrize(
    ("kind", "given", "wanted"),
    [
        (
            "llama",
            {"usage": {"prompt_tokens_details": {"cached_tokens": 0}}},
            {
                "model": "warning",
                "window": "ok",
                "cached counts": "ok",
                "over-long": "ok",
                "prompt cache": "warning",
            },
        ),
        ("vllm", {}, {"model": "warning", "window": "ok", "over-long": "ok", "prompt cache": "ok"}),
        ("vllm", {"window": 4096}, {"window": "warning", "over-long": "ok"}),
        ("lmstudio", {}, {"window": "ok", "over-long": "ok"}),
        ("lmstudio", {"cut_to": 100}, {"over-long": "warning"}),
        ("plain", {}, {"window": "warning", "over-long": "warning", "cached counts": "warning"}),
    ],
)
def test_servers_with_openais_interface_are_told_apart(kind, given, wanted):
    found = openai(kind, **given)
    assert {what: str(found[what].level) for what in wanted} == wanted
    assert found["answer"].level is Level.OK


def test_each_host_is_asked():
    settings = settings_for("ollama", MODEL, (), Path("reports"), timeout=20.0)
    with StubOllama() as one, StubOllama() as other:
        from dataclasses import replace

        found = list(doctor.examine(replace(settings, hosts=(one.url, other.url)), lambda _line: None))
    assert [finding.what for finding in found].count("server") == 2
    assert one.chats
    assert other.chats


class TestSoftware:
    def test_versions_are_those_installed(self):
        found = {finding.what: finding for finding in doctor.software()}
        assert found["pytest"].sentence == metadata.version("pytest")
        assert found["plugin"].sentence == f"pytest-tokenbench {metadata.version('pytest-tokenbench')}"
        assert set(levels(found).values()) == {"ok"}

    def test_an_old_python_is_a_fault(self, monkeypatch):
        monkeypatch.setattr(sys, "version_info", (3, 10, 4))
        assert next(doctor.software()).level is Level.FAULT

    def test_a_plugin_that_pytest_does_not_find_is_a_fault(self, monkeypatch):
        monkeypatch.setattr(metadata, "entry_points", lambda **_group: ())
        found = {finding.what: finding for finding in doctor.software()}["plugin"]
        assert found.level is Level.FAULT
        assert "pip install pytest-tokenbench" in found.sentence

    def test_a_pytest_without_plugins_is_a_warning(self, monkeypatch):
        monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
        found = {finding.what: finding for finding in doctor.software()}["plugin"]
        assert found.level is Level.WARNING
        assert "-p pytest_tokenbench.plugin" in found.sentence


class TestMachine:
    @staticmethod
    def found(what: str, backend: str = "ollama") -> Finding:
        settings = settings_for(backend, "m", (), Path("reports"), timeout=1.0)
        return {finding.what: finding for finding in doctor.machine(settings)}[what]

    @pytest.mark.parametrize(("free", "level"), [(5 << 30, "ok"), (1 << 30, "warning"), (5 << 20, "fault")])
    def test_room_on_the_disk(self, monkeypatch, free, level):
        monkeypatch.setattr("shutil.disk_usage", lambda _folder: type("Usage", (), {"free": free}))
        assert str(self.found("disk").level) == level

    def test_a_folder_that_cannot_be_written_is_a_fault(self, monkeypatch):
        monkeypatch.setattr("os.access", lambda *_arguments: False)
        assert self.found("disk").level is Level.FAULT

    @pytest.mark.parametrize(
        ("free", "backend", "level"),
        [(8 << 30, "embedded", "ok"), (1 << 30, "embedded", "warning"), (1 << 30, "ollama", "ok"), (None, "ollama", "warning")],
    )  # fmt: skip
    def test_memory(self, monkeypatch, free, backend, level):
        monkeypatch.setattr(doctor, "free_memory", lambda: free)
        assert str(self.found("memory", backend).level) == level


class TestEmbedded:
    @pytest.fixture(autouse=True)
    def cache(self, tmp_path, monkeypatch) -> Iterator[Path]:
        monkeypatch.setenv("TOKENBENCH_CACHE", str(tmp_path))
        return tmp_path / "models"

    @pytest.fixture
    def _engine(self, monkeypatch):
        monkeypatch.setattr("importlib.util.find_spec", lambda name: name if name == "xllamacpp" else None)

    def test_without_the_engine_it_says_what_to_install(self, monkeypatch):
        monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
        (found,) = doctor.embedded(weights.DEFAULT)
        assert found.level is Level.FAULT
        assert "pip install 'pytest-tokenbench[embedded]'" in found.sentence

    @pytest.mark.usefixtures("_engine")
    def test_a_model_that_is_not_in_the_cache_is_not_downloaded(self, cache):
        found = examined("embedded", weights.DEFAULT)
        assert found["model file"].level is Level.WARNING
        assert f"tokenbench models pull {weights.DEFAULT}" in found["model file"].sentence
        assert "answer" not in found
        assert not cache.exists()

    @pytest.mark.usefixtures("_engine")
    def test_a_model_that_is_there_is_ok(self, cache):
        cache.mkdir()
        (cache / weights.KNOWN[weights.DEFAULT].file).write_bytes(b"weights")
        assert [str(found.level) for found in doctor.embedded(weights.DEFAULT)] == ["ok", "ok"]

    @pytest.mark.usefixtures("_engine")
    @pytest.mark.parametrize(("there", "level"), [(True, "ok"), (False, "fault")])
    def test_a_file_of_the_users_own(self, tmp_path, there, level):
        if there:
            (tmp_path / "own.gguf").write_bytes(b"weights")
        *_, found = doctor.embedded("own.gguf")
        assert str(found.level) == level


class TestCommand:
    def test_every_line_has_level_what_and_sentence_and_all_well_is_status_0(self, capsys):
        with StubOllama(tells_cached=True) as server:
            assert main(["doctor", "--model", MODEL, "--host", server.url]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert [line.split()[0] for line in lines].count("warning") == 1, "the prompt cache of this version"
        assert any(line.startswith("ok       Python         3.") for line in lines)

    def test_a_fault_is_status_1(self, capsys):
        with StubOllama(models={}) as server:
            assert main(["doctor", "--model", MODEL, "--host", server.url]) == 1
        assert "fault    model          the Ollama server at" in capsys.readouterr().out

    @pytest.mark.parametrize(
        ("arguments", "told"),
        [
            (["--backend", "openai"], "the backend openai has no default model; name one with --model"),
            (
                ["--backend", "openai", "--model", "m"],
                "the backend openai has no default host; give the server's address with --host",
            ),
            (
                ["--backend", "embedded", "--host", "http://h"],
                "the embedded model runs in this process and has no host; leave --host out",
            ),
        ],
    )
    def test_what_cannot_be_examined_is_one_sentence_and_status_2(self, capsys, arguments, told):
        assert main(["doctor", *arguments]) == 2
        assert capsys.readouterr().err == f"{told}\n"

    def test_what_a_server_says_cannot_steer_the_terminal(self, capsys):
        with StubOllama(version="0.1\x1b[31m") as server:
            main(["doctor", "--model", MODEL, "--host", server.url])
        assert "\x1b" not in capsys.readouterr().out
