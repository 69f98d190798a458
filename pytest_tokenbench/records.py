"""The nouns of a study as frozen dataclasses, and their JSON. Imports nothing of ours."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class OriginalSource:
    """A document written for the corpus it stands in."""


@dataclass(frozen=True, slots=True)
class WikipediaSource:
    """A pinned revision of a Wikipedia article."""

    title: str
    revision: int
    url: str


Source = OriginalSource | WikipediaSource


@dataclass(frozen=True, slots=True)
class Document:
    """One article of the corpus, pinned by the SHA-256 of its file's bytes.

    `words` counts whitespace-separated words, headings included, as `wc -w` does.
    """

    id: str
    title: str
    file: str
    words: int
    sha256: str
    licence: str
    source: Source
    text: str = ""


@dataclass(frozen=True, slots=True)
class Question:
    """One case to answer.

    `answers` are gold strings that stand in the paragraph, `aliases` other spellings that count as well; in both,
    `A & B` asks for two parts. `paragraph` is the 0-based index among the document's paragraphs (headings do not
    count), None for an unanswerable question. `slices` names the groups the question belongs to.
    """

    id: str
    document: str
    question: str
    answers: tuple[str, ...]
    answerable: bool
    paragraph: int | None = None
    aliases: tuple[str, ...] = ()
    slices: dict[str, str] = field(default_factory=dict)
    checked_terms: tuple[str, ...] = ()

    @property
    def golds(self) -> tuple[str, ...]:
        """Every string that counts as the right answer."""
        return self.answers + self.aliases
