"""The embedded backend, on the real model; it is downloaded once, 93 MB, as for any user."""

import hashlib
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

from pytest_tokenbench.models import embedded, gguf, llama_replies, weights, widening
from pytest_tokenbench.models.base import (
    CrashedError,
    MalformedReplyError,
    ModelMissingError,
    TimedOutError,
    UnreachableError,
    WindowExceededError,
)

pytest.importorskip("xllamacpp")
pytest.importorskip("gguf")

QUESTION = "What is the capital of France? Answer with one word."
TOKENS = 42  # of the question in its chat template


@pytest.fixture(scope="session", autouse=True)
def model_file():
    """The published file. The copy that is loaded for it by name is made here too, once."""
    original = weights.locate(weights.DEFAULT)
    widening.widened(original)
    return original


def loaded(name, window, *, reuse_prefix=False):
    said = []
    model = embedded.EmbeddedModel(str(name), window=window, reuse_prefix=reuse_prefix, say=said.append)
    model.describe()
    assert said == []
    return model


@pytest.fixture(scope="module")
def fresh():
    """Reads every prompt anew."""
    model = loaded(weights.DEFAULT, 256)
    yield model
    model.close()


@pytest.fixture(scope="module")
def reusing(model_file):
    model = loaded(model_file, 512, reuse_prefix=True)
    yield model
    model.close()


# The real model


def test_the_model_is_described_in_full(fresh):
    info = fresh.describe()
    assert info.backend == "embedded"
    assert info.name == "smollm2-135m"
    assert info.digest == "sha256:b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
    assert (info.window, info.trained_window, info.extension) == (256, 8192, None)
    assert info.quantization == "Q4_1 held as Q8_0"
    assert (info.parameter_size, info.family) == ("134.52M", "llama")
    assert info.server_version.startswith("xllamacpp 20")
    assert info.options["temperature"] == 0
    assert info.engine["cache_prompt"] is False
    assert info.engine["threads"] >= 1
    json.dumps(info.options | info.engine)


def test_the_file_in_use_is_recorded(fresh, model_file):
    with widening.widened(model_file).open("rb") as copy:
        assert fresh.describe().engine["file"] == f"sha256:{hashlib.file_digest(copy, 'sha256').hexdigest()}"


def test_a_file_goes_by_its_own_name(reusing):
    assert reusing.describe().name == "SmolLM2-135M-Instruct.Q4_1.gguf"


def test_a_file_runs_as_it_is(model_file, tmp_path):
    own = tmp_path / "own.gguf"
    own.symlink_to(model_file)
    model = loaded(own, 256)
    info = model.describe()
    model.close()
    assert info.quantization == "Q4_1"
    assert info.engine["file"] == info.digest
    assert list(tmp_path.iterdir()) == [own]


def test_counts_are_exact_and_repeat(fresh):
    first = fresh.generate(QUESTION, max_tokens=8)
    again = fresh.generate(QUESTION, max_tokens=8)
    assert "Paris" in first.text
    assert (first.text, first.input_tokens, first.output_tokens) == (
        again.text,
        again.input_tokens,
        again.output_tokens,
    )
    assert first.input_tokens == TOKENS
    assert (first.cached_tokens, again.cached_tokens) == (0, 0)
    assert 0 < first.prefill_s < first.total_s < first.wall_s
    assert first.decode_s > 0
    assert first.load_s is None
    assert first.thinking is None


def test_a_reply_that_ends_by_itself_is_told_from_a_cut_one(fresh):
    cut = fresh.generate("Count from one to a hundred in words.", max_tokens=3)
    assert (cut.output_tokens, cut.stop) == (3, "length")
    whole = fresh.generate(QUESTION, max_tokens=100)
    assert whole.stop == "stop"
    assert whole.output_tokens < 100


