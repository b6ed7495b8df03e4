"""The origins of one host, by scheme and port, have rules of their own, and one pace together."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest
import pytest_twisted

from tests.certificates import self_signed
from tests.crawling import parts_of_seconds
from tests.redis_server import RedisServer, scrapy_redis_may_warn
from tests.sending import HICCUP
from tests.sites import answer
from tests.workers import SCRAPY_REDIS, SHARED

from .shared_queue.crews import failures, run_workers, sent

if TYPE_CHECKING:
    import asyncio

    from tests.sites import Hit, Sites

pytestmark = scrapy_redis_may_warn
DELAY = 0.3


def closed_path(origin: str) -> str:
    return f"/not-on-{urlsplit(origin).port}"


async def rules(hit: Hit, writer: asyncio.StreamWriter) -> None:
    """Those of the port that was asked."""
    port = writer.get_extra_info("sockname")[1]
    text = f"User-agent: *\nDisallow: /not-on-{port}\nCrawl-delay: {DELAY}\n"
    await answer(text)(hit, writer)


def settings_for(sharing: str, server: RedisServer) -> dict[str, Any]:
    if sharing == "queue":
        pytest.importorskip("scrapy_redis")
        return {**SCRAPY_REDIS, **SHARED, "REDIS_URL": server.url}
    return {"ROBOTS_SHARED_PACE": server.url if sharing == "server" else sharing}


@parts_of_seconds
@pytest.mark.parametrize(
    ("workers", "sharing"), [(1, "off"), (2, "process"), (2, "server"), (2, "queue")]
)
@pytest_twisted.ensureDeferred
async def test_origins_of_one_host(sites: Sites, workers: int, sharing: str) -> None:
    host = sites.host(rules)
    origins = [
        host.origin,
        sites.another_origin_of(host),
        sites.another_origin_of(host, self_signed()),
    ]
    closed = {origin + closed_path(origin) for origin in origins}
    urls = [origin + closed_path(each) for each in origins for origin in origins]
    with RedisServer() as server:
        crawlers = await run_workers(workers, *urls, **settings_for(sharing, server))
    assert set(failures(crawlers)) == closed
    pages = [(at, url) for at, url in sent(crawlers) if not url.endswith("/robots.txt")]
    assert {url for _, url in pages} == set(urls) - closed
    gaps = [later - earlier for (earlier, _), (later, _) in pairwise(pages)]
    assert min(gaps) >= DELAY - HICCUP
    assert sum(gaps) < len(gaps) * DELAY * 2  # one pace is kept, not one for each
    assert {url for _, url in sent(crawlers)} - set(urls) == {
        f"{each}/robots.txt" for each in origins
    }
