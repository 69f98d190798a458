"""What a question costs under each condition, at given prices: arithmetic on counted tokens, nothing is run for it."""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from pytest_tokenbench.break_even import counts_of
from pytest_tokenbench.prices import Price
from pytest_tokenbench.records import Preparation, Question, Status
from pytest_tokenbench.results import Results, Unavailable
from pytest_tokenbench.statistics import FloatArray

MILLION = 1_000_000

Json = dict[str, Any]


def build(price: Price, results: Results, prepared: Mapping[str, Sequence[Preparation]]) -> Json:
    """The costs at one table of prices, as plain JSON values, in its currency.

    `prepared` has for each condition with a recipe what was built for it and can be used. Every cost is a mean over
    the `n` questions whose `ok` trials told both counts, or `{"unavailable": reason}`.
    """
    return {
        "price": asdict(price),
        "conditions": {
            name: {
                "per_question": _figure(lambda name=name: _per_question(price, results, name)),  # type: ignore[misc]
                "preparation": _figure(
                    lambda name=name: _preparation(price, prepared.get(name), results.questions)  # type: ignore[misc]
                ),
            }
            for name in results.conditions
        },
        "with_prompt_caching": _figure(lambda: _with_prompt_caching(price, results)),
    }


def _figure(cost: Callable[[], Json]) -> Json:
    try:
        return cost()
    except Unavailable as reason:
        return {"unavailable": str(reason)}


def _per_question(price: Price, results: Results, condition: str) -> Json:
    """Mean input tokens at the input rate and mean output tokens at the output rate."""
    inputs, outputs = _counts(price, results, condition)
    known = ~np.isnan(inputs)
    cost = float(inputs[known].mean()) * price.input + float(outputs[known].mean()) * price.output
    return {"estimate": cost / MILLION, "n": int(known.sum())}


def _counts(price: Price, results: Results, condition: str) -> tuple[FloatArray, FloatArray]:
    """Input and output tokens of each question, both NaN where either is not known."""
    inputs, outputs = results.column("input_tokens", condition), results.column("output_tokens", condition)
    unknown = np.isnan(inputs) | np.isnan(outputs)
    if unknown.all():
        raise Unavailable(f"no question has both its counts under {condition}")
    check_tier(price, float(np.nanmax(inputs)), f"a prompt under {condition}")
    return np.where(unknown, np.nan, inputs), np.where(unknown, np.nan, outputs)


def check_tier(price: Price, tokens: float, what: str, about: str = "") -> None:
    """Refuses what is longer than the prices are for; `about` stands before the number.

    Raises:
        Unavailable: It is.
    """
    if price.base_up_to is not None and tokens > price.base_up_to:
        raise Unavailable(
            f"{what} has {about}{tokens:,.0f} tokens; over {price.base_up_to:,} they cost more than the prices say"
        )


def _preparation(price: Price, prepared: Sequence[Preparation] | None, questions: Sequence[Question]) -> Json:
    """Mean over documents of what building cost, and that spread over a document's questions; 0 if nothing is built."""
    if prepared is None:
        return {"per_document": 0.0, "per_question": 0.0}
    if not prepared:
        raise Unavailable("nothing was prepared")
    total = 0.0
    for one in prepared:
        read, written = counts_of(one)
        # Of several calls only the sum is known; what fits the base prices as a whole does so in parts.
        check_tier(price, read, f"the {one.recipe} of {one.document}")
        total += read * price.input + written * price.output
    per_document = total / len(prepared) / MILLION
    documents = len({question.document for question in questions})
    return {"per_document": per_document, "per_question": per_document * documents / len(questions)}


def _with_prompt_caching(price: Price, results: Results) -> Json:
    """The baseline's cost per question if each document's prompt prefix were billed in full once, then as cached.

    A prompt is instruction and context, the same for every question of a document, then the question. The first
    question of a document pays the full input rate; for each further one the prefix costs the cached rate and only
    the rest the full one. How many tokens the prefix has was not counted. It has at most the smallest value, over the
    document's questions, of input tokens less the question's words, since a word is at least one token:

        saved = (questions - 1) x prefix x (input rate - cached rate)

    The questions are all that the study has of the document; one whose trial is missing is taken to cost what the
    others do, since the more there are the less each of them costs. So the prefix is taken a little too long (by the
    tokens that the shortest question has beyond its words, and those of the chat template after it), and the cost comes
    out a little too low: in favour of the baseline.
    """
    if price.cached_input is None:
        raise Unavailable(f"no price for cached input is published ({price.source})")
    _check_one_context(results)
    inputs, outputs = _counts(price, results, results.baseline)
    asked = Counter(question.document for question in results.questions)
    places = defaultdict(list)
    for place, question in enumerate(results.questions):
        if not np.isnan(inputs[place]):
            places[question.document].append(place)
    prefixes: dict[str, float] = {}
    total = 0.0
    for document, its in places.items():
        prefixes[document] = max(0.0, min(float(inputs[i]) - _words(results.questions[i]) for i in its))
        full = float(np.mean(inputs[its])) * price.input + float(np.mean(outputs[its])) * price.output
        saved = (asked[document] - 1) * prefixes[document] * (price.input - price.cached_input)
        total += asked[document] * full - saved
    estimate = total / sum(asked[document] for document in places) / MILLION
    return {"estimate": estimate, "n": sum(map(len, places.values())), "cached_tokens": prefixes}


def _check_one_context(results: Results) -> None:
    """A cache helps where every question of a document comes with one and the same context."""
    contexts = defaultdict(set)
    for seen in results.observations:
        if seen.condition == results.baseline and seen.status is Status.OK:
            contexts[seen.document].add(seen.context_sha256)
    for document, hashes in contexts.items():
        if len(hashes) > 1 or None in hashes:
            raise Unavailable(
                f"under {results.baseline} the questions of {document} are not known to share one context"
            )


def _words(question: Question) -> int:
    return len(question.question.split())
