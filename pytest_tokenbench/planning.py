"""What a session would do, told before it does it: trials, tokens, preparations, time, money and power.

Nothing here asks a model or writes a file.
"""

import contextlib
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from pytest_tokenbench import costs, preparation, prompting, trial
from pytest_tokenbench.claims import PowerPlan, powers_of
from pytest_tokenbench.conditions.base import stage_of
from pytest_tokenbench.corpus.passages import word_count
from pytest_tokenbench.loading import Loaded
from pytest_tokenbench.models.counting import Tokenize, distinct
from pytest_tokenbench.pace import LastRun, Speed, speed_of
from pytest_tokenbench.preparation import Encoder, Recipe, Store
from pytest_tokenbench.prices import Price
from pytest_tokenbench.records import Document, Generation, ModelInfo, Preparation
from pytest_tokenbench.scheduling import TOKENS_PER_WORD, Order, TrialKey
from pytest_tokenbench.settings import Settings

MILLION = 1_000_000
# Stands for a trial's own, which is as long.
_NONCE = "3f9a07c1"
# What a recipe is told in place of a reply, so that it asks for all that it would ask for.
_REPLY = "The text says so."


@dataclass(frozen=True, slots=True)
class Count:
    """A number of tokens, and whether it was counted by the model's own tokenizer or is an estimate."""

    tokens: int
    is_exact: bool = False

    def __add__(self, other: "Count") -> "Count":
        return Count(self.tokens + other.tokens, self.is_exact and other.is_exact)


@dataclass(frozen=True, slots=True)
class ConditionPlan:
    """The trials of one condition. `distinct` counts what prompts begin with in common once, for the first of them.

    `longest` is one prompt; `read` is what a host has to read in the session's order; `written` how many tokens the
    answers have, at most where `is_limit`.
    """

    trials: int
    prompts: Count
    longest: Count
    distinct: Count
    read: Count
    written: int
    is_limit: bool


@dataclass(frozen=True, slots=True)
class PreparationPlan:
    """What one recipe has to build: documents, those that are there already, calls, tokens read and written.

    `longest` is what is read for one document. `written` is the limit where `is_limit`, else what the last run makes
    expect; `seconds` is None without one.
    """

    recipe: str
    documents: int
    kept: int
    calls: int
    read: Count
    longest: Count
    written: int
    is_limit: bool
    seconds: float | None


@dataclass(frozen=True, slots=True)
class Plan:
    """All that a session would do for one study.

    `documents` is None where each question has a prompt of its own. `waiting` are the conditions whose trials are asked
    only if earlier ones make them needed. `unplanned` has for a hypothesis why it has no power.
    """

    study: str
    documents: int | None
    questions: int
    reused: int
    conditions: Mapping[str, ConditionPlan]
    preparations: tuple[PreparationPlan, ...]
    speed: Speed | None
    prices: tuple[Price, ...]
    discordance: float
    powers: tuple[PowerPlan, ...]
    unplanned: Mapping[str, str] = field(default_factory=dict)
    waiting: tuple[str, ...] = ()

    @property
    def trials(self) -> int:
        """Of all conditions."""
        return sum(made.trials for made in self.conditions.values())

    @property
    def preparation_seconds(self) -> float | None:
        """Expected for building everything, None where that is not known."""
        seconds = [made.seconds for made in self.preparations if made.documents > made.kept]
        return None if None in seconds else sum(one for one in seconds if one is not None)

    @property
    def trial_seconds(self) -> float | None:
        """Expected for all trials, None without a last run."""
        if self.speed is None:
            return None
        read = sum(made.read.tokens for made in self.conditions.values())
        return (read / self.speed.rate + self.trials * self.speed.rest) / self.speed.workers

    def cost(self, price: Price) -> tuple[float, float, bool]:
        """For the trials and for the preparations, without any caching, and whether that is the most it can be.

        Raises:
            Unavailable: Something is longer than what the prices are for.
        """
        lengths = {f"a prompt under {name}": one.longest for name, one in self.conditions.items()}
        lengths |= {f"the {one.recipe} of a document": one.longest for one in self.preparations}
        for what, count in lengths.items():
            costs.check_tier(price, count.tokens, what, "" if count.is_exact else "about ")
        asked, built = self.conditions.values(), self.preparations
        trials = sum(one.prompts.tokens * price.input + one.written * price.output for one in asked)
        prepared = sum(one.read.tokens * price.input + one.written * price.output for one in built)
        is_most = any(one.is_limit for one in asked) or any(one.is_limit for one in built)
        return trials / MILLION, prepared / MILLION, is_most


