"""Building a preparation once per document and model, and keeping it on disk with its cost."""

import hashlib
import json
import os
import re
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from pytest_tokenbench import prompting
from pytest_tokenbench.models.base import Model, ModelError
from pytest_tokenbench.records import Document, Generation, ModelInfo, Preparation, decode, encode

CONSTRUCTION = "construction"
_KEY = re.compile("[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Written:
    """What a recipe made of one document: its units and what was out of the ordinary (see `Preparation`)."""

    units: tuple[str, ...]
    flags: tuple[str, ...] = ()
    numbers: int = 0
    unfaithful_numbers: int = 0
    cut_sections: tuple[int, ...] = ()


class Recipe(Protocol):
    """How a preparation is written. Conditions that share a recipe share its preparations."""

    @property
    def name(self) -> str:
        """Names the recipe in preparations and reports."""
        ...

    @property
    def prompts(self) -> tuple[str, ...]:
        """The prompts it uses, by name."""
        ...

    def options(self) -> dict[str, Any]:
        """Whatever else than document, prompts and model could change the result."""
        ...

    def write(self, document: Document, encoder: "Encoder") -> Written:
        """Asks the encoder for the units of one document.

        Raises:
            ModelError: The model could not be asked.
            ConstructionError: Its replies are of no use.
        """
        ...


class ConstructionError(Exception):
    """A preparation cannot be built from what the model replied; the message is the reason."""


@dataclass(slots=True)
class Encoder:
    """A model that writes preparations, with a meter on what it costs. Counts not told make the sum unknown.

    `most_tokens` limits every reply beside the recipe's own limit. `told` hears after each reply how many there are.
    """

    model: Model
    most_tokens: int | None = None
    told: Callable[[int], None] | None = None
    calls: int = 0
    input_tokens: int | None = 0
    output_tokens: int | None = 0
    seconds: float = 0.0

    def generate(self, prompt: str, *, max_tokens: int) -> Generation:
        """As `Model.generate`, metered."""
        limit = max_tokens if self.most_tokens is None else min(max_tokens, self.most_tokens)
        reply = self.model.generate(prompt, max_tokens=limit)
        self.calls += 1
        self.input_tokens = _sum(self.input_tokens, reply.input_tokens)
        self.output_tokens = _sum(self.output_tokens, reply.output_tokens)
        self.seconds += reply.wall_s
        if self.told is not None:
            self.told(self.calls)
        return reply


def _sum(total: int | None, more: int | None) -> int | None:
    return None if total is None or more is None else total + more


def key(recipe: Recipe, document: Document, model: ModelInfo, most_tokens: int | None = None) -> str:
    """What a preparation depends on, hashed: recipe and options, document, prompts, model digest and options."""
    parts = [
        recipe.name,
        recipe.options(),
        most_tokens,
        document.sha256,
        prompting.sha256(*recipe.prompts),
        model.digest,
        model.quantization,
        model.window,
        model.options,
    ]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def build(
    recipe: Recipe,
    document: Document,
    model: Model,
    info: ModelInfo,
    most_tokens: int | None = None,
    *,
    told: Callable[[int], None] | None = None,
) -> Preparation:
    """The preparation of one document; see `Encoder` for `most_tokens` and `told`.

    One that fails is returned too, with the reason and what it cost.
    """
    encoder = Encoder(model, most_tokens, told)
    failure = kind = None
    written = Written(units=())
    try:
        written = recipe.write(document, encoder)
    except (ModelError, ConstructionError) as error:
        failure = str(error)
        kind = error.kind if isinstance(error, ModelError) else CONSTRUCTION
    return Preparation(
        key=key(recipe, document, info, most_tokens),
        recipe=recipe.name,
        document=document.id,
        document_sha256=document.sha256,
        prompt_sha256=prompting.sha256(*recipe.prompts),
        model_digest=info.digest,
        options=recipe.options() | {"most_tokens": most_tokens},
        units=written.units,
        flags=written.flags,
        calls=encoder.calls,
        input_tokens=encoder.input_tokens,
        output_tokens=encoder.output_tokens,
        seconds=encoder.seconds,
        numbers=written.numbers,
        unfaithful_numbers=written.unfaithful_numbers,
        cut_sections=written.cut_sections,
        failure=failure,
        failure_kind=kind,
    )


class Store:
    """Preparations on disk, one JSON file each, named by their key; failed ones too, with their reason."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def get(self, name: str) -> Preparation | None:
        """The preparation with this key, None if there is none or its file is damaged."""
        try:
            found = decode(self._file(name).read_bytes(), Preparation)
        except (OSError, ValueError):
            return None
        return found if found.key == name else None

    def put(self, preparation: Preparation) -> None:
        """Keeps the preparation, whole or not at all.

        Raises:
            OSError: The folder cannot be written.
            ValueError: Its key is none.
        """
        target = self._file(preparation.key)
        self._folder.mkdir(parents=True, exist_ok=True)
        # What can be built again is no business of the user's repository.
        (self._folder / ".gitignore").write_text("*\n", encoding="utf-8")
        handle, temporary = tempfile.mkstemp(dir=self._folder, suffix=".part")
        with os.fdopen(handle, "wb") as file:
            file.write(encode(preparation))
        Path(temporary).replace(target)

    def _file(self, name: str) -> Path:
        """Where the preparation with this key is. A name that is none, as a path would be, is never made one."""
        if not _KEY.fullmatch(name):
            raise ValueError(f"{name!r} is no key of a preparation")
        return self._folder / f"{name}.json"
