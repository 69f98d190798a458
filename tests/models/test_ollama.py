"""The Ollama backend over real HTTP, against a stub and against replies that a real server gave."""

import base64
import json
import socket
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path

import pytest
from stub_ollama import OVERHEAD, StubModel, StubOllama

from pytest_tokenbench import records
from pytest_tokenbench.models import base, ollama, ollama_replies, wire
from pytest_tokenbench.models.ollama import OllamaModel

NAME = "smollm2:135m"
THINKER = StubModel(family="qwen3", capabilities=("completion", "thinking"), thinking="Let me see.")


@pytest.fixture(autouse=True)
def no_environment(monkeypatch):
    for name in ("OLLAMA_HOST", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy", "NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def serve():
    """Starts a stub and gives it with a model that asks it."""
    opened = []

    def start(name=NAME, *, window=16384, timeout=5.0, **stub):
        server = StubOllama(**stub)
        server.start()
        model = OllamaModel(name, host=server.url, window=window, timeout=timeout)
        opened.extend((server.stop, model.close))
        return server, model

    yield start
    for close in reversed(opened):
        close()


def words(count):
    return "word " * count


def free_port():
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


# What the model is


def test_describe_tells_all_that_could_change_a_number(serve):
    server, model = serve(version="0.31.2")

    info = model.describe()

    assert info == records.ModelInfo(
        backend="ollama",
        name=NAME,
        digest=StubModel().digest,
        window=16384,
        trained_window=32768,
        server_version="0.31.2",
        quantization="F16",
        parameter_size="134.52M",
        family="llama",
        host=server.url,
        options=info.options,
    )
    assert records.decode(records.encode(info), records.ModelInfo) == info


def test_describe_loads_the_model_just_as_each_call_will_need_it(serve):
    server, model = serve()

    model.describe()
    model.generate("hello", max_tokens=5)

    (load,), (chat,) = server.loads, server.chats
    del chat["options"]["num_predict"]
    assert load == chat | {"messages": []}


def test_describe_gives_the_options_that_are_really_sent(serve):
    server, model = serve(models={NAME: THINKER})

    options = model.describe().options
    model.generate("hello", max_tokens=5)

    (chat,) = server.chats
    sent = chat["options"] | {key: chat[key] for key in ("truncate", "shift", "think")}
    assert options == {key: value for key, value in sent.items() if key != "num_predict"} | {
        "window_source": "api/ps"
    }


def test_the_window_is_the_one_that_the_server_gave_and_not_the_one_asked_for(serve):
    _, model = serve(models={NAME: StubModel(trained_window=8192)})

    info = model.describe()

    assert (info.window, info.trained_window) == (8192, 8192)
    assert info.options["num_ctx"] == 16384
    assert info.options["window_source"] == "api/ps"


def test_the_window_asked_for_is_taken_and_marked_where_an_old_server_tells_none(serve):
    _, model = serve(tells_window=False, window=4000)

    info = model.describe()

    assert (info.window, info.options["window_source"]) == (4000, "asked")


def test_what_an_old_server_does_not_tell_is_none(serve):
    old = StubModel(quantization="", parameter_size="", family="", trained_window=None, capabilities=None)
    server, model = serve(models={NAME: old}, version="")

    info = model.describe()
    model.generate("hello", max_tokens=5)

    assert info.trained_window is info.quantization is info.parameter_size is info.family is None
    assert info.server_version is None
    assert "think" not in server.chats[0]


@pytest.mark.parametrize(
    ("name", "there"),
    [
        ("llama3.2", "llama3.2:latest"),
        ("llama3.2:latest", "llama3.2:latest"),
        ("LLama3.2", "llama3.2:latest"),
        ("library/llama3.2", "llama3.2:latest"),
        ("registry.ollama.ai/library/llama3.2", "llama3.2:latest"),
        ("localhost:5000/team/reader", "localhost:5000/team/reader:latest"),
        ("hf.co/team/Reader-GGUF:Q4_K_M", "hf.co/team/Reader-GGUF:Q4_K_M"),
    ],
)
def test_a_model_is_found_by_its_name_however_that_is_written(name, there):
    assert ollama_replies.full_name(name) == ollama_replies.full_name(there)


def test_a_name_without_tag_means_latest_and_nothing_else(serve):
    _, model = serve("smollm2", models={NAME: StubModel()})
    with pytest.raises(base.ModelMissingError):
        model.describe()

    _, model = serve("smollm2", models={"smollm2:latest": StubModel(digest="abc")})
    assert model.describe().digest == "abc"


def test_a_missing_model_names_the_pull_to_run_and_the_models_that_are_there(serve):
    server, model = serve("qwen3:4b", models={NAME: StubModel(), "llama3.2:1b": StubModel()})

    with pytest.raises(base.ModelMissingError) as caught:
        model.describe()

    assert str(caught.value) == (
        f'the Ollama server at {server.url} has no model "qwen3:4b" (it has smollm2:135m, llama3.2:1b); '
        "run `ollama pull qwen3:4b`"
    )
    assert caught.value.available == (NAME, "llama3.2:1b")
    assert not server.loads


def test_a_missing_model_on_an_empty_server_says_that_there_is_none(serve):
    _, model = serve(models={})

    with pytest.raises(base.ModelMissingError, match=r"it has none at all.*`ollama pull smollm2:135m`"):
        model.describe()


# What is sent


def test_every_sampler_option_is_pinned_in_each_call(serve):
    server, model = serve(window=9000)

    model.generate("hello", max_tokens=64)

    (chat,) = server.chats
    assert chat["options"] == {
        "temperature": 0,
        "seed": 0,
        "top_k": 0,
        "top_p": 1,
        "min_p": 0,
        "typical_p": 1,
        "repeat_last_n": 0,
        "repeat_penalty": 1,
        "presence_penalty": 0,
        "frequency_penalty": 0,
        "stop": [],
        "num_keep": 4,
        "num_ctx": 9000,
        "num_predict": 64,
    }


def test_a_call_is_one_user_message_unstreamed_never_truncated_never_shifted(serve):
    server, model = serve()

    model.generate("Wie heißt\n\tdie Brücke? \x01", max_tokens=5)

    (chat,) = server.chats
    assert chat["model"] == NAME
    assert chat["messages"] == [{"role": "user", "content": "Wie heißt\n\tdie Brücke? \x01"}]
    assert chat["stream"] is chat["truncate"] is chat["shift"] is False
    assert chat["keep_alive"] == "60m"


def test_thinking_is_switched_off_where_the_model_can_think(serve):
    server, model = serve(models={NAME: THINKER})

    reply = model.generate("hello", max_tokens=5)

    assert server.chats[0]["think"] is False
    assert reply.thinking is None


def test_think_is_not_sent_to_a_model_that_cannot(serve):
    server, model = serve()

    assert "think" not in model.describe().options
    model.generate("hello", max_tokens=5)

    assert "think" not in server.chats[0]


def test_many_calls_share_one_connection(serve):
    server, model = serve()

    model.describe()
    for _ in range(20):
        model.generate("hello", max_tokens=5)

    assert len(server.chats) == 20
    assert server.connections == 1


def test_the_model_is_looked_up_and_loaded_once_though_only_asked(serve):
    server, model = serve()

    for _ in range(3):
        model.generate("hello", max_tokens=5)

    assert len(server.loads) == 1
    assert [request.path for request in server.requests].count("/api/tags") == 1


# What comes back


def test_a_reply_is_told_whole(serve):
    _, model = serve(answer=lambda _: "In the year 1911", delay=0.05, tells_cached=True)

    reply = model.generate("When was it built?", max_tokens=64)

    assert reply == records.Generation(
        text="In the year 1911",
        input_tokens=4 + OVERHEAD,
        cached_tokens=0,
        output_tokens=5,
        prefill_s=0.002,
        decode_s=0.001,
        load_s=0.001,
        total_s=0.054,
        wall_s=reply.wall_s,
        stop="stop",
    )
    assert 0.05 <= reply.wall_s < 2


def test_a_reply_cut_at_its_limit_says_length(serve):
    _, model = serve(answer=lambda _: words(50))

    reply = model.generate("hello", max_tokens=7)

    assert (reply.stop, reply.output_tokens) == ("length", 7)


def test_cached_tokens_are_unknown_where_the_server_does_not_tell_them(serve):
    _, model = serve(tells_cached=False)

    assert model.generate("hello", max_tokens=5).cached_tokens is None


def test_durations_and_cached_counts_left_out_are_none_and_never_0(serve):
    _, model = serve(faults=["no_durations"])

    reply = model.generate("hello", max_tokens=5)

    assert reply == records.Generation(
        "not stated", 1 + OVERHEAD, None, 3, None, None, None, None, reply.wall_s, "stop"
    )


@pytest.mark.parametrize(
    ("fault", "untold"),
    [
        ("missing_counts", "does not tell how many tokens the prompt had"),
        ("uncounted_prompt", "does not tell how many tokens the prompt had"),
        ("uncounted_reply", "does not tell how many tokens it has itself"),
        ("low_count", "the prompt had: it counts 1, fewer than there are words"),
    ],
)
def test_a_reply_without_its_counts_is_trouble_that_names_what_was_not_told(serve, fault, untold):
    server, model = serve(faults=[fault])

    with pytest.raises(base.MalformedReplyError) as caught:
        model.generate("hello there", max_tokens=5)

    assert untold in str(caught.value)
    assert server.url in str(caught.value)


def test_fields_that_nobody_knows_are_passed_over():
    reply = _reply(
        message={"role": "assistant", "content": "yes", "tool_calls": []}, logprobs=[1], context=[1, 2]
    )

    assert _generation("hello", reply).text == "yes"


def test_thinking_that_comes_all_the_same_is_kept_apart_from_the_text():
    reply = _reply(message={"content": "yes", "thinking": "hm"})

    generation = _generation("hello", reply)

    assert (generation.text, generation.thinking) == ("yes", "hm")


def test_an_empty_answer_is_an_answer(serve):
    _, model = serve(answer=lambda _: "")

    assert model.generate("hello", max_tokens=5).text == ""


def test_a_count_below_the_words_of_the_prompt_is_none_of_it_as_cached_tokens_are_left_out():
    with pytest.raises(base.MalformedReplyError, match="counts 2,999, fewer"):
        _generation(words(3000), _reply(prompt_eval_count=2999))
    assert _generation(words(3000), _reply(prompt_eval_count=3000)).input_tokens == 3000


# The window


def test_a_prompt_beyond_the_window_is_refused_with_the_numbers_told(serve):
    _, model = serve(window=2048)

    with pytest.raises(base.WindowExceededError) as caught:
        model.generate(words(5000), max_tokens=5)

    assert (caught.value.needed, caught.value.window) == (5000 + OVERHEAD, 2048)


def test_a_prompt_that_just_fits_is_answered_as_far_as_there_is_room(serve):
    _, model = serve(window=2048)

    reply = model.generate(words(2047 - OVERHEAD), max_tokens=5)

    assert (reply.input_tokens, reply.output_tokens, reply.stop) == (2047, 1, "length")


def test_a_prompt_one_token_too_long_is_refused(serve):
    _, model = serve(window=2048)

    with pytest.raises(base.WindowExceededError):
        model.generate(words(2048 - OVERHEAD), max_tokens=5)


@pytest.mark.parametrize("length", [2100, 4000, 20000])
@pytest.mark.parametrize("cut", ["window", "below", "half"])
def test_a_silent_cut_is_caught_at_each_of_its_signatures(serve, cut, length):
    _, model = serve(window=2048, honours_truncate=False, cut=cut, answer=lambda _: "x")

    with pytest.raises(base.WindowExceededError) as caught:
        model.generate(words(length), max_tokens=1)

    assert (caught.value.needed, caught.value.window) == (None, 2048)


@pytest.mark.parametrize("cut", ["window", "below", "half"])
def test_a_silent_cut_is_caught_though_the_server_does_not_tell_its_window(serve, cut):
    _, model = serve(window=2048, honours_truncate=False, cut=cut, tells_window=False)

    with pytest.raises(base.WindowExceededError):
        model.generate(words(4000), max_tokens=5)


@pytest.mark.parametrize("cut", ["window", "below", "half"])
def test_a_silent_cut_to_the_trained_window_is_caught_where_the_window_is_not_told(serve, cut):
    trained = {NAME: StubModel(trained_window=1024)}
    _, model = serve(window=8192, models=trained, honours_truncate=False, cut=cut, tells_window=False)

    with pytest.raises(base.WindowExceededError):
        model.generate(words(4000), max_tokens=5)


@pytest.mark.parametrize("tokens_a_word", [1.3, 2, 4])
@pytest.mark.parametrize("cut", ["window", "below"])
def test_a_cut_that_has_more_tokens_than_the_prompt_has_words_is_caught_by_its_reply(
    serve, cut, tokens_a_word
):
    _, model = serve(
        window=2048,
        honours_truncate=False,
        cut=cut,
        count=lambda text: int(len(text.split()) * tokens_a_word),
    )

    with pytest.raises(base.WindowExceededError):
        model.generate(words(int(2100 / tokens_a_word)), max_tokens=5)


@pytest.mark.parametrize("tokens", [2047, 2046, 2045, 1029, 1028, 1026, 1025, 1024])
@pytest.mark.parametrize("honours", [True, False])
def test_a_prompt_that_truly_has_as_many_tokens_as_a_cut_leaves_is_answered(serve, tokens, honours):
    _, model = serve(window=2048, honours_truncate=honours, answer=lambda _: "Yes")

    reply = model.generate(words(tokens - OVERHEAD), max_tokens=2)

    assert reply.input_tokens == tokens


def test_a_prompt_that_fills_the_window_of_an_old_server_is_answered_with_the_one_token_left(serve):
    _, model = serve(window=2048, honours_truncate=False, answer=lambda _: "Yes")

    assert model.generate(words(2048 - OVERHEAD), max_tokens=1).input_tokens == 2048


def test_a_prompt_without_any_template_around_it_is_not_taken_for_a_cut_one(serve):
    _, model = serve(window=2048, count=lambda text: len(text.split()))

    assert model.generate(words(1026), max_tokens=5).input_tokens == 1026


def test_a_prompt_shifted_out_while_the_reply_was_written_is_beyond_the_window(serve):
    _, model = serve(window=2048, honours_truncate=False, answer=lambda _: words(400))

    with pytest.raises(base.WindowExceededError):
        model.generate(words(1900), max_tokens=500)


# What goes wrong


@pytest.mark.parametrize(
    ("fault", "kind", "words_of_it"),
    [
        ("refuse", base.UnreachableError, "broke"),
        ("reset", base.UnreachableError, "broke"),
        ("half", base.UnreachableError, "broke"),
        ("slow", base.TimedOutError, "within 0.2 s; --tokenbench-timeout gives a trial more time"),
        ("drip", base.TimedOutError, "within 0.2 s; --tokenbench-timeout gives a trial more time"),
        ("503", base.BusyError, "answered 503: server busy, please try again. maximum"),
        ("500", base.CrashedError, "answered 500: model runner has [31m unexpectedly stopped"),
        ("400", base.RefusedError, 'answered 400: "smollm2:135m" does not support chat'),
        ("404", base.ModelMissingError, "`ollama pull smollm2:135m`"),
        ("malformed", base.MalformedReplyError, "truncated"),
        ("not_object", base.MalformedReplyError, "Expected `object`, got `array`"),
        ("empty", base.MalformedReplyError, "an empty reply"),
        ("no_message", base.MalformedReplyError, "`message`"),
        ("done_false", base.MalformedReplyError, "not done"),
        ("gave_up", base.GaveUpError, "gave the reply up: the model repeats one token on and on"),
        ("repeat_limit", base.GaveUpError, "token repeat limit reached"),
        ("wrong_count", base.MalformedReplyError, "`$.prompt_eval_count`"),
    ],
)
def test_each_fault_has_its_error_and_says_in_one_line_what_happened_where(serve, fault, kind, words_of_it):
    server, model = serve(faults={1: fault}, timeout=5.0)
    model.generate("hello", max_tokens=5)

    with pytest.raises(base.ModelError) as caught:
        model.generate("hello", max_tokens=5, timeout=0.2 if fault in {"slow", "drip"} else None)

    assert type(caught.value) is kind
    message = str(caught.value)
    assert words_of_it in message
    assert server.url in message
    assert message.isprintable()


@pytest.mark.parametrize(
    ("text", "is_given_up"),
    [
        ("ha" + " ha" * 29, True),
        ("ha" + " ha" * 28, False),
        ("So:" + "\n" * 30, True),
        ("So:" + "\n" * 29, False),
        ("7" * 30, True),
        ("7" * 29, False),
        ("", False),
        ("The mill of Orrin was built in 1901 and", False),
        ("one two " * 14, False),
        ("word " * 50 + "end", False),
    ],
)
def test_a_reply_that_is_not_done_is_pointless_to_ask_for_again_only_if_it_ends_with_equal_tokens(
    text, is_given_up
):
    kind = base.GaveUpError if is_given_up else base.MalformedReplyError
    for message in ({"content": text}, {"content": "", "thinking": text}):
        with pytest.raises(base.ModelError) as caught:
            _generation("hello", _reply(message=message, done=False))
        assert type(caught.value) is kind


def test_the_time_given_with_a_call_holds_for_that_call_alone(serve):
    _, model = serve(delay=0.3, timeout=30.0)
    model.describe()

    with pytest.raises(base.TimedOutError, match=r"/api/chat did not answer within 0\.1 s"):
        model.generate("hello", max_tokens=5, timeout=0.1)
    assert model.generate("hello", max_tokens=5).text == "not stated"


def test_the_time_given_holds_for_all_requests_of_a_call_together():
    asked = []

    class Slow(StubOllama):
        def reply(self, request):
            asked.append(request.path)
            self.closing.wait(0.15)
            return super().reply(request)

    with Slow() as server:
        model = OllamaModel(NAME, host=server.url, timeout=30.0)
        with pytest.raises(base.TimedOutError, match=r"within 0\.4 s"):
            model.describe(timeout=0.4)
        model.close()
    assert "/api/ps" not in asked


@pytest.mark.parametrize(
    "fault", ["reset", "half", "slow", "drip", "503", "500", "400", "malformed", "empty"]
)
def test_the_call_after_a_fault_is_answered(serve, fault):
    _, model = serve(faults=[fault], timeout=0.3)
    with pytest.raises(base.ModelError):
        model.generate("hello", max_tokens=5)

    assert model.generate("hello", max_tokens=5).text == "not stated"


def test_where_nothing_listens_the_message_names_the_address_tried():
    url = f"http://127.0.0.1:{free_port()}"
    model = OllamaModel(NAME, host=url)

    for call in (model.describe, lambda: model.generate("hello", max_tokens=5)):
        with pytest.raises(base.UnreachableError, match=f"nothing answers at {url} .*`ollama serve`"):
            call()


def test_a_server_killed_between_two_calls_is_unreachable(serve):
    server, model = serve()
    model.generate("hello", max_tokens=5)

    server.stop()

    with pytest.raises(base.UnreachableError):
        model.generate("hello", max_tokens=5)


def test_a_server_that_came_back_is_asked_again(serve):
    server, model = serve()
    model.generate("hello", max_tokens=5)
    port = int(server.url.rpartition(":")[2])
    server.stop()

    with StubOllama(port=port, answer=lambda _: "back"):
        assert model.generate("hello", max_tokens=5).text == "back"


@pytest.mark.parametrize(
    ("reply", "kind", "words_of_it"),
    [
        (
            b"HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\nnone",
            base.MalformedReplyError,
            "is that an Ollama",
        ),
        (b"HTTP/1.1 301 Moved\r\nContent-Length: 0\r\n\r\n", base.MalformedReplyError, "is that an Ollama"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n<html>", base.MalformedReplyError, "should not"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n\xff\xfe", base.MalformedReplyError, "should not"),
        (b"SSH-2.0-OpenSSH_9.6\r\n", base.UnreachableError, "broke"),
    ],
)
def test_what_is_no_ollama_server_is_told_to_be_none(reply, kind, words_of_it):
    with _answers_always(reply) as url, pytest.raises(kind, match=words_of_it):
        OllamaModel(NAME, host=url).describe()


@pytest.mark.parametrize(
    ("status", "error", "needed", "window"),
    [
        (400, "the input length exceeds the context length", None, None),
        (500, "the input length exceeds the context length", None, None),
        (400, "the prompt is longer than the context length currently available to the model", None, None),
        (400, "input after truncation exceeds maximum context length", None, None),
        (400, "request (8190 tokens) exceeds the available context size (4096 tokens)", 8190, 4096),
    ],
)
def test_every_way_to_say_that_a_prompt_is_too_long_is_understood(status, error, needed, window):
    body = json.dumps({"error": error}).encode()
    head = f"HTTP/1.1 {status} X\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    with _answers_always(head + body) as url, pytest.raises(base.WindowExceededError) as caught:
        OllamaModel(NAME, host=url).describe()
    assert (caught.value.needed, caught.value.window) == (needed, window)


def test_a_long_error_is_shortened():
    body = json.dumps({"error": "trouble " * 1000}).encode()
    head = f"HTTP/1.1 500 X\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    with _answers_always(head + body) as url, pytest.raises(base.CrashedError) as caught:
        OllamaModel(NAME, host=url).describe()
    assert len(str(caught.value)) < 400


# Where the server is


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        (None, "http://127.0.0.1:11434"),
        ("", "http://127.0.0.1:11434"),
        ("http://127.0.0.1:4321", "http://127.0.0.1:4321"),
        ("http://127.0.0.1:4321/", "http://127.0.0.1:4321"),
        (":4321", "http://127.0.0.1:4321"),
        ("box", "http://box:11434"),
        ("box:80", "http://box"),
        ("http://box", "http://box"),
        ("https://box", "https://box"),
        ("https://box:8443/llm/", "https://box:8443/llm"),
        ("[::1]:4321", "http://[::1]:4321"),
        (" 0.0.0.0 ", "http://0.0.0.0:11434"),
    ],
)
def test_a_host_means_what_it_means_to_ollamas_own_client(monkeypatch, given, meant):
    assert ollama.address(given) == meant
    monkeypatch.setenv("OLLAMA_HOST", given or "")
    assert ollama.address() == meant
    assert OllamaModel(NAME).host == meant


