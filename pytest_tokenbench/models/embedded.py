"""llama.cpp inside this process, by way of `xllamacpp`: no server to install, and no network once the model is there.

The library comes as a server, which it runs on threads of its own. Prompts go in by function calls; its HTTP side
listens on a loopback port, behind a key that nobody else has, and is asked once for what the model got.
"""

import http.client
import json
import os
import re
import secrets
import struct
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

import msgspec

from pytest_tokenbench.models import gguf, weights, widening
from pytest_tokenbench.models.base import (
    CrashedError,
    ModelMissingError,
    UnreachableError,
)
from pytest_tokenbench.models.llama_replies import generation, parsed, stream
from pytest_tokenbench.records import MOST_COUNT, Count, Generation, ModelInfo

# A model's file may bring sampler options of its own, so every one is said. At temperature 0 the likeliest token wins.
PINNED: Mapping[str, Any] = {
    "samplers": ["temperature"],
    "temperature": 0,
    "seed": 0,
    "top_k": 0,
    "top_p": 1,
    "min_p": 0,
    "typical_p": 1,
    "top_n_sigma": -1,
    "xtc_probability": 0,
    "dynatemp_range": 0,
    "repeat_last_n": 0,
    "repeat_penalty": 1,
    "presence_penalty": 0,
    "frequency_penalty": 0,
    "dry_multiplier": 0,
    "mirostat": 0,
    "adaptive_target": -1,
    "min_keep": 0,
    "ignore_eos": False,
    "logit_bias": [],
    "stop": [],
    "chat_template_kwargs": {"enable_thinking": False},
}
# Tokens that are read at once. Also how many are read between two looks at whether the user pressed Ctrl-C.
BATCH = 512
HOST = "embedded"
SILENT, ERRORS = -1, 1
SECONDS_TO_FIND_OUT = 60.0


class EmbeddedModel:
    """A model that llama.cpp runs in this process; see `pytest_tokenbench.models.base.Model`."""

    def __init__(
        self, name_or_path: str, *, window: int, reuse_prefix: bool, say: weights.Say = weights.say_on_stderr
    ) -> None:
        """Loads nothing yet.

        Args:
            name_or_path: See `weights.locate`.
            window: The context length in tokens to ask for; beyond the trained one it is extended by YaRN. What was
                given stands in `describe().window` (below the trained one, the next multiple of 256).
            reuse_prefix: Whether the start that a prompt shares with the one before is taken from memory. If not,
                every prompt is read anew from its first token.
            say: Gets a line for the user whenever something takes long.
        """
        self.name = name_or_path
        self._asked_window = window
        self._reuse_prefix = reuse_prefix
        self._say = say
        self._loaded: _Loaded | None = None

    @property
    def host(self) -> str:
        """This process."""
        return HOST

    def describe(self, *, timeout: float | None = None) -> ModelInfo:  # noqa: ARG002
        """Loads the model, downloading it where that is needed, and tells what it is and what window it got.

        `options` has what each request is pinned to, `engine` what the engine was set to. Loading takes the time that
        it takes.
        """
        return self._there().info

    def generate(self, prompt: str, *, max_tokens: int, timeout: float | None = None) -> Generation:
        """The model's reply to `prompt` as the only message of a chat. See `Model.generate`.

        `total_s` is the engine's own sum of reading and writing; the first token written counts as read.
        """
        server = self._there().server
        request = {
            **PINNED,
            "messages": [{"role": "user", "content": prompt}],
            "max_tokens": max_tokens,
            "cache_prompt": self._reuse_prefix,
            "stream": True,
            "stream_options": {"include_usage": True},
            "return_progress": True,
        }
        started = time.perf_counter()
        pieces = stream(server, request, timeout)
        return generation(pieces, prompt, max_tokens, time.perf_counter() - started)

    def close(self) -> None:
        """Ends the engine and gives back its memory. Asked again, the model is loaded again."""
        self._loaded = None

    def _there(self) -> "_Loaded":
        if self._loaded is None:
            self._loaded = self._load()
        return self._loaded

    def _load(self) -> "_Loaded":
        engine = _engine()
        original = weights.locate(self.name, say=self._say)
        facts, digest = _read(original)
        published = self.name in weights.KNOWN
        path = widening.widened(original, say=self._say) if published else original
        settings = _Settings.chosen(path, facts, self._asked_window)
        try:
            server = engine.Server(settings.parameters(engine))
        except Exception as error:
            raise CrashedError(f"llama.cpp cannot load {path}: {settings.what_fails()}") from error
        given = _ask_for_model(server, settings.key)
        return _Loaded(
            server,
            ModelInfo(
                backend="embedded",
                name=self.name if published else path.name,
                digest=f"sha256:{digest}",
                window=given.n_ctx,
                trained_window=settings.trained_window or given.n_ctx_train,
                server_version=f"xllamacpp {engine.__version__}",
                quantization=f"{widening.NARROW} held as {given.ftype}" if published else given.ftype,
                parameter_size=_short(given.n_params),
                family=_text(facts.get("general.architecture")),
                extension=settings.extension(given.n_ctx),
                options=dict(PINNED),
                engine={
                    "cache_prompt": self._reuse_prefix,
                    "file": f"sha256:{weights.digest(path)}",
                    **settings.record(),
                    "build": " ".join(str(engine.get_system_info()).split()),
                },
            ),
        )


