"""The blocks of one prompt as a document, which is what the rest of the package reads from."""

from collections.abc import Sequence

from pytest_tokenbench.ablation.design import BETWEEN
from pytest_tokenbench.corpus import files, passages
from pytest_tokenbench.records import Block, Document, OriginalSource


def document_of(name: str, blocks: Sequence[Block], shown: str) -> Document:
    """A document of the blocks, its text all of theirs; `shown` is the file that they are from."""
    text = BETWEEN.join(unit.text for block in blocks for unit in block.units)
    return Document(
        id=name,
        title=name,
        file=shown,
        words=passages.word_count(text),
        sha256=files.sha256(text.encode()),
        licence="",
        source=OriginalSource(),
        text=text,
        blocks=tuple(blocks),
    )