def test_a_host_given_comes_before_the_environment(monkeypatch):
    monkeypatch.setenv("OLLAMA_HOST", "elsewhere:1")

    assert ollama.address("box:2") == "http://box:2"


class Guarded(StubOllama):
    """Lets in who knows the password."""

    def check(self, headers):
        """Whether a request's headers have it."""
        return headers.get("Authorization") == "Basic " + base64.b64encode(b"kim:s3cr@t").decode()


@pytest.mark.parametrize("spelling", ["http://kim:s3cr%40t@{}", " kim:s3cr%40t@{} ", "http://kim:s3cr@t@{}"])
@pytest.mark.parametrize("is_given", [True, False])
def test_a_password_in_the_address_lets_one_in_and_shows_nowhere(monkeypatch, spelling, is_given):
    with Guarded() as server:
        address = spelling.format(server.url.removeprefix("http://"))
        monkeypatch.setenv("OLLAMA_HOST", address)
        model = OllamaModel(NAME, host=address if is_given else None)
        info = model.describe()
        model.generate("hello", max_tokens=5)
        server.models.clear()
        with pytest.raises(base.ModelMissingError) as missing:
            model.describe()
    with pytest.raises(base.UnreachableError) as gone:
        model.describe()

    assert model.host == info.host == server.url
    for shown in (records.encode(info).decode(), str(missing.value), str(gone.value)):
        assert "kim" not in shown
        assert "s3cr" not in shown


