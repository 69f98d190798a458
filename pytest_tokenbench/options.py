"""The options of the plugin, each on the command line and as an ini key."""

from typing import Any, Literal

import pytest

from pytest_tokenbench.settings import DEFAULT_MODELS, Settings

BACKENDS = tuple(DEFAULT_MODELS)


def add(parser: pytest.Parser) -> None:
    """Adds the options under one heading of `pytest --help`."""
    group = parser.getgroup("tokenbench", "tokenbench: token cost and accuracy studies")

    def option(name: str, text: str, **settings: Any) -> None:
        group.addoption(f"--tokenbench-{name}", dest=f"tokenbench_{name}", help=text, **settings)
        kind: Literal["bool", "string"] = "bool" if settings.get("action") == "store_true" else "string"
        parser.addini(f"tokenbench_{name}", text, type=kind, default=None)

    option(
        "model",
        "Model that answers and writes preparations (default: qwen2.5:7b-instruct; embedded: smollm2-135m).",
        metavar="NAME",
    )
    option(
        "backend", "Where the model runs: ollama (default), or embedded, in this process.", metavar="BACKEND"
    )
    option(
        "host",
        "Address of the Ollama server (default: $OLLAMA_HOST, else http://127.0.0.1:11434).",
        metavar="URL",
    )
    option("conditions", "Run these conditions only, separated by commas.", metavar="IDS")
    option(
        "quick",
        "A quick look instead of the protocol: the first four documents, shortened, and their questions.",
        action="store_true",
        default=None,
    )
    option("reports", "Folder for the run folders (default: reports).", metavar="DIR")
    option(
        "strict",
        "An unavailable hypothesis fails instead of being skipped.",
        action="store_true",
        default=None,
    )
    option("prices", "TOML file with prices per million tokens; adds cost per question.", metavar="FILE")


def read(config: pytest.Config) -> Settings:
    """The settings that command line and ini file give, in that order of precedence.

    Raises:
        pytest.UsageError: An option has a value that cannot be used.
    """

    def value(name: str) -> Any:
        given = config.getoption(f"tokenbench_{name}")
        return given if given is not None else config.getini(f"tokenbench_{name}") or None

    backend = value("backend") or BACKENDS[0]
    if backend not in BACKENDS:
        raise pytest.UsageError(
            f"--tokenbench-backend: {backend!r} is no backend; choose {' or '.join(BACKENDS)}"
        )
    chosen = value("conditions")
    names = tuple(name.strip() for name in chosen.split(",") if name.strip()) if chosen is not None else None
    if names == ():
        raise pytest.UsageError(
            "--tokenbench-conditions: names no condition; give ids separated by commas, as A,D25"
        )
    prices = value("prices")
    return Settings(
        backend=backend,
        model=value("model") or DEFAULT_MODELS[backend],
        host=value("host"),
        conditions=names,
        quick=bool(value("quick")),
        reports=config.rootpath / (value("reports") or "reports"),
        strict=bool(value("strict")),
        prices=config.rootpath / prices if prices else None,
        preparations=config.rootpath / ".tokenbench" / "preparations",
    )
