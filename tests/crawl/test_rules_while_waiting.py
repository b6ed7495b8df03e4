"""A robots.txt that is refreshed while requests wait for their moment: what it says holds for them.

They passed under a file that had just expired, and may wait long: for other crawls, or for a pause.
"""

from __future__ import annotations

from collections import defaultdict
from math import inf
from typing import TYPE_CHECKING, Any

import pytest
import pytest_twisted
from twisted.internet.defer import gatherResults

from scrapy_robots_plus import RobotsDisallowed
from scrapy_robots_plus.crawl import stats
from tests.crawling import ProbeSpider, make_crawler, parts_of_seconds, stat
from tests.sites import answer

if TYPE_CHECKING:
    import asyncio
    from pathlib import Path

    from tests.sites import Hit, Host, Sites

CRAWLS, PAGES, DELAY = 3, 6, 0.5
OLD = f"User-agent: *\nDisallow: /never\nCrawl-delay: {DELAY}\n"
CLOSED = f"User-agent: *\nDisallow: /\nCrawl-delay: {DELAY}\n"
SLOWER = f"User-agent: *\nDisallow: /never\nCrawl-delay: {3 * DELAY}\n"


def changing(sites: Sites, new: str) -> Host:
    """A host whose robots.txt each crawl reads once as it was."""
    known: set[str] = set()

    async def reply(hit: Hit, writer: asyncio.StreamWriter) -> None:
        agent = hit.headers["user-agent"]
        text = new if agent in known else OLD
        known.add(agent)
        await answer(text)(hit, writer)

    return sites.host(reply)


async def crawled(host: Host, pages: int, **settings: Any) -> dict[str, Any]:
    """Crawls at the same time, by the agent of each."""
    agents = [f"foobot/{number}" for number in range(CRAWLS)]
    urls = [host.url(f"/{page}") for page in range(pages)]
    crawlers: dict[str, Any] = {
        agent: make_crawler(ProbeSpider, USER_AGENT=agent, ROBOTS_TTL=(1, 1), **settings)
        for agent in agents
    }
    await gatherResults(crawler.crawl(urls=urls) for crawler in crawlers.values())
    return crawlers


@parts_of_seconds
@pytest_twisted.ensureDeferred
async def test_what_waits_for_other_crawls_is_denied_by_new_rules(sites: Sites) -> None:
    host = changing(sites, CLOSED)
    for agent, crawler in (await crawled(host, PAGES)).items():
        hits = [hit for hit in host.hits if hit.headers["user-agent"] == agent]
        _, changed_at, *_ = [hit.at for hit in hits if hit.path == "/robots.txt"]
        late = {hit.path for hit in hits if hit.at > changed_at + DELAY / 2}
        assert late <= {"/robots.txt"}
        denied = crawler.spider.failures.values()
        assert {type(each) for each in denied} == {RobotsDisallowed}
        assert len(denied) + len(crawler.spider.got) == PAGES
        assert stat(crawler, stats.FORBIDDEN) == len(denied)


@parts_of_seconds
@pytest.mark.parametrize("place", ["process", "sqlite:{}/pace.db"], ids=["memory", "file"])
@pytest_twisted.ensureDeferred
async def test_what_waits_for_other_crawls_keeps_a_longer_delay(
    sites: Sites, tmp_path: Path, place: str
) -> None:
    host = changing(sites, SLOWER)
    await crawled(host, 3, ROBOTS_SHARED_PACE=place.format(tmp_path))
    read: dict[str, list[float]] = defaultdict(list)
    gaps, sent_at = [], -inf
    for hit in host.hits:
        times = read[hit.headers["user-agent"]]
        if hit.path == "/robots.txt":
            times.append(hit.at)
            continue
        if len(times) > 1 and hit.at > times[1] + DELAY / 2:
            gaps.append(hit.at - sent_at)
        sent_at = hit.at
    assert len(gaps) >= CRAWLS
    assert min(gaps) > 2.5 * DELAY
