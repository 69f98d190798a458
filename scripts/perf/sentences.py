"""Cutting odd paragraphs into sentences: how time grows with length.

Run: python scripts/perf/sentences.py

A paragraph four times as long should take about four times as long; sixteen would say that each break looks at all
that came before it.
"""

import time

from pytest_tokenbench.corpus import passages

PARAGRAPHS = {
    "one word": ("\u6f22", "! A", 25_000),
    "sentences with a number": ("Saying no. 5 again. ", "", 5_000),
    "abbreviations only": ("Mr. ", "X", 10_000),
}


def seconds(paragraph: str) -> float:
    """The fastest of three times."""
    times = []
    for _ in range(3):
        start = time.perf_counter()
        passages.sentences(paragraph)
        times.append(time.perf_counter() - start)
    return min(times)


def main() -> None:
    """Prints a line for each paragraph."""
    for name, (piece, end, count) in PARAGRAPHS.items():
        short, long = (seconds(piece * count * times + end) for times in (1, 4))
        print(
            f"{name:26}{count * len(piece):>9,} signs {1000 * short:8.1f} ms, four times as many {1000 * long:8.1f} ms: "
            f"{long / short:5.1f} x"
        )


if __name__ == "__main__":
    main()
