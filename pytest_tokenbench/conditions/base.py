"""The protocol that every condition follows."""

from typing import Protocol, runtime_checkable

from pytest_tokenbench.preparation import Recipe
from pytest_tokenbench.records import Context, Document, Preparation, Question


@runtime_checkable
class Condition(Protocol):
    """One way of giving a document to a model. `id` stands in test ids, tables and hypotheses.

    One that has `counts`, a mapping from the names of its arguments to their values, has them checked: each must be a
    whole number from 1 up.
    """

    id: str

    @property
    def family(self) -> str:
        """Conditions of one family give, for one question, contexts that begin alike; alone in it: the condition's id."""
        ...

    @property
    def shared(self) -> bool:
        """Whether one context serves every question of a document."""
        ...

    def words(self, document: Document) -> int:
        """About how many words a context of the document has, told before anything is prepared."""
        ...

    def recipe(self) -> Recipe | None:
        """What must be built once per document with the model, None if the document alone is enough."""
        ...

    def context(self, question: Question, document: Document, preparation: Preparation | None) -> Context:
        """The text to hand over for one question. Deterministic: the same arguments give the same context."""
        ...
