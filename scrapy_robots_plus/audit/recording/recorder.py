"""Connects a crawl to its audit log."""

from __future__ import annotations

import logging
from functools import wraps
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, ParamSpec
from uuid import uuid4
from weakref import WeakKeyDictionary

from scrapy_robots_plus import compat
from scrapy_robots_plus.audit.bodies import Bodies, folder_beside
from scrapy_robots_plus.audit.log import BATCH, AuditLog
from scrapy_robots_plus.crawl import stats
from scrapy_robots_plus.crawl.log import Once, crawl_log
from scrapy_robots_plus.crawl.requests import TAP_META_KEY, valid_origin_of
from scrapy_robots_plus.hosts.door import Door
from scrapy_robots_plus.hosts.downloader import RobotsDownloader
from scrapy_robots_plus.origins.retrieval import Retrieval
from scrapy_robots_plus.pages.page_preferences import PagePreferences
from scrapy_robots_plus.protocol.preferences import combine
from scrapy_robots_plus.protocol.printable import printable
from scrapy_robots_plus.requests.judge import Passes, Refused

from .entries import Entries

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy import Request

    from scrapy_robots_plus.audit.entries import Entry, VerdictEntry
    from scrapy_robots_plus.crawl.crawl import Crawl
    from scrapy_robots_plus.hosts.downloader import ActiveRequests
    from scrapy_robots_plus.origins.policy import Policy
    from scrapy_robots_plus.origins.retrieval import Retrieved
    from scrapy_robots_plus.pages.page_preferences import Sent
    from scrapy_robots_plus.pages.reading import Page
    from scrapy_robots_plus.protocol.origin import Origin
    from scrapy_robots_plus.protocol.preferences import Statement
    from scrapy_robots_plus.protocol.product_token import AgentNames
    from scrapy_robots_plus.protocol.standing import Site

logger = crawl_log(__name__)

_P = ParamSpec("_P")


class Problems:
    """Those of one crawl."""

    def __init__(self, crawl: Crawl) -> None:
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
            compat.stats_of(self._crawler).inc_value(stats.AUDIT_ERRORS, errors)

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


def bodies_folder(setting: bool | str, log: Path) -> Path | None:
    """Where ``ROBOTS_AUDIT_BODIES`` puts the texts; None for nowhere."""
    if isinstance(setting, str):
        return Path(setting).absolute()
    return folder_beside(log) if setting else None


def as_seen_from(log: Path, folder: Path | None) -> str | None:
    """How the log names *folder*: relative to its own folder, if it lies below that."""
    if folder is None:
        return None
    try:
        return folder.relative_to(log.parent).as_posix()
    except ValueError:
        return str(folder)


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
        folder = bodies_folder(crawl.settings.audit_bodies, path)
        self._bodies = None if folder is None else Bodies(folder)
        begin = self._entries.begin(as_seen_from(path, folder))
        self._log = AuditLog(path, begin, problems.warn, crawl.clock.wall)
        self._knows_departures = compat.watch_handovers(
            crawl.crawler, problems.never_fatal(self._handed_over)
        )
        crawl.decision_listeners.append(problems.never_fatal(self._decided))
        crawl.exemption_listeners.append(problems.never_fatal(self._exempted))
        crawl.page_listeners.append(problems.never_fatal(self._page_taken))
        if self._enforces:
            crawl.get(Door).walls.subscribe(problems.never_fatal(self._stands_otherwise))
        crawl.get(PagePreferences).listeners.append(problems.never_fatal(self._said))
        self._active = self._watched_active(crawl)
        crawl.get(Retrieval).subscribe(problems.never_fatal(self._retrieved))

    @property
    def waits(self) -> bool:
        """Whether another process is writing, so that something has to wait."""
        return self._log.is_locked_out

    def write(self) -> None:
        """Writes what waits."""
        self._log.flush()

    def end(self, reason: str) -> None:
        """The last line; :meth:`write` writes it."""
        self._log.add(self._entries.end(reason))

    def close(self) -> None:
        """After the last :meth:`write`."""
        log = self._log
        log.close()
        collector = compat.stats_of(self._crawl.crawler)
        collector.set_value(stats.AUDIT_LINES, log.written)
        if log.lost:
            collector.set_value(stats.AUDIT_LOST, log.lost)
        if log.repairs:
            collector.set_value(stats.AUDIT_REPAIRS, log.repairs)
        self._problems.count(log.errors)
        if log.last is not None:
            logger(self._crawl.crawler).info(
                "%(path)s: %(lines)d lines written; the last is number %(number)d, its hash is "
                "%(hash)s",
                {
                    "path": log.path,
                    "lines": log.written,
                    "number": log.last.number,
                    "hash": log.last.hash,
                },
            )

    def _watched_active(self, crawl: Crawl) -> ActiveRequests | None:
        """What the downloader has in hand; None if that is not to be known, or does not matter."""
        downloader = compat.engine_of(crawl.crawler).downloader
        if self._enforces or not isinstance(downloader, RobotsDownloader):
            return None
        downloader.active.subscribe(self._problems.never_fatal(self._left))
        return downloader.active

    # What happens in the crawl

    def _decided(
        self, request: Request, origin: Origin, agent: AgentNames, decision: Passes | Refused
    ) -> None:
        is_denied = isinstance(decision, Refused)
        if not is_denied and not is_in_share(request.url, self._share):
            self._under_way.pop(request, None)
            return
        entry = self._entries.verdict(request, origin, agent, decision)
        self._store_own_text(decision.policy)
        if is_denied and self._enforces:
            self._under_way.pop(request, None)
            entry.sent = self._sent.get(request)
            self._add(entry)
        elif not self._knows_departures:
            self._add(entry)
        elif request in self._sent:  # ROBOTS_MODE = "observe" holds up no request
            entry.sent = self._sent[request]
            self._add(entry)
        elif is_denied and self._active is not None and request not in self._active:
            self._add(entry)  # somebody else has answered or dropped it
        else:
            self._under_way[request] = entry

    def _exempted(self, request: Request) -> None:
        origin = valid_origin_of(request)
        if origin is None or not is_in_share(request.url, self._share):
            return
        entry = self._entries.not_judged(request, origin)
        if self._knows_departures:
            self._under_way[request] = entry
        else:
            self._add(entry)

    def _handed_over(self, request: Request) -> None:
        now = self._crawl.clock.wall()
        if self._under_way:
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
        self._log.add(entry)
        if self._log.waiting % BATCH == 0:
            self._log.flush()


def is_in_share(url: str, share: float) -> bool:
    """Whether *url* is in a *share*, from 0 to 1, of all URLs: the same ones each time."""
    if share in (0, 1):
        return bool(share)
    digest = blake2b(url.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big") < share * 2**64
