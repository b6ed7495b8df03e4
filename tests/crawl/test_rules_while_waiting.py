"""A robots.txt that is refreshed while requests wait for their moment: the new rules hold for them.

They passed under a file that had just expired, and may wait long: for other crawls, or for a pause.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest_twisted
from twisted.internet.defer import gatherResults

from scrapy_robots_plus import RobotsDisallowed
from scrapy_robots_plus.crawl import stats
from tests.crawling import ProbeSpider, make_crawler, parts_of_seconds, stat
from tests.sites import answer

if TYPE_CHECKING:
    import asyncio

    from tests.sites import Hit, Host, Sites

CRAWLS, PAGES, DELAY = 3, 6, 0.5
OLD = f"User-agent: *\nDisallow: /never\nCrawl-delay: {DELAY}\n"
NEW = f"User-agent: *\nDisallow: /\nCrawl-delay: {DELAY}\n"


def changing(sites: Sites) -> Host:
    """A host whose robots.txt each crawl reads once as it was."""
    known: set[str] = set()

    async def reply(hit: Hit, writer: asyncio.StreamWriter) -> None:
        agent = hit.headers["user-agent"]
        text = NEW if agent in known else OLD
        known.add(agent)
        await answer(text)(hit, writer)

    return sites.host(reply)


@parts_of_seconds
@pytest_twisted.ensureDeferred
async def test_what_waits_for_other_crawls_is_denied_by_new_rules(sites: Sites) -> None:
    host = changing(sites)
    agents = [f"foobot/{number}" for number in range(CRAWLS)]
    urls = [host.url(f"/{page}") for page in range(PAGES)]
    crawlers: list[Any] = [
        make_crawler(ProbeSpider, USER_AGENT=agent, ROBOTS_TTL=(1, 1)) for agent in agents
    ]
    await gatherResults(crawler.crawl(urls=urls) for crawler in crawlers)
    for agent, crawler in zip(agents, crawlers, strict=True):
        hits = [hit for hit in host.hits if hit.headers["user-agent"] == agent]
        _, changed_at, *_ = [hit.at for hit in hits if hit.path == "/robots.txt"]
        late = {hit.path for hit in hits if hit.at > changed_at + DELAY / 2}
        assert late <= {"/robots.txt"}
        denied = crawler.spider.failures.values()
        assert {type(each) for each in denied} == {RobotsDisallowed}
        assert len(denied) + len(crawler.spider.got) == PAGES
        assert stat(crawler, stats.FORBIDDEN) == len(denied)
