"""Patterns for origins, of which the most specific counts: origins, hosts, ``*.`` and a host."""

from __future__ import annotations

import re
from functools import lru_cache
from ipaddress import ip_address
from typing import TypeVar

from scrapy_robots_plus.protocol.origin import Origin

_T = TypeVar("_T")

_EXPECTED = (
    "expected a host (example.com), its subdomains (*.example.com) or an origin "
    "(https://example.com:8443)"
)

_HOST = r"[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*"
"""The form of a host. Underscores are in no host name, but in names that are used as such."""
_LONGEST = 253
"""The most characters that a name can have (RFC 1035 2.3.4)."""


def plain_host(host: str) -> str:
    """Returns *host* in the form that is compared: lower case, ASCII (IDNA), no trailing dot.

    IPv6 addresses are in their short form, without brackets. Raises ValueError if it is not a host.
    """
    bare = host.strip().lower().removesuffix(".")
    if bare[:1] == "[" and bare[-1:] == "]":
        bare = bare[1:-1]
    if ":" in bare:
        return str(ip_address(bare))
    if not bare.isascii():
        bare = bare.encode("idna").decode("ascii").lower()
    if len(bare) > _LONGEST or not re.fullmatch(_HOST, bare):
        raise ValueError(f"{host!r} is not a host")
    return bare


def plain_pattern(text: object) -> str:
    """Returns a pattern, which a user wrote as *text*, in the one form that is compared.

    An origin always names its port. Raises ValueError saying what is expected.
    """
    if not isinstance(text, str):
        raise ValueError(_EXPECTED)
    try:
        if "://" in text:
            return _origin_in(text)
        if not text.startswith("*."):
            return plain_host(text)
        host = plain_host(text[2:])
        if ":" in host or host.rpartition(".")[2].isdigit():
            raise ValueError("an address has no subdomains")
        return f"*.{host}"
    except ValueError as error:
        raise ValueError(_EXPECTED) from error


def _origin_in(text: str) -> str:
    rest = text.partition("://")[2].removesuffix("/")
    origin = Origin.of(text.strip())
    if origin is None or not rest or any(mark in rest for mark in "/?#@"):
        raise ValueError("not an origin")
    return _key(origin, plain_host(origin.host))


def _key(origin: Origin, host: str) -> str:
    return f"{origin.scheme}://{host}:{origin.port}"


class HostPatterns(dict[str, _T]):
    """Values by pattern, as :func:`plain_pattern` returns it; :meth:`of` finds the most specific.

    An origin comes before its host, a host before wildcards, a longer wildcard before a shorter.
    ``*.example.com`` stands for all hosts below ``example.com``, at any depth, and not for
    ``example.com`` itself, as in DNS and in certificates.
    """

    def of(self, origin: Origin) -> _T | None:
        """Returns the value for *origin*; None if no pattern names it."""
        return next((self[each] for each in _patterns_for(origin) if each in self), None)


@lru_cache(maxsize=500)  # a name of many labels has 22 kB of patterns
def _patterns_for(origin: Origin) -> tuple[str, ...]:
    """Returns all patterns that name *origin*, the most specific first.

    They are cached, as requests ask for the same origin several times.
    """
    try:
        host = plain_host(origin.host)
    except ValueError:  # a host that no pattern can name
        return ()
    labels = [] if ":" in host else host.split(".")
    wildcards = (f"*.{'.'.join(labels[number:])}" for number in range(1, len(labels)))
    return _key(origin, host), host, *wildcards
