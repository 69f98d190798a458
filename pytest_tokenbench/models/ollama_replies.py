"""What an Ollama server replies, in so far as it is used, and what becomes of it."""

import contextlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import msgspec

from pytest_tokenbench.models import bounds
from pytest_tokenbench.models.base import GaveUpError, MalformedReplyError, WindowExceededError
from pytest_tokenbench.models.wire import hidden, least_tokens
from pytest_tokenbench.records import Generation, ModelInfo

# Equal tokens in a row at which a server gives a reply up, and the end of a reply in which they are looked for.
REPEATS = 30
SEEN_CHARACTERS = 2000
_REPEATED = re.compile(rf"(\S{{1,64}}?)\1{{{REPEATS - 1}}}$")

# What the server sends, in so far as it is used: all else is passed over. Go leaves out zeros and writes null lists


class Version(msgspec.Struct):
    """Of /api/version."""

    version: str = ""


class Details(msgspec.Struct):
    """What kind of model it is."""

    family: str = ""
    parameter_size: str = ""
    quantization_level: str = ""


class Listed(msgspec.Struct):
    """One model of /api/tags or /api/ps."""

    name: str = ""
    model: str = ""
    digest: str = ""
    details: Details = msgspec.field(default_factory=Details)
    context_length: int = 0

    def is_called(self, name: str) -> bool:
        """Whether the server knows it by this name."""
        return full_name(name) in {full_name(self.name), full_name(self.model)}


class Models(msgspec.Struct):
    """Of /api/tags and /api/ps."""

    models: list[Listed] | None = None


class Shown(msgspec.Struct):
    """Of /api/show."""

    model_info: dict[str, Any] | None = None
    capabilities: list[str] | None = None

    @property
    def trained_window(self) -> int | None:
        """The context length in tokens that the model was trained for."""
        facts = self.model_info or {}
        length = facts.get(f"{facts.get('general.architecture')}.context_length")
        return length if isinstance(length, int) else None


class Message(msgspec.Struct):
    """What the model wrote."""

    content: str
    thinking: str | None = None


_Count = Annotated[int, msgspec.Meta(ge=0)]


class Reply(msgspec.Struct):
    """Of /api/chat."""

    message: Message
    done: bool = False
    done_reason: str | None = None
    prompt_eval_count: _Count | None = None
    prompt_eval_cached_count: _Count | None = None
    eval_count: _Count | None = None
    prompt_eval_duration: _Count | None = None
    eval_duration: _Count | None = None
    load_duration: _Count | None = None
    total_duration: _Count | None = None


def full_name(name: str) -> str:
    """With its tag and without what it has by default, in lower case, as the server compares names."""
    short = name.strip().lower().removeprefix("registry.ollama.ai/").removeprefix("library/")
    return short if ":" in short.rpartition("/")[2] else f"{short}:latest"


# What a reply means


def generation(reply: Reply, prompt: str, limit: int, wall_s: float, info: ModelInfo) -> Generation:
    """The generation that a reply to `prompt` is, of at most `limit` tokens.

    Raises:
        GaveUpError: The server ended it since the model repeated itself.
        MalformedReplyError: It is not done, or lacks counts, or has numbers that cannot be.
        WindowExceededError: Some of the prompt was cut.
    """
    if not reply.done:
        if _repeats_itself(reply.message.content or reply.message.thinking or ""):
            raise GaveUpError(f"{info.host} gave the reply up: the model repeats one token on and on")
        raise MalformedReplyError(f"the reply of {info.host} is not done")
    read, written, host = reply.prompt_eval_count, reply.eval_count, info.host or info.backend
    bounds.check_read(prompt, info.window, host, read, reply.prompt_eval_cached_count)
    bounds.check_written(reply.message.content + (reply.message.thinking or ""), limit, host, written)
    if read is not None and _is_cut(prompt, read, written or 0, info):
        raise WindowExceededError(None, info.window)
    if read is None or written is None:
        what = "the prompt had" if read is None else "it has itself"
        raise MalformedReplyError(f"the reply of {info.host} does not tell how many tokens {what}")
    if read < least_tokens(prompt):  # old servers leave out the tokens that they had cached
        raise MalformedReplyError(
            f"the reply of {info.host} does not tell how many tokens the prompt had: "
            f"it counts {read:,}, fewer than there are words"
        )
    return Generation(
        text=reply.message.content,
        input_tokens=read,
        cached_tokens=reply.prompt_eval_cached_count,
        output_tokens=written,
        prefill_s=bounds.seconds(reply.prompt_eval_duration, 1e9, host),
        decode_s=bounds.seconds(reply.eval_duration, 1e9, host),
        load_s=bounds.seconds(reply.load_duration, 1e9, host),
        total_s=bounds.seconds(reply.total_duration, 1e9, host),
        wall_s=wall_s,
        stop=reply.done_reason or None,
        thinking=reply.message.thinking or None,
    )


