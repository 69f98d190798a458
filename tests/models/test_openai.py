"""The backend for OpenAI's interface over real HTTP, against a stub and against replies of a real llama-server."""

import json
import logging
import socket
import subprocess
import sys
import traceback
from contextlib import closing
from pathlib import Path

import pytest
from stub_openai import FAULTS, OVERHEAD, STANDARD, StubOpenAI

from pytest_tokenbench import records
from pytest_tokenbench.models import base, openai_replies
from pytest_tokenbench.models.openai import OpenAIModel, address

NAME = "reader"
KEY = "sk-very-secret-0123456789"
KINDS = ["llama", "vllm", "lmstudio", "plain"]


@pytest.fixture(autouse=True)
def no_environment(monkeypatch):
    for name in (
        "OPENAI_API_KEY",
        "HTTP_PROXY",
        "http_proxy",
        "ALL_PROXY",
        "all_proxy",
        "NO_PROXY",
        "no_proxy",
    ):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def serve():
    """Starts a stub and gives it with a model that asks it."""
    opened = []

    def start(kind="llama", *, name=NAME, timeout=5.0, at="{url}", **stub):
        server = StubOpenAI(kind, **stub)
        server.start()
        opened.append(server.stop)
        model = OpenAIModel(name, host=at.format(url=server.url, place=server.url[7:]), timeout=timeout)
        opened.append(model.close)
        return server, model

    yield start
    for close in reversed(opened):
        close()


def words(count):
    return "word " * count


def brief(fault):
    """Seconds that a call may take which comes to an end in no other way."""
    return 0.3 if fault in {"slow", "drip"} else None


def free_port():
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


# What the model is


def test_llama_server_tells_its_window_version_and_weights(serve):
    server, model = serve("llama", window=4096)

    info = model.describe()

    assert info == records.ModelInfo(
        backend="openai",
        name=NAME,
        digest=None,
        window=4096,
        trained_window=32768,
        server_version="b10470-34af94cd9",
        quantization="Q4_0",
        parameter_size="7.6B",
        host=server.url,
        options=info.options,
    )
    assert (info.options["server"], info.options["window_source"]) == ("llama-server", "/props")
    assert records.decode(records.encode(info), records.ModelInfo) == info


def test_vllm_tells_its_window_and_version(serve):
    _, model = serve("vllm", window=8192)

    info = model.describe()

    assert (info.window, info.trained_window, info.server_version) == (8192, None, "0.11.0")
    assert (info.options["server"], info.options["window_source"]) == ("vLLM", "max_model_len")


def test_lm_studio_tells_the_window_that_the_model_was_loaded_with(serve):
    _, model = serve("lmstudio", window=4096)

    info = model.describe()

    assert (info.window, info.trained_window, info.family, info.quantization) == (
        4096,
        32768,
        "qwen2",
        "Q4_K_M",
    )
    assert (info.options["server"], info.options["window_source"]) == ("LM Studio", "loaded_context_length")


def test_lm_studio_is_made_to_load_the_model_so_that_it_tells_the_window(serve):
    server, model = serve("lmstudio", window=4096, loaded=False)

    assert model.describe().window == 4096
    assert [chat["max_tokens"] for chat in server.chats] == [1]


def test_what_the_interface_alone_does_not_tell_is_none(serve):
    _, model = serve("plain")

    info = model.describe()

    assert info.digest is info.window is info.trained_window is info.server_version is None
    assert info.quantization is info.parameter_size is info.family is None
    assert (info.options["window_source"], info.options["tokens_counted"]) == ("not told", False)


def test_describe_asks_again_each_time(serve):
    server, model = serve("vllm", window=8192)
    model.describe()
    server.window = 4096

    assert model.describe().window == 4096


@pytest.mark.parametrize("kind", KINDS)
def test_describe_gives_the_options_that_are_really_sent(serve, kind):
    server, model = serve(kind)

    options = model.describe().options
    model.generate("hello", max_tokens=5)

    (chat,) = server.chats
    told = {name: options[name] for name in options.keys() - {"server", "window_source", "tokens_counted"}}
    assert chat == told | {
        "model": NAME,
        "messages": [{"role": "user", "content": "hello"}],
        "max_tokens": 5,
        "stream": False,
    }