def test_without_the_password_one_is_told_how_to_give_it():
    with Guarded() as server, pytest.raises(base.ModelError, match=r"401.*http://user:password@") as caught:
        OllamaModel(NAME, host=server.url.replace("//", "//kim:wrong@")).describe()

    assert type(caught.value) is base.ModelError
    assert "wrong" not in str(caught.value)


@pytest.mark.parametrize("user", ["x", "context", "tokens", "0", "error"])
def test_a_user_s_name_that_stands_in_an_error_does_not_change_what_it_means(user):
    with StubOllama(window=2048) as server:
        model = OllamaModel(NAME, host=server.url.replace("//", f"//{user}:e@"))
        with pytest.raises(base.WindowExceededError) as caught:
            model.generate(words(5000), max_tokens=5)

    assert (caught.value.needed, caught.value.window) == (5000 + OVERHEAD, 2048)


def test_no_part_of_a_password_is_shown_where_an_error_is_shortened():
    class Long(StubOllama):
        def reply(self, _request):
            return 500, {"error": "y" * 295 + "s3cret-and-long" + "\n\x1b[31m" * 9}, None

    with Long() as server, pytest.raises(base.CrashedError) as caught:
        OllamaModel(NAME, host=server.url.replace("//", "//kim:s3cret-and-long@")).describe()

    assert "s3" not in str(caught.value)
    assert str(caught.value).isprintable()


