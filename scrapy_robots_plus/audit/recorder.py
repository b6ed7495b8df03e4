"""The records of a crawl, its audit log and its WARC file: opened, written and closed with it."""

from __future__ import annotations

import logging
from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path
from typing import Any
from uuid import uuid4
from weakref import WeakKeyDictionary

from scrapy import Request, Spider, signals
from scrapy.utils.python import global_object_name

from scrapy_robots_plus import compat
from scrapy_robots_plus._version import __version__
from scrapy_robots_plus.crawl import stats
from scrapy_robots_plus.crawl.crawl import Crawl
from scrapy_robots_plus.crawl.log import Once, crawl_log
from scrapy_robots_plus.crawl.recent import Recent
from scrapy_robots_plus.crawl.requests import DONT_OBEY_META_KEY, STAMP_META_KEY, valid_origin_of
from scrapy_robots_plus.origins.agents import Agents
from scrapy_robots_plus.origins.fetcher import Fetcher
from scrapy_robots_plus.origins.parsers import charset_of
from scrapy_robots_plus.origins.policy import Passes, Policy, Refused
from scrapy_robots_plus.origins.store_or_site import Retrieval, Retrieved
from scrapy_robots_plus.origins.tally import Tally
from scrapy_robots_plus.protocol.origin import Origin
from scrapy_robots_plus.protocol.printable import picked, printable
from scrapy_robots_plus.protocol.product_token import AgentNames
from scrapy_robots_plus.protocol.standing import Site
from scrapy_robots_plus.protocol.verdict import Reason, Verdict
from scrapy_robots_plus.settings.checks import filled_in
from scrapy_robots_plus.settings.scrapys_own import class_in

from .bodies import Bodies
from .entries import CrawlEntry, EndEntry, Entry, FileEntry, StandingEntry, VerdictEntry, as_logged
from .log import BATCH, AuditLog
from .warc import Warc

logger = crawl_log(__name__)

SECONDS_BETWEEN_WRITES = 0.5
"""The interval between writes. A crash of the process loses what came in since the last one."""


class Audit:
    """The writer of the audit log and the WARC file, if the settings name them.

    Errors are logged and counted, and never end the crawl.
    """

    def __init__(self, crawl: Crawl) -> None:
        self.crawl = crawl
        self._once = Once()
        self._logs: list[AuditLog | Warc] = []
        self._recorder: Recorder | None = None
        self._stop_writing: Callable[[], None] | None = None
        crawl.crawler.signals.connect(self._spider_opened, signals.spider_opened)
        crawl.crawler.signals.connect(self._spider_closed, signals.spider_closed)

    def _spider_opened(self, spider: Spider) -> None:
        crawl, settings = self.crawl, self.crawl.settings
        if not crawl.has_middleware:
            return
        now = crawl.clock.wall()
        if settings.audit_log:
            self._recorder = Recorder(self, filled_in(settings.audit_log, spider.name, now))
            self._logs.append(self._recorder.log)
        if settings.audit_warc:
            warc = Warc(filled_in(settings.audit_warc, spider.name, now), self.warn)
            crawl.get(Fetcher).listeners.append(self.survives(warc.add))
            self._logs.append(warc)
        write = self.survives(self._write)
        write()
        self._stop_writing = compat.repeat(SECONDS_BETWEEN_WRITES, write)

    def _spider_closed(self, reason: str) -> None:
        if self._stop_writing is None:
            return
        self._stop_writing()
        if self._recorder is not None:
            self._recorder.end(reason)
        self._write()
        for log in self._logs:
            log.close()
            if log.errors:
                self.crawl.stats.inc_value(stats.AUDIT_ERRORS, log.errors)
            if log.lost:
                self.crawl.stats.inc_value(stats.AUDIT_LOST, log.lost)
            if isinstance(log, AuditLog):
                written = log.last.number + 1
                self.crawl.stats.set_value(stats.AUDIT_LINES, written)
                if written:
                    text = "%s: %d lines written; the last is number %d, its hash is %s"
                    logger(self.crawl.crawler).info(text, log.path, written, *log.last)

    def _write(self) -> None:
        for log in self._logs:
            log.flush()

    def warn(self, text: str) -> None:
        logger(self.crawl.crawler).warning("%s", printable(text))

    def survives(self, action: Callable[..., None]) -> Callable[..., None]:
        """Wraps *action* to count and log its exceptions, the first at ERROR, others at DEBUG."""

        def guarded(*about: Any) -> None:
            try:
                action(*about)
            except Exception:  # noqa: BLE001 - an audit log is not worth a crawl
                level = logging.ERROR if self._once.is_first() else logging.DEBUG
                self.crawl.stats.inc_value(stats.AUDIT_ERRORS)
                text = "An entry is missing from the audit log"
                logger(self.crawl.crawler).log(level, text, exc_info=True)

        return guarded


