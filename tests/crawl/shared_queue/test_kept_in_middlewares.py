"""Requests that a middleware of a worker keeps hold up no other of their host."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import pytest_twisted

from tests.crawl.test_kept_in_middlewares import PAGES, RULES, KeepsUntilLoggedIn, LoginSpider
from tests.crawling import crawl, parts_of_seconds, stat
from tests.redis_server import scrapy_redis_may_warn

if TYPE_CHECKING:
    from tests.sites import Sites

pytestmark = scrapy_redis_may_warn


@pytest.mark.parametrize("delay", ["", pytest.param("Crawl-delay: 0.2\n", marks=parts_of_seconds)])
@pytest_twisted.ensureDeferred
async def test_the_request_that_lets_the_others_go_is_sent(
    sites: Sites, shared: dict[str, Any], delay: str
) -> None:
    host, other = sites.host(RULES + delay), sites.host(RULES + "Crawl-delay: 0.5\n")
    crawler = await crawl(
        *[other.url(f"/{number}") for number in range(4)],
        *[host.url(f"/{number}") for number in range(PAGES)],
        spider=LoginSpider,
        login=host.url("/login"),
        DOWNLOADER_MIDDLEWARES={KeepsUntilLoggedIn: 543},
        CLOSESPIDER_TIMEOUT=25,
        **shared,
    )
    assert stat(crawler, "finish_reason") == "finished"
    assert sorted(host.fetched) == sorted(["/login", *(f"/{number}" for number in range(PAGES))])
    if delay:
        assert min(host.gaps) > 0.19
