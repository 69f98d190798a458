"""Condition A: the whole document."""

from pytest_tokenbench.preparation import Recipe
from pytest_tokenbench.records import Context, Document, Preparation, Question


class FullText:
    """The whole document as it stands in its file."""

    def __init__(self, id: str) -> None:  # noqa: A002  # the design's word, as authors write it
        self.id = id

    @property
    def family(self) -> str:
        """A family of its own: one context serves every question of a document."""
        return self.id

    @property
    def shared(self) -> bool:
        """Every question gets the whole text."""
        return True

    def words(self, document: Document) -> int:
        """Those of the document."""
        return document.words

    def recipe(self) -> Recipe | None:
        """Nothing needs to be built."""
        return None

    def context(self, question: Question, document: Document, preparation: Preparation | None) -> Context:  # noqa: ARG002
        """The document's text, one unit."""
        return Context(text=document.text.rstrip("\n"), units=("document",))
