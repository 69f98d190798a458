"""Replies with numbers that cannot be: malformed, whichever server sends them and wherever they stand in the reply."""

import copy
import json

import pytest
from stub_http import StubHTTP
from stub_ollama import StubModel, StubOllama
from stub_openai import OVERHEAD, StubOpenAI

from pytest_tokenbench.models import base, bounds, llama_replies, ollama_replies, openai_replies, wire
from pytest_tokenbench.models.ollama import OllamaModel
from pytest_tokenbench.models.openai import OpenAIModel
from pytest_tokenbench.records import ModelInfo

PROMPT = "In which year was the mill at the upper ford built? " * 8
LIMIT = 64
ABSURD = [
    pytest.param(-1, id="negative"),
    *(pytest.param(10**digits, id=f"1e{digits}") for digits in (15, 30, 316, 400)),
]
TOO_LARGE = [pytest.param(10**digits, id=f"1e{digits}") for digits in (16, 400)]
INFO = ModelInfo("any", "reader", None, 4096, host="http://here")

OLLAMA = {
    "message": {"content": "In 1911", "thinking": "Hm."},
    "done": True,
    "done_reason": "stop",
    "prompt_eval_count": 100,
    "prompt_eval_cached_count": 0,
    "eval_count": 4,
    "prompt_eval_duration": 2_000_000,
    "eval_duration": 1_000_000,
    "load_duration": 1_000_000,
    "total_duration": 4_000_000,
}
OPENAI = {
    "choices": [{"message": {"content": "In 1911", "reasoning": "Hm."}, "finish_reason": "stop"}],
    "usage": {
        "prompt_tokens": 100,
        "completion_tokens": 4,
        "prompt_tokens_details": {"cached_tokens": 0},
    },
    "timings": {"prompt_ms": 2.5, "predicted_ms": 1.5},
}
# Where a server does not tell of cached tokens in the interface's way, llama.cpp's own count is taken.
TIMED = {
    "choices": OPENAI["choices"],
    "usage": {"prompt_tokens": 100, "completion_tokens": 4},
    "timings": {"cache_n": 0, "prompt_ms": 2.5, "predicted_ms": 1.5},
}
LLAMA = {"choices": [{"delta": {"content": "In 1911"}, "finish_reason": "stop"}]} | {
    key: TIMED[key] for key in ("usage", "timings")
}


def by_ollama(reply):
    read = wire.decoded(json.dumps(reply).encode(), ollama_replies.Reply, "http://here")
    return ollama_replies.generation(read, PROMPT, LIMIT, 1.0, INFO)


def by_openai(reply):
    read = wire.decoded(json.dumps(reply).encode(), openai_replies.Reply, "http://here")
    return openai_replies.generation(read, PROMPT, LIMIT, None, wall_s=1.0, info=INFO)


def by_llama(reply):
    return llama_replies.generation([json.dumps(reply).encode()], PROMPT, LIMIT, 1.0)


BACKENDS = [(by_ollama, OLLAMA), (by_openai, OPENAI), (by_openai, TIMED), (by_llama, LLAMA)]


def numbers(reply, path=()):
    """Where in a reply a number stands."""
    items = reply.items() if isinstance(reply, dict) else enumerate(reply) if isinstance(reply, list) else ()
    for key, value in items:
        if isinstance(value, int | float) and not isinstance(value, bool):
            yield (*path, key)
        yield from numbers(value, (*path, key))


def with_number(reply, path, number):
    made = copy.deepcopy(reply)
    place = made
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = number
    return made


FIELDS = [
    pytest.param(read, reply, path, id=f"{read.__name__}-{'.'.join(path)}")
    for read, reply in BACKENDS
    for path in numbers(reply)
]


@pytest.mark.parametrize(("read", "reply"), BACKENDS)
def test_the_replies_of_these_tests_are_answers_as_they_stand(read, reply):
    made = read(reply)

    assert (made.text, made.input_tokens, made.cached_tokens, made.output_tokens) == ("In 1911", 100, 0, 4)
    assert len(list(numbers(reply))) >= 5


