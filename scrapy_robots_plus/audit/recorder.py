"""The records of a crawl, from its first to its last moment: the audit log, and the WARC file."""

from __future__ import annotations

import logging
from functools import wraps
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, ParamSpec
from uuid import uuid4
from weakref import WeakKeyDictionary

from scrapy import Request, Spider, signals
from scrapy.utils.asyncio import AsyncioLoopingCall, create_looping_call

from scrapy_robots_plus._version import __version__
from scrapy_robots_plus.crawl import stats
from scrapy_robots_plus.crawl.log import Once, crawl_log
from scrapy_robots_plus.crawl.requests import TAP_META_KEY, valid_origin_of
from scrapy_robots_plus.origins.fetching.fetcher import Fetcher
from scrapy_robots_plus.origins.policy import Passes, Policy, Refused
from scrapy_robots_plus.origins.retrieval import Retrieval, Retrieved
from scrapy_robots_plus.pages.page_preferences import PagePreferences, Sent
from scrapy_robots_plus.protocol.preferences import Statement, combine
from scrapy_robots_plus.protocol.printable import printable
from scrapy_robots_plus.settings.checks import filled_in

from .bodies import Bodies, folder_beside
from .crawl_entries import Entries
from .log import BATCH, AuditLog
from .warc import Warc

if TYPE_CHECKING:
    from collections.abc import Callable

    from twisted.internet.task import LoopingCall

    from scrapy_robots_plus.crawl.crawl import Crawl
    from scrapy_robots_plus.pages.middleware import Page
    from scrapy_robots_plus.protocol.origin import Origin
    from scrapy_robots_plus.protocol.product_token import AgentNames
    from scrapy_robots_plus.protocol.standing import Site

    from .entries import Entry, VerdictEntry

logger = crawl_log(__name__)

_P = ParamSpec("_P")


class Problems:
    """Those of one crawl."""

    def __init__(self, crawl: Crawl) -> None:
        self._crawl = crawl
        self._crawler = crawl.crawler
        self._once = Once()

    def warn(self, text: str) -> None:
        """Logs *text*, which begins with the path of the file, at WARNING."""
        logger(self._crawler).warning("%s", printable(text))

    def warn_once(self, text: str) -> None:
        """The same, the first time only."""
        if self._once.is_first(text):
            self.warn(text)

    def count(self, errors: int = 1) -> None:
        if errors:
            self._crawl.stats.inc_value(stats.AUDIT_ERRORS, errors)

    def never_fatal(self, action: Callable[_P, None]) -> Callable[_P, None]:
        """*action*; the crawl survives its exceptions. They are logged, the first at ERROR."""

        @wraps(action)
        def guarded(*args: _P.args, **kwargs: _P.kwargs) -> None:
            try:
                action(*args, **kwargs)
            except Exception:  # noqa: BLE001 - an audit log is not worth a crawl
                level = logging.ERROR if self._once.is_first() else logging.DEBUG
                self.count()
                logger(self._crawler).log(level, "The audit log misses something", exc_info=True)

        return guarded


