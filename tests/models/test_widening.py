"""Making the copy that holds its weights as Q8_0: of a small model that is made here, read back with gguf."""

import errno
import hashlib
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from pytest_tokenbench.models import weights, widening
from pytest_tokenbench.models.base import ModelMissingError, UnreachableError

gguf = pytest.importorskip("gguf")

Kind = gguf.GGMLQuantizationType
ONCE = "holding its weights as Q8_0, for which llama.cpp is faster; once"
BOUND = 1 / 254 + 1 / 2048  # half a step of 127, and half a bit of a 16-bit number for each step


@pytest.fixture
def lines():
    """What was said to the user."""
    return []


@pytest.fixture
def original(tmp_path):
    path = tmp_path / "small.Q4_1.gguf"
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_Q4_1)
    writer.add_context_length(8192)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_add_bos_token(False)
    writer.add_token_list(["a", "\u0120b", "\U0001f600"])
    writer.add_token_types([1, 1, 3])
    writer.add_chat_template("{% for message in messages %}\u2026{% endfor %}")
    draw = np.random.default_rng(0)
    for name, rows, columns in [("blk.0.attn_q", 48, 64), ("blk.0.ffn_up", 5, 96), ("blk.0.ffn_down", 1, 32)]:
        values = draw.standard_normal((rows, columns), dtype=np.float32) * 0.05
        values[0] = 0
        writer.add_tensor(f"{name}.weight", gguf.quants.quantize(values, Kind.Q4_1), raw_dtype=Kind.Q4_1)
        writer.add_tensor(f"{name}.norm", draw.standard_normal(5, dtype=np.float32))
    values = draw.standard_normal((3, 64), dtype=np.float32)
    writer.add_tensor("token_embd.weight", gguf.quants.quantize(values, Kind.Q8_0), raw_dtype=Kind.Q8_0)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def made(original, lines):
    return widening.widened(original, say=lines.append)


def visible(folder):
    return sorted(path.name for path in folder.iterdir() if not path.name.endswith(".lock"))


# What is in the copy


def test_each_weight_agrees_within_the_bound_and_other_tensors_exactly(original, lines):
    before, after = gguf.GGUFReader(original), gguf.GGUFReader(made(original, lines))
    widened = 0
    for old, new in zip(before.tensors, after.tensors, strict=True):
        assert (old.name, old.shape.tolist()) == (new.name, new.shape.tolist())
        if old.tensor_type is not Kind.Q4_1:
            assert new.tensor_type is old.tensor_type
            assert new.data.tobytes() == old.data.tobytes()
            continue
        widened += 1
        assert new.tensor_type is Kind.Q8_0
        was = gguf.quants.dequantize(old.data, Kind.Q4_1)
        held = gguf.quants.dequantize(new.data, Kind.Q8_0)
        assert held.shape == was.shape
        largest = np.abs(was.reshape(-1, 32)).max(axis=1, keepdims=True)
        assert (np.abs(held - was).reshape(-1, 32) <= BOUND * largest).all()
    assert widened == 3


def test_all_metadata_is_kept_but_the_file_type(original, lines):
    before, after = (gguf.GGUFReader(path).fields for path in (original, made(original, lines)))
    assert list(before) == list(after)
    assert {"tokenizer.ggml.tokens", "tokenizer.chat_template", "llama.context_length"} <= set(before)

    def raw(field):
        return [part.tobytes() for part in field.parts]

    assert [name for name in before if raw(before[name]) != raw(after[name])] == ["general.file_type"]
    assert after["general.file_type"].contents() == gguf.LlamaFileType.MOSTLY_Q8_0


def test_the_original_stays_as_it_was(original, lines):
    before = original.read_bytes()
    made(original, lines)
    assert original.read_bytes() == before


# In the cache


def test_the_copy_is_made_once_and_says_so(original, lines):
    copy = made(original, lines)
    assert lines == [ONCE]
    sha256 = hashlib.sha256(original.read_bytes()).hexdigest()
    assert copy == original.with_name(f"small.Q4_1-{sha256[:16]}-as-Q8_0.gguf")
    assert visible(copy.parent) == sorted([original.name, copy.name, f"{copy.name}.sha256"])
    state = copy.stat()
    lines.clear()
    assert made(original, lines) == copy
    assert (copy.stat(), lines) == (state, [])


