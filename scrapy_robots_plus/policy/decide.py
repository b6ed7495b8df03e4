"""What to do with a record: may it answer, must it be asked for again, how long is it good."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from .access import Access, StatusTable, access_of
from .record import FetchResult, RobotsRecord

if TYPE_CHECKING:
    from collections.abc import Callable

    from .origin import Origin


class Lookup(Enum):
    """What a request to an origin has to do first."""

    USE = "use"
    USE_AND_REFRESH = "use and refresh behind"
    FETCH = "fetch"


@dataclass(frozen=True, slots=True)
class Lifetimes:
    """How long an answer is good, in seconds."""

    ttl: float
    error_ttl: float
    error_ttl_max: float


def lookup(record: RobotsRecord | None, age: float) -> Lookup:
    """Whether *record*, received *age* seconds ago, may answer."""
    if record is None:
        return Lookup.FETCH
    if age < record.lifetime:
        return Lookup.USE
    # 2.4 wants a fresh copy, not a wait: what was readable answers until the new one is there.
    return Lookup.USE_AND_REFRESH if record.readable else Lookup.FETCH


def receive(
    origin: Origin,
    result: FetchResult,
    previous: RobotsRecord | None,
    now: float,
    table: StatusTable,
    lifetimes: Lifetimes,
    jitter: Callable[[], float],
) -> RobotsRecord:
    """The record that *result* makes. *jitter* gives a number from 0 to 1; *now* is wall clock."""
    access = access_of(result.outcome, table)
    failures = 0
    lifetime = lifetimes.ttl
    if access is Access.UNREACHABLE:
        failures = 1 + (previous.failures if previous else 0)
        lifetime = error_lifetime(failures, lifetimes, jitter)
    return RobotsRecord(origin, access, result.outcome, result.url, now, lifetime, failures)


def error_lifetime(failures: int, lifetimes: Lifetimes, jitter: Callable[[], float]) -> float:
    """Doubles with each failure in a row, up to the maximum, less up to a tenth of itself.

    The jitter keeps hosts that failed together from being asked again together.
    """
    doublings = min(failures - 1, 32)
    longest = min(lifetimes.error_ttl * 2.0**doublings, lifetimes.error_ttl_max)
    return longest * (1 - 0.1 * jitter())