def test_a_missing_model_names_those_that_are_there(serve):
    server, model = serve("vllm", name="other", models=["one", "two"])

    with pytest.raises(base.ModelMissingError) as caught:
        model.describe()

    assert str(caught.value) == f'the server at {server.url} has no model "other" (it has one, two)'
    assert caught.value.available == ("one", "two")


def test_a_missing_model_on_an_empty_server_says_that_there_is_none(serve):
    _, model = serve("vllm", models=[])

    with pytest.raises(base.ModelMissingError, match="it has none at all"):
        model.describe()


def test_a_model_that_was_removed_since_is_missing(serve):
    server, model = serve("vllm")
    model.describe()
    server.models = ["another"]

    with pytest.raises(base.ModelMissingError, match="it has another"):
        model.generate("hello", max_tokens=5)


# What is sent


@pytest.mark.parametrize("kind", KINDS)
def test_each_server_is_asked_greedily_with_nothing_else_at_work(serve, kind):
    server, model = serve(kind)

    model.generate("Wie heißt\n\tdie Brücke? \x01", max_tokens=64)

    (chat,) = server.chats
    assert chat["messages"] == [{"role": "user", "content": "Wie heißt\n\tdie Brücke? \x01"}]
    assert chat["stream"] is False
    expected = {
        "temperature": 0,
        "seed": 0,
        "top_p": 1,
        "presence_penalty": 0,
        "frequency_penalty": 0,
        "n": 1,
    }
    assert expected.items() <= chat.items()


@pytest.mark.parametrize(
    ("kind", "neutral"),
    [
        ("llama", {"top_k": 0, "min_p": 0, "repeat_penalty": 1, "dry_multiplier": 0, "mirostat": 0}),
        ("vllm", {"top_k": -1, "min_p": 0, "repetition_penalty": 1, "min_tokens": 0}),
        ("lmstudio", {"repeat_penalty": 1}),
    ],
)
def test_what_a_server_has_beyond_the_interface_is_made_neutral(serve, kind, neutral):
    server, model = serve(kind)

    model.generate("hello", max_tokens=5)

    assert neutral.items() <= server.chats[0].items()


def test_a_server_that_is_not_recognised_is_sent_no_field_beyond_the_interface(serve):
    server, model = serve("plain")

    assert model.generate("hello", max_tokens=5).text == "not stated"
    assert set(server.chats[0]) == STANDARD


@pytest.mark.parametrize("kind", ["llama", "vllm"])
def test_thinking_is_switched_off_where_there_is_a_way(serve, kind):
    server, model = serve(kind)

    model.generate("hello", max_tokens=5)

    asked = [request.body for request in server.requests if "messages" in request.body]
    assert len(asked) > 1  # counting needs the same template
    assert all(body["chat_template_kwargs"] == {"enable_thinking": False} for body in asked)


def test_many_calls_share_one_connection(serve):
    server, model = serve("vllm")

    for _ in range(20):
        model.generate("hello", max_tokens=5)

    assert len(server.chats) == 20
    assert server.connections == 1


def test_proxies_of_the_environment_do_not_hold_for_this_machine(serve, monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{free_port()}")
    _, model = serve()

    assert model.generate("hello", max_tokens=5).text == "not stated"


# What comes back


def test_a_reply_is_told_whole(serve):
    _, model = serve(
        "vllm",
        answer=lambda prompt: prompt.upper(),
        usage={"prompt_tokens_details": {"cached_tokens": 7}},
    )

    reply = model.generate("a b c", max_tokens=64)

    assert reply == records.Generation(
        text="A B C",
        input_tokens=3 + OVERHEAD,
        cached_tokens=7,
        output_tokens=4,
        prefill_s=None,
        decode_s=None,
        load_s=None,
        total_s=None,
        wall_s=reply.wall_s,
        stop="stop",
    )
    assert 0 < reply.wall_s < 5


def test_a_reply_cut_at_its_limit_says_length(serve):
    _, model = serve(answer=lambda _: "one two three")

    reply = model.generate("hello", max_tokens=2)

    assert (reply.text, reply.output_tokens, reply.stop) == ("one two", 2, "length")


@pytest.mark.parametrize("details", [{}, {"prompt_tokens_details": None}, {"prompt_tokens_details": {}}])
def test_a_count_of_cached_tokens_that_is_not_told_is_unknown_and_not_zero(serve, details):
    _, model = serve("vllm", usage=details)

    assert model.generate("hello", max_tokens=5).cached_tokens is None


def test_no_cached_token_is_zero_where_the_server_says_so(serve):
    _, model = serve("vllm", usage={"prompt_tokens_details": {"cached_tokens": 0}})

    assert model.generate("hello", max_tokens=5).cached_tokens == 0


def test_counts_that_a_server_never_tells_are_unknown(serve):
    _, model = serve("plain", usage={"prompt_tokens": None, "completion_tokens": None})

    for _ in range(2):
        reply = model.generate("hello", max_tokens=5)
        assert reply.input_tokens is reply.output_tokens is None


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("prompt_tokens", "how many tokens the prompt had"),
        ("completion_tokens", "how many tokens it has itself"),
    ],
)
@pytest.mark.parametrize("kind", KINDS)
def test_a_count_that_is_missing_though_the_server_tells_it_is_an_error(serve, kind, name, says):
    server, model = serve(kind)
    if kind == "plain":
        model.generate("hello", max_tokens=5)
    server.usage = {name: None}

    with pytest.raises(base.MalformedReplyError, match=f"does not tell {says}$"):
        model.generate("hello", max_tokens=5)

    server.usage = {}
    assert model.generate("hello", max_tokens=5).input_tokens == 1 + OVERHEAD


