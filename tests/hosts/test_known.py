"""When a request is handed out, so that it is in its slot when it may leave."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
import pytest_twisted
import scrapy
from twisted.internet.defer import Deferred

from scrapy_robots_plus.hosts.host import Address
from scrapy_robots_plus.hosts.turns import hosts_of
from tests.crawling import ProbeSpider, crawl

if TYPE_CHECKING:
    from scrapy.http import Response

    from tests.sites import Sites


class Looks(ProbeSpider):
    """Asks, as the first page has come, when the next one may be handed out."""

    def parse(self, response: Response) -> None:
        slot = self.crawler.engine.downloader.slots[response.meta["download_slot"]]
        slot.delay = 10.0
        known = hosts_of(self.crawler).known
        lane: Any = SimpleNamespace(address=Address(None, response.meta["download_slot"]))
        self.waits = []
        for waiting in (0, 2):
            slot.queue.extend([(scrapy.Request(response.url), Deferred())] * waiting)
            outlook = known.outlook(lane)
            self.waits.append(outlook.due_at - known.clock())
            slot.queue.clear()
        self.gap = outlook.gap
        slot.delay = 0.0


@pytest_twisted.ensureDeferred
async def test_it_is_later_by_what_waits_in_the_slot(sites: Sites) -> None:
    host = sites.host("User-agent: *\nDisallow: /never\n")
    crawler = await crawl(host.url("/a"), spider=Looks)
    plain, behind = crawler.spider.waits
    assert behind - plain == pytest.approx(2 * crawler.spider.gap, abs=0.5)
