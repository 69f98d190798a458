"""The nouns of a study as frozen dataclasses, and their JSON. Imports nothing of ours.

`decode` refuses numbers that cannot be: negative ones, and those beyond what its field can come to at most.
"""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, Any, TypeVar

import msgspec

Record = TypeVar("Record")

# What a number of a record can be at most, so that sums, squares and costs of many stay what a float holds.
MOST_COUNT = 10**15
LONGEST_S = 1e9
MOST_MEASURED = 1e100

Count = Annotated[int, msgspec.Meta(ge=0, le=MOST_COUNT)]
Seconds = Annotated[float, msgspec.Meta(ge=0, le=LONGEST_S)]
Share = Annotated[float, msgspec.Meta(ge=0, le=1)]
Measured = Annotated[float, msgspec.Meta(ge=-MOST_MEASURED, le=MOST_MEASURED)]


@dataclass(frozen=True, slots=True)
class OriginalSource:
    """A document written for the corpus it stands in."""


@dataclass(frozen=True, slots=True)
class WikipediaSource:
    """A pinned revision of a Wikipedia article."""

    title: str
    revision: int
    url: str


Source = OriginalSource | WikipediaSource


@dataclass(frozen=True, slots=True)
class Unit:
    """One unit of a block: an example, a passage. `score` is what retrieval gave it, None where it was not retrieved."""

    text: str
    score: float | None = None


@dataclass(frozen=True, slots=True)
class Block:
    """One block of a prompt, its units in the order given; a block that is one piece has one."""

    name: str
    units: tuple[Unit, ...]


@dataclass(frozen=True, slots=True)
class Document:
    """One article of the corpus, pinned by the SHA-256 of its file's bytes; or the blocks of one case's prompt.

    `words` counts whitespace-separated words, headings included, as `wc -w` does. `blocks` is empty for an article; of
    a case, `text` is that of all its blocks.
    """

    id: str
    title: str
    file: str
    words: int
    sha256: str
    licence: str
    source: Source
    text: str = ""
    blocks: tuple[Block, ...] = ()


@dataclass(frozen=True, slots=True)
class Question:
    """One case to answer.

    `answers` are gold strings that stand in the paragraph, `aliases` other spellings that count as well; in both,
    `A & B` asks for two parts. `paragraph` is the 0-based index among the document's paragraphs (headings do not
    count), None for an unanswerable question. `slices` names the groups the question belongs to.

    Of a case over blocks: `gold_rank` is the 1-based place of the retrieved passage that holds the answer, None where
    none does; `follow_up` says that the case cannot be understood without the conversation before it; `stress` that it
    was drawn on purpose from shapes that the others under-sample, and is scored apart.
    """

    id: str
    document: str
    question: str
    answers: tuple[str, ...]
    answerable: bool
    paragraph: Count | None = None
    aliases: tuple[str, ...] = ()
    slices: dict[str, str] = field(default_factory=dict)
    checked_terms: tuple[str, ...] = ()
    gold_rank: Count | None = None
    follow_up: bool = False
    stress: bool = False

    @property
    def golds(self) -> tuple[str, ...]:
        """Every string that counts as the right answer."""
        return self.answers + self.aliases


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """What answered: everything about a model and its server that could change a number.

    None means that the server did not tell. `window` is the context length in tokens that was really given,
    `trained_window` the one the model was trained for; `extension` says how the former came to exceed the latter.
    `options` are what every request is pinned to; `engine` is how this process happened to run it (threads, caches),
    which preparations do not depend on.
    """

    backend: str
    name: str
    digest: str | None
    window: Count | None
    trained_window: Count | None = None
    server_version: str | None = None
    quantization: str | None = None
    parameter_size: str | None = None
    family: str | None = None
    extension: str | None = None
    host: str | None = None
    options: dict[str, Any] = field(default_factory=dict)
    engine: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Generation:
    """One reply of a model. Counts are tokens, durations seconds; None means that it was not told, never 0.

    `prefill_s` covers only input tokens that were not served from the prefix cache (`cached_tokens`).
    `stop` is "stop" for a reply that ended by itself, "length" for one cut at its limit.
    """

    text: str
    input_tokens: int | None
    cached_tokens: int | None
    output_tokens: int | None
    prefill_s: float | None
    decode_s: float | None
    load_s: float | None
    total_s: float | None
    wall_s: float
    stop: str | None
    thinking: str | None = None


@dataclass(frozen=True, slots=True)
class Context:
    """The text that a condition hands over for one question, with the ids of its units in the order given."""

    text: str
    units: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Preparation:
    """What a recipe built once for a document with a model, and what that cost.

    `units` are its texts in document order (one for a summary, one a crouton). `flags` names what is out of the
    ordinary: "recovered" (prose was split into sentences), "over_budget", "cut" (some output ended at its limit).
    `numbers` counts the numbers in the units and `unfaithful_numbers` those that do not stand in the source section.
    `failure` is the reason why there are no units, None where it succeeded; `failure_kind` is "construction" where the
    replies were of no use, else the kind of trouble with the model (see `models.base`), which another try may not meet.
    """

    key: str
    recipe: str
    document: str
    document_sha256: str
    prompt_sha256: str
    model_digest: str | None
    options: dict[str, Any]
    units: tuple[str, ...]
    flags: tuple[str, ...]
    calls: Count
    input_tokens: Count | None
    output_tokens: Count | None
    seconds: Seconds
    numbers: Count = 0
    unfaithful_numbers: Count = 0
    cut_sections: tuple[Count, ...] = ()
    failure: str | None = None
    failure_kind: str | None = None


