"""Time per trial and to start: the plugin beside a bare httpx loop and an empty pytest item that makes the same call.

Run: python scripts/perf/per_trial.py
"""

import sys
import tempfile
import time
from pathlib import Path

import httpx
from workbench import MODEL, stub, timed_pytest, write_study

TRIALS = 200
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


def pytest_loop(url: str, count: int) -> float:
    """The same calls as pytest items without the plugin."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "test_call.py").write_text(
            EMPTY_ITEM.format(body=BODY, url=url, count=count), encoding="utf-8"
        )
        return timed_pytest(Path(folder), "-p", "no:tokenbench")[0]


def study(url: str, count: int) -> float:
    """The same number of trials of a study."""
    with tempfile.TemporaryDirectory() as folder:
        write_study(Path(folder), documents=2, questions=max(1, count // 2))
        options = ["--tokenbench-host", url, "--tokenbench-model", MODEL]
        if count == 1:
            options += ["-k", "d0-q0"]
        return timed_pytest(Path(folder), *options)[0]


def main() -> None:
    """Prints a table for a server without and with a delay."""
    for delay in (0.0, 0.1):
        with stub(delay) as url:
            bare = min(bare_loop(url, TRIALS) for _ in range(2))
            print(
                f"server delay {1000 * delay:.0f} ms, {TRIALS} trials; bare httpx loop {1000 * bare / TRIALS:.2f} ms a call"
            )
            print(f"{'':24}{'start-up s':>12}{'total s':>10}{'ms a trial':>12}{'over the loop':>15}")
            for name, run in (("empty pytest item", pytest_loop), ("pytest-tokenbench", study)):
                one = min(run(url, 1) for _ in range(2))
                many = min(run(url, TRIALS) for _ in range(2))
                each = (many - one) / (TRIALS - 1)
                print(
                    f"{name:24}{one - delay:12.2f}{many:10.2f}{1000 * each:12.2f}{1000 * (each - bare / TRIALS):15.2f}"
                )
            sys.stdout.flush()


if __name__ == "__main__":
    main()
