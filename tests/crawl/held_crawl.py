"""As much of a crawl as delays need, at a clock that the test sets."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
import pytest_twisted
from scrapy import Request, Spider, signals
from scrapy.http import Response
from scrapy.settings import Settings
from scrapy.signalmanager import SignalManager
from scrapy.statscollectors import StatsCollector
from scrapy.utils.defer import deferred_from_coro
from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from scrapy_robots_plus.crawl.clock import Clock
from scrapy_robots_plus.crawl.crawl import Crawl as RealCrawl
from scrapy_robots_plus.hosts.book import BookInMemory
from scrapy_robots_plus.hosts.door import Door
from scrapy_robots_plus.hosts.given_up import GivenUp
from scrapy_robots_plus.hosts.refusals import Refusals
from scrapy_robots_plus.hosts.shared_pace import BookedPace
from scrapy_robots_plus.protocol.origin import Origin
from tests.crawling import new_slot

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy.core.downloader import Slot

    from scrapy_robots_plus.hosts.pace import Pace
    from scrapy_robots_plus.protocol.crawl_delay import VisitTime

NOW = 1_000_000.0
URL = "http://a.example/"
ORIGIN = Origin("http", "a.example", 80)


running: list[Crawl] = []


@pytest.fixture
def crawls_end() -> Iterator[None]:
    """Whoever looks whether the spider closes stops with the crawl."""
    yield
    while running:
        closing = running.pop().signals.send_catch_log_async(signals.spider_closed)
        pytest_twisted.blockon(deferred_from_coro(closing))


class Crawl:
    """As much of a crawl as delays need: signals, and downloader slots that nobody empties."""

    def __init__(self, **settings: Any) -> None:
        self.now = NOW
        self.slots: dict[str, Slot] = {}
        made = Settings(settings)
        handlers = SimpleNamespace(download_request_async=None)
        downloader = SimpleNamespace(
            slots=self.slots, _process_queue=lambda _: None, handlers=handlers
        )
        self.engine_slot = SimpleNamespace(closing=None)
        engine = SimpleNamespace(downloader=downloader, _slot=self.engine_slot)
        self.spider = Spider("held")
        crawler: Any = SimpleNamespace(signals=SignalManager(self), engine=engine, settings=made)
        crawler.spider = self.spider
        with_settings: Any = SimpleNamespace(settings=made, spider=None)
        self.stats = crawler.stats = StatsCollector(with_settings)
        self.signals = crawler.signals
        running.append(self)
        clock = Clock(wall=lambda: self.now, monotonic=lambda: self.now, jitter=lambda: 0.0)
        self.book = BookInMemory(lambda: self.now)
        self.other = BookedPace(self.book)
        self.crawl = crawl = RealCrawl(crawler, clock)
        self.given_up = crawl.get(GivenUp)
        self.pacing = crawl.get(Door)
        self.pacing.shared_pace = BookedPace(self.book)
        crawl.get(Refusals)

    def queue(self, slot: str, url: str = URL) -> Slot:
        """A request waits in a slot, which has no delay of its own."""
        made = self.slots.setdefault(slot, new_slot())
        made.lastseen = 1.0
        made.queue.append((Request(url), Deferred()))
        return made

    def hold(
        self,
        delay: float | None,
        url: str = URL,
        visits: VisitTime | None = None,
        **meta: object,
    ) -> Request:
        """A request passes under a policy with this delay."""
        request = Request(url, meta=meta)
        origin = Origin.of(url)
        assert origin is not None
        paces = SimpleNamespace(visits=visits)
        policy: Any = SimpleNamespace(is_paced=True, delay=delay, paces=paces)
        self.pacing.expect(request, origin, policy)
        return request

    def come(self, visits: VisitTime | None, url: str = URL) -> None:
        """A robots.txt comes that denies nothing and asks for no delay."""
        origin = Origin.of(url)
        assert origin is not None
        self.pacing.keep(origin, 0.0, visits)
        self.pacing.recheck(origin, lambda _: False)

    def answer(
        self, host: str, status: int = 429, url: str = URL, **headers: str | list[str]
    ) -> Request:
        """To a request that was sent when the slot was free."""
        request = Request(url, meta={"download_slot": host})
        self.answer_to(request, status, **headers)
        return request

    def answer_to(self, request: Request, status: int = 429, **headers: str | list[str]) -> None:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        response = Response(request.url, status=status, headers=named)
        pace = self.pace_of(request.url)
        if pace is not None:
            pace.departures.answered(request, self.now)
        self.tell(signals.response_downloaded, response=response, request=request)

    def tell(self, signal: object, **what: object) -> None:
        for _, result in self.signals.send_catch_log(signal, **what):
            assert not isinstance(result, Failure), result

    def send(self, slot: str, url: str = URL) -> Request:
        """A download handler has received it."""
        request = Request(url, meta={"download_slot": slot})
        self.pacing.line(self._host(url)).handed_over(request)
        return request

    def stand(self, url: str = URL, **meta: object) -> Deferred[None]:
        """A request comes to the door; the Deferred ends when it goes, or with its error."""
        line = self.pacing.line(self._host(url))
        return deferred_from_coro(line.let_through(Request(url, meta=meta)))

    def pace_of(self, url: str = URL) -> Pace | None:
        return self.pacing.pace_of(self._host(url))

    def gap(self, url: str = URL) -> float:
        """Seconds that are kept between two requests."""
        pace = self.pace_of(url)
        return 0.0 if pace is None else pace.delay

    def due_in(self, host: str) -> float:
        """Seconds until a request may be handed over; 0 if it may."""
        line = self.pacing.lines.get(host)
        return 0.0 if line is None else max(0.0, line.next_may_come_at() - self.now)

    @staticmethod
    def _host(url: str) -> str:
        origin = Origin.of(url)
        return "" if origin is None else origin.host

    def held(self, urls: list[str]) -> list[str]:
        """Those whose hosts have a pace."""
        return [url for url in urls if self.pace_of(url)]
