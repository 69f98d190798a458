"""The options of the plugin, each on the command line and as an ini key."""

from typing import TYPE_CHECKING, Any, Literal

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_tokenbench.settings import Settings


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


def are_given(config: pytest.Config) -> bool:
    """Whether any option is set, on the command line or in the ini file."""
    names = [name for name in vars(config.option) if name.startswith("tokenbench_")]
    return any(config.getoption(name) is not None or config.getini(name) is not None for name in names)


def read(config: pytest.Config) -> "Settings":
    """The settings that command line and ini file give, in that order of precedence.

    Raises:
        pytest.UsageError: An option has a value that cannot be used.
    """
    # Options are added in every pytest session, but read only in one with a study.
    from pytest_tokenbench.settings import DEFAULT_MODELS, Settings  # noqa: PLC0415

    def value(name: str) -> Any:
        given = config.getoption(f"tokenbench_{name}")
        return given if given is not None else config.getini(f"tokenbench_{name}") or None

    backend = value("backend") or next(iter(DEFAULT_MODELS))
    if backend not in DEFAULT_MODELS:
        raise pytest.UsageError(
            f"--tokenbench-backend: {backend!r} is no backend; choose {' or '.join(DEFAULT_MODELS)}"
        )
    chosen = value("conditions")
    names = tuple(name.strip() for name in chosen.split(",") if name.strip()) if chosen is not None else None
    if names == ():
        raise pytest.UsageError(
            "--tokenbench-conditions: names no condition; give ids separated by commas, as A,D25"
        )
    return Settings(
        backend=backend,
        model=value("model") or DEFAULT_MODELS[backend],
        host=value("host"),
        conditions=names,
        quick=bool(value("quick")),
        reports=config.rootpath / (value("reports") or "reports"),
        strict=bool(value("strict")),
        prices=_prices(config),
        preparations=config.rootpath / ".tokenbench" / "preparations",
    )


def _prices(config: pytest.Config) -> "Path | None":
    """The file named on the command line, as seen from where that was typed, or in the ini file, from the root."""
    typed, kept = config.getoption("tokenbench_prices"), config.getini("tokenbench_prices")
    if typed:
        return config.invocation_params.dir.joinpath(typed)
    return config.rootpath.joinpath(kept) if kept else None
