"""Asking whether a robots.txt has changed: only an answer to that renews what is known."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest
import pytest_twisted

from scrapy_robots_plus.crawl.clock import Clock
from scrapy_robots_plus.crawl.crawl import Crawl
from tests.crawling import crawl, make_crawler, run, stat
from tests.sites import Hit, Reply, answer, hang_up, in_turn, redirect

if TYPE_CHECKING:
    import asyncio
    from pathlib import Path
    from typing import Any

    from tests.sites import Host, Sites

RULES = "User-agent: *\nDisallow: /closed\n"
TIGHTER = "User-agent: *\nDisallow: /\n"
DATE = "Wed, 21 Oct 2015 07:28:00 GMT"
LATER = "Thu, 22 Oct 2015 07:28:00 GMT"


async def two_crawls(host: Host, tmp_path: Path, *more: Host, **settings: Any) -> Any:
    """The second one a week later: what the first has stored must be asked about."""
    store = {"ROBOTS_STORE": f"sqlite:{tmp_path / 'robots.sqlite'}", **settings}
    hosts = (host, *more)
    await crawl(*(each.url("/open") for each in hosts), **store)
    crawler = make_crawler(**store)
    shared = Crawl.of(crawler, Clock(wall=lambda: time.time() + 7 * 86_400))
    await run(crawler, urls=[each.url(path) for each in hosts for path in ("/open", "/closed")])
    assert Crawl.of(crawler) is shared
    return crawler


def conditional(then: Reply, otherwise: Reply) -> Reply:
    """*then* to a conditional request."""

    async def reply(hit: Hit, writer: asyncio.StreamWriter) -> None:
        asked = {"if-none-match", "if-modified-since"} & set(hit.headers)
        await (then if asked else otherwise)(hit, writer)

    return reply


def asked_with(host: Host) -> list[tuple[str | None, str | None]]:
    return [
        (hit.headers.get("if-none-match"), hit.headers.get("if-modified-since"))
        for hit in host.hits
        if hit.path == "/robots.txt"
    ]


@pytest.mark.parametrize(
    "status",
    [
        *(400, 404, 412, 500),
        *(pytest.param(status, marks=pytest.mark.stress) for status in (403, 409, 416, 428, 501)),
        503,
    ],
)
@pytest_twisted.ensureDeferred
async def test_an_error_to_a_condition_says_nothing_of_the_file(
    sites: Sites, tmp_path: Path, status: int
) -> None:
    known = answer(RULES, etag='"1"')
    host = sites.host(in_turn(known, answer("", status), answer(TIGHTER)))
    await two_crawls(host, tmp_path)
    assert host.fetched == ["/open"]  # of the first crawl
    assert asked_with(host)[1:] == [('"1"', None), (None, None)]


@pytest.mark.parametrize(
    "impatient", [answer("", 429), answer("", 503, retry_after="60")], ids=["429", "Retry-After"]
)
@pytest_twisted.ensureDeferred
async def test_who_asks_for_patience_is_not_asked_again(
    sites: Sites, tmp_path: Path, impatient: Reply
) -> None:
    host = sites.host(in_turn(answer(RULES, etag='"1"'), impatient, answer(TIGHTER)))
    await two_crawls(host, tmp_path)
    assert host.robots_hits == 2
    assert host.fetched == ["/open", "/open"]  # the last good copy holds


@pytest.mark.parametrize("status", [400, 403, 412])
@pytest_twisted.ensureDeferred
async def test_a_refused_condition_opens_no_site_whatever_else_it_asks_for(
    sites: Sites, tmp_path: Path, status: int
) -> None:
    refused = answer("", status, retry_after="60")
    host = sites.host(in_turn(answer(RULES, etag='"1"'), refused, answer(TIGHTER)))
    await two_crawls(host, tmp_path)
    assert host.robots_hits == 3
    assert host.fetched == ["/open"]  # of the first crawl


@pytest_twisted.ensureDeferred
async def test_an_error_that_is_the_files_own_counts(sites: Sites, tmp_path: Path) -> None:
    host = sites.host(in_turn(answer(RULES, etag='"1"'), answer("", 404)))
    await two_crawls(host, tmp_path)
    assert sorted(host.fetched) == ["/closed", "/open", "/open"]
    assert host.robots_hits == 3


NO_TAG = [
    "",
    " ",
    '""',
    'W/""',
    "abc",
    '"abc',
    "W/abc",
    'w/"abc"',
    '"a b"',
    '"a", "b"',
    '"a"b"',
    "*",
]


# All of them are read in tests/protocol/test_http_caching.py.
@pytest.mark.parametrize(
    "tag",
    [
        pytest.param(tag, marks=[pytest.mark.stress] * (place % 4 > 0))
        for place, tag in enumerate(NO_TAG)
    ],
)
@pytest_twisted.ensureDeferred
async def test_an_empty_or_broken_etag_is_none(sites: Sites, tmp_path: Path, tag: str) -> None:
    host = sites.host(in_turn(answer(RULES, etag=tag), answer(TIGHTER, etag=tag)))
    await two_crawls(host, tmp_path)
    assert asked_with(host) == [(None, None), (None, None)]
    assert host.fetched == ["/open"]


@pytest.mark.parametrize("modified", ["", "never", "0", "yesterday 10:00:00"])
@pytest_twisted.ensureDeferred
async def test_a_last_modified_that_is_no_date_is_none(
    sites: Sites, tmp_path: Path, modified: str
) -> None:
    host = sites.host(answer(RULES, last_modified=modified))
    await two_crawls(host, tmp_path)
    assert asked_with(host) == [(None, None), (None, None)]


RENEWING: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "the same tag": ({"etag": '"1"'}, {"etag": '"1"'}),
    "no tag": ({"etag": '"1"'}, {}),
    "made weak on the way": ({"etag": '"1"'}, {"etag": 'W/"1"'}),
    "a weak one": ({"etag": 'W/"1"'}, {"etag": 'W/"1"'}),
    "not in ASCII": ({"etag": '"\xe9"'}, {"etag": '"\xe9"'}),
    "a tag and its date": (
        {"etag": '"1"', "last_modified": DATE}, {"etag": '"1"', "last_modified": LATER},
    ),
    "the same date": ({"last_modified": DATE}, {"last_modified": DATE}),
    "a broken tag beside a date": (
        {"etag": "1", "last_modified": DATE}, {"etag": "1", "last_modified": DATE},
    ),
}  # fmt: skip
NOT_RENEWING: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "another tag": ({"etag": '"1"'}, {"etag": '"2"'}),
    "another weak tag": ({"etag": 'W/"1"'}, {"etag": 'W/"2"'}),
    "another date": ({"last_modified": DATE}, {"last_modified": LATER}),
    "a later date in place of a tag": (
        {"etag": '"1"', "last_modified": DATE}, {"last_modified": LATER},
    ),
    "a tag where there was none": ({"last_modified": DATE}, {"etag": '"2"'}),
}  # fmt: skip


def latin_1(reply: Reply) -> Reply:
    """Headers are written in UTF-8 by the sites of these tests, and read as latin-1."""

    class Recoding:
        def __init__(self, writer: asyncio.StreamWriter) -> None:
            self.writer = writer

        def write(self, data: bytes) -> None:
            self.writer.write(data.decode().encode("latin-1"))

    async def recoded(hit: Hit, writer: Any) -> None:
        recoding: Any = Recoding(writer)
        await reply(hit, recoding)

    return recoded


@pytest_twisted.ensureDeferred
async def test_a_304_renews_the_answer_that_it_is_about(sites: Sites, tmp_path: Path) -> None:
    hosts = {}
    for case, (stored, received) in RENEWING.items():
        both = in_turn(answer(RULES, **stored), hang_up)
        hosts[case] = sites.host(latin_1(conditional(answer("", 304, **received), both)))
    first, *more = hosts.values()
    crawler = await two_crawls(first, tmp_path, *more)
    assert asked_and_got(hosts) == dict.fromkeys(RENEWING, (2, ["/open", "/open"]))
    assert stat(crawler, "robotstxt/failure_count/connection") == 0


@pytest_twisted.ensureDeferred
async def test_a_304_about_another_answer_renews_nothing(sites: Sites, tmp_path: Path) -> None:
    hosts = {}
    for case, (stored, received) in NOT_RENEWING.items():
        both = in_turn(answer(RULES, **stored), answer(TIGHTER))
        hosts[case] = sites.host(conditional(answer("", 304, **received), both))
    first, *more = hosts.values()
    await two_crawls(first, tmp_path, *more)
    assert asked_and_got(hosts) == dict.fromkeys(NOT_RENEWING, (3, ["/open"]))


def asked_and_got(hosts: dict[str, Host]) -> dict[str, tuple[int, list[str]]]:
    """How often each was asked for its robots.txt, and its pages that were fetched."""
    return {case: (host.robots_hits, host.fetched) for case, host in hosts.items()}


@pytest_twisted.ensureDeferred
async def test_a_304_to_all_requests_is_a_failure(sites: Sites, tmp_path: Path) -> None:
    nothing_new = answer("", 304, etag='"2"')
    host = sites.host(in_turn(answer(RULES, etag='"1"'), nothing_new))
    crawler = await two_crawls(host, tmp_path)
    assert host.fetched == ["/open", "/open"]  # the last good copy, as through any outage
    assert len(crawler.spider.failures) == 1


@pytest_twisted.ensureDeferred
async def test_a_304_at_the_end_of_redirects_renews(sites: Sites, tmp_path: Path) -> None:
    target = sites.host(conditional(answer("", 304), answer(RULES, etag='"1"')))
    host = sites.host(redirect(target.url("/robots.txt")))
    await two_crawls(host, tmp_path)
    assert host.fetched == ["/open", "/open"]
    assert asked_with(host) == [(None, None)] * 2
    assert asked_with(target) == [(None, None), ('"1"', None)]


@pytest_twisted.ensureDeferred
async def test_a_tag_is_not_shown_to_another_url(sites: Sites, tmp_path: Path) -> None:
    other = sites.host(conditional(answer("", 304), answer(TIGHTER)))
    host = sites.host(in_turn(answer(RULES, etag='"1"'), redirect(other.url("/robots.txt"))))
    await two_crawls(host, tmp_path)
    assert host.fetched == ["/open"]
    assert asked_with(other) == [(None, None)]


@pytest_twisted.ensureDeferred
async def test_what_is_known_without_rules_is_asked_for_without_conditions(
    sites: Sites, tmp_path: Path
) -> None:
    """A 304 could not say whether there is a file now."""
    gone = answer("", 404, etag='"1"')
    host = sites.host(conditional(answer("", 304), in_turn(gone, answer(TIGHTER))))
    await two_crawls(host, tmp_path)
    assert host.fetched == ["/open"]
    assert asked_with(host) == [(None, None), (None, None)]


@pytest_twisted.ensureDeferred
async def test_a_304_to_no_condition_is_a_failure(sites: Sites, tmp_path: Path) -> None:
    """The first answer was found behind a redirect: its tag is not shown to the first URL."""
    host = sites.host(in_turn(redirect("/r.txt"), answer(status=304)))
    host.pages["/r.txt"] = answer(RULES, etag='"1"')
    crawler = await two_crawls(host, tmp_path, ROBOTS_STALE_MAX=0)
    assert asked_with(host) == [(None, None)] * host.robots_hits
    assert host.fetched == ["/r.txt", "/open"]  # of the first crawl
    assert stat(crawler, "robotstxt/forbidden/unreachable") == 2


@pytest_twisted.ensureDeferred
async def test_a_304_that_claims_to_be_compressed_renews_too(sites: Sites, tmp_path: Path) -> None:
    unchanged = answer(status=304, content_encoding="gzip")
    host = sites.host(in_turn(answer(RULES, etag='"1"'), unchanged))
    crawler = await two_crawls(host, tmp_path)
    assert host.fetched == ["/open", "/open"]
    assert host.robots_hits == 2
    assert stat(crawler, "robotstxt/failure_count/undecodable") == 0
