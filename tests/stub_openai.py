"""A stub of servers with the interface of OpenAI: fast, without a model, and each kind in its own words.

In a test:

    with StubOpenAI("vllm", window=4096, answer=lambda prompt: "42") as stub:
        model = OpenAIModel("reader", host=stub.url)

By hand, or to be killed by a test: `python tests/stub_openai.py --kind vllm --port 0` prints its URL and serves.

A prompt has as many tokens as it has words between white space, and `OVERHEAD` for the chat template. An answer has one
for each word and one for its end. There is no prefix cache. "plain" knows no path and no field beyond the interface, and
refuses those that it does not know.
"""

import argparse
import json
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from email.message import Message
from typing import Any

from stub_http import StubHTTP

OVERHEAD = 10
STANDARD = {
    "model",
    "messages",
    "max_tokens",
    "stream",
    "temperature",
    "seed",
    "top_p",
    "presence_penalty",
    "frequency_penalty",
    "n",
}
OWNERS = {"llama": "llamacpp", "vllm": "vllm", "lmstudio": "organization_owner", "plain": "system"}
# What befalls a chat: a status with a body, or the end of the connection.
FAULTS: dict[str, tuple[int, Any]] = {
    "503": (503, {"error": {"message": "Loading model", "type": "unavailable_error", "code": 503}}),
    "429": (429, {"error": {"message": "Rate limit reached", "type": "requests", "code": "rate_limit"}}),
    "500": (500, {"object": "error", "message": "EngineCore\x1b[31m died\r\nhere", "code": 500}),
    "502": (502, "<html>Bad Gateway</html>"),
    "400": (400, {"error": {"message": "top_p must be in (0, 1]", "type": "invalid_request_error"}}),
    "error_200": (200, {"error": "Model unloaded"}),
    "malformed": (200, '{"choices": [{"mess'),
    "not_object": (200, []),
    "empty": (200, ""),
    "no_choices": (200, {"usage": {"prompt_tokens": 5}}),
    "empty_choices": (200, {"choices": []}),
    "no_message": (200, {"choices": [{"finish_reason": "stop"}]}),
    "unfinished": (200, {"choices": [{"message": {"content": "Yes"}, "finish_reason": None}]}),
    "wrong_count": (
        200,
        {
            "choices": [{"message": {"content": "Yes"}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": "many"},
        },
    ),
    "html": (404, "<html>nothing here</html>"),
    "detail": (404, {"detail": "Not Found"}),
    "moved": (301, ""),
}
BREAKS = {"refuse", "reset", "half", "drip", "slow"}


@dataclass(frozen=True)
class Request:
    """One request that the stub got."""

    method: str
    path: str
    body: dict[str, Any] = field(default_factory=dict)
    authorization: str | None = None


def count_tokens(text: str) -> int:
    """The tokens of a prompt as the stub counts them, chat template included."""
    return len(text.split()) + OVERHEAD


class StubOpenAI(StubHTTP):
    """The stub: a context manager that serves on 127.0.0.1 while it is open."""

    def __init__(
        self,
        kind: str = "llama",
        *,
        models: Sequence[str] = ("reader",),
        window: int = 16384,
        answer: Callable[[str], str] = lambda _prompt: "not stated",
        usage: Mapping[str, Any] | None = None,
        message: Mapping[str, Any] | None = None,
        cut_to: int | None = None,
        shifts: bool = False,
        counts: bool = True,
        loaded: bool = True,
        accepts: str | None = None,
        faults: Sequence[str | None] = (),
        delay: float = 0.0,
        port: int = 0,
    ) -> None:
        """Opens the port; serves from `start` or `with` on.

        Args:
            kind: One of `OWNERS`.
            models: The ids that it lists.
            window: Of each model, in tokens.
            answer: From the prompt to the reply.
            usage: Takes the place of, or stands beside, what is counted.
            message: Fields of the reply's message beside the answer.
            cut_to: A longer prompt is silently cut to this many tokens, and never refused.
            shifts: Whether a reply goes on beyond the window, at the cost of the prompt.
            counts: Whether it has the paths that count tokens.
            loaded: Whether LM Studio has the model in memory before the first chat.
            accepts: The only `Authorization` that lets one in.
            faults: What befalls the n-th chat; see `FAULTS` and `BREAKS`.
            delay: Seconds that a chat takes.
            port: 0 takes a free one.
        """
        super().__init__(port)
        self.kind, self.models, self.window, self.answer = kind, models, window, answer
        self.usage, self.message, self.cut_to = usage or {}, message or {}, cut_to
        self.shifts, self.counts = shifts, counts
        self.loaded, self.accepts, self.faults, self.delay = loaded, accepts, faults, delay
        self.requests: list[Request] = []
        self._chats = 0
        self._lock = threading.Lock()

    @property
    def chats(self) -> list[dict[str, Any]]:
        """The bodies of the chats, in the order they came."""
        return [request.body for request in self.requests if request.path == "/v1/chat/completions"]

    def handle(self, method: str, path: str, raw: bytes, headers: Message) -> tuple[int, Any, str | None]:
        """See `StubHTTP.handle`."""
        return self.reply(Request(method, path, json.loads(raw) if raw else {}, headers.get("Authorization")))

    def reply(self, request: Request) -> tuple[int, Any, str | None]:
        """Status and body of the reply to a request, and what breaks it, if anything does."""
        self.requests.append(request)
        path = request.path.partition("?")[0]
        # llama-server lists its models to everybody.
        if self.accepts not in {None, request.authorization} and path != "/v1/models":
            said = f"Invalid API Key: {request.authorization}"
            return 401, {"error": {"message": said, "type": "authentication_error", "code": 401}}, None
        if (request.method, path) == ("POST", "/v1/chat/completions"):
            return self._chat(request.body)
        answers = {"/v1/models": self._listed()} | _OWN_PATHS[self.kind](self, request.body)
        if path in answers and (self.counts or path not in {"/tokenize", "/apply-template"}):
            return 200, answers[path], None
        if self.kind == "lmstudio":
            return 200, {"error": f"Unexpected endpoint or method. ({request.method} {path})"}, None
        return 404, {"error": {"message": "File Not Found", "type": "not_found_error", "code": 404}}, None

    def _listed(self) -> dict[str, Any]:
        own: dict[str, Any] = {}
        if self.kind == "llama":
            own["meta"] = {
                "n_ctx": self.window,
                "n_ctx_train": 32768,
                "n_params": 7615616512,
                "ftype": "Q4_0",
            }
        if self.kind == "vllm":
            own["max_model_len"] = self.window
        entry = {"object": "model", "owned_by": OWNERS[self.kind]}
        return {"object": "list", "data": [{"id": name, **entry, **own} for name in self.models]}

    def _chat(self, body: dict[str, Any]) -> tuple[int, Any, str | None]:
        with self._lock:
            fault = self.faults[self._chats] if self._chats < len(self.faults) else None
            self._chats += 1
        self.closing.wait(60 if fault == "slow" else self.delay)
        self.loaded = True
        if fault in FAULTS:
            return *FAULTS[fault], None
        return *self._answered(body), fault

    def _answered(self, body: dict[str, Any]) -> tuple[int, Any]:
        if body["model"] not in self.models:
            said = f"The model `{body['model']}` does not exist."
            return 404, {"error": {"message": said, "type": "NotFoundError", "code": 404}}
        if self.kind == "plain" and (unknown := set(body) - STANDARD):
            said = f"Unrecognized request argument supplied: {min(unknown)}"
            return 400, {"error": {"message": said, "type": "invalid_request_error", "code": None}}
        prompt = body["messages"][-1]["content"]
        tokens, most = count_tokens(prompt), body["max_tokens"]
        if self.cut_to is not None:
            tokens = min(tokens, self.cut_to)
        elif refusal := _REFUSALS[self.kind](tokens, most, self.window):
            return 400, refusal
        words = self.answer(prompt).split(" ")
        room = most if self.shifts else self.window - tokens
        output = min(len(words) + 1, most, room)
        choice = {
            "index": 0,
            "message": {"role": "assistant", "content": " ".join(words[:output])} | self.message,
            "finish_reason": "length" if output <= len(words) else "stop",
        }
        usage = {"prompt_tokens": tokens, "completion_tokens": output} | self.usage
        return 200, {"object": "chat.completion", "model": body["model"], "choices": [choice], "usage": usage}


def _llama_paths(stub: StubOpenAI, body: dict[str, Any]) -> dict[str, Any]:
    text = body["messages"][-1]["content"] if "messages" in body else ""
    return {
        "/props": {"default_generation_settings": {"n_ctx": stub.window}, "build_info": "b10470-34af94cd9"},
        "/apply-template": {"prompt": "<s> " * OVERHEAD + text},
        "/tokenize": {"tokens": list(range(len(str(body.get("content", "")).split())))},
    }


def _vllm_paths(stub: StubOpenAI, body: dict[str, Any]) -> dict[str, Any]:
    text = body["messages"][-1]["content"] if "messages" in body else ""
    count = count_tokens(text)
    counted = {"count": count, "max_model_len": stub.window, "tokens": list(range(count))}
    return {"/version": {"version": "0.11.0"}, "/tokenize": counted}


def _lm_studio_paths(stub: StubOpenAI, _body: dict[str, Any]) -> dict[str, Any]:
    entry: dict[str, Any] = {"type": "llm", "arch": "qwen2", "quantization": "Q4_K_M", "state": "not-loaded"}
    entry["max_context_length"] = 32768
    if stub.loaded:
        entry |= {"state": "loaded", "loaded_context_length": stub.window}
    return {"/api/v0/models": {"object": "list", "data": [{"id": name, **entry} for name in stub.models]}}


_OWN_PATHS: dict[str, Callable[[StubOpenAI, dict[str, Any]], dict[str, Any]]] = {
    "llama": _llama_paths,
    "vllm": _vllm_paths,
    "lmstudio": _lm_studio_paths,
    "plain": lambda _stub, _body: {},
}


def _llama_refusal(tokens: int, _most: int, window: int) -> Any:
    said = (
        f"request ({tokens} tokens) exceeds the available context size ({window} tokens), try increasing it"
    )
    kind = "exceed_context_size_error"
    error = {"code": 400, "message": said, "type": kind, "n_prompt_tokens": tokens, "n_ctx": window}
    return {"error": error} if tokens >= window else None


def _vllm_refusal(tokens: int, most: int, window: int) -> Any:
    said = (
        f"This model's maximum context length is {window} tokens. However, you requested {tokens + most} tokens "
        f"({tokens} in the messages, {most} in the completion). Please reduce the length of the messages or completion."
    )
    error = {"object": "error", "message": said, "type": "BadRequestError", "param": None, "code": 400}
    return error if tokens + most > window else None


def _lm_studio_refusal(tokens: int, _most: int, window: int) -> Any:
    said = (
        f"Trying to keep the first {tokens} tokens when context the overflows. However, the model is loaded with "
        f"context length of only {window} tokens, which is not enough. Try to load the model with a larger context "
        "length, or provide a shorter input"
    )
    return {"error": said} if tokens >= window else None


def _plain_refusal(tokens: int, _most: int, window: int) -> Any:
    said = (
        f"This model's maximum context length is {window} tokens. However, your messages resulted in {tokens} tokens. "
        "Please reduce the length of the messages."
    )
    error = {"message": said, "type": "invalid_request_error", "code": "context_length_exceeded"}
    return {"error": error} if tokens > window else None


_REFUSALS: dict[str, Callable[[int, int, int], Any]] = {
    "llama": _llama_refusal,
    "vllm": _vllm_refusal,
    "lmstudio": _lm_studio_refusal,
    "plain": _plain_refusal,
}


def main() -> None:
    """Serves until killed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--kind", choices=sorted(OWNERS), default="llama")
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--delay", type=float, default=0.0, help="seconds that a chat takes")
    parser.add_argument("--answer", default="not stated", help="what it answers to every prompt")
    parser.add_argument("--model", action="append", help="an id (default reader)")
    parser.add_argument("--window", type=int, default=16384, help="tokens")
    given = parser.parse_args()
    stub = StubOpenAI(
        given.kind,
        models=given.model or ["reader"],
        window=given.window,
        answer=lambda _prompt: given.answer,
        delay=given.delay,
        port=given.port,
    )
    stub.serve_by_hand()


if __name__ == "__main__":
    main()