def test_of_a_server_that_tells_one_count_the_other_is_not_expected(serve):
    _, model = serve("plain", usage={"completion_tokens": None})

    replies = [model.generate("hello", max_tokens=5) for _ in range(2)]

    assert [(one.input_tokens, one.output_tokens) for one in replies] == [(1 + OVERHEAD, None)] * 2


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_what_a_model_thought_is_kept_apart_from_what_it_said(serve, field):
    _, model = serve("vllm", answer=lambda _: "", message={"content": None, field: "Let me see."})

    reply = model.generate("hello", max_tokens=5)

    assert (reply.text, reply.thinking) == ("", "Let me see.")


def test_a_refusal_is_what_was_said(serve):
    _, model = serve("plain", message={"content": None, "refusal": "I can't help with that."})

    assert model.generate("hello", max_tokens=5).text == "I can't help with that."


# The window


@pytest.mark.parametrize(
    ("kind", "most"),
    [("llama", 2047 - OVERHEAD), ("vllm", 2048 - 64 - OVERHEAD), ("lmstudio", 2047 - OVERHEAD)],
)
def test_the_longest_prompt_that_fits_is_answered_and_one_more_word_refused(serve, kind, most):
    _, model = serve(kind, window=2048)

    assert model.generate(words(most), max_tokens=64).input_tokens == most + OVERHEAD
    with pytest.raises(base.WindowExceededError) as caught:
        model.generate(words(most + 1), max_tokens=64)
    assert caught.value.window == 2048
    assert caught.value.needed == (2049 if kind == "vllm" else 2048)


@pytest.mark.parametrize("kind", ["llama", "vllm"])
def test_a_prompt_that_is_counted_as_too_long_is_not_sent(serve, kind):
    server, model = serve(kind, window=2048)

    with pytest.raises(base.WindowExceededError) as caught:
        model.generate(words(5000), max_tokens=10)

    assert caught.value.needed == 5000 + OVERHEAD + (10 if kind == "vllm" else 0)
    assert not server.chats


@pytest.mark.parametrize("kind", ["llama", "vllm"])
def test_a_server_without_the_paths_that_count_refuses_for_itself(serve, kind):
    server, model = serve(kind, window=2048, counts=False)

    assert model.describe().options["tokens_counted"] is False
    with pytest.raises(base.WindowExceededError) as caught:
        model.generate(words(5000), max_tokens=10)

    assert caught.value.needed == 5000 + OVERHEAD + (10 if kind == "vllm" else 0)
    assert caught.value.window == 2048
    assert len(server.chats) == 1


@pytest.mark.parametrize("kind", ["llama", "vllm"])
def test_a_prompt_cut_by_less_than_its_words_show_is_caught_by_its_count(serve, kind):
    _, model = serve(kind, cut_to=1005)

    assert model.generate(words(1000 - OVERHEAD), max_tokens=5).input_tokens == 1000
    with pytest.raises(base.WindowExceededError) as caught:
        model.generate(words(1000), max_tokens=5)
    assert caught.value.needed == 1000 + OVERHEAD


