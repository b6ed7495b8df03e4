"""How long an answer is fresh, section by section of RFC 9111."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from scrapy_robots_plus.protocol.http_caching import (
    CLOCK_SKEW,
    REFRESH_GRACE,
    Limits,
    confirms,
    elapsed,
    entity_tag,
    error_lifetime,
    http_date,
    lifetime,
    retry_after,
    source_of_lifetime,
    span_of_use,
    validators,
    varies_by_agent,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

DAY = 86_400.0
LIMITS = Limits(ttl_min=300, ttl_max=DAY, stale_max=30 * DAY, error_ttl=60, error_ttl_max=3_600)
NOW = 784_111_777.0  # Sun, 06 Nov 1994 08:49:37 GMT, the example of RFC 9110 5.6.7
AT_NOW = "Sun, 06 Nov 1994 08:49:37 GMT"
AN_HOUR_AGO = "Sun, 06 Nov 1994 07:49:37 GMT"
IN_AN_HOUR = "Sun, 06 Nov 1994 09:49:37 GMT"
IN_TWO_HOURS = "Sun, 06 Nov 1994 10:49:37 GMT"
IN_TWO_DAYS = "Tue, 08 Nov 1994 08:49:37 GMT"

DEFAULT, LEAST, MOST = DAY, LIMITS.ttl_min, LIMITS.ttl_max

TABLE: list[tuple[str, dict[str, str], float]] = [
    # 4.2.1: which lifetime counts
    ("nothing declared", {}, DEFAULT),
    ("max-age", {"cache-control": "max-age=3600"}, 3600),
    ("max-age among others", {"cache-control": "public, max-age=3600, must-revalidate"}, 3600),
    ("max-age goes before Expires", {"cache-control": "max-age=3600", "expires": "0"}, 3600),
    ("s-maxage is for shared caches", {"cache-control": "s-maxage=600"}, DEFAULT),
    ("s-maxage beside max-age", {"cache-control": "s-maxage=600, max-age=3600"}, 3600),
    ("Expires less Date", {"expires": IN_AN_HOUR, "date": AT_NOW}, 3600),
    ("Expires without Date", {"expires": IN_AN_HOUR}, 3600),
    ("Expires less a Date of an hour ago, less that hour", {
        "expires": IN_TWO_HOURS, "date": AN_HOUR_AGO}, 2 * 3600),
    ("Expires in the past", {"expires": AN_HOUR_AGO, "date": AT_NOW}, LEAST),
    ("private counts for nothing", {"cache-control": "private"}, DEFAULT),
    ("an unknown directive", {"cache-control": "immutable, max-age=1200"}, 1200),
    # 5.2: the syntax of directives
    ("names in any case", {"cache-control": "Max-Age=3600"}, 3600),
    ("quoted", {"cache-control": 'max-age="3600"'}, 3600),
    ("white space", {"cache-control": "  max-age=3600 ,public"}, 3600),
    ("empty elements", {"cache-control": ",,max-age=3600,,"}, 3600),
    ("an empty header", {"cache-control": ""}, DEFAULT),
    ("garbage", {"cache-control": "=;=,,\"'"}, DEFAULT),
    # what is broken or contradicts itself is stale
    ("max-age twice the same", {"cache-control": "max-age=3600, max-age=3600"}, 3600),
    ("max-age twice otherwise", {"cache-control": "max-age=3600, max-age=60"}, LEAST),
    ("max-age without a value", {"cache-control": "max-age"}, LEAST),
    ("negative", {"cache-control": "max-age=-5"}, LEAST),
    ("a fraction", {"cache-control": "max-age=3600.5"}, LEAST),
    ("words", {"cache-control": "max-age=hour"}, LEAST),
    ("a letter beside the number", {"cache-control": "max-age=X3600"}, LEAST),
    ("digits of other scripts", {"cache-control": "max-age=٣٦٠٠"}, LEAST),
    ("an exponent", {"cache-control": "max-age=1e5"}, LEAST),
    ("one broken, one not", {"cache-control": "max-age=x, max-age=3600"}, LEAST),
    ("Expires: 0", {"expires": "0"}, LEAST),
    ("Expires: -1", {"expires": "-1", "date": AT_NOW}, LEAST),
    ("Expires that is no date", {"expires": "tomorrow"}, LEAST),
    ("Expires twice", {"expires": f"{IN_AN_HOUR}, {IN_AN_HOUR}"}, LEAST),
    ("no-store", {"cache-control": "no-store, max-age=3600"}, LEAST),
    ("no-cache", {"cache-control": "no-cache"}, LEAST),
    ('no-cache="field"', {"cache-control": 'no-cache="set-cookie", max-age=3600'}, LEAST),
    # clamps
    ("max-age=0", {"cache-control": "max-age=0"}, LEAST),
    ("under the minimum", {"cache-control": "max-age=10"}, LEAST),
    ("over the maximum", {"cache-control": "max-age=604800"}, MOST),
    ("beyond any number", {"cache-control": f"max-age={'9' * 5000}"}, MOST),
    ("Expires over the maximum", {"expires": IN_TWO_DAYS, "date": AT_NOW}, MOST),
    # 4.2.3: age
    ("Age", {"cache-control": "max-age=3600", "age": "600"}, 3000),
    ("Age near max-age, as of a proxy", {"cache-control": "max-age=3600", "age": "3599"}, LEAST),
    ("Age over max-age", {"cache-control": "max-age=3600", "age": "7200"}, LEAST),
    ("Age that is no number", {"cache-control": "max-age=3600", "age": "old"}, 3600),
    ("a negative Age", {"cache-control": "max-age=3600", "age": "-600"}, 3600),
    ("Age twice: the first", {"cache-control": "max-age=3600", "age": "600, 60"}, 3000),
    ("Date of an hour ago", {"cache-control": "max-age=7200", "date": AN_HOUR_AGO}, 3600),
    ("the larger of Date and Age", {
        "cache-control": "max-age=7200", "date": AN_HOUR_AGO, "age": "60"}, 3600),
    ("a Date in the future", {"cache-control": "max-age=3600", "date": IN_AN_HOUR}, 3600),
    ("a Date that is none", {"cache-control": "max-age=3600", "date": "noon"}, 3600),
    ("a server whose clock stands", {
        "cache-control": "max-age=3600", "date": "Thu, 01 Jan 1970 00:00:00 GMT"}, LEAST),
    # 4.2.3, RFC 9309 2.4: age where nothing is declared
    ("Age counts from the default, too", {"age": "3600"}, DEFAULT - 3600),
    ("so does a Date of an hour ago", {"date": AN_HOUR_AGO}, DEFAULT - 3600),
    ("the larger of the two", {"date": AN_HOUR_AGO, "age": "5000"}, DEFAULT - 5000),
    ("the larger of the two, the other way", {"date": AN_HOUR_AGO, "age": "60"}, DEFAULT - 3600),
    ("a Date of now", {"date": AT_NOW}, DEFAULT),
    ("a Date in the future: our clock is slow", {"date": IN_AN_HOUR}, DEFAULT),
    ("a Date in the future and an Age", {"date": IN_TWO_DAYS, "age": "600"}, DEFAULT - 600),
    ("older than the default", {"age": "86400"}, LEAST),
    ("a Date of another time", {"date": "Thu, 01 Jan 1970 00:00:00 GMT"}, LEAST),
    ("a Date that is none", {"date": "yesterday"}, DEFAULT),
    ("a Date twice", {"date": f"{AN_HOUR_AGO}, {AN_HOUR_AGO}"}, DEFAULT),
    ("Age twice: the first", {"age": "600, 60"}, DEFAULT - 600),
    ("Age twice, the first broken", {"age": "x, 60"}, DEFAULT),
    ("Age with white space", {"age": " 600 "}, DEFAULT - 600),
    ("an empty Age", {"age": ""}, DEFAULT),
    ("a negative Age", {"age": "-600"}, DEFAULT),
    ("an Age with a fraction", {"age": "600.5"}, DEFAULT),
    ("an Age beyond any number", {"age": "9" * 5000}, LEAST),
    ("Age beside a directive that declares nothing", {
        "cache-control": "public", "age": "600"}, DEFAULT - 600),
    ("Age beside s-maxage", {"cache-control": "s-maxage=60", "age": "600"}, DEFAULT - 600),
    # the three forms of a date, RFC 9110 5.6.7
    ("RFC 850", {"expires": "Sunday, 06-Nov-94 09:49:37 GMT", "date": AT_NOW}, 3600),
    ("asctime", {"expires": "Sun Nov  6 09:49:37 1994", "date": AT_NOW}, 3600),
    ("a year without end", {"expires": "Sun, 06 Nov 99999 09:49:37 GMT"}, LEAST),
]  # fmt: skip


@pytest.mark.parametrize(("name", "headers", "seconds"), TABLE, ids=[row[0] for row in TABLE])
def test_lifetime(name: str, headers: dict[str, str], seconds: float) -> None:
    assert lifetime(headers, NOW, LIMITS) == seconds


@pytest.mark.parametrize(
    "headers",
    [
        {"cache-control": "max-age=0"},
        {"cache-control": "max-age"},
        {"cache-control": "max-age=x"},
        {"cache-control": "max-age=x, max-age=3600"},
        {"cache-control": "max-age=60, max-age=3600"},
        {"cache-control": "no-store"},
        {"cache-control": "no-cache"},
        {"cache-control": "max-age=10", "age": "10"},
        {"expires": "0"},
        {"expires": "tomorrow", "date": AT_NOW},
        {"expires": AN_HOUR_AGO, "date": AT_NOW},
        {"expires": AT_NOW, "date": AT_NOW},
    ],
    ids=str,
)
def test_what_is_stale_from_the_start_lasts_for_the_minimum_and_no_longer(
    headers: dict[str, str],
) -> None:
    assert lifetime(headers, NOW, LIMITS._replace(ttl_min=0)) == 0
    assert lifetime(headers, NOW, LIMITS._replace(ttl_min=5)) == 5


def test_the_default_is_not_longer_than_the_maximum() -> None:
    limits = Limits(0, 3_600, DAY, 60, 3_600)
    assert lifetime({}, NOW, limits) == 3_600


def test_a_dialect_may_say_how_long_a_copy_is_good() -> None:
    assert lifetime({}, NOW, LIMITS._replace(expiry=7_200)) == 7_200
    assert lifetime({"cache-control": "max-age=900"}, NOW, LIMITS._replace(expiry=7_200)) == 900


def test_an_answer_from_a_cache_is_not_used_for_longer_than_a_day_after_it_was_made() -> None:
    for age in (0, 1, 3_600, 80_000, DAY - LEAST):
        assert lifetime({"age": f"{age:.0f}"}, NOW, LIMITS) + age == DAY


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("120", 120.0),
        (IN_AN_HOUR, 3600.0),
        (AN_HOUR_AGO, 0.0),
        ("soon", None),
        ("", None),
        ("-5", None),
        (" 120 ", 120.0),
        ("120.5", None),
        ("2147483648", 2.0**31),
        ("2147483649", 2.0**31),
        ("9" * 5000, 2.0**31),
    ],
)
def test_retry_after(value: str, seconds: float | None) -> None:
    assert retry_after({"retry-after": value}, NOW) == seconds


def test_no_retry_after() -> None:
    assert retry_after({}, NOW) is None


def test_the_wait_after_failures_doubles_up_to_the_maximum() -> None:
    waits = [error_lifetime(failures, None, LIMITS, 0.0) for failures in range(1, 10)]
    assert waits == [60, 120, 240, 480, 960, 1920, 3600, 3600, 3600]
    assert error_lifetime(10_000, None, LIMITS, 0.0) == 3600


def test_jitter_takes_off_a_tenth_at_most() -> None:
    assert error_lifetime(1, None, LIMITS, 1.0) == pytest.approx(54)


@pytest.mark.parametrize(("asked", "wait"), [(0, 1), (30, 30), (600, 600), (1e9, 3600)])
def test_what_retry_after_asks_is_bounded(asked: float, wait: float) -> None:
    assert error_lifetime(5, asked, LIMITS, 0.5) == wait


def test_validators() -> None:
    both = {"etag": 'W/"1"', "last-modified": AT_NOW}
    assert validators(both) == {"If-None-Match": 'W/"1"'}
    assert validators({"last-modified": AT_NOW}) == {"If-Modified-Since": AT_NOW}
    assert validators({}) == {}


@pytest.mark.parametrize(
    ("etag", "tag"),
    [
        ('"1"', '"1"'),
        ('W/"1"', 'W/"1"'),
        (' "1" ', '"1"'),
        ('"!#-~\x80\xff"', '"!#-~\x80\xff"'),
        ('""', ""),
        ('W/""', ""),
        ('w/"1"', ""),
        ("1", ""),
        ('"1', ""),
        ('"a b"', ""),
        ('"a"b"', ""),
        ('"1", "2"', ""),
        ('"\x7f"', ""),
        ("", ""),
    ],
)
def test_an_entity_tag_is_used_if_it_is_one(etag: str, tag: str) -> None:
    assert entity_tag({"etag": etag}) == tag
    assert validators({"etag": etag}) == ({"If-None-Match": tag} if tag else {})


def test_a_broken_tag_leaves_the_date_and_a_broken_date_nothing() -> None:
    assert validators({"etag": "1", "last-modified": AT_NOW}) == {"If-Modified-Since": AT_NOW}
    assert validators({"last-modified": "yesterday"}) == {}
    assert entity_tag({}) == ""


A_TAG, ANOTHER = {"etag": '"1"'}, {"etag": '"2"'}
NOW_MODIFIED, THEN_MODIFIED = {"last-modified": AT_NOW}, {"last-modified": AN_HOUR_AGO}


@pytest.mark.parametrize(
    ("received", "stored", "about_it"),
    [
        ({}, {}, True),
        ({}, A_TAG, True),
        ({}, NOW_MODIFIED, True),
        (A_TAG, A_TAG, True),
        (A_TAG, {"etag": 'W/"1"'}, True),
        ({"etag": 'W/"1"'}, A_TAG, True),
        (A_TAG, ANOTHER, False),
        (A_TAG, {}, False),
        ({"etag": '"W/1"'}, A_TAG, False),
        (NOW_MODIFIED, NOW_MODIFIED, True),
        (NOW_MODIFIED, {"last-modified": "Sun Nov  6 08:49:37 1994"}, True),
        (NOW_MODIFIED, THEN_MODIFIED, False),
        (NOW_MODIFIED, {}, False),
        ({"last-modified": "noon"}, THEN_MODIFIED, True),
        # the tag goes before the date
        ({**A_TAG, **NOW_MODIFIED}, {**A_TAG, **THEN_MODIFIED}, True),
        ({**A_TAG, **NOW_MODIFIED}, {**ANOTHER, **NOW_MODIFIED}, False),
        ({"etag": "1", **NOW_MODIFIED}, {**A_TAG, **THEN_MODIFIED}, False),
    ],
)
def test_a_304_is_about_what_is_stored_or_not(
    received: dict[str, str], stored: dict[str, str], about_it: bool
) -> None:
    assert confirms(received, stored) is about_it


def test_what_can_still_answer_was_made_within_these_times() -> None:
    assert span_of_use(NOW, LIMITS) == (NOW - 31 * DAY, NOW + CLOCK_SKEW)
    # It answers while it is refreshed, even if a failing site is to be given up at once.
    at_once = LIMITS._replace(stale_max=0)
    assert span_of_use(NOW, at_once) == (NOW - DAY - REFRESH_GRACE, NOW + CLOCK_SKEW)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        (AT_NOW, NOW),
        ("Sunday, 06-Nov-94 08:49:37 GMT", NOW),
        ("Sun Nov  6 08:49:37 1994", NOW),
        ("Sun, 06 Nov 1994 09:49:37 +0100", NOW),
        ("Sun, 06 Nov 1994 08:49:37 -0000", NOW),
        ("", None),
        ("0", None),
        ("::", None),
        ("Sun, 06 Nov 1994 08:49 GMT", None),
        (f"{AT_NOW}, {IN_AN_HOUR}", None),
        ("Sun, 31 Feb 1994 08:49:37 GMT", None),
        ("Sun, 06 Nov 1994 08:49:37 +9999999999999999999", None),
    ],
)
def test_dates(text: str, seconds: float | None) -> None:
    assert http_date(text) == seconds


@pytest.fixture
def far_from_greenwich(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as patched:
        patched.setenv("TZ", "XYZ-5")
        time.tzset()
        yield
    time.tzset()


@pytest.mark.skipif(not hasattr(time, "tzset"), reason="the time zone cannot be changed")
@pytest.mark.parametrize("text", ["Sun Nov  6 08:49:37 1994", "Sun, 06 Nov 1994 08:49:37 -0000"])
def test_a_date_without_a_zone_is_utc_wherever_the_crawl_runs(
    text: str, far_from_greenwich: None
) -> None:
    assert time.localtime(NOW).tm_hour == 13
    assert http_date(text) == NOW


def test_the_bounds_are_what_the_documentation_says() -> None:
    assert (CLOCK_SKEW, REFRESH_GRACE) == (60, 3_600)


def test_a_time_in_the_future_is_infinitely_long_ago() -> None:
    assert elapsed(NOW, NOW + 5) == 5
    assert elapsed(NOW, NOW + 0.5) == 0.5
    assert elapsed(NOW + CLOCK_SKEW / 2, NOW) == 0
    assert elapsed(NOW + CLOCK_SKEW, NOW) == 0
    assert elapsed(NOW + CLOCK_SKEW * 2, NOW) == float("inf")


@pytest.mark.parametrize(
    ("headers", "source"),
    [
        ({}, None),
        ({"etag": '"1"'}, None),
        ({"cache-control": "public"}, None),
        ({"expires": "0"}, "Expires: 0"),
        ({"expires": "0", "cache-control": "public"}, "Expires: 0"),
        ({"expires": "0", "cache-control": "Max-Age=5"}, "Cache-Control: Max-Age=5"),
        ({"cache-control": "no-store"}, "Cache-Control: no-store"),
        ({"cache-control": "public, no-cache"}, "Cache-Control: public, no-cache"),
    ],
)
def test_the_header_that_declares_the_lifetime(headers: dict[str, str], source: str | None) -> None:
    assert source_of_lifetime(headers) == source


@pytest.mark.parametrize(
    ("vary", "varies"),
    [("", False), ("Accept-Encoding", False), ("accept , user-AGENT", True), ("*", True)],
)
def test_an_answer_may_vary_by_who_asks(vary: str, varies: bool) -> None:
    assert varies_by_agent({"vary": vary} if vary else {}) is varies