@pytest.mark.parametrize("number", ABSURD)
@pytest.mark.parametrize(("read", "reply", "path"), FIELDS)
def test_a_number_that_cannot_be_is_a_malformed_reply(read, reply, path, number):
    if path[-1].endswith("_duration") and 0 < number < 10**17:  # in nanoseconds that can be
        number = 10**18
    with pytest.raises(base.MalformedReplyError) as caught:
        read(with_number(reply, path, number))

    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize(("read", "reply"), BACKENDS)
def test_an_output_count_beyond_limit_and_text_makes_no_prompt_too_long(read, reply):
    path = next(path for path in numbers(reply) if path[-1] in {"eval_count", "completion_tokens"})

    assert read(with_number(reply, path, LIMIT)).output_tokens == LIMIT
    for count in (200, 5000, 100_000):
        with pytest.raises(base.MalformedReplyError, match="tokens of its own"):
            read(with_number(reply, path, count))


@pytest.mark.parametrize("thinks", [True, False])
def test_a_server_that_does_not_heed_the_limit_is_believed_as_far_as_its_text_goes(thinks):
    text = "word " * 500
    message = {"content": "Yes", "thinking": text} if thinks else {"content": text}

    assert by_ollama(OLLAMA | {"message": message, "eval_count": 501}).output_tokens == 501


@pytest.mark.parametrize(
    ("prompt", "window", "count", "can_be"),
    [
        ("x" * 400, 4096, 400 + bounds.TEMPLATE, True),
        ("x" * 400, 4096, 401 + bounds.TEMPLATE, False),
        ("x" * 400, None, 401 + bounds.TEMPLATE, False),
        ("x" * 400, 256, 656, True),
        ("x" * 400, 256, 657, False),
        ("\U0001f426" * 400, 256, 1856, True),
        ("\U0001f426" * 400, 256, 1857, False),
    ],
)
def test_a_prompt_has_a_token_for_each_byte_at_most_and_those_of_its_template(prompt, window, count, can_be):
    try:
        bounds.check_read(prompt, window, "here", None, count)
    except base.MalformedReplyError:
        assert not can_be
    else:
        assert can_be


def test_a_prompt_read_beyond_the_window_that_can_have_so_many_tokens_is_still_one_that_was_cut():
    prompt = "word " * 5000
    reply = ollama_replies.Reply(ollama_replies.Message("x"), done=True, prompt_eval_count=5010, eval_count=1)

    with pytest.raises(base.WindowExceededError):
        ollama_replies.generation(reply, prompt, LIMIT, 1.0, INFO)


# What a server says when it refuses, and of its model


def said(needed, window):
    return (
        f"request ({needed} tokens) exceeds the available context size ({window} tokens), try increasing it"
    )


class Refusing(StubHTTP):
    """Answers each chat with the error given, and everything else as the stub behind it does."""

    def __init__(self, behind, error):
        super().__init__(0)
        self.behind, self.error = behind, error

    def handle(self, method, path, raw, headers):
        is_chat = path.endswith(("/chat", "/chat/completions")) and json.loads(raw).get("messages")
        return (400, self.error, None) if is_chat else self.behind.handle(method, path, raw, headers)


def refused_by(model_class, behind, error):
    with Refusing(behind, error) as server:
        model = model_class(NAMES[model_class], host=server.url)
        with pytest.raises(base.ModelError) as caught:
            model.generate("hello", max_tokens=5)
        model.close()
    return caught.value


NAMES = {OllamaModel: "smollm2:135m", OpenAIModel: "reader"}
STUBS = [(OllamaModel, StubOllama), (OpenAIModel, lambda: StubOpenAI("plain"))]


@pytest.mark.parametrize("which", ["needed", "window"])
@pytest.mark.parametrize(
    ("model_class", "stub", "number"),
    [
        (*STUBS[0], 10**16),
        (*STUBS[0], 10**30),
        (*STUBS[1], 10**16),
        (*STUBS[1], 10**400),
        (*STUBS[1], "9" * 5000),
    ],
    ids=["ollama-16", "ollama-30", "openai-16", "openai-400", "openai-5000"],
)
def test_a_refusal_with_figures_that_cannot_be_is_a_malformed_reply(model_class, stub, which, number):
    figures = {"needed": 5000, "window": 4096} | {which: number}

    error = refused_by(model_class, stub(), {"error": said(**figures)})

    assert type(error) is base.MalformedReplyError


