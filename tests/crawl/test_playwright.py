"""A crawl through a real browser: scrapy-playwright with Chromium, where both are installed.

``apt-get install chromium`` and ``pip install scrapy-playwright`` do so; Playwright's own download
is not needed.
"""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

import pytest
import pytest_twisted
import scrapy
from scrapy.utils.reactor import is_asyncio_reactor_installed

from tests.crawling import crawl, stat
from tests.sites import answer, gzipped

if TYPE_CHECKING:
    from tests.sites import Host, Reply, Sites

pytest.importorskip("scrapy_playwright")
CHROMIUM = shutil.which("chromium")

pytestmark = [
    pytest.mark.stress,
    pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed"),
    pytest.mark.skipif(not is_asyncio_reactor_installed(), reason="Playwright needs asyncio"),
]

HANDLER = "scrapy_playwright.handler.ScrapyPlaywrightDownloadHandler"
SETTINGS: dict[str, Any] = {
    "DOWNLOAD_HANDLERS": {"http": HANDLER, "https": HANDLER},
    "PLAYWRIGHT_LAUNCH_OPTIONS": {"executable_path": CHROMIUM, "args": ["--no-sandbox"]},
}
IN_BROWSER: dict[str, Any] = {"ROBOTS_FETCH_META": {"playwright": True}}


def pages(host: Host, *paths: str) -> list[scrapy.Request]:
    return [scrapy.Request(host.url(path), meta={"playwright": True}) for path in paths]


@pytest.mark.parametrize("fetch", [{}, IN_BROWSER], ids=["robots.txt alone", "all in browser"])
@pytest_twisted.ensureDeferred
async def test_the_delay_is_kept_from_the_first_page_on(
    sites: Sites, fetch: dict[str, Any]
) -> None:
    host = sites.host("User-agent: *\nDisallow: /never\nCrawl-delay: 2\n")
    await crawl(*pages(host, "/0", "/1", "/2", "/3", "/never"), **SETTINGS, **fetch)
    assert sorted(host.fetched) == ["/0", "/1", "/2", "/3"]
    assert min(host.gaps) >= 1.95  # as they arrive


RULES = "User-agent: *\nDisallow: /private\nDisallow: /a?b=1&c=<d\nDisallow: /\u00e9t\u00e9/\n"
LONG = RULES + "Disallow: /caf\u00e9/\n# R\u00e8gles pour les robots\n" * 5

FILES: dict[str, Reply] = {
    # Chromium guesses the charset: windows-1252 for all but very short files.
    "text/plain": answer(LONG),
    "text/plain; charset=utf-8": answer(RULES, content_type="text/plain; charset=utf-8"),
    "with a byte order mark": answer(b"\xef\xbb\xbf" + RULES.encode()),
    "compressed": gzipped(LONG.encode()),
    "CR LF": answer(RULES.replace("\n", "\r\n"), content_type="text/plain; charset=utf-8"),
}


@pytest.mark.parametrize("name", FILES)
@pytest_twisted.ensureDeferred
async def test_rules_of_a_robots_txt_fetched_through_the_browser_hold(
    sites: Sites, name: str
) -> None:
    host = sites.host(FILES[name])
    paths = ("/open", "/private/1", "/a?b=1&c=%3Cd", "/%C3%A9t%C3%A9/1")
    await crawl(*pages(host, *paths), **SETTINGS, **IN_BROWSER)
    assert host.fetched == ["/open"]


@pytest_twisted.ensureDeferred
async def test_of_a_file_that_is_served_as_html_the_rules_hold_too(sites: Sites) -> None:
    host = sites.host(answer(RULES.replace("<d", ""), content_type="text/html; charset=utf-8"))
    await crawl(*pages(host, "/open", "/private/1"), **SETTINGS, **IN_BROWSER)
    assert host.fetched == ["/open"]


@pytest_twisted.ensureDeferred
async def test_what_is_no_file_is_what_it_is_without_a_browser(sites: Sites) -> None:
    missing, failing, empty, page = (
        sites.host(answer("<h1>Not found</h1>", 404, content_type="text/html")),
        sites.host(answer("", 503)),
        sites.host(answer("")),
        sites.host(answer("<title>Home</title><h1>Home</h1>", content_type="text/html")),
    )
    hosts = (missing, failing, empty, page)
    urls = [url for host in hosts for url in pages(host, "/a")]
    crawler = await crawl(*urls, **SETTINGS, **IN_BROWSER)
    assert [host.fetched for host in hosts] == [["/a"], [], ["/a"], ["/a"]]
    assert stat(crawler, "robotstxt/forbidden/unreachable") == 1
