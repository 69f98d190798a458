"""Resident memory of one xdist worker over 10,000 trials, beside one that runs 10,000 empty pytest items.

Run: python scripts/perf/memory.py [TRIALS]
"""

import sys
import tempfile
from pathlib import Path

from workbench import MODEL, stub, timed_pytest, write_study

POINTS = 10

EMPTY = """
import pytest

@pytest.mark.parametrize("n", range({count}))
def test_empty(n):
    pass
"""

# In each process that runs items; the one that hands them out runs none.
PROBE = """
import gc

import pytest

seen = 0

@pytest.hookimpl(trylast=True)
def pytest_runtest_logfinish():
    global seen
    seen += 1
    if seen == 1 or seen % {step} == 0:
        gc.collect()
        status = open("/proc/self/status").read().split("VmRSS:")[1]
        with open("memory.txt", "a") as file:
            file.write(f"{{seen}} {{int(status.split()[0]) / 1024}}\\n")

def pytest_configure(config):
    if not hasattr(config, "workerinput"):
        config.pluginmanager.unregister(name="probe")
"""


def watched(folder: Path, trials: int, *options: str) -> dict[int, float]:
    """The worker's resident memory in MiB after its first item and after each tenth of all."""
    (folder / "probe.py").write_text(PROBE.format(step=trials // POINTS), encoding="utf-8")
    timed_pytest(folder, "-n", "1", "-p", "probe", *options)
    lines = (folder / "memory.txt").read_text(encoding="utf-8").splitlines()
    return {int(number): float(mebibytes) for number, mebibytes in map(str.split, lines)}


def main() -> None:
    """Prints a line for each tenth, and how much is added by an item."""
    trials = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    with tempfile.TemporaryDirectory() as name:
        Path(name, "test_empty.py").write_text(EMPTY.format(count=trials), encoding="utf-8")
        empty = watched(Path(name), trials, "-p", "no:tokenbench")
    with tempfile.TemporaryDirectory() as name, stub(0.0) as url:
        folder = write_study(Path(name), documents=trials // 10, questions=10)
        ours = watched(folder, trials, "--tokenbench-host", url, "--tokenbench-model", MODEL)
    print(f"{'items':>8}{'empty MiB':>11}{'trials MiB':>12}")
    for number, mebibytes in ours.items():
        print(f"{number:8,}{empty[number]:11.1f}{mebibytes:12.1f}")
    first = trials // POINTS
    for name, seen in (("an empty item", empty), ("a trial", ours)):
        added = 1024 * 1024 * (seen[trials] - seen[first]) / (trials - first)
        print(f"{name} adds {added:.0f} bytes")


if __name__ == "__main__":
    main()
