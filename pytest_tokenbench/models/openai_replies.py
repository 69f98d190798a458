"""What servers with the interface of OpenAI reply, in so far as it is used, and what becomes of it."""

import json
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Self

import msgspec

from pytest_tokenbench.models import bounds
from pytest_tokenbench.models.base import MalformedReplyError, WindowExceededError
from pytest_tokenbench.models.wire import hidden, least_tokens
from pytest_tokenbench.records import Generation, ModelInfo

_Count = Annotated[int, msgspec.Meta(ge=0)]

# What a server tells of itself


class Meta(msgspec.Struct):
    """What llama-server tells of a model in its list."""

    n_ctx: int | None = None
    n_ctx_train: int | None = None
    n_params: int | None = None
    ftype: str | None = None


class Listed(msgspec.Struct):
    """One model of the list. `max_model_len` is vLLM's, the last five are LM Studio's."""

    id: str
    aliases: list[str] | None = None
    owned_by: str | None = None
    max_model_len: int | None = None
    meta: Meta | None = None
    state: str | None = None
    arch: str | None = None
    quantization: str | None = None
    loaded_context_length: int | None = None
    max_context_length: int | None = None

    def is_called(self, name: str) -> bool:
        """Whether a request may name it so."""
        return name == self.id or name in (self.aliases or ())


class Models(msgspec.Struct):
    """The list of models."""

    data: list[Listed]


class Defaults(msgspec.Struct):
    """What llama-server does where a request says nothing else."""

    n_ctx: int | None = None


class Props(msgspec.Struct):
    """What llama-server tells of itself."""

    default_generation_settings: Defaults
    build_info: str | None = None


class Version(msgspec.Struct):
    """What vLLM tells of itself."""

    version: str


class Templated(msgspec.Struct):
    """A chat in llama-server's words for the model."""

    prompt: str


class Tokens(msgspec.Struct):
    """A text as llama-server's tokens."""

    tokens: list[int]


class Counted(msgspec.Struct):
    """How many tokens vLLM makes of a chat."""

    count: _Count


# What it answers


class _Message(msgspec.Struct):
    content: str | None = None
    refusal: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None  # what newer vLLM servers call it


class _Choice(msgspec.Struct):
    message: _Message
    finish_reason: str | None = None


class _Details(msgspec.Struct):
    cached_tokens: _Count | None = None


class _Usage(msgspec.Struct):
    prompt_tokens: _Count | None = None
    completion_tokens: _Count | None = None
    prompt_tokens_details: _Details | None = None


class _Timings(msgspec.Struct):
    cache_n: _Count | None = None
    prompt_ms: float | None = None
    predicted_ms: float | None = None


class Reply(msgspec.Struct):
    """The reply to a chat. An error may come without a status that says so."""

    choices: list[_Choice] | None = None
    usage: _Usage | None = None
    timings: _Timings | None = None
    error: Any = None


# What of a generation a server may leave out.
COUNTS = ("input_tokens", "output_tokens")
# Tokenizers and templates agree with the server's own count but for a few special tokens at either end.
_FEW = 4


def generation(
    reply: Reply,
    prompt: str,
    limit: int,
    counted: int | None,
    *,
    wall_s: float,
    info: ModelInfo,
    expected: Collection[str] = (),
) -> Generation:
    """What a reply of at most `limit` tokens says.

    `counted` is how many tokens the server made of the prompt when it was asked before; `expected` are those of `COUNTS`
    that it tells at other times.

    Raises:
        MalformedReplyError: There is no answer in it, or an unfinished one, or it lacks an expected count, or has numbers
            that cannot be.
        WindowExceededError: Some of the prompt was silently dropped.
    """
    if not reply.choices:
        raise MalformedReplyError(f"the reply of {info.host} has no choice in it")
    choice, usage, timings = reply.choices[0], reply.usage or _Usage(), reply.timings or _Timings()
    if choice.finish_reason is None:
        raise MalformedReplyError(f"the reply of {info.host} is not finished: it has no finish_reason")
    cached = (usage.prompt_tokens_details or _Details()).cached_tokens
    cached = timings.cache_n if cached is None else cached
    said, host = choice.message, info.host or info.backend
    text, thinking = said.content or said.refusal or "", said.reasoning_content or said.reasoning or ""
    bounds.check_read(prompt, info.window, host, usage.prompt_tokens, cached)
    bounds.check_written(text + thinking, limit, host, usage.completion_tokens)
    _refuse_cut(prompt, counted, usage, info)
    prefill_s = bounds.seconds(timings.prompt_ms, 1e3, host)
    decode_s = bounds.seconds(timings.predicted_ms, 1e3, host)
    made = Generation(
        text=text,
        input_tokens=usage.prompt_tokens,
        cached_tokens=cached,
        output_tokens=usage.completion_tokens,
        prefill_s=prefill_s,
        decode_s=decode_s,
        load_s=None,
        total_s=None if prefill_s is None or decode_s is None else prefill_s + decode_s,
        wall_s=wall_s,
        stop=choice.finish_reason,
        thinking=thinking or None,
    )
    for name, what in zip(COUNTS, ("the prompt had", "it has itself"), strict=True):
        if name in expected and getattr(made, name) is None:
            raise MalformedReplyError(f"the reply of {host} does not tell how many tokens {what}")
    return made


