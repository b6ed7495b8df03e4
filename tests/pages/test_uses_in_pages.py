"""What the head of a page and its headers say of its use: noai, tdm-reservation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from scrapy.http import HtmlResponse, Response, TextResponse

from scrapy_robots_plus.pages.x_robots_tag_and_meta_tags import (
    MOST_OCTETS,
    directives_of,
    said_in_metas,
)
from scrapy_robots_plus.protocol.preferences import combine

if TYPE_CHECKING:
    pass

URL = "https://site.example/page"


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
    statements = said_in_metas(in_page(head), "foobot")
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
    statements = said_in_metas(response, "foobot")
    assert str(combine(statements).of("train-ai")) == "disallow"


def test_what_is_no_html_or_comes_too_late_is_not_read() -> None:
    text = '<meta name="tdm-reservation" content="1">'
    for response in (
        TextResponse(URL, body=text.encode()),
        Response(URL, body=text.encode()),
        in_page(f"<!--{'-' * MOST_OCTETS}-->{text}"),
    ):
        assert said_in_metas(response, "foobot") == ()


def test_these_tags_are_no_directives_of_a_crawler() -> None:
    page = in_page('<meta name="tdm-reservation" content="noindex">')
    assert not directives_of(page, "tdm-reservation")
