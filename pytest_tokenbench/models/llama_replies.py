"""What llama.cpp replies, piece by piece, and how it becomes a generation."""

import json
import threading
from typing import Annotated, Any, NoReturn, TypeVar

import msgspec

from pytest_tokenbench.models import bounds
from pytest_tokenbench.models.base import (
    CrashedError,
    MalformedReplyError,
    TimedOutError,
)
from pytest_tokenbench.records import Generation


def stream(server: Any, request: dict[str, Any], timeout: float | None = None) -> list[bytes]:
    """The pieces of JSON that the engine replies with, within `timeout` seconds.

    A thread waits for the engine and this one for that thread, so that Ctrl-C and timeouts break in: the engine
    would swallow an exception from a callback. What it is doing ends with the batch or token at work.

    Raises:
        CrashedError: The engine failed.
        TimedOutError: It did not come to its end in time.
    """
    pieces: list[bytes] = []
    failures: list[Exception] = []
    halt, done = threading.Event(), threading.Event()

    def take(piece: bytes) -> bool:
        pieces.append(piece)
        return halt.is_set()

    def run() -> None:
        try:
            server.handle_chat_completions(json.dumps(request).encode(), take)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is told below
            failures.append(error)
        finally:
            done.set()

    threading.Thread(target=run, name="tokenbench-embedded", daemon=True).start()
    try:
        in_time = done.wait(timeout)
    finally:
        halt.set()
        done.wait()
    if not in_time:
        raise TimedOutError.after(timeout or 0.0, "llama.cpp")
    if failures:
        raise CrashedError(f"llama.cpp failed: {failures[0]}") from failures[0]
    return pieces


_WHO = "llama.cpp"


class _Delta(msgspec.Struct):
    content: str | None = None
    reasoning_content: str | None = None


class _Choice(msgspec.Struct):
    delta: _Delta
    finish_reason: str | None = None


_Count = Annotated[int, msgspec.Meta(ge=0)]


class _Usage(msgspec.Struct):
    prompt_tokens: _Count
    completion_tokens: _Count


class _Timings(msgspec.Struct):
    cache_n: _Count
    prompt_ms: float
    predicted_ms: float


class _Error(msgspec.Struct):
    message: str = ""
    type: str = ""
    n_prompt_tokens: int | None = None
    n_ctx: int | None = None


class _Piece(msgspec.Struct):
    choices: list[_Choice] = []
    usage: _Usage | None = None
    timings: _Timings | None = None
    error: _Error | None = None


def generation(pieces: list[bytes], prompt: str, limit: int, wall_s: float) -> Generation:
    """The generation that these pieces of a reply to `prompt`, of at most `limit` tokens, make up.

    Raises:
        WindowExceededError: The engine refused the prompt as too long.
        CrashedError: It told another error.
        MalformedReplyError: A piece is no JSON, or the counts are missing or cannot be.
    """
    read = [parsed(piece, _Piece) for piece in pieces]
    for piece in read:
        if piece.error is not None:
            _refused(piece.error)
    last = next((piece for piece in reversed(read) if piece.usage is not None), _Piece())
    if last.usage is None or last.timings is None:
        raise MalformedReplyError("the reply of llama.cpp breaks off without its counts")
    choices = [choice for piece in read for choice in piece.choices]
    text = "".join(choice.delta.content or "" for choice in choices)
    thinking = "".join(choice.delta.reasoning_content or "" for choice in choices)
    bounds.check_read(prompt, None, _WHO, last.usage.prompt_tokens, last.timings.cache_n)
    bounds.check_written(text + thinking, limit, _WHO, last.usage.completion_tokens)
    prefill_s = bounds.seconds(last.timings.prompt_ms, 1e3, _WHO) or 0.0
    decode_s = bounds.seconds(last.timings.predicted_ms, 1e3, _WHO) or 0.0
    return Generation(
        text=text,
        input_tokens=last.usage.prompt_tokens,
        cached_tokens=last.timings.cache_n,
        output_tokens=last.usage.completion_tokens,
        prefill_s=prefill_s,
        decode_s=decode_s,
        load_s=None,
        total_s=prefill_s + decode_s,
        wall_s=wall_s,
        stop=next((choice.finish_reason for choice in reversed(choices) if choice.finish_reason), None),
        thinking=thinking or None,
    )


def _refused(error: _Error) -> NoReturn:
    if error.type == "exceed_context_size_error":
        raise bounds.refusal(error.n_prompt_tokens, error.n_ctx, _WHO)
    raise CrashedError(f"llama.cpp answered: {error.message or error.type or 'an error without a message'}")


Kind = TypeVar("Kind")


def parsed(content: bytes, kind: type[Kind]) -> Kind:
    """What the engine said, as a value of the given kind.

    Raises:
        MalformedReplyError: It is something else.
    """
    try:
        return msgspec.json.decode(content, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise MalformedReplyError(f"llama.cpp said what it should not ({error})") from error