@pytest.mark.parametrize("kind", ["lmstudio", "plain"])
def test_a_prompt_of_more_words_than_tokens_read_was_cut(serve, kind):
    _, model = serve(kind, cut_to=1005)

    assert model.generate(words(1005), max_tokens=5).input_tokens == 1005
    with pytest.raises(base.WindowExceededError):
        model.generate(words(1006), max_tokens=5)


def test_a_reply_beyond_the_window_shifted_the_prompt_out(serve):
    _, model = serve("lmstudio", window=1000, shifts=True, answer=lambda _: words(400).strip())

    assert model.generate(words(590), max_tokens=400).output_tokens == 400
    with pytest.raises(base.WindowExceededError):
        model.generate(words(592), max_tokens=400)


@pytest.mark.parametrize(
    ("said", "needed", "window"),
    [
        (
            "request (3031 tokens) exceeds the available context size (2048 tokens), try increasing it",
            3031,
            2048,
        ),
        ("the request exceeds the available context size. try increasing the context size", None, 9000),
        (
            (
                "Trying to keep the first 111490 tokens when context the overflows. However, the model is loaded with "
                "context length of only 32768 tokens, which is not enough. Try to load the model with a larger context "
                "length, or provide a shorter input. Error Data: n/a, Additional Data: n/a"
            ),
            111490,
            32768,
        ),
        (
            (
                "The number of tokens to keep from the initial prompt is greater than the context length "
                "(n_keep: 10247 >= n_ctx: 4096). Try to load the model with a larger context length."
            ),
            10247,
            4096,
        ),
        (
            (
                "This model's maximum context length is 16384 tokens. However, you requested 122946 tokens (112946 in the "
                "messages, 10000 in the completion). Please reduce the length of the messages or completion."
            ),
            122946,
            16384,
        ),
        (
            (
                "This model's maximum context length is 4096 tokens. However, your request has 5000 input tokens. Please "
                "reduce the length of the input messages."
            ),
            5000,
            4096,
        ),
        (
            (
                "'max_tokens' or 'max_completion_tokens' is too large: 300. This model's maximum context length is 4096 "
                "tokens and your request has 4000 input tokens (300 > 4096 - 4000)."
            ),
            4300,
            4096,
        ),
        (
            (
                "This model's maximum context length is 16384 tokens. However, you requested 300 output tokens and your "
                "prompt contains at least 16085 input tokens, for a total of at least 16385 tokens. Please reduce the "
                "length of the input prompt or the number of requested output tokens."
            ),
            None,
            16384,
        ),
        (
            (
                "You passed 16085 input tokens and requested 300 output tokens. However, the model's context length is "
                "only 16384 tokens, resulting in a maximum input length of 16084 tokens. Please reduce the length of the "
                "input prompt."
            ),
            None,
            16384,
        ),
        (
            (
                "The decoder prompt (length 5000) is longer than the maximum model length of 4096. Make sure that "
                "`max_model_len` is no smaller than the number of text tokens."
            ),
            5000,
            4096,
        ),
        ("The input (5000 tokens) is longer than the model's context length (4096 tokens).", 5000, 4096),
        (
            (
                "Requested token count exceeds the model's maximum context length of 4096 tokens. You requested a total "
                "of 4500 tokens: 4200 tokens from the input messages and 300 tokens for the completion."
            ),
            4500,
            4096,
        ),
        (
            "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.",
            9000,
            8192,
        ),
        (
            "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 300010 tokens.",
            300010,
            272000,
        ),
    ],
)
@pytest.mark.parametrize("form", ["object", "flat", "text"])
def test_every_way_to_say_that_a_prompt_is_too_long_is_understood(said, needed, window, form):
    body = {
        "object": {"error": {"message": said, "code": 400}},
        "flat": {"message": said},
        "text": {"error": said},
    }

    error = openai_replies.fault(json.dumps(body[form]).encode()).too_long(9000, 300, "here")

    assert (error.needed, error.window) == (needed, window)


def test_a_code_alone_says_that_a_prompt_is_too_long():
    body = b'{"error": {"message": "Please shorten it.", "code": "context_length_exceeded"}}'

    error = openai_replies.fault(body).too_long(9000, 300, "here")

    assert (error.needed, error.window) == (None, 9000)


