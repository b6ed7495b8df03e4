"""Download handlers with a pool of their own: robots.txt has room in it besides the pages."""

from __future__ import annotations

import inspect
from importlib import import_module
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
import pytest_twisted
from scrapy import Request
from scrapy.core.downloader.handlers import http2
from scrapy.utils.reactor import is_asyncio_reactor_installed

from scrapy_robots_plus.compat import can_be_stopped
from scrapy_robots_plus.origins.fetch_budget import FetchBudget
from scrapy_robots_plus.requests.middleware import RobotsMiddleware
from tests.crawling import ProbeSpider, make_crawler, run

if TYPE_CHECKING:
    from tests.sites import Sites

HANDLERS = {
    "aiohttp": "scrapy.core.downloader.handlers._aiohttp.AiohttpDownloadHandler",
    "httpx2": "scrapy.core.downloader.handlers._httpx.HttpxDownloadHandler",
}
CONCURRENT_REQUESTS = 5


def test_a_handler_is_stopped_in_a_body_only_if_it_tells_of_its_parts() -> None:
    handler = object.__new__(http2.H2DownloadHandler)
    handlers = SimpleNamespace(_get_handler=lambda _: handler)
    crawler: Any = SimpleNamespace(
        engine=SimpleNamespace(downloader=SimpleNamespace(handlers=handlers))
    )
    handlers_module: Any = http2
    agent: str = handlers_module.H2ConnectionPool.__module__
    stream = import_module(agent.replace("agent", "stream"))
    tells = "bytes_received" in inspect.getsource(stream)
    assert can_be_stopped(crawler, Request("https://x.example/")) is tells


class PoolSpider(ProbeSpider):
    """Looks how many connections the handler may open."""

    pool = 0

    def parse(self, response: Any) -> None:
        super().parse(response)
        handler: Any = self.crawler.engine.downloader.handlers._handlers["http"]
        if hasattr(handler, "_session"):
            self.pool = handler._session.connector.limit
        else:
            self.pool = handler._default_client._transport._pool._max_connections


@pytest.mark.skipif(not is_asyncio_reactor_installed(), reason="the handlers need asyncio")
@pytest.mark.parametrize("client", HANDLERS)
@pytest_twisted.ensureDeferred
async def test_a_handler_is_made_once_with_room_for_robots_txt(
    sites: Sites, client: str, caplog: pytest.LogCaptureFixture
) -> None:
    pytest.importorskip(client)
    pytest.importorskip(HANDLERS[client].rpartition(".")[0])
    host = sites.host()
    pools, warnings = [], []
    variants: list[dict[str, Any]] = [{"ADDONS": {}}, {}]
    for own in variants:
        caplog.clear()
        crawler = make_crawler(
            PoolSpider,
            DOWNLOAD_HANDLERS={"http": HANDLERS[client]},
            CONCURRENT_REQUESTS=CONCURRENT_REQUESTS,
            **own,
        )
        await run(crawler, urls=[host.url("/")])
        pools.append(crawler.spider.pool)
        warnings.append(caplog.text.count("is experimental"))
    budget = crawler.get_downloader_middleware(RobotsMiddleware).crawl.get(FetchBudget)
    widened = CONCURRENT_REQUESTS + budget.ceiling
    assert pools == [CONCURRENT_REQUESTS, widened]
    assert warnings[0] == warnings[1]
