"""``ROBOTS_CLEAN_PARAM``: of the URLs that a site's Clean-param calls equal, one is requested."""

from __future__ import annotations

from scrapy import Request, signals
from scrapy.crawler import Crawler

from scrapy_robots_plus.crawl import stats
from scrapy_robots_plus.crawl.events import RobotsDuplicate
from scrapy_robots_plus.crawl.log import crawl_log
from scrapy_robots_plus.crawl.recent import Recent
from scrapy_robots_plus.crawl.requests import REDIRECT_META_KEY, SCHEDULED_META_KEY
from scrapy_robots_plus.origins.parsers import answer_or
from scrapy_robots_plus.origins.policy import Policy
from scrapy_robots_plus.protocol.clean_param import CleanParams
from scrapy_robots_plus.settings.robots_settings import RobotsSettings

logger = crawl_log(__name__)

_NO_RULES = CleanParams(())


class EqualUrls:
    """The URLs that were let through. Others that are equal to one of them are refused.

    Request fingerprints would not do: they are taken when a request is scheduled, when the rules of
    its site may not be known yet, and must not change later.

    - A request that comes again, retried or requeued, is not a duplicate of itself, nor is one that
      it was redirected to. Scrapy's own filter may drop that one, as another request for its URL
      was scheduled before. That other one is let through in its place if it still waits. If it was
      refused here, the redirected one is scheduled once more.
    - Only requests from the scheduler are refused, as by Scrapy's own duplicate filter: not those
      of ``engine.download_async()``, nor those with ``dont_filter``.
    """

    MOST = 100_000
    """The most URLs that are remembered. Those asked for longest ago are forgotten first, and may
    be requested again."""

    SHORT = 100
    """The most parameter names in a file that counts as short; the rules of as many such files are
    kept as ``ROBOTS_CACHE_SIZE`` allows."""
    MOST_LONG = 8
    """The most long files whose rules are kept; those of others are read again."""

    def __init__(self, crawler: Crawler, settings: RobotsSettings) -> None:
        self._crawler = crawler
        self._first: Recent[bytes, bytes] = Recent(self.MOST)
        """The fingerprints of URLs that were let through, by those of the cleaned URLs."""
        self._refused: Recent[bytes, bytes] = Recent(self.MOST)
        """The fingerprints of cleaned URLs, by those of the URLs that were refused."""
        self._sources: Recent[bytes, set[bytes]] = Recent(self.MOST)
        """The fingerprints of URLs that redirect to one that Scrapy's filter has dropped, by that
        of the latter."""
        self._rules: Recent[str, CleanParams] = Recent(settings.cache_size)
        """The rules of short files, by the hash of the file."""
        self._long: Recent[str, CleanParams] = Recent(self.MOST_LONG)
        """The rules of long files, by the hash of the file. They take up to 9 MB each."""
        crawler.signals.connect(self._scheduled, signals.request_scheduled)
        crawler.signals.connect(self._filtered, signals.request_dropped)

    def _scheduled(self, request: Request) -> None:
        """Marks *request* as scheduled, unless it is of a kind that is not compared."""
        if request.method in ("GET", "HEAD") and not request.body:
            request.meta[SCHEDULED_META_KEY] = True

    def let_through(self, request: Request, policy: Policy) -> None:
        """Remembers *request*, which was scheduled and is about to be sent.

        Raises RobotsDuplicate if it must not be.
        """
        cleaned = self._rules_of(policy).cleaned(request.url)
        if cleaned is None:
            return
        exact = self._fingerprint(request, request.url)
        equal = self._fingerprint(request, cleaned)
        first = self._first.get(equal, exact)
        self._first.put(equal, first)
        if not (first == exact or request.dont_filter or self._leads_to(first, request, exact)):
            self._refused.put(exact, equal)
            self._crawler.stats.inc_value(stats.CLEAN_PARAM_DROPPED)
            error = RobotsDuplicate(request.url, cleaned)
            logger(self._crawler).debug("Dropped: %s", error)
            raise error

    def _filtered(self, request: Request) -> None:
        """Handles *request*, which the scheduler has not taken: it may be the target of a redirect
        from the URL that was let through.
        """
        sources = self._sources_of(request)
        if sources:
            exact = self._fingerprint(request, request.url)
            self._sources.put(exact, sources)
            if self._first.get(self._refused.pop(exact, b"")) in sources:
                self._crawler.engine.crawl(request.replace(dont_filter=True))

    def take_back(self, request: Request, policy: Policy) -> bool:
        """Forgets *request*, which was let through and is not sent: it stands for no other URL.

        Returns whether it did.
        """
        cleaned = self._rules_of(policy).cleaned(request.url)
        if cleaned is None:
            return False
        equal = self._fingerprint(request, cleaned)
        stood = self._first.get(equal) == self._fingerprint(request, request.url)
        if stood:
            del self._first[equal]
        return stood

    def _leads_to(self, first: bytes, request: Request, exact: bytes) -> bool:
        """Returns whether the URL with the fingerprint *first* redirects to that of *request*,
        whose fingerprint is *exact*.
        """
        return first in self._sources.get(exact, ()) or first in self._sources_of(request)

    def _sources_of(self, request: Request) -> set[bytes]:
        """Returns the fingerprints of the URLs that *request* was redirected from."""
        urls = request.meta.get(REDIRECT_META_KEY) or ()
        return {self._fingerprint(request, url) for url in urls}

    def _fingerprint(self, request: Request, url: str) -> bytes:
        """Returns the fingerprint that *request* would have if it were for *url*."""
        request = request if url == request.url else request.replace(url=url)
        return self._crawler.request_fingerprinter.fingerprint(request)

    def _rules_of(self, policy: Policy) -> CleanParams:
        ours = policy.file.ours if policy.file else None
        if ours is None:
            return _NO_RULES
        key, url = policy.record.sha256, policy.record.url
        rules = self._rules.get(key, self._long.get(key))
        if rules is None:
            params = answer_or(lambda: ours.file.clean_params, (), url, self._crawler.stats)
            rules = CleanParams(params) or _NO_RULES
        (self._long if len(rules) > self.SHORT else self._rules).put(key, rules)
        return rules