@pytest.mark.parametrize(
    "said",
    [
        "top_p must be in (0, 1]",
        "Context size has been exceeded.",
        "Rate limit exceeded: 3 requests (1000 tokens)",
        "max_tokens must be at least 1, got -186.",
    ],
)
def test_other_complaints_are_not_taken_for_a_long_prompt(said):
    assert (
        openai_replies.fault(json.dumps({"error": {"message": said}}).encode()).too_long(9000, 300, "here")
        is None
    )


# What goes wrong


@pytest.mark.parametrize(
    ("fault", "kind", "words_of_it"),
    [
        ("refuse", base.UnreachableError, "broke"),
        ("reset", base.UnreachableError, "broke"),
        ("half", base.UnreachableError, "broke"),
        ("slow", base.TimedOutError, "--tokenbench-timeout"),
        ("drip", base.TimedOutError, "--tokenbench-timeout"),
        ("503", base.BusyError, "answered 503: Loading model"),
        ("429", base.BusyError, "answered 429: Rate limit reached"),
        ("500", base.CrashedError, "answered 500: EngineCore [31m died here"),
        ("502", base.CrashedError, "answered 502: <html>Bad Gateway</html>"),
        ("400", base.RefusedError, "answered 400: top_p must be in (0, 1]"),
        ("error_200", base.MalformedReplyError, "answered 200: Model unloaded"),
        ("malformed", base.MalformedReplyError, "truncated"),
        ("not_object", base.MalformedReplyError, "Expected `object`, got `array`"),
        ("empty", base.MalformedReplyError, "an empty reply"),
        ("no_choices", base.MalformedReplyError, "no choice"),
        ("empty_choices", base.MalformedReplyError, "no choice"),
        ("no_message", base.MalformedReplyError, "`message`"),
        ("unfinished", base.MalformedReplyError, "not finished"),
        ("wrong_count", base.MalformedReplyError, "`$.usage.prompt_tokens`"),
        ("html", base.MalformedReplyError, "is that a server with the interface of OpenAI?"),
        ("detail", base.MalformedReplyError, "answered 404: Not Found; is that a server"),
        ("moved", base.MalformedReplyError, "answered 301; is that a server"),
    ],
)
def test_each_fault_has_its_error_and_says_in_one_line_what_happened_where(serve, fault, kind, words_of_it):
    server, model = serve(faults=[None, fault])
    model.generate("hello", max_tokens=5)

    with pytest.raises(base.ModelError) as caught:
        model.generate("hello", max_tokens=5, timeout=brief(fault))

    assert type(caught.value) is kind
    message = str(caught.value)
    assert words_of_it in message
    assert server.url in message
    assert message.isprintable()


def test_a_server_that_is_busy_is_busy_whatever_it_says_of_the_context(serve, monkeypatch):
    said = {"error": {"message": "Tokens per minute exceed the limit of your context tier"}}
    monkeypatch.setitem(FAULTS, "429", (429, said))
    _, model = serve(faults=["429"])

    with pytest.raises(base.BusyError):
        model.generate("hello", max_tokens=5)


def test_paths_beyond_the_interface_may_be_forbidden(serve, monkeypatch):
    server, model = serve("vllm", window=4096)
    open_to_all = server.reply

    def reply(request):
        if request.path.startswith("/v1/"):
            return open_to_all(request)
        return 403, "<html>Forbidden</html>", None

    monkeypatch.setattr(server, "reply", reply)

    info = model.describe()

    assert (info.window, info.server_version, info.options["tokens_counted"]) == (4096, None, False)
    assert model.generate("hello", max_tokens=5).text == "not stated"


@pytest.mark.parametrize("fault", ["reset", "half", "slow", "drip", "503", "500", "malformed", "empty"])
def test_the_call_after_a_fault_is_answered(serve, fault):
    _, model = serve(faults=[fault])
    model.describe()
    with pytest.raises(base.ModelError):
        model.generate("hello", max_tokens=5, timeout=brief(fault))

    assert model.generate("hello", max_tokens=5).text == "not stated"


def test_a_call_without_a_timeout_of_its_own_takes_no_longer_than_the_model_may(serve):
    _, model = serve(timeout=0.3, faults=["slow"])

    with pytest.raises(base.TimedOutError):
        model.generate("hello", max_tokens=5)


def test_no_time_left_is_a_timeout_without_a_request(serve):
    server, model = serve()
    model.describe()
    asked = len(server.requests)

    with pytest.raises(base.TimedOutError):
        model.generate("hello", max_tokens=5, timeout=0.0)

    assert len(server.requests) == asked


