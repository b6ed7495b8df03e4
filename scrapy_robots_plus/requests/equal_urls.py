"""``ROBOTS_CLEAN_PARAM``: of URLs that a site's Clean-param calls equal, one is requested."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy import signals

from scrapy_robots_plus import compat
from scrapy_robots_plus.crawl import stats
from scrapy_robots_plus.crawl.events import RobotsDuplicate
from scrapy_robots_plus.crawl.log import crawl_log
from scrapy_robots_plus.crawl.recent import Recent
from scrapy_robots_plus.crawl.requests import REDIRECT_META_KEY, SCHEDULED_META_KEY
from scrapy_robots_plus.origins.parsers import guarded
from scrapy_robots_plus.protocol.clean_param import CleanParams

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler

    from scrapy_robots_plus.origins.policy import Policy
    from scrapy_robots_plus.settings.robots_settings import RobotsSettings

logger = crawl_log(__name__)

_NO_RULES = CleanParams(())


class EqualUrls:
    """Remembers the URLs that were let through, and refuses others that are equal to one of them.

    Not a matter of request fingerprints: these are taken when a request is scheduled, before the
    rules of its site may be known, and must not change when they are.

    - A request that comes again, retried or requeued, is not a duplicate of itself, nor is one that
      it was redirected to.
    - Only what comes through the scheduler is refused, as by Scrapy's own filter of duplicates: not
      the requests of ``engine.download_async()``, nor those with ``dont_filter``.
    """

    MOST = 100_000
    """URLs that are remembered. Beyond that, those that were asked for longest ago are forgotten,
    and may be requested again.
    """

    SHORT = 100
    """Names of parameters up to which the rules of a file are kept for any number of hosts."""
    MOST_LONG = 8
    """Files with more whose rules are kept; those of others are read again."""

    def __init__(self, crawler: Crawler, settings: RobotsSettings) -> None:
        self._crawler = crawler
        self._stats = compat.stats_of(crawler)
        self._first: Recent[bytes, bytes] = Recent(self.MOST)
        """The fingerprint of a cleaned URL, and of the URL that was let through for it."""
        self._rules: Recent[str, CleanParams] = Recent(settings.cache_size)
        """By the hash of the file."""
        self._long: Recent[str, CleanParams] = Recent(self.MOST_LONG)
        """Those of long files, which take up to 9 MB each."""
        crawler.signals.connect(self._scheduled, signals.request_scheduled)

    def _scheduled(self, request: Request) -> None:
        """*request* goes to the scheduler."""
        if request.method in ("GET", "HEAD") and not request.body:
            request.meta[SCHEDULED_META_KEY] = True

    def let_through(self, request: Request, policy: Policy) -> None:
        """*request*, which was scheduled, is about to be sent. Raises RobotsDuplicate if it must
        not be.
        """
        cleaned = self._rules_of(policy).cleaned(request.url)
        if cleaned is None:
            return
        exact = self._fingerprint(request, request.url)
        equal = self._fingerprint(request, cleaned)
        first = self._first.get(equal, exact)
        self._first.put(equal, first)
        if not (first == exact or request.dont_filter or self._comes_from(first, request)):
            self._stats.inc_value(stats.CLEAN_PARAM_DROPPED)
            error = RobotsDuplicate(request.url, cleaned)
            logger(self._crawler).debug("Dropped: %s", error)
            raise error

    def _comes_from(self, first: bytes, request: Request) -> bool:
        """Whether *request* was redirected from the URL with that fingerprint."""
        urls = request.meta.get(REDIRECT_META_KEY) or ()
        return any(self._fingerprint(request, url) == first for url in urls)

    def _fingerprint(self, request: Request, url: str) -> bytes:
        """That of *request*, if it were for *url*."""
        request = request if url == request.url else request.replace(url=url)
        return compat.fingerprint(request, self._crawler)

    def _rules_of(self, policy: Policy) -> CleanParams:
        ours = policy.file.ours if policy.file else None
        if ours is None:
            return _NO_RULES
        key, url = policy.record.sha256, policy.record.url
        rules = self._rules.get(key, self._long.get(key))
        if rules is None:
            params = guarded(lambda: ours.file.clean_params, (), url, self._stats)
            rules = CleanParams(params) or _NO_RULES
        (self._long if len(rules) > self.SHORT else self._rules).put(key, rules)
        return rules
