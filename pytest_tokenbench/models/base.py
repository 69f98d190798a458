"""The protocol that every backend follows, and the few errors it raises."""

from collections.abc import Sequence
from typing import ClassVar, Protocol

from pytest_tokenbench.records import Generation, ModelInfo


class Model(Protocol):
    """A language model behind one backend, asked with temperature 0 and every sampler option pinned."""

    def describe(self) -> ModelInfo:
        """Loads the model where that is needed and tells what it is. Asked once before the first trial.

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
        wanted = "more" if needed is None else f"{needed:,} tokens"
        given = "the window" if window is None else f"the window of {window:,} tokens"
        super().__init__(f"the prompt needs {wanted} and does not fit {given}")
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


class UnpreparedError(ModelError):
    """A trial needs a preparation that was not built before the trials began."""

    kind = "unprepared"
