"""What a run was asked to do, apart from its study."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_tokenbench.scheduling import Order

if TYPE_CHECKING:
    from pytest_tokenbench.gates import Gate

DEFAULT_MODELS = {"ollama": "qwen2.5:7b-instruct", "embedded": "smollm2-135m"}
# The backends that have no default model take it from the option alone.
BACKENDS = (*DEFAULT_MODELS, "openai")
WINDOW = 16_384
QUICK_DOCUMENTS = 4
QUICK_WORDS = 1_200
QUICK_WINDOW = 8_192
QUICK_PREPARATION_TOKENS = 128
PROGRESS = ("auto", "plain", "off")
DISCORDANCE = 0.10
ALL_STUDIES = "all"


TIMEOUT_S = 900.0


@dataclass(frozen=True, slots=True)
class Shard:
    """Part `number` (1-based) of `of` parts that a run's trials are split into."""

    number: int
    of: int

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"


@dataclass(frozen=True, slots=True)
class Settings:
    """The options of one session, checked.

    `hosts` are in the order given, none for the backend's default; this process asks that at `first_host` first.
    `timeout` is what one trial may take in seconds, all attempts together. `resume` is None for a new run, "" for
    going on with the newest unfinished one, else the folder to go on with. `compare` is the folder of the run to
    compare with, `gates` what may not get worse since. `discordance` is what the plan assumes. `studies` are the only ones to run, None for all that are
    not opt-in.
    """

    backend: str
    model: str
    hosts: tuple[str, ...]
    conditions: tuple[str, ...] | None
    quick: bool
    reports: Path
    strict: bool
    prices: Path | None
    preparations: Path
    order: Order = Order.COLD
    nonce: bool = False
    timeout: float = TIMEOUT_S
    repeats: int = 1
    resume: str | None = None
    shard: Shard | None = None
    first_host: int = 0
    html: bool = True
    compare: Path | None = None
    gates: "tuple[Gate, ...]" = ()
    progress: str = PROGRESS[0]
    discordance: float = DISCORDANCE
    studies: tuple[str, ...] | None = None

    @property
    def window(self) -> int:
        """Context length to ask for, in tokens: the protocol's; for a quick look what its short documents need."""
        return QUICK_WINDOW if self.quick else WINDOW

    @property
    def preparation_tokens(self) -> int | None:
        """Limit on the output tokens of every preparation call, beside the recipe's own; None outside a quick look."""
        return QUICK_PREPARATION_TOKENS if self.quick else None


def settings_for(
    backend: str, model: str | None, hosts: Sequence[str], reports: Path, timeout: float
) -> Settings:
    """The settings of a run as the command line names it.

    Raises:
        ValueError: The backend has no default model, or needs a host and has none; the message is a sentence.
    """
    chosen = model or DEFAULT_MODELS.get(backend)
    if chosen is None:
        raise ValueError(f"the backend {backend} has no default model; name one with --model")
    if backend == "openai" and not hosts:
        raise ValueError("the backend openai has no default host; give the server's address with --host")
    if backend == "embedded" and hosts:
        raise ValueError("the embedded model runs in this process and has no host; leave --host out")
    return Settings(
        backend=backend,
        model=chosen,
        hosts=tuple(hosts),
        conditions=None,
        quick=False,
        reports=reports,
        strict=False,
        prices=None,
        preparations=reports,
        timeout=timeout,
    )
