"""Documents in other forms as text: once, when they are added to a corpus, never while a study runs.

What a study reads must not change with the version of a converter, so its text is kept and pinned. The converters keep
paragraphs and headings, and leave out what is no part of the text: scripts, navigation, pictures.
"""

import contextlib
import io
import logging
import re
import statistics
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_tokenbench.corpus import files
from pytest_tokenbench.corpus.faults import CorpusError, Fault

if TYPE_CHECKING:
    from bs4 import Tag

OURS = "pytest-tokenbench"


@dataclass(frozen=True, slots=True)
class Converted:
    """A text, what made it (None where it is the file as it stands), and what its author should know of it."""

    text: str
    converter: str | None
    notes: tuple[str, ...] = ()


def convert(path: Path) -> Converted:
    """The text of a file, by the converter for its kind.

    Raises:
        CorpusError: It cannot be read, is of a kind that nothing converts, or has no text.
    """
    shown = str(path)
    converter = _CONVERTERS.get(path.suffix.lower())
    if converter is None:
        sentence = f"a file that ends in {path.suffix or 'nothing'!r} cannot be converted; known are {KINDS}"
        raise CorpusError([Fault(shown, "", sentence)])
    raw = files.read_bytes(path, shown)
    try:
        made = converter(raw, shown)
    except ImportError as error:
        sentence = f"needs {error.name}; run `pip install 'pytest-tokenbench[documents]'`"
        raise CorpusError([Fault(shown, "", sentence)]) from error
    except CorpusError:
        raise
    except Exception as error:  # a damaged file makes a converter raise anything
        said = " ".join(str(error).split()) or type(error).__name__
        raise CorpusError([Fault(shown, "", f"cannot be converted ({said})")]) from error
    if not made.text.strip():
        raise CorpusError([Fault(shown, "", "has no text; of a scan, recognise the characters first")])
    return made


# Text


def _text(raw: bytes, shown: str) -> Converted:
    """As it stands, if a corpus can have it so, else with its line ends and composed letters mended."""
    try:
        return Converted(files.decode(raw, shown), None)
    except CorpusError as fault:
        try:
            text = raw.removeprefix(b"\xef\xbb\xbf").decode()
        except UnicodeDecodeError:
            raise fault from None
    return Converted(unicodedata.normalize("NFC", _lines(text)), _named(OURS))