def _repeats_itself(text: str) -> bool:
    """Whether a text ends with what makes a server give up: as many equal tokens, white space around them apart."""
    blank = len(text) - len(text.rstrip())
    return blank >= REPEATS or _REPEATED.search("".join(text.split())[-SEEN_CHARACTERS:]) is not None


def _is_cut(prompt: str, read: int, written: int, info: ModelInfo) -> bool:
    """Whether the server dropped some of the prompt, as servers do that do not know `truncate` and `shift`.

    Prompt and reply share the window, so together they are beyond it only where some of the prompt went to make room
    for the reply; the last token of a reply needs no room. Else a prompt was cut if it has more tokens than were read
    of it and these are as many as a cut leaves: the whole window, all but one of it, or half of it (of what is beyond
    num_keep and a leading token; a few tokens to either side are allowed for). A prompt that truly has that many
    tokens is told apart by its words: a word has a token at least, so more words than tokens read is proof of a cut,
    and a prompt that was read in full never has them. The window that the model was trained for counts as well, since
    a server that does not tell what it gave may have given no more than that.
    """
    if info.window is None:
        return False
    room = -(-info.window // 256) * 256  # llama.cpp rounds a window up
    if read + written > room + 1:
        return True
    few = 4
    windows = {info.window, min(info.window, info.trained_window or info.window)}
    left = [size for window in windows for size in (window, window - 1, window // 2 + 2)]
    return least_tokens(prompt) > read and any(abs(read - size) <= few for size in left)


# What an error means


@dataclass(frozen=True, slots=True)
class Fault:
    """An error in words, and what they mean. `is_theirs` says if it is in Ollama's own form, `{"error": ...}`.

    `needed` and `window` are the figures of an error that `is_of_length`; `gives_up` says that the model repeats itself.
    """

    said: str
    is_theirs: bool
    is_of_length: bool
    needed: int | None
    window: int | None
    gives_up: bool


_TOO_LONG = re.compile(
    r"(exceed|longer than|too (long|large)).*\bcontext|\bcontext\b.*exceed", re.IGNORECASE | re.DOTALL
)
_SIZES = re.compile(r"\((\d+) tokens\) exceeds [^(]*\((\d+) tokens\)")
_GIVES_UP = "token repeat limit"  # newer servers; older ones reply without being done


def fault(content: bytes, secrets: Sequence[bytes]) -> Fault:
    """What the body of an error says, without the secrets should they stand there.

    What it means is not looked for in what is shown: a user's name may be any word.
    """
    said, is_theirs = _error_text(content)
    sizes = _SIZES.search(said)
    needed, window = map(bounds.figure, sizes.groups()) if sizes else (None, None)
    return Fault(
        hidden(said, secrets),
        is_theirs=is_theirs,
        is_of_length=_TOO_LONG.search(said) is not None,
        needed=needed,
        window=window,
        gives_up=_GIVES_UP in said,
    )


def _error_text(content: bytes) -> tuple[str, bool]:
    """What an error says, and whether it is in Ollama's own form."""
    try:
        said = json.loads(content)["error"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return content.decode("utf-8", "replace"), False
    with contextlib.suppress(ValueError, KeyError, TypeError, RecursionError):
        said = json.loads(said)["error"]["message"]  # the error of the process that runs the model, whole
    return str(said), True
