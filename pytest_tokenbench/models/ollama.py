"""Ollama, asked over its own HTTP interface.

Plain httpx speaks to the server, not the `ollama` package: its import costs another 200 ms in every process, and its
typed replies know no field that is newer than itself (`prompt_eval_cached_count`). The package is imported for its
rules on OLLAMA_HOST alone, and only where they have something to decide.
"""

import contextlib
import ipaddress
import json
import os
import re
import ssl
import time
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Annotated, Any, NoReturn, TypeVar

import httpx
import msgspec

from pytest_tokenbench.models.base import (
    BusyError,
    CrashedError,
    MalformedReplyError,
    ModelError,
    ModelMissingError,
    TimedOutError,
    UnreachableError,
    WindowExceededError,
)
from pytest_tokenbench.records import Generation, ModelInfo

DEFAULT_HOST = "http://127.0.0.1:11434"
KEEP_ALIVE = "60m"
CONNECT_SECONDS = 10.0
SHOWN_CHARACTERS = 300

# Whatever a Modelfile's PARAMETER lines set applies underneath, so every sampler option that a server knows is said.
# Mirostat and tail-free sampling are gone from current servers, which log a warning at each call that names them, and
# neither acts at temperature 0. num_keep shapes only a truncation, which is how one is recognised (see `_is_cut`).
PINNED: Mapping[str, Any] = {
    "temperature": 0,
    "seed": 0,
    "top_k": 0,
    "top_p": 1,
    "min_p": 0,
    "typical_p": 1,
    "repeat_last_n": 0,
    "repeat_penalty": 1,
    "presence_penalty": 0,
    "frequency_penalty": 0,
    "stop": [],
    "num_keep": 4,
}
# Both are False so that a prompt beyond the window is refused, and never cut before or while the reply is written.
UNCUT: Mapping[str, Any] = {"truncate": False, "shift": False}


class OllamaModel:
    """A model that an Ollama server runs; see `pytest_tokenbench.models.base.Model`."""

    def __init__(
        self, name: str, *, host: str | None = None, window: int = 16384, timeout: float = 600.0
    ) -> None:
        """Connects to nothing yet.

        Args:
            name: As in `ollama run`; without a tag it means `:latest`.
            host: In any spelling that OLLAMA_HOST may have; None takes that variable, else the default address.
            window: The context length in tokens to ask for. What was given stands in `describe().window`.
            timeout: Seconds that one reply may take, loading the model included.
        """
        self.name = name
        self.host = address(host)
        self._asked_window = window
        self._timeout = timeout
        self._http = _client(self.host, timeout)
        self._info: ModelInfo | None = None

    def describe(self) -> ModelInfo:
        """Loads the model with the window asked for and tells what it is and what window it got.

        `options` has what each request is pinned to, and in "window_source" where `window` comes from: "api/ps", or
        "asked" where the server, being old, does not tell the context length of a loaded model.
        """
        self._info = self._look()
        return self._info

    def generate(self, prompt: str, *, max_tokens: int) -> Generation:
        """The model's reply to `prompt` as the only message of a chat. See `Model.generate`."""
        info = self._info or self.describe()
        body = self._chat([{"role": "user", "content": prompt}], thinks="think" in info.options)
        body["options"]["num_predict"] = max_tokens
        started = time.perf_counter()
        reply = self._ask("POST", "/api/chat", _Reply, body)
        return _generation(reply, prompt, time.perf_counter() - started, info)

    def close(self) -> None:
        """Closes the connection. The model stays loaded on the server for others, for an hour at most."""
        self._http.close()

    def _look(self) -> ModelInfo:
        version = self._ask("GET", "/api/version", _Version).version
        models = self._models("/api/tags")
        listed = next((model for model in models if model.is_called(self.name)), None)
        if listed is None:
            raise self._missing(models)
        shown = self._ask("POST", "/api/show", _Shown, {"model": self.name})
        body = self._chat([], thinks="thinking" in (shown.capabilities or ()))
        self._ask("POST", "/api/chat", _Reply, body)
        loaded = self._models("/api/ps")
        # Models that share their weights are loaded once, and listed by the name that was first asked for.
        alike = [model for model in loaded if model.details == listed.details]
        running = [model for model in loaded if model.is_called(self.name)] or alike
        window = running[0].context_length if len(running) == 1 else 0
        pinned = {key: body[key] for key in (*UNCUT, "think") if key in body}
        return ModelInfo(
            backend="ollama",
            name=self.name,
            digest=listed.digest,
            window=window or self._asked_window,
            trained_window=shown.trained_window,
            server_version=version or None,
            quantization=listed.details.quantization_level or None,
            parameter_size=listed.details.parameter_size or None,
            family=listed.details.family or None,
            host=self.host,
            options=body["options"] | pinned | {"window_source": "api/ps" if window else "asked"},
        )

    def _chat(self, messages: list[dict[str, str]], *, thinks: bool) -> dict[str, Any]:
        """A chat request; without messages it loads the model, and with the same settings, lest it is reloaded."""
        body = {"model": self.name, "messages": messages, "stream": False, "keep_alive": KEEP_ALIVE, **UNCUT}
        if thinks:
            body["think"] = False
        body["options"] = {**PINNED, "num_ctx": self._asked_window}
        return body

    def _models(self, path: str) -> Sequence["_Listed"]:
        return self._ask("GET", path, _Models).models or ()

    def _missing(self, models: Sequence["_Listed"]) -> ModelMissingError:
        names = [_plain(model.name or model.model) for model in models]
        there = f"it has {', '.join(names)}" if names else "it has none at all"
        return ModelMissingError(
            f'the Ollama server at {self.host} has no model "{self.name}" ({there}); '
            f"run `ollama pull {self.name}`",
            names,
        )

    def _ask(self, method: str, path: str, kind: type["Kind"], body: dict[str, Any] | None = None) -> "Kind":
        """What the server replies, or the ModelError that fits."""
        url = self.host + path
        try:
            response = self._http.request(method, url, json=body)
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            raise UnreachableError(
                f"nothing answers at {self.host} ({_reason(error)}); "
                "start it with `ollama serve`, or say with --tokenbench-host where it runs"
            ) from error
        except httpx.TimeoutException as error:
            raise TimedOutError(f"{url} did not answer within {self._timeout:g} s") from error
        except httpx.RequestError as error:
            raise UnreachableError(f"the connection to {self.host} broke ({_reason(error)})") from error
        if not response.is_success:
            self._refused(path, response)
        return _parsed(response.content, kind, url)

    def _refused(self, path: str, response: httpx.Response) -> NoReturn:
        """Raises what a reply that is no success means."""
        status = response.status_code
        said, is_ollamas = _error_text(response)
        answered = f"{self.host}{path} answered {status}" + (f": {said}" if said else "")
        if status in _TOO_LONG_STATUSES and _TOO_LONG.search(said):
            sizes = _SIZES.search(said)
            window = self._info.window if self._info else None
            raise WindowExceededError(*(map(int, sizes.groups()) if sizes else (None, window)))
        if status == HTTPStatus.NOT_FOUND and is_ollamas and path in {"/api/chat", "/api/show"}:
            raise self._missing(self._models("/api/tags"))
        if status in {HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.TOO_MANY_REQUESTS}:
            raise BusyError(answered)
        if "token repeat limit" in said:  # newer servers; see `_generation` for what older ones do
            raise MalformedReplyError(answered)
        if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            raise CrashedError(answered)
        if not is_ollamas:
            raise MalformedReplyError(f"{answered}; is that an Ollama server?")
        raise ModelError(answered)


