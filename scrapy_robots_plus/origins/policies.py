"""The policies of a crawl: one per origin, fetched once however many requests wait for it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import lru_cache
from math import inf
from typing import NamedTuple, get_args

from scrapy import Request
from twisted.internet.defer import Deferred

from scrapy_robots_plus import compat
from scrapy_robots_plus.crawl import stats
from scrapy_robots_plus.crawl.crawl import Crawl, is_of_this_package
from scrapy_robots_plus.crawl.log import crawl_log
from scrapy_robots_plus.crawl.recent import Recent
from scrapy_robots_plus.crawl.requests import as_requested
from scrapy_robots_plus.protocol.access import Access
from scrapy_robots_plus.protocol.dialect import Dialect
from scrapy_robots_plus.protocol.origin import Origin
from scrapy_robots_plus.protocol.preferences import LABELS, Preference, Statement, combine
from scrapy_robots_plus.protocol.printable import printable
from scrapy_robots_plus.protocol.product_token import Agent
from scrapy_robots_plus.protocol.sent_forms import asks_for_robots_txt
from scrapy_robots_plus.protocol.verdict import Reason, Verdict
from scrapy_robots_plus.settings.all_settings import ContentUse, uses_of
from scrapy_robots_plus.settings.robots_settings import RobotsSettings
from scrapy_robots_plus.storage.record import RobotsRecord

from .agents import Agents
from .fetch_budget import FetchBudget
from .freshness import Source
from .parsers import ParsedFile
from .policy import Paces, Policy
from .store_or_site import Retrieval, Retrieved, charset_alone

TEXTS_PARSED = 64
"""How many override texts are kept parsed."""

NOT_READ = "not_read"
"""The preference for a use if it is not known what the robots.txt says about it."""

USES = (*LABELS, *(uses_of((), each)[0] for each in get_args(ContentUse)))
"""The uses that :meth:`Policies.may` can be asked about."""


class Permission(NamedTuple):
    """The answer of :meth:`~scrapy_robots_plus.origins.policies.Policies.may`.

    It is true unless the page must not be fetched (RFC 9309) or somebody objects to its use: an
    unknown preference restricts nothing.
    """

    url: str
    """The URL of the page, as a request would have it."""
    use: str
    """The use that was asked about."""
    preference: str
    """``allow``, ``disallow``, ``unknown``, or ``not_read`` if the site's files were not read."""
    statement: Statement | None
    """The first statement with that preference; it has a ``source`` and ``text``. None if none."""
    statements: tuple[Statement, ...]
    """All statements about the page, whatever the use."""
    verdict: Verdict
    """Whether the page may be fetched, and why."""

    def __bool__(self) -> bool:
        return self.verdict.allowed and self.preference != Preference.DISALLOW.value


logger = crawl_log(__name__)

LEAST_PAUSE = 0.1
"""Minimum seconds between two fetches of an unreadable robots.txt, whatever its error TTL."""


class Fetch:
    """A fetch under way. It is not in the cache, so that an eviction leaves no waiter behind."""

    def __init__(self, request: Request | None, known: Policy | None = None) -> None:
        self.request = request
        """The request that started it, for Scrapy's ``robots_parsed``."""
        self.known = known
        """The expired policy that it revalidates, which may have left the memory by then."""
        self.waiters: list[Deferred[Policy | None]] = []
        """One Deferred per waiter: a shared one would give its result to the first waiter only."""
        self.running: Deferred[None]
        """The fetch itself, from when it is started."""
        self.policy: Policy | None = None
        """The result of the fetch, once it has ended."""

    def answer(self, policy: Policy | None) -> None:
        waiters, self.waiters = self.waiters, []
        for waiter in waiters:
            waiter.callback(policy)


