"""The items of trials in a session: which trial each is, and in which order they stand."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from pytest_tokenbench.marker import study_of
from pytest_tokenbench.scheduling import TrialKey
from pytest_tokenbench.study import Study


def trial_of(item: pytest.Item) -> tuple[Study, TrialKey] | None:
    """The trial that an item runs and its study; None of any other item."""
    study = study_of(getattr(item, "function", None))
    # A test function that takes no trial has no parameter, which the bridge tells.
    key = getattr(getattr(item, "callspec", None), "params", {}).get("trial")
    return (study, key) if study is not None and isinstance(key, TrialKey) else None


def put_in_order(items: list[pytest.Item], trials: Callable[[Study, Path], Sequence[TrialKey]]) -> None:
    """Has the trials of each study stand in its order again, in the places that they have among all items.

    Other plugins shuffle items, or put first what failed; but in which order hosts are asked is what cold and shared mean.
    """
    places: dict[int, list[int]] = {}
    ranks: dict[int, dict[TrialKey, int]] = {}
    for place, item in enumerate(items):
        found = trial_of(item)
        if found is not None:
            study, _ = found
            places.setdefault(id(study), []).append(place)
            if id(study) not in ranks:
                ranks[id(study)] = {key: rank for rank, key in enumerate(trials(study, item.path))}
    for study_id, held in places.items():
        ranked = [(_rank(items[place], ranks[study_id]), items[place]) for place in held]
        for place, (_, item) in zip(held, sorted(ranked, key=lambda one: one[0]), strict=True):
            items[place] = item


def _rank(item: pytest.Item, ranks: dict[TrialKey, int]) -> int:
    found = trial_of(item)
    return ranks.get(found[1], len(ranks)) if found is not None else len(ranks)
