"""Any server with the interface of OpenAI: vLLM, llama-server, LM Studio.

The interface has no window, no tokenizer and few sampler options. Servers add those in ways of their own, so the server
is recognised first, and none is sent a field that it may refuse.
"""

import os
import time
from collections.abc import Sequence
from http import HTTPStatus
from typing import Any, NoReturn
from urllib.parse import quote

import httpx

from pytest_tokenbench.models import bounds
from pytest_tokenbench.models.addresses import split_credentials
from pytest_tokenbench.models.base import (
    BusyError,
    CrashedError,
    MalformedReplyError,
    ModelError,
    ModelMissingError,
    RefusedError,
    UnreachableError,
    WindowExceededError,
)
from pytest_tokenbench.models.openai_replies import (
    COUNTS,
    Counted,
    Fault,
    Listed,
    Models,
    Props,
    Reply,
    Templated,
    Tokens,
    Version,
    fault,
    generation,
    size,
    told,
)
from pytest_tokenbench.models.openai_servers import OWNERS, UNTHINKING, Server, options
from pytest_tokenbench.models.wire import (
    Deadline,
    Kind,
    client,
    decoded,
    hidden,
    plain,
    reason,
    sent,
    spellings,
)
from pytest_tokenbench.records import Generation, ModelInfo

KEY_VARIABLE = "OPENAI_API_KEY"
CHAT = "/v1/chat/completions"
LIST = "/v1/models"
# vLLM and llama-server close a connection after 5 s without use. One that is closed just as it is used is no server down.
IDLE_SECONDS = 4.0