class Policies:
    """What a crawl knows about robots.txt files, by origin (RFC 9309 2.3).

    In code, it is ``crawler.get_downloader_middleware(RobotsMiddleware).policies``. Iterating over
    it yields the :class:`~scrapy_robots_plus.Policy` of every origin in memory.
    """

    def __init__(self, crawl: Crawl) -> None:
        self._crawl = crawl
        self._settings = settings = crawl.settings
        self._retrieval = crawl.get(Retrieval)
        self._budget = crawl.get(FetchBudget)
        self._agents = crawl.get(Agents)
        self._view = lru_cache(settings.cache_size)(self._new_view)
        self._paces = lru_cache(settings.cache_size)(lambda _: Paces())
        """The paces of an origin without a fetched policy. All its views share them."""
        self._read = lru_cache(TEXTS_PARSED)(self._parsed)
        self._recent: Recent[Origin, Policy] = Recent(settings.cache_size)
        """Fetched policies, the one used last at the end."""
        self._fetches: dict[Origin, Fetch] = {}
        self._closing_watch = compat.ClosingWatch(
            crawl.crawler, self._call_off, crawl.errors.repeat
        )
        self.listeners: list[Callable[[Origin, Policy | None], None]] = []
        """Functions called when a fetch has ended, with its origin and its policy."""
        self.said: Recent[str, tuple[Statement, ...]] = Recent(settings.cache_size)
        """What pages have said about their use, by URL, if the crawl declares a use."""
        self.waiting = 0
        """How many requests wait in the middleware for a robots.txt."""

    def __iter__(self) -> Iterator[Policy]:
        return iter(list(self._recent.values()))

    async def allowed(self, url: str, agent: Agent | None = None) -> bool:
        """Returns whether a request for *url* would pass, fetching its robots.txt if needed.

        *agent* is a product token, a User-Agent header or a list of names; None means the crawl's
        own. URLs that are not http or https are allowed. Raises ValueError if *url* is not
        absolute, has no host or has an impossible port.
        """
        return (await self.verdict(url, agent)).allowed

    async def verdict(self, url: str, agent: Agent | None = None) -> Verdict:
        """Returns whether a request for *url* would pass, and why; see :meth:`allowed`."""
        url = as_requested(url)
        origin = Origin.of(url)
        if origin is None:
            return Verdict(allowed=True, reason=Reason.NOT_HTTP)
        if asks_for_robots_txt(url) and self.usable(origin) is None:
            # 2.2.2: implicitly allowed. A middleware that asks about every request also asks about
            # our own, which would then wait for itself.
            robots_url = origin.robots_url
            return Verdict(allowed=True, reason=Reason.ROBOTS_TXT, robots_url=robots_url)
        policy = await self.obtain(origin)
        is_unread = policy is None or policy.denies_as_unreachable
        if is_unread and self._crawl.is_closing:
            compat.mark_scraped_as_unfinished(self._crawl.crawler)
        if policy is None:
            return closing_verdict(origin)
        names = self._agents.asked_for(agent, policy.settings)
        if agent is None:
            policy.enforce(names)  # so that ``Policy.delay`` shows it
        return policy.verdict(url, names)

    async def may(self, url: str, use: str, agent: Agent | None = None) -> Permission:
        """Returns whether the page at *url* may be used for *use*, fetching robots.txt if needed.

        *use* is ``train-ai``, ``ai-use``, ``search``, or how far the page is used, such as
        ``use=full``; *agent* is as in :meth:`verdict`. The answer rests on what the site says about
        the URL and, if the crawl declares a use (``ROBOTS_AI_USES``), on what the page itself said
        when it was last fetched. The page is not fetched, and a ``tdmrep.json`` only if the crawl
        declares a use. Raises ValueError if *url* is invalid, or *use* is unknown.
        """
        if use not in USES:
            raise ValueError(f"unknown use {use!r}; expected one of {', '.join(USES)}")
        url = as_requested(url)
        verdict = await self.verdict(url, agent)
        origin = Origin.of(url)
        policy = None if origin is None else self.usable(origin)
        if policy is None:
            return Permission(url, use, NOT_READ, None, (), verdict)
        names = self._agents.asked_for(agent, policy.settings)
        said = combine((*policy.preferences(url, names).statements, *self.said.get(url, ())))
        statement = said.decisive(use)
        is_read = policy.reads_uses or any(each.category == use for each in said.statements)
        nothing = Preference.UNKNOWN.value if is_read else NOT_READ
        preference = statement.preference.value if statement else nothing
        return Permission(url, use, preference, statement, said.statements, verdict)

    def usable(self, origin: Origin, settings: RobotsSettings | None = None) -> Policy | None:
        """Returns the policy of *origin* if it may answer now, else None. Starts no fetch.

        *settings* are those of a request, if they are not those of its origin.
        """
        settings = settings or self._settings.for_origin(origin)
        policy = self._recent.get(origin)
        if policy is not None and policy.settings is settings and policy.fresh_for > 0:
            return policy  # the usual case
        if settings.needs_file and (policy is None or not policy.may_answer):
            return None
        return self._under(settings, origin, policy)

    @property
    def awaited(self) -> bool:
        """Whether any request waits for a fetch."""
        waiters = (waiter for fetch in self._fetches.values() for waiter in fetch.waiters)
        return any(not waiter.called for waiter in waiters)  # cancelled waiters count as called

    def is_fetching(self, origin: Origin) -> bool:
        return origin in self._fetches

    def prefetch(self, origin: Origin, request: Request) -> None:
        """Starts a fetch that no request waits for; *request* is the one that will need it.

        The fetch takes one of the ``ROBOTS_FETCH_CONCURRENCY`` places at once.
        """
        if origin not in self._fetches:
            self._budget.take(origin)
            self._start_fetch(origin, Fetch(request))

    def usable_or_refresh(
        self, origin: Origin, request: Request | None, settings: RobotsSettings
    ) -> Policy | None:
        """Returns what :meth:`usable` does, and starts a refresh if that has expired."""
        policy = self._recent.get(origin)
        if policy is not None and policy.settings is settings and policy.fresh_for > 0:
            self._recent.move_to_end(origin)  # the usual case
            return policy
        usable = self.usable(origin, settings)
        if usable is not None and settings.needs_file:
            self._recent.move_to_end(origin)
            if self._recent[origin].fresh_for <= 0 and origin not in self._fetches:
                self._crawl.stats.inc_value(stats.REFRESHES)
                self._start_fetch(origin, Fetch(request))
        return usable

    async def obtain(
        self, origin: Origin, request: Request | None = None, settings: RobotsSettings | None = None
    ) -> Policy | None:
        """Returns the policy of *origin*, fetching it if needed; None if the crawl closes first."""
        settings = settings or self._settings.for_origin(origin)
        policy = self.usable_or_refresh(origin, request, settings)
        if policy is not None:
            return policy
        if self._crawl.is_closing:
            return None
        waiter: Deferred[Policy | None] = Deferred()
        fetch = self._fetches.get(origin) or Fetch(request)
        fetch.waiters.append(waiter)
        if origin not in self._fetches:
            self._start_fetch(origin, fetch)
        policy = await compat.wait_for(waiter)
        return policy and self._under(settings, origin, policy)

    def _under(self, settings: RobotsSettings, origin: Origin, fetched: Policy | None) -> Policy:
        """Returns *fetched* under *settings*, or a policy without a file if they need none.

        All policies made from one share its paces.
        """
        if fetched is not None and fetched.settings is settings:
            return fetched
        return self._view(settings, origin, fetched)

    def _new_view(self, settings: RobotsSettings, origin: Origin, fetched: Policy | None) -> Policy:
        """Makes the policy for settings other than those of a fetch. ``_view`` caches this."""
        if fetched is not None and settings.needs_file:
            return fetched.under(settings)
        now, url, text = self._crawl.clock.wall(), origin.robots_url, settings.robots_txt
        if text is None:
            file, record = None, RobotsRecord(origin, Access.UNAVAILABLE, 404, url, now, inf)
        else:
            file, body = self._read(text, settings.dialect)
            # Without a charset, some dialects would read another one.
            headers, digest = charset_alone("utf-8"), hashlib.sha256(body).hexdigest()
            record = RobotsRecord(
                origin, Access.RULES, 200, url, now, inf, headers, digest, body=body
            )
        paces = fetched.paces if fetched else self._paces(origin)
        clock, collector, source = self._crawl.clock, self._crawl.stats, Source.OVERRIDE
        policy = Policy(record, file, settings, clock, collector, source=source, paces=paces)
        if text is not None:
            self._retrieval.tell(Retrieved(None, policy, record))
        return policy

    def _parsed(self, text: str, dialect: Dialect) -> tuple[ParsedFile | None, bytes]:
        """Parses an override's *text*. ``_read`` caches this: many hosts may share one text."""
        body, subject = text.encode("utf-8", "replace"), "the robots_txt of an override"
        return self._retrieval.parsers.file_of(body, "utf-8", dialect, subject)[0], body

    def _start_fetch(self, origin: Origin, fetch: Fetch) -> None:
        """Starts the fetch independently of the request that needs it, which may be cancelled."""
        self._fetches[origin] = fetch
        self._closing_watch.start()
        fetch.running = compat.run_in_background(self._run_fetch(origin, fetch))
        fetch.running.addErrback(lambda failure: self._interrupted(origin, failure.value))

    async def _run_fetch(self, origin: Origin, fetch: Fetch) -> None:
        previous = fetch.known or self._recent.get(origin)
        try:
            try:
                fetch.policy = await self._retrieval.retrieve(origin, previous)
            finally:  # also if it is cancelled or fails
                fetch.policy = fetch.policy or self._retrieval.failed(origin, previous)
                self._recent.put(origin, fetch.policy)
            await self._announce(fetch.policy, previous, fetch.request)
        except Exception as error:  # noqa: BLE001 - whatever it is
            self._interrupted(origin, error)
        finally:
            self._end_fetch(origin, fetch)
            self._revalidate(origin, fetch)

    def _revalidate(self, origin: Origin, fetch: Fetch) -> None:
        """Starts a refresh if *fetch* found an expired policy in the store.

        The next request may not: with many origins, the policy may have left the memory by then,
        and come from the store again, expired.
        """
        policy = fetch.policy
        if policy is None or policy.source is not Source.STORE or policy.fresh_for > 0:
            return
        is_first = fetch.known is None and origin not in self._fetches
        if is_first and not self._crawl.is_closing:
            self._crawl.stats.inc_value(stats.REFRESHES)
            self._start_fetch(origin, Fetch(fetch.request, policy))

    def _interrupted(self, origin: Origin, error: BaseException | None) -> None:
        """Logs that a fetch was interrupted, unless by the closing crawl.

        A bug in this package closes the crawl, so that waiting requests stay and are not denied.
        """
        if error is not None and is_of_this_package(error):
            self._crawl.errors.tell("the fetch of a robots.txt", error)
        elif not (isinstance(error, compat.CANCELLED) and self._crawl.is_closing):
            logger(self._crawl.crawler).error(
                "Fetching the robots.txt of %s was interrupted: %s",
                printable(origin),
                printable(repr(error)),
            )

    async def _announce(
        self, policy: Policy, previous: Policy | None, request: Request | None
    ) -> None:
        """Sends Scrapy's ``robots_parsed`` for newly parsed rules, not for unchanged ones."""
        file, signal = policy.file, compat.robots_parsed
        if file is None or (previous is not None and file is previous.file):
            return
        if signal is not None and request is not None:
            await self._crawl.crawler.signals.send_catch_log_async(
                signal, robotparser=file.parser, request=request
            )

    def _end_fetch(self, origin: Origin, fetch: Fetch) -> None:
        del self._fetches[origin]
        if not self._fetches:
            self._closing_watch.stop()
        with ExitStack() as told:  # an error of one listener keeps it from no other
            told.callback(lambda: fetch.answer(None))  # whoever an error has left waiting
            # Last: without asyncio, a waiter goes on, and to the door, as soon as it is answered.
            told.callback(lambda: fetch.answer(None if self._crawl.is_closing else fetch.policy))
            for listener in reversed(self.listeners):
                told.callback(listener, origin, fetch.policy)

    def _call_off(self) -> None:
        """Answers all waiters and cancels all fetches at closing, as the engine waits for both."""
        for origin, fetch in list(self._fetches.items()):
            self._retrieval.announce(origin)
            fetch.answer(None)
            fetch.running.cancel()


def closing_verdict(origin: Origin) -> Verdict:
    """Returns the verdict if the spider closes before the robots.txt of *origin* was read."""
    return Verdict(allowed=False, reason=Reason.CLOSING, robots_url=origin.robots_url)
