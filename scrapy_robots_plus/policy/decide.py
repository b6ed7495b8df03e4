"""What to do with a record: may it answer, must it be asked for again, what comes after it.

Pure functions of a record and the time. The states of a record and the ways between them are drawn
in docs/freshness.md.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING

from .access import Access, StatusTable, access_of, is_definite, is_refusal
from .freshness import (
    Limits,
    elapsed,
    error_lifetime,
    in_grace,
    lifetime,
    retry_after,
    validators,
)
from .record import KEPT_HEADERS, FetchResult, RobotsRecord

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .origin import Origin


_NOTHING = hashlib.sha256(b"").hexdigest()


class Lookup(Enum):
    """What a request to an origin has to do first."""

    USE = "use"
    USE_AND_REFRESH = "use and refresh behind"
    REVALIDATE = "revalidate"
    FETCH = "fetch"


@dataclass(frozen=True, slots=True)
class Rulebook:
    """What the settings say on records: how long they last, and what a status means."""

    limits: Limits
    statuses: StatusTable


def held_to(record: RobotsRecord, limits: Limits) -> RobotsRecord:
    """*record*, made perhaps by a crawl with other settings, for no longer than *limits* say."""
    return replace(
        record,
        lifetime=limits.lifetime(record.lifetime),
        retry_in=limits.retry_in(record.retry_in),
    )


def fresh_for(record: RobotsRecord, now: float) -> float:
    """Seconds until *record* is asked for again; not over 0 where that is due."""
    if record.failure is not None:
        return record.retry_in - elapsed(record.failed_at, now)
    return record.lifetime - elapsed(record.fetched_at, now) if record.readable else 0.0


def lookup(record: RobotsRecord | None, now: float, limits: Limits) -> Lookup:
    """Whether *record* may answer at *now*, and what is to be done about it."""
    if record is None:
        return Lookup.FETCH
    if fresh_for(record, now) > 0:
        return Lookup.USE
    again = Lookup.REVALIDATE if validators(record.headers) else Lookup.FETCH
    if not record.readable:
        return again
    age = elapsed(record.fetched_at, now)
    if record.failure is not None:  # the last good copy, through an outage
        return again if limits.outlived(age) else Lookup.USE_AND_REFRESH
    return Lookup.USE_AND_REFRESH if in_grace(age, record.lifetime) else again


def conditions(known: RobotsRecord | None, url: str) -> dict[str, str]:
    """The request headers that ask *url* whether the rules *known* still hold (RFC 9110 13.1).

    None where a 304 would be of no use: for another URL, and where the rules are not at hand.
    """
    if known is None or known.url != url or known.access is not Access.RULES:
        return {}
    if not known.body and known.sha256 != _NOTHING:
        return {}
    return validators(known.headers)


def access_at(record: RobotsRecord, now: float, limits: Limits) -> Access:
    """What *record* lets be crawled at *now*.

    RFC 9309 2.3.1.4: after a long time of failures the last copy no longer counts.
    """
    return Access.UNREACHABLE if _outlived(record, now, limits) else record.access


def _outlived(record: RobotsRecord, now: float, limits: Limits) -> bool:
    """Whether *record* is a copy that is too old to be obeyed through an outage."""
    failing = record.readable and record.failure is not None
    return failing and limits.outlived(elapsed(record.fetched_at, now))


def receive(
    origin: Origin,
    result: FetchResult,
    previous: RobotsRecord | None,
    now: float,
    rulebook: Rulebook,
    jitter: float,
) -> RobotsRecord:
    """The record that *result* makes of *previous*. *jitter* is a number from 0 to 1."""
    # A 304 that nobody asked for is a failure like any other.
    if result.not_modified and previous is not None and previous.readable:
        return _renewed(previous, result, now, rulebook.limits)
    access = access_of(result.outcome, rulebook.statuses)
    if result.interrupted:  # what the status policy says of answers does not open a site for this
        access = Access.UNREACHABLE
    if access is not Access.UNREACHABLE and is_definite(result.outcome):
        return _answered(origin, access, result, now, rulebook.limits)
    failures = 0 if previous is None else previous.failures
    if previous is None or _is_superseded(previous, access, result, now, rulebook.limits):
        previous = RobotsRecord(origin, access, result.outcome, result.url, now, 0.0)
        previous = replace(previous, failures=failures)
    return _failing(previous, result, now, rulebook.limits, jitter)


def _is_superseded(
    previous: RobotsRecord, access: Access, result: FetchResult, now: float, limits: Limits
) -> bool:
    """Whether nothing of *previous* is left by a *result* that brings no file.

    Rules that could be read outlast an outage whatever the status policy says of it (2.3.1.4);
    only where they are too old is it asked. A 403 that closes the site is not an outage.
    """
    if not previous.readable or is_refusal(result.outcome):
        return True
    opens = access is not Access.UNREACHABLE
    return opens and limits.outlived(elapsed(previous.fetched_at, now))


def _answered(
    origin: Origin, access: Access, result: FetchResult, now: float, limits: Limits
) -> RobotsRecord:
    body = result.body if access is Access.RULES else b""
    return RobotsRecord(
        origin,
        access,
        result.outcome,
        result.url,
        now,
        lifetime(result.headers, now, limits),
        _kept(result.headers),
        hashlib.sha256(body).hexdigest() if access is Access.RULES else "",
        body=body,
    )


def _renewed(
    previous: RobotsRecord, result: FetchResult, now: float, limits: Limits
) -> RobotsRecord:
    """RFC 9111 4.3.4: the headers of a 304 take the place of the stored ones.

    Not its Content-Type, by which the stored body was read (3.2).
    """
    # An answer without a Date is dated when it is received (RFC 9110 6.6.1), not as the old one.
    stored = {name: value for name, value in previous.headers.items() if name != "date"}
    return replace(
        previous,
        fetched_at=now,
        lifetime=lifetime({**stored, **result.headers}, now, limits),
        headers={**stored, **_kept(result.headers), **_content_type(stored)},
        failure=None,
        failures=0,
    )


def _failing(
    previous: RobotsRecord, result: FetchResult, now: float, limits: Limits, jitter: float
) -> RobotsRecord:
    failures = previous.failures + 1
    asked = retry_after(result.headers, now)
    return replace(
        previous,
        failure=result.outcome,
        failures=failures,
        failed_at=now,
        retry_in=error_lifetime(failures, asked, limits, jitter),
    )


def _kept(headers: Mapping[str, str]) -> dict[str, str]:
    return {name: headers[name] for name in KEPT_HEADERS if name in headers}


def _content_type(headers: Mapping[str, str]) -> dict[str, str]:
    return {name: headers[name] for name in ("content-type",) if name in headers}
