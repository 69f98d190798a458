"""The random draw of the paragraphs that questions are asked about."""

import hashlib

from pytest_tokenbench.corpus.passages import paragraphs, word_count


def draw(text: str, document: str, *, seed: int, count: int, min_words: int) -> list[int]:
    """Ascending 0-based indices of `count` paragraphs drawn at random from those of `min_words` words or more.

    A paragraph's place in the draw is the SHA-256 of "seed:document:index", so that the draw is the same on every
    machine and Python version and can be repeated with `sha256sum` alone.

    Raises:
        ValueError: The document has fewer such paragraphs than `count`.
    """
    eligible = [i for i, paragraph in enumerate(paragraphs(text)) if word_count(paragraph) >= min_words]
    if len(eligible) < count:
        raise ValueError(
            f"{document}: {len(eligible)} paragraphs of {min_words} words or more, {count} are to be drawn"
        )

    def place(index: int) -> str:
        return hashlib.sha256(f"{seed}:{document}:{index}".encode()).hexdigest()

    return sorted(sorted(eligible, key=place)[:count])
