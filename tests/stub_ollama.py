"""A stub of an Ollama server: fast, without a model, and true to what real servers do on the wire.

In a test:

    with StubOllama(answer=lambda prompt: "42") as stub:
        model = OllamaModel("smollm2:135m", host=stub.url)

By hand, or to be killed by a test: `python tests/stub_ollama.py --port 0 --delay 0.1` prints its URL and serves.

What it does that matters:

- A prompt has as many tokens as it has words between white space, and `OVERHEAD` for the chat template. An answer has
  one for each word and one for its end.
- A prompt of num_ctx tokens or more is refused, and a reply is cut at the end of the window (`honours_truncate=True`,
  as current servers do for `truncate: false, shift: false`), or else the prompt is silently cut to what `cut` leaves
  and only its last words reach `answer`, while the reply may be as long as it likes (as older servers do).
- A model is loaded with the num_ctx of the request, capped at what it was trained for, and /api/ps tells it.
- Counts and durations that are 0 are left out of replies, as Go does, and so is `prompt_eval_cached_count` unless
  `tells_cached`. There is no prefix cache: nothing is ever cached.
- Connections are kept alive, and each response is one write with Nagle's algorithm off.
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
DEFAULT_NUM_CTX = 4096
FAULTS = {
    "refuse": "the connection is closed, and no other is accepted from then on",
    "reset": "the connection is reset",
    "503": "busy",
    "500": "the model's process has died",
    "400": "a complaint about something else than the window",
    "404": "the model is gone",
    "malformed": "half of a JSON object",
    "not_object": "JSON, but a list",
    "empty": "no byte of body",
    "half": "the connection ends in the middle of the body",
    "no_message": "a reply without its message",
    "done_false": "a reply that is not done, without counts",
    "gave_up": "the same after one token 31 times, at which servers give up",
    "repeat_limit": "an error for the same reason, as newer servers have it",
    "missing_counts": "a reply without counts and durations",
    "uncounted_prompt": "a reply that has null for the count of the prompt's tokens",
    "uncounted_reply": "a reply that has null for the count of its own tokens",
    "low_count": "a reply that counts fewer tokens than the prompt has words, as servers do that leave out cached ones",
    "high_count": "a reply that counts more tokens than anybody has ever written",
    "long_duration": "a reply that took longer than a float can say",
    "no_durations": "a reply without durations",
    "wrong_count": "a reply with a count that is no number",
    "slow": "the answer takes a minute",
}

# How an older server cuts a prompt to the window (its num_keep first tokens, then its last ones): tokens left.
CUTS: dict[str, Callable[[int], int]] = {
    "window": lambda num_ctx: num_ctx,
    "below": lambda num_ctx: num_ctx - 1,
    "half": lambda num_ctx: num_ctx - (num_ctx - 4) // 2,
}


@dataclass(frozen=True)
class StubModel:
    """What the stub says of a model. `capabilities` and `trained_window` None: an older server that does not tell."""

    digest: str = "9077fe9d2ae1a4a41a868836b56b8163731a8fe16621397028c2c76f838c6907"
    family: str = "llama"
    parameter_size: str = "134.52M"
    quantization: str = "F16"
    trained_window: int | None = 32768
    capabilities: tuple[str, ...] | None = ("completion", "tools")
    thinking: str = ""


@dataclass(frozen=True)
class Request:
    """One request that the stub got."""

    method: str
    path: str
    body: dict[str, Any] = field(default_factory=dict)


Faults = Mapping[int, str] | Sequence[str | None] | Callable[[int], str | None]


def answer_not_stated(_prompt: str) -> str:
    """A reader that has read and found nothing."""
    return "not stated"


def count_tokens(text: str) -> int:
    """The tokens of a prompt as the stub counts them, chat template included."""
    return len(text.split()) + OVERHEAD


class StubOllama(StubHTTP):
    """The stub: a context manager that serves on 127.0.0.1 while it is open."""

    def __init__(
        self,
        models: Mapping[str, StubModel] | None = None,
        *,
        version: str = "0.33.0",
        answer: Callable[[str], str] = answer_not_stated,
        delay: float = 0.0,
        tells_cached: bool = False,
        tells_window: bool = True,
        honours_truncate: bool = True,
        cut: str = "half",
        window: int | None = None,
        count: Callable[[str], int] = count_tokens,
        faults: Faults = (),
        port: int = 0,
    ) -> None:
        """Opens the port; serves from `start` or `with` on.

        Args:
            models: By name with tag.
            version: Of the server.
            answer: From the prompt to the reply.
            delay: Seconds that a chat takes.
            tells_cached: Whether replies hold `prompt_eval_cached_count`.
            tells_window: Whether /api/ps holds `context_length`.
            honours_truncate: Whether `truncate` and `shift` are heeded.
            cut: How a prompt is cut where they are not; see `CUTS`.
            window: What every model is loaded with, whatever is asked for.
            count: The tokens of a prompt.
            faults: What befalls the n-th chat with a message, counted from 0; see `FAULTS`.
            port: 0 takes a free one.
        """
        super().__init__(port)
        self.models = dict(models if models is not None else {"smollm2:135m": StubModel()})
        self.version, self.answer, self.delay = version, answer, delay
        self.tells_cached, self.tells_window = tells_cached, tells_window
        self.honours_truncate, self.cut, self.window, self.count = honours_truncate, CUTS[cut], window, count
        self.faults = faults
        self.requests: list[Request] = []
        self.loaded: dict[str, int] = {}
        self._lock = threading.Lock()
        self._chats = 0

    @property
    def chats(self) -> list[dict[str, Any]]:
        """The bodies of the chats that had a message, in the order they came."""
        return [r.body for r in self.requests if r.path == "/api/chat" and r.body.get("messages")]

    @property
    def loads(self) -> list[dict[str, Any]]:
        """The bodies of the chats without any message, which load a model."""
        return [r.body for r in self.requests if r.path == "/api/chat" and not r.body.get("messages")]

    def handle(self, method: str, path: str, raw: bytes, headers: Message) -> tuple[int, Any, str | None]:
        """See `StubHTTP.handle`."""
        if not self.check(headers):
            return 401, "401 Authorization Required", None
        try:
            body = json.loads(raw) if raw else {}
        except ValueError:
            return 400, {"error": "invalid character in request"}, None
        return self.reply(Request(method, path, body))

    def content_type(self, status: int, body: Any) -> str:
        """Of a reply: what no path leads to is told as text."""
        return "text/plain" if isinstance(body, str) and status == 404 else "application/json; charset=utf-8"

    def check(self, _headers: Message) -> bool:
        """Whether a request with these headers is let in."""
        return True

    def reply(self, request: Request) -> tuple[int, Any, str | None]:
        """Status, body and fault of the reply to a request."""
        self.requests.append(request)
        match request.method, request.path:
            case "GET", "/api/version":
                return 200, {"version": self.version}, None
            case "GET", "/api/tags":
                return 200, {"models": [self._listed(name) for name in self.models]}, None
            case "GET", "/api/ps":
                return 200, {"models": [self._running(name) for name in self.loaded]}, None
            case "POST", "/api/show":
                return *self._shown(request.body), None
            case "POST", "/api/chat":
                return self._chat(request.body)
            case _:
                return 404, "404 page not found", None

    def _name(self, body: dict[str, Any]) -> str | None:
        name = str(body.get("model", ""))
        full = name if ":" in name else f"{name}:latest"
        return full if full in self.models else None

    def _listed(self, name: str) -> dict[str, Any]:
        model = self.models[name]
        details = {
            "parent_model": "",
            "format": "gguf",
            "family": model.family,
            "families": [model.family],
            "parameter_size": model.parameter_size,
            "quantization_level": model.quantization,
        }
        return {"name": name, "model": name, "size": 270898672, "digest": model.digest, "details": details}

    def _running(self, name: str) -> dict[str, Any]:
        running = self._listed(name) | {"expires_at": "2030-01-01T00:00:00Z", "size_vram": 0}
        return running | ({"context_length": self.loaded[name]} if self.tells_window else {})

    def _shown(self, body: dict[str, Any]) -> tuple[int, Any]:
        name = self._name(body)
        if name is None:
            return 404, {"error": f"model '{body.get('model')}' not found"}
        model = self.models[name]
        facts: dict[str, Any] = {"general.architecture": model.family}
        if model.trained_window is not None:
            facts[f"{model.family}.context_length"] = model.trained_window
        shown = {"modelfile": "", "details": self._listed(name)["details"], "model_info": facts}
        return 200, shown | ({} if model.capabilities is None else {"capabilities": list(model.capabilities)})

    def _chat(self, body: dict[str, Any]) -> tuple[int, Any, str | None]:
        name = self._name(body)
        if name is None:
            return 404, {"error": f"model '{body.get('model')}' not found"}, None
        options = body.get("options") or {}
        num_ctx = self.window or min(
            options.get("num_ctx", DEFAULT_NUM_CTX), self.models[name].trained_window or 1 << 40
        )
        self.loaded[name] = num_ctx
        head = {"model": body["model"], "created_at": "2026-01-01T00:00:00Z"}
        if not body.get("messages"):
            return 200, head | {"message": _message(""), "done": True, "done_reason": "load"}, None
        fault = self._next_fault()
        self.closing.wait(60 if fault == "slow" else self.delay)
        status, reply = self._answered(body["messages"][-1]["content"], num_ctx, options)
        if status == 200:
            thinks = self.models[name].thinking if body.get("think") is not False else ""
            if thinks:
                reply["message"]["thinking"] = thinks
            reply = head | reply
        return *_spoiled(fault, status, reply), fault

    def _answered(self, prompt: str, num_ctx: int, options: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        tokens = self.count(prompt)
        if self.honours_truncate and tokens >= num_ctx:
            return 400, {"error": _too_long(tokens, num_ctx)}
        if tokens > num_ctx:
            tokens = self.cut(num_ctx)
            prompt = " ".join(prompt.split()[-tokens:])
        words = self.answer(prompt).split(" ")
        room = num_ctx - tokens if self.honours_truncate else 1 << 40
        limit = min(options.get("num_predict", -1) % (1 << 40), room)
        output = min(len(words) + 1, limit)
        reply: dict[str, Any] = {
            "message": _message(" ".join(words[:output])),
            "done": True,
            "done_reason": "length" if output <= len(words) else "stop",
            "total_duration": int((self.delay + 0.004) * 1e9),
            "load_duration": 1_000_000,
            "prompt_eval_count": tokens,
            "prompt_eval_duration": 2_000_000,
            "eval_count": output,
            "eval_duration": 1_000_000,
        }
        return 200, reply | ({"prompt_eval_cached_count": 0} if self.tells_cached else {})

    def _next_fault(self) -> str | None:
        with self._lock:
            turn = self._chats
            self._chats += 1
        if callable(self.faults):
            return self.faults(turn)
        if isinstance(self.faults, Mapping):
            return self.faults.get(turn)
        return self.faults[turn] if turn < len(self.faults) else None


def _message(content: str) -> dict[str, str]:
    return {"role": "assistant", "content": content}


def _too_long(tokens: int, num_ctx: int) -> str:
    """The error of the process behind the server, handed through as text with JSON in it, as the real one does."""
    said = (
        f"request ({tokens} tokens) exceeds the available context size ({num_ctx} tokens), try increasing it"
    )
    kind = "exceed_context_size_error"
    error = {"code": 400, "message": said, "type": kind, "n_prompt_tokens": tokens, "n_ctx": num_ctx}
    return json.dumps({"error": error})


def _without(reply: dict[str, Any], *ends: str) -> dict[str, Any]:
    """A reply without the fields whose names end so."""
    return {key: value for key, value in reply.items() if not key.endswith(ends)}


_SPOILERS: dict[str, Callable[[dict[str, Any]], tuple[int, Any]]] = {
    "503": lambda _: (503, {"error": "server busy, please try again.  maximum pending requests exceeded"}),
    "500": lambda _: (500, {"error": "model runner has\x1b[31m unexpectedly\r\nstopped"}),
    "400": lambda _: (400, {"error": '"smollm2:135m" does not support chat'}),
    "404": lambda _: (404, {"error": "model 'smollm2:135m' not found"}),
    "malformed": lambda reply: (200, json.dumps(reply)[:40]),
    "not_object": lambda reply: (200, [reply]),
    "empty": lambda _: (200, ""),
    "no_message": lambda reply: (200, {key: value for key, value in reply.items() if key != "message"}),
    "done_false": lambda reply: (200, {"message": reply["message"], "done": False}),
    "gave_up": lambda _: (200, {"message": _message("I see: ha" + " ha" * 30), "done": False}),
    "repeat_limit": lambda _: (500, {"error": "prediction aborted, token repeat limit reached"}),
    "missing_counts": lambda reply: (200, _without(reply, "_count", "_duration")),
    "uncounted_prompt": lambda reply: (200, reply | {"prompt_eval_count": None}),
    "uncounted_reply": lambda reply: (200, reply | {"eval_count": None}),
    "low_count": lambda reply: (200, reply | {"prompt_eval_count": 1}),
    "high_count": lambda reply: (200, reply | {"eval_count": 10**15}),
    "long_duration": lambda reply: (200, reply | {"total_duration": 10**400}),
    "no_durations": lambda reply: (200, _without(reply, "_duration")),
    "wrong_count": lambda reply: (200, reply | {"prompt_eval_count": "many"}),
}


def _spoiled(fault: str | None, status: int, reply: dict[str, Any]) -> tuple[int, Any]:
    return _SPOILERS[fault](reply) if fault in _SPOILERS else (status, reply)


def main() -> None:
    """Serves until killed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--delay", type=float, default=0.0, help="seconds that a chat takes")
    parser.add_argument("--answer", default="not stated", help="what it answers to every prompt")
    parser.add_argument("--model", action="append", help="a name with tag (default smollm2:135m)")
    parser.add_argument("--window", type=int, help="tokens, whatever is asked for")
    given = parser.parse_args()
    stub = StubOllama(
        {name: StubModel() for name in given.model or ["smollm2:135m"]},
        answer=lambda _prompt: given.answer,
        delay=given.delay,
        window=given.window,
        port=given.port,
    )
    stub.serve_by_hand()


if __name__ == "__main__":
    main()
