"""Whether this machine and its model are fit for a run: one finding a line, with what to do about it. Needs no study."""

import importlib.util
import os
import platform
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from importlib import metadata
from pathlib import Path

from pytest_tokenbench.models import cache_note, open_model, weights
from pytest_tokenbench.models.base import (
    MalformedReplyError,
    Model,
    ModelError,
    ModelMissingError,
    TimedOutError,
    UnreachableError,
    WindowExceededError,
)
from pytest_tokenbench.models.patient import Patient
from pytest_tokenbench.records import ModelInfo
from pytest_tokenbench.run_folder import printable
from pytest_tokenbench.settings import WINDOW, Settings

OLDEST_PYTHON = (3, 11)
PLUGIN = "tokenbench"
PACKAGE = "pytest-tokenbench"
GIB = 1 << 30
LITTLE_DISK, NO_DISK = 2 * GIB, GIB // 10
LITTLE_MEMORY = 2 * GIB
# Seconds that a prompt may take which the server should refuse.
PATIENCE = 120.0
_REPLY_TOKENS = 8


class Level(StrEnum):
    """How bad it is: a warning is for the reader of the results, with a fault no run can go well."""

    OK = "ok"
    WARNING = "warning"
    FAULT = "fault"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at: what, how it is, and where it is not well what to do, in one sentence."""

    level: Level
    what: str
    sentence: str

    def __str__(self) -> str:
        """One line, in columns."""
        return f"{self.level:<8} {self.what:<14} {printable(self.sentence)}"


def _ok(what: str, sentence: str) -> Finding:
    return Finding(Level.OK, what, sentence)


def _warning(what: str, sentence: str) -> Finding:
    return Finding(Level.WARNING, what, sentence)


def _fault(what: str, sentence: str) -> Finding:
    return Finding(Level.FAULT, what, sentence)


def examine(
    settings: Settings, say: Callable[[str], None], *, patience: float = PATIENCE
) -> Iterator[Finding]:
    """Every finding for a run with these settings, one by one as they are made; each host is asked.

    `say` is told what takes long. `patience` is how many seconds the over-long prompt may take.
    """
    yield from software()
    yield from machine(settings)
    if settings.backend == "embedded":
        found = list(embedded(settings.model))
        yield from found
        if any(finding.level is not Level.OK for finding in found):
            return
    for host in settings.hosts or (None,):
        model = open_model(_for_host(settings, host), say)
        try:
            yield from served(model, patience)
        finally:
            model.close()


def _for_host(settings: Settings, host: str | None) -> Settings:
    return replace(settings, hosts=() if host is None else (host,))


# This machine


def software() -> Iterator[Finding]:
    """Python, pytest and the plugin."""
    running = platform.python_version()
    if sys.version_info[:2] >= OLDEST_PYTHON:
        yield _ok("Python", running)
    else:
        yield _fault("Python", f"{running} is too old; {PACKAGE} needs {'.'.join(map(str, OLDEST_PYTHON))}")
    yield _ok("pytest", _version("pytest") or "")
    names = {point.name for point in metadata.entry_points(group="pytest11")}
    if PLUGIN not in names:
        yield _fault("plugin", f"pytest does not find it; run `{sys.executable} -m pip install {PACKAGE}`")
    elif os.environ.get("PYTEST_DISABLE_PLUGIN_AUTOLOAD"):
        yield _warning(
            "plugin",
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD is set; unset it, or run pytest with -p pytest_tokenbench.plugin",
        )
    else:
        yield _ok("plugin", f"{PACKAGE} {_version(PACKAGE)}")
    xdist = _version("pytest-xdist")
    yield _ok("workers", f"pytest-xdist {xdist}" if xdist else "without pytest-xdist trials run one by one")


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def machine(settings: Settings) -> Iterator[Finding]:
    """Room on the disks that are written to, and memory."""
    places = {"disk": settings.reports}
    if settings.backend == "embedded":
        places["disk (models)"] = weights.cache_folder()
    for what, folder in places.items():
        yield _disk(what, folder)
    free = free_memory()
    if free is None:
        yield _warning(
            "memory", "how much is free cannot be told on this system; an embedded model needs 2 GiB"
        )
    elif free < LITTLE_MEMORY and settings.backend == "embedded":
        yield _warning(
            "memory", f"{_size(free)} free, where an embedded model needs about 2 GiB; end something"
        )
    else:
        yield _ok("memory", f"{_size(free)} free")


def _disk(what: str, folder: Path) -> Finding:
    there = next(place for place in (folder, *folder.absolute().parents) if place.exists())
    free = shutil.disk_usage(there).free
    sentence = f"{_size(free)} free at {there.absolute()}"
    if not os.access(there, os.W_OK):
        return _fault(what, f"{there} cannot be written; choose another folder")
    if free < NO_DISK:
        return _fault(what, f"{sentence}, which a run fills; make room")
    if free < LITTLE_DISK:
        return _warning(what, f"{sentence}, which is little; make room")
    return _ok(what, sentence)


def free_memory() -> int | None:
    """Bytes that a new process could have, None where the system does not tell."""
    try:
        text = Path("/proc/meminfo").read_text(encoding="ascii")
        return (
            next(int(line.split()[1]) for line in text.splitlines() if line.startswith("MemAvailable:")) << 10
        )
    except (OSError, StopIteration, ValueError, IndexError):
        return None


def _size(number: int) -> str:
    return f"{number / GIB:,.1f} GiB"


def embedded(model: str) -> Iterator[Finding]:
    """Whether the embedded backend and its model are there. Nothing is downloaded."""
    if importlib.util.find_spec("xllamacpp") is None:
        yield _fault("engine", f"xllamacpp is missing; run `pip install '{PACKAGE}[embedded]'`")
        return
    yield _ok("engine", f"xllamacpp {_version('xllamacpp')}")
    if model in weights.KNOWN:
        path = weights.cache_folder() / weights.KNOWN[model].file
        if path.is_file():
            yield _ok("model file", str(path))
        else:
            advice = f"run `tokenbench models pull {model}`, or have the first run download it"
            yield _warning("model file", f"{model} is not in the cache, and is not looked at; {advice}")
    elif Path(model).expanduser().is_file():
        yield _ok("model file", model)
    else:
        known = ", ".join(weights.KNOWN)
        yield _fault("model file", f"there is no file {model}; give the path of a .gguf file, or {known}")


# The server and its model


def served(model: Patient, patience: float = PATIENCE) -> Iterator[Finding]:
    """What a host says of its model, and what it does when it is asked."""
    try:
        (info,) = model.describe_hosts()
    except UnreachableError as error:
        yield _fault("server", f"{_told(error)}; a run with --tokenbench-backend embedded needs no server")
        return
    except ModelMissingError as error:
        yield _fault("model", _told(error))
        return
    except ModelError as error:
        yield _fault("server", _told(error))
        return
    yield _ok(
        "server",
        f"{info.backend} {info.server_version or '(version not told)'} at {info.host or 'this process'}",
    )
    yield _digest(info)
    yield _window(info)
    yield from _answer(model)
    yield _limit(model, info, patience)
    note = cache_note(info)
    yield (
        _warning("prompt cache", note)
        if note
        else _ok("prompt cache", "no more than the last prompt is known to be kept")
    )


def _told(error: ModelError) -> str:
    """What a model's error says, with this command's options in the place of pytest's."""
    return re.sub(r"--tokenbench-(?=(?:backend|host|model|timeout)\b)", "--", str(error))


