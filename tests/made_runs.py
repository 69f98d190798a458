"""A run made by hand: two documents, four questions, conditions A and C, with numbers that are easy to work with."""

from dataclasses import replace
from pathlib import Path

from pytest_tokenbench import run_folder
from pytest_tokenbench.ledger import Ledger
from pytest_tokenbench.prices import Price
from pytest_tokenbench.records import (
    ModelInfo,
    Observation,
    Outcome,
    Preparation,
    Question,
    Ruling,
    Scores,
    Status,
    Verdict,
)
from pytest_tokenbench.run_folder import Run, RunRecord

QUESTIONS = (
    Question("mill-q1", "mill", "Who built it?", ("Finch",), answerable=True),
    Question("mill-q2", "mill", "When was the mill closed?", ("1931",), answerable=True),
    Question("mill-q3", "mill", "How many?", ("4",), answerable=True),
    Question("quay-q1", "quay", "How long is the quay?", ("31 metres",), answerable=True),
)
A_INPUT = {"mill-q1": 1010, "mill-q2": 1020, "mill-q3": 1005, "quay-q1": 2000}
C_INPUT = 100
OUTPUT = 5
BY_HAND = Price("by hand", "EUR", input=2.0, cached_input=0.5, output=10.0)


def observation(question: Question, condition: str, input_tokens: int, repeat: int = 0) -> Observation:
    return Observation(
        study="made",
        question=question.id,
        document=question.document,
        condition=condition,
        reader="reader:1b",
        repeat=repeat,
        status=Status.OK,
        started="2026-01-02T03:04:05.000+00:00",
        host="host",
        worker="main",
        outcome=Outcome.CORRECT,
        answer=question.answers[0],
        input_tokens=input_tokens,
        output_tokens=OUTPUT,
        scores=Scores(abstained=False, correct=True, f1=1.0, squad_f1=1.0, exact_match=True),
        context_sha256=f"the {question.document} under {condition}",
        preparation=f"summary-{question.document}" if condition == "C" else None,
    )


def errored(one: Observation) -> Observation:
    """The trial as it is if the server was gone."""
    return replace(
        one,
        status=Status.ERROR,
        outcome=None,
        answer=None,
        input_tokens=None,
        output_tokens=None,
        scores=None,
        error_kind="unreachable",
        error_message="nothing answers",
    )


def unconstructed(one: Observation) -> Observation:
    """The trial as it is if its preparation failed."""
    failed = errored(one)
    return replace(
        failed, status=Status.CONSTRUCTION_FAILED, error_kind="construction", error_message="empty"
    )


def observations(repeats: int = 1) -> tuple[Observation, ...]:
    return tuple(
        observation(question, condition, A_INPUT[question.id] if condition == "A" else C_INPUT, repeat)
        for question in QUESTIONS
        for condition in ("A", "C")
        for repeat in range(repeats)
    )


def preparation(document: str, input_tokens: int | None, output_tokens: int) -> Preparation:
    return Preparation(
        key=f"summary-{document}",
        recipe="summary",
        document=document,
        document_sha256="0" * 64,
        prompt_sha256="0" * 64,
        model_digest="digest",
        options={},
        units=("A summary.",),
        flags=(),
        calls=1,
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        seconds=1.0,
    )


PREPARATIONS = (preparation("mill", 1000, 100), preparation("quay", 2000, 50))


def record(*prices: Price) -> RunRecord:
    return RunRecord(
        format=run_folder.FORMAT,
        study="made",
        study_file="test_made.py",
        started="2026-01-02T03:04:05+00:00",
        quick=False,
        order="cold",
        backend="ollama",
        baseline="A",
        conditions=("A", "C"),
        questions=QUESTIONS,
        scheduled=8,
        model=ModelInfo("ollama", "reader:1b", "digest", 4096),
        hashes={},
        registration="pre-registered in commit 0",
        registered=(),
        commit=None,
        machine={},
        recipes={"C": "summary"},
        prices=prices,
        finished="2026-01-02T03:14:05+00:00",
        verdicts=(Verdict("H1", "C costs less.", Ruling.PASSED),),
    )


def run(*prices: Price) -> Run:
    return Run(record(*prices), observations(), PREPARATIONS)


def repeated(times: int) -> Run:
    """The run with each trial several times."""
    made = observations(times)
    return Run(replace(record(), repeats=times, scheduled=len(made)), made, PREPARATIONS)


def shards(number: int, whole: Run | None = None) -> list[Run]:
    """The run in parts, dealt out trial by trial, each as if it was run on a machine of its own."""
    whole = whole or run()
    parts = []
    for place in range(number):
        seen = whole.observations[place::number]
        needed = {one.preparation for one in seen}
        told = replace(
            whole.record,
            started=f"2026-01-02T03:04:{place + 10}+00:00",
            shard=f"{place + 1}/{number}",
            scheduled=len(seen),
            machine={"system": f"machine {place}"},
            verdicts=(),
        )
        built = tuple(one for one in whole.preparations if one.key in needed)
        parts.append(Run(told, tuple(replace(one, host=f"host {place}") for one in seen), built))
    return parts


def folder(reports: Path, *prices: Price) -> Path:
    """The run's folder, with its ledgers and without results."""
    return written(reports, run(*prices))


def written(reports: Path, made: Run) -> Path:
    """The folder of any run, with its ledgers and without results."""
    path = run_folder.create(reports, made.record)
    for name, records in (
        (run_folder.OBSERVATIONS, made.observations),
        (run_folder.PREPARATIONS, made.preparations),
    ):
        ledger = Ledger(path / name)
        for one in records:
            ledger.append(one)
        ledger.close()
    return path
