"""Building what the selected trials need before the first of them, each preparation once."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial

from pytest_tokenbench import preparation
from pytest_tokenbench.loading import Loaded
from pytest_tokenbench.models.base import ModelError
from pytest_tokenbench.models.patient import Failures
from pytest_tokenbench.preparation import Recipe, Store
from pytest_tokenbench.records import Preparation
from pytest_tokenbench.resume import is_final
from pytest_tokenbench.scheduling import TrialKey
from pytest_tokenbench.worker import Worker

STOP_AFTER = 3
Needed = Mapping[tuple[str, str], Recipe]


def needed(loaded: Loaded, keys: Iterable[TrialKey], worker: Worker) -> Needed:
    """What these trials need: recipes by preparation key and document.

    Raises:
        ModelError: The model cannot be had, on which the keys depend.
    """
    # A condition and a document come in many trials, and a key takes hashing.
    pairs = dict.fromkeys((key.condition, loaded.questions[key.question].document) for key in keys)
    found: dict[tuple[str, str], Recipe] = {}
    for condition, document in pairs:
        recipe = loaded.conditions[condition].recipe()
        if recipe is not None:
            key = worker.preparation_key(recipe, loaded.documents[document])
            found.setdefault((key, document), recipe)
    return found


class Builder:
    """Gets preparations from an earlier part of the run, from the store, or from the model.

    `say` is told what was built, `prepares` what is being built: its number, how many there are, what it is, how far.
    """

    def __init__(
        self,
        loaded: Loaded,
        worker: Worker,
        say: Callable[[str], None],
        prepares: Callable[[int, int, str], None],
    ) -> None:
        self._loaded = loaded
        self._worker = worker
        self._say = say
        self._prepares = prepares
        self._store = Store(worker.settings.preparations)

    def build(
        self,
        wanted: Needed,
        earlier: Iterable[Preparation],
        keep: Callable[[Preparation], None],
    ) -> None:
        """Has every preparation in the store or in `earlier`; `keep` gets each that this run has not recorded yet.

        Raises:
            ModelError: Several in a row came to nothing, so that the trials would as well.
            OSError: The store or the ledger cannot be written.
        """
        recorded = {(one.key, one.document) for one in earlier if is_final(one)}
        missing = [place for place in wanted if place not in recorded and self._stored(place) is None]
        if missing:
            names = ", ".join(sorted({wanted[place].name for place in missing}))
            self._say(f"{len(missing)} preparations ({names}) come before the trials")
        built = 0
        failures = Failures(STOP_AFTER, answers=len(missing) < len(wanted))
        for place, recipe in wanted.items():
            if place in recorded:
                continue
            stored = self._stored(place)
            tell = partial(self._tell, built + 1, len(missing), f"{recipe.name} of {place[1]}")
            if stored is None:
                tell(0)
            made = stored or self._build(recipe, place[1], tell)
            keep(made)
            if not is_final(made):
                failures.failed(made.failure_kind)
            elif stored is None:
                failures.answered()
            if failures.are_too_many:
                raise ModelError(
                    f"{STOP_AFTER} preparations in a row came to nothing, the last with {made.failure_kind}: "
                    f"{made.failure}; what is built is kept, --tokenbench-resume goes on from there"
                )
            if stored is None:
                built += 1
                cost = "" if made.output_tokens is None else f", {made.output_tokens:,} tokens written"
                state = f"failed: {made.failure}" if made.failure else f"{made.seconds:.1f} s{cost}"
                self._say(f"prepared {built}/{len(missing)}, {recipe.name} of {made.document}: {state}")

    def _stored(self, place: tuple[str, str]) -> Preparation | None:
        key, document = place
        found = self._store.get(key)
        # Built from the same text, perhaps for a document of another name.
        return replace(found, document=document) if found is not None and found.failure is None else None

    def _tell(self, number: int, total: int, what: str, replies: int) -> None:
        """Tells where a preparation stands, which can take many replies and minutes."""
        since = "" if not replies else f", {replies} {'reply' if replies == 1 else 'replies'} so far"
        self._prepares(number, total, f"{what}{since}")

    def _build(self, recipe: Recipe, document: str, told: Callable[[int], None]) -> Preparation:
        worker = self._worker
        made = preparation.build(
            recipe,
            self._loaded.documents[document],
            worker.model,
            worker.info,
            worker.settings.preparation_tokens,
            told=told,
        )
        self._store.put(made)
        return made