def _digest(info: ModelInfo) -> Finding:
    trained = "not told" if info.trained_window is None else f"{info.trained_window:,} tokens"
    facts = [info.parameter_size, info.quantization, f"trained for a window of {trained}"]
    told = ", ".join(fact for fact in facts if fact)
    if info.digest is None:
        doubt = "its digest is not told, so that no report can prove which model it was; note down where it is from"
        return _warning("model", f"{info.name} ({told}); {doubt}")
    return _ok("model", f"{info.name}, {info.digest[:19]}... ({told})")


def _window(info: ModelInfo) -> Finding:
    """Whether the window is the one that a run asks for."""
    given, trained = info.window, info.trained_window
    if given is None:
        return _warning(
            "window", "not told; over-long prompts are found only if the server refuses or counts them"
        )
    sentence = f"{given:,} tokens"
    if info.options.get("window_source") == "asked":
        return _warning(
            "window", f"{sentence} were asked for, but the server does not tell what it gave; update it"
        )
    if given < WINDOW:
        how = "start the server with a larger one" if info.backend == "openai" else "take a model that has it"
        return _warning(
            "window", f"{sentence} of the {WINDOW:,} asked for: longer prompts become over_window; {how}"
        )
    if trained is not None and given > trained:
        how = info.extension or "by the server"
        return _warning(
            "window", f"{sentence}, beyond the trained {trained:,} ({how}); answers on long texts may suffer"
        )
    return _ok("window", f"{sentence}, where {WINDOW:,} were asked for")


def _answer(model: Model) -> Iterator[Finding]:
    try:
        reply = model.generate("Answer with one word: what colour is snow?", max_tokens=_REPLY_TOKENS)
    except ModelError as error:
        yield _fault("answer", _told(error))
        return
    counts = (
        f"{reply.input_tokens} tokens in, {reply.output_tokens} out"
        if reply.input_tokens
        else "tokens not told"
    )
    if reply.input_tokens is None or reply.output_tokens is None:
        yield _fault(
            "answer", f"{counts}: without counts nothing can be said of cost; use a server that has them"
        )
    else:
        yield _ok("answer", f"{counts}, {reply.wall_s:.1f} s")
    if reply.cached_tokens is None:
        yield _warning(
            "cached counts",
            "not told, so that no prefill can be shown as cold; use a server that tells them (Ollama from 0.33.3)",
        )
    else:
        yield _ok("cached counts", f"told ({reply.cached_tokens} here)")


def _limit(model: Model, info: ModelInfo, patience: float) -> Finding:
    """Whether a prompt beyond the window is refused, seen by sending one."""
    what = "over-long"
    if info.window is None:
        return _warning(what, "not tried, since the window is not known")
    # A word has a token at least.
    prompt = "word " * (info.window + info.window // 8)
    try:
        model.generate(prompt, max_tokens=_REPLY_TOKENS, timeout=patience)
    except WindowExceededError as error:
        if error.needed is None:
            how = "its length was not told: the server may cut prompts, which shows in its counts only; update it"
            return _warning(what, f"a prompt beyond the window was found out, but {how}")
        return _ok(what, f"a prompt of {error.needed:,} tokens is refused, not cut")
    except TimedOutError:
        doubt = "a prompt beyond the window was not refused"
        return _warning(what, f"{doubt} within {patience:.0f} s; the server may be reading a part of it")
    except MalformedReplyError as error:
        doubt = f"a prompt beyond the window was not refused ({_told(error)})"
        return _fault(what, f"{doubt}: the server may cut prompts unseen; use another")
    except ModelError as error:
        return _fault(what, f"a prompt beyond the window was not refused as such ({_told(error)})")
    how = "and how much of it was read is not told: the server may cut prompts unseen; use another"
    return _fault(what, f"a prompt beyond the window was answered, {how}")
