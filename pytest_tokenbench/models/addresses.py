"""Where servers are: what in an address lets one in there, and which are on this machine."""

import contextlib
import ipaddress
import re
from urllib.parse import unquote

Credentials = tuple[str, str]


def split_credentials(address: str) -> tuple[str, Credentials | None]:
    """An address without the `user:password@` that it may have, and these two, None where it has none.

    Whatever stands before the last @ counts, so that a password with unusual characters shows nowhere either.
    """
    found = re.fullmatch(r"(\w+://)?(.*)@(.*)", address, re.DOTALL)
    if found is None:
        return address, None
    scheme, known, place = found.groups()
    user, _, password = known.partition(":")
    return (scheme or "") + place, (unquote(user), unquote(password))


def is_loopback(host: str) -> bool:
    """Whether a host's name or number means this machine."""
    with contextlib.suppress(ValueError):
        ip = ipaddress.ip_address(host)
        return ip.is_loopback or ip.is_unspecified
    return host == "localhost" or host.endswith(".localhost")