def test_where_nothing_listens_the_message_names_the_address_tried():
    url = f"http://127.0.0.1:{free_port()}"
    model = OpenAIModel(NAME, host=url)

    for call in (model.describe, lambda: model.generate("hello", max_tokens=5)):
        with pytest.raises(base.UnreachableError, match=f"nothing answers at {url} .*--tokenbench-host"):
            call()


def test_a_server_that_came_back_is_asked_again(serve):
    server, model = serve()
    model.generate("hello", max_tokens=5)
    port = int(server.url.rpartition(":")[2])
    server.stop()
    with pytest.raises(base.UnreachableError):
        model.generate("hello", max_tokens=5)

    with StubOpenAI(port=port, answer=lambda _: "back"):
        assert model.generate("hello", max_tokens=5).text == "back"


@pytest.mark.parametrize("user", ["x", "context", "tokens", "5", "error"])
def test_a_user_s_name_that_stands_in_an_error_does_not_change_what_it_means(serve, monkeypatch, user):
    said = (
        "This model's maximum context length is 4096 tokens. However, your messages resulted in 5000 tokens."
    )
    monkeypatch.setitem(
        FAULTS, "400", (400, {"error": {"message": f"{said} Reduce it, x.", "code": "context_length"}})
    )
    _, model = serve("plain", at=f"http://{user}:e@{{place}}", faults=["400"])

    with pytest.raises(base.WindowExceededError) as caught:
        model.generate("hello", max_tokens=5)

    assert (caught.value.needed, caught.value.window) == (5000, 4096)


def test_no_part_of_a_password_is_shown_where_an_error_is_shortened(serve, monkeypatch):
    monkeypatch.setitem(FAULTS, "500", (500, {"error": {"message": "y" * 295 + "s3cret-and-long"}}))
    _, model = serve(at="http://kim:s3cret-and-long@{place}", faults=["500"])

    with pytest.raises(base.CrashedError) as caught:
        model.generate("hello", max_tokens=5)

    assert "s3" not in str(caught.value)


def test_a_long_error_is_shortened(serve, monkeypatch):
    monkeypatch.setitem(FAULTS, "500", (500, "x " * 9000))
    _, model = serve(faults=["500"])

    with pytest.raises(base.CrashedError) as caught:
        model.generate("hello", max_tokens=5)

    assert len(str(caught.value)) < 400


# Where the server is, and what lets one in


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("http://box:8000", "http://box:8000"),
        ("http://box:8000/", "http://box:8000"),
        ("http://box:8000/v1", "http://box:8000"),
        (" http://box:8000/v1/ ", "http://box:8000"),
        ("https://box/llm/v1", "https://box/llm"),
        ("box:8000", "http://box:8000"),
        ("127.0.0.1:8000/v1", "http://127.0.0.1:8000"),
        ("http://[::1]:8000", "http://[::1]:8000"),
        ("http://user:p%40ss@box:8000/v1", "http://box:8000"),
        ("user:pass@box", "http://box"),
    ],
)
def test_a_host_is_given_with_or_without_v1_and_kept_without_credentials(given, meant):
    assert OpenAIModel(NAME, host=given).host == meant


@pytest.mark.parametrize(
    "given", ["http://box:port", "ftp://box", "http://", "http://box/v1?key=hush", "u:hush@:x"]
)
def test_what_is_no_address_is_refused_in_words_and_without_what_is_secret(given):
    with pytest.raises(base.UnreachableError, match="is no address of a server") as caught:
        address(given)

    assert "hush" not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize("given", [None, "", " "])
def test_without_a_host_the_option_is_named(given):
    with pytest.raises(base.UnreachableError, match="--tokenbench-host"):
        OpenAIModel(NAME, host=given)


