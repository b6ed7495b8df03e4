"""Every transition of a record: whether it may answer, and what comes after an answer."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from scrapy_robots_plus.origins.freshness import (
    FetchResult,
    access_at,
    conditions,
    fresh_for,
    may_answer,
    receive,
    within_limits,
)
from scrapy_robots_plus.protocol.access import PRESETS, Access, Failure
from scrapy_robots_plus.protocol.http_caching import CLOCK_SKEW, REFRESH_GRACE, Limits
from scrapy_robots_plus.protocol.origin import Origin
from scrapy_robots_plus.storage.record import RobotsRecord

DAY = 86_400.0
NOW = 1_800_000_000.0
LIMITS = Limits(ttl_min=300, ttl_max=DAY, stale_max=30 * DAY, error_ttl=60, error_ttl_max=3_600)
ORIGIN = Origin("https", "x.example", 443)
RFC, MK1996, OPEN, CLOSED = (
    SimpleNamespace(limits=LIMITS, status_policy=PRESETS[name])
    for name in ("rfc9309", "mk1996", "fail-open", "fail-closed")
)
ETAG = {"etag": '"1"', "cache-control": "max-age=600"}


def answer(status: int = 200, body: bytes = b"Disallow: /", **headers: str) -> FetchResult:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return FetchResult(status, ORIGIN.robots_url, body, named)


def unchanged(**headers: str) -> FetchResult:
    return answer(304, b"", **headers)._replace(not_modified=True)


def after(
    result: FetchResult,
    previous: RobotsRecord | None = None,
    now: float = NOW,
    settings: Any = RFC,
) -> RobotsRecord:
    return receive(ORIGIN, result, previous, now, settings, 0.0)


def failure(kind: Failure = Failure.TIMEOUT) -> FetchResult:
    return FetchResult(kind, ORIGIN.robots_url)


GOOD = after(FetchResult(200, ORIGIN.robots_url, b"Disallow: /", ETAG))
PLAIN = after(answer(cache_control="max-age=600"))
ABSENT = after(answer(404))
OUTAGE = after(failure(), GOOD, NOW + 700)
NEVER = after(failure())


class TestMayAnswer:
    @pytest.mark.parametrize(
        ("record", "seconds", "may", "fresh"),
        [
            (GOOD, 0, True, True),
            (GOOD, 599, True, True),
            (GOOD, 600, True, False),
            (GOOD, 600 + REFRESH_GRACE - 1, True, False),
            (GOOD, 600 + REFRESH_GRACE, False, False),
            (PLAIN, 600 + REFRESH_GRACE, False, False),
            (ABSENT, DAY - 1, True, True),
            (ABSENT, DAY, True, False),
            (ABSENT, DAY + REFRESH_GRACE, False, False),
            (NEVER, 59, True, True),
            (NEVER, 60, False, False),
            (OUTAGE, 700 + 59, True, True),
            (OUTAGE, 700 + 60, True, False),
            (OUTAGE, 30 * DAY - 1, True, False),
            (OUTAGE, 30 * DAY, False, False),
        ],
    )
    def test_by_age(self, record: RobotsRecord, seconds: float, may: bool, fresh: bool) -> None:
        assert may_answer(record, NOW + seconds, LIMITS) is may
        assert (fresh_for(record, NOW + seconds) > 0) is fresh

    @pytest.mark.parametrize("record", [GOOD, ABSENT, OUTAGE, NEVER])
    def test_a_clock_that_was_set_back_makes_nothing_immortal(self, record: RobotsRecord) -> None:
        """What was stored an hour hence cannot be dated, so it is asked for again."""
        assert not may_answer(record, NOW - 3_600, LIMITS)

    def test_a_clock_that_is_a_little_off_is_borne(self) -> None:
        assert fresh_for(GOOD, NOW - CLOCK_SKEW / 2) > 0


class TestFreshFor:
    @pytest.mark.parametrize(
        ("record", "seconds", "expected"),
        [
            (GOOD, 0, 600),
            (GOOD, 150, 450),
            (GOOD, 600, 0),
            (GOOD, 700, -100),
            (OUTAGE, 700, 60),
            (OUTAGE, 720, 40),
            (NEVER, 10, 50),
            (NEVER, 60, 0),
        ],
    )
    def test_until_it_is_asked_for_again(
        self, record: RobotsRecord, seconds: float, expected: float
    ) -> None:
        assert fresh_for(record, NOW + seconds) == expected

    def test_what_is_not_readable_is_due_at_once(self) -> None:
        assert fresh_for(GOOD._replace(access=Access.UNREACHABLE), NOW) == 0


class TestHeldTo:
    def test_a_record_of_other_settings_lasts_no_longer_than_these_say(self) -> None:
        record = OUTAGE._replace(lifetime=7 * DAY, retry_in=DAY)
        assert within_limits(record, LIMITS) == OUTAGE._replace(lifetime=DAY, retry_in=3_600)

    def test_what_is_shorter_stays(self) -> None:
        assert within_limits(OUTAGE, LIMITS) == OUTAGE


class TestConditions:
    URL = ORIGIN.robots_url

    def test_rules_are_asked_for_only_if_they_changed(self) -> None:
        assert conditions(GOOD, self.URL) == {"If-None-Match": '"1"'}

    def test_so_is_an_empty_file(self) -> None:
        empty = after(FetchResult(200, self.URL, b"", ETAG))
        assert conditions(empty, self.URL) == {"If-None-Match": '"1"'}

    @pytest.mark.parametrize(
        ("record", "url"),
        [
            (None, URL),
            (GOOD, "https://y.example/robots.txt"),
            (ABSENT._replace(headers=ETAG), URL),
            (NEVER._replace(headers=ETAG), URL),
            (GOOD._replace(body=b""), URL),  # the rules are not at hand
            (PLAIN, URL),
        ],
    )
    def test_the_rest_is_asked_for_whole(self, record: RobotsRecord | None, url: str) -> None:
        assert conditions(record, url) == {}


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

    def test_a_record_that_is_shown_does_not_show_the_file(self) -> None:
        assert "Disallow" not in repr(GOOD)
        assert GOOD.sha256 in repr(GOOD)

    def test_headers_that_do_not_matter_are_not_kept(self) -> None:
        assert after(answer(set_cookie="a=b", etag='"2"')).headers == {"etag": '"2"'}

    def test_the_body_of_an_error_is_no_rules(self) -> None:
        assert (ABSENT.access, ABSENT.body, ABSENT.sha256) == (Access.UNAVAILABLE, b"", "")

    def test_the_headers_that_are_kept(self) -> None:
        kept = ("cache-control", "content-type", "date", "etag", "expires", "last-modified")
        sent = {name: f"{name} of the site" for name in (*kept, "server", "age", "retry-after")}
        record = after(FetchResult(200, ORIGIN.robots_url, b"", sent))
        assert record.headers == {name: sent[name] for name in kept}

    def test_an_answer_is_of_the_origin_and_the_url_that_were_asked(self) -> None:
        elsewhere = "https://y.example/robots.txt"
        for result in (FetchResult(200, elsewhere), FetchResult(503, elsewhere)):
            record = after(result)
            assert (record.origin, record.url, record.fetched_at) == (ORIGIN, elsewhere, NOW)
        assert record.lifetime == 0

    def test_not_modified_keeps_the_charset_by_which_the_rules_were_read(self) -> None:
        stored = after(answer(content_type="text/plain; charset=koi8-r", etag='"1"'))
        renewed = after(unchanged(content_type="text/html", etag='"2"'), stored)
        assert renewed.headers == {"content-type": "text/plain; charset=koi8-r", "etag": '"2"'}

    def test_not_modified_gives_rules_no_charset_that_they_were_not_read_by(self) -> None:
        renewed = after(unchanged(content_type="text/plain; charset=koi8-r"), GOOD)
        assert renewed.headers == GOOD.headers

    def test_not_modified_renews(self) -> None:
        later = NOW + 1_000
        renewed = after(unchanged(cache_control="max-age=900", etag='"2"'), GOOD, later)
        assert renewed == GOOD._replace(
            fetched_at=later,
            lifetime=900,
            headers={"etag": '"2"', "cache-control": "max-age=900"},
        )

    def test_not_modified_keeps_the_headers_it_does_not_name(self) -> None:
        of_old: dict[str, Any] = {"date": "Thu, 01 Jan 1970 00:00:00 GMT", "etag": '"1"'}
        dated = after(answer(**of_old, **GOOD_HEADERS))
        renewed = after(unchanged(), dated, NOW + 1_000)
        assert renewed.lifetime == 600  # not made old by the Date of old

    def test_the_expires_of_a_not_modified_counts_from_its_date_or_its_receipt(self) -> None:
        dates: dict[str, str] = {"date": "Fri, 15 Jan 2027 08:10:00 GMT"}
        expires = "Fri, 15 Jan 2027 08:30:00 GMT"
        received = NOW + 900  # 08:15
        stored = after(answer(etag='"1"'))
        assert after(unchanged(expires=expires), stored, received).lifetime == 900
        dated = after(unchanged(expires=expires, **dates), stored, received)
        assert dated.lifetime == 1_200 - 300  # it is 5 minutes old

    def test_not_modified_ends_an_outage(self) -> None:
        renewed = after(unchanged(), OUTAGE, NOW + 1_000)
        assert (renewed.failure, renewed.failures, renewed.access) == (None, 0, Access.RULES)

    @pytest.mark.parametrize("previous", [None, NEVER, ABSENT, GOOD])
    def test_not_modified_that_nobody_asked_for_is_a_failure(
        self, previous: RobotsRecord | None
    ) -> None:
        assert after(answer(304, b""), previous).failure == 304

    def test_an_outage_keeps_the_copy(self) -> None:
        assert OUTAGE._replace(failure=None, failures=0, failed_at=0.0, retry_in=0.0) == GOOD
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

    def test_a_crawl_that_ends_opens_no_site_whatever_the_status_policy_says(self) -> None:
        ended = failure(Failure.ERROR)._replace(interrupted=True)
        assert after(ended, settings=OPEN).access is Access.UNREACHABLE
        assert after(ended._replace(interrupted=False), settings=OPEN).access is Access.UNAVAILABLE
        assert after(ended, GOOD, settings=OPEN).access is Access.RULES

    def test_recovery(self) -> None:
        assert after(answer(**GOOD_HEADERS), OUTAGE) == GOOD._replace(headers=GOOD_KEPT)

    def test_gone_after_rules_opens_the_site(self) -> None:
        assert after(answer(404), GOOD).access is Access.UNAVAILABLE

    @pytest.mark.parametrize("settings", [MK1996, CLOSED])
    def test_a_403_that_closes_the_site_is_no_outage(self, settings: Any) -> None:
        record = after(answer(403), GOOD, settings=settings)
        assert record.access is Access.UNREACHABLE
        assert record.sha256 == ""

    def test_a_429_is_one(self) -> None:
        assert after(answer(429), GOOD).access is Access.RULES

    @pytest.mark.parametrize("previous", [GOOD, ABSENT, OUTAGE])
    @pytest.mark.parametrize("result", [failure(), answer(503), answer(429), answer(304, b"")])
    def test_a_policy_that_opens_keeps_the_copy_too(
        self, result: FetchResult, previous: RobotsRecord
    ) -> None:
        result = result._replace(headers={})
        record = after(result, previous._replace(headers={}), NOW + 700, OPEN)
        kept = (record.access, record.outcome, record.body, record.fetched_at)
        assert kept == (previous.access, previous.outcome, previous.body, previous.fetched_at)
        assert (record.failure, record.failures) == (result.outcome, previous.failures + 1)

    def test_a_copy_that_is_too_old_is_kept_to_be_asked_about(self) -> None:
        later = NOW + 40 * DAY
        record = after(failure(), OUTAGE, later)
        assert (record.body, record.failures) == (GOOD.body, 2)
        assert access_at(record, later, LIMITS) is Access.UNREACHABLE
        assert after(unchanged(), record, later).access is Access.RULES

    def test_until_it_is_too_old(self) -> None:
        record = after(failure(), OUTAGE, NOW + 30 * DAY, OPEN)
        assert (record.access, record.readable, record.failures) == (Access.UNAVAILABLE, False, 2)
        assert access_at(record, NOW + 90 * DAY, LIMITS) is Access.UNAVAILABLE

    def test_without_a_copy_it_opens_for_an_error_lifetime(self) -> None:
        first = after(answer(503), settings=OPEN)
        assert (first.access, first.readable) == (Access.UNAVAILABLE, False)
        assert (first.failure, first.failures, first.retry_in) == (503, 1, 60)
        assert may_answer(first, NOW + 59, LIMITS)
        assert not may_answer(first, NOW + 60, LIMITS)
        assert after(answer(503), first, NOW + 60, OPEN).retry_in == 120

    @pytest.mark.parametrize("settings", [RFC, OPEN])
    def test_endless_redirects_are_an_answer_as_a_404_is(self, settings: Any) -> None:
        record = after(failure(Failure.REDIRECTS), GOOD, NOW + 700, settings)
        assert (record.access, record.readable, record.failure) == (Access.UNAVAILABLE, True, None)

    def test_unless_they_close_the_site(self) -> None:
        record = after(failure(Failure.REDIRECTS), GOOD, NOW + 700, CLOSED)
        assert (record.access, record.failure) == (Access.RULES, Failure.REDIRECTS)


GOOD_HEADERS: dict[str, Any] = {"cache_control": "max-age=600"}
GOOD_KEPT = {"cache-control": "max-age=600"}
