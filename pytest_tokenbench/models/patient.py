"""A model that is asked again where that can help, on one host or several."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from pytest_tokenbench.models.base import (
    BusyError,
    ChangedModelError,
    CrashedError,
    GaveUpError,
    MalformedReplyError,
    Model,
    ModelError,
    ModelMissingError,
    RefusedError,
    TimedOutError,
    UnreachableError,
    WindowExceededError,
)
from pytest_tokenbench.records import Attempt, Generation, ModelInfo

if TYPE_CHECKING:
    from tenacity import RetryCallState

# With the pauses between them, a server may take a minute to come back.
ATTEMPTS = 7
MORE_FOR_EACH_HOST = 2
# Seconds before the second attempt, up to as many more by chance; each pause is twice the one before, to an end.
BACKOFF = 1.0
LONGEST_PAUSE = 30.0
# Of the seconds left, what an attempt may take; below so many seconds, all of them.
SHARE = 2 / 3
ALL_BELOW = 60.0
# Seconds after which a host that answers is asked again whether it has the same model still.
KNOWN_FOR = 30.0

# So many questions in a row that came to nothing, each after all its attempts, and there is no use in more of them.
STOP_AFTER = 5

Told = TypeVar("Told")


class Failures:
    """How many questions in a row came to nothing, of those that tell of the server and not of themselves.

    A reply that repeats itself, and a request that is refused by a server which answers others, come to the same each
    time: were they counted, a run that has several of them could never be gone on with to its end.
    """

    def __init__(self, most: int = STOP_AFTER, *, answers: bool = False) -> None:
        """`answers` says whether the server answered before."""
        self._most = most
        self._in_a_row = 0
        self._answers = answers

    def answered(self) -> None:
        """A question was answered."""
        self._in_a_row = 0
        self._answers = True

    def failed(self, kind: str | None) -> None:
        """A question came to nothing, with trouble of this kind."""
        is_its_own = kind == GaveUpError.kind or (kind == RefusedError.kind and self._answers)
        self._in_a_row += not is_its_own

    @property
    def are_too_many(self) -> bool:
        """Whether there is no use in more questions."""
        return self._in_a_row >= self._most


_PASSING = (UnreachableError, TimedOutError, BusyError, CrashedError, MalformedReplyError)
_DOWN = (UnreachableError, CrashedError)
_DOWN_AFTER = 2
# What makes a host of no use, though it answers.
_UNFIT = (ModelMissingError, ChangedModelError)


@dataclass(slots=True)
class _Host:
    """`known_at`: when it was seen to have the model that the others have, None if something happened since then."""

    model: Model
    known_at: float | None = None
    has_failed: bool = False


class Patient:
    """A model, itself one, that asks again after trouble that may pass: see `pytest_tokenbench.models.base.Model`.

    Of several hosts one is asked. When it is found to be down, the next that has the same model takes its place.
    """

    def __init__(
        self,
        models: Sequence[Model],
        *,
        timeout: float,
        first: int = 0,
        backoff: float = BACKOFF,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Asks nothing yet.

        Args:
            models: The same model on each host.
            timeout: Seconds that a call may take, all attempts together.
            first: The place of the host that is asked as long as it answers.
            backoff: Seconds before the second attempt, at least.
            sleep: What waits.
        """
        self.attempts: tuple[Attempt, ...] = ()
        self._hosts = [_Host(model) for model in models]
        self._place = first % len(models)
        self._timeout = timeout
        self._backoff = backoff
        self._sleep = sleep
        self._info: ModelInfo | None = None
        self._down = 0
        self._has_moved = False

    @property
    def host(self) -> str:
        """The host that answered last, or will be asked first."""
        return self._at.model.host

    def describe(self, *, timeout: float | None = None) -> ModelInfo:
        """What the model is now, on the host that is asked; see `Model.describe`.

        Raises:
            ChangedModelError: It is another than it was.
        """
        return self._patiently(self._known, timeout)

    def generate(self, prompt: str, *, max_tokens: int, timeout: float | None = None) -> Generation:
        """The reply to a prompt; `attempts` then are the tries that came to nothing. See `Model.generate`."""

        def ask(left: float) -> Generation:
            ends = time.monotonic() + left
            if self._at.known_at is None or time.monotonic() - self._at.known_at > KNOWN_FOR:
                self._known(left)
            return self._at.model.generate(prompt, max_tokens=max_tokens, timeout=ends - time.monotonic())

        return self._patiently(ask, timeout)

    def describe_hosts(self, *, patiently: bool = False) -> tuple[ModelInfo, ...]:
        """What each host says of the model now, in the order given; see also `differing`.

        Each is asked once, since an address that is wrong will not become right; `patiently` as in a trial.

        Raises:
            ModelError: One of them cannot tell.
        """
        models: list[Model] = [host.model for host in self._hosts]
        if patiently:
            models = [
                Patient([one], timeout=self._timeout, backoff=self._backoff, sleep=self._sleep)
                for one in models
            ]
        return tuple(model.describe(timeout=self._timeout) for model in models)

    def close(self) -> None:
        """Gives back connections and memory of all."""
        for host in self._hosts:
            host.model.close()

    @property
    def _at(self) -> _Host:
        return self._hosts[self._place]

    def _known(self, left: float) -> ModelInfo:
        """What the host has, once it is seen to be what the trials began with."""
        info = self._at.model.describe(timeout=left)
        self._info = self._info or info
        is_same_host = self._info.host == info.host
        difference = changed(self._info, info) if is_same_host else differing([self._info, info])
        if difference is not None:
            raise ChangedModelError(difference)
        self._at.known_at = time.monotonic()
        return info

    def _patiently(self, ask: Callable[[float], Told], timeout: float | None) -> Told:
        """What `ask` gives, called with the seconds left, at the latest at the last attempt that there is time for."""
        import tenacity  # noqa: PLC0415 - a tenth of a second that only a session with trials should pay

        within = self._timeout if timeout is None else timeout
        pause = tenacity.wait_exponential(multiplier=self._backoff, max=LONGEST_PAUSE)
        jitter = tenacity.wait_random(0, self._backoff)

        def wait(state: "RetryCallState") -> float:
            return 0.0 if self._has_moved else pause(state) + jitter(state)

        most = ATTEMPTS + MORE_FOR_EACH_HOST * (len(self._hosts) - 1)
        retrying = tenacity.Retrying(
            stop=tenacity.stop_after_attempt(most) | tenacity.stop_before_delay(within),
            wait=wait,
            retry=tenacity.retry_if_exception(self._may_pass),
            sleep=self._sleep,
            reraise=True,
        )
        self.attempts = ()
        self._down = 0
        told: Told = retrying(self._attempt, ask, time.monotonic() + within)
        return told

    def _may_pass(self, error: BaseException) -> bool:
        return isinstance(error, _PASSING) or (isinstance(error, _UNFIT) and len(self._hosts) > 1)

    def _attempt(self, ask: Callable[[float], Told], ends: float) -> Told:
        host = self.host
        started = time.monotonic()
        self._has_moved = False
        try:
            told = ask(_share(ends - started))
        except WindowExceededError:
            raise
        except ModelError as error:
            seconds = time.monotonic() - started
            self.attempts += (Attempt(error.kind, str(error), host, seconds),)
            self._blame(error)
            raise
        self._at.has_failed = False
        return told

    def _blame(self, error: ModelError) -> None:
        """Leaves a host that is down or of no use, if there is another."""
        is_down = isinstance(error, _DOWN)
        self._down = self._down + 1 if is_down else 0
        if is_down:
            self._at.known_at = None  # it may come back as another
        # One that lets the time of a whole trial run out is as good as down.
        if self._down >= _DOWN_AFTER or isinstance(error, (*_UNFIT, TimedOutError)):
            self._move()

    def _move(self) -> None:
        """To the next host that has not failed, or else just the next."""
        self._at.has_failed = True
        self._at.known_at = None
        count = len(self._hosts)
        places = [(self._place + step) % count for step in range(1, count)]
        fresh = [place for place in places if not self._hosts[place].has_failed]
        if not fresh:
            for place in places:
                self._hosts[place].has_failed = False
        self._down = 0
        self._place = (fresh or places or [self._place])[0]
        self._has_moved = bool(places)