class Recorder:
    """The listener that adds the events of one crawl to its audit log."""

    MOST_UNSTORED = 100
    """How many texts wait until they can be stored. Beyond that, the oldest are lost."""

    def __init__(self, audit: Audit, path: Path) -> None:
        crawl, survives = audit.crawl, audit.survives
        self._crawl = crawl
        self._name = uuid4().hex[:12]
        self._share = crawl.settings.audit_log_allowed
        self._under_way: WeakKeyDictionary[Request, VerdictEntry] = WeakKeyDictionary()
        """Entries of allowed requests that were not yet handed to a download handler."""
        kept = crawl.settings.audit_bodies
        folder = Path(kept).absolute() if isinstance(kept, str) else path.with_suffix(".bodies")
        self._bodies = Bodies(folder) if kept else None
        self._unstored: Recent[str, bytes] = Recent(self.MOST_UNSTORED)
        self.log = AuditLog(path, lambda: self._begin(path), audit.warn)
        self._knows_departures = compat.watch_handovers(crawl.crawler, survives(self._handed_over))
        crawl.decision_listeners.append(survives(self._decided))
        crawl.exemption_listeners.append(survives(self._exempted))
        crawl.standing_listeners.append(survives(self._stands_otherwise))
        crawl.get(Retrieval).listeners.append(survives(self._retrieved))

    def _in_all(self) -> dict[str, Any]:
        """Returns the fields that all entries of this crawl have, with the current time."""
        return {"time": self._crawl.clock.wall(), "crawl": self._name}

    def _add(self, entry: Entry) -> None:
        self.log.add(entry)
        if len(self.log.waiting) % BATCH == 0:
            self.log.flush()

    # The crawl begins and ends

    def _begin(self, log: Path) -> CrawlEntry:
        crawler, settings = self._crawl.crawler, self._crawl.settings
        return CrawlEntry(
            **self._in_all(),
            spider=crawler.spider.name if crawler.spider else "",
            version=__version__,
            agent=self._crawl.get(Agents).default,
            parser=global_object_name(class_in(crawler.settings, "ROBOTSTXT_PARSER")),
            dialect=settings.dialect._asdict(),
            **picked(settings, "mode", "obey", "status_policy", "crawl_delay_obey"),
            **picked(settings, "crawl_delay_max", "crawl_delay_too_long", "stale_max"),
            **picked(settings, "ai_uses", "content_use", "ai_policy"),
            use_tokens=settings.ai_tokens,
            overrides={each: value.as_json() for each, value in settings.overrides.items()} or None,
            allowed_share=settings.audit_log_allowed,
            bodies=None if self._bodies is None else self._bodies.as_seen_from(log),
        )

    def end(self, reason: str) -> None:
        """Adds the last line, after all others."""
        if self._bodies is not None:
            self._store_all(self._bodies)
        self.log.flush()
        tally = self._crawl.get(Tally)
        entry = EndEntry(
            **self._in_all(),
            reason=reason,
            allowed=tally.allowed + tally.skipped_pages,
            denied=tally.denied,
            dont_obey=tally.not_asked,
            lost=self.log.lost,
        )
        self.log.add(entry)

    # A robots.txt

    def _retrieved(self, retrieved: Retrieved) -> None:
        before, policy, record = retrieved.previous, retrieved.policy, retrieved.record
        previous, changed = None, False
        if before is not None:
            previous = before.record.sha256 or None
            changed = (before.record.sha256, before.access) != (record.sha256, policy.access)
        delay = policy.pace_of(self._crawl.get(Agents).default).delay
        entry = FileEntry(
            **self._in_all(),
            origin=str(policy.origin),
            source=policy.source,
            detail=policy.detail or None,
            changed=changed,
            previous=previous,
            delay_asked=None if delay is None else delay.asked,
            **_about(policy),
        )
        self._add(entry)
        # An unchanged file may come without its text; an empty body with a new hash is its text.
        if record.sha256 and (record.body or record.sha256 != previous):
            self._store(record.sha256, record.body)

    def _store(self, digest: str, body: bytes) -> None:
        if self._bodies is not None:
            self._unstored.put(digest, body)
            self._store_all(self._bodies)

    def _store_all(self, bodies: Bodies) -> None:
        """Stores the texts that wait, the oldest first. What fails waits on: a disk may be full."""
        try:
            for digest, body in list(self._unstored.items()):
                bodies.put(digest, body)
                del self._unstored[digest]
        except OSError as error:
            where, why = bodies.folder, error.strerror or error
            self.log.went_wrong(f"a robots.txt cannot be stored in {where} ({why})")

    # A request

    def _decided(
        self, request: Request, origin: Origin, agent: AgentNames, decision: Passes | Refused
    ) -> None:
        self._under_way.pop(request, None)
        if isinstance(decision, Passes) and not is_in_share(request.url, self._share):
            return
        policy, verdict = decision.policy, decision.verdict
        about: dict[str, Any] = {"robots_url": verdict.robots_url}
        if policy is not None:
            about = _about_decision(policy, verdict)
            if (text := policy.settings.robots_txt) is not None:  # it is never retrieved again
                self._store(policy.record.sha256, text.encode("utf-8", "replace"))
        self._add_verdict(request, verdict, {"origin": str(origin), "agent": agent, **about})

    def _exempted(self, request: Request) -> None:
        """Adds an allowed *request*, which was not judged because of ``dont_obey_robotstxt``."""
        origin = valid_origin_of(request)
        if origin is None or not is_in_share(request.url, self._share):
            return
        settings = self._crawl.settings.for_origin(origin)
        agent = self._crawl.get(Agents).of(request, settings)
        verdict = Verdict(allowed=True, reason=Reason.NOT_OBEYED)
        about = {"origin": str(origin), "agent": agent, "override": {DONT_OBEY_META_KEY: True}}
        self._add_verdict(request, verdict, about)

    def _add_verdict(self, request: Request, verdict: Verdict, about: dict[str, Any]) -> None:
        """Adds a denial at once, an allowed request when it is sent (if that can be seen)."""
        stamp = request.meta.get(STAMP_META_KEY) or {}
        entry = VerdictEntry(
            **self._in_all(),
            url=request.url,
            **picked(verdict, "allowed", "reason", "line", "form", "use", "source"),
            **as_logged(verdict.rule, verdict.group),
            statements=stamp.get("statements") or None,
            mode=self._crawl.settings.mode,
            **about,
        )
        if entry.allowed and self._knows_departures:
            self._under_way[request] = entry
        else:
            self._add(entry)

    def _handed_over(self, request: Request) -> None:
        entry = self._under_way.pop(request, None)
        if entry is not None:
            entry.sent = self._crawl.clock.wall()
            self._add(entry)

    # A site

    def _stands_otherwise(self, origin: Origin, site: Site, url: str) -> None:
        why: dict[str, Any] = {"standing": site.standing, "why": site.why, "url": url}
        self._add(StandingEntry(**self._in_all(), origin=str(origin), **why))


def is_in_share(url: str, share: float) -> bool:
    """Returns whether *url* is in a *share*, from 0 to 1, of all URLs: always the same ones."""
    digest = blake2b(url.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big") < share * 2**64


def _about(policy: Policy) -> dict[str, Any]:
    """Returns the fields that describe the robots.txt of *policy*."""
    record, needs_file = policy.record, policy.settings.needs_file
    return {
        "robots_url": record.url,
        "status": str(record.outcome) if needs_file else None,
        "failure": None if record.failure is None else str(record.failure),
        "access": policy.access,
        "sha256": record.sha256 or None,
        "charset": charset_of(record.headers) if record.headers else None,
        "fetched_at": record.fetched_at if needs_file else None,
    }


def _about_decision(policy: Policy, verdict: Verdict) -> dict[str, Any]:
    """Returns the fields that describe *policy* in the entry of a verdict."""
    settings = policy.settings
    has_file = settings.needs_file or settings.robots_txt is not None
    return {
        "override": None if settings.override is None else settings.override.as_json(),
        "delay": policy.delay if verdict.delay is None else verdict.delay,
        "age": round(policy.age, 3) if settings.needs_file else None,
        **(_about(policy) if has_file else {}),
    }