class Recorder:
    """The audit log of one crawl: what is written to it, and when."""

    def __init__(self, crawl: Crawl, path: Path, problems: Problems) -> None:
        self._crawl = crawl
        self._problems = problems
        self._entries = Entries(crawl, uuid4().hex[:12])
        self._enforces = crawl.settings.enforces
        self._share = crawl.settings.audit_log_allowed
        self._under_way: WeakKeyDictionary[Request, VerdictEntry] = WeakKeyDictionary()
        """Requests with a verdict that no download handler has got yet."""
        self._sent: WeakKeyDictionary[Request, float] = WeakKeyDictionary()
        """When requests were sent, in seconds since the epoch: a verdict may come later."""
        self._own_texts: set[str] = set()
        """Hashes of the texts of overrides that are stored."""
        self._bodies = bodies = _bodies_of(crawl.settings.audit_bodies, path)
        begin = self._entries.begin(None if bodies is None else bodies.as_seen_from(path))
        self.log = AuditLog(path, begin, problems.warn, crawl.clock.wall)
        self._knows_departures = crawl.watch_handovers(problems.never_fatal(self._handed_over))
        crawl.decision_listeners.append(problems.never_fatal(self._decided))
        crawl.exemption_listeners.append(problems.never_fatal(self._exempted))
        crawl.page_listeners.append(problems.never_fatal(self._page_taken))
        crawl.standing_listeners.append(problems.never_fatal(self._stands_otherwise))
        crawl.get(PagePreferences).listeners.append(problems.never_fatal(self._said))
        self._in_hand = None if self._enforces else crawl.in_hand
        if self._in_hand is not None:
            self._in_hand.subscribe(problems.never_fatal(self._left))
        crawl.get(Retrieval).subscribe(problems.never_fatal(self._retrieved))

    def end(self, reason: str) -> None:
        """The last line, to be written by the next flush."""
        self.log.add(self._entries.end(reason))

    def tell(self) -> None:
        """After the log is closed: counts what was written, and names its last line."""
        log, collector = self.log, self._crawl.stats
        collector.set_value(stats.AUDIT_LINES, log.written)
        if log.repairs:
            collector.set_value(stats.AUDIT_REPAIRS, log.repairs)
        if log.last is not None:
            logger(self._crawl.crawler).info(
                "%s: %d lines written; the last is number %d, its hash is %s",
                log.path,
                log.written,
                *log.last,
            )

    # What happens in the crawl

    def _decided(
        self, request: Request, origin: Origin, agent: AgentNames, decision: Passes | Refused
    ) -> None:
        self._under_way.pop(request, None)
        is_denied = isinstance(decision, Refused)
        if not (is_denied or is_in_share(request.url, self._share)):
            return
        entry = self._entries.verdict(request, origin, agent, decision)
        self._store_own_text(decision.policy)
        # In observe mode it may have been sent already, and somebody else may have answered it.
        entry.sent = self._sent.get(request)
        is_left = self._in_hand is not None and request not in self._in_hand
        is_never_sent = is_denied and (self._enforces or is_left)
        if entry.sent is None and not is_never_sent:
            self._add_when_sent(request, entry)
        else:
            self._add(entry)

    def _exempted(self, request: Request) -> None:
        origin = valid_origin_of(request)
        if origin is not None and is_in_share(request.url, self._share):
            self._add_when_sent(request, self._entries.not_judged(request, origin))

    def _add_when_sent(self, request: Request, entry: VerdictEntry) -> None:
        if self._knows_departures:
            self._under_way[request] = entry
        else:
            self._add(entry)

    def _handed_over(self, request: Request) -> None:
        now = self._crawl.clock.wall()
        entry = self._under_way.pop(request, None)
        if entry is not None:
            entry.sent = now
            self._add(entry)
        if TAP_META_KEY not in request.meta:
            self._sent[request] = now

    def _left(self, request: Request) -> None:
        """A denial has its line even if nothing sends the request."""
        entry = self._under_way.pop(request, None)
        if entry is not None and not entry.allowed:
            self._add(entry)

    def _page_taken(self, page: Page) -> None:
        self._add(self._entries.page(page))

    def _stands_otherwise(self, origin: Origin, site: Site, url: str) -> None:
        self._add(self._entries.standing(origin, site, url))

    def _said(self, request: Request, sent: Sent, statements: tuple[Statement, ...]) -> None:
        objects = combine(statements).objection(sent.policy.settings.uses) is not None
        if objects or (statements and is_in_share(request.url, self._share)):
            self._add(self._entries.said(request, sent, statements))

    def _retrieved(self, retrieved: Retrieved) -> None:
        self._add(self._entries.file(retrieved))
        if retrieved.record.body:
            self._store(retrieved.record.sha256, retrieved.record.body)

    def _store_own_text(self, policy: Policy | None) -> None:
        """Stores the text of an override, which is in no file of a site."""
        text = None if policy is None else policy.settings.robots_txt
        if policy is not None and text is not None and policy.record.sha256 not in self._own_texts:
            self._own_texts.add(policy.record.sha256)
            self._store(policy.record.sha256, text.encode("utf-8", "replace"))

    def _store(self, digest: str, body: bytes) -> None:
        if self._bodies is None:
            return
        try:
            self._bodies.put(digest, body)
        except OSError as error:
            self._problems.count()
            self._problems.warn_once(
                f"{self._bodies.folder}: a robots.txt cannot be stored ({error.strerror})"
            )

    def _add(self, entry: Entry) -> None:
        self.log.add(entry)
        if self.log.waiting % BATCH == 0:
            self.log.flush()


