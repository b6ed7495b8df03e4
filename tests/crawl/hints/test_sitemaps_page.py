"""The samples of docs/sitemaps.md do what the page says."""

from __future__ import annotations

import pytest_twisted

from tests.crawling import make_crawler, run, stat
from tests.samples import block_with, run_as_it_is
from tests.sites import Host, Sites

from .listings import listing


def shop(sites: Sites) -> Host:
    host = sites.host()
    host.robots(f"Sitemap: {host.url('/map.xml')}\n")
    host.pages["/map.xml"] = listing("urlset", host.url("/product/1"), host.url("/about"))
    return host


@pytest_twisted.ensureDeferred
async def test_the_spider_of_a_shop(sites: Sites) -> None:
    host = shop(sites)
    spider = block_with("parse_product", "docs/sitemaps.md", shop=host.origin)["ShopSpider"]
    crawler = make_crawler(spider)
    await run(crawler)
    assert stat(crawler, "item_scraped_count") == 1
    assert host.fetched == ["/map.xml", "/product/1"]
    assert host.robots_hits == 1


@pytest_twisted.ensureDeferred
async def test_any_other_spider(sites: Sites) -> None:
    host = shop(sites)
    spider = block_with("ListSpider", "docs/sitemaps.md", shop=host.origin)["ListSpider"]
    crawler = await run_as_it_is(spider)
    assert stat(crawler, "item_scraped_count") == 1
    assert host.fetched == []


@pytest_twisted.ensureDeferred
async def test_the_sitemaps_of_every_host(sites: Sites) -> None:
    host = shop(sites)
    spider = block_with("EverySpider", "docs/sitemaps.md", shop=host.origin)["EverySpider"]
    crawler = await run_as_it_is(spider)
    assert sorted(host.fetched) == ["/", "/about", "/map.xml", "/product/1"]
    assert stat(crawler, "item_scraped_count") == 3


@pytest_twisted.ensureDeferred
async def test_being_told(sites: Sites) -> None:
    host = shop(sites)
    spider = block_with("CountSpider", "docs/sitemaps.md", shop=host.origin)["CountSpider"]
    crawler = make_crawler(spider)
    await run(crawler)
    assert stat(crawler, f"sitemaps/{host.origin}") == 1