def test_a_shared_prefix_is_reused_and_counted(reusing):
    first = reusing.generate(QUESTION, max_tokens=2)
    again = reusing.generate(QUESTION, max_tokens=2)
    assert again.input_tokens == first.input_tokens == TOKENS
    assert again.cached_tokens == TOKENS - 1
    other = reusing.generate("What is the capital of Spain?", max_tokens=2)
    assert 0 < other.cached_tokens < other.input_tokens
    back = reusing.generate(QUESTION, max_tokens=2)
    assert back.cached_tokens == other.cached_tokens, "nothing but the last prompt is remembered"


def test_a_prompt_beyond_the_window_is_refused_with_both_numbers(fresh):
    with pytest.raises(WindowExceededError) as caught:
        fresh.generate("hello " * 300, max_tokens=8)
    assert caught.value.window == 256
    assert 300 < caught.value.needed < 350
    assert "Paris" in fresh.generate(QUESTION, max_tokens=8).text


def test_a_reply_is_cut_at_the_window_and_nothing_shifts(fresh):
    reply = fresh.generate("hello " * 200, max_tokens=400)
    assert reply.stop == "length" or reply.input_tokens + reply.output_tokens <= 256
    assert reply.input_tokens + reply.output_tokens <= 257


def test_a_window_beyond_the_trained_one_is_extended_and_recorded(model_file):
    model = loaded(model_file, 9000)
    info = model.describe()
    assert (info.window, info.trained_window) == (9000, 8192)
    assert info.extension == "YaRN x1.1 from 8,192"
    assert info.engine["yarn_orig_ctx"] == 8192
    assert model.generate(QUESTION, max_tokens=2).input_tokens == TOKENS
    model.close()


def test_closed_it_can_be_asked_again(model_file):
    model = loaded(model_file, 256)
    model.close()
    assert model.generate(QUESTION, max_tokens=1).output_tokens == 1
    model.close()
    model.close()


@contextmanager
def pressed_after(seconds):
    """Ctrl-C, as far as Python is concerned."""

    def press(_number, _frame):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, press)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_ctrl_c_breaks_in_and_leaves_the_model_usable(fresh):
    with pytest.raises(KeyboardInterrupt), pressed_after(0.3):
        fresh.generate("Write a long story about the sea.", max_tokens=200)
    assert "Paris" in fresh.generate(QUESTION, max_tokens=8).text


def test_a_reply_that_takes_too_long_is_ended_and_leaves_the_model_usable(fresh):
    with pytest.raises(TimedOutError, match=r"llama\.cpp did not answer within 0\.3 s; --tokenbench-timeout"):
        fresh.generate("Write a long story about the sea.", max_tokens=200, timeout=0.3)
    assert "Paris" in fresh.generate(QUESTION, max_tokens=8, timeout=60).text


def test_its_host_is_this_process(fresh):
    assert fresh.host == "embedded"


def test_ctrl_c_is_still_pythons_after_loading(model_file):
    done = run(
        "import os\n"
        "try:\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "    import time; time.sleep(5)\n"
        "except KeyboardInterrupt:\n"
        "    os.write(3, b'caught')\n"
        "os.kill(os.getpid(), signal.SIGTERM)\n",
        model_file,
    )
    assert (done.returncode, done.caught) == (-signal.SIGTERM, b"caught")


def run(script, model_file, *, window=256):
    """Loads the model in a process of its own and goes on with the script; descriptor 3 is for the script to write."""
    start = (
        "import signal\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from pytest_tokenbench.models import embedded\n"
        f"model = embedded.EmbeddedModel({str(model_file)!r}, window={window}, reuse_prefix=False)\n"
        "def go():\n"
        "    model.describe()\n"
        f"    model.generate({QUESTION!r}, max_tokens=2)\n"
        "go()\n"
    )
    ours, its = os.pipe()
    # The shell moves the pipe's end to 3, wherever it is.
    command = ["bash", "-c", f'exec "$0" -c "$1" 3>&{its}', sys.executable, start + script]
    done = subprocess.run(command, capture_output=True, pass_fds=[its], timeout=120, check=False)
    os.close(its)
    with os.fdopen(ours, "rb") as pipe:
        done.caught = pipe.read()
    return done