class OpenAIModel:
    """A model that a server with OpenAI's interface runs; see `pytest_tokenbench.models.base.Model`."""

    def __init__(
        self,
        name: str,
        *,
        host: str | None,
        window: int = 16384,  # noqa: ARG002 - see below
        timeout: float = 600.0,
    ) -> None:
        """Connects to nothing yet. A key is taken from the environment variable OPENAI_API_KEY.

        Args:
            name: One of the ids that the server lists.
            host: The server's address, with or without /v1. User and password in it take the place of the key. All
                three are sent with every request, and shown nowhere.
            window: Of no effect: these servers have the window that they were started with.
            timeout: Seconds that one reply may take, where a call does not say.
        """
        self.name = name
        self._host = address(host)
        self._timeout = timeout
        _, self._credentials = split_credentials((host or "").strip())
        self._http = client(self._host, self._credentials, idle=IDLE_SECONDS)
        key = None if self._credentials else _key()
        if key:
            self._http.headers["Authorization"] = f"Bearer {key}"
        self._secrets = spellings(key, self._credentials)
        self._has_key = key is not None
        self._server = Server.OTHER
        self._counts_told: frozenset[str] = frozenset()
        self._info: ModelInfo | None = None

    @property
    def host(self) -> str:
        """The server's address, without what lets one in there."""
        return self._host

    def describe(self, *, timeout: float | None = None) -> ModelInfo:
        """Tells what the model is and what window it has.

        `options` has what each request is pinned to, and beside that the "server" recognised, the "window_source", and
        in "tokens_counted" whether the server is asked for a prompt's length before it is sent.
        """
        return self._look(self._begin(timeout))

    def generate(self, prompt: str, *, max_tokens: int, timeout: float | None = None) -> Generation:
        """The model's reply to `prompt` as the only message of a chat. See `Model.generate`."""
        deadline = self._begin(timeout)
        info = self._info or self._look(deadline)
        counted = self._count(prompt, deadline) if info.options["tokens_counted"] else None
        self._refuse_too_long(counted, max_tokens, info.window)
        body = self._chat(prompt, max_tokens)
        started = time.perf_counter()
        reply = self._ask("POST", CHAT, Reply, deadline, body)
        wall_s = time.perf_counter() - started
        if reply.error and not reply.choices:
            why = told(reply.error).without(self._secrets)
            self._refused(CHAT, HTTPStatus.OK, why, deadline, max_tokens)
        # A server that is known, or has told a count before, tells it always: without it something went wrong.
        expected = self._counts_told if self._server is Server.OTHER else COUNTS
        made = generation(reply, prompt, max_tokens, counted, wall_s=wall_s, info=info, expected=expected)
        self._counts_told |= {name for name in COUNTS if getattr(made, name) is not None}
        return made

    def close(self) -> None:
        """Closes the connection."""
        self._http.close()

    def _begin(self, timeout: float | None) -> Deadline:
        return Deadline.within(self._timeout if timeout is None else timeout)

    def _chat(self, prompt: str, max_tokens: int) -> dict[str, Any]:
        asked = {"model": self.name, "messages": _messages(prompt), "max_tokens": max_tokens, "stream": False}
        return asked | options(self._server)

    # What the model is

    def _look(self, deadline: Deadline) -> ModelInfo:
        models = self._ask("GET", LIST, Models, deadline).data
        listed = self._check_listed(models)
        loaded = None if listed.owned_by in OWNERS else self._in_lm_studio(deadline)
        self._server = Server.LM_STUDIO if loaded else OWNERS.get(listed.owned_by, Server.OTHER)
        self._info = self._described(loaded or listed, deadline)
        return self._info

    def _described(self, model: Listed, deadline: Deadline) -> ModelInfo:
        meta = model.meta
        props = self._props(deadline) if self._server is Server.LLAMA else None
        windows = {
            "/props": props.default_generation_settings.n_ctx if props else None,
            "meta.n_ctx": meta.n_ctx if meta else None,
            "max_model_len": model.max_model_len,
            "loaded_context_length": model.loaded_context_length,
        }
        source = next((source for source, window in windows.items() if window), None)
        trained = meta.n_ctx_train if meta else model.max_context_length
        window = bounds.size(windows[source] if source else None, "a context length", self._host)
        parameters = bounds.size(meta.n_params if meta else None, "a number of parameters", self._host)
        return ModelInfo(
            backend="openai",
            name=self.name,
            digest=None,
            window=window,
            trained_window=bounds.size(trained, "a trained context length", self._host),
            server_version=self._version(props, deadline),
            quantization=(meta.ftype if meta else model.quantization) or None,
            parameter_size=size(parameters),
            family=model.arch or None,
            host=self._host,
            options=options(self._server)
            | {
                "server": str(self._server),
                "window_source": source or "not told",
                "tokens_counted": self._count("Yes", deadline) is not None,
            },
        )

    def _props(self, deadline: Deadline) -> Props | None:
        return self._if_there("GET", f"/props?model={quote(self.name, safe='')}", Props, deadline)

    def _version(self, props: Props | None, deadline: Deadline) -> str | None:
        if self._server is Server.VLLM:
            answer = self._if_there("GET", "/version", Version, deadline)
            return self._shown(answer.version) if answer else None
        return self._shown(props.build_info) if props and props.build_info else None

    def _in_lm_studio(self, deadline: Deadline) -> Listed | None:
        """What LM Studio tells beyond the interface, once the model is loaded; None of any other server."""
        model = self._listed_by_lm_studio(deadline)
        if model is None or model.state in {None, "loaded"}:
            return model
        self._ask("POST", CHAT, Reply, deadline, self._chat("Yes", 1))
        return self._listed_by_lm_studio(deadline)

    def _listed_by_lm_studio(self, deadline: Deadline) -> Listed | None:
        models = self._if_there("GET", "/api/v0/models", Models, deadline)
        return next((model for model in models.data if model.is_called(self.name)), None) if models else None

    def _check_listed(self, models: Sequence[Listed]) -> Listed:
        for model in models:
            if model.is_called(self.name):
                return model
        names = [self._shown(model.id) for model in models]
        there = f"it has {', '.join(names)}" if names else "it has none at all"
        raise ModelMissingError(f'the server at {self._host} has no model "{self.name}" ({there})', names)

    # How long a prompt is

    def _count(self, prompt: str, deadline: Deadline) -> int | None:
        """The tokens that the server makes of a prompt, its template included; None if it cannot be asked."""
        counted = self._told_count(prompt, deadline)
        bounds.check_read(prompt, self._info.window if self._info else None, self._host, counted)
        return counted

    def _told_count(self, prompt: str, deadline: Deadline) -> int | None:
        chat = {"model": self.name, "messages": _messages(prompt), **UNTHINKING}
        if self._server is Server.VLLM:
            answer = self._if_there("POST", "/tokenize", Counted, deadline, chat)
            return answer.count if answer else None
        if self._server is not Server.LLAMA:
            return None
        text = self._if_there("POST", "/apply-template", Templated, deadline, chat)
        if text is None:
            return None
        body = {"model": self.name, "content": text.prompt, "add_special": True, "parse_special": True}
        tokens = self._if_there("POST", "/tokenize", Tokens, deadline, body)
        return len(tokens.tokens) if tokens else None

    def _refuse_too_long(self, counted: int | None, max_tokens: int, window: int | None) -> None:
        """Raises what the server would. vLLM wants room for the whole reply, llama-server for a token of it."""
        if counted is None or window is None:
            return
        needed = counted + (max_tokens if self._server is Server.VLLM else 1)
        if needed > window:
            raise WindowExceededError(needed if self._server is Server.VLLM else counted, window)

    # Asking, and being refused

    def _ask(
        self, method: str, path: str, kind: type[Kind], deadline: Deadline, body: dict[str, Any] | None = None
    ) -> Kind:
        """What the server replies, or the ModelError that fits."""
        status, got = self._send(method, path, deadline, body)
        if isinstance(got, Fault):
            most = body.get("max_tokens", 0) if body else 0
            self._refused(path, status, got, deadline, most)
        return decoded(got, kind, self._host + path)

    def _if_there(
        self, method: str, path: str, kind: type[Kind], deadline: Deadline, body: dict[str, Any] | None = None
    ) -> Kind | None:
        """As `_ask`, and None where the server does not know the path, in whatever way it says so."""
        try:
            return self._ask(method, path, kind, deadline, body)
        except MalformedReplyError:
            return None

    def _send(
        self, method: str, path: str, deadline: Deadline, body: dict[str, Any] | None
    ) -> tuple[int, bytes | Fault]:
        """Status and body of the reply; of an error what it says, without the key should that stand there.

        Errors raised have no cause: httpx keeps the key where a report might show it.
        """
        try:
            status, content = sent(self._http, method, self._host + path, deadline, body)
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            raise UnreachableError(
                f"nothing answers at {self._host} ({self._shown(reason(error))}); "
                "start the server, or say with --tokenbench-host where it runs"
            ) from None
        except httpx.RequestError as error:
            raise UnreachableError(
                f"the connection to {self._host} broke ({self._shown(reason(error))})"
            ) from None
        return status, content if httpx.codes.is_success(status) else fault(content).without(self._secrets)

    def _refused(self, path: str, status: int, why: Fault, deadline: Deadline, max_tokens: int) -> NoReturn:
        """Raises what an error means."""
        answered = f"{self._host}{path} answered {status}" + (f": {why.said}" if why.said else "")
        window = self._info.window if self._info else None
        may_be_of_length = path == CHAT and status not in _NOT_OF_LENGTH
        if may_be_of_length and (too_long := why.too_long(window, max_tokens, self._host)):
            raise too_long
        if status == HTTPStatus.UNAUTHORIZED or (status == HTTPStatus.FORBIDDEN and path in {CHAT, LIST}):
            raise ModelError(f"{answered}; {self._how_to_get_in()}")
        if status == HTTPStatus.NOT_FOUND and path == CHAT and why.is_theirs:
            self._check_listed(self._ask("GET", LIST, Models, deadline).data)
        if status in {HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.TOO_MANY_REQUESTS} or why.is_of_load:
            raise BusyError(answered)
        if status >= HTTPStatus.INTERNAL_SERVER_ERROR and status != HTTPStatus.NOT_IMPLEMENTED:
            raise CrashedError(answered)
        if path == CHAT and why.is_theirs and status != HTTPStatus.OK:
            raise RefusedError(answered)
        doubt = "" if why.is_theirs else "; is that a server with the interface of OpenAI?"
        raise MalformedReplyError(answered + doubt)

    def _how_to_get_in(self) -> str:
        if self._credentials:
            return "it does not accept the user and password in its address"
        if self._has_key:
            return f"it does not accept the key in the environment variable {KEY_VARIABLE}"
        return f"if it wants a key, put that into the environment variable {KEY_VARIABLE}"

    def _shown(self, text: str) -> str:
        """What a server said, fit to be read, without the key should it stand there."""
        return hidden(text, self._secrets)


