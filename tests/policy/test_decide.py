"""Every transition of a record: what a lookup says of it, and what comes after an answer."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from scrapy_robots_plus.policy.access import PRESETS, Access, Failure
from scrapy_robots_plus.policy.decide import Lookup, Rulebook, access_at, lookup, receive
from scrapy_robots_plus.policy.freshness import CLOCK_SKEW, REFRESH_GRACE, Limits
from scrapy_robots_plus.policy.origin import Origin
from scrapy_robots_plus.policy.record import FetchResult, RobotsRecord

DAY = 86_400.0
NOW = 1_800_000_000.0
LIMITS = Limits(
    ttl=DAY, ttl_min=300, ttl_max=DAY, stale_max=30 * DAY, error_ttl=60, error_ttl_max=3_600
)
ORIGIN = Origin("https", "x.example", 443)
RFC, MK1996, OPEN, CLOSED = (
    Rulebook(LIMITS, PRESETS[name]) for name in ("rfc9309", "mk1996", "fail-open", "fail-closed")
)
ETAG = {"etag": '"1"', "cache-control": "max-age=600"}


def answer(status: int = 200, body: bytes = b"Disallow: /", **headers: str) -> FetchResult:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return FetchResult(status, ORIGIN.robots_url, body, named)


def unchanged(**headers: str) -> FetchResult:
    return replace(answer(304, b"", **headers), not_modified=True)


def after(
    result: FetchResult,
    previous: RobotsRecord | None = None,
    now: float = NOW,
    rulebook: Rulebook = RFC,
) -> RobotsRecord:
    return receive(ORIGIN, result, previous, now, rulebook, 0.0)


def failure(kind: Failure = Failure.TIMEOUT) -> FetchResult:
    return FetchResult(kind, ORIGIN.robots_url)


GOOD = after(FetchResult(200, ORIGIN.robots_url, b"Disallow: /", ETAG))
PLAIN = after(answer(cache_control="max-age=600"))
ABSENT = after(answer(404))
OUTAGE = after(failure(), GOOD, NOW + 700)
NEVER = after(failure())


class TestLookup:
    @pytest.mark.parametrize(
        ("record", "seconds", "expected"),
        [
            (None, 0, Lookup.FETCH),
            (GOOD, 0, Lookup.USE),
            (GOOD, 599, Lookup.USE),
            (GOOD, 600, Lookup.USE_AND_REFRESH),
            (GOOD, 600 + REFRESH_GRACE - 1, Lookup.USE_AND_REFRESH),
            (GOOD, 600 + REFRESH_GRACE, Lookup.REVALIDATE),
            (PLAIN, 600 + REFRESH_GRACE, Lookup.FETCH),
            (ABSENT, DAY - 1, Lookup.USE),
            (ABSENT, DAY, Lookup.USE_AND_REFRESH),
            (ABSENT, DAY + REFRESH_GRACE, Lookup.FETCH),
            (NEVER, 59, Lookup.USE),
            (NEVER, 60, Lookup.FETCH),
            (OUTAGE, 700 + 59, Lookup.USE),
            (OUTAGE, 700 + 60, Lookup.USE_AND_REFRESH),
            (OUTAGE, 30 * DAY - 1, Lookup.USE_AND_REFRESH),
            (OUTAGE, 30 * DAY, Lookup.REVALIDATE),
        ],
    )
    def test_by_age(self, record: RobotsRecord | None, seconds: float, expected: Lookup) -> None:
        assert lookup(record, NOW + seconds, LIMITS) is expected

    @pytest.mark.parametrize("record", [GOOD, ABSENT, OUTAGE, NEVER])
    def test_a_clock_that_was_set_back_makes_nothing_immortal(self, record: RobotsRecord) -> None:
        """What was stored an hour hence cannot be dated, so it is asked for again."""
        assert lookup(record, NOW - 3_600, LIMITS) in (Lookup.FETCH, Lookup.REVALIDATE)

    def test_a_clock_that_is_a_little_off_is_borne(self) -> None:
        assert lookup(GOOD, NOW - CLOCK_SKEW / 2, LIMITS) is Lookup.USE


class TestAccess:
    def test_the_last_good_copy_holds_through_an_outage(self) -> None:
        assert access_at(OUTAGE, NOW + 29 * DAY, LIMITS) is Access.RULES

    def test_but_not_for_ever(self) -> None:
        assert access_at(OUTAGE, NOW + 30 * DAY, LIMITS) is Access.UNREACHABLE

    def test_it_is_not_permissive_when_the_clock_jumps(self) -> None:
        absent = after(failure(), ABSENT, NOW + 1)
        for jump in (-DAY, 365 * DAY):
            assert access_at(absent, NOW + jump, LIMITS) is Access.UNREACHABLE


class TestReceive:
    def test_rules(self) -> None:
        assert (GOOD.access, GOOD.outcome, GOOD.fetched_at) == (Access.RULES, 200, NOW)
        assert (GOOD.lifetime, GOOD.failure, GOOD.failures) == (600, None, 0)
        assert GOOD.headers == ETAG
        assert GOOD.body == b"Disallow: /"
        assert len(GOOD.sha256) == 64

    def test_headers_that_do_not_matter_are_not_kept(self) -> None:
        assert after(answer(set_cookie="a=b", etag='"2"')).headers == {"etag": '"2"'}

    def test_the_body_of_an_error_is_no_rules(self) -> None:
        assert (ABSENT.access, ABSENT.body, ABSENT.sha256) == (Access.UNAVAILABLE, b"", "")

    def test_not_modified_renews(self) -> None:
        later = NOW + 1_000
        renewed = after(unchanged(cache_control="max-age=900", etag='"2"'), GOOD, later)
        assert renewed == replace(
            GOOD,
            fetched_at=later,
            lifetime=900,
            headers={"etag": '"2"', "cache-control": "max-age=900"},
        )

    def test_not_modified_keeps_the_headers_it_does_not_name(self) -> None:
        of_old: dict[str, Any] = {"date": "Thu, 01 Jan 1970 00:00:00 GMT", "etag": '"1"'}
        dated = after(answer(**of_old, **GOOD_HEADERS))
        renewed = after(unchanged(), dated, NOW + 1_000)
        assert renewed.lifetime == 600  # not made old by the Date of old

    def test_not_modified_ends_an_outage(self) -> None:
        renewed = after(unchanged(), OUTAGE, NOW + 1_000)
        assert (renewed.failure, renewed.failures, renewed.access) == (None, 0, Access.RULES)

    @pytest.mark.parametrize("previous", [None, NEVER, ABSENT, GOOD])
    def test_not_modified_that_nobody_asked_for_is_a_failure(
        self, previous: RobotsRecord | None
    ) -> None:
        assert after(answer(304, b""), previous).failure == 304

    def test_an_outage_keeps_the_copy(self) -> None:
        assert replace(OUTAGE, failure=None, failures=0, failed_at=0.0, retry_in=0.0) == GOOD
        assert (OUTAGE.failure, OUTAGE.failures) == (Failure.TIMEOUT, 1)
        assert (OUTAGE.failed_at, OUTAGE.retry_in) == (NOW + 700, 60)

    def test_each_failure_waits_longer(self) -> None:
        record = GOOD
        waits = []
        for number in range(8):
            record = after(answer(503), record, NOW + number)
            waits.append(record.retry_in)
        assert waits == [60, 120, 240, 480, 960, 1920, 3600, 3600]
        assert record.fetched_at == GOOD.fetched_at

    def test_failures_from_the_start_are_counted_too(self) -> None:
        again = after(answer(500), NEVER, NOW + 60)
        assert (again.access, again.outcome, again.failures) == (Access.UNREACHABLE, 500, 2)
        assert again.retry_in == 120

    def test_retry_after_is_heeded(self) -> None:
        assert after(answer(503, retry_after="600"), GOOD).retry_in == 600
        assert after(answer(503, retry_after="5"), GOOD).retry_in == 5
        assert after(answer(429, retry_after="999999"), GOOD).retry_in == 3_600

    def test_recovery(self) -> None:
        assert after(answer(**GOOD_HEADERS), OUTAGE) == replace(GOOD, headers=GOOD_KEPT)

    def test_gone_after_rules_opens_the_site(self) -> None:
        assert after(answer(404), GOOD).access is Access.UNAVAILABLE

    @pytest.mark.parametrize("rulebook", [MK1996, CLOSED])
    def test_a_403_that_closes_the_site_is_no_outage(self, rulebook: Rulebook) -> None:
        record = after(answer(403), GOOD, rulebook=rulebook)
        assert record.access is Access.UNREACHABLE
        assert record.sha256 == ""

    def test_a_429_is_one(self) -> None:
        assert after(answer(429), GOOD).access is Access.RULES

    @pytest.mark.parametrize("previous", [GOOD, ABSENT, OUTAGE])
    @pytest.mark.parametrize("result", [failure(), answer(503), answer(429), answer(304, b"")])
    def test_a_policy_that_opens_keeps_the_copy_too(
        self, result: FetchResult, previous: RobotsRecord
    ) -> None:
        result = replace(result, headers={})
        record = after(result, replace(previous, headers={}), NOW + 700, OPEN)
        kept = (record.access, record.outcome, record.body, record.fetched_at)
        assert kept == (previous.access, previous.outcome, previous.body, previous.fetched_at)
        assert (record.failure, record.failures) == (result.outcome, previous.failures + 1)

    def test_until_it_is_too_old(self) -> None:
        record = after(failure(), OUTAGE, NOW + 30 * DAY, OPEN)
        assert (record.access, record.readable, record.failures) == (Access.UNAVAILABLE, False, 2)
        assert access_at(record, NOW + 90 * DAY, LIMITS) is Access.UNAVAILABLE

    def test_without_a_copy_it_opens_for_an_error_lifetime(self) -> None:
        first = after(answer(503), rulebook=OPEN)
        assert (first.access, first.readable) == (Access.UNAVAILABLE, False)
        assert (first.failure, first.failures, first.retry_in) == (503, 1, 60)
        assert lookup(first, NOW + 59, LIMITS) is Lookup.USE
        assert lookup(first, NOW + 60, LIMITS) is Lookup.FETCH
        assert after(answer(503), first, NOW + 60, OPEN).retry_in == 120

    @pytest.mark.parametrize("rulebook", [RFC, OPEN])
    def test_endless_redirects_are_an_answer_as_a_404_is(self, rulebook: Rulebook) -> None:
        record = after(failure(Failure.REDIRECTS), GOOD, NOW + 700, rulebook)
        assert (record.access, record.readable, record.failure) == (Access.UNAVAILABLE, True, None)

    def test_unless_they_close_the_site(self) -> None:
        record = after(failure(Failure.REDIRECTS), GOOD, NOW + 700, CLOSED)
        assert (record.access, record.failure) == (Access.RULES, Failure.REDIRECTS)


GOOD_HEADERS: dict[str, Any] = {"cache_control": "max-age=600"}
GOOD_KEPT = {"cache-control": "max-age=600"}