@dataclass(frozen=True, slots=True)
class _Loaded:
    server: Any
    info: ModelInfo


# The engine and its settings


def _engine() -> Any:
    try:
        import xllamacpp  # noqa: PLC0415 - an optional dependency of 100 MB
    except ModuleNotFoundError as error:
        raise UnreachableError(
            "the embedded backend needs xllamacpp; run `pip install 'pytest-tokenbench[embedded]'`"
        ) from error
    except ImportError as error:
        raise UnreachableError(f"xllamacpp is installed but cannot be loaded: {error}") from error
    return xllamacpp


@dataclass(frozen=True, slots=True)
class _Settings:
    """What the engine is set to. `yarn_from` is the window that YaRN extends, None where nothing is extended."""

    path: str
    window: int
    trained_window: int | None
    yarn_from: int | None
    threads: int
    key: str
    verbosity: int = SILENT

    @classmethod
    def chosen(cls, path: Path, facts: Mapping[str, gguf.Value], window: int) -> "_Settings":
        architecture = facts.get("general.architecture")
        trained = _positive(facts.get(f"{architecture}.context_length"))
        original = _positive(facts.get(f"{architecture}.rope.scaling.original_context_length"))
        beyond = trained is not None and window > trained
        return cls(
            path=str(path),
            window=window,
            trained_window=trained,
            yarn_from=(original or trained) if beyond else None,
            threads=_threads(),
            key=secrets.token_hex(),
        )

    def extension(self, given: int) -> str | None:
        """How the window given came to exceed the trained one; not every kind of model can be extended."""
        if self.yarn_from is None or given <= (self.trained_window or given):
            return None
        return f"YaRN x{self.window / self.yarn_from:.1f} from {self.yarn_from:,}"

    def parameters(self, engine: Any) -> Any:
        """The settings as the library takes them."""
        chosen = engine.CommonParams()
        chosen.verbosity = self.verbosity
        chosen.model.path = self.path
        chosen.n_ctx = self.window
        chosen.n_parallel = 1
        chosen.n_batch = chosen.n_ubatch = BATCH
        chosen.cpuparams.n_threads = chosen.cpuparams_batch.n_threads = self.threads
        chosen.ctx_shift = False  # a prompt beyond the window is refused
        chosen.fit_params = False  # never less than asked for, to save memory
        chosen.cache_ram_mib = 0  # of former prompts nothing but the last one's prefix is kept
        chosen.sse_ping_interval = (
            -1
        )  # a ping in a reply is no JSON, and the library would end the reply there
        chosen.hostnames = ["127.0.0.1"]
        chosen.port = 0
        chosen.api_keys = [self.key]
        chosen.offline = True
        chosen.ui = chosen.endpoint_slots = False
        if self.yarn_from is not None:
            chosen.rope_scaling_type = engine.llama_rope_scaling_type.LLAMA_ROPE_SCALING_TYPE_YARN
            chosen.yarn_orig_ctx = self.yarn_from
            chosen.rope_freq_scale = _at_most(self.yarn_from / self.window)
        return chosen

    def record(self) -> dict[str, Any]:
        """Those that could change a number."""
        return {
            "num_ctx": self.window,
            "threads": self.threads,
            "n_batch": BATCH,
            "n_ubatch": BATCH,
            "flash_attention": "auto",
            "kv_cache": "f16",
            "context_shift": False,
            "cache_ram_mib": 0,
            "yarn_orig_ctx": self.yarn_from,
            "omp_wait_policy": os.environ.get("OMP_WAIT_POLICY", "default"),
        }

    def what_fails(self) -> str:
        """Why the engine does not load the model: another process tries it aloud, since this one is silent."""
        script = (
            "import json, sys\n"
            "from pytest_tokenbench.models import embedded\n"
            "engine = embedded._engine()\n"
            "engine.Server(embedded._Settings(**json.load(sys.stdin)).parameters(engine))\n"
        )
        told = json.dumps({**msgspec.to_builtins(self), "verbosity": ERRORS})
        try:
            done = subprocess.run(  # noqa: S603 - all of it is ours
                [sys.executable, "-c", script],
                input=told,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=SECONDS_TO_FIND_OUT,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired):
            return "it does not say why"
        lines = re.findall(r"^\S+ E (?:\w+: |\w+ +\w+: )?(.+)", done.stdout + done.stderr, re.MULTILINE)
        return lines[0].removeprefix("error loading model: ") if lines else "it does not say why"


