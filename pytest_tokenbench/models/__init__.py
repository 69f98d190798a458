"""Readers and encoders: one file a backend, behind one small protocol."""

from collections.abc import Callable

from pytest_tokenbench.models.base import Model
from pytest_tokenbench.scheduling import Order
from pytest_tokenbench.settings import Settings


def open_model(settings: Settings, say: Callable[[str], None]) -> Model:
    """The model that the settings name; nothing is asked or loaded yet. `say` is told what takes time."""
    # A backend is imported when it is chosen: each brings a library of its own.
    if settings.backend == "embedded":
        from pytest_tokenbench.models.embedded import EmbeddedModel  # noqa: PLC0415

        return EmbeddedModel(
            settings.model, window=settings.window, reuse_prefix=settings.order is Order.SHARED, say=say
        )
    from pytest_tokenbench.models.ollama import OllamaModel  # noqa: PLC0415

    return OllamaModel(
        settings.model,
        host=settings.hosts[settings.first_host] if settings.hosts else None,
        window=settings.window,
    )
