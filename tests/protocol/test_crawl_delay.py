"""Crawl-delay, Request-rate, Visit-time; Sitemap, Host, Clean-param."""

from __future__ import annotations

from datetime import time

import pytest

from scrapy_robots_plus.protocol import CleanParam, RequestRate, RobotsTxt, VisitTime
from scrapy_robots_plus.protocol.crawl_delay import visit_time


def parse(*lines: str) -> RobotsTxt:
    return RobotsTxt.parse("\n".join(["User-agent: *", *lines]))


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("10", 10.0),
        ("0", 0.0),
        ("0.5", 0.5),
        (".3", 0.3),
        ("5.", 5.0),
        ("10 # often", 10.0),
        ("1000000000", 1e9),
        ("-5", None),
        ("-0.5", None),
        ("inf", None),
        ("-inf", None),
        ("nan", None),
        ("1e3", None),
        ("1_000", None),
        ("10s", None),
        ("ten", None),
        ("9" * 310, None),
        ("", None),
        ("٣", None),
    ],
)
def test_crawl_delay(value: str, seconds: float | None) -> None:
    assert parse(f"Crawl-delay: {value}").crawl_delay("bot") == seconds


def test_an_endless_number_is_no_delay() -> None:
    assert parse("Crawl-delay: " + "9" * 400).crawl_delay("bot") is None


class TestWhoseDelayItIs:
    def test_a_group_of_its_own_does_not_inherit_that_of_star(self) -> None:
        file = parse("Crawl-delay: 5", "Disallow: /", "User-agent: bot", "Disallow: /x")
        assert file.crawl_delay("bot") is None
        assert file.crawl_delay("other") == 5

    def test_all_agents_of_a_group_share_it(self) -> None:
        file = RobotsTxt.parse("User-agent: a\nUser-agent: b\nDisallow: /\nCrawl-delay: 5")
        assert (file.crawl_delay("a"), file.crawl_delay("b")) == (5, 5)

    def test_delays_between_agents_are_for_those_above(self) -> None:
        file = RobotsTxt.parse(
            "User-agent: a\nCrawl-delay: 1\nUser-agent: b\nUser-agent: c\nCrawl-delay: 2\n"
            "User-agent: d\nDisallow: /x"
        )
        assert [file.crawl_delay(agent) for agent in "abcd"] == [1, 2, 2, None]
        assert not any(file.allowed("/x", agent) for agent in "abcd")

    def test_a_delay_for_others_of_a_group_is_not_that_of_star(self) -> None:
        file = RobotsTxt.parse("User-agent: a\nCrawl-delay: 1\nUser-agent: *\nDisallow: /x")
        assert file.crawl_delay("b") is None
        assert not file.allowed("/x", "b")

    def test_of_several_the_longest_counts(self) -> None:
        assert parse("Crawl-delay: 1", "Crawl-delay: 7", "Crawl-delay: 3").crawl_delay("bot") == 7

    def test_before_any_group_it_is_nobodys(self) -> None:
        assert RobotsTxt.parse("Crawl-delay: 5\nUser-agent: *\nDisallow:").crawl_delay("x") is None

    def test_names_in_order_of_preference(self) -> None:
        file = parse("Crawl-delay: 1", "Disallow: /", "User-agent: bot", "Crawl-delay: 2")
        assert file.crawl_delay(["bot-news", "bot"]) == 2
        assert file.crawl_delay("Mozilla/5.0 (compatible; Bot/1.0)") == 2


@pytest.mark.parametrize(
    ("value", "rate"),
    [
        ("1/10", RequestRate(1, 10)),
        ("1/10s", RequestRate(1, 10)),
        ("100/15m", RequestRate(100, 900)),
        ("400/1h", RequestRate(400, 3600)),
        ("9000/1D", RequestRate(9000, 86_400)),
        ("1 / 10 s", RequestRate(1, 10)),
        ("1/10s 1820-1940", RequestRate(1, 10, VisitTime(time(18, 20), time(19, 40)))),
        ("1/5 9-17", None),
        ("1/5 0600-0700 x", None),
        ("0/5", None),
        ("1/0", None),
        ("-1/5", None),
        ("1/-5", None),
        ("one/two", None),
        ("5", None),
        ("", None),
    ],
)
def test_request_rate(value: str, rate: RequestRate | None) -> None:
    assert parse(f"Request-rate: {value}").request_rate("bot") == rate


