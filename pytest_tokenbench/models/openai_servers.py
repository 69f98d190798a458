"""The servers that are known to do more than OpenAI's interface asks of them, and what each is sent beyond it."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any


class Server(StrEnum):
    """What answers behind the interface."""

    LLAMA = "llama-server"
    VLLM = "vLLM"
    LM_STUDIO = "LM Studio"
    OTHER = "unknown"


# Who owns a model, as the server's list has it. LM Studio is recognised by a path of its own.
OWNERS: Mapping[str | None, Server] = {"llamacpp": Server.LLAMA, "vllm": Server.VLLM}

# What the interface itself has.
PINNED: Mapping[str, Any] = {
    "temperature": 0,
    "seed": 0,
    "top_p": 1,
    "presence_penalty": 0,
    "frequency_penalty": 0,
    "n": 1,
}
UNTHINKING: Mapping[str, Any] = {"chat_template_kwargs": {"enable_thinking": False}}
# What a server was started with, or a model's own generation_config.json, applies underneath. OpenAI's own servers
# refuse a field that they do not know, so that one which is not recognised is sent none.
MORE: Mapping[Server, Mapping[str, Any]] = {
    Server.LLAMA: {
        "samplers": ["temperature"],
        "top_k": 0,
        "min_p": 0,
        "typical_p": 1,
        "top_n_sigma": -1,
        "xtc_probability": 0,
        "dynatemp_range": 0,
        "repeat_last_n": 0,
        "repeat_penalty": 1,
        "dry_multiplier": 0,
        "mirostat": 0,
        "logit_bias": [],
        "ignore_eos": False,
        "reasoning_format": "deepseek",
        **UNTHINKING,
    },
    Server.VLLM: {
        "top_k": -1,
        "min_p": 0,
        "repetition_penalty": 1,
        "min_tokens": 0,
        "stop": [],
        "ignore_eos": False,
        **UNTHINKING,
    },
    # It documents no more than this and top_k, which does nothing at temperature 0.
    Server.LM_STUDIO: {"repeat_penalty": 1},
    Server.OTHER: {},
}


def options(server: Server) -> dict[str, Any]:
    """What every request to a server is pinned to."""
    return {**PINNED, **MORE[server]}
