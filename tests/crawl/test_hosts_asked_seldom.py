"""A host that was not asked for longer than its delay is asked at once, whoever keeps its pace."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import pytest_twisted

from tests.crawling import StepSpider, crawl, stat
from tests.redis_server import RedisServer

if TYPE_CHECKING:
    from pathlib import Path

    from tests.sites import Sites

DELAY = 0.1
PATHS = ["/0", "/1", "/2"]


@pytest.mark.parametrize("keeper", ["process", "sqlite", "redis"])
@pytest_twisted.ensureDeferred
async def test_a_host_that_has_waited_for_longer_than_its_delay(
    sites: Sites, tmp_path: Path, keeper: str
) -> None:
    host = sites.host(f"User-agent: *\nCrawl-delay: {DELAY}\n")
    with RedisServer() as server:
        keepers = {"redis": server.url, "sqlite": f"sqlite:{tmp_path / 'pace.db'}"}
        crawler = await crawl(
            *map(host.url, PATHS),
            spider=StepSpider,
            spider_attributes={"pause": 2 * DELAY},
            ROBOTS_SHARED_PACE=keepers.get(keeper, keeper),
            CLOSESPIDER_TIMEOUT=20,
        )
        asked = server.usage().commands["EVALSHA"]
    assert host.fetched == PATHS
    assert stat(crawler, "finish_reason") == "finished"
    assert asked < 10 * len(PATHS)
