"""The samples of docs/sitemaps.md do what the page says."""

from __future__ import annotations

import gzip

import pytest_twisted

from tests.crawling import make_crawler, run, stat
from tests.samples import block_with, run_as_it_is
from tests.sites import Host, Sites, answer

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
    host.robots(f"Sitemap: {host.url('/map.xml')}\nSitemap: {host.url('/index.xml')}\n")
    host.pages["/index.xml"] = listing("sitemapindex", host.url("/more.xml.gz"))
    more = f"<urlset><url><loc>{host.url('/product/2')}</loc></url></urlset>"
    compressed = gzip.compress(more.encode())
    host.pages["/more.xml.gz"] = answer(compressed, content_type="application/gzip")
    spider = block_with("EverySpider", "docs/sitemaps.md", shop=host.origin)["EverySpider"]
    crawler = await run_as_it_is(spider)
    pages = ["/", "/about", "/product/1", "/product/2"]
    assert sorted(host.fetched) == sorted([*pages, "/index.xml", "/map.xml", "/more.xml.gz"])
    assert stat(crawler, "item_scraped_count") == len(pages)


@pytest_twisted.ensureDeferred
async def test_being_told(sites: Sites) -> None:
    host = shop(sites)
    spider = block_with("CountSpider", "docs/sitemaps.md", shop=host.origin)["CountSpider"]
    crawler = make_crawler(spider)
    await run(crawler)
    assert stat(crawler, f"sitemaps/{host.origin}") == 1
