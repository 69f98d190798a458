"""Ways of giving a document to a model: one file each, behind one small protocol."""

from pytest_tokenbench.conditions.base import Condition
from pytest_tokenbench.conditions.chunks import Chunks
from pytest_tokenbench.conditions.croutons import Croutons
from pytest_tokenbench.conditions.full_text import FullText
from pytest_tokenbench.conditions.summary import Summary

__all__ = ["Chunks", "Condition", "Croutons", "FullText", "Summary"]
