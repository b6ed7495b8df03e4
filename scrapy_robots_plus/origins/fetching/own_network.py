"""Whether a failure to reach a site says something about the site, or about this crawl."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from scrapy import signals

from scrapy_robots_plus.protocol.access import Failure

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from scrapy_robots_plus.crawl.clock import Now
    from scrapy_robots_plus.protocol.access import Outcome

SECONDS = 60.0
"""How long ago an answer of any site shows that the network works."""

NETWORK_FAILURES = frozenset({Failure.DNS, Failure.CONNECTION, Failure.TIMEOUT})
"""What a fetch ends in if this crawl has no network, among other causes."""


class OwnNetwork:
    """A worker that has lost its network must not tell the others that all sites are down."""

    def __init__(self, crawler: Crawler, now: Now) -> None:
        """*now*: monotonic."""
        self._now = now
        self._answered_at = -inf
        crawler.signals.connect(self._answered, signals.response_downloaded)

    def may_be_why(self, failure: Outcome) -> bool:
        """Whether *failure* may be the fault of this crawl rather than of the site."""
        if failure is Failure.ERROR:
            return True
        silent = self._now() - self._answered_at > SECONDS
        return failure in NETWORK_FAILURES and silent

    def _answered(self) -> None:
        self._answered_at = self._now()
