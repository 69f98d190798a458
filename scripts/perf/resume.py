"""Going on with a run of 100,000 observations, and its results: time and peak memory, each in a process of its own.

Run: python scripts/perf/resume.py [OBSERVATIONS]

Going on is what comes before the first trial: find the newest unfinished run, read it, tell what is done, compare and
write its record, open its ledger to append, and read it once more for the side that asks, which under xdist is another
process. Collecting the trials is pytest's, see `collection.py`.
"""

import random
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from pytest_tokenbench import resume, run_folder
from pytest_tokenbench.ledger import Ledger
from pytest_tokenbench.records import ModelInfo, Observation, Outcome, Question, Scores, Status
from pytest_tokenbench.reporting import document
from pytest_tokenbench.run_folder import RunRecord
from pytest_tokenbench.settings import Settings

ROUNDS = 5
CONDITIONS = ("A", "B2", "B4", "C", "D10", "D25", "Dall")
MODEL = "reader:1b"
Seconds = tuple[float, float]


def settings(reports: Path) -> Settings:
    """Of a session that goes on with the newest run."""
    return Settings(
        backend="ollama",
        model=MODEL,
        hosts=(),
        conditions=None,
        quick=False,
        reports=reports,
        strict=False,
        prices=None,
        preparations=reports,
        resume="",
    )


def write_run(reports: Path, count: int) -> None:
    """The folder of a run with so many observations that is not finished; ten questions a document, a fifth open."""
    questions = tuple(
        Question(f"d{n // 10}-q{n % 10}", f"d{n // 10}", f"Who built mill {n}?", ("Finch",), n % 5 > 0)
        for n in range(-(-count // len(CONDITIONS)))
    )
    record = RunRecord(
        format=run_folder.FORMAT,
        study="perf",
        study_file="test_perf.py",
        started="2026-01-02T03:04:05+00:00",
        quick=False,
        order="cold",
        backend="ollama",
        baseline="A",
        conditions=CONDITIONS,
        questions=questions,
        scheduled=len(questions) * len(CONDITIONS),
        model=ModelInfo("ollama", MODEL, "digest", 16_384),
        hashes={},
        registration="not registered",
        registered=(),
        commit=None,
        machine={},
    )
    ledger = Ledger(run_folder.create(reports, record) / run_folder.OBSERVATIONS)
    made = observations(questions)
    for _ in range(count):
        ledger.append(next(made))
    ledger.close()


def observations(questions: tuple[Question, ...]) -> Iterator[Observation]:
    """Of every question under every condition, with scores drawn at random."""
    rng = random.Random(0)
    for question in questions:
        for place, condition in enumerate(CONDITIONS):
            right = rng.random() < 0.6
            f1 = rng.random()
            scores = Scores(abstained=False, correct=right, f1=f1, squad_f1=f1, exact_match=right)
            yield Observation(
                study="perf",
                question=question.id,
                document=question.document,
                condition=condition,
                reader=MODEL,
                repeat=0,
                status=Status.OK,
                started="2026-01-02T03:04:05.000+00:00",
                host="http://127.0.0.1:11434",
                worker="gw0",
                outcome=Outcome.CORRECT if right else Outcome.WRONG,
                answer="It was built by Finch and his two sons.",
                input_tokens=rng.randint(500, 600) * (len(CONDITIONS) - place),
                cached_tokens=0,
                output_tokens=rng.randint(1, 64),
                prefill_s=rng.random(),
                decode_s=rng.random(),
                load_s=0.001,
                total_s=rng.random() + 1,
                wall_s=rng.random() + 2,
                stop="stop",
                scores=scores if question.answerable else Scores(abstained=right, made_up=not right),
                context_words=400,
                context_sha256=f"{rng.getrandbits(256):064x}",
                units=tuple(f"chunk-{n}" for n in range(4)),
                prompt_sha256=f"{rng.getrandbits(256):064x}",
            )


def go_on(reports: Path) -> Seconds:
    """What a session does with the run before its first trial: the side that keeps it, then the side that asks."""
    start = clocks()
    (folder,) = resume.earlier(settings(reports), reports).values()
    lock = run_folder.lock(folder)
    run = run_folder.read(folder)
    resume.finished(run)
    resume.differences(run.record, run.record)
    run_folder.write_record(folder, run.record)
    ledger = Ledger(folder / run_folder.OBSERVATIONS)
    again = resume.finished(run_folder.read(folder))
    spent = since(start)
    assert len(again) == len(run.observations)
    ledger.close()
    lock.release()
    return spent


def results(reports: Path) -> Seconds:
    """The results document from observations that have been read."""
    (folder,) = resume.earlier(settings(reports), reports).values()
    run = run_folder.read(folder)
    start = clocks()
    document.as_text(document.build(run))
    return since(start)


def clocks() -> Seconds:
    """Wall and processor seconds."""
    return time.perf_counter(), time.process_time()


def since(start: Seconds) -> Seconds:
    """What has gone by."""
    now = clocks()
    return now[0] - start[0], now[1] - start[1]


def in_own_process(work: Callable[[Path], Seconds], reports: Path) -> tuple[float, float, float]:
    """Wall and processor seconds of some work, and the peak memory of its process in MiB."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
        wall, processor = process.submit(work, reports).result()
        return wall, processor, process.submit(peak).result()


def peak() -> float:
    """Peak memory of this process in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    """Prints medians."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    with tempfile.TemporaryDirectory() as name:
        reports = Path(name)
        write_run(reports, count)
        print(f"{count:,} observations, medians of {ROUNDS} processes, fastest and slowest")
        for work in (go_on, results):
            runs = [in_own_process(work, reports) for _ in range(ROUNDS)]
            wall, processor, mebibytes = map(statistics.median, zip(*runs, strict=True))
            print(
                f"{work.__name__.replace('_', ' '):8}{wall:6.2f} s ({min(runs)[0]:.2f} to {max(runs)[0]:.2f}), "
                f"{processor:6.2f} s processor, peak {mebibytes:5.0f} MiB"
            )


if __name__ == "__main__":
    main()