def build(
    loaded: Loaded,
    selected: Collection[TrialKey],
    settings: Settings,
    *,
    done: Collection[TrialKey] = (),
    last: LastRun | None = None,
    tokenize: Tokenize | None = None,
    prices: tuple[Price, ...] = (),
) -> Plan:
    """The plan for the selected trials of a study, without those that are `done`.

    `last` is the run that speed and preparations are taken from (see `pace.last_run`), `tokenize` the model's tokenizer where
    it is at hand.
    """
    keys = [key for key in loaded.trials if key in selected and key not in done]
    speed = None if last is None else speed_of(last)
    kept = {} if last is None else dict(_kept(loaded, keys, settings, last.run.record.model))
    documents = {loaded.questions[key.question].document for key in keys}
    powers, unplanned = powers_of(
        loaded, None if settings.shard else selected, settings.discordance, None if last is None else last.run
    )
    return Plan(
        study=loaded.study.name,
        documents=len(documents) if loaded.material.ablation is None else None,
        questions=len({key.question for key in keys}),
        reused=len(set(selected) & set(done)),
        conditions=_conditions(loaded, keys, kept, tokenize, speed),
        preparations=tuple(_preparations(loaded, keys, kept, settings, tokenize=tokenize, speed=speed)),
        speed=speed,
        prices=prices,
        discordance=settings.discordance,
        powers=powers,
        unplanned=unplanned,
        waiting=tuple(
            dict.fromkeys(key.condition for key in keys if loaded.layout.stages.get(key.condition))
        ),
    )


def _kept(
    loaded: Loaded, keys: Sequence[TrialKey], settings: Settings, model: ModelInfo
) -> Iterator[tuple[tuple[str, str], Preparation]]:
    """What the store has for these trials, by condition and document, if this is still the model."""
    store = Store(settings.preparations)
    for condition, document in _pairs(loaded, keys):
        recipe = loaded.conditions[condition].recipe()
        if recipe is not None:
            name = preparation.key(recipe, loaded.documents[document], model, settings.preparation_tokens)
            found = store.get(name)
            if found is not None and found.failure is None:
                yield (condition, document), found


def _pairs(loaded: Loaded, keys: Sequence[TrialKey]) -> list[tuple[str, str]]:
    """Conditions and documents of the trials, each pair once."""
    return list(dict.fromkeys((key.condition, loaded.questions[key.question].document) for key in keys))


# Trials


def _conditions(
    loaded: Loaded,
    keys: Sequence[TrialKey],
    kept: Mapping[tuple[str, str], Preparation],
    tokenize: Tokenize | None,
    speed: Speed | None,
) -> dict[str, ConditionPlan]:
    whole = replace(loaded.layout, order=Order.COLD).estimated_tokens(keys)
    once = replace(loaded.layout, order=Order.SHARED).estimated_tokens(_side_by_side(loaded, keys))
    made = {}
    counted = {}
    if tokenize is not None:
        counted = _counted(loaded, keys, kept, tokenize)
    elif loaded.material.ablation is not None:
        counted = _estimated(_counted(loaded, keys, kept, _by_words()))
    for name in loaded.conditions:
        its = [key for key in keys if key.condition == name]
        if not its:
            continue
        prompts, shared, longest = counted.get(
            name,
            (
                Count(sum(whole[key] for key in its)),
                Count(sum(once[key] for key in its)),
                Count(max(whole[key] for key in its)),
            ),
        )
        mean = None if speed is None else speed.written.get(name)
        made[name] = ConditionPlan(
            trials=len(its),
            prompts=prompts,
            longest=longest,
            distinct=shared,
            read=prompts if loaded.layout.order is Order.COLD else shared,
            written=round(len(its) * (trial.ANSWER_TOKENS if mean is None else mean)),
            is_limit=mean is None,
        )
    return made


def _side_by_side(loaded: Loaded, keys: Sequence[TrialKey]) -> list[TrialKey]:
    """The trials in the order of conditions, so that the first of a family is the first to have a beginning."""
    places = {name: place for place, name in enumerate(loaded.conditions)}
    return sorted(keys, key=lambda key: places[key.condition])


def _counted(
    loaded: Loaded,
    keys: Sequence[TrialKey],
    kept: Mapping[tuple[str, str], Preparation],
    tokenize: Tokenize,
) -> dict[str, tuple[Count, Count, Count]]:
    """By condition, the tokens of its prompts, those that none before it has read, and of the longest; where all are known.

    Before a nonce there is nothing that could have been read, and it is another in each run, so that no count is exact.
    """
    known = {
        name
        for name, condition in loaded.conditions.items()
        # What an arm of a later stage sends is not known yet.
        if not stage_of(condition)
        and (
            condition.recipe() is None
            or all(pair in kept for pair in _pairs(loaded, keys) if pair[0] == name)
        )
    }
    by_document: dict[str, dict[str, list[TrialKey]]] = {}
    for key in _side_by_side(loaded, keys):
        if key.condition in known:
            document = loaded.questions[key.question].document
            by_document.setdefault(document, {}).setdefault(key.condition, []).append(key)
    prompts: Counter[str] = Counter()
    fresh: Counter[str] = Counter()
    longest: Counter[str] = Counter()
    for document, conditions in by_document.items():
        before, seen = 0, []
        for name, its in conditions.items():
            made = [tokenize(_prompt(loaded, key, kept.get((name, document)))) for key in its]
            prompts[name] += sum(map(len, made))
            longest[name] = max(longest[name], *map(len, made))
            seen += made
            now = sum(map(len, seen)) if loaded.layout.nonce else distinct(seen)
            fresh[name] += now - before
            before = now
    is_exact = not loaded.layout.nonce
    return {
        name: (Count(count, is_exact), Count(fresh[name], is_exact), Count(longest[name], is_exact))
        for name, count in prompts.items()
    }


