"""What a run was asked to do, apart from its study."""

from dataclasses import dataclass
from pathlib import Path

from pytest_tokenbench.scheduling import Order

DEFAULT_MODELS = {"ollama": "qwen2.5:7b-instruct", "embedded": "smollm2-135m"}
WINDOW = 16_384
QUICK_DOCUMENTS = 4
QUICK_WORDS = 1_200
QUICK_WINDOW = 8_192
QUICK_PREPARATION_TOKENS = 128


@dataclass(frozen=True, slots=True)
class Settings:
    """The options of one session, checked."""

    backend: str
    model: str
    host: str | None
    conditions: tuple[str, ...] | None
    quick: bool
    reports: Path
    strict: bool
    prices: Path | None
    preparations: Path

    @property
    def order(self) -> Order:
        """Cold for the protocol; shared for a quick look, which measures no prefill worth the wait."""
        return Order.SHARED if self.quick else Order.COLD

    @property
    def window(self) -> int:
        """Context length to ask for, in tokens: the protocol's; for a quick look what its short documents need."""
        return QUICK_WINDOW if self.quick else WINDOW

    @property
    def preparation_tokens(self) -> int | None:
        """Limit on the output tokens of every preparation call, beside the recipe's own; None outside a quick look."""
        return QUICK_PREPARATION_TOKENS if self.quick else None
