"""What the numbers of a reply can be. One that is none of these makes the reply malformed, never a measurement."""

from pytest_tokenbench.models.base import MalformedReplyError, WindowExceededError
from pytest_tokenbench.records import MOST_COUNT

LONGEST_S = 1e8
# Tokens that a server puts around a prompt: its template, with a system message where the model brings one.
TEMPLATE = 4096
# Tokens of a reply that are in no text, as its end is.
_FEW = 16


def seconds(told: float | None, in_a_second: float, who: str) -> float | None:
    """A duration that `who` told in some unit, in seconds.

    Raises:
        MalformedReplyError: There is no such duration.
    """
    if told is None:
        return None
    # Before it is divided: it may be too large for that.
    if not 0 <= told <= LONGEST_S * in_a_second:
        raise MalformedReplyError(f"the reply of {who} tells a duration that cannot be")
    return told / in_a_second


def size(told: int | None, what: str, who: str) -> int | None:
    """A size that `who` told of a model, such as its window.

    Raises:
        MalformedReplyError: There is no such size.
    """
    if told is not None and not 0 <= told <= MOST_COUNT:
        raise MalformedReplyError(f"{who} tells {what} that cannot be")
    return told


def check_read(prompt: str, window: int | None, who: str, *counts: int | None) -> None:
    """Refuses counts of tokens that a prompt cannot have come to.

    A token has a byte at least. What is around the prompt fits the window, as it would else never be answered.

    Raises:
        MalformedReplyError: One of them is larger.
    """
    size_of_it = len(prompt.encode(errors="surrogatepass"))
    around = TEMPLATE if window is None else min(TEMPLATE, window)
    if any(count is not None and count > size_of_it + around for count in counts):
        raise MalformedReplyError(
            f"the reply of {who} counts more tokens of the prompt than its {size_of_it:,} bytes can have"
        )


def check_written(text: str, limit: int, who: str, count: int | None) -> None:
    """Refuses a count of tokens that a reply cannot have, with what the model thought in its text.

    It ends at its limit; a server that does not heed that has a byte of text for each token at least.

    Raises:
        MalformedReplyError: It is larger.
    """
    if count is not None and count > max(limit, len(text.encode(errors="surrogatepass"))) + _FEW:
        raise MalformedReplyError(
            f"the reply of {who} counts more tokens of its own than the limit of {limit:,} and its text allow"
        )


def figure(digits: str) -> int:
    """A number in an error's words; if it has more digits than any count, one that is too large as well."""
    return int(digits) if len(digits) <= len(str(MOST_COUNT)) else 10 * MOST_COUNT


def refusal(needed: int | None, window: int | None, who: str) -> WindowExceededError:
    """The error for a prompt that was refused as too long, with the figures that `who` gave.

    Raises:
        MalformedReplyError: There are no such figures.
    """
    if any(count is not None and not 0 <= count <= MOST_COUNT for count in (needed, window)):
        raise MalformedReplyError(f"{who} refuses a prompt as too long with figures that cannot be")
    return WindowExceededError(needed, window)
