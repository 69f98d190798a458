"""Four servers with a delay of 100 ms and -n 4, beside one with -n 0 and with -n 1.

Run: python scripts/perf/hosts.py [TRIALS]

The time without start-up is that from the first trial's start to the last one's end, taken from the ledger.
"""

import statistics
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

from workbench import MODEL, only_run, span, stub, timed_pytest, write_study

DELAY = 0.1
ROUNDS = 3
SETUPS = (("one host, -n 0", 1, 0), ("one host, -n 1", 1, 1), ("four hosts, -n 4", 4, 4))


def run(hosts: int, workers: int, trials: int) -> tuple[float, float]:
    """Wall seconds of the session, and of its trials."""
    with tempfile.TemporaryDirectory() as name, ExitStack() as servers:
        folder = write_study(Path(name), documents=trials // 10, questions=10)
        options = [f"--tokenbench-host={servers.enter_context(stub(DELAY))}" for _ in range(hosts)]
        session = timed_pytest(folder, "-n", str(workers), "--tokenbench-model", MODEL, *options)
        return session.wall, span(only_run(folder / "reports").observations)


def main() -> None:
    """Prints medians over alternating runs, and how much faster four hosts are."""
    trials = int(sys.argv[1]) if len(sys.argv) > 1 else 400
    rounds = [[run(hosts, workers, trials) for _, hosts, workers in SETUPS] for _ in range(ROUNDS)]
    print(
        f"{trials} trials, {1000 * DELAY:.0f} ms each at the server; medians of {ROUNDS}, fastest and slowest"
    )
    print(f"{'':18}{'session s':>10}{'trials s':>10}{'':17}{'trials/s':>10}{'four hosts are':>17}")
    spans = [[one[place][1] for one in rounds] for place in range(len(SETUPS))]
    fastest = statistics.median(spans[-1])
    for place, (name, _, _) in enumerate(SETUPS):
        wall, seconds = statistics.median(one[place][0] for one in rounds), statistics.median(spans[place])
        print(
            f"{name:18}{wall:10.1f}{seconds:10.1f}  ({min(spans[place]):6.1f} {max(spans[place]):6.1f})"
            f"{trials / seconds:10.1f}{seconds / fastest:10.2f} x faster"
        )


if __name__ == "__main__":
    main()