def test_a_password_in_what_is_no_address_is_not_told():
    with pytest.raises(base.UnreachableError) as caught:
        OllamaModel(NAME, host="http://kim:s3cret@[bad")

    assert str(caught.value) == '"http://[bad" is no address of an Ollama server'


@pytest.mark.parametrize("version", ["0.30.0", "0.33.0-rc2+pr17943", "0.100.1", "1.0.0"])
def test_a_server_that_keeps_former_prompts_is_told_with_both_ways_out(version):
    info = records.ModelInfo("ollama", NAME, "abc", 16384, server_version=version)

    note = ollama.host_cache_note(info)

    assert version in note
    assert "LLAMA_ARG_CACHE_RAM=0" in note
    assert "--tokenbench-nonce" in note


@pytest.mark.parametrize("version", ["0.29.9", "0.6.2", "0.0.0", "dev", None])
def test_a_server_that_is_not_known_to_keep_former_prompts_is_not_told(version):
    assert (
        ollama.host_cache_note(records.ModelInfo("ollama", NAME, "abc", 16384, server_version=version))
        is None
    )


def test_what_is_no_address_is_refused_in_words():
    with pytest.raises(base.UnreachableError, match='"box:port" is no address'):
        OllamaModel(NAME, host="box:port")


def test_proxies_of_the_environment_do_not_hold_for_this_machine(serve, monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{free_port()}")
    monkeypatch.setenv("ALL_PROXY", f"http://127.0.0.1:{free_port()}")
    _, model = serve()

    assert model.generate("hello", max_tokens=5).text == "not stated"


def test_proxies_of_the_environment_hold_for_other_machines(serve, monkeypatch):
    server, _ = serve()
    monkeypatch.setenv("HTTP_PROXY", server.url)

    with pytest.raises(base.MalformedReplyError):  # the stub is no proxy
        OllamaModel(NAME, host="http://elsewhere.test:11434").describe()

    assert server.requests[0].path == "http://elsewhere.test:11434/api/version"


def test_the_ollama_package_is_not_imported_where_its_rules_have_nothing_to_decide():
    program = (
        "import sys\n"
        "from pytest_tokenbench.models.ollama import OllamaModel\n"
        "OllamaModel('a'); OllamaModel('a', host='http://127.0.0.1:1')\n"
        "sys.exit('ollama' in sys.modules or 'pydantic' in sys.modules)"
    )

    subprocess.run([sys.executable, "-c", program], check=True)


# Replies that a real server gave: 0.33.0-rc2, "stock" as it is, else patched to tell cached tokens; smollm2:135m


class Replay(StubOllama):
    """Gives recorded replies, and to every chat with a message the one named. `window` is put into /api/ps."""

    def reply(self, request):
        self.requests.append(request)
        name = request.path.removeprefix("/api/")
        if name == "chat":
            name = self.chat if request.body["messages"] else "load"
        recording = recorded(name)
        if name == "ps" and self.window:
            recording["body"]["models"][0]["context_length"] = self.window
        return recording["status"], recording["body"], None


def recorded(name):
    return json.loads((Path(__file__).parent / "recordings" / f"{name}.json").read_text())


@pytest.fixture
def replay():
    with Replay() as server:

        def start(chat, *, name=NAME, window=None):
            server.chat, server.window = chat, window
            return OllamaModel(name, host=server.url)

        yield start


def test_a_real_server_is_described_with_the_window_that_it_capped(replay):
    info = replay("chat").describe()

    assert (info.digest[:12], info.server_version) == ("fd5f44c0b5af", "0.33.0-rc2+pr17943")
    assert (info.window, info.trained_window, info.options["window_source"]) == (8192, 8192, "api/ps")
    assert (info.family, info.parameter_size, info.quantization) == ("llama", "134.52M", "Q4_1")
    assert "think" not in info.options


def test_the_window_is_told_though_the_model_is_listed_by_the_name_of_one_with_the_same_weights(replay):
    info = replay("chat", name="smollm2-sys:135m").describe()

    assert info.digest[:12] == "5e197a22cee8"
    assert (info.window, info.options["window_source"]) == (8192, "api/ps")


def test_a_real_reply_that_the_server_gave_up_is_no_answer(replay):
    with pytest.raises(base.GaveUpError, match="repeats one token on and on"):
        replay("repeated_itself").generate("ha " * 60, max_tokens=80)


def test_a_real_reply_is_read(replay):
    reply = replay("chat").generate("Name three colours", max_tokens=64)

    assert reply == records.Generation(
        text="The rainbow is a celestial masterpiece, with three distinct hues: the Sun, Moon, and Stars.",
        input_tokens=22,
        cached_tokens=0,
        output_tokens=21,
        prefill_s=1.08582,
        decode_s=2.119695,
        load_s=2.60059982,
        total_s=5.808964066,
        wall_s=reply.wall_s,
        stop="stop",
    )


def test_a_real_count_includes_the_tokens_that_came_from_the_cache(replay):
    reply = replay("chat_cached").generate("Name three colours", max_tokens=64)

    assert (reply.input_tokens, reply.cached_tokens) == (22, 21)


def test_a_real_reply_without_a_count_of_cached_tokens_leaves_it_unknown(replay):
    reply = replay("chat_stock").generate("Name three colours", max_tokens=8)

    assert (reply.input_tokens, reply.cached_tokens) == (22, None)


def test_a_real_reply_that_fills_a_window_of_128_which_the_server_rounded_to_256_is_answered(replay):
    reply = replay("window_filled", window=128).generate("Write a long story about a river.", max_tokens=300)

    assert (reply.input_tokens, reply.output_tokens, reply.stop) == (17, 239, "length")


def test_a_real_reply_to_the_longest_prompt_that_fits_is_answered(replay):
    reply = replay("longest_prompt", window=512).generate(words(502), max_tokens=8)

    assert (reply.input_tokens, reply.output_tokens) == (511, 1)


def test_a_real_reply_cut_at_its_limit_says_length(replay):
    reply = replay("chat_cut_at_limit").generate("Name three colours", max_tokens=1)

    assert (reply.text, reply.output_tokens, reply.stop) == ("The", 1, "length")


def test_a_real_refusal_of_a_long_prompt_tells_what_it_needs_and_what_there_is(replay):
    with pytest.raises(base.WindowExceededError) as caught:
        replay("too_long").generate("x", max_tokens=5)

    assert (caught.value.needed, caught.value.window) == (6016, 4096)


def test_a_real_refusal_without_numbers_tells_the_window_known(replay):
    with pytest.raises(base.WindowExceededError) as caught:
        replay("too_long_unshifted").generate("x", max_tokens=5)

    assert (caught.value.needed, caught.value.window) == (None, 8192)


def test_a_real_silent_cut_is_caught(replay):
    prompt = words(recorded("silently_halved")["prompt_words"])

    with pytest.raises(base.WindowExceededError):
        replay("silently_halved", window=4096).generate(prompt, max_tokens=64)


def test_a_real_reply_of_that_very_length_is_no_silent_cut(replay):
    model = replay("silently_halved", window=4096)

    assert model.generate(words(2040), max_tokens=64).input_tokens == 2050


def test_a_real_404_is_a_missing_model_and_names_those_there(replay):
    with pytest.raises(base.ModelMissingError, match=r"it has smollm2-sys:135m, smollm2:135m"):
        replay("unknown_model").generate("x", max_tokens=5)


# The stub by itself


def test_the_stub_runs_as_a_script_and_prints_its_address():
    stub = Path(__file__).parents[1] / "stub_ollama.py"
    with subprocess.Popen(
        [sys.executable, stub, "--port", "0", "--delay", "0.01", "--answer", "42"],
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        url = process.stdout.readline().strip()
        assert OllamaModel(NAME, host=url).generate("hello", max_tokens=5).text == "42"
        process.kill()


def _reply(**fields):
    counted = {"prompt_eval_count": 5, "eval_count": 2}
    return {"message": {"content": "yes"}, "done": True} | counted | fields


def _generation(prompt, reply):
    """What is made of a reply, to a model with a window of 16,384 tokens."""
    body = json.dumps(reply).encode()
    parsed = wire.decoded(body, ollama_replies.Reply, "http://here")
    info = records.ModelInfo("ollama", NAME, "abc", 16384, host="http://here")
    return ollama_replies.generation(parsed, prompt, 64, 1.0, info)


class _answers_always:  # noqa: N801 - reads as a function
    """A server that answers whatever it is asked with the same bytes."""

    def __init__(self, reply):
        self.reply = reply
        self.listener = socket.create_server(("127.0.0.1", 0))

    def __enter__(self):
        threading.Thread(target=self._serve, daemon=True).start()
        return f"http://127.0.0.1:{self.listener.getsockname()[1]}"

    def __exit__(self, *_exc):
        self.listener.close()

    def _serve(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            with connection:
                connection.recv(65536)
                connection.sendall(self.reply)
