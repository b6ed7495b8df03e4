"""Requests that are new, on their way to the server: those of a moment together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest_twisted
import scrapy
from scrapy import signals

from tests.crawling import make_crawler, stat
from tests.redis_server import scrapy_redis_may_warn

from .crews import CrewSpider

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.redis_server import RedisServer
    from tests.sites import Sites

pytestmark = scrapy_redis_may_warn

RULES = "User-agent: *\nDisallow: /never\n"
LINKS = 100


class Links(CrewSpider):
    """Its first page names a hundred others twice, and each of those two that were named."""

    def parse(self, response: scrapy.http.Response) -> Iterator[scrapy.Request]:
        is_first = response.url.endswith("/0")
        numbers = [*range(1, LINKS + 1)] * 2 if is_first else [1, 2]
        yield from (self.request(response.urljoin(f"/{each}")) for each in numbers)


@pytest_twisted.ensureDeferred
async def test_what_a_page_leads_to_is_put_in_together(
    sites: Sites, server: RedisServer, shared: dict[str, Any]
) -> None:
    host = sites.host(RULES)
    crawler = make_crawler(Links, **shared)
    dropped: list[str] = []

    def note(request: scrapy.Request) -> None:
        dropped.append(request.url)

    crawler.signals.connect(note, signals.request_dropped)
    with server.client() as client:
        client.config_resetstat()
        await crawler.crawl(urls=[host.url("/0")])
        scripts = client.info("commandstats")["cmdstat_evalsha"]["calls"]
    assert sorted(host.fetched) == sorted(f"/{each}" for each in range(LINKS + 1))
    assert scripts < 2 * LINKS
    # Each link was counted once, whoever found out that it had been seen, and when.
    assert len(dropped) == LINKS + 2 * LINKS
    assert stat(crawler, "scheduler/enqueued/redis") == LINKS + 1
    assert stat(crawler, "scheduler/dequeued/redis") == LINKS + 1
