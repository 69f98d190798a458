"""Measures of a text as prose, after those taken on long Wikipedia articles."""

import gzip
import re
import statistics
from collections import Counter

from pytest_tokenbench.corpus.passages import paragraphs, word_count

Gram = tuple[str, ...]


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def grams(text: str, width: int) -> list[Gram]:
    sequence = words(text)
    return [tuple(sequence[i : i + width]) for i in range(len(sequence) - width + 1)]


def repeated_share(text: str, width: int) -> float:
    """Share of positions whose sequence of `width` words stands elsewhere in the text too."""
    found = grams(text, width)
    return sum(times for times in Counter(found).values() if times > 1) / len(found)


def shared_share(text: str, other: str, width: int) -> float:
    """Share of the text's sequences of `width` words that stand in the other text."""
    found, others = grams(text, width), set(grams(other, width))
    return sum(gram in others for gram in found) / len(found)


def gzip_ratio(text: str) -> float:
    raw = text.encode()
    return len(gzip.compress(raw, compresslevel=9)) / len(raw)


def distinct_share(text: str, first: int = 4000) -> float:
    head = words(text)[:first]
    return len(set(head)) / len(head)


def departures(text: str) -> list[str]:
    """In what the text lies outside the bounds held for every article; empty for good prose."""
    median = statistics.median(map(word_count, paragraphs(text)))
    bounds = {
        "repeated 4-word sequences": repeated_share(text, 4) <= 0.07,
        "repeated 8-word sequences": repeated_share(text, 8) <= 0.01,
        "gzip ratio": gzip_ratio(text) >= 0.33,
        "distinct words": distinct_share(text) >= 0.25,
        "median paragraph": 80 <= median <= 150,
    }
    return [name for name, held in bounds.items() if not held]
