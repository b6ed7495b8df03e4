"""From the response to a robots.txt request to what may be crawled (RFC 9309 2.3.1)."""

from __future__ import annotations

from enum import Enum
from typing import TypeAlias


class Access(str, Enum):
    """The three results of RFC 9309 2.3.1."""

    RULES = "rules"
    """2.3.1.1: the file was read, and its rules apply."""
    UNAVAILABLE = "unavailable"
    """2.3.1.3: there is no file, everything may be crawled."""
    UNREACHABLE = "unreachable"
    """2.3.1.4: the file cannot be read, nothing may be crawled until it can."""

    def __str__(self) -> str:
        return self.value


class Failure(str, Enum):
    """Why a robots.txt request gave no usable HTTP status."""

    TIMEOUT = "timeout"
    """Not complete within ``ROBOTS_FETCH_TIMEOUT``."""
    DNS = "dns"
    """The host name has no address."""
    CONNECTION = "connection"
    """Refused, reset, TLS failure, or closed before an answer."""
    CUT = "cut"
    """The body is incomplete."""
    UNDECODABLE = "undecodable"
    """The body does not match its Content-Encoding."""
    CHALLENGE = "challenge"
    """A page that finds out whether a person asks came in its place."""
    REDIRECTS = "redirects"
    """More than five redirects in a row (2.3.1.2)."""
    BAD_REDIRECT = "bad_redirect"
    """A redirect without an http or https URL."""
    ERROR = "error"
    """Anything else: rejected by another component, a failing parser, a closing spider."""

    def __str__(self) -> str:
        return self.value


Outcome: TypeAlias = int | Failure
"""The HTTP status of the last response, or why there is none (RFC 9309 2.3.1)."""

TOO_MANY_REQUESTS = 429
"""Asks for fewer requests (RFC 6585 4), says nothing about the file: counts as an outage."""


def says_unavailable(outcome: Outcome) -> bool:
    """Whether the server said that it has no file for us: any 4xx except 429."""
    if isinstance(outcome, Failure):
        return False
    return 400 <= outcome < 500 and outcome != TOO_MANY_REQUESTS


def is_definite(outcome: Outcome) -> bool:
    """Whether *outcome* says something about the file, rather than being an outage.

    More than five redirects may count like a 404 (RFC 9309 2.3.1.2). A 429, a server error, an
    unrequested 304 and all other failures are outages. A status policy does not change that: it
    says what is allowed in an outage, not what an outage is.
    """
    if isinstance(outcome, Failure):
        return outcome is Failure.REDIRECTS
    return 200 <= outcome < 300 or says_unavailable(outcome)
