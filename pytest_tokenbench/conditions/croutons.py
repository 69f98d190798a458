"""Conditions D10, D25, Dall: atomic facts ("croutons"), written once by the model, ranked by BM25."""

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from pytest_tokenbench import prompting, scoring
from pytest_tokenbench.corpus import passages
from pytest_tokenbench.preparation import ConstructionError, Encoder, Recipe, Written
from pytest_tokenbench.records import Context, Document, Preparation, Question
from pytest_tokenbench.retrieval import Index

_BULLET = re.compile(r"^\s*(?:(?:[-*+#\u2022\u2013\u2014]+|\(?\d{1,3}[.):]|\[\d{1,3}\])(?:\s+|$))+")
_NUMBER = re.compile(r"-?\d[\d.]*")

# For estimates made before there is a crouton: what models write when they are asked for short sentences, and how
# much of a text's length is left when its facts are written down.
_FACT_WORDS = 12
_PART_LEFT = 0.6


def parse_facts(reply: str) -> tuple[list[str], bool]:
    """The facts of a reply, one a line, and whether they had to be recovered from prose.

    Bullets, numbering and bold marks go, empty lines and exact repeats too, and an announcing line that ends with a
    colon. A line of several sentences is prose: it is split into its sentences.
    """
    facts: dict[str, None] = {}
    recovered = False
    for line in reply.splitlines():
        bare = _BULLET.sub("", line.replace("**", "")).strip().strip("*").strip()
        if not scoring.tokens(bare) or bare.endswith(":"):
            continue
        found = [sentence for sentence in passages.sentences(bare) if scoring.tokens(sentence)]
        recovered = recovered or len(found) > 1
        facts.update(dict.fromkeys(found))
    return list(facts), recovered


def numbers(text: str) -> list[str]:
    """The numbers of a text in comparable form ("1,470" is "1470")."""
    return [token for token in scoring.tokens(text) if _NUMBER.match(token)]


class CroutonRecipe:
    """The document in sections of about `section_words` words, each rewritten once by the model as atomic facts."""

    name = "croutons"
    prompts = ("croutons",)

    def __init__(self, section_words: int, max_tokens: int) -> None:
        self.section_words = section_words
        self.max_tokens = max_tokens

    def options(self) -> dict[str, Any]:
        """The section length in words and the limit on output tokens per section."""
        return {"section_words": self.section_words, "max_tokens": self.max_tokens}

    def write(self, document: Document, encoder: Encoder) -> Written:
        """One unit a fact, in document order.

        Raises:
            ModelError: The model could not be asked.
            ConstructionError: No section gave a fact.
        """
        facts: dict[str, None] = {}
        cut_sections = []
        recovered = False
        all_numbers = unfaithful = 0
        for place, section in enumerate(passages.sections(document.text, self.section_words)):
            reply = encoder.generate(prompting.fill("croutons", text=section), max_tokens=self.max_tokens)
            found, prose = parse_facts(reply.text)
            recovered = recovered or prose
            if reply.stop == "length":
                cut_sections.append(place)
            fresh = [fact for fact in found if fact not in facts]
            stated, strange = _fidelity(fresh, section)
            all_numbers += stated
            unfaithful += strange
            facts.update(dict.fromkeys(fresh))
        if not facts:
            raise ConstructionError(f"the model replied with no fact about {document.id}")
        flags = (["recovered"] if recovered else []) + (["cut"] if cut_sections else [])
        return Written(tuple(facts), tuple(flags), all_numbers, unfaithful, tuple(cut_sections))


def _fidelity(facts: Iterable[str], section: str) -> tuple[int, int]:
    """How many numbers the facts state, and how many of them do not stand in the section."""
    source = set(numbers(section))
    stated = [number for fact in facts for number in numbers(fact)]
    return len(stated), sum(number not in source for number in stated)


class Croutons:
    """The `top` croutons for the question in rank order, or every crouton in document order without `top`."""

    def __init__(
        self,
        id: str,  # noqa: A002
        *,
        top: int | None = None,
        section_words: int = 700,
        max_tokens: int = 1536,
    ) -> None:
        self.id = id
        self.top = top
        self.section_words = section_words
        self.max_tokens = max_tokens

    @property
    def counts(self) -> Mapping[str, object]:
        """The arguments that count something; without `top` there is no limit."""
        limits = {} if self.top is None else {"top": self.top}
        return limits | {"section_words": self.section_words, "max_tokens": self.max_tokens}

    @property
    def family(self) -> str:
        """The top croutons of one recipe: the top 25 begin with the top 10; all of them are a family of their own."""
        return self.id if self.top is None else f"croutons-{self.section_words}-{self.max_tokens}"

    @property
    def shared(self) -> bool:
        """Without `top`, every question gets all of them."""
        return self.top is None

    def words(self, document: Document) -> int:
        """`top` facts of a dozen words; all of them, and no more, are three fifths of the document."""
        every = round(document.words * _PART_LEFT)
        return every if self.top is None else min(self.top * _FACT_WORDS, every)

    def recipe(self) -> Recipe | None:
        """The croutons are built with the model, the same for every `top`."""
        return CroutonRecipe(self.section_words, self.max_tokens)

    def context(self, question: Question, document: Document, preparation: Preparation | None) -> Context:  # noqa: ARG002
        """The croutons, one a line; a unit is named by the crouton's 0-based place in the preparation."""
        if preparation is None:
            raise ValueError(f"condition {self.id} needs its preparation")
        units = preparation.units
        places = range(len(units)) if self.top is None else _index(units).top(question.question, self.top)
        return Context(
            text="\n".join(units[i] for i in places),
            units=tuple(f"crouton-{i}" for i in places),
        )


@lru_cache(maxsize=1024)
def _index(units: tuple[str, ...]) -> Index:
    return Index(units)
