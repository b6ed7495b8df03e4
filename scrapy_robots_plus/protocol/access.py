"""The meaning of the response to a robots.txt request for a crawl (RFC 9309 2.3.1).

Presets, and changes of them, say what each status and each failure means.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import TypeAlias

from .printable import Explained


class Access(Explained):
    """The three results of a robots.txt request (RFC 9309 2.3.1)."""

    RULES = "rules", "its rules hold"
    """2.3.1.1: the file was read, and its rules apply."""
    UNAVAILABLE = "unavailable", "everything is allowed"
    """2.3.1.3: there is no file, everything may be crawled."""
    UNREACHABLE = "unreachable", "it cannot be read"
    """2.3.1.4: the file cannot be read, nothing may be crawled until it can."""


class Failure(Explained):
    """The reason why a robots.txt request gave no usable HTTP status."""

    TIMEOUT = "timeout", "no answer in time"
    """The response was not complete within ``ROBOTS_FETCH_TIMEOUT``."""
    DNS = "dns", "the host name has no address"
    """The host name has no address."""
    CONNECTION = "connection", "the connection failed: refused, reset, or no TLS"
    """The connection was refused, reset or closed before a response, or TLS failed."""
    CUT = "cut", "the answer ended before its time"
    """The body is incomplete."""
    UNDECODABLE = "undecodable", "the body is not what its Content-Encoding says"
    """The body does not match its Content-Encoding."""
    CHALLENGE = "challenge", "a page that finds out whether a person asks came in its place"
    """A page that tests whether a person asks came in its place."""
    REDIRECTS = "redirects", "more than five redirects in a row"
    """There were more than five redirects in a row (2.3.1.2)."""
    BAD_REDIRECT = "bad_redirect", "a redirect to nowhere, or away from http and https"
    """A redirect without an http or https URL."""
    ERROR = "error", "the crawler could not ask, or could not read the answer"
    """Any other failure: rejected by another component, a failing parser, a closing spider."""


Outcome: TypeAlias = int | Failure
"""The HTTP status of the last response, or why there is none (RFC 9309 2.3.1)."""

TOO_MANY_REQUESTS = 429
"""The status that asks for fewer requests (RFC 6585 4), not about the file: so it is an outage."""
PROXY_AUTHENTICATION_REQUIRED = 407
"""The status of a proxy that has not asked the site (RFC 9110 15.5.8), so it is an outage, too."""
_NO_ANSWERS = frozenset({PROXY_AUTHENTICATION_REQUIRED, TOO_MANY_REQUESTS})


def says_unavailable(outcome: Outcome) -> bool:
    """Returns whether the server said that it has no file for us: any 4xx except 407 and 429."""
    if isinstance(outcome, Failure):
        return False
    return 400 <= outcome < 500 and outcome not in _NO_ANSWERS


def is_definite(outcome: Outcome) -> bool:
    """Returns whether *outcome* says something about the file, rather than being an outage.

    More than five redirects may count like a 404 (RFC 9309 2.3.1.2). A 407, a 429, a server error,
    an unrequested 304 and all other failures are outages. A status policy does not change that: it
    says what is allowed in an outage, not what an outage is.
    """
    if isinstance(outcome, Failure):
        return outcome is Failure.REDIRECTS
    return 200 <= outcome < 300 or says_unavailable(outcome)


StatusTable: TypeAlias = Mapping[str, Access]
"""A mapping of a status (``"404"``), a class of statuses (``"4xx"``) or a failure to an access."""

_RULES, _ALLOW, _DENY = Access.RULES, Access.UNAVAILABLE, Access.UNREACHABLE
_CLASSES = ("1xx", "2xx", "3xx", "4xx", "5xx", "other")


def _table(default: Access, exceptions: Mapping[str, Access]) -> StatusTable:
    names = [*_CLASSES, *map(str, Failure)]
    return MappingProxyType({**dict.fromkeys(names, default), "2xx": _RULES, **exceptions})


PRESETS: Mapping[str, StatusTable] = {
    # 2.3.1.3: 4xx is unavailable, but 407 and 429 say nothing about the file. 2.3.1.2: more than
    # five redirects may count as unavailable. The rest is unreachable.
    "rfc9309": _table(
        _DENY, {"4xx": _ALLOW, **{str(each): _DENY for each in _NO_ANSWERS}, "redirects": _ALLOW}
    ),
    # "A Standard for Robot Exclusion" (1994) and its Internet-Draft (1996), section 3.1.
    "mk1996": _table(_ALLOW, {"401": _DENY, "403": _DENY}),
    "fail-open": _table(_ALLOW, {}),
    "fail-closed": _table(_DENY, {"404": _ALLOW, "410": _ALLOW}),
}

_WORDS = {"allow": _ALLOW, "disallow": _DENY}


def access_of(outcome: Outcome, table: StatusTable) -> Access:
    """Returns what *outcome* means: by status, else by class of statuses; or by failure."""
    if isinstance(outcome, Failure):
        return table[outcome.value]
    return table.get(str(outcome)) or table.get(f"{outcome // 100}xx") or table["other"]


def status_table(value: object) -> StatusTable:
    """Returns the table for a ``ROBOTS_STATUS_POLICY``.

    *value* is the name of a preset, or a dict that changes one: ``{"preset": "rfc9309", "403":
    "disallow", "timeout": "allow"}``, in any case. Raises ValueError saying what is expected.
    """
    if isinstance(value, str):
        value = {"preset": value}
    if not isinstance(value, Mapping):
        raise ValueError(f"expected a dict or a preset: {', '.join(PRESETS)}")
    changes = {str(key).lower(): word for key, word in value.items()}
    preset = changes.pop("preset", "rfc9309")
    if str(preset).lower() not in PRESETS:
        raise ValueError(f"{preset!r} is not a preset; choose one of {', '.join(PRESETS)}")
    table = dict(PRESETS[str(preset).lower()])
    for key, word in changes.items():
        if key not in PRESETS["rfc9309"] and not re.fullmatch("[1-9][0-9]{2}", key):
            raise ValueError(
                f"{key!r} is not a status (404), a class ({', '.join(_CLASSES)}) "
                f"or a failure ({', '.join(map(str, Failure))})"
            )
        access = _WORDS.get(str(word).lower())
        if access is None:
            raise ValueError(f"{key!r} is {word!r}; expected {' or '.join(map(repr, _WORDS))}")
        table[key] = access
    return MappingProxyType(table)
