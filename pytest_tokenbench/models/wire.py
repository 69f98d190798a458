"""What the backends that ask a server over HTTP have in common."""

import base64
import ssl
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self, TypeVar
from urllib.parse import quote

import httpx
import msgspec

from pytest_tokenbench.models.addresses import Credentials, is_loopback
from pytest_tokenbench.models.base import MalformedReplyError, TimedOutError

CONNECT_SECONDS = 10.0
SHOWN_CHARACTERS = 300
HIDDEN = b"***"

Kind = TypeVar("Kind")


@dataclass(frozen=True, slots=True)
class Deadline:
    """When whatever is being asked must have been answered, `seconds` after it was begun."""

    seconds: float
    end: float

    @classmethod
    def within(cls, seconds: float) -> Self:
        """The deadline that many seconds from now."""
        return cls(seconds, time.monotonic() + seconds)

    def left(self, who: str) -> float:
        """Seconds until then.

        Raises:
            TimedOutError: There are none, and `who` has not answered.
        """
        seconds = self.end - time.monotonic()
        if seconds <= 0:
            raise TimedOutError.after(self.seconds, who)
        return seconds


def client(url: str, credentials: Credentials | None = None, *, idle: float | None = None) -> httpx.Client:
    """A client that keeps its connection, for `idle` seconds without use or for good.

    Proxies and the like in the environment hold for other machines only.
    """
    return httpx.Client(
        auth=credentials,
        limits=httpx.Limits(keepalive_expiry=idle),
        trust_env=not is_loopback(httpx.URL(url).host),
        verify=url.startswith("https:") or no_certificates(),
    )


def no_certificates() -> ssl.SSLContext:
    """Trusts nobody. Enough where there is no TLS, and spares the 100 ms that reading the authorities takes."""
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def sent(
    http: httpx.Client, method: str, url: str, deadline: Deadline, body: dict[str, Any] | None
) -> tuple[int, bytes]:
    """Status and body of the reply to a request.

    Raises:
        TimedOutError: There was none until the deadline, though some of it may have come.
        httpx.RequestError: There is no connection, or it broke.
    """
    left = deadline.left(url)
    limits = httpx.Timeout(left, connect=min(left, CONNECT_SECONDS))
    pieces = []
    try:
        with http.stream(method, url, json=body, timeout=limits) as response:
            for piece in response.iter_bytes():
                pieces.append(piece)
                deadline.left(url)  # a server that sends a byte now and then is late all the same
    except (httpx.ReadTimeout, httpx.WriteTimeout, httpx.PoolTimeout):
        raise TimedOutError.after(deadline.seconds, url) from None
    return response.status_code, b"".join(pieces)


def decoded(content: bytes, kind: type[Kind], url: str) -> Kind:
    """The JSON that `url` sent, as a value of the given kind.

    Raises:
        MalformedReplyError: It is something else.
    """
    try:
        return msgspec.json.decode(content, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        what = f"what it should not ({plain(str(error))})" if content.strip() else "an empty reply"
        raise MalformedReplyError(f"{url} sent {what}") from None


def spellings(key: str | None, credentials: Credentials | None) -> tuple[bytes, ...]:
    """The secrets in every way that a server may have got them, the longest first."""
    given = [secret.encode() for secret in (key, *(credentials or ())) if secret]
    sent = [base64.b64encode(":".join(credentials).encode())] if credentials else []
    encoded = (quote(secret, safe="").encode() for secret in given)
    return tuple(sorted({*given, *encoded, *sent}, key=len, reverse=True))


def hidden(said: str, secrets: Sequence[bytes]) -> str:
    """What a server said, fit to be read, without the secrets should they stand there."""
    raw = said.encode(errors="replace")
    for secret in secrets:
        raw = raw.replace(secret, HIDDEN)
    return plain(raw.decode(errors="replace"))


def least_tokens(prompt: str) -> int:
    """A number of tokens that no tokenizer of the usual kind falls short of: none joins words across white space."""
    return len(prompt.split())


def reason(error: httpx.RequestError) -> str:
    """Why a request failed, in words."""
    return plain(str(error)) or type(error).__name__


def plain(text: str) -> str:
    """On one line, without control characters, and not too long to read."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return line if len(line) <= SHOWN_CHARACTERS else line[: SHOWN_CHARACTERS - 3] + "..."