def _refuse_cut(prompt: str, counted: int | None, usage: _Usage, info: ModelInfo) -> None:
    """Raises if fewer tokens were read than the prompt has, or if prompt and reply together are beyond the window.

    Where the server counts no tokens, a prompt has at least as many as words. Prompt and reply share the window, so
    together they are beyond it only where some of the prompt went to make room; the last token needs no room.
    """
    read = usage.prompt_tokens
    if read is None:
        return
    least = least_tokens(prompt) if counted is None else counted - _FEW
    overflows = info.window is not None and read + (usage.completion_tokens or 0) > info.window + 1
    if read < least or overflows:
        raise WindowExceededError(counted, info.window)


def size(parameters: int | None) -> str | None:
    """A number of parameters as people write it."""
    if parameters is None:
        return None
    return f"{parameters / 1e9:.1f}B" if parameters >= 1e9 else f"{parameters / 1e6:.2f}M"  # noqa: PLR2004


# What an error means


@dataclass(frozen=True, slots=True)
class Fault:
    """An error in words, and what they mean. `is_theirs` says if it is in the form of the interface.

    `is_of_load` is llama-server's, of requests that share a window and fill it together though each fits. `needed` and
    `window` are the figures of an error that `is_of_length`.
    """

    said: str
    is_theirs: bool = False
    is_of_load: bool = False
    is_of_length: bool = False
    needed: int | None = None
    window: int | None = None

    @classmethod
    def of(
        cls,
        said: str,
        names: Sequence[str] = (),
        *,
        needed: int | None = None,
        window: int | None = None,
        is_theirs: bool = False,
    ) -> Self:
        """The fault that these words mean; `names` are its type and code."""
        matches = (pattern.search(said) for pattern in _SIZES)
        sizes = next((match.groupdict() for match in matches if match), {})
        return cls(
            said,
            is_theirs=is_theirs,
            is_of_load=said == "Context size has been exceeded.",
            is_of_length=bool(sizes) or _TOO_LONG.search(" ".join((said, *names))) is not None,
            needed=bounds.figure(sizes["needed"]) if sizes.get("needed") else needed,
            window=bounds.figure(sizes["window"]) if sizes else window or None,
        )

    def without(self, secrets: Sequence[bytes]) -> Self:
        """The same fault, fit to be shown. What it means is not looked for in that: a user's name may be any word."""
        return replace(self, said=hidden(self.said, secrets))

    def too_long(self, window: int | None, max_tokens: int, who: str) -> WindowExceededError | None:
        """The error that it is if it says that a prompt does not fit, else None; `who` says so.

        A need below the window is of the prompt alone, by a server that wants room for the whole reply as well.

        Raises:
            MalformedReplyError: It says so with figures that cannot be.
        """
        if not self.is_of_length:
            return None
        needed, window = self.needed, window if self.window is None else self.window
        if needed is not None and window is not None and 0 <= needed < window:
            needed += max_tokens
        return bounds.refusal(needed, window, who)


def fault(content: bytes) -> Fault:
    """What the body of an error says, in any of the forms that servers give it."""
    try:
        body = json.loads(content)
    except (ValueError, RecursionError):
        return Fault.of(content.decode(errors="replace"))
    if not isinstance(body, dict):
        return Fault.of(json.dumps(body))
    return told(body.get("error", body))


def told(error: Any) -> Fault:
    """What the `error` of a body says: an object, or a text."""
    if not isinstance(error, dict):
        return Fault.of(str(error), is_theirs=True)
    said = error.get("message")
    return Fault.of(
        str(error.get("detail", "") if said is None else said),
        tuple(str(error[name]) for name in ("type", "code") if error.get(name) is not None),
        needed=_count(error, "n_prompt_tokens"),
        window=_count(error, "n_ctx"),
        is_theirs=said is not None,
    )


def _count(error: dict[str, Any], name: str) -> int | None:
    count = error.get(name)
    return count if isinstance(count, int) else None


def _patterns(*patterns: str) -> Sequence[re.Pattern[str]]:
    return [re.compile(pattern, re.IGNORECASE | re.DOTALL) for pattern in patterns]


# How servers say what a prompt needs and what there is: llama-server; LM Studio, twice; vLLM, four times (its newest two
# stop counting at the window, so that what is needed is not told); SGLang, twice; OpenAI.
_SIZES = _patterns(
    r"request \((?P<needed>\d+) tokens\) exceeds the available context size \((?P<window>\d+) tokens\)",
    r"keep the first (?P<needed>\d+) tokens .*context length of only (?P<window>\d+) tokens",
    r"n_keep: (?P<needed>\d+) >= n_ctx: (?P<window>\d+)",
    r"context length is (?P<window>\d+) tokens.* (?:requested|has|resulted in) (?P<needed>\d+) (?:input )?tokens",
    r"\(length (?P<needed>\d+)\) is longer than the maximum model length of (?P<window>\d+)",
    r"context length is (?P<window>\d+) tokens.* at least",
    r"passed \d+ input .*context length is only (?P<window>\d+) tokens",
    r"input \((?P<needed>\d+) tokens\) is longer than the model's context length \((?P<window>\d+) tokens\)",
    r"context length of (?P<window>\d+) tokens.* total of (?P<needed>\d+) tokens",
    r"limit of (?P<window>\d+) tokens.* resulted in (?P<needed>\d+) tokens",
)
_TOO_LONG = re.compile(
    r"(exceed|longer than|too (long|large)|greater than).*\bcontext|\bcontext (length|window)\b.*exceed|\bcontext\b.*overflow"
    r"|maximum (context|model) length|context_length_exceeded|exceed_context_size",
    re.IGNORECASE | re.DOTALL,
)
