"""A text file that a browser was asked for comes as a page: it is read as the file that it was."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, Any

import pytest
import pytest_twisted
from hypothesis import example, given
from hypothesis import strategies as st
from scrapy.http import HtmlResponse

from scrapy_robots_plus.origins.fetch_results import is_html, text_in
from tests.crawling import OTHER_PARSER, crawl, stat

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler

    from tests.sites import Host, Sites

CHROMIUM_STYLE = '<pre style="word-wrap: break-word; white-space: pre-wrap;">'
LIGHT_DARK = '<meta name="color-scheme" content="light dark">'
FIREFOX_SHEET = '<link rel="stylesheet" href="resource://content-accessible/plaintext.css">'
JSON_VIEW = '<div class="json-formatter-container"></div>'

VIEWS = {
    "Chromium": (f"<html><head>{LIGHT_DARK}</head><body>{CHROMIUM_STYLE}", "</pre></body></html>"),
    "Chromium before 2022": (
        f"<html><head></head><body>{CHROMIUM_STYLE}", "</pre></body></html>",
    ),
    "Chromium, of JSON": (
        f'<html><head>{LIGHT_DARK}<meta charset="utf-8"></head><body><pre>',
        f"</pre>{JSON_VIEW}</body></html>",
    ),
    "Firefox": (f"<html><head>{FIREFOX_SHEET}</head><body><pre>", "</pre></body></html>"),
    "Firefox, of a site with a title": (
        f"<html><head>{LIGHT_DARK}{FIREFOX_SHEET}<title></title></head><body><pre>",
        "</pre></body></html>\n",
    ),
    "WebKit": ("<html><head></head><body><pre>", "</pre></body></html>"),
    "served as text/html": ("<html><head></head><body>", "</body></html>"),
}  # fmt: skip
RULES = "User-agent: *\nDisallow: /a?b=1&c=<d>\n\nAllow: /\xe9\n# \u20ac \u0441\n"


def shown(text: str, view: str) -> bytes:
    before, after = VIEWS[view]
    inner = html.escape(text, quote=False).replace("\xa0", "&nbsp;")
    return (before + inner + after).encode()


@pytest.mark.parametrize("view", VIEWS)
def test_the_text_comes_back(view: str) -> None:
    assert text_in(shown(RULES, view)) == RULES.encode()
    assert text_in(shown("", view)) == b""


@example("\xc2\x91")  # no bytes in windows-1252
@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\0")))
def test_whatever_the_text_is(text: str) -> None:
    for view in VIEWS:
        back = text_in(shown(text, view))
        assert back is not None
        assert text in (back.decode(), in_windows_1252(back))


def in_windows_1252(raw: bytes) -> str:
    """As browsers decode it: bytes that mean nothing there stand for themselves."""
    return "".join(bytes([byte]).decode("cp1252", "ignore") or chr(byte) for byte in raw)


def test_text_that_was_taken_for_windows_1252_is_utf_8_again() -> None:
    guessed = in_windows_1252(RULES.encode())
    assert guessed != RULES
    assert text_in(shown(guessed, "Chromium")) == RULES.encode()


def test_a_number_that_no_character_has_stands_for_none() -> None:
    page = b"<html><head></head><body><pre>a &#" + b"9" * 5_000 + b";b</pre></body></html>"
    assert text_in(page) == "a \ufffdb".encode()


def test_text_in_another_charset_stays_as_it_is() -> None:
    before, after = VIEWS["Chromium"]
    assert text_in((before + "/\xe9" + after).encode("latin-1")) == b"/\xe9"


PAGES = {
    "a page": b"<!DOCTYPE html><html><head><title>Not found</title></head><body>No</body></html>",
    "a page with preformatted text": (
        b"<html><head></head><body><pre>User-agent: *</pre><p>more</p></body></html>"
    ),
    "markup in the text": b"<html><head></head><body><pre><b>User</b></pre></body></html>",
    "text in front": b"x<html><head></head><body><pre>a</pre></body></html>",
    "rules": RULES.encode(),
    "nothing": b"",
}


@pytest.mark.parametrize("page", PAGES)
def test_any_other_body_is_none_of_them(page: str) -> None:
    assert text_in(PAGES[page]) is None
    assert is_html(PAGES[page]) is ("page" in page or "markup" in page)


@pytest.mark.parametrize("view", [name for name in VIEWS if "html" not in name])
def test_a_view_that_is_cut_is_told_apart_wherever_it_is_cut(view: str) -> None:
    before, after = VIEWS[view]
    whole = shown(RULES, view)
    for end in range(len(before), len(whole) - len(after) + len(after.rstrip())):
        with pytest.raises(ValueError, match="cut off"):
            text_in(whole[:end])


class BrowserInTheWay:
    """Answers requests for robots.txt with *page*, as a download handler does that is a browser."""

    page = b""

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> BrowserInTheWay:
        made = cls()
        made.page = bytes.fromhex(crawler.settings["PAGE"])
        return made

    def process_request(self, request: Request) -> HtmlResponse | None:
        if not request.url.endswith("/robots.txt"):
            return None
        return HtmlResponse(request.url, body=self.page, headers={"Content-Type": "text/plain"})


async def crawl_behind(page: bytes, host: Host, **settings: Any) -> Crawler:
    return await crawl(
        host.url("/open"),
        host.url("/closed"),
        DOWNLOADER_MIDDLEWARES={BrowserInTheWay: 950},
        PAGE=page.hex(),
        **settings,
    )


CLOSED = "User-agent: *\nDisallow: /closed\n"


@pytest.mark.parametrize("view", VIEWS)
@pytest_twisted.ensureDeferred
async def test_rules_that_a_browser_hands_over_hold(sites: Sites, view: str) -> None:
    host = sites.host()
    await crawl_behind(shown(CLOSED, view), host)
    assert host.fetched == ["/open"]


@pytest_twisted.ensureDeferred
async def test_a_view_that_is_cut_closes_the_site(sites: Sites) -> None:
    host = sites.host()
    crawler = await crawl_behind(shown(CLOSED, "Chromium")[:-30], host, ROBOTS_FETCH_RETRIES=0)
    assert host.fetched == []
    assert stat(crawler, "robotstxt/failure_count/cut") == 1


@pytest_twisted.ensureDeferred
async def test_of_a_long_text_the_first_bytes_count_as_those_of_a_file(sites: Sites) -> None:
    host = sites.host()
    long = CLOSED + ("# " + "&" * 600 + "x" * 300 + "\n") * 600 + "Disallow: /open\n"
    await crawl_behind(shown(long, "Chromium"), host, ROBOTS_FETCH_MAX_BYTES=512_000)
    assert host.fetched == ["/open"]


@pytest.mark.skipif(
    OTHER_PARSER == "RerpRobotParser", reason="this parser finds a name in the middle of a line"
)
@pytest.mark.parametrize("view", VIEWS)
@pytest_twisted.ensureDeferred
async def test_what_a_site_itself_sends_is_read_as_it_is(sites: Sites, view: str) -> None:
    """As the reference parser reads it: the first line is glued to the tags."""
    host = sites.host(shown(CLOSED, view).decode())
    await crawl(host.url("/open"), host.url("/closed"))
    assert sorted(host.fetched) == ["/closed", "/open"]