def _bodies_of(setting: bool | str, log: Path) -> Bodies | None:
    """Where ``ROBOTS_AUDIT_BODIES`` puts the texts; None for nowhere."""
    if isinstance(setting, str):
        return Bodies(Path(setting).absolute())
    return Bodies(folder_beside(log)) if setting else None


def is_in_share(url: str, share: float) -> bool:
    """Whether *url* is in a *share*, from 0 to 1, of all URLs: the same ones each time."""
    if share in (0, 1):
        return bool(share)
    digest = blake2b(url.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big") < share * 2**64


SECONDS_BETWEEN_WRITES = 0.5
"""A crash of the process loses what came in since the last write."""

_ATTEMPTS_AT_THE_END = 40
_SECONDS_BETWEEN_ATTEMPTS = 0.05
"""Another process may be writing to the file."""


class Audit:
    """Writes the audit log and the WARC file, if the settings name them."""

    def __init__(self, crawl: Crawl) -> None:
        self._crawl = crawl
        self._problems = Problems(crawl)
        self._logs: list[AuditLog | Warc] = []
        self._recorder: Recorder | None = None
        self._loop: AsyncioLoopingCall | LoopingCall | None = None
        crawl.crawler.signals.connect(self._spider_opened, signals.spider_opened)
        crawl.crawler.signals.connect(self._spider_closed, signals.spider_closed)

    def _spider_opened(self, spider: Spider) -> None:
        if not self._crawl.has_middleware:
            return
        settings, problems = self._crawl.settings, self._problems
        if settings.audit_log:
            path = self._path(settings.audit_log, spider)
            self._recorder = Recorder(self._crawl, path, problems)
            self._logs.append(self._recorder.log)
        if settings.audit_warc:
            path = self._path(settings.audit_warc, spider)
            warc = Warc(path, f"scrapy-robots-plus {__version__}", problems.warn)
            self._crawl.get(Fetcher).subscribe(problems.never_fatal(warc.add))
            self._logs.append(warc)
        write = problems.never_fatal(self._write)
        write()
        self._loop = create_looping_call(write)
        self._loop.start(SECONDS_BETWEEN_WRITES, now=False)

    async def _spider_closed(self, reason: str) -> None:
        if self._loop is None:
            return
        self._loop.stop()
        if self._recorder is not None:
            self._recorder.end(reason)
        for _ in range(_ATTEMPTS_AT_THE_END):
            self._write()
            if not any(log.is_locked_out for log in self._logs):
                break
            await self._crawl.clock.sleep(_SECONDS_BETWEEN_ATTEMPTS)
        for log in self._logs:
            log.close()
            self._problems.count(log.errors)
            if log.lost:
                self._crawl.stats.inc_value(stats.AUDIT_LOST, log.lost)
        if self._recorder is not None:
            self._recorder.tell()

    def _write(self) -> None:
        for log in self._logs:
            log.flush()

    def _path(self, setting: str, spider: Spider) -> Path:
        return filled_in(setting, spider.name, self._crawl.clock.wall())
