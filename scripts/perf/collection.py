"""70,000 trials collected and run against a stub, beside 70,000 empty pytest items, both with JUnit.

Run: python scripts/perf/collection.py [TRIALS]
"""

import sys
import tempfile
from pathlib import Path

from workbench import MODEL, stub, timed_pytest, write_study

CONDITIONS = 7

EMPTY = """
import pytest

@pytest.mark.parametrize("n", [f"B{{n % 7}}-d{{n // 70}}-q{{n % 10}}-{{n}}" for n in range({count})])
def test_empty(n):
    pass
"""


def main() -> None:
    """Prints wall seconds and peak memory of both, and their ratio."""
    trials = int(sys.argv[1]) if len(sys.argv) > 1 else 70_000
    documents = trials // (10 * CONDITIONS)
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "test_empty.py").write_text(EMPTY.format(count=trials), encoding="utf-8")
        floor = timed_pytest(Path(folder), "-p", "no:tokenbench", "--junitxml=junit.xml")
    print(f"{trials:,} empty pytest items   {floor.wall:7.1f} s {floor.mebibytes:7.0f} MiB", flush=True)
    with tempfile.TemporaryDirectory() as folder, stub(0.0) as url:
        write_study(Path(folder), documents=documents, questions=10, conditions=CONDITIONS)
        options = ["--tokenbench-host", url, "--tokenbench-model", MODEL, "--junitxml=junit.xml"]
        ours = timed_pytest(Path(folder), *options)
    print(f"{trials:,} trials               {ours.wall:7.1f} s {ours.mebibytes:7.0f} MiB")
    print(
        f"ratio                      {ours.wall / floor.wall:7.2f}   {ours.mebibytes / floor.mebibytes:7.2f}   (wall includes the stub's share of the cores)"
    )


if __name__ == "__main__":
    main()
