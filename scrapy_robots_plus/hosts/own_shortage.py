"""What this machine is short of: files, ports or memory for one more connection.

A connection that could not be opened says nothing about a site, so the request waits and is sent
again, whether for a robots.txt or a page.

Goals: no measurable cost while nothing is short. No shortage keeps a crawl open forever.

Hazards:

- A crawl of many hosts uses up its files with connections that are kept open for later requests:
  servers keep them for a minute or more. So those that are idle longest are closed in time.
- Some errors look like a shortage and never end: on some systems, that of an IPv6 address on a
  machine that has none. So no request waits for what none has got while others waited for it.
- A request that waits has not been sent. It is handed over anew, past all that stands before a
  download handler: delays count from then.
"""

from __future__ import annotations

from math import inf

from scrapy import Request
from scrapy.core.downloader import Downloader
from scrapy.http import Response

from scrapy_robots_plus import compat
from scrapy_robots_plus.crawl import stats
from scrapy_robots_plus.crawl.crawl import Crawl
from scrapy_robots_plus.crawl.log import Once, crawl_log
from scrapy_robots_plus.crawl.requests import TAP_META_KEY
from scrapy_robots_plus.origins.network_away import NetworkAway
from scrapy_robots_plus.protocol.printable import printable

from .door import Door, HeldAtClosing

logger = crawl_log(__name__)

_ADVICE = {
    compat.FILES: "raise the number of files that it may open (ulimit -n, LimitNOFILE= of a "
    "systemd service, --ulimit of a container)",
    compat.PORTS: "raise the number of local ports (net.ipv4.ip_local_port_range), or use fewer "
    "connections at a time (CONCURRENT_REQUESTS)",
    compat.MEMORY: "give it more memory, or use fewer connections at a time (CONCURRENT_REQUESTS)",
}


class OwnShortage:
    """The step before download handlers that keeps a quarter of the files free, and sends requests
    again that found nothing left.
    """

    MOST_SECONDS = 120.0
    """Seconds that one request waits, and that all of them do while none gets anything, at most."""
    GIVEN_UP_FOR = 600.0
    """Seconds for which no request waits after all have waited in vain."""
    FIRST_PAUSE, LONGEST_PAUSE = 0.05, 1.0
    """The first and the longest pause in seconds between two tries of a request: twice as long each
    time, and up to half more or less at random."""
    CLOSED_AT_ONCE = 16
    """Idle connections that each failed try closes at most, if enough files seem to be free."""
    FEW_FILES = 64
    """The number of free files below which an unresolved name counts as a shortage of files."""

    def __init__(self, crawl: Crawl, downloader: Downloader) -> None:
        self._crawl = crawl
        self._downloader = downloader
        self._since: dict[str, float] = {}
        """By kind of shortage, the moment since which requests have waited and none got through."""
        self._until_next_look = 0
        """How many more requests are handed over before files are counted again."""
        self._once = Once()
        self._network = network = crawl.get(NetworkAway)
        crawl.answer_listeners.insert(0, network.answered)  # first: the others may fail

    async def download(self, download: compat.DownloadFunction, request: Request) -> Response:
        """Runs in place of *download*, and repeats it after a shortage.

        Raises what *download* raises, a shortage only if waiting does not help; HeldAtClosing for a
        page that waits when the spider closes, HeldAtDenial for one that is denied meanwhile.
        """
        self._until_next_look -= 1
        if self._until_next_look <= 0:
            self._keep_files_free()
        crawl, began, pause, short_of = self._crawl, inf, self.FIRST_PAUSE, ""
        while True:
            try:
                response = await download(request)
            except Exception as error:
                kind = self._kind_of(error)
                if kind != short_of:
                    self._since.pop(short_of, None)
                began = min(began, crawl.clock.monotonic())
                if not kind or not await self._wait(request, kind, error, began, pause):
                    is_page = crawl.has_middleware and TAP_META_KEY not in request.meta
                    if is_page and crawl.is_closing and (kind or short_of):
                        raise HeldAtClosing from error  # the middleware keeps it for the next run
                    if not kind:
                        await self._network.failed(request, error)
                    raise
                pause, short_of = min(2 * pause, self.LONGEST_PAUSE), kind
                continue
            if short_of:
                self._since.pop(short_of, None)
            if isinstance(response, Response):  # else Scrapy fails the request
                for listener in crawl.answer_listeners:
                    listener(request, response)
            return response

    async def _wait(
        self, request: Request, kind: str, failure: Exception, began: float, pause: float
    ) -> bool:
        """Waits after a *failure*; returns False if that does not help, or the spider closes.

        Raises HeldAtDenial if *request* is denied meanwhile.
        """
        crawl, now = self._crawl, self._crawl.clock.monotonic()
        nobody_since = self._since.setdefault(kind, now)
        if now - nobody_since > self.MOST_SECONDS + self.GIVEN_UP_FOR:
            nobody_since = self._since[kind] = now
        if now - min(nobody_since, began) >= self.MOST_SECONDS:
            return False
        crawl.stats.inc_value(stats.filled(stats.SHORTAGES, kind))
        if self._once.is_first(kind):
            logger(crawl.crawler).warning(
                "This machine is short of %s, and cannot open another connection (%s). Requests "
                "for robots.txt files and pages are sent again for up to %d s, and fail if none "
                "gets a connection in that time; %s counts how often. To be faster, %s",
                kind,
                printable(str(failure) or repr(failure)),
                self.MOST_SECONDS,
                stats.filled(stats.SHORTAGES, kind),
                _ADVICE[kind],
            )
        self._keep_files_free(self.CLOSED_AT_ONCE)
        seconds = pause * (0.5 + crawl.clock.jitter())
        if crawl.holds_requests and TAP_META_KEY not in request.meta:
            try:
                await crawl.get(Door).wait(request, seconds)
            except BaseException:
                self._since.pop(kind, None)  # it will not say when the shortage has ended
                raise
        else:
            await compat.sleep(seconds)
        return not crawl.is_closing

    def _kind_of(self, error: Exception) -> str:
        """Returns what this machine was short of; "" if *error* has another reason."""
        kind = compat.shortage_in(error) or ""
        if not kind and compat.kind_of_failure(error, headers_received=False) == "dns":
            is_short = compat.free_files() < min(compat.most_files() // 16, self.FEW_FILES)
            return compat.FILES if is_short else ""
        return kind

    def _keep_files_free(self, least: int = 0) -> None:
        """Closes idle connections: enough to free a quarter of all files, *least* if that is free.

        Counting takes longer the more files are open. So it is repeated when enough requests have
        been handed over to use half of the free files beyond that quarter.
        """
        most = compat.most_files()
        spare = compat.free_files() - most // 4
        self._until_next_look = max(spare // 2, most // 64, 1)
        wanted = most // 16 - spare if spare < 0 else least
        closed = compat.close_idle_connections(self._downloader, wanted) if wanted else 0
        if not closed:
            return
        self._crawl.stats.inc_value(stats.IDLE_CLOSED, closed)
        if self._once.is_first():
            logger(self._crawl.crawler).info(
                "Connections that are kept open for later requests are closed early: this process "
                "may open no more than %d files (ulimit -n)",
                most,
            )
