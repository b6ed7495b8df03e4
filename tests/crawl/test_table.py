"""The table that a crawl ends with."""

from __future__ import annotations

import logging
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest
import pytest_twisted
from scrapy import Request

from scrapy_robots_plus import RobotsMiddleware
from scrapy_robots_plus.crawl.gate.tally import Row, Tally
from scrapy_robots_plus.crawl.reporting.table import headline, table
from scrapy_robots_plus.policy.access import Access
from scrapy_robots_plus.policy.delay import Delay
from scrapy_robots_plus.policy.origin import Origin
from tests.crawling import crawl, parts_of_seconds
from tests.sites import Sites, answer, hang_up

if TYPE_CHECKING:
    from scrapy_robots_plus.crawl.policies.policy import Policy

LOGGER = "scrapy_robots_plus.crawl.reporting.extension"


def tally(**rows: Row) -> Tally:
    made = Tally(100)
    for name, row in rows.items():
        origin, request = Origin("http", f"{name}.example", 80), Request(f"http://{name}.example/")
        for _ in range(row.allowed):
            made.allow(request, origin, row.policy)
        for _ in range(row.denied):
            made.deny(request, origin, row.policy)
        if not (row.allowed or row.denied):
            made.allow(request, origin, row.policy)
            made.revoke(request, origin)
    return made


def policy(
    in_words: str,
    delay: float | None = None,
    asked: Delay | None = None,
    access: Access = Access.RULES,
) -> Policy:
    values = {"in_words": in_words, "delay": delay, "asked_delay": asked, "access": access}
    return cast("Policy", SimpleNamespace(**values))


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ({"a": Row(1, 3)}, "1 origin, 1 request allowed, 3 denied"),
        ({"a": Row(0, 1)}, "1 origin, 0 requests allowed, 1 denied"),
        ({"a": Row(1200, 0), "b": Row(34, 5)}, "2 origins, 1,234 requests allowed, 5 denied"),
    ],
)
def test_one_is_not_many(rows: dict[str, Row], expected: str) -> None:
    assert headline(tally(**rows)) == expected


def test_each_column_is_as_wide_as_its_widest_cell() -> None:
    rows = {
        "a": Row(0, 2, policy("timeout, all denied", access=Access.UNREACHABLE)),
        "long-name": Row(2, 1, policy("200, rules, now connection")),
        "slow": Row(3, 0, policy("200, rules", 0.5)),
        "closing": Row(0, 0),
    }
    assert table(tally(**rows)).splitlines() == [
        "origin                    robots.txt                     delay   allowed    denied",
        "http://a.example          timeout, all denied                -         0         2",
        "http://long-name.example  200, rules, now connection         -         2         1",
        "http://slow.example       200, rules                     0.5 s         3         0",
        "http://closing.example    not read                           -         0         0",
    ]


def test_a_column_is_as_wide_as_its_heading_at_least() -> None:
    assert table(tally(a=Row(1, 0, policy("200, rules")))).splitlines() == [
        "origin            robots.txt     delay   allowed    denied",
        "http://a.example  200, rules         -         1         0",
    ]


def test_what_is_left_out_is_summed_up() -> None:
    busy, rules = policy("503, all denied", access=Access.UNREACHABLE), policy("200, rules")
    rows = {f"host{number}": Row(0, 9, busy) for number in range(3)}
    rows |= {f"other{number}": Row(1, 0, rules) for number in range(2)}
    *_, last = table(tally(**rows), limit=1).splitlines()
    assert last == "and 4 more: 2 x 503, all denied; 2 x 200, rules"


@pytest.mark.parametrize(
    ("kept", "asked", "shown"),
    [
        (None, None, "-"),
        (2.0, Delay(2.0, 2.0), "2 s"),
        (60.0, Delay(100.0, 60.0), "60 s (asked 100 s)"),
        (None, Delay(100.0, 60.0, skip=True), "100 s, too long"),
    ],
    ids=["none", "kept", "clamped", "skipped"],
)
def test_the_delay_that_was_asked_for_is_shown(
    kept: float | None, asked: Delay | None, shown: str
) -> None:
    _, line = table(tally(a=Row(1, 1, policy("200, rules", kept, asked)))).splitlines()
    assert f"  {shown}  " in line


@parts_of_seconds
@pytest_twisted.ensureDeferred
async def test_what_a_crawl_found_is_told_in_words_that_cannot_be_mistaken(
    sites: Sites, caplog: pytest.LogCaptureFixture
) -> None:
    answers = {
        "200, rules": answer("User-agent: *\nDisallow: /private/\n"),
        "404, all allowed": answer("", 404),
        "503, all denied": answer("", 503),
        "connection, all denied": hang_up,
        "100 s, too long": answer("User-agent: *\nDisallow: /private/\nCrawl-delay: 100\n"),
    }
    hosts = {words: sites.host(reply) for words, reply in answers.items()}
    with caplog.at_level(logging.INFO, LOGGER):
        await crawl(
            *(host.url() for host in hosts.values()),
            ROBOTS_FETCH_RETRIES=0,
            ROBOTS_CRAWL_DELAY_TOO_LONG="skip",
        )
    (text,) = [record.getMessage() for record in caplog.records if record.name == LOGGER]
    assert text.startswith("robots.txt (probe): 5 origins, 2 requests allowed, 3 denied\n")
    for words, host in hosts.items():
        (line,) = [line for line in text.splitlines() if line.startswith(f"{host.origin} ")]
        assert f"  {words}  " in line


@pytest_twisted.ensureDeferred
async def test_a_policy_shows_what_it_is(sites: Sites) -> None:
    host = sites.host(answer("", 404))
    crawler = await crawl(host.url())
    (found,) = crawler.get_downloader_middleware(RobotsMiddleware).policies
    assert repr(found) == f"<Policy {host.origin}: 404, all allowed>"