@pytest.mark.parametrize("end", ["", "model.close()\ngo()\nmodel.close()\n"])
def test_nothing_reaches_the_terminal(end, model_file):
    refused = (
        "from pytest_tokenbench.models.base import WindowExceededError\n"
        "try:\n"
        "    model.generate('hello ' * 300, max_tokens=2)\n"
        "except WindowExceededError:\n"
        "    pass\n"
    )
    done = run(refused + end, model_file)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_a_traceback_still_reaches_the_terminal(model_file):
    done = run("raise RuntimeError('mine')\n", model_file)
    assert done.returncode == 1
    assert done.stdout == b""
    assert done.stderr.startswith(b"Traceback")
    assert done.stderr.endswith(b"RuntimeError: mine\n")


def test_it_listens_on_loopback_alone_and_behind_a_key():
    before = sockets()  # of other tests in this process
    model = loaded(weights.DEFAULT, 256)
    listening = [one for one in sockets() if one not in before]
    assert listening
    assert {host for host, _ in listening} == {"127.0.0.1"}
    answers = []
    for _, port in listening:
        with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
            connection.sendall(b"GET /v1/chat/completions HTTP/1.0\r\n\r\n")
            answers.append(connection.recv(100).split(b"\r\n")[0])
    model.close()
    assert all(b"401" in answer for answer in answers)


def sockets():
    """The addresses at which this process listens."""
    ours = {str(link.readlink()) for link in Path("/proc/self/fd").iterdir() if link.is_symlink()}
    found = []
    for table, family in (("tcp", socket.AF_INET), ("tcp6", socket.AF_INET6)):
        rows = [line.split() for line in Path("/proc/net", table).read_text().splitlines()[1:]]
        for row in rows:
            if row[3] == "0A" and f"socket:[{row[9]}]" in ours:
                host, port = row[1].split(":")
                words = [int(host[i : i + 8], 16) for i in range(0, len(host), 8)]
                found.append(
                    (socket.inet_ntop(family, struct.pack(f"<{len(words)}I", *words)), int(port, 16))
                )
    return found


# Files that cannot be loaded


def test_what_is_no_model_is_named(tmp_path):
    path = tmp_path / "notes.gguf"
    path.write_text("These are notes.")
    with pytest.raises(ModelMissingError, match=r"notes\.gguf is not a GGUF file"):
        loaded(path, 256)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(ModelMissingError, match=r"there is no model file .*none\.gguf"):
        loaded(tmp_path / "none.gguf", 256)


def test_a_part_of_a_file_is_refused_by_the_engine_with_its_reason(model_file, tmp_path, capfd):
    path = tmp_path / "half.gguf"
    with model_file.open("rb") as whole:
        path.write_bytes(whole.read(40_000_000))
    with pytest.raises(CrashedError, match=r"cannot load .*half\.gguf: .*corrupted or incomplete"):
        loaded(path, 256)
    assert capfd.readouterr() == ("", "")


def test_one_of_several_parts_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "model-00001-of-00003.gguf"
    path.touch()
    monkeypatch.setattr(gguf, "metadata", lambda _path: {"split.count": 3})
    with pytest.raises(ModelMissingError, match="one of 3 parts"):
        loaded(path, 256)


# Without the engine


def test_without_the_library_one_sentence_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    with pytest.raises(UnreachableError, match=r"pip install 'pytest-tokenbench\[embedded\]'"):
        loaded(weights.DEFAULT, 256)


@pytest.mark.parametrize(
    ("workers", "threads"), [(None, 8), ("1", 8), ("3", 2), ("100", 1), ("0", 8), ("", 8)]
)
def test_workers_share_the_cores(workers, threads, monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: set(range(8)))
    monkeypatch.delenv("PYTEST_XDIST_WORKER_COUNT", raising=False)
    if workers is not None:
        monkeypatch.setenv("PYTEST_XDIST_WORKER_COUNT", workers)
    assert embedded._threads() == threads


