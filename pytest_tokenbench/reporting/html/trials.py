"""Every trial as data for the page's script, each text once; and the pairs of trials that a click finds."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pytest_tokenbench.records import Observation, Outcome, Question
from pytest_tokenbench.run_folder import Run

Json = dict[str, Any]
FIELDS = (
    "condition",
    "question",
    "repeat",
    "state",
    "context",
    "answer",
    "remark",
    "input_tokens",
    "cached_tokens",
    "output_tokens",
    "prefill_s",
    "decode_s",
    "load_s",
    "total_s",
    "wall_s",
    "stop",
    "f1",
    "error",
    "attempts",
    "host",
    "worker",
    "started",
    "preparation",
    "prompt_sha256",
    "nonce",
)


@dataclass(frozen=True, slots=True)
class Disagreement:
    """How often a condition was right where the baseline was wrong, and the other way round."""

    condition: str
    lost: int
    won: int
    pairs: int


class _Places:
    """Values with a place each, in the order in which they came."""

    def __init__(self) -> None:
        self.values: dict[str, int] = {}

    def of(self, value: str) -> int:
        return self.values.setdefault(value, len(self.values))


class _Contexts:
    """Contexts with their units, each once; their texts as places of lines, since contexts share most of these."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._texts = texts
        self._places: dict[tuple[str, tuple[str, ...]], int] = {}
        self._cut: dict[str, list[int]] = {}
        self.lines, self.units = _Places(), _Places()
        self.entries: list[Json] = []

    def of(self, seen: Observation) -> int | None:
        if seen.context_sha256 is None:
            return None
        key = seen.context_sha256, seen.units
        if key not in self._places:
            self._places[key] = len(self.entries)
            self.entries.append(
                {
                    "sha256": seen.context_sha256,
                    "words": seen.context_words,
                    "lines": self._lines(seen.context_sha256),
                    "units": [self.units.of(unit) for unit in seen.units],
                }
            )
        return self._places[key]

    def _lines(self, sha256: str) -> list[int] | None:
        if sha256 not in self._texts:
            return None
        if sha256 not in self._cut:
            self._cut[sha256] = [self.lines.of(line) for line in self._texts[sha256].split("\n")]
        return self._cut[sha256]


def data(run: Run, texts: Mapping[str, str]) -> Json:
    """What the script needs to list, find and open the trials. `texts` are the contexts by SHA-256."""
    record = run.record
    conditions = {name: place for place, name in enumerate(record.conditions)}
    questions = {question.id: place for place, question in enumerate(record.questions)}
    contexts = _Contexts(texts)
    ordered = sorted(
        run.observations, key=lambda seen: (questions[seen.question], conditions[seen.condition], seen.repeat)
    )
    trials = [
        [conditions[seen.condition], questions[seen.question], *_row(seen, contexts.of(seen))]
        for seen in ordered
    ]
    return {
        "baseline": record.baseline,
        "conditions": list(record.conditions),
        "questions": [_question(question) for question in record.questions],
        "fields": list(FIELDS),
        "trials": trials,
        "lines": list(contexts.lines.values),
        "units": list(contexts.units.values),
        "contexts": contexts.entries,
        "repeats": record.repeats,
    }


def _row(seen: Observation, context: int | None) -> list[Any]:
    # A trial that was not needed has its reason, and no kind of trouble.
    error = seen.error_message if seen.error_kind is None else f"{seen.error_kind}: {seen.error_message}"
    return [
        seen.repeat,
        str(seen.outcome or seen.status),
        context,
        seen.answer,
        None if seen.remark is None else str(seen.remark),
        seen.input_tokens,
        seen.cached_tokens,
        seen.output_tokens,
        seen.prefill_s,
        seen.decode_s,
        seen.load_s,
        seen.total_s,
        seen.wall_s,
        seen.stop,
        None if seen.scores is None else seen.scores.f1,
        error,
        [f"{one.kind} at {one.host} after {one.seconds:.1f} s: {one.message}" for one in seen.attempts],
        seen.host,
        seen.worker,
        seen.started,
        seen.preparation,
        seen.prompt_sha256,
        seen.nonce,
    ]


def _question(question: Question) -> Json:
    return {
        "id": question.id,
        "document": question.document,
        "text": question.question,
        "answers": list(question.answers),
        "aliases": list(question.aliases),
        "answerable": question.answerable,
        "paragraph": question.paragraph,
        "slices": question.slices,
    }


def disagreements(run: Run, conditions: Iterable[str]) -> list[Disagreement]:
    """For each of the conditions but the baseline, in how many pairs of trials only one of the two was right."""
    outcomes = {seen.key: seen.outcome for seen in run.observations}
    found = []
    for name in conditions:
        if name == run.record.baseline:
            continue
        pairs = Counter(
            (outcomes.get((run.record.baseline, question, repeat)), outcome)
            for (condition, question, repeat), outcome in outcomes.items()
            if condition == name
        )
        right, wrong = Outcome.CORRECT, Outcome.WRONG
        compared = sum(pairs[theirs, ours] for theirs in (right, wrong) for ours in (right, wrong))
        found.append(Disagreement(name, pairs[right, wrong], pairs[wrong, right], compared))
    return found
