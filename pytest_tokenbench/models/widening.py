"""A copy of a published model that holds its weights in a wider type, for which llama.cpp is faster.

The wheels of llama.cpp read a prompt about twice as fast from Q8_0 as from Q4_1. A weight changes by less than 1/225 of
the largest in its block of 32: by half a step, and by what rounding the step to 16 bits adds.
"""

import shutil
import tempfile
from pathlib import Path
from typing import Any

from pytest_tokenbench.models import weights
from pytest_tokenbench.models.base import ModelMissingError, UnreachableError

NARROW, WIDE = "Q4_1", "Q8_0"


def widened(original: Path, *, say: weights.Say = weights.say_on_stderr) -> Path:
    """The copy of a published model, which is made beside the original where it is not yet there whole.

    Any number of processes may ask for it at once: one makes it, the others wait.

    Raises:
        UnreachableError: The library that makes it is missing.
        ModelMissingError: It cannot be put there; the message says why and what to do.
    """
    folder = original.parent
    try:
        copy = folder / f"{original.stem}-{weights.digest(original)[:16]}-as-{WIDE}.gguf"
        if not _whole(copy):
            lock = folder / f".{copy.name}.lock"
            with weights.alone(lock, say, f"holds the weights as {WIDE}") as locked:
                if locked:
                    for left in folder.glob(".widening-*"):  # by a process that was killed
                        shutil.rmtree(left, ignore_errors=True)
                if not _whole(copy):
                    _make(original, copy, say)
    except OSError as error:
        raise ModelMissingError(
            f"the weights of {original.name} cannot be held as {WIDE}: {error.filename or folder} cannot be used "
            f"({error.strerror or error}); set {weights.CACHE_VARIABLE} to a folder with room for it, "
            f"or run the slower original with --tokenbench-model {original}"
        ) from error
    return copy


def _whole(copy: Path) -> bool:
    """Whether it has the sum that was recorded when it was made."""
    try:
        return _record(copy).read_bytes() == _sum(copy, copy.name)
    except OSError:
        return False


def _record(copy: Path) -> Path:
    return copy.with_name(f"{copy.name}.sha256")


def _sum(file: Path, name: str) -> bytes:
    """As `sha256sum` writes it, which can check it too."""
    return f"{weights.digest(file)}  {name}\n".encode()


def _make(original: Path, copy: Path, say: weights.Say) -> None:
    library = _library()
    if copy.exists():
        say(f"{copy} is damaged and is made anew")
    say(f"holding its weights as {WIDE}, for which llama.cpp is faster; once")
    with tempfile.TemporaryDirectory(
        prefix=".widening-", dir=copy.parent, ignore_cleanup_errors=True
    ) as scratch:
        made = Path(scratch, copy.name)
        _convert(library, original, made)
        record = _record(made)
        record.write_bytes(_sum(made, copy.name))
        # Killed in between, the next process finds a copy without its sum and makes it anew.
        made.replace(copy)
        record.replace(_record(copy))


def _library() -> Any:
    try:
        import gguf  # noqa: PLC0415 - an optional dependency, for this alone
    except ImportError as error:
        raise UnreachableError(
            f"the embedded backend needs gguf ({error}); run `pip install 'pytest-tokenbench[embedded]'`"
        ) from error
    return gguf


def _convert(library: Any, original: Path, target: Path) -> None:
    """One tensor after the other. The header keeps its length: what changes in it are numbers, overwritten in memory."""
    read = library.GGUFReader(original, "c")
    narrow, wide = (library.GGMLQuantizationType[name] for name in (NARROW, WIDE))
    weights_in_block, bytes_of_block = library.GGML_QUANT_SIZES[wide]
    read.fields["general.file_type"].parts[-1][0] = library.LlamaFileType[f"MOSTLY_{WIDE}"]
    start = 0
    for tensor in read.tensors:
        *_, kind, offset = tensor.field.parts
        offset[0] = start
        size = tensor.n_bytes
        if tensor.tensor_type == narrow:
            kind[0] = wide
            size = tensor.n_elements // weights_in_block * bytes_of_block
        start += size + -size % read.alignment
    with target.open("wb") as file:
        file.write(read.data[: read.data_offset].tobytes())
        for tensor in read.tensors:
            held = tensor.data
            if tensor.tensor_type == narrow:
                # As one row: gguf takes few rows at a time.
                held = library.quants.quantize(library.quants.dequantize(held.reshape(1, -1), narrow), wide)
            file.write(held.tobytes())
            file.write(bytes(-held.nbytes % read.alignment))