# Where the server is


def address(host: str | None = None) -> str:
    """The URL that `host`, or else OLLAMA_HOST, or else the default means, by the rules of Ollama's own client.

    Raises:
        UnreachableError: It is no address.
    """
    given = (host or os.environ.get("OLLAMA_HOST") or DEFAULT_HOST).strip()
    if re.fullmatch(r"https?://[\w.-]+:\d{1,5}", given):  # complete: nothing is left to the rules
        return given
    import ollama  # noqa: PLC0415 - slow, see the top

    try:
        client = ollama.Client(host=given, verify=_no_certificates(), trust_env=False)
        return str(client._client.base_url).rstrip("/")  # noqa: SLF001 - it tells its address nowhere else
    except (ValueError, httpx.InvalidURL) as error:
        raise UnreachableError(f'"{_plain(given)}" is no address of an Ollama server') from error


def _client(url: str, timeout: float) -> httpx.Client:
    """A client that keeps its connection. Proxies and the like in the environment hold for other machines only."""
    return httpx.Client(
        timeout=httpx.Timeout(timeout, connect=min(timeout, CONNECT_SECONDS)),
        limits=httpx.Limits(keepalive_expiry=None),
        trust_env=not _is_loopback(httpx.URL(url).host),
        verify=url.startswith("https:") or _no_certificates(),
    )


def _no_certificates() -> ssl.SSLContext:
    """Trusts nobody. Enough where there is no TLS, and spares the 100 ms that reading the authorities takes."""
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def _is_loopback(host: str) -> bool:
    with contextlib.suppress(ValueError):
        ip = ipaddress.ip_address(host)
        return ip.is_loopback or ip.is_unspecified
    return host == "localhost" or host.endswith(".localhost")


# What the server replies, in so far as it is used: all else is passed over. Go leaves out zeros and writes null lists


class _Version(msgspec.Struct):
    version: str = ""


class _Details(msgspec.Struct):
    family: str = ""
    parameter_size: str = ""
    quantization_level: str = ""


class _Listed(msgspec.Struct):
    name: str = ""
    model: str = ""
    digest: str = ""
    details: _Details = msgspec.field(default_factory=_Details)
    context_length: int = 0

    def is_called(self, name: str) -> bool:
        return _full_name(name) in {_full_name(self.name), _full_name(self.model)}


class _Models(msgspec.Struct):
    models: list[_Listed] | None = None


class _Shown(msgspec.Struct):
    model_info: dict[str, Any] | None = None
    capabilities: list[str] | None = None

    @property
    def trained_window(self) -> int | None:
        facts = self.model_info or {}
        length = facts.get(f"{facts.get('general.architecture')}.context_length")
        return length if isinstance(length, int) else None