def test_its_sum_is_as_sha256sum_takes_it(original, lines):
    copy = made(original, lines)
    record = f"{hashlib.sha256(copy.read_bytes()).hexdigest()}  {copy.name}\n"
    assert copy.with_name(f"{copy.name}.sha256").read_text() == record


def test_another_original_has_another_copy(original, lines):
    first = made(original, lines)
    original.write_bytes(original.read_bytes().replace(b"\xe2\x80\xa6", b"..."))
    assert made(original, lines) != first
    assert lines == [ONCE, ONCE]


@pytest.mark.parametrize("damage", [lambda raw: raw[:-1], lambda raw: raw[:-1] + b"x", lambda _raw: b""])
def test_a_damaged_copy_is_made_anew(damage, original, lines):
    copy = made(original, lines)
    whole = copy.read_bytes()
    copy.write_bytes(damage(whole))
    lines.clear()
    assert made(original, lines).read_bytes() == whole
    assert lines == [f"{copy} is damaged and is made anew", ONCE]


@pytest.mark.parametrize("record", [None, b"", b"\xff" * 64])
def test_a_copy_without_its_sum_is_made_anew(record, original, lines):
    copy = made(original, lines)
    beside = copy.with_name(f"{copy.name}.sha256")
    beside.unlink()
    if record is not None:
        beside.write_bytes(record)
    lines.clear()
    made(original, lines)
    assert lines[-1] == ONCE
    lines.clear()
    made(original, lines)
    assert lines == []


def test_what_a_killed_process_left_is_swept(original, lines):
    left = original.with_name(".widening-killed")
    left.mkdir()
    (left / "part").write_bytes(b"x")
    made(original, lines)
    assert not left.exists()


WIDEN = """
import sys
from pathlib import Path
from pytest_tokenbench.models import widening
print(widening.widened(Path(sys.argv[1])))
"""


def test_processes_at_once_make_it_once(original, lines):
    asking = [
        subprocess.Popen(
            [sys.executable, "-c", WIDEN, original],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(3)
    ]
    told = [process.communicate(timeout=60) for process in asking]
    assert [process.returncode for process in asking] == [0, 0, 0]
    assert sum(err.count(ONCE) for _, err in told) == 1
    assert {out.strip() for out, _ in told} == {str(made(original, lines))}
    assert lines == []
    assert len(visible(original.parent)) == 3


# Where it cannot be made


def refusal(original):
    with pytest.raises(ModelMissingError) as caught:
        widening.widened(original, say=lambda _line: None)
    sentence = str(caught.value)
    assert "\n" not in sentence
    assert weights.CACHE_VARIABLE in sentence
    assert f"--tokenbench-model {original}" in sentence
    return sentence


def test_a_cache_that_cannot_be_written_is_one_sentence(original, monkeypatch):
    really = Path.open

    def read_only(path, mode="r", **options):
        if mode != "rb":
            raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(path))
        return really(path, mode, **options)

    monkeypatch.setattr(Path, "open", read_only)
    assert f"{original.parent}" in refusal(original)
    assert "Read-only file system" in refusal(original)
    assert visible(original.parent) == [original.name]


def test_a_copy_in_a_cache_that_cannot_be_written_is_used(original, lines, monkeypatch):
    copy = made(original, lines)
    monkeypatch.setattr(widening.weights, "alone", None)
    assert made(original, lines) == copy


def test_a_full_disk_is_one_sentence_and_leaves_nothing(original):
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, before[1]))
    try:
        sentence = refusal(original)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert "(File too large)" in sentence
    assert visible(original.parent) == [original.name]


def test_without_the_library_one_sentence_says_how_to_get_it(original, lines, monkeypatch):
    monkeypatch.setitem(sys.modules, "gguf", None)
    with pytest.raises(UnreachableError, match=r"pip install 'pytest-tokenbench\[embedded\]'"):
        made(original, lines)
    assert lines == []


def test_a_copy_once_made_needs_no_library(original, lines, monkeypatch):
    copy = made(original, lines)
    monkeypatch.setitem(sys.modules, "gguf", None)
    assert made(original, lines) == copy