def _share(left: float) -> float:
    """The seconds of one attempt: not all that are left, so that a server that hangs is asked once more."""
    return left if left < ALL_BELOW else left * SHARE


def differing(infos: Sequence[ModelInfo]) -> str | None:
    """A sentence that names what differs between hosts that should be alike, None if nothing does."""
    for what, values in _compared(infos):
        if len(set(values)) > 1:
            places = [info.host or info.backend for info in infos]
            told = (f"{value} at {place}" for place, value in zip(places, values, strict=True))
            return f"the hosts differ in the {what}: {', '.join(told)}"
    return None


def changed(before: ModelInfo, now: ModelInfo) -> str | None:
    """A sentence that names what changed on one host, None if nothing did."""
    for what, (was, has_become) in _compared([before, now]):
        if was != has_become:
            return f"the {what} at {now.host or now.backend} was {was} and is {has_become} now"
    return None


def _compared(infos: Sequence[ModelInfo]) -> Iterator[tuple[str, list[str]]]:
    """What must be the same wherever and whenever a trial is asked, by name, in words."""
    yield "model digest", [info.digest or "unknown" for info in infos]
    yield "server version", [info.server_version or "unknown" for info in infos]
    yield "context length", ["unknown" if info.window is None else f"{info.window:,}" for info in infos]