@pytest.mark.parametrize("window", [8193, 9000, 10001, 12345, 16384, 20000, 32767, 131072])
def test_the_scale_never_costs_a_token_of_the_window(window):
    (scale,) = struct.unpack("<f", struct.pack("<f", embedded._at_most(8192 / window)))
    assert int(8192 / scale) == window


def settings(facts, window, tmp_path):
    return embedded._Settings.chosen(tmp_path / "model.gguf", facts, window)


def test_a_model_extended_already_is_extended_from_its_original_window(tmp_path):
    facts = {
        "general.architecture": "qwen2",
        "qwen2.context_length": 131072,
        "qwen2.rope.scaling.original_context_length": 32768,
    }
    assert settings(facts, 131072, tmp_path).yarn_from is None
    assert settings(facts, 262144, tmp_path).yarn_from == 32768
    assert settings(facts, 262144, tmp_path).extension(262144) == "YaRN x8.0 from 32,768"


def test_an_extension_that_did_not_happen_is_not_recorded(tmp_path):
    facts = {"general.architecture": "mamba", "mamba.context_length": 2048}
    assert settings(facts, 4096, tmp_path).extension(2048) is None


class Engine:
    """Replies with the pieces given."""

    def __init__(self, *pieces):
        self.pieces = pieces
        self.taken = 0

    def handle_chat_completions(self, _request, take):
        for piece in self.pieces:
            if isinstance(piece, Exception):
                raise piece
            time.sleep(0.001)
            self.taken += 1
            if take(piece if isinstance(piece, bytes) else json.dumps(piece).encode()):
                return


def reply(*pieces):
    return llama_replies.generation(llama_replies.stream(Engine(*pieces), {}), "What is it?", 64, 1.0)


DELTA = {"choices": [{"delta": {"content": "Pa"}, "finish_reason": None}]}
END = {"choices": [{"delta": {}, "finish_reason": "stop"}]}
COUNTS = {
    "choices": [],
    "usage": {"prompt_tokens": 7, "completion_tokens": 2},
    "timings": {"cache_n": 3, "prompt_ms": 1500, "predicted_ms": 500},
}


def test_pieces_make_a_reply():
    thought = {"choices": [{"delta": {"reasoning_content": "Hm."}}]}
    made = reply(thought, DELTA, DELTA, END, COUNTS)
    assert (made.text, made.thinking, made.stop) == ("PaPa", "Hm.", "stop")
    assert (made.input_tokens, made.cached_tokens, made.output_tokens) == (7, 3, 2)
    assert (made.prefill_s, made.decode_s, made.total_s, made.wall_s) == (1.5, 0.5, 2.0, 1.0)


@pytest.mark.parametrize(
    ("pieces", "error", "says"),
    [
        ([DELTA, END], MalformedReplyError, "without its counts"),
        ([], MalformedReplyError, "without its counts"),
        ([DELTA, b"[DONE"], MalformedReplyError, "should not"),
        ([DELTA, [1]], MalformedReplyError, "should not"),
        ([DELTA, END, COUNTS | {"usage": {"prompt_tokens": -1}}], MalformedReplyError, "should not"),
        (
            [DELTA, {"error": {"type": "server_error", "message": "decode failed"}}],
            CrashedError,
            "decode failed",
        ),
        ([{"error": {}}], CrashedError, "without a message"),
        ([DELTA, RuntimeError("bad prompt")], CrashedError, "bad prompt"),
    ],
)
def test_what_is_no_whole_reply_is_an_error(pieces, error, says):
    with pytest.raises(error, match=says):
        reply(*pieces)


def test_an_interrupted_engine_stops_at_its_next_piece():
    engine = Engine(*[DELTA] * 5000)
    with pytest.raises(KeyboardInterrupt), pressed_after(0.1):
        llama_replies.stream(engine, {})
    assert 0 < engine.taken < 5000


def test_an_engine_whose_time_is_over_stops_at_its_next_piece():
    engine = Engine(*[DELTA] * 5000)
    with pytest.raises(TimedOutError):
        llama_replies.stream(engine, {}, timeout=0.1)
    assert 0 < engine.taken < 5000
