"""What the measuring scripts share: a stub server in its own process, studies of any size, timed pytest runs."""

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from pytest_tokenbench import run_folder
from pytest_tokenbench.records import Observation
from pytest_tokenbench.run_folder import Run

REPOSITORY = Path(__file__).resolve().parents[2]
STUB = REPOSITORY / "tests" / "stub_ollama.py"
MODEL = "smollm2:135m"

STUDY = """
from pytest_tokenbench import Study
from pytest_tokenbench.conditions import Chunks, FullText

study = Study("perf", questions="questions.json", corpus="corpus", baseline="A",
              conditions=[FullText("A")] + [Chunks(f"B{{n}}", top=n) for n in range(1, {conditions})])

@study.trials
def test_perf(trial):
    trial.ask()
"""


@contextmanager
def stub(delay: float) -> Iterator[str]:
    """The address of a stub server that answers each call after `delay` seconds."""
    command = [sys.executable, str(STUB), "--port", "0", "--delay", str(delay)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            yield server.stdout.readline().strip()
        finally:
            server.terminate()


def write_study(folder: Path, *, documents: int, questions: int, conditions: int = 1) -> Path:
    """A study of documents x questions each x conditions trials; returns its folder."""
    (folder / "corpus" / "articles").mkdir(parents=True)
    entries, asked = [], []
    for number in range(documents):
        name = f"d{number}"
        text = (
            f"The mill of place {number} ground 1,470 tonnes in 1922.\n\n"
            + "Barley came by barge from the coast. " * 20
        )
        (folder / "corpus" / "articles" / f"{name}.txt").write_text(text.strip() + "\n", encoding="utf-8")
        entries.append(
            {
                "id": name,
                "title": name,
                "file": f"articles/{name}.txt",
                "words": 1,
                "sha256": "0" * 64,
                "licence": "CC0-1.0",
                "source": {"kind": "original"},
            }
        )
        asked += [
            {
                "id": f"{name}-q{q}",
                "document": name,
                "question": f"How much did mill {number} grind in case {q}?",
                "answers": ["1,470 tonnes"],
                "answerable": True,
                "paragraph": 0,
            }
            for q in range(questions)
        ]
    (folder / "corpus" / "manifest.json").write_text(json.dumps({"documents": entries}), encoding="utf-8")
    (folder / "questions.json").write_text(json.dumps(asked), encoding="utf-8")
    (folder / "test_perf.py").write_text(STUDY.format(conditions=conditions), encoding="utf-8")
    (folder / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    subprocess.run(["tokenbench", "corpus", "pin"], cwd=folder, check=True, capture_output=True)
    return folder


class Session(NamedTuple):
    """What a pytest run took: wall seconds, peak memory in MiB, processor seconds with those of xdist's workers."""

    wall: float
    mebibytes: float
    processor: float


def timed_pytest(folder: Path, *arguments: str) -> Session:
    """Runs pytest in a fresh process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHONDONTWRITEBYTECODE": ""},
    )
    wall = time.perf_counter() - start
    if done.returncode:
        raise SystemExit(done.stdout[-3000:] + done.stderr[-3000:])
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Session(wall, after.ru_maxrss / 1024, processor)


def only_run(reports: Path) -> Run:
    """The one run that a reports folder has."""
    (folder,) = reports.glob("*/*")
    return run_folder.read(folder)


def span(observations: Iterable[Observation]) -> float:
    """Seconds from the start of the first trial to the end of the last: the run without its start-up."""
    starts = [(datetime.fromisoformat(one.started).timestamp(), one.wall_s or 0.0) for one in observations]
    return max(start + wall for start, wall in starts) - min(start for start, _ in starts)
