"""The life of a record: whether it may answer, when it is refreshed, which record follows it.

Pure functions of a record and the time. docs/freshness.md has a diagram of the states of a record.
"""

from __future__ import annotations

import hashlib
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from scrapy_robots_plus.protocol.access import (
    Access,
    Outcome,
    StatusTable,
    access_of,
    is_definite,
    says_unavailable,
)
from scrapy_robots_plus.protocol.http_caching import (
    REFRESH_GRACE,
    Limits,
    elapsed,
    error_lifetime,
    lifetime,
    retry_after,
    validators,
)
from scrapy_robots_plus.protocol.printable import Word
from scrapy_robots_plus.storage.record import KEPT_HEADERS, RobotsRecord

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scrapy_robots_plus.protocol.origin import Origin
    from scrapy_robots_plus.settings.robots_settings import RobotsSettings


class FetchResult(NamedTuple):
    """The result of a robots.txt request."""

    outcome: Outcome
    url: str
    """The last URL requested, after redirects."""
    body: bytes = b""
    """The decoded body: whole lines, at most ``ROBOTS_FETCH_MAX_BYTES``."""
    headers: Mapping[str, str] = MappingProxyType({})
    """The headers of the answer, with names in lower case."""
    not_modified: bool = False
    """Whether a 304 to a conditional request says that the known answer still holds."""
    interrupted: bool = False
    """Whether the crawl itself ended the request, so that the result says nothing of the site."""
    replayed: bool = False
    """Whether Scrapy's HTTP cache answered, so that the result says nothing of the site today."""
    is_cut: bool = False
    """Whether the file is longer than what was read of it (``ROBOTS_FETCH_MAX_BYTES``)."""
    detail: str = ""
    """What happened, in words, if there is no status: the exception or the condition."""


class Source(Word):
    """Where a retrieval found what it returned."""

    NETWORK = "network"
    """The site, even if it could not be reached."""
    STORE = "store"
    """The store (``ROBOTS_STORE``)."""
    CACHE = "cache"
    """Scrapy's HTTP cache."""
    OVERRIDE = "override"
    """The text of an override."""


_NOTHING = hashlib.sha256(b"").hexdigest()


def within_limits(record: RobotsRecord, limits: Limits) -> RobotsRecord:
    """Returns *record*, perhaps from a crawl with other limits, with lifetimes within *limits*."""
    return record._replace(
        lifetime=min(record.lifetime, limits.ttl_max),
        retry_in=min(record.retry_in, limits.error_ttl_max),
    )


def fresh_for(record: RobotsRecord, now: float) -> float:
    """Returns the seconds until *record* is due for a refresh; 0 or less if it is due."""
    if record.failure is not None:
        return record.retry_in - elapsed(record.failed_at, now)
    return record.lifetime - elapsed(record.fetched_at, now) if record.readable else 0.0


def may_answer(record: RobotsRecord, now: float, limits: Limits) -> bool:
    """Returns whether *record* may answer at *now*, if only while it is refreshed."""
    if fresh_for(record, now) > 0:
        return True
    is_last_good_copy = record.failure is not None  # in an outage
    lasts = limits.stale_max if is_last_good_copy else record.lifetime + REFRESH_GRACE
    return record.readable and elapsed(record.fetched_at, now) < lasts


def conditions(known: RobotsRecord | None, url: str) -> dict[str, str]:
    """Returns the headers to ask *url* whether the *known* rules still hold (RFC 9110 13.1).

    There are none if a 304 would be useless: *known* has no rules, lacks their text, or is of
    another URL.
    """
    if known is None or known.url != url or known.access is not Access.RULES:
        return {}
    return validators(known.headers) if is_complete(known) else {}


def is_complete(record: RobotsRecord) -> bool:
    """Returns whether *record* has the text of its rules, or rightly has none."""
    return bool(record.body) or record.sha256 in ("", _NOTHING)


def access_at(record: RobotsRecord, now: float, limits: Limits) -> Access:
    """Returns what may be crawled at *now* according to *record*.

    RFC 9309 2.3.1.4: after a long period of failures the last copy no longer counts.
    """
    failing = record.readable and record.failure is not None
    is_outlived = failing and elapsed(record.fetched_at, now) >= limits.stale_max
    return Access.UNREACHABLE if is_outlived else record.access


