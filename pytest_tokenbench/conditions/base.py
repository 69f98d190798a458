"""The protocol that every condition follows."""

from typing import Protocol, runtime_checkable

from pytest_tokenbench.preparation import Recipe
from pytest_tokenbench.records import Context, Decision, Document, Preparation, Question


@runtime_checkable
class Condition(Protocol):
    """One way of giving a document to a model.

    One that has `counts`, a mapping from the names of its arguments to their values, has them checked: each must be a
    whole number from 1 up.
    """

    @property
    def id(self) -> str:
        """Stands in test ids, tables and hypotheses."""
        ...

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


@runtime_checkable
class Staged(Condition, Protocol):
    """A condition that may depend on what earlier trials of its run came to; see `Study.decide`."""

    @property
    def stage(self) -> int:
        """0 where it depends on none; else it is decided from the trials of the stages before."""
        ...

    def decided(self, decision: Decision) -> "Staged":
        """The condition as it has been decided."""
        ...

    def needless(self, question: str) -> str | None:
        """Why a question, by its id, need not be asked; None where it is."""
        ...


def stage_of(condition: Condition) -> int:
    """The stage of a condition; 0 for one that is not `Staged`."""
    return condition.stage if isinstance(condition, Staged) else 0