def _threads() -> int:
    """One for each core that this process may use; under pytest-xdist, the workers share them."""
    affinity = getattr(os, "sched_getaffinity", None)
    cores = len(affinity(0)) if affinity else os.cpu_count() or 1
    workers = os.environ.get("PYTEST_XDIST_WORKER_COUNT", "")
    return max(1, cores // max(1, int(workers) if workers.isdecimal() else 1))


def _at_most(scale: float) -> float:
    """The scale, a bit smaller where single precision would round it up: the engine would cut the window by it."""
    (rounded,) = struct.unpack("<f", struct.pack("<f", scale))
    return scale if rounded <= scale else scale * (1 - 2**-23)


# What the model is


def _read(path: Path) -> tuple[dict[str, gguf.Value], str]:
    try:
        facts = gguf.metadata(path)
        digest = weights.digest(path)
    except gguf.GGUFError as error:
        raise ModelMissingError(f"{path} {error}") from error
    except OSError as error:
        raise ModelMissingError(f"{path} cannot be read ({error.strerror or error})") from error
    if (_positive(facts.get("split.count")) or 1) > 1:
        raise ModelMissingError(f"{path} is one of {facts['split.count']} parts; give them as one file")
    return facts, digest


class _Given(msgspec.Struct):
    n_ctx: Annotated[int, msgspec.Meta(gt=0, le=MOST_COUNT)]
    n_ctx_train: Count | None = None
    n_params: Count | None = None
    ftype: str | None = None


class _Model(msgspec.Struct):
    meta: _Given


class _Models(msgspec.Struct):
    data: Annotated[list[_Model], msgspec.Meta(min_length=1)]


def _ask_for_model(server: Any, key: str) -> _Given:
    """What the engine says of the model it has loaded, once its loop runs.

    Its loop answers the first of the two requests. An engine that is closed before its loop runs never ends.
    """
    _get(server, key, "/lora-adapters")
    return parsed(_get(server, key, "/v1/models"), _Models).data[0].meta


def _get(server: Any, key: str, path: str) -> bytes:
    address = urlsplit(server.listening_address)
    connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=SECONDS_TO_FIND_OUT)
    try:
        connection.request("GET", path, headers={"Authorization": f"Bearer {key}"})
        return connection.getresponse().read()
    except (OSError, http.client.HTTPException) as error:
        raise UnreachableError(
            f"the engine does not answer at {server.listening_address} ({error})"
        ) from error
    finally:
        connection.close()


def _short(parameters: int | None) -> str | None:
    """As Ollama writes it: 134.52M, 1.7B."""
    if not parameters:
        return None
    billion, million = 10**9, 10**6
    return f"{parameters / billion:.1f}B" if parameters >= billion else f"{parameters / million:.2f}M"


def _positive(value: object) -> int | None:
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    return value if 0 < value <= MOST_COUNT else None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None