class _Message(msgspec.Struct):
    content: str
    thinking: str | None = None


_Count = Annotated[int, msgspec.Meta(ge=0)]


class _Reply(msgspec.Struct):
    message: _Message
    done: bool = False
    done_reason: str | None = None
    prompt_eval_count: _Count | None = None
    prompt_eval_cached_count: _Count | None = None
    eval_count: _Count | None = None
    prompt_eval_duration: _Count | None = None
    eval_duration: _Count | None = None
    load_duration: _Count | None = None
    total_duration: _Count | None = None


Kind = TypeVar("Kind", _Version, _Models, _Shown, _Reply)


def _parsed(content: bytes, kind: type[Kind], url: str) -> Kind:
    try:
        return msgspec.json.decode(content, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        what = f"what it should not ({_plain(str(error))})" if content.strip() else "an empty reply"
        raise MalformedReplyError(f"{url} sent {what}") from error


def _full_name(name: str) -> str:
    """With its tag and without what it has by default, in lower case, as the server compares names."""
    short = name.strip().lower().removeprefix("registry.ollama.ai/").removeprefix("library/")
    return short if ":" in short.rpartition("/")[2] else f"{short}:latest"


# What a reply means


def _generation(reply: _Reply, prompt: str, wall_s: float, info: ModelInfo) -> Generation:
    if not reply.done:
        raise MalformedReplyError(
            f"the reply of {info.host} is not done: "
            "the server gave it up, as it does when a model repeats one token on and on"
        )
    if _is_cut(prompt, reply, info):
        raise WindowExceededError(None, info.window)
    read = reply.prompt_eval_count
    return Generation(
        text=reply.message.content,
        # Old servers leave out the tokens that they had cached: what cannot be the whole prompt's count is unknown.
        input_tokens=None if read is None or read < _least_tokens(prompt) else read,
        cached_tokens=reply.prompt_eval_cached_count,
        output_tokens=reply.eval_count,
        prefill_s=_seconds(reply.prompt_eval_duration),
        decode_s=_seconds(reply.eval_duration),
        load_s=_seconds(reply.load_duration),
        total_s=_seconds(reply.total_duration),
        wall_s=wall_s,
        stop=reply.done_reason or None,
        thinking=reply.message.thinking or None,
    )


def _is_cut(prompt: str, reply: _Reply, info: ModelInfo) -> bool:
    """Whether the server dropped some of the prompt, as servers do that do not know `truncate` and `shift`.

    Prompt and reply share the window, so together they are beyond it only where some of the prompt went to make room
    for the reply; the last token of a reply needs no room. Else a prompt was cut if it has more tokens than were read
    of it and these are as many as a cut leaves: the whole window, all but one of it, or half of it (of what is beyond
    num_keep and a leading token; a few tokens to either side are allowed for). A prompt that truly has that many
    tokens is told apart by its words: a word has a token at least, so more words than tokens read is proof of a cut,
    and a prompt that was read in full never has them. The window that the model was trained for counts as well, since
    a server that does not tell what it gave may have given no more than that.
    """
    read = reply.prompt_eval_count
    if read is None:
        return False
    room = -(-info.window // 256) * 256  # llama.cpp rounds a window up
    if read + (reply.eval_count or 0) > room + 1:
        return True
    few = 4
    windows = {info.window, min(info.window, info.trained_window or info.window)}
    left = [size for window in windows for size in (window, window - 1, window // 2 + 2)]
    return _least_tokens(prompt) > read and any(abs(read - size) <= few for size in left)


def _least_tokens(prompt: str) -> int:
    """A number of tokens that no tokenizer of the usual kind falls short of: none joins words across white space."""
    return len(prompt.split())


def _seconds(nanoseconds: int | None) -> float | None:
    return None if nanoseconds is None else nanoseconds / 1e9


# What an error means

# Servers of the time when `truncate` was new say with 500 that a prompt is too long.
_TOO_LONG_STATUSES = {HTTPStatus.BAD_REQUEST, HTTPStatus.INTERNAL_SERVER_ERROR}
_TOO_LONG = re.compile(r"(exceed|longer than|too (long|large)).*\bcontext|\bcontext\b.*exceed", re.IGNORECASE)
_SIZES = re.compile(r"\((\d+) tokens\) exceeds [^(]*\((\d+) tokens\)")


def _error_text(response: httpx.Response) -> tuple[str, bool]:
    """What an error says in words, and whether it is in Ollama's own form, `{"error": ...}`."""
    try:
        said = json.loads(response.content)["error"]
    except (ValueError, KeyError, TypeError):
        return _plain(response.text), False
    with contextlib.suppress(ValueError, KeyError, TypeError):
        said = json.loads(said)["error"]["message"]  # the error of the process that runs the model, whole
    return _plain(str(said)), True


def _reason(error: httpx.RequestError) -> str:
    return _plain(str(error)) or type(error).__name__


def _plain(text: str) -> str:
    """On one line, without control characters, and not too long to read."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return line if len(line) <= SHOWN_CHARACTERS else line[: SHOWN_CHARACTERS - 3] + "..."