def under_statuses(record: RobotsRecord, statuses: StatusTable) -> RobotsRecord:
    """Returns *record*, made under another status policy, with the access that *statuses* give.

    If that is rules, but the text of the answer was not kept, nothing may be crawled.
    """
    access = access_of(record.outcome, statuses)
    if access is Access.RULES and record.access is not Access.RULES:
        access = Access.UNREACHABLE
    return record if access is record.access else record._replace(access=access)


def as_meant_under(record: RobotsRecord, statuses: StatusTable) -> RobotsRecord | None:
    """Returns *record*, perhaps made under another status policy, as *statuses* would make it.

    None if an answer means something else under *statuses*: then only another request can tell. An
    outage is one under any policy; *statuses* decide whether everything may be crawled meanwhile.
    """
    access = access_of(record.outcome, statuses)
    if access is record.access:
        return record
    return None if is_definite(record.outcome) else record._replace(access=access)


def receive(
    origin: Origin,
    result: FetchResult,
    previous: RobotsRecord | None,
    now: float,
    settings: RobotsSettings,
    jitter: float,
) -> RobotsRecord:
    """Returns the record that follows *previous* after *result*. *jitter* is from 0 to 1."""
    # An unrequested 304 is a failure like any other.
    if result.not_modified and previous is not None and previous.readable:
        return _renewed(previous, result, now, settings.limits)
    access = access_of(result.outcome, settings.status_policy)
    if result.interrupted:  # the status policy is about answers: it does not open the site here
        access = Access.UNREACHABLE
    new = RobotsRecord(origin, access, result.outcome, result.url, now, lifetime=0.0)
    if access is not Access.UNREACHABLE and is_definite(result.outcome):
        return _answered(new, result, settings.limits)
    failures = 1 if previous is None else previous.failures + 1
    if previous is None or _is_superseded(previous, new, settings.limits):
        previous = new
    asked = retry_after(result.headers, now)
    return previous._replace(
        failure=result.outcome,
        failures=failures,
        failed_at=now,
        retry_in=error_lifetime(failures, asked, settings.limits, jitter),
    )


def _is_superseded(previous: RobotsRecord, failed: RobotsRecord, limits: Limits) -> bool:
    """Returns whether *failed*, made of a result that is no answer, replaces *previous* altogether.

    Readable rules outlast an outage whatever the status policy says about it (RFC 9309 2.3.1.4);
    the policy decides only once they are too old. A 403 that closes the site is not an outage.
    """
    if not previous.readable or says_unavailable(failed.outcome):
        return True
    opens = failed.access is not Access.UNREACHABLE
    return opens and elapsed(previous.fetched_at, failed.fetched_at) >= limits.stale_max


def _answered(record: RobotsRecord, result: FetchResult, limits: Limits) -> RobotsRecord:
    """Returns *record* of an answer, with what *result* says beside its outcome."""
    lasts = lifetime(result.headers, record.fetched_at, limits)
    record = record._replace(lifetime=lasts, headers=_kept(result.headers))
    if record.access is not Access.RULES:
        return record
    digest = hashlib.sha256(result.body).hexdigest()
    return record._replace(sha256=digest, is_cut=result.is_cut, body=result.body)


_RENEWED = tuple(name for name in KEPT_HEADERS if name != "content-type")


def _renewed(
    previous: RobotsRecord, result: FetchResult, now: float, limits: Limits
) -> RobotsRecord:
    """Returns *previous*, renewed by a 304: its headers replace the stored ones (RFC 9111 4.3.4).

    The stored Content-Type stays: the stored body was decoded by it, or without any (3.2).
    """
    # A response without a Date gets the time of its receipt (RFC 9110 6.6.1), not the old Date.
    stored = {name: value for name, value in previous.headers.items() if name != "date"}
    return previous._replace(
        fetched_at=now,
        lifetime=lifetime({**stored, **result.headers}, now, limits),
        headers={**stored, **_kept(result.headers, _RENEWED)},
        failure=None,
        failures=0,
    )


def _kept(headers: Mapping[str, str], names: tuple[str, ...] = KEPT_HEADERS) -> dict[str, str]:
    return {name: headers[name] for name in names if name in headers}
