"""Condition C: a summary of the document, written once by the model."""

from collections.abc import Mapping
from typing import Any

from pytest_tokenbench import prompting
from pytest_tokenbench.corpus.passages import word_count
from pytest_tokenbench.preparation import ConstructionError, Encoder, Recipe, Written
from pytest_tokenbench.records import Context, Document, Preparation, Question

# Two tokens a word leave room for names and numbers, which tokenizers cut small.
_TOKENS_PER_WORD = 2


class SummaryRecipe:
    """A summary of at most `max_words` words; one retry that tells the count; still longer: used and flagged."""

    prompts = ("summary", "summary_retry")

    def __init__(self, max_words: int) -> None:
        self.name = "summary"
        self.max_words = max_words

    def options(self) -> dict[str, Any]:
        """The word limit, and the limit on output tokens that follows from it."""
        return {"max_words": self.max_words, "max_tokens": self.max_words * _TOKENS_PER_WORD}

    def write(self, document: Document, encoder: Encoder) -> Written:
        """One unit, the summary.

        Raises:
            ModelError: The model could not be asked.
            ConstructionError: The model replied with nothing.
        """
        limit = self.max_words * _TOKENS_PER_WORD
        text = document.text.rstrip("\n")
        first = prompting.fill("summary", max_words=self.max_words, text=text)
        reply = encoder.generate(first, max_tokens=limit)
        words = word_count(reply.text)
        if words > self.max_words:
            again = prompting.fill("summary_retry", max_words=self.max_words, words=words, text=text)
            reply = encoder.generate(again, max_tokens=limit)
            words = word_count(reply.text)
        if words == 0:
            raise ConstructionError(f"the model replied with an empty summary of {document.id}")
        flags = []
        if words > self.max_words:
            flags.append("over_budget")
        if reply.stop == "length":
            flags.append("cut")
        return Written(units=(reply.text.strip(),), flags=tuple(flags))


class Summary:
    """A summary of at most `max_words` words, written once per document by the model."""

    def __init__(self, id: str, *, max_words: int) -> None:  # noqa: A002
        self.id = id
        self.max_words = max_words

    @property
    def counts(self) -> Mapping[str, object]:
        """The argument that counts something."""
        return {"max_words": self.max_words}

    @property
    def family(self) -> str:
        """A family of its own: one context serves every question of a document."""
        return self.id

    @property
    def shared(self) -> bool:
        """Every question gets the same summary."""
        return True

    def words(self, document: Document) -> int:
        """The limit, which models use up, or the document's where that is shorter."""
        return min(self.max_words, document.words)

    def recipe(self) -> Recipe | None:
        """The summary is built with the model."""
        return SummaryRecipe(self.max_words)

    def context(self, question: Question, document: Document, preparation: Preparation | None) -> Context:  # noqa: ARG002
        """The summary, the same for every question."""
        if preparation is None:
            raise ValueError(f"condition {self.id} needs its preparation")
        return Context(text=preparation.units[0], units=("summary",))