class Status(StrEnum):
    """How a trial ended. Only an `ok` trial has scores.

    not_needed: nothing was asked, since what earlier trials of the run came to makes the trial's arm needless.
    """

    OK = "ok"
    OVER_WINDOW = "over_window"
    CONSTRUCTION_FAILED = "construction_failed"
    ERROR = "error"
    NOT_NEEDED = "not_needed"


class Outcome(StrEnum):
    """What an `ok` trial's answer was: correct or wrong to an answerable question, else abstained or made up."""

    CORRECT = "correct"
    WRONG = "wrong"
    ABSTAINED = "abstained"
    MADE_UP = "made_up"


class Remark(StrEnum):
    """What is out of the ordinary in an `ok` trial's answer, whatever its outcome; the first that fits.

    thinking: no answer, since the tokens went on thinking. empty: no answer, and nothing else either. refusal: the
    model declined. cut: the answer ended at its limit.
    """

    THINKING = "thinking"
    EMPTY = "empty"
    REFUSAL = "refusal"
    CUT = "cut"


@dataclass(frozen=True, slots=True)
class Decision:
    """What an arm of a later stage is to do, decided once from the trials of the stages before it.

    `left_out` names blocks ("tail") and units ("passages/5", counted from 1). `lengths` has by case how many tokens a
    filler is to have. `needless` is the reason why the arm is not asked at all, None where it is.
    """

    arm: str
    left_out: tuple[str, ...] = ()
    lengths: dict[str, Count] = field(default_factory=dict)
    needless: str | None = None


@dataclass(frozen=True, slots=True)
class Attempt:
    """One try that came to nothing: the kind of trouble and its message, where, and after how many seconds."""

    kind: str
    message: str
    host: str
    seconds: Seconds


@dataclass(frozen=True, slots=True)
class Scores:
    """The scores of one answer; None where the measure does not apply to the question.

    `correct`, `f1`, `squad_f1` and `exact_match` are for answerable questions; `made_up` for unanswerable ones;
    `abstained` says for either whether the answer contains "not stated".
    """

    abstained: bool
    correct: bool | None = None
    made_up: bool | None = None
    f1: Share | None = None
    squad_f1: Share | None = None
    exact_match: bool | None = None


@dataclass(frozen=True, slots=True)
class Observation:
    """What one trial measured; one JSON line of the ledger. Counts are tokens, durations seconds, None unknown.

    `attempts` are the tries that failed; the one that gave the answer is the observation itself. `nonce` is what stood
    before the prompt, None where nothing did.
    """

    study: str
    question: str
    document: str
    condition: str
    reader: str
    repeat: Count
    status: Status
    started: str
    host: str
    worker: str
    outcome: Outcome | None = None
    answer: str | None = None
    input_tokens: Count | None = None
    cached_tokens: Count | None = None
    output_tokens: Count | None = None
    prefill_s: Seconds | None = None
    decode_s: Seconds | None = None
    load_s: Seconds | None = None
    total_s: Seconds | None = None
    wall_s: Seconds | None = None
    stop: str | None = None
    scores: Scores | None = None
    context_words: Count | None = None
    context_sha256: str | None = None
    units: tuple[str, ...] = ()
    prompt_sha256: str | None = None
    preparation: str | None = None
    error_kind: str | None = None
    error_message: str | None = None
    attempts: tuple[Attempt, ...] = ()
    remark: Remark | None = None
    nonce: str | None = None

    @property
    def key(self) -> tuple[str, str, int]:
        """What makes the trial unique within its run: condition, question, repeat."""
        return self.condition, self.question, self.repeat


class Ruling(StrEnum):
    """What became of a hypothesis."""

    PASSED = "passed"
    FAILED = "failed"
    UNAVAILABLE = "unavailable"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Bound:
    """What a hypothesis compared a number with: its "estimate", or the "low" or "high" end of its interval."""

    end: str
    relation: str
    value: Measured


@dataclass(frozen=True, slots=True)
class Evidence:
    """One number that a hypothesis asked for: what it is, its estimate with interval, and n questions or pairs.

    `bounds` are what it was compared with, in the order of the comparisons.
    """

    measure: str
    estimate: Measured
    low: Measured | None
    high: Measured | None
    n: Count
    bounds: tuple[Bound, ...] = ()


@dataclass(frozen=True, slots=True)
class Verdict:
    """One hypothesis, its ruling, the reason in words where it did not pass, and the numbers behind it."""

    hypothesis: str
    statement: str
    ruling: Ruling
    reason: str = ""
    evidence: tuple[Evidence, ...] = ()


def encode(record: Any) -> bytes:
    """A record of this module as one line of JSON, without line end."""
    return msgspec.json.encode(record)


def decode(line: bytes | str, kind: type[Record]) -> Record:
    """The record of the given kind that a line of JSON holds.

    Raises:
        ValueError: The line is no JSON or does not fit the record; the message names the field.
    """
    return msgspec.json.decode(line, type=kind)
