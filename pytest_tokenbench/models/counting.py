"""Counting the tokens of prompts without asking a model: by the tokenizer in an embedded model's own file."""

import http.client
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import numpy.typing as npt

from pytest_tokenbench.models import gguf, weights
from pytest_tokenbench.models.llama_replies import parsed

Tokens = npt.NDArray[np.int32]
Tokenize = Callable[[str], Tokens]

# The engine is given as little as it takes: nothing is read or written with it.
_WINDOW, _BATCH = 256, 32
_SECONDS = 120.0


def file_at_hand(name: str) -> Path | None:
    """The file of an embedded model, None where it would have to be downloaded first or is none."""
    known = weights.KNOWN.get(name)
    path = Path(name).expanduser() if known is None else weights.cache_folder() / known.file
    with suppress(OSError, gguf.GGUFError):
        gguf.metadata(path)
        return path
    return None


@contextmanager
def tokenizer(path: Path) -> Iterator[Tokenize | None]:
    """A function that gives the tokens of a prompt as the only message of a chat, None where there is no engine.

    The engine has no way to its tokenizer but by opening the model's file; that is mapped, not read, and prepared for
    no other use.
    """
    try:
        import xllamacpp  # noqa: PLC0415 - an optional dependency of 100 MB

        server = xllamacpp.Server(_parameters(xllamacpp, path))
    except Exception:  # noqa: BLE001  # whatever the library raises: the tokens are estimated then
        yield None
        return
    address = urlsplit(server.listening_address)
    connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=_SECONDS)

    def post(place: str, request: dict[str, Any]) -> dict[str, Any]:
        connection.request("POST", place, json.dumps(request), {"Content-Type": "application/json"})
        return parsed(connection.getresponse().read(), dict[str, Any])

    def tokenize(prompt: str) -> Tokens:
        chat = {
            "messages": [{"role": "user", "content": prompt}],
            "chat_template_kwargs": {"enable_thinking": False},
        }
        text = post("/apply-template", chat)["prompt"]
        made = post("/tokenize", {"content": text, "add_special": True, "parse_special": True})
        return np.array(made["tokens"], dtype=np.int32)

    try:
        # An engine that is closed before its loop runs never ends; its loop answers this.
        connection.request("GET", "/lora-adapters")
        connection.getresponse().read()
        yield tokenize
    finally:
        connection.close()


def _parameters(engine: Any, path: Path) -> Any:
    chosen = engine.CommonParams()
    chosen.verbosity = -1
    chosen.model.path = str(path)
    chosen.n_ctx = _WINDOW
    chosen.n_parallel = 1
    chosen.n_batch = chosen.n_ubatch = _BATCH
    chosen.cache_ram_mib = 0
    chosen.hostnames = ["127.0.0.1"]
    chosen.port = 0
    chosen.no_extra_bufts = True
    chosen.offline = True
    chosen.warmup = chosen.fit_params = chosen.ui = chosen.endpoint_slots = False
    return chosen


def distinct(prompts: list[Tokens]) -> int:
    """How many tokens the prompts have if what several of them begin with counts once."""
    ordered = sorted(prompts, key=lambda tokens: tokens.astype(">i4").tobytes())
    total, before = 0, np.array([], dtype=np.int32)
    for tokens in ordered:
        length = min(len(tokens), len(before))
        differs = np.flatnonzero(tokens[:length] != before[:length])
        total += len(tokens) - (int(differs[0]) if len(differs) else length)
        before = tokens
    return total