def _lines(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


# PDF


def _pdf(raw: bytes, shown: str) -> Converted:
    import pypdf  # noqa: PLC0415  # of the extra `documents`

    with _silent("pypdf"):
        reader = pypdf.PdfReader(io.BytesIO(raw))
        if reader.is_encrypted and not reader.decrypt(""):
            raise CorpusError([Fault(shown, "", "is encrypted; save it without a password")])
        pages = [_lines(page.extract_text()) for page in reader.pages]
    empty = [str(number) for number, page in enumerate(pages, 1) if not page.strip()]
    notes = [f"no text on page {', '.join(empty)}"] if empty else []
    notes.append("a PDF has lines, not paragraphs: look over how they were joined")
    return Converted(_joined(_paragraphs(pages)), _named("pypdf"), tuple(notes))


@contextlib.contextmanager
def _silent(logger: str) -> Iterator[None]:
    """Keeps a converter from telling its own tale of a damaged file beside our one sentence."""
    log = logging.getLogger(logger)
    level = log.level
    log.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        log.setLevel(level)


_SHORT = 0.8  # of a full line: one that is shorter and ends a sentence ends a paragraph
_ENDS_SENTENCE = re.compile(r"[.!?:\u2026][\"')\]\u2019\u201d]*$")


def _paragraphs(pages: Iterable[str]) -> Iterator[str]:
    """The lines of pages as paragraphs, which may go on from one page to the next."""
    lines = [line.strip() for page in pages if page.strip() for line in page.strip("\n").split("\n")]
    lengths = [len(line) for line in lines if line]
    full = statistics.quantiles(lengths, n=10)[-1] if len(lengths) > 1 else 0
    paragraph = ""
    for line in lines:
        if not line:
            yield paragraph
            paragraph = ""
            continue
        is_broken = re.search(r"[a-z]-$", paragraph) is not None and line[0].islower()
        paragraph = paragraph[:-1] + line if is_broken else f"{paragraph} {line}"
        if len(line) < _SHORT * full and _ENDS_SENTENCE.search(line):
            yield paragraph
            paragraph = ""
    yield paragraph


# HTML, and what becomes HTML


def _html(raw: bytes, _shown: str) -> Converted:
    return Converted(_of_html(raw), _named("beautifulsoup4"))


def _docx(raw: bytes, _shown: str) -> Converted:
    import mammoth  # noqa: PLC0415  # of the extra `documents`

    no_picture = mammoth.images.img_element(lambda _image: {"src": ""})
    made = mammoth.convert_to_html(io.BytesIO(raw), convert_image=no_picture)
    return Converted(_of_html(made.value), _named("mammoth", "beautifulsoup4"))


_NO_TEXT = [
    "head", "script", "style", "noscript", "template", "svg", "math", "nav", "aside", "footer", "form", "button",
    "iframe", "object", "video", "audio",
]  # fmt: skip
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_BLOCKS = [
    *_HEADINGS, "address", "article", "blockquote", "body", "caption", "dd", "details", "dialog", "div", "dl", "dt",
    "fieldset", "figcaption", "figure", "header", "hgroup", "hr", "html", "li", "main", "ol", "p", "pre", "section",
    "summary", "table", "tbody", "td", "tfoot", "th", "thead", "tr", "ul",
]  # fmt: skip


def _of_html(raw: bytes | str) -> str:
    from bs4 import BeautifulSoup  # noqa: PLC0415  # of the extra `documents`

    soup = BeautifulSoup(raw, "html.parser")
    for tag in soup.find_all(_NO_TEXT):
        tag.decompose()
    articles = soup.find_all("article")
    body = soup.find("main") or (articles[0] if len(articles) == 1 else soup.find("body")) or soup
    return _joined(_blocks(body))


def _blocks(tag: "Tag") -> Iterator[str]:
    """The blocks of text in a tag, in order; a list and a table are one each, with a line an entry."""
    from bs4.element import NavigableString, Tag  # noqa: PLC0415  # as above

    loose: list[str] = []
    for child in tag.children:
        if type(child) is NavigableString:
            loose.append(str(child))
        elif isinstance(child, Tag) and child.name not in _BLOCKS and not child.find(_BLOCKS):
            loose.append(_flat(child))
        elif isinstance(child, Tag):
            yield "".join(loose)
            loose = []
            yield from _of_block(child)
    yield "".join(loose)


def _of_block(tag: "Tag") -> Iterator[str]:
    if tag.name in _HEADINGS:
        marks = "=" * max(2, _HEADINGS[tag.name])
        title = _tidy(_flat(tag))
        yield f"{marks} {title} {marks}" if title else ""
    elif tag.name in {"ul", "ol"}:
        yield _KEPT_LINE.join(f"- {entry}" for entry in _entries(tag) if entry)
    elif tag.name == "table":
        yield _KEPT_LINE.join(" | ".join(row) for row in _rows(tag) if any(row))
    else:
        yield from _blocks(tag)


# Ends of these may be left out, so that the next stands in the one before.
_ENTRY = frozenset({"li", "ul", "ol"})
_CELL = frozenset({"td", "th", "tr"})


def _entries(tag: "Tag") -> Iterator[str]:
    """The entries of a list, those of a list within it after the entry that they stand in."""
    from bs4.element import Tag  # noqa: PLC0415  # as above

    for child in tag.children:
        if isinstance(child, Tag):
            if child.name == "li":
                yield _tidy(_flat(child, _ENTRY))
            yield from _entries(child)


def _rows(table: "Tag") -> Iterator[list[str]]:
    """The cells of a table by row; a table in a cell is text of that cell."""
    for row in table.find_all("tr"):
        if row.find_parent("table") is table:
            cells = (cell for cell in row.find_all(["td", "th"]) if cell.find_parent("tr") is row)
            yield [_tidy(_flat(cell, _CELL)) for cell in cells]


def _flat(tag: "Tag", without: frozenset[str] = frozenset()) -> str:
    """The text of a tag as one: what is of a line as it stands, lines and blocks apart; tags called as in `without` not."""
    from bs4.element import NavigableString, Tag  # noqa: PLC0415  # as above

    if tag.name == "br":
        return "\n"
    parts: list[str] = []
    for child in tag.children:
        if type(child) is NavigableString:
            parts.append(str(child))
        elif isinstance(child, Tag) and child.name not in without:
            text = _flat(child, without - _CELL if child.name == "table" else without)
            parts.append(f" {text} " if child.name in _BLOCKS else text)
    return "".join(parts)


# A line end that stays one, unlike those of the source, which mean nothing there.
_KEPT_LINE = "\x00"
_UNSEEN = re.compile(r"[\u00ad\u200b\u2060\ufeff\x01-\x08\x0b-\x1f\x7f-\x9f]")


def _joined(blocks: Iterable[str]) -> str:
    tidy = ("\n".join(map(_tidy, block.split(_KEPT_LINE))) for block in blocks)
    return "\n\n".join(block for block in tidy if block) + "\n"


def _tidy(text: str) -> str:
    return unicodedata.normalize("NFC", " ".join(_UNSEEN.sub("", text.replace("\f", " ")).split()))


def _named(*packages: str) -> str:
    return ", ".join(f"{package} {metadata.version(package)}" for package in packages)


_CONVERTERS: Mapping[str, Callable[[bytes, str], Converted]] = {
    ".txt": _text,
    ".md": _text,
    ".pdf": _pdf,
    ".docx": _docx,
    ".html": _html,
    ".htm": _html,
}
KINDS = ", ".join(_CONVERTERS)
