"""The protocol that every backend follows, and the few errors it raises."""

from collections.abc import Sequence
from typing import ClassVar, Protocol, Self

from pytest_tokenbench.records import Generation, ModelInfo

SHOWN_WHOLE = 10.0


class Model(Protocol):
    """A language model behind one backend, asked with temperature 0 and every sampler option pinned."""

    @property
    def host(self) -> str:
        """Where it runs, as observations name it; without what lets one in there."""
        ...

    def describe(self, *, timeout: float | None = None) -> ModelInfo:
        """Loads the model where that is needed and tells what it is now, within `timeout` seconds.

        Raises:
            ModelError: See its kinds.
        """
        ...

    def generate(self, prompt: str, *, max_tokens: int, timeout: float | None = None) -> Generation:
        """The model's reply to one user message, of at most `max_tokens` tokens, within `timeout` seconds.

        Raises:
            ModelError: See its kinds; nothing was answered then.
        """
        ...

    def close(self) -> None:
        """Gives back connections and memory."""
        ...


class ModelError(Exception):
    """Trouble with a model, its server or the way there. `kind` names it in observations."""

    kind: ClassVar[str] = "model"


class UnreachableError(ModelError):
    """Nothing answers at the server's address, or the connection broke."""

    kind = "unreachable"


class TimedOutError(ModelError):
    """The server did not answer in time."""

    kind = "timed_out"

    @classmethod
    def after(cls, seconds: float, who: str) -> Self:
        """The error that says what to do about it."""
        waited = f"{seconds:,.0f}" if seconds >= SHOWN_WHOLE else f"{seconds:.1f}"
        return cls(f"{who} did not answer within {waited} s; --tokenbench-timeout gives a trial more time")


class ModelMissingError(ModelError):
    """The server, or the path given, does not have the model. `available` names those it has."""

    kind = "model_missing"

    def __init__(self, message: str, available: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.available = tuple(available)


class WindowExceededError(ModelError):
    """The prompt does not fit the window. `needed` (None if not told) and `window` are tokens."""

    kind = "over_window"

    def __init__(self, needed: int | None, window: int | None) -> None:
        given = "the window" if window is None else f"the window of {window:,} tokens"
        told = f"needs {needed:,} tokens and does not fit" if needed is not None else "is longer than"
        super().__init__(f"the prompt {told} {given}")
        self.needed = needed
        self.window = window


class BusyError(ModelError):
    """The server is up but refuses work for now."""

    kind = "busy"


class CrashedError(ModelError):
    """The server, or the model's process behind it, failed while answering."""

    kind = "crashed"


class MalformedReplyError(ModelError):
    """The reply is not what the backend's interface promises."""

    kind = "malformed"


class GaveUpError(ModelError):
    """The server ended the reply since the model repeats itself on and on, as it will when asked again."""

    kind = "gave_up"


class RefusedError(ModelError):
    """The server refuses the request for what it holds, as it will when asked again."""

    kind = "refused"


class ChangedModelError(ModelError):
    """The host has another model than the one that the trials began with."""

    kind = "changed"


class UnpreparedError(ModelError):
    """A trial needs a preparation that was not built before the trials began."""

    kind = "unprepared"