def _by_words() -> Tokenize:
    """Numbers words in place of tokens. Arms share beginnings of their own, which the layout's estimate knows nothing of."""
    numbers: dict[str, int] = {}
    return lambda text: np.array(
        [numbers.setdefault(word, len(numbers)) for word in text.split()], dtype=np.int32
    )


def _estimated(counted: Mapping[str, tuple[Count, Count, Count]]) -> dict[str, tuple[Count, Count, Count]]:
    """Counts of words as estimates of tokens."""

    def tokens(words: Count) -> Count:
        return Count(round(words.tokens * TOKENS_PER_WORD))

    return {
        name: (tokens(prompts), tokens(fresh), tokens(longest))
        for name, (prompts, fresh, longest) in counted.items()
    }


def _prompt(loaded: Loaded, key: TrialKey, made: Preparation | None) -> str:
    question = loaded.questions[key.question]
    context = loaded.conditions[key.condition].context(question, loaded.documents[question.document], made)
    prompt = prompting.fill(loaded.study.prompt, context=context.text, question=question.question)
    return prompting.after(_NONCE, prompt) if loaded.layout.nonce else prompt


# Preparations


def _preparations(
    loaded: Loaded,
    keys: Sequence[TrialKey],
    kept: Mapping[tuple[str, str], Preparation],
    settings: Settings,
    *,
    tokenize: Tokenize | None,
    speed: Speed | None,
) -> Iterator[PreparationPlan]:
    """What each recipe has to build. Conditions that share a recipe share what is built."""
    wanted: dict[str, tuple[Recipe, dict[str, bool]]] = {}
    for condition, document in _pairs(loaded, keys):
        recipe = loaded.conditions[condition].recipe()
        if recipe is not None:
            same = repr((recipe.name, recipe.options()))
            wanted.setdefault(same, (recipe, {}))[1][document] = (condition, document) in kept
    for recipe, documents in wanted.values():
        read = longest = Count(0, tokenize is not None)
        calls, limit = 0, 0
        for document, is_kept in documents.items():
            if not is_kept:
                asked = _Asked(tokenize)
                _pretend(recipe, loaded.documents[document], Encoder(asked, settings.preparation_tokens))
                read, calls, limit = read + asked.read, calls + asked.calls, limit + asked.limit
                longest = max(longest, asked.read, key=lambda one: one.tokens)
        pace = None if speed is None else speed.prepared.get(recipe.name)
        yield PreparationPlan(
            recipe=recipe.name,
            documents=len(documents),
            kept=sum(documents.values()),
            calls=calls,
            read=read,
            longest=longest,
            written=limit if pace is None else min(limit, round(read.tokens * pace[1])),
            is_limit=pace is None and limit > 0,
            seconds=None if pace is None else read.tokens * pace[0],
        )


class _Asked:
    """Stands in for a model: it counts what it is asked, and replies with a sentence."""

    host = "none"

    def __init__(self, tokenize: Tokenize | None) -> None:
        self._tokenize = tokenize
        self.read = Count(0, tokenize is not None)
        self.calls = 0
        self.limit = 0

    def describe(self, *, timeout: float | None = None) -> ModelInfo:  # noqa: ARG002
        return ModelInfo(backend="none", name="none", digest=None, window=None)

    def generate(self, prompt: str, *, max_tokens: int, timeout: float | None = None) -> Generation:  # noqa: ARG002
        estimate = Count(round(word_count(prompt) * TOKENS_PER_WORD))
        self.read += estimate if self._tokenize is None else Count(len(self._tokenize(prompt)), True)
        self.calls += 1
        self.limit += max_tokens
        return Generation(_REPLY, None, None, None, None, None, None, None, wall_s=0.0, stop="stop")

    def close(self) -> None:
        pass


def _pretend(recipe: Recipe, document: Document, encoder: Encoder) -> None:
    # A recipe of the user's own may stumble over the reply; it has asked by then.
    with contextlib.suppress(Exception):
        recipe.write(document, encoder)