def test_of_several_rates_the_slowest_of_all_day_counts() -> None:
    file = parse("Request-rate: 1/60 0000-0600", "Request-rate: 1/5", "Request-rate: 1/10")
    assert file.request_rate("bot") == RequestRate(1, 10)
    assert file.request_rate("bot").delay == 10.0


@pytest.mark.parametrize(
    ("value", "window"),
    [
        ("0600-0845", VisitTime(time(6), time(8, 45))),
        ("0200 0630", VisitTime(time(2), time(6, 30))),
        ("06:00-08:45 UTC", VisitTime(time(6), time(8, 45))),
        ("0600-0845 gmt", VisitTime(time(6), time(8, 45))),
        ("0600-0845z", VisitTime(time(6), time(8, 45))),
        ("0600 - 0845utc", VisitTime(time(6), time(8, 45))),
        ("0600  0845", VisitTime(time(6), time(8, 45))),
        ("1800-2400", VisitTime(time(18), time(23, 59))),
        ("00:00-24:00", VisitTime(time(0), time(23, 59))),
        ("2400-0600", None),
        ("1800-2401", None),
        ("06000845", None),
        ("0600-0845 CET", None),
        ("0600-0860", None),
        ("2500-2600", None),
        ("9-17", None),
        ("0400-", None),
        ("0400-0845-1000", None),
        ("abcd-efgh", None),
    ],
)
def test_visit_time(value: str, window: VisitTime | None) -> None:
    assert parse(f"Visit-time: {value}").visit_time("bot") == window


def test_colons_may_be_missing() -> None:
    file = parse("visit-time 0200-0630", "request-rate 1/10s", "crawl-delay 3")
    assert file.visit_time("bot") == VisitTime(time(2), time(6, 30))
    assert file.request_rate("bot").requests == 1
    assert file.crawl_delay("bot") == 3


@pytest.mark.parametrize(
    ("hour", "inside"),
    [(23, True), (6, True), (12, False), (22, True), (21, False)],
)
def test_a_window_may_go_over_midnight(hour: int, inside: bool) -> None:
    assert VisitTime(time(22), time(6)).includes(hour * 3600) is inside


def test_lines_for_the_whole_site() -> None:
    file = RobotsTxt.parse(
        "Host: one.example\nUser-agent: x\nSitemap: /s.xml\nHost: two.example\nsite-map: /t.xml\n"
        "Clean-param: ref&sort /shop/\nClean-param: sid\nSitemap:\n"
    )
    assert file.host == "one.example"
    assert file.sitemaps == ("/s.xml", "/t.xml")
    assert file.clean_params == (CleanParam(("ref", "sort"), "/shop/"), CleanParam(("sid",)))
    assert RobotsTxt.parse("").host is None


def test_lines_are_given_with_key_and_value() -> None:
    file = RobotsTxt.parse("User-agent: x\n\nFoo : bar # baz\nwords\n")
    assert [(line.number, line.key, line.value) for line in file.lines] == [
        (1, b"User-agent", b"x"),
        (3, b"Foo", b"bar"),
    ]


@pytest.mark.parametrize(
    ("window", "at", "seconds"),
    [
        (b"0600-0845", 5 * 3600, 3600),
        (b"0600-0845", 6 * 3600, 0),
        (b"0600-0845", 8 * 3600, 0),
        (b"0600-0845", 9 * 3600, 21 * 3600),
        (b"0630-0845", 6 * 3600, 1800),
        (b"0600-0845", 8 * 3600 + 45 * 60 + 59, 0),
        (b"0600-0845", 8 * 3600 + 46 * 60, 76_440),
        (b"2200-0200", 1 * 3600, 0),
        (b"2200-0200", 3 * 3600, 19 * 3600),
        (b"2200-0200", 23 * 3600, 0),
        (b"0600-0845", 86_400 * 365 + 5 * 3600 + 0.5, 3599.5),
    ],
)
def test_how_long_until_a_window_begins(window: bytes, at: float, seconds: float) -> None:
    found = visit_time(window)
    assert found is not None
    assert found.begins_in(at) == seconds


def test_a_visit_time_in_words() -> None:
    assert str(VisitTime(time(6, 0), time(8, 45))) == "06:00-08:45 UTC"
