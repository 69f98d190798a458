"""A model that replies as it is told, and makers of the records that tests need."""

from dataclasses import replace

from pytest_tokenbench.models.patient import Patient
from pytest_tokenbench.preparation import Encoder
from pytest_tokenbench.records import (
    Document,
    Generation,
    ModelInfo,
    Observation,
    OriginalSource,
    Outcome,
    Preparation,
    Question,
    Scores,
    Status,
)

INFO = ModelInfo(backend="scripted", name="scripted:1b", digest="sha256:abc", window=4096)


def reply(text, **told):
    """A generation with this text; every other field can be given."""
    known = {
        "input_tokens": 100,
        "cached_tokens": None,
        "output_tokens": 10,
        "prefill_s": None,
        "decode_s": None,
        "load_s": None,
        "total_s": None,
        "wall_s": 0.5,
        "stop": "stop",
    }
    return Generation(text, **(known | told))


class ScriptedModel:
    """Gives its replies in turn: a string, a generation, an exception to raise, or a function that makes one of them.

    Keeps what it was asked. `info` is what it says of itself; `told` are exceptions to raise before it does.
    """

    def __init__(self, *replies, host="here", info=INFO, told=()):
        self.replies = list(replies)
        self.told = list(told)
        self.host = host
        self.info = replace(info, host=host)
        self.prompts = []
        self.limits = []
        self.timeouts = []
        self.described = 0
        self.is_closed = False

    def describe(self, *, timeout=None):
        self.described += 1
        self.timeouts.append(timeout)
        if self.told and (error := self.told.pop(0)):
            raise error
        return self.info

    def generate(self, prompt, *, max_tokens, timeout=None):
        self.prompts.append(prompt)
        self.limits.append(max_tokens)
        self.timeouts.append(timeout)
        said = self.replies.pop(0)
        said = said() if callable(said) else said
        if isinstance(said, Exception):
            raise said
        return reply(said) if isinstance(said, str) else said

    def close(self):
        self.is_closed = True


def patient(*models, timeout=60.0, **given):
    """A patient that asks these models and does not wait between attempts."""
    return Patient(models, timeout=timeout, backoff=0.0, **given)


def encoder(*replies):
    return Encoder(ScriptedModel(*replies))


def document(text, name="mill", sha256="0" * 64):
    return Document(
        name, name.title(), f"{name}.txt", len(text.split()), sha256, "CC0", OriginalSource(), text
    )


def question(name="mill-q1", text="When was the mill built?", document="mill", answers=("1901",), **more):
    known = {"answerable": True, "paragraph": 0}
    return Question(name, document, text, answers, **(known | more))


def unanswerable(name="mill-q9", document="mill"):
    return Question(name, document, "Who sold the mill?", (), answerable=False)


def preparation(*units, **more):
    made = Preparation(
        key="key",
        recipe="croutons",
        document="mill",
        document_sha256="0" * 64,
        prompt_sha256="1" * 64,
        model_digest="sha256:abc",
        options={},
        units=units,
        flags=(),
        calls=1,
        input_tokens=10,
        output_tokens=5,
        seconds=1.0,
    )
    return replace(made, **more)


def observation(asked, condition, *, right=True, status=Status.OK, **more):
    """One trial. `right` says whether an `ok` one was correct, or abstained where nothing can be answered."""
    told = {}
    if status is Status.OK and asked.answerable:
        told["outcome"] = Outcome.CORRECT if right else Outcome.WRONG
        told["scores"] = Scores(
            abstained=False, correct=right, f1=float(right), squad_f1=float(right), exact_match=right
        )
    elif status is Status.OK:
        told["outcome"] = Outcome.ABSTAINED if right else Outcome.MADE_UP
        told["scores"] = Scores(abstained=right, made_up=not right)
    told |= {"input_tokens": 100, "output_tokens": 10} if status is Status.OK else {}
    known = {
        "study": "made",
        "question": asked.id,
        "document": asked.document,
        "condition": condition,
        "reader": "scripted:1b",
        "repeat": 0,
        "status": status,
        "started": "2026-11-30T05:00:00.000+00:00",
        "host": "here",
        "worker": "main",
    }
    return Observation(**(known | told | more))
