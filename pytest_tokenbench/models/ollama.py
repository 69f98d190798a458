"""Ollama, asked over its own HTTP interface.

Plain httpx speaks to the server, not the `ollama` package: its import costs another 200 ms in every process, and its
typed replies know no field that is newer than itself (`prompt_eval_cached_count`). The package is imported for its
rules on OLLAMA_HOST alone, and only where they have something to decide.
"""

import os
import re
import time
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any, NoReturn

import httpx

from pytest_tokenbench.models import bounds
from pytest_tokenbench.models.addresses import split_credentials
from pytest_tokenbench.models.base import (
    BusyError,
    CrashedError,
    GaveUpError,
    MalformedReplyError,
    ModelError,
    ModelMissingError,
    RefusedError,
    UnreachableError,
)
from pytest_tokenbench.models.ollama_replies import (
    Fault,
    Listed,
    Models,
    Reply,
    Shown,
    Version,
    fault,
    generation,
)
from pytest_tokenbench.models.wire import (
    Deadline,
    Kind,
    client,
    decoded,
    no_certificates,
    plain,
    reason,
    sent,
    spellings,
)
from pytest_tokenbench.records import Generation, ModelInfo

CHAT = "/api/chat"
DEFAULT_HOST = "http://127.0.0.1:11434"
KEEP_ALIVE = "60m"
# The first version that runs llama.cpp's server, which keeps former prompts in host memory, and how much of it.
KEEPS_PROMPTS_SINCE = (0, 30)
KEPT = "8 GiB"

# Whatever a Modelfile's PARAMETER lines set applies underneath, so every sampler option that a server knows is said.
# Mirostat and tail-free sampling are gone from current servers, which log a warning at each call that names them, and
# neither acts at temperature 0. num_keep shapes only a truncation, which is how one is recognised.
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
# Servers of the time when `truncate` was new say with 500 that a prompt is too long.
_TOO_LONG_STATUSES = {HTTPStatus.BAD_REQUEST, HTTPStatus.INTERNAL_SERVER_ERROR}


