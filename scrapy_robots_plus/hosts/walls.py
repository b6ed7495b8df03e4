"""Follows how sites treat the crawl, and says when that changes."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from scrapy_robots_plus import compat
from scrapy_robots_plus.crawl import stats
from scrapy_robots_plus.crawl.log import Once, crawl_log
from scrapy_robots_plus.crawl.recent import Recent
from scrapy_robots_plus.crawl.requests import DONT_OBEY_META_KEY, valid_origin_of
from scrapy_robots_plus.origins.fetching.results import NETWORK_FAILURES
from scrapy_robots_plus.origins.tally import Tally
from scrapy_robots_plus.protocol.access import Failure
from scrapy_robots_plus.protocol.printable import printable
from scrapy_robots_plus.protocol.standing import HEADERS, Site, Standing, standing_in

from .retry_after import header, is_handled

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.http import Response

    from scrapy_robots_plus.crawl.crawl import Crawl
    from scrapy_robots_plus.protocol.origin import Origin

logger = crawl_log(__name__)

_WORDS = {
    Standing.OPEN: "it answers again",
    Standing.WALLED: "it refuses pages that its robots.txt allows",
    Standing.PRICED: "it wants to be paid for pages",
    Standing.LIMITED: "it asks for fewer requests",
    Standing.BROKEN: "its pages fail",
}


class Walls:
    """What each site did lately; :class:`~scrapy_robots_plus.protocol.standing.Site` decides."""

    def __init__(self, crawl: Crawl) -> None:
        self._crawl = crawl
        self.sites: Recent[Origin, Site] = Recent(crawl.settings.cache_size)
        """Those that have refused something."""
        self._once = Once()

    def answered(
        self, request: Request, response: Response, origin: Origin, *, is_used_up: bool
    ) -> None:
        """*origin* has answered *request*, which robots.txt allows. *is_used_up*: and has said that
        nothing is left of its limit.
        """
        status, headers = response.status, response.headers
        said = {name: header(response, name) for name in HEADERS if name in headers}
        says, why, is_clear = standing_in(status, said)
        if is_used_up and says is Standing.OPEN:
            says, why, is_clear = Standing.LIMITED, "RateLimit", True
        if says is Standing.OPEN or not is_handled(self._crawl.crawler, request, status):
            self._hear(request, origin, says, why, is_clear=is_clear)

    def failed(self, request: Request, exception: Exception) -> None:
        """No answer to *request* has come, after all retries."""
        failure = Failure(compat.kind_of_failure(exception, headers_received=False))
        origin = valid_origin_of(request)
        if failure not in NETWORK_FAILURES or compat.shortage_in(exception) or origin is None:
            return
        self._hear(request, origin, Standing.BROKEN, str(failure), is_clear=False)

    def _hear(
        self, request: Request, origin: Origin, says: Standing, why: str, *, is_clear: bool
    ) -> None:
        site = self.sites.get(origin)
        if request.meta.get(DONT_OBEY_META_KEY) or (site is None and says is Standing.OPEN):
            return
        site = site or Site()
        self.sites.put(origin, site)
        if not site.heard(request.url, says, why, is_clear=is_clear):
            return
        standing, crawl = site.standing, self._crawl
        crawl.get(Tally).note(origin, standing)
        crawl.stats.inc_value(stats.filled(stats.STANDINGS, standing))
        # Of a limit, the log tells when the host is asked less often.
        is_told = standing is not Standing.LIMITED and self._once.is_first((origin, standing))
        about = {"origin": origin, "is": standing, "why": printable(why, 100)}
        text = f"%(origin)s is %(is)s (%(why)s): {_WORDS[standing]}"
        logger(crawl.crawler).log(logging.INFO if is_told else logging.DEBUG, text, about)
        for listener in crawl.standing_listeners:
            listener(origin, site, request.url)
