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
    held: dict[int, list[tuple[int, int]]] = {}
    ranks: dict[int, dict[TrialKey, int]] = {}
    for place, item in enumerate(items):
        found = trial_of(item)
        if found is not None:
            study, key = found
            if id(study) not in ranks:
                ranks[id(study)] = {key: rank for rank, key in enumerate(trials(study, item.path))}
            its = ranks[id(study)]
            held.setdefault(id(study), []).append((its.get(key, len(its)), place))
    for its_places in held.values():
        ordered = [items[place] for _, place in sorted(its_places)]
        for (_, place), item in zip(its_places, ordered, strict=True):
            items[place] = item
