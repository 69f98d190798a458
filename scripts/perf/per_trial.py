"""Time per trial and to start: the plugin beside a bare httpx loop and an empty pytest item that makes the same call.

Run: python scripts/perf/per_trial.py

Both also under pytest-xdist with two workers; there the time a trial is that of the worker which runs it. On a busy
machine the processor time, of the session with its workers, is the steadier one.
"""

import tempfile
import time
from pathlib import Path

import httpx
from workbench import MODEL, Session, stub, timed_pytest, write_study

TRIALS = 200
ROUNDS = 2
BODY = {
    "model": MODEL,
    "stream": False,
    "messages": [{"role": "user", "content": "Barley came by barge. " * 40}],
}

EMPTY_ITEM = """
import httpx, pytest
BODY = {body!r}
client = httpx.Client(base_url={url!r})

@pytest.mark.parametrize("n", range({count}))
def test_call(n):
    client.post("/api/chat", json=BODY).json()
"""


def bare_loop(url: str, count: int) -> float:
    """Wall seconds for `count` calls over one kept-alive connection."""
    with httpx.Client(base_url=url) as client:
        client.post("/api/chat", json=BODY)
        start = time.perf_counter()
        for _ in range(count):
            client.post("/api/chat", json=BODY).json()
        return time.perf_counter() - start


def pytest_loop(url: str, count: int, workers: int) -> Session:
    """The same calls as pytest items without the plugin."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "test_call.py").write_text(
            EMPTY_ITEM.format(body=BODY, url=url, count=count), encoding="utf-8"
        )
        return timed_pytest(Path(folder), "-p", "no:tokenbench", "-n", str(workers))


def study(url: str, count: int, workers: int) -> Session:
    """The same number of trials of a study."""
    with tempfile.TemporaryDirectory() as folder:
        write_study(Path(folder), documents=2, questions=max(1, count // 2))
        options = ["--tokenbench-host", url, "--tokenbench-model", MODEL, "-n", str(workers)]
        if count == 1:
            options += ["-k", "d0-q0"]
        return timed_pytest(Path(folder), *options)


def main() -> None:
    """Prints a table for a server without and with a delay."""
    for delay in (0.0, 0.1):
        with stub(delay) as url:
            bare = min(bare_loop(url, TRIALS) for _ in range(ROUNDS))
            print(
                f"server delay {1000 * delay:.0f} ms, {TRIALS} trials; bare httpx loop {1000 * bare / TRIALS:.2f} ms a call"
            )
            print(
                f"{'':24}{'start-up s':>12}{'total s':>10}{'ms a trial':>12}{'over the loop':>15}{'processor ms':>14}"
            )
            for workers in (0, 2):
                for name, run in (("empty pytest item", pytest_loop), ("pytest-tokenbench", study)):
                    ones = [run(url, 1, workers) for _ in range(ROUNDS)]
                    manys = [run(url, TRIALS, workers) for _ in range(ROUNDS)]
                    one, many = min(done.wall for done in ones), min(done.wall for done in manys)
                    each = (many - one) * max(1, workers) / (TRIALS - 1)
                    spent = min(done.processor for done in manys) - min(done.processor for done in ones)
                    print(
                        f"{name:18}-n {workers:<3}{one - delay:12.2f}{many:10.2f}{1000 * each:12.2f}"
                        f"{1000 * (each - bare / TRIALS):15.2f}{1000 * spent / (TRIALS - 1):14.2f}",
                        flush=True,
                    )


if __name__ == "__main__":
    main()
