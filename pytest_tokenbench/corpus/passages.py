"""A document's text as blocks, headings and paragraphs, and the cut rule. Pure functions over strings."""

import re
from collections.abc import Iterator

_HEADING = re.compile(r"==+ [^\n]*[^\s=] ==+")


def blocks(text: str) -> list[str]:
    """Headings and paragraphs in order: what blank lines separate, without surrounding white space."""
    return [block.strip() for block in re.split(r"\n[^\S\n]*\n\s*", text) if block.strip()]


def is_heading(block: str) -> bool:
    """Whether a block is a section heading: a single line `== Heading ==`."""
    return _HEADING.fullmatch(block) is not None


def paragraphs(text: str) -> list[str]:
    """The paragraphs of a text, headings left out. A question's `paragraph` indexes this list, from 0."""
    return [block for block in blocks(text) if not is_heading(block)]


def word_count(text: str) -> int:
    """Number of whitespace-separated words, as `wc -w` counts them."""
    return len(text.split())


def cut(text: str, max_words: int) -> str:
    """The text up to the first paragraph boundary after `max_words` words, headings counted.

    The result has at least `max_words` words and less than one paragraph more, or is the whole text where that is
    shorter.
    """
    return "\n\n".join(_kept(text, max_words)) + "\n"


def is_cut(text: str, max_words: int) -> bool:
    """Whether `text` ends where `cut` would end it: long enough, and too short without its last paragraph."""
    return word_count(text) >= max_words and len(blocks(text)) == sum(1 for _ in _kept(text, max_words))


def _kept(text: str, max_words: int) -> Iterator[str]:
    words = 0
    for block in blocks(text):
        yield block
        words += word_count(block)
        if words >= max_words and not is_heading(block):
            return
