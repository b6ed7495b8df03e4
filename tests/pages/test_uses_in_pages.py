"""What the head of a page and its headers say of its use: noai, tdm-reservation, licences."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import pytest_twisted
from scrapy.http import HtmlResponse, Response, TextResponse

from scrapy_robots_plus.pages.headers_and_meta_tags import (
    MOST_OCTETS,
    directives_of,
    licenses_in_headers,
    said_in_headers,
    said_in_metas,
)
from scrapy_robots_plus.protocol.preferences import combine
from tests.crawling import crawl, names_rules
from tests.pages.stamping import StampSpider
from tests.sites import answer

if TYPE_CHECKING:
    from tests.sites import Sites

URL = "https://site.example/page"
RSL = 'rel="license" type="application/rsl+xml"'


def in_page(head: str, kind: str = "text/html", charset: str = "utf-8") -> HtmlResponse:
    text = f"<!doctype html><html><head>{head}</head><body></body></html>"
    return HtmlResponse(URL, body=text.encode(charset), headers={"Content-Type": kind})


HEADS: dict[str, str] = {
    # What the reports show.
    '<meta name="tdm-reservation" content="1">': "disallow",
    '<meta name="tdm-reservation" content="0">': "allow",
    '<meta name="tdm-reservation" content="1"><meta name="tdm-policy" content="/p">': "disallow",
    '<meta name="robots" content="noai">': "disallow",
    '<meta name="robots" content="noai, noimageai">': "disallow",
    '<meta name="robots" content="noimageai">': "disallow",
    # As people write it.
    "<META NAME=TDM-Reservation CONTENT=1>": "disallow",
    "<meta content='1' name='tdm-reservation'/>": "disallow",
    '<meta name=" tdm-reservation " content=" 1 ">': "disallow",
    '<meta name="tdm-reservation" content="&#49;">': "disallow",
    '<meta property="og:a" content="1"><meta name="ROBOTS" content="NoAI">': "disallow",
    '<meta name="foobot" content="noai">': "disallow",
    "<meta name=tdm-reservation content=0><meta name=tdm-reservation content=1>": "disallow",
    '<meta name="robots" content="noai"><meta name="tdm-reservation" content="0">': "disallow",
    '<title>1 < 2</title><meta name="tdm-reservation" content="1">': "disallow",
    # What says nothing.
    "": "unknown",
    '<meta name="tdm-reservation" content="2">': "unknown",
    '<meta name="tdm-reservation" content="">': "unknown",
    '<meta name="tdm-reservation">': "unknown",
    '<meta name="tdm-reservation" content="true">': "unknown",
    '<meta property="tdm-reservation" content="1">': "unknown",
    '<meta http-equiv="tdm-reservation" content="1">': "unknown",
    '<meta name="tdm:reservation" content="1">': "unknown",
    '<meta name="tdm-policy" content="https://x.example/p">': "unknown",
    '<meta name="otherbot" content="noai">': "unknown",
    '<meta name="robots" content="noaiplease">': "unknown",
    # Where it is no tag of the head.
    '<!-- <meta name="tdm-reservation" content="1"> -->': "unknown",
    '<script>"<meta name=tdm-reservation content=1>"</script>': "unknown",
    '<noscript><meta name="robots" content="noai"></noscript>': "unknown",
    '<template><meta name="tdm-reservation" content="1"></template>': "unknown",
    '</head><body><meta name="tdm-reservation" content="1">': "unknown",
    '<meta name="tdm-reservation" content="1': "unknown",
}


@pytest.mark.parametrize("head", HEADS)
def test_what_the_head_of_a_page_says(head: str) -> None:
    statements, _ = said_in_metas(in_page(head), "foobot")
    assert str(combine(statements).of("train-ai")) == HEADS[head]
    assert all(each.source.is_of_page for each in statements)


@pytest.mark.parametrize(
    "response",
    [
        in_page('<meta name="tdm-reservation" content="1">', charset="utf-16"),
        in_page('<meta name="tdm-reservation" content="1">', "text/html; charset=windows-1252"),
        in_page(f'<!--{"-" * (MOST_OCTETS - 200)}--><meta name="tdm-reservation" content="1">'),
        in_page('<script/><meta name="tdm-reservation" content="1"/>', "application/xhtml+xml"),
        *(
            in_page('<meta name="tdm-reservation" content="1">\0', f"text/html; charset={charset}")
            for charset in ("hex", "idna", "undefined", "\xe9")
        ),
    ],
    ids=range(8),
)
def test_in_any_charset_and_far_down(response: HtmlResponse) -> None:
    statements, _ = said_in_metas(response, "foobot")
    assert str(combine(statements).of("train-ai")) == "disallow"


def test_what_is_no_html_or_comes_too_late_is_not_read() -> None:
    text = '<meta name="tdm-reservation" content="1">'
    for response in (
        TextResponse(URL, body=text.encode()),
        Response(URL, body=text.encode()),
        in_page(f"<!--{'-' * MOST_OCTETS}-->{text}"),
    ):
        assert said_in_metas(response, "foobot") == ((), [])


def test_these_tags_are_no_directives_of_a_crawler() -> None:
    page = in_page(f'<meta name="tdm-reservation" content="noindex"><link {RSL} href="noindex">')
    assert not directives_of(page, "tdm-reservation")


LINKS: dict[str, list[str]] = {
    f'<link {RSL} href="https://x.example/license.xml">': ["https://x.example/license.xml"],
    '<LINK HREF=/license.xml REL="nofollow LICENSE" TYPE="Application/RSL+XML">': ["/license.xml"],
    f'<link {RSL} href="/a?b=1&amp;c=2"><link {RSL} href="/d">': ["/a?b=1&c=2", "/d"],
    f'<link {RSL} href="/a"><link {RSL} href="/a">': ["/a"],
    '<link rel="license" href="https://creativecommons.example/">': [],
    '<link rel="alternate" type="application/rsl+xml" href="/a">': [],
    f"<!-- <link {RSL} href='/a'> -->": [],
}


@pytest.mark.parametrize("head", LINKS)
def test_links_to_licences(head: str) -> None:
    assert said_in_metas(in_page(head), "foobot") == ((), LINKS[head])


IN_HEADERS: dict[str, list[str]] = {
    '<https://x.example/l.xml>; rel="license"; type="application/rsl+xml"': [
        "https://x.example/l.xml"
    ],
    "</l.xml>;rel=license;type=application/rsl+xml": ["/l.xml"],
    '</l.xml> ; TYPE="application/RSL+xml" ; REL="Copyright License"': ["/l.xml"],
    '</style.css>; rel=preload; as=style, </a,b;c.xml>; title="x, <y>"; rel="license"; '
    'type="application/rsl+xml", </next>; rel=next': ["/a,b;c.xml"],
    '</1>; rel=license;type="application/rsl+xml", </2>; rel=license;type="application/rsl+xml"': [
        "/1",
        "/2",
    ],
    '</l.xml>; rel="license"': [],
    '</l.xml>; rel="licensed"; type="application/rsl+xml"': [],
    '</l.xml>; rel="license"; type="application/rsl+xmlish"': [],
    '</l.xml>; rev="license"; type="application/rsl+xml"': [],
    "rsl; rel=license; type=application/rsl+xml": [],
    "": [],
}


@pytest.mark.parametrize("value", IN_HEADERS)
def test_link_headers(value: str) -> None:
    response = Response(URL, headers={"Link": value})
    assert licenses_in_headers(response) == IN_HEADERS[value]
    assert said_in_headers(response, "foobot") == ()


@pytest.mark.parametrize("repeated", ["<", "<>", '<>;"', "<>;rel=license;", '";,<rsl', '<a>;a="'])
def test_odd_links_take_linear_time(repeated: str) -> None:
    response = Response(URL, headers={"Link": "rsl" + repeated * 20_000})
    licenses_in_headers(response)


@names_rules
@pytest_twisted.ensureDeferred
async def test_licences_of_the_site_and_the_page_are_in_the_stamp(sites: Sites) -> None:
    host = sites.host("License: https://x.example/site.xml\n")
    link = '</header.xml>; rel="license"; type="application/rsl+xml"'
    host.pages["/a"] = answer(
        f'<html><head><link {RSL} href="/page.xml"></head></html>',
        content_type="text/html",
        link=link,
    )
    for uses, from_page in ((["search"], [host.url("/page.xml")]), ([], [])):
        crawler = await crawl(host.url("/a"), spider=StampSpider, ROBOTS_AI_USES=uses)
        stamp = crawler.spider.stamps[host.url("/a")]
        known = ["https://x.example/site.xml", host.url("/header.xml"), *from_page]
        assert stamp["licenses"] == known
        assert stamp["statements"] == []
