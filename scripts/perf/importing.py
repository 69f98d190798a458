"""What the plugin costs a suite that has no study: wall time of pytest with and without it.

Run: python scripts/perf/importing.py
"""

import statistics
import tempfile
from pathlib import Path

from workbench import timed_pytest

RUNS = 11


def main() -> None:
    """Prints medians over alternating runs, and their difference."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "test_nothing.py").write_text("def test_nothing():\n    pass\n", encoding="utf-8")
        with_plugin, without = [], []
        for _ in range(RUNS):
            with_plugin.append(timed_pytest(Path(folder)).wall)
            without.append(timed_pytest(Path(folder), "-p", "no:tokenbench").wall)
    ours, bare = statistics.median(with_plugin), statistics.median(without)
    print(
        f"with the plugin {1000 * ours:.0f} ms, without {1000 * bare:.0f} ms: {1000 * (ours - bare):+.0f} ms"
    )


if __name__ == "__main__":
    main()
