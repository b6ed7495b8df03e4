"""Sitemaps and Clean-param, in a process of its own for each reactor mode."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.crawl_process import MODES, crawl_in_process
from tests.crawling import OTHER_PARSER
from tests.sending import TimedSpider

from .listings import listing

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.sites import Sites

pytestmark = pytest.mark.skipif(OTHER_PARSER is not None, reason="only ours has Clean-param")


class ReadingSpider(TimedSpider):
    """Asks for the sitemaps of its URLs, which are those of robots.txt files, in both ways."""

    async def start(self) -> AsyncIterator[Any]:
        for url in self.urls:
            yield self.request(url, meta={"robots_sitemaps": True}, callback=self.parse_robots)
            yield self.request(url.replace("robots.txt", "start"))

    def parse_robots(self, response: Any) -> None:
        self.got.extend(response.text.split())

    def parse_sitemap(self, response: Any) -> Any:
        for page in response.xpath("//*[local-name()='loc']/text()").getall():
            yield self.request(page).replace(dont_filter=False)


SPIDER = f"{__name__}.ReadingSpider"


@pytest.mark.parametrize("mode", MODES)
def test_one_request_for_a_robots_txt_brings_it_all(sites: Sites, mode: str) -> None:
    host = sites.host()
    host.robots(f"Sitemap: {host.url('/map.xml')}\nClean-param: ref\n")
    pages = [host.url(f"/a?ref={number}") for number in range(5)]
    host.pages["/map.xml"] = listing("urlset", *pages)
    result = crawl_in_process(
        mode, host.url("/robots.txt"), spider=SPIDER, ROBOTS_SITEMAPS=True, ROBOTS_CLEAN_PARAM=True
    )
    assert host.robots_hits == 1
    assert sorted(host.fetched)[1:] == ["/map.xml", "/start"]
    assert result["stats"]["robotstxt/clean_param/dropped"] == 4
    assert host.url("/map.xml") in result["got"]
    assert result["stats"]["finish_reason"] == "finished"
