"""A small study over blocks in a project of its own, and a reader that is right if the fact stands in its prompt."""

import copy
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from small_project import Project

BLOCK_STUDY = '''\
"""What the tests run over blocks."""

from pytest_tokenbench import Block, NeededContext

study = NeededContext(
    "blocks",
    cases="data/cases.json",
    threshold=0.4,
    blocks=[
        Block("system"),
        Block("examples", parts="each"),
        Block("passages", parts="ranked"),
        Block("tail", follow_ups_only=True),
    ],
    production={"turn": {"multi_turn": 0.25, "single_turn": 0.75}},
    selector=[4],
)


@study.trials
def test_blocks(trial):
    trial.ask()


@study.hypothesis("N1")
def n1(results):
    """The passages are needed."""
    assert results.verdict("passages") == "needed"


@study.hypothesis("N2")
def n2(results):
    """What came out removable can be left out together."""
    assert results.composed_drop().high < 0.3
'''
# Each in the system block and in an example, so that either alone suffices.
RULES = {
    "refund": "ten days",
    "address": "the back office",
    "delay": "a yellow slip",
    "loan": "two signatures",
}
TOWNS = ("Arl", "Bexa", "Corm", "Dunn", "Eiry", "Fasq", "Gorl", "Hune", "Ivet")
RANKS = (1, 1, 1, 1, 1, 1, 2, 2, 3)


def _passages(place: int) -> list[dict[str, Any]]:
    others = [f"p{(place + step) % len(TOWNS)}" for step in (1, 2)]
    others.insert(RANKS[place] - 1, f"p{place}")
    return [{"id": name, "score": score} for name, score in zip(others, (6.0, 4.5, 1.0), strict=True)]


def _case(name: str, question: str, answer: str, place: int, **more: Any) -> dict[str, Any]:
    return {
        "id": name,
        "question": question,
        "answers": [answer],
        "slices": {"turn": "single_turn"},
        "passages": _passages(place),
        "tail": ["Customer: Good day to you.\nAgent: Good day, what can I do?"],
    } | more


MAIN = [
    *(
        _case(
            f"t{place}", f"When does the shop in {town} open?", f"at {place + 10}:15", place, gold_rank=rank
        )
        for place, (town, rank) in enumerate(zip(TOWNS, RANKS, strict=True))
    ),
    *(_case(f"r-{rule}", f"What holds for a {rule}?", fact, 0) for rule, fact in RULES.items()),
]
STRESS = [
    _case(
        "x1",
        "And for mine?",
        "gate nine",
        4,
        tail=["Customer: My parcel is in Eiry.\nAgent: Parcels from Eiry wait at gate nine."],
        slices={"turn": "multi_turn"},
        follow_up=True,
        stress=True,
    ),
]


def cases(entries: Sequence[dict[str, Any]] = (*MAIN, *STRESS)) -> dict[str, Any]:
    """The file's content."""
    rules = [f"Question: what of a {rule}? Answer: {fact}." for rule, fact in RULES.items()]
    return {
        "name": "desk",
        "blocks": ["system", "examples", "passages", "tail"],
        "shared": {
            "system": ["You answer at a desk. " + " ".join(f"A {r} takes {f}." for r, f in RULES.items())],
            "examples": [*rules, "Question: do you sell ropes? Answer: no."],
        },
        "passages": {
            f"p{place}": f"The shop in {town} opens at {place + 10}:15 and has two doors."
            for place, town in enumerate(TOWNS)
        },
        "cases": copy.deepcopy(list(entries)),
    }


class CaseReader:
    """Answers right if and only if the gold string stands in the prompt before the question."""

    def __init__(self, content: dict[str, Any]) -> None:
        self._golds = {one["question"]: one["answers"][0] for one in content["cases"]}

    def __call__(self, prompt: str) -> str:
        context, _, question = prompt.rpartition("Question: ")
        gold = self._golds[question]
        return gold if gold in context else "I do not know"


def add_blocks(project: Project, content: dict[str, Any] | None = None, study: str = BLOCK_STUDY) -> Path:
    """Puts the study and its cases into a project, beside what it has."""
    project.write("data/cases.json", json.dumps(cases() if content is None else content))
    return project.write("test_blocks.py", study)