# What these say is never about the prompt.
_NOT_OF_LENGTH = {
    HTTPStatus.UNAUTHORIZED,
    HTTPStatus.FORBIDDEN,
    HTTPStatus.NOT_FOUND,
    HTTPStatus.TOO_MANY_REQUESTS,
    HTTPStatus.SERVICE_UNAVAILABLE,
}


def address(host: str | None) -> str:
    """The URL that `host` means, without /v1 and without what lets one in.

    Raises:
        UnreachableError: It is no address.
    """
    given, _ = split_credentials((host or "").strip())
    if not given:
        raise UnreachableError(
            "say with --tokenbench-host where the server runs, as in http://127.0.0.1:8000"
        )
    try:
        url = httpx.URL(given if "://" in given else f"http://{given}")
    except httpx.InvalidURL:
        url = httpx.URL()
    if url.scheme not in {"http", "https"} or not url.host or url.query or url.fragment:
        raise UnreachableError(f'"{plain(given.partition("?")[0])}" is no address of a server')
    return str(url).rstrip("/").removesuffix("/v1").rstrip("/")


def _key() -> str | None:
    """The key in the environment, None if there is none.

    Raises:
        ModelError: It cannot be one.
    """
    key = os.environ.get(KEY_VARIABLE, "").strip()
    if not (key.isascii() and key.isprintable()):
        raise ModelError(f"the environment variable {KEY_VARIABLE} has characters in it that no key has")
    return key or None


def _messages(prompt: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": prompt}]
