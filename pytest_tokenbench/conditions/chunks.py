"""Conditions B2, B4: the best chunks of the document by BM25."""

from collections.abc import Mapping
from functools import lru_cache

from pytest_tokenbench.corpus import passages
from pytest_tokenbench.preparation import Recipe
from pytest_tokenbench.records import Context, Document, Preparation, Question
from pytest_tokenbench.retrieval import Index


class Chunks:
    """The `top` chunks of about `words` words (see `passages.chunks`) for the question, in rank order."""

    def __init__(self, id: str, *, top: int, words: int = 200) -> None:  # noqa: A002
        self.id = id
        self.top = top
        self.chunk_words = words

    @property
    def counts(self) -> Mapping[str, object]:
        """The arguments that count something."""
        return {"top": self.top, "words": self.chunk_words}

    @property
    def family(self) -> str:
        """Chunks of one size: the top 4 begin with the top 2."""
        return f"chunks-{self.chunk_words}"

    @property
    def shared(self) -> bool:
        """Each question has its own chunks."""
        return False

    def words(self, document: Document) -> int:
        """Those of its chunks, as far as the document has so many."""
        return min(self.top * self.chunk_words, document.words)

    def recipe(self) -> Recipe | None:
        """Nothing needs to be built with a model."""
        return None

    def context(self, question: Question, document: Document, preparation: Preparation | None) -> Context:  # noqa: ARG002
        """The chunks, separated by blank lines; a unit is named by the chunk's 0-based place in the document."""
        found, index = _indexed(document.text, self.chunk_words)
        best = index.top(question.question, self.top)
        return Context(
            text="\n\n".join(found[i] for i in best),
            units=tuple(f"chunk-{i}" for i in best),
        )


@lru_cache(maxsize=1024)
def _indexed(text: str, words: int) -> tuple[list[str], Index]:
    found = passages.chunks(text, words)
    return found, Index(found)
