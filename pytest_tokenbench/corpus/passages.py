"""A document's text as blocks, headings and paragraphs, and the cut rule. Pure functions over strings."""

import re
from collections.abc import Iterable, Iterator

_HEADING = re.compile(r"==+ [^\n]*[^\s=] ==+|#{1,6} [^\n]*\S")


def blocks(text: str) -> list[str]:
    """Headings and paragraphs in order: what blank lines separate, without surrounding white space."""
    return [block.strip() for block in re.split(r"\n[^\S\n]*\n\s*", text) if block.strip()]


def is_heading(block: str) -> bool:
    """Whether a block is a section heading: a single line `== Heading ==`, or Markdown's `## Heading`."""
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


_BREAK = re.compile(r"[.!?\u2026][\"')\]\u2019\u201d]*\s+")
_LAST_WORD = re.compile(r"(\w+(?:\.\w+)*)\.$")
_ABBREVIATIONS = frozenset({
    "approx", "b", "c", "ca", "capt", "cf", "col", "d", "dr", "e.g", "ed", "eds", "eq", "fig", "figs", "gen", "gov",
    "hon", "i.e", "jr", "lt", "messrs", "mr", "mrs", "ms", "mt", "mts", "no", "nos", "op", "p", "pp", "prof", "rev",
    "sen", "sgt", "sr", "st", "v", "vol", "vols", "vs",
    "jan", "feb", "mar", "apr", "jun", "jul", "aug", "sep", "sept", "oct", "nov", "dec",
})  # fmt: skip
_INITIALS = re.compile(r"[^\W\d_](?:\.[^\W\d_])*")
# Longer than any abbreviation with its quotes: what a break is judged by, however long the paragraph.
_REACH = 32


def sentences(paragraph: str) -> list[str]:
    """The sentences of a paragraph, cut where . ! ? or an ellipsis is followed by a capital, a digit or a quote.

    Common abbreviations and initials (J. R., U.S.) do not end a sentence.
    """
    found = []
    start = 0
    for match in _BREAK.finditer(paragraph):
        end = match.start() + 1
        if _ends_sentence(
            paragraph[max(start, end - _REACH) : end], paragraph[match.end() : match.end() + _REACH]
        ):
            found.append(paragraph[start : match.end()].strip())
            start = match.end()
    found.append(paragraph[start:].strip())
    return [sentence for sentence in found if sentence]


def _ends_sentence(before: str, after: str) -> bool:
    following = after.lstrip("\"'([\u2018\u201c")[:1]
    if not (following.isupper() or following.isdigit()):
        return False
    last = _LAST_WORD.search(before)
    if last is None:
        return True
    word = last[1]
    are_initials = word.isupper() and word != "I" and _INITIALS.fullmatch(word)
    return not are_initials and word.lower() not in _ABBREVIATIONS


def chunks(text: str, words: int) -> list[str]:
    """The text in chunks of about `words` words: whole sentences, no overlap, in order, headings left out.

    Each section is cut into as many chunks as bring them nearest to `words`, of about equal length. A chunk crosses a
    heading only where a section is tiny (under a quarter of `words`): that one joins the next, the last the one before.
    """
    made: list[str] = []
    for section in _sections_without_tiny(text, words / 4):
        pieces = [sentence for paragraph in section for sentence in sentences(paragraph)]
        made.extend(" ".join(group) for group in _spread(pieces, words))
    return made


def sections(text: str, words: int) -> list[str]:
    """The text in parts of about `words` words and about equal length, cut at paragraph boundaries.

    Headings stay, each with the paragraph that follows it; one that nothing follows stays at the end.
    """
    pieces: list[str] = []
    heading = ""
    for block in blocks(text):
        if is_heading(block):
            heading += block + "\n\n"
        else:
            pieces.append(heading + block)
            heading = ""
    if heading:
        pieces.append(heading.rstrip())
    return ["\n\n".join(group) for group in _spread(pieces, words)]


def _sections_without_tiny(text: str, tiny: float) -> list[list[str]]:
    found: list[list[str]] = [[]]
    for block in blocks(text):
        if is_heading(block):
            if _words(found[-1]) >= tiny:
                found.append([])
        else:
            found[-1].append(block)
    if len(found) > 1 and _words(found[-1]) < tiny:
        found[-2].extend(found.pop())
    return found


def _words(pieces: Iterable[str]) -> int:
    return sum(map(word_count, pieces))


def _spread(pieces: list[str], words: int) -> list[list[str]]:
    """Contiguous groups of about equal length, as many as bring it nearest to `words`."""
    total = _words(pieces)
    fewer = max(1, total // words)
    count = min((fewer, fewer + 1), key=lambda parts: abs(total / parts - words))
    groups: list[list[str]] = [[] for _ in range(count)]
    seen = 0
    for piece in pieces:
        size = word_count(piece)
        middle = seen + size / 2
        groups[min(count - 1, int(middle * count / total))].append(piece)
        seen += size
    return [group for group in groups if group]
