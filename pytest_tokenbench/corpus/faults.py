"""What can be wrong with a corpus or its questions, as sentences a person can act on."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

# Of those of one file: one of another form has a fault in each of its lines.
MOST_TOLD = 20


class Breach(StrEnum):
    """What a fault endangers: the material itself, or only the proof that it is the registered one."""

    CONTENT = "content"
    PIN = "pin"


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault: the file as the user named it, the place in it (an id, key or line; may be empty), a sentence."""

    file: str
    where: str
    sentence: str
    breach: Breach = Breach.CONTENT

    def __str__(self) -> str:
        """One line: file, place, sentence. What the material could steer a terminal with is escaped."""
        line = ": ".join(part for part in (self.file, self.where, self.sentence) if part)
        return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in line)


def few(faults: Sequence[Fault]) -> tuple[Fault, ...]:
    """Not more of them than can be read, and how many there are beside."""
    rest = len(faults) - MOST_TOLD
    return (*faults[:MOST_TOLD], *([Fault("", "", f"and {rest:,} more")] if rest > 0 else []))


class CorpusError(Exception):
    """The material cannot be used. `faults` lists what was found, not only the first."""

    def __init__(self, faults: Sequence[Fault]) -> None:
        super().__init__("\n".join(map(str, faults)))
        self.faults = tuple(faults)
