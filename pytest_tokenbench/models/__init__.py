"""Readers and encoders: one file a backend, behind one small protocol."""

import os
from collections.abc import Callable, Sequence

from pytest_tokenbench.models.base import Model
from pytest_tokenbench.models.patient import BACKOFF, Patient
from pytest_tokenbench.records import ModelInfo
from pytest_tokenbench.scheduling import Order
from pytest_tokenbench.settings import Settings

# Seconds; for tests, and for who knows that a server is back at once.
BACKOFF_VARIABLE = "TOKENBENCH_BACKOFF"


def open_model(settings: Settings, say: Callable[[str], None]) -> Patient:
    """The model that the settings name; nothing is asked or loaded yet. `say` is told what takes time."""
    return Patient(
        _on_each_host(settings, say),
        timeout=settings.timeout,
        first=settings.first_host,
        backoff=_backoff(),
    )


def cache_note(info: ModelInfo) -> str | None:
    """A sentence for the user on what a server keeps of former prompts, where it is known to keep more than the last."""
    if info.options.get("server") == "llama-server":
        return (
            f"llama-server {info.server_version or ''} keeps up to 8 GiB of former prompts in host memory, unless it was "
            "started with LLAMA_ARG_CACHE_RAM=0, so that a document asked about some trials ago need not be read anew; "
            "to have short prompts cold too, which all begin alike, use --tokenbench-nonce"
        )
    if info.backend != "ollama":
        return None
    from pytest_tokenbench.models.ollama import host_cache_note  # noqa: PLC0415

    return host_cache_note(info)


def _on_each_host(settings: Settings, say: Callable[[str], None]) -> Sequence[Model]:
    # A backend is imported when it is chosen: each brings a library of its own.
    name, window, timeout = settings.model, settings.window, settings.timeout
    if settings.backend == "embedded":
        from pytest_tokenbench.models.embedded import EmbeddedModel  # noqa: PLC0415

        return [EmbeddedModel(name, window=window, reuse_prefix=settings.order is Order.SHARED, say=say)]
    hosts = settings.hosts or (None,)
    if settings.backend == "openai":
        from pytest_tokenbench.models.openai import OpenAIModel  # noqa: PLC0415

        return [OpenAIModel(name, host=host, window=window, timeout=timeout) for host in hosts]
    from pytest_tokenbench.models.ollama import OllamaModel  # noqa: PLC0415

    return [OllamaModel(name, host=host, window=window, timeout=timeout) for host in hosts]


def _backoff() -> float:
    try:
        return max(0.0, float(os.environ.get(BACKOFF_VARIABLE, BACKOFF)))
    except ValueError:
        return BACKOFF
