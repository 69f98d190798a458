"""Where a run stands, and how that is put into words. Knows no terminal; time comes from the clock it is given."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tqdm.std import tqdm

from pytest_tokenbench.handout import Work
from pytest_tokenbench.records import Observation
from pytest_tokenbench.scheduling import TrialKey

Trial = tuple[str, TrialKey]

_MINUTE = 60
_SHOWN_IN_SECONDS = 100
_NARROWEST_BAR = 8


@dataclass(slots=True)
class _Right:
    """How many answerable questions have been answered under a condition, and how many of them rightly."""

    answered: int = 0
    right: int = 0


class Progress:
    """What has been done of a session's trials, weighted by the tokens that each is expected to have read.

    A trial of the whole document takes many times as long as one of a few chunks, so that counting trials would foresee
    an end that never comes. Trials that are taken over from an earlier session have no weight.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._works: Mapping[Trial, Work] = {}
        self._since = clock()
        self._tokens = 0
        self._tokens_done = 0
        self._processed = 0
        self._done: set[Trial] = set()
        self._under_way: dict[Trial, None] = {}
        self._right: dict[str, _Right] = {}
        self._has_studies = False
        self._preparing: tuple[int, int, str] | None = None

    def prepares(self, number: int, total: int, what: str) -> None:
        """Preparation `number` of `total` is being built."""
        self._preparing = number, total, what

    def begins(self, works: Mapping[Trial, Work]) -> None:
        """The preparations are there, and these trials come."""
        self._preparing = None
        self._works = works
        self._since = self._clock()
        self._tokens = sum(work.tokens for work in works.values())
        self._has_studies = len({study for study, _ in works}) > 1
        self._right = {self._name(study, key.condition): _Right() for study, key in works}

    def starts(self, trial: Trial) -> None:
        """A trial is under way."""
        self._under_way[trial] = None

    def leaves(self, trial: Trial) -> None:
        """A trial is no longer under way, whatever became of it."""
        self._under_way.pop(trial, None)

    def receives(self, seen: Observation, *, reused: bool) -> None:
        """A trial has come to its end."""
        trial = seen.study, TrialKey(seen.condition, seen.question, seen.repeat)
        self.leaves(trial)
        if trial not in self._done and trial in self._works:
            self._tokens_done += self._works[trial].tokens
        self._done.add(trial)
        if not reused:
            self._processed += (
                (seen.input_tokens or 0) - (seen.cached_tokens or 0) + (seen.output_tokens or 0)
            )
        if seen.scores is not None and seen.scores.correct is not None:
            counted = self._right.setdefault(self._name(seen.study, seen.condition), _Right())
            counted.answered += 1
            counted.right += seen.scores.correct

    @property
    def share(self) -> float:
        """Of the expected tokens, how much is behind."""
        if not self._tokens:
            return len(self._done) / max(1, len(self._works))
        return self._tokens_done / self._tokens

    @property
    def seconds_left(self) -> float | None:
        """Expected until the last trial, None before anything is known."""
        done = self._tokens_done
        return (self._tokens - done) * self._elapsed() / done if done else None

    @property
    def speed(self) -> float | None:
        """Tokens a second, read anew or written, as they were counted; None before any was."""
        elapsed = self._elapsed()
        return self._processed / elapsed if elapsed > 0 and self._processed else None

    def _elapsed(self) -> float:
        return self._clock() - self._since

    def lines(self, width: int, *, in_ascii: bool = False) -> list[str]:
        """What stands below pytest's own lines, in `width` columns: a bar and the trials, and what was right so far."""
        if self._preparing is not None:
            number, total, what = self._preparing
            return [
                _bar((number - 1) / total, [f"preparing {number}/{total}", what], width, in_ascii=in_ascii)
            ]
        if not self._works:
            return []
        found = [_bar(self.share, self._parts(), width, in_ascii=in_ascii)]
        accuracy = "  ".join(self._accuracies())
        if accuracy:
            found.append(_cut(f"right so far: {accuracy}", width))
        return found

    def sentence(self) -> str:
        """The same on a line of its own, for a log; empty before there are trials."""
        if self._preparing is not None:
            number, total, what = self._preparing
            return f"preparing {number} of {total}, {what}"
        if not self._works:
            return ""
        trials, *rest = self._parts()
        text = ", ".join([f"{trials} ({100 * self.share:.0f}% of the tokens)", *rest])
        accuracy = ", ".join(self._accuracies())
        return f"{text}; right so far: {accuracy}" if accuracy else text

    def _parts(self) -> list[str]:
        speed, left = self.speed, self.seconds_left
        parts = [f"{len(self._done):,}/{len(self._works):,} trials"]
        parts += [] if speed is None else [f"{speed:,.0f} tokens/s"]
        parts += [] if left is None else [f"{duration(left)} left"]
        now = self._now()
        return [*parts, now] if now else parts

    def _now(self) -> str:
        """The trial begun last, and how many more are under way."""
        if not self._under_way:
            return ""
        (study, key), *others = reversed(self._under_way)
        work = self._works.get((study, key))
        document = f" of {work.document}" if work is not None and work.document is not None else ""
        return f"{key.condition}{document}" + (f" +{len(others)}" if others else "")

    def _accuracies(self) -> list[str]:
        return [
            f"{name} {100 * its.right / its.answered:.0f}%"
            for name, its in self._right.items()
            if its.answered
        ]

    def _name(self, study: str, condition: str) -> str:
        return f"{study}:{condition}" if self._has_studies else condition


def _bar(share: float, parts: list[str], width: int, *, in_ascii: bool) -> str:
    """A bar as wide as there is room for beside the parts; with too little room for it, without the last of them."""
    while len(parts) > 1 and len(", ".join(parts)) + len("100% || ") + _NARROWEST_BAR > width:
        parts = parts[:-1]
    text = ", ".join(parts).replace("{", "{{").replace("}", "}}")
    made = tqdm.format_meter(
        n=share,
        total=1,
        elapsed=0,
        ncols=width,
        ascii=in_ascii,
        bar_format="{percentage:3.0f}% |{bar}| " + text,
    )
    return _cut(made, width)


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 3] + "..."


def duration(seconds: float) -> str:
    """A length of time, as exact as a forecast is: 40 s, 12 min, 3 h 20 min."""
    if seconds < _SHOWN_IN_SECONDS:
        return f"{seconds:.0f} s"
    hours, minutes = divmod(round(seconds / _MINUTE), _MINUTE)
    return f"{hours} h {minutes:02} min" if hours else f"{minutes} min"