@pytest.mark.parametrize("number", [-5, *TOO_LARGE])
@pytest.mark.parametrize("field", ["n_prompt_tokens", "n_ctx"])
def test_figures_beside_a_refusal_are_held_to_the_same(field, number):
    error = {"message": "it is too long", "type": "exceed_context_size_error"}
    figures = {"n_prompt_tokens": 5000, "n_ctx": 4096} | {field: number}

    refused = refused_by(OpenAIModel, StubOpenAI("plain"), {"error": error | figures})

    assert type(refused) is base.MalformedReplyError
    with pytest.raises(base.MalformedReplyError):
        by_llama({"error": error | figures})


@pytest.mark.parametrize(("model_class", "stub"), STUBS)
def test_a_refusal_with_figures_that_can_be_is_one_whatever_the_prompt_came_to(model_class, stub):
    error = refused_by(model_class, stub(), {"error": said(120_000, 4096)})

    assert type(error) is base.WindowExceededError
    assert (error.needed, error.window) == (120_000, 4096)


@pytest.mark.parametrize("number", [-1, *TOO_LARGE])
@pytest.mark.parametrize("which", ["window", "trained_window"])
def test_a_window_that_cannot_be_is_no_description_of_a_model(which, number):
    given = {"models": {"smollm2:135m": StubModel(trained_window=number if which != "window" else 8192)}}
    given |= {"window": number if which == "window" else 8192}
    with StubOllama(**given) as server:
        model = OllamaModel("smollm2:135m", host=server.url)
        with pytest.raises(base.MalformedReplyError, match="context length that cannot be"):
            model.describe()
        model.close()


class Telling(StubOpenAI):
    """A llama-server that tells one figure of its model as it likes."""

    def __init__(self, field, number):
        super().__init__("llama")
        self.field, self.number = field, number

    def _listed(self):
        listed = super()._listed()
        listed["data"][0]["meta"][self.field] = self.number
        return listed

    def reply(self, request):
        if request.path.startswith("/props"):
            return 404, {"error": {"message": "File Not Found"}}, None
        return super().reply(request)


@pytest.mark.parametrize("number", [-1, *TOO_LARGE])
@pytest.mark.parametrize("field", ["n_ctx", "n_ctx_train", "n_params"])
def test_a_figure_of_a_listed_model_that_cannot_be_is_no_description_of_it(field, number):
    with Telling(field, number) as server:
        model = OpenAIModel("reader", host=server.url)
        with pytest.raises(base.MalformedReplyError, match="that cannot be"):
            model.describe()
        model.close()


class Miscounting(StubOpenAI):
    """A vLLM that counts a prompt as it likes when it is asked for that."""

    def reply(self, request):
        status, body, fault = super().reply(request)
        return status, body | ({"count": self.told} if request.path == "/tokenize" else {}), fault


@pytest.mark.parametrize("number", [10**5, *TOO_LARGE])
def test_a_prompt_counted_beforehand_as_longer_than_it_can_be_is_not_too_long_but_miscounted(number):
    with Miscounting("vllm", window=2048) as server:
        server.told = 1 + OVERHEAD
        model = OpenAIModel("reader", host=server.url)
        model.generate("hello", max_tokens=5)
        server.told = number
        with pytest.raises(base.MalformedReplyError, match="more tokens of the prompt"):
            model.generate("hello", max_tokens=5)
        model.close()


@pytest.mark.parametrize(("model_class", "stub"), STUBS)
def test_a_reply_nested_without_end_is_malformed_and_as_an_error_told_as_one(model_class, stub):
    nested = "[" * 100_000
    assert isinstance(refused_by(model_class, stub(), nested), base.ModelError)
    for kind in (ollama_replies.Reply, openai_replies.Reply):
        with pytest.raises(base.MalformedReplyError):
            wire.decoded(f'{{"other":{nested}'.encode(), kind, "http://here")