def test_the_key_of_the_environment_is_sent_with_every_request(serve, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", f" {KEY}\n")
    server, model = serve(accepts=f"Bearer {KEY}")

    assert model.generate("hello", max_tokens=5).text == "not stated"
    assert {request.authorization for request in server.requests} == {f"Bearer {KEY}"}


@pytest.mark.parametrize("key", [None, ""])
def test_without_a_key_none_is_sent(serve, monkeypatch, key):
    if key is not None:
        monkeypatch.setenv("OPENAI_API_KEY", key)
    server, model = serve()

    model.generate("hello", max_tokens=5)

    assert {request.authorization for request in server.requests} == {None}


def test_user_and_password_of_the_address_are_sent_in_place_of_the_key(serve, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    server, model = serve(at="http://user:p%40ss@{place}/v1", accepts="Basic dXNlcjpwQHNz")

    assert model.generate("hello", max_tokens=5).text == "not stated"
    assert {request.authorization for request in server.requests} == {"Basic dXNlcjpwQHNz"}


@pytest.mark.parametrize(
    ("key", "at", "words_of_it"),
    [
        (None, "{url}", "if it wants a key, put that into the environment variable OPENAI_API_KEY"),
        (KEY, "{url}", "it does not accept the key in the environment variable OPENAI_API_KEY"),
        (None, "http://user:hush@{place}", "it does not accept the user and password in its address"),
    ],
)
def test_a_server_that_lets_nobody_in_is_told_in_one_sentence(serve, monkeypatch, key, at, words_of_it):
    if key:
        monkeypatch.setenv("OPENAI_API_KEY", key)
    server, model = serve(at=at, accepts="Bearer another")

    with pytest.raises(base.ModelError, match=words_of_it) as caught:
        model.describe()

    assert type(caught.value) is base.ModelError
    assert server.url in str(caught.value)
    assert "answered 401: Invalid API Key" in str(caught.value)


@pytest.mark.parametrize(
    "way_in",
    [("{url}", KEY), ("http://user:hush-hush-42@{place}", "hush-hush-42", "dXNlcjpodXNoLWh1c2gtNDI=")],
)
@pytest.mark.parametrize(
    "fault", [None, "locked", "refuse", "reset", "half", "slow", "drip", "500", "400", "malformed", "down"]
)
def test_nothing_that_lets_one_in_shows_anywhere(serve, monkeypatch, caplog, way_in, fault):
    at, *secrets = way_in
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setitem(FAULTS, "400", (400, {"error": f"bad request: {' '.join(secrets)}"}))
    server, model = serve(at=at, accepts="another" if fault == "locked" else None, faults=[fault])
    if fault == "down":
        server.stop()

    said, caught = [repr(model), model.host], None
    try:
        said += [repr(model.describe()), repr(model.generate("hello", max_tokens=5, timeout=brief(fault)))]
    except base.ModelError as error:
        caught = error

    assert (caught is None) == (fault is None)
    said += [caplog.text, *everything_said_of(caught)]
    assert not [secret for secret in secrets for text in said if secret in text]
    if fault == "400":
        assert str(caught).endswith(f"bad request: {' '.join('***' for _ in secrets)}")


def everything_said_of(error):
    """What a report of an error could print, the variables of each of our functions on the way included.

    No error of httpx may stand behind ours: in its functions the key is a variable like any other.
    """
    if error is None:
        return
    assert error.__cause__ is None
    assert error.__context__ is None or error.__suppress_context__
    yield from traceback.format_exception(error)
    for frame, _ in traceback.walk_tb(error.__traceback__):
        if "pytest_tokenbench" in frame.f_code.co_filename:
            yield from map(repr, frame.f_locals.values())


@pytest.mark.parametrize("key", ["sk-schlüssel", "sk-a\nb", "sk-\x00"])
def test_a_key_that_cannot_be_sent_is_refused_without_showing_it(monkeypatch, key):
    monkeypatch.setattr("os.environ", {"OPENAI_API_KEY": key})

    with pytest.raises(
        base.ModelError, match="OPENAI_API_KEY has characters in it that no key has"
    ) as caught:
        OpenAIModel(NAME, host="http://127.0.0.1:1")

    assert key not in str(caught.value)


# Replies that a real llama-server gave: b10470-34af94cd9, smollm2-135m in a window of 256 tokens


class Replay(StubOpenAI):
    """Gives recorded replies, and to every chat the one named. Counts tokens where it has a recording of that."""

    def __init__(self, chat, tokens=None):
        super().__init__("llama")
        self.chat, self.tokens = chat, tokens

    def reply(self, request):
        self.requests.append(request)
        recordings = {
            "/v1/models": "models",
            "/props": "props",
            "/v1/chat/completions": self.chat,
            "/apply-template": self.tokens and "template",
            "/tokenize": self.tokens,
        }
        name = recordings.get(request.path.partition("?")[0]) or "no_such_path"
        recording = recorded(name)
        return recording["status"], recording["body"], None


def recorded(name):
    folder = Path(__file__).parent / "recordings" / "llama_server"
    return json.loads((folder / f"{name}.json").read_text())


@pytest.fixture
def replay():
    opened = []

    def start(chat, tokens=None):
        server = Replay(chat, tokens)
        server.start()
        model = OpenAIModel("smollm2-135m", host=server.url)
        opened.extend((server.stop, model.close))
        return model

    yield start
    for close in reversed(opened):
        close()


PROMPT = "Name three colours of the rainbow. Answer in one short sentence."


def test_a_real_server_is_described(replay):
    info = replay("chat", "tokens").describe()

    assert (info.window, info.trained_window, info.options["window_source"]) == (256, 8192, "/props")
    assert (info.server_version, info.quantization, info.parameter_size) == (
        "b10470-34af94cd9",
        "Q4_1",
        "134.52M",
    )
    assert info.options["server"] == "llama-server"
    assert info.options["tokens_counted"] is True
    assert info.digest is None


def test_a_real_reply_is_read(replay):
    reply = replay("chat", "tokens").generate(PROMPT, max_tokens=64)

    assert reply == records.Generation(
        text="The rainbow is a celestial masterpiece of light and color, with three primary colours: red, orange, "
        "and yellow.",
        input_tokens=43,
        cached_tokens=0,
        output_tokens=24,
        prefill_s=pytest.approx(2.706037),
        decode_s=pytest.approx(2.357383),
        load_s=None,
        total_s=pytest.approx(5.06342),
        wall_s=reply.wall_s,
        stop="stop",
    )


def test_a_real_count_includes_the_tokens_that_came_from_the_cache(replay):
    reply = replay("chat_cached", "tokens").generate(PROMPT, max_tokens=64)

    assert (reply.input_tokens, reply.cached_tokens, reply.prefill_s) == (43, 42, pytest.approx(0.092892))


def test_a_real_reply_cut_at_its_limit_says_length(replay):
    reply = replay("cut_at_limit", "tokens").generate(PROMPT, max_tokens=3)

    assert (reply.text, reply.output_tokens, reply.stop) == ("The rainbow is", 3, "length")


def test_a_real_reply_that_fills_the_window_is_answered(replay):
    reply = replay("window_filled").generate("Write a long story about a river.", max_tokens=400)

    assert (reply.input_tokens, reply.output_tokens, reply.stop) == (38, 218, "length")


def test_a_real_reply_to_the_longest_prompt_that_fits_is_answered(replay):
    reply = replay("longest_prompt", "longest_tokens").generate(words(224), max_tokens=8)

    assert (reply.input_tokens, reply.output_tokens) == (255, 1)


def test_a_real_count_shows_that_a_shorter_prompt_was_read_than_was_sent(replay):
    with pytest.raises(base.WindowExceededError) as caught:
        replay("chat", "longest_tokens").generate(words(224), max_tokens=8)

    assert (caught.value.needed, caught.value.window) == (255, 256)


def test_a_real_refusal_of_a_long_prompt_tells_what_it_needs_and_what_there_is(replay):
    with pytest.raises(base.WindowExceededError) as caught:
        replay("too_long").generate(words(225), max_tokens=8)

    assert (caught.value.needed, caught.value.window) == (256, 256)


@pytest.mark.parametrize(
    ("recording", "kind", "words_of_it"),
    [
        ("loading", base.BusyError, "503: Loading model"),
        ("full_together", base.BusyError, "500: Context size has been exceeded"),
        ("unauthorized", base.ModelError, "401: Invalid API Key; .*OPENAI_API_KEY"),
        ("bad_request", base.RefusedError, "400: Expected 'messages' to be an array"),
    ],
)
def test_each_real_error_is_told_for_what_it_is(replay, recording, kind, words_of_it):
    with pytest.raises(base.ModelError, match=words_of_it) as caught:
        replay(recording).generate(PROMPT, max_tokens=8)

    assert type(caught.value) is kind


# The stub by itself


def test_the_stub_runs_as_a_script_and_prints_its_address():
    stub = Path(__file__).parents[1] / "stub_openai.py"
    with subprocess.Popen(
        [sys.executable, stub, "--kind", "vllm", "--port", "0", "--answer", "42"],
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        url = process.stdout.readline().strip()
        assert OpenAIModel(NAME, host=url).generate("hello", max_tokens=5).text == "42"
        process.kill()
