"""What a study asks about, read and checked: documents, questions, and the conditions where these depend on them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_tokenbench.conditions.base import Condition
from pytest_tokenbench.corpus.faults import Fault
from pytest_tokenbench.records import Document, Question

if TYPE_CHECKING:
    from pytest_tokenbench.ablation.design import Ablation

Find = Callable[[str], Path]


@dataclass(frozen=True, slots=True)
class Material:
    """A study's documents, questions and conditions.

    `paths` are what must have been committed before a run, `hashed` the files whose sums are recorded, by the name they
    are recorded under. `together` has for each question what it is read with in shared order, its document where
    nothing is said. `ablation` is the plan of a study over blocks, None for one over documents.
    """

    documents: tuple[Document, ...]
    questions: tuple[Question, ...]
    conditions: tuple[Condition, ...]
    paths: tuple[Path, ...]
    hashed: Mapping[str, Path]
    faults: tuple[Fault, ...] = ()
    together: Mapping[str, str] = field(default_factory=dict)
    ablation: "Ablation | None" = None
