"""Which directives are read from a response: of any kind, charset and size."""

from __future__ import annotations

import logging
from functools import lru_cache
from typing import Any
from unittest.mock import Mock

import pytest
import pytest_twisted
from scrapy.http import HtmlResponse, Response, TextResponse, XmlResponse

from scrapy_robots_plus.pages import x_robots_tag_and_meta_tags
from scrapy_robots_plus.pages.x_robots_tag_and_meta_tags import (
    MOST_OCTETS,
    directives_of,
    said_in_headers,
)
from scrapy_robots_plus.protocol.directives import header_statements
from tests.crawl.paging import TakingSpider, page, says
from tests.crawling import crawl, stat
from tests.protocol.worst_cases import loop, seconds
from tests.sites import Sites, answer, gzipped

NOINDEX = says("noindex")
HEAD = f"<html><head><title>\u00e4\u65e5\u672c</title>{NOINDEX}"


def read(body: str | bytes, kind: str = "text/html", of: type[Response] = HtmlResponse) -> set[str]:
    raw = body.encode() if isinstance(body, str) else body
    headers = {"Content-Type": kind} if kind else {}
    return set(
        directives_of(of("http://a.example/", body=raw, headers=headers), "Foobot").directives
    )


@pytest.mark.parametrize(
    ("encoding", "kind"),
    [
        ("utf-8", "text/html"),
        ("utf-8-sig", ""),
        ("utf-8", "text/html; charset=latin-1"),
        ("euc-jp", "text/html; charset=euc-jp"),
        ("shift_jis", "text/html"),
        ("gb18030", "text/html; charset=utf-8"),
        ("utf-16", "text/html"),
        ("utf-32", ""),
        ("iso-2022-jp", "text/html; charset=iso-2022-jp"),
    ],
)
def test_a_page_in_any_charset(encoding: str, kind: str) -> None:
    assert read(HEAD.replace("\u00e4", "").encode(encoding), kind) == {"noindex"}


def test_of_headers_without_end_the_first_256_kib_are_read() -> None:
    lines = ["noindex", *(f"noarchive {number}" for number in range(30_000)), "nofollow"]
    response = Response("http://a.example/", headers={"X-Robots-Tag": lines})
    assert sum(map(len, lines)) > MOST_OCTETS
    assert set(directives_of(response, "Foobot").directives) == {"noindex", "noarchive"}


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("Content-Usage", "train-ai=n"),
        ("Content-Signal", "ai-train=no"),
        ("TDM-Reservation", "1"),
        ("TDM-Policy", "https://a.example/"),
    ],
)
def test_so_it_is_with_each_of_the_others(name: str, line: str) -> None:
    """``;b`` in a Content-Usage took 180 times its length."""
    for lines in ([line], [line, "a" + ";b" * MOST_OCTETS]):
        response = Response("http://a.example/", headers={name: lines})
        (said,) = said_in_headers(response, "Foobot")
        assert said.text == f"{name.lower() if 'TDM' in name else name}: {line}"


@pytest.mark.parametrize("charset", ["punycode", "idna", "hex", "unicode_escape", "utf-7", "no"])
def test_charsets_that_no_page_has_are_not_decoded(charset: str) -> None:
    """Some of them would take the time of their length squared."""
    body = f"\0{NOINDEX}<title>".encode() + b"ab" * 100_000
    assert seconds(lambda: read(body, f"text/html; charset={charset}"), 1) < 60 * loop()
    assert read(body, f"text/html; charset={charset}") == {"noindex"}


@pytest.mark.parametrize("of", [Response, TextResponse, XmlResponse])
def test_a_response_that_is_no_html_has_headers_alone(of: type[Response]) -> None:
    assert read(HEAD, of=of) == set()
    headers = {"X-Robots-Tag": ["noarchive", "foobot: noindex", "other: none"]}
    said = directives_of(of("http://a.example/", body=HEAD.encode(), headers=headers), "Foobot")
    assert set(said.directives) == {"noarchive", "noindex"}


def test_xhtml_is_read_too() -> None:
    body = f"<html><head><script/>{NOINDEX}"
    assert read(body, "application/xhtml+xml; charset=utf-8") == {"noindex"}


def test_a_page_is_read_up_to_a_limit() -> None:
    room = MOST_OCTETS - len(NOINDEX)
    assert read(" " * room + NOINDEX) == {"noindex"}
    assert read(" " * (room + 1) + NOINDEX) == set()
    assert read(" " * (MOST_OCTETS * 2) + "\0" + NOINDEX) == set()


@pytest.mark.parametrize(
    "piece",
    [
        b"<meta>",
        b"<meta ",
        NOINDEX.encode(),
        b"<meta name=robots content='" + b"noindex," * 20_000 + b"'>",
        b"\0<meta name=robots content=noindex>",
        b"\x1b$B",
        b"<",
        b"\xff",
        b"<meta name=robots content='" + b"noarchive:," * 9_000,
    ],
    ids=lambda piece: repr(piece[:30]),
)
def test_ten_megabytes_cost_no_more_than_the_limit(piece: bytes) -> None:
    body = piece * (10_000_000 // len(piece))
    assert seconds(lambda: read(body), 1) < 60 * loop()


def test_statements_are_kept_once() -> None:
    body = NOINDEX * 5000
    said = directives_of(HtmlResponse("http://a.example/", body=body.encode()), "Foobot")
    assert len(said.statements) == 1


@pytest_twisted.ensureDeferred
async def test_a_bug_of_ours_never_reaches_the_spider(
    sites: Sites, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: Any) -> None:
        raise ZeroDivisionError("ours")

    monkeypatch.setattr(x_robots_tag_and_meta_tags, "directives_of", fail)
    host = sites.host()
    host.pages["/a"] = page(says("none"))
    with caplog.at_level(logging.ERROR):
        crawler = await crawl(
            host.url("/a"), spider=TakingSpider, ROBOTS_NOFOLLOW="obey", ROBOTS_NOINDEX="obey"
        )
    assert (crawler.spider.items, crawler.spider.links) == (["a"], ["a"])
    assert stat(crawler, "robotstxt/page_errors") == 2  # the page, and the one that it links to
    assert f"The directives of <200 {host.url('/a')}> could not be read" in caplog.text
    assert "ZeroDivisionError: ours" in caplog.text


@pytest_twisted.ensureDeferred
async def test_a_huge_hostile_page_is_crawled(sites: Sites) -> None:
    host = sites.host()
    metas = b"<meta name=robots content='max-snippet:9'>" * 250_000
    host.pages["/a"] = answer(b"<html><head>" + metas, content_type="text/html")
    host.pages["/b"] = gzipped(b"<html><head>" + metas + says("none").encode())
    crawler = await crawl(
        host.url("/a"), host.url("/b"), spider=TakingSpider, ROBOTS_NOINDEX="obey"
    )
    assert sorted(crawler.spider.items) == ["a", "b"]  # the tag of b is beyond the limit


def test_a_header_is_read_once_for_what_a_page_says_and_what_it_may_be_used_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    read = Mock(wraps=header_statements)
    monkeypatch.setattr(x_robots_tag_and_meta_tags, "_read", lru_cache(read))
    headers = {"X-Robots-Tag": "noai, once"}
    for _ in range(2):
        sent = Response("http://a.example/", headers=headers)
        assert [each.category for each in said_in_headers(sent, "Foobot")] == ["train-ai"]
        assert set(directives_of(sent, "Foobot").directives) == {"noai"}
    read.assert_called_once_with((b"noai, once",))
