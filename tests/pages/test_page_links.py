"""Links that say nofollow, in CrawlSpiders; and the samples of docs/page-directives.md."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import pytest
import pytest_twisted
from scrapy.http import HtmlResponse
from scrapy.linkextractors import LinkExtractor

from scrapy_robots_plus import FOLLOWED_LINKS
from tests.crawl.paging import TakingSpider, page, says
from tests.crawling import crawl
from tests.samples import block_with, run_as_it_is
from tests.sites import Host, answer

if TYPE_CHECKING:
    from tests.sites import Sites

RELS = {
    "none": "",
    "empty": 'rel=""',
    "other": 'rel="noopener nofollowed external"',
    "nofollow": 'rel="nofollow"',
    "several": 'rel="noopener nofollow external"',
    "comma": 'rel="noopener,nofollow"',
    "blanks": 'rel="external\n  nofollow "',
    "case": 'rel="NoFollow"',
    "ugc": 'rel="ugc"',
    "sponsored": 'rel="external Sponsored"',
}
LINKS = "".join(f'<a href="/{name}" {rel}>{name}</a>' for name, rel in RELS.items())
SAYING_NO = {"nofollow", "several", "comma", "blanks", "case", "ugc", "sponsored"}


def body_with(links: str, head: str = "") -> Any:
    return answer(f"<html><head>{head}</head><body>{links}", content_type="text/html")


def site_with_links(sites: Sites, head: str = "") -> Host:
    host = sites.host()
    host.pages["/"] = body_with(LINKS, head)
    return host


def response_of(links: str) -> HtmlResponse:
    return HtmlResponse("http://site.example/", body=f"<html><body>{links}".encode())


def test_followed_links_has_none_of_the_three_in_any_case() -> None:
    extractor = LinkExtractor(restrict_xpaths=FOLLOWED_LINKS)
    links = extractor.extract_links(response_of(LINKS + '<area href="/area"><link href="/x">'))
    assert {link.url.rpartition("/")[2] for link in links} == {*RELS, "area"} - SAYING_NO


@pytest.mark.parametrize(
    "links",
    [
        '<a name="top"><h1>Top</h1><p><a rel="nofollow" href="/no">no</a> <a href="/yes">yes</a>',
        '<a href="/o"><div><a rel="nofollow" href="/no">no</a></div></a><a href="/yes">yes</a>',
    ],
)
def test_a_link_within_another_is_judged_by_what_it_says_itself(links: str) -> None:
    response = response_of(links)
    extractor = LinkExtractor(restrict_xpaths=FOLLOWED_LINKS)
    assert [link.url for link in extractor.extract_links(response)] == ["http://site.example/yes"]
    assert response.xpath(FOLLOWED_LINKS).css("::attr(href)").getall() == ["/yes"]


def test_of_links_in_links_in_links_one_is_searched() -> None:
    """Each one that is found is searched with all that is in it: that took minutes."""
    response = response_of("<a href=x><div>" * 4_000)
    assert len(response.xpath(FOLLOWED_LINKS)) == 1


async def fetched_by(spider: Any, host: Host) -> set[str]:
    crawler = await run_as_it_is(spider)
    paths = {path.strip("/") for path in host.fetched} - {""}
    assert crawler.stats.get_value("item_scraped_count") == len(paths)
    return paths


@pytest_twisted.ensureDeferred
async def test_a_rule_with_followed_links_follows_none_of_the_three(sites: Sites) -> None:
    host = site_with_links(sites)
    sample = block_with("VouchedSpider", "docs/page-directives.md", site=host.origin)
    assert await fetched_by(sample["VouchedSpider"], host) == set(RELS) - SAYING_NO


@pytest_twisted.ensureDeferred
async def test_a_crawl_spider_follows_no_link_of_a_page_with_nofollow(sites: Sites) -> None:
    host = site_with_links(sites, says("nofollow"))
    spider = block_with("VouchedSpider", "docs/page-directives.md", site=host.origin)[
        "VouchedSpider"
    ]
    spider.custom_settings = {"ROBOTS_NOFOLLOW": "obey"}
    await run_as_it_is(spider)
    assert host.fetched == ["/"]


@pytest_twisted.ensureDeferred
async def test_the_stamp_is_read_as_in_the_docs(
    sites: Sites, caplog: pytest.LogCaptureFixture
) -> None:
    host = sites.host()
    host.pages["/"] = page(says("noai"))
    spider = block_with("NoAiSpider", "docs/page-directives.md", site=host.origin)["NoAiSpider"]
    with caplog.at_level(logging.INFO):
        crawler = await run_as_it_is(spider)
    assert "meta: noai" in caplog.messages
    assert crawler.stats.get_value("item_scraped_count") is None
    host.pages["/"] = page(says("noarchive"))
    crawler = await run_as_it_is(spider)
    assert crawler.stats.get_value("item_scraped_count") == 1


@pytest_twisted.ensureDeferred
async def test_the_signal_is_sent_as_in_the_docs(
    sites: Sites, capsys: pytest.CaptureFixture[str]
) -> None:
    host = sites.host()
    host.pages["/a"] = page(says("none"))
    extension = block_with("NotFollowed", "docs/page-directives.md")["NotFollowed"]
    settings = {"ROBOTS_NOFOLLOW": "obey", "EXTENSIONS": {extension: 0}}
    await crawl(host.url("/a"), spider=TakingSpider, **settings)
    told = f"{host.url('/linked/a')} {host.url('/a')} meta robots: none\n"
    assert capsys.readouterr().out == told
