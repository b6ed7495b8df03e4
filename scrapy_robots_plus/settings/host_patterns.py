"""Which of several patterns names an origin most precisely: origins, hosts, ``*.`` and a host."""

from __future__ import annotations

import re
from ipaddress import ip_address
from typing import TYPE_CHECKING, Generic, TypeVar

from scrapy_robots_plus.protocol.origin import Origin

if TYPE_CHECKING:
    from collections.abc import Iterable

_T = TypeVar("_T")

_EXPECTED = (
    "expected a host (example.com), its subdomains (*.example.com) or an origin "
    "(https://example.com:8443)"
)

_HOST = re.compile(r"[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*")
"""Underscores are in no host name, but in names that are used as such."""

_REMEMBERED = 10_000
"""Origins whose pattern is remembered: a request asks for the same one several times."""


def plain_host(host: str) -> str:
    """*host* in the one form that is compared: lower case, ASCII (IDNA), without a trailing dot.

    IPv6 addresses are in their short form, without brackets. Raises ValueError if it is not a host.
    """
    bare = host.strip().lower().removesuffix(".")
    if bare[:1] == "[" and bare[-1:] == "]":
        bare = bare[1:-1]
    if ":" in bare:
        return str(ip_address(bare))
    if not bare.isascii():
        bare = bare.encode("idna").decode("ascii").lower()
    if not _HOST.fullmatch(bare):
        raise ValueError(f"{host!r} is not a host")
    return bare


def plain_pattern(text: object) -> str:
    """*text*, a pattern as a user writes it, in the one form that is compared.

    An origin always names its port. Raises ValueError saying what is expected.
    """
    if not isinstance(text, str):
        raise ValueError(_EXPECTED)
    try:
        if "://" in text:
            return _origin_in(text)
        wildcard, host = ("*.", text[2:]) if text.startswith("*.") else ("", text)
        return wildcard + plain_host(host)
    except ValueError as error:
        raise ValueError(f"{_EXPECTED}{_with_scheme(text)}") from error


def _with_scheme(text: str) -> str:
    host, colon, port = text.rpartition(":")
    if "://" in text or not (colon and host and port.isdigit()):
        return ""
    return f"; a port makes it an origin: http://{text} or https://{text}"


def _origin_in(text: str) -> str:
    rest = text.partition("://")[2].removesuffix("/")
    origin = Origin.of(text.strip())
    if origin is None or not rest or any(mark in rest for mark in "/?#@"):
        raise ValueError("not an origin")
    return _key(origin, plain_host(origin.host))


def _key(origin: Origin, host: str) -> str:
    return f"{origin.scheme}://{host}:{origin.port}"


class HostPatterns(Generic[_T]):
    """A value for each pattern; :meth:`of` finds the value of the most specific one.

    An origin comes before its host, a host before wildcards, a longer wildcard before a shorter.
    ``*.example.com`` stands for all hosts below ``example.com``, at any depth, and not for
    ``example.com`` itself, as in DNS and in certificates.
    """

    def __init__(self, values: Iterable[tuple[str, _T]] = ()) -> None:
        """*values*: patterns as :func:`plain_pattern` returns them, each with its value."""
        self._values = dict(values)
        self._found: dict[Origin, _T | None] = {}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, HostPatterns) and self._values == other._values

    __hash__ = None  # type: ignore[assignment]  # as a dict

    def __len__(self) -> int:
        return len(self._values)

    def values(self) -> Iterable[_T]:
        return self._values.values()

    def items(self) -> Iterable[tuple[str, _T]]:
        """Each pattern with its value."""
        return self._values.items()

    def of(self, origin: Origin) -> _T | None:
        """The value for *origin*; None if no pattern names it."""
        if origin in self._found:
            return self._found[origin]
        if len(self._found) >= _REMEMBERED:
            self._found.clear()
        value = self._found[origin] = self._look_up(origin)
        return value

    def _look_up(self, origin: Origin) -> _T | None:
        for pattern in _patterns_for(origin):
            if pattern in self._values:
                return self._values[pattern]
        return None


def _patterns_for(origin: Origin) -> Iterable[str]:
    """All that name *origin*, the most specific first."""
    try:
        host = plain_host(origin.host)
    except ValueError:  # a host that no pattern can name
        return
    yield _key(origin, host)
    yield host
    above = host.partition(".")[2] if ":" not in host else ""
    while above:
        yield f"*.{above}"
        above = above.partition(".")[2]
