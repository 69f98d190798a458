"""One trial: from a question and a condition to an observation."""

import datetime as dt
import hashlib
from dataclasses import dataclass, replace

from pytest_tokenbench import prompting, scoring
from pytest_tokenbench.conditions.base import Condition
from pytest_tokenbench.corpus.passages import word_count
from pytest_tokenbench.models.base import ModelError, WindowExceededError
from pytest_tokenbench.models.patient import Patient
from pytest_tokenbench.preparation import CONSTRUCTION
from pytest_tokenbench.records import (
    Attempt,
    Document,
    Generation,
    Observation,
    Outcome,
    Preparation,
    Question,
    Remark,
    Scores,
    Status,
)

ANSWER_TOKENS = 64


@dataclass(frozen=True, slots=True)
class Case:
    """All that one trial needs to know. `preparation` is None where the condition has no recipe.

    `prompt` names the prompt that is filled. `host` is where it is to be asked. `nonce` is put before the prompt, so that its start is like no other's.
    """

    study: str
    question: Question
    document: Document
    condition: Condition
    reader: str
    host: str
    worker: str
    prompt: str = "answer"
    preparation: Preparation | None = None
    repeat: int = 0
    nonce: str | None = None


def failed(case: Case, error: ModelError, attempts: tuple[Attempt, ...] = ()) -> Observation:
    """The observation of a trial that came to nothing before the model was asked."""
    return replace(_blank(case), error_kind=error.kind, error_message=str(error), attempts=attempts)


def needless(case: Case, reason: str) -> Observation:
    """The observation of a trial that is not asked, since earlier trials made its arm needless."""
    return replace(_blank(case), status=Status.NOT_NEEDED, error_message=reason)


def observe(case: Case, model: Patient) -> Observation:
    """Asks the model one question under one condition. Trouble with the model becomes the observation's status."""
    blank = _blank(case)
    if case.preparation and case.preparation.failure is not None:
        return replace(
            blank,
            status=Status.CONSTRUCTION_FAILED,
            error_kind=case.preparation.failure_kind or CONSTRUCTION,
            error_message=case.preparation.failure,
        )
    context = case.condition.context(case.question, case.document, case.preparation)
    prompt = prompting.fill(case.prompt, context=context.text, question=case.question.question)
    if case.nonce is not None:
        prompt = prompting.after(case.nonce, prompt)
    asked = replace(
        blank,
        context_words=word_count(context.text),
        context_sha256=hashlib.sha256(context.text.encode()).hexdigest(),
        units=context.units,
        prompt_sha256=hashlib.sha256(prompt.encode()).hexdigest(),
    )
    try:
        reply = model.generate(prompt, max_tokens=ANSWER_TOKENS)
    except WindowExceededError as error:
        return replace(
            _tried(asked, model),
            status=Status.OVER_WINDOW,
            input_tokens=error.needed,
            error_kind=error.kind,
            error_message=str(error),
        )
    except ModelError as error:
        return replace(_tried(asked, model), error_kind=error.kind, error_message=str(error))
    return _answered(_tried(asked, model), case.question, reply)


def _tried(asked: Observation, model: Patient) -> Observation:
    """With the host that the model came to, and the tries that came to nothing."""
    return replace(asked, host=model.host, attempts=model.attempts)


def _blank(case: Case) -> Observation:
    return Observation(
        study=case.study,
        question=case.question.id,
        document=case.document.id,
        condition=case.condition.id,
        reader=case.reader,
        repeat=case.repeat,
        status=Status.ERROR,
        started=dt.datetime.now(dt.UTC).isoformat(timespec="milliseconds"),
        host=case.host,
        worker=case.worker,
        preparation=case.preparation.key if case.preparation else None,
        nonce=case.nonce,
    )


def _answered(asked: Observation, question: Question, reply: Generation) -> Observation:
    thinking, answer = scoring.split_thinking(reply.text)
    scores = score(question, answer)
    return replace(
        asked,
        status=Status.OK,
        outcome=outcome(question, scores),
        answer=answer,
        input_tokens=reply.input_tokens,
        cached_tokens=reply.cached_tokens,
        output_tokens=reply.output_tokens,
        prefill_s=reply.prefill_s,
        decode_s=reply.decode_s,
        load_s=reply.load_s,
        total_s=reply.total_s,
        wall_s=reply.wall_s,
        stop=reply.stop,
        scores=scores,
        remark=remark(answer, reply.thinking or thinking, reply.stop),
    )


def remark(answer: str, thinking: str | None, stop: str | None) -> Remark | None:
    """What is out of the ordinary in an answer, see `Remark`; `thinking` is what came before it."""
    if not answer.strip():
        return Remark.THINKING if thinking and thinking.strip() else Remark.EMPTY
    if scoring.refuses(answer):
        return Remark.REFUSAL
    return Remark.CUT if stop == "length" else None


def score(question: Question, answer: str) -> Scores:
    """The scores of an answer; of an unanswerable question only whether it abstains or makes something up."""
    abstained = scoring.abstains(answer)
    if not question.answerable:
        return Scores(abstained=abstained, made_up=not abstained)
    return Scores(
        abstained=abstained,
        correct=scoring.is_correct(answer, question.golds),
        f1=scoring.modified_f1(answer, question.golds),
        squad_f1=scoring.squad_f1(answer, question.golds),
        exact_match=scoring.squad_exact(answer, question.golds),
    )


def outcome(question: Question, scores: Scores) -> Outcome:
    """The one word for what the answer was."""
    if question.answerable:
        return Outcome.CORRECT if scores.correct else Outcome.WRONG
    return Outcome.ABSTAINED if scores.abstained else Outcome.MADE_UP
