"""Whether the model is the same on every host, and at the end of a session what it was at the start."""

from collections.abc import Callable

from pytest_tokenbench.models import cache_note
from pytest_tokenbench.models.base import ModelError
from pytest_tokenbench.models.patient import changed, differing
from pytest_tokenbench.records import ModelInfo
from pytest_tokenbench.scheduling import Order
from pytest_tokenbench.worker import Worker


class Sameness:
    """What each host says of the model, asked when the first run needs it, and again at the end."""

    def __init__(self, worker: Worker, say: Callable[[str], None]) -> None:
        self._worker = worker
        self._say = say
        self._told: tuple[ModelInfo, ...] = ()

    def at_the_start(self) -> tuple[ModelInfo, ...]:
        """What each host says, asked once.

        Raises:
            ModelError: One of them cannot tell, or they differ.
        """
        if not self._told:
            told = self._worker.model.describe_hosts()
            difference = differing(told)
            if difference is not None:
                raise ModelError(f"{difference}; a run needs the same model everywhere")
            self._told = told
            settings = self._worker.settings
            note = cache_note(told[0]) if settings.order is Order.COLD and not settings.nonce else None
            if note is not None:
                self._say(note)
        return self._told

    def at_the_end(self, *, patiently: bool) -> tuple[str | None, str | None]:
        """A sentence on what changed since the start, and one on what could not be read. Neither, if nothing was asked."""
        if not self._told:
            return None, None
        try:
            ends = self._worker.model.describe_hosts(patiently=patiently)
        except ModelError as error:
            return None, f"whether the model is the same at the end could not be checked ({error})"
        differences = (changed(start, end) for start, end in zip(self._told, ends, strict=True))
        return next((one for one in differences if one is not None), None), None

    def place_of(self, host: str) -> int | None:
        """The place of a host among those given, None for one that was not there at the start."""
        return next((place for place, one in enumerate(self._told) if one.host == host), None)