class OllamaModel:
    """A model that an Ollama server runs; see `pytest_tokenbench.models.base.Model`."""

    def __init__(
        self, name: str, *, host: str | None = None, window: int = 16384, timeout: float = 600.0
    ) -> None:
        """Connects to nothing yet.

        Args:
            name: As in `ollama run`; without a tag it means `:latest`.
            host: In any spelling that OLLAMA_HOST may have; None takes that variable, else the default address. User
                and password in it are sent with every request, and shown nowhere.
            window: The context length in tokens to ask for. What was given stands in `describe().window`.
            timeout: Seconds that one reply may take, loading the model included, where a call does not say.
        """
        self.name = name
        self._host = address(host)
        self._asked_window = window
        self._timeout = timeout
        self._deadline = Deadline.within(timeout)
        _, credentials = split_credentials(_given(host))
        self._http = client(self._host, credentials)
        self._secrets = spellings(None, credentials)
        self._info: ModelInfo | None = None

    @property
    def host(self) -> str:
        """The server's address, without what lets one in there."""
        return self._host

    def describe(self, *, timeout: float | None = None) -> ModelInfo:
        """Loads the model with the window asked for and tells what it is and what window it got.

        `options` has what each request is pinned to, and in "window_source" where `window` comes from: "api/ps", or
        "asked" where the server, being old, does not tell the context length of a loaded model.
        """
        self._begin(timeout)
        return self._look()

    def generate(self, prompt: str, *, max_tokens: int, timeout: float | None = None) -> Generation:
        """The model's reply to `prompt` as the only message of a chat. See `Model.generate`."""
        self._begin(timeout)
        info = self._info or self._look()
        body = self._chat([{"role": "user", "content": prompt}], thinks="think" in info.options)
        body["options"]["num_predict"] = max_tokens
        started = time.perf_counter()
        reply = self._ask("POST", CHAT, Reply, body)
        return generation(reply, prompt, max_tokens, time.perf_counter() - started, info)

    def close(self) -> None:
        """Closes the connection. The model stays loaded on the server for others, for an hour at most."""
        self._http.close()

    def _begin(self, timeout: float | None) -> None:
        """Has all requests of a call end in time."""
        self._deadline = Deadline.within(self._timeout if timeout is None else timeout)

    def _look(self) -> ModelInfo:
        version = self._ask("GET", "/api/version", Version).version
        models = self._models("/api/tags")
        listed = next((model for model in models if model.is_called(self.name)), None)
        if listed is None:
            raise self._missing(models)
        shown = self._ask("POST", "/api/show", Shown, {"model": self.name})
        body = self._chat([], thinks="thinking" in (shown.capabilities or ()))
        self._ask("POST", CHAT, Reply, body)
        loaded = self._models("/api/ps")
        # Models that share their weights are loaded once, and listed by the name that was first asked for.
        alike = [model for model in loaded if model.details == listed.details]
        running = [model for model in loaded if model.is_called(self.name)] or alike
        told = running[0].context_length if len(running) == 1 else 0
        window = bounds.size(told, "a context length", self.host)
        pinned = {key: body[key] for key in (*UNCUT, "think") if key in body}
        self._info = ModelInfo(
            backend="ollama",
            name=self.name,
            digest=listed.digest,
            window=window or self._asked_window,
            trained_window=bounds.size(shown.trained_window, "a trained context length", self.host),
            server_version=version or None,
            quantization=listed.details.quantization_level or None,
            parameter_size=listed.details.parameter_size or None,
            family=listed.details.family or None,
            host=self.host,
            options=body["options"] | pinned | {"window_source": "api/ps" if window else "asked"},
        )
        return self._info

    def _chat(self, messages: list[dict[str, str]], *, thinks: bool) -> dict[str, Any]:
        """A chat request; without messages it loads the model, and with the same settings, lest it is reloaded."""
        body = {"model": self.name, "messages": messages, "stream": False, "keep_alive": KEEP_ALIVE, **UNCUT}
        if thinks:
            body["think"] = False
        body["options"] = {**PINNED, "num_ctx": self._asked_window}
        return body

    def _models(self, path: str) -> Sequence[Listed]:
        return self._ask("GET", path, Models).models or ()

    def _missing(self, models: Sequence[Listed]) -> ModelMissingError:
        names = [plain(model.name or model.model) for model in models]
        there = f"it has {', '.join(names)}" if names else "it has none at all"
        return ModelMissingError(
            f'the Ollama server at {self.host} has no model "{self.name}" ({there}); '
            f"run `ollama pull {self.name}`",
            names,
        )

    def _ask(self, method: str, path: str, kind: type[Kind], body: dict[str, Any] | None = None) -> Kind:
        """What the server replies, or the ModelError that fits."""
        status, got = self._send(method, path, body)
        if isinstance(got, Fault):
            self._refused(path, status, got)
        return decoded(got, kind, self.host + path)

    def _send(self, method: str, path: str, body: dict[str, Any] | None) -> tuple[int, bytes | Fault]:
        """Status and body of the reply; of an error what it says, without the password should that stand there."""
        try:
            status, content = sent(self._http, method, self.host + path, self._deadline, body)
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            raise UnreachableError(
                f"nothing answers at {self.host} ({reason(error)}); "
                "start it with `ollama serve`, or say with --tokenbench-host where it runs"
            ) from error
        except httpx.RequestError as error:
            raise UnreachableError(f"the connection to {self.host} broke ({reason(error)})") from error
        return status, content if httpx.codes.is_success(status) else fault(content, self._secrets)

    def _refused(self, path: str, status: int, why: Fault) -> NoReturn:
        """Raises what an error means."""
        answered = f"{self.host}{path} answered {status}" + (f": {why.said}" if why.said else "")
        if status in _TOO_LONG_STATUSES and why.is_of_length:
            window = self._info.window if self._info and why.window is None else why.window
            raise bounds.refusal(why.needed, window, f"{self.host}{path}")
        if status == HTTPStatus.NOT_FOUND and why.is_theirs and path in {CHAT, "/api/show"}:
            raise self._missing(self._models("/api/tags"))
        if status in {HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.TOO_MANY_REQUESTS}:
            raise BusyError(answered)
        if why.gives_up:
            raise GaveUpError(answered)
        if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            raise CrashedError(answered)
        if status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
            raise ModelError(
                f"{answered}; give what lets you in there as --tokenbench-host http://user:password@..."
            )
        if not why.is_theirs:
            raise MalformedReplyError(f"{answered}; is that an Ollama server?")
        raise RefusedError(answered) if path == CHAT else ModelError(answered)


# Where the server is


def address(host: str | None = None) -> str:
    """The URL that `host`, or else OLLAMA_HOST, or else the default means, by the rules of Ollama's own client.

    Raises:
        UnreachableError: It is no address.
    """
    given, _ = split_credentials(_given(host))
    if re.fullmatch(r"https?://[\w.-]+:\d{1,5}", given):  # complete: nothing is left to the rules
        return given
    scheme, separator, _ = given.partition("://")
    if separator and scheme.lower() not in {"http", "https"}:
        raise UnreachableError(
            f'"{plain(given)}" is no address of an Ollama server: {plain(scheme)} is not HTTP'
        )
    import ollama  # noqa: PLC0415 - slow, see the top

    try:
        client = ollama.Client(host=given, verify=no_certificates(), trust_env=False)
        return str(client._client.base_url).rstrip("/")  # noqa: SLF001 - it tells its address nowhere else
    except (ValueError, httpx.InvalidURL) as error:
        raise UnreachableError(f'"{plain(given)}" is no address of an Ollama server') from error


def _given(host: str | None) -> str:
    return (host or os.environ.get("OLLAMA_HOST") or DEFAULT_HOST).strip()


# What a server keeps


def host_cache_note(info: ModelInfo) -> str | None:
    """A sentence on the prompts that the server keeps beyond the last one, None if it is not known to do so."""
    version = re.match(r"(\d+)\.(\d+)", info.server_version or "")
    if version is None or tuple(map(int, version.groups())) < KEEPS_PROMPTS_SINCE:
        return None
    return (
        f"Ollama {info.server_version} keeps up to {KEPT} of former prompts in host memory, unless it was started with "
        "LLAMA_ARG_CACHE_RAM=0, so that a document asked about some trials ago need not be read anew; to have short "
        "prompts cold too, which all begin alike, use --tokenbench-nonce"
    )
