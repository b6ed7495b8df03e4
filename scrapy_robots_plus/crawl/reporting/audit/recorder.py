"""Connects a crawl to its audit log."""

from __future__ import annotations

import logging
from hashlib import blake2b
from typing import TYPE_CHECKING
from uuid import uuid4
from weakref import WeakKeyDictionary

from scrapy_robots_plus.audit.bodies import Bodies
from scrapy_robots_plus.audit.log import BATCH, AuditLog
from scrapy_robots_plus.crawl import compat, stats
from scrapy_robots_plus.crawl.gate.judge import Passes, Refused

from .entries import Entries
from .paths import as_seen_from, bodies_folder

if TYPE_CHECKING:
    from pathlib import Path

    from scrapy import Request

    from scrapy_robots_plus.audit.entries import Entry, VerdictEntry
    from scrapy_robots_plus.crawl.gate.crawl import Crawl
    from scrapy_robots_plus.crawl.policies.retrieval import Retrieved
    from scrapy_robots_plus.policy.origin import Origin
    from scrapy_robots_plus.protocol.product_token import AgentNames

    from .problems import Problems

logger = logging.getLogger(__name__)


class Recorder:
    """The audit log of one crawl: what is written to it, and when."""

    def __init__(self, crawl: Crawl, path: Path, problems: Problems) -> None:
        self._crawl = crawl
        self._problems = problems
        self._entries = Entries(crawl, uuid4().hex[:12])
        self._share = crawl.settings.audit_log_allowed
        self._under_way: WeakKeyDictionary[Request, VerdictEntry] = WeakKeyDictionary()
        """Allowed requests that no download handler has got yet."""
        folder = bodies_folder(crawl.settings.audit_bodies, path)
        self._bodies = None if folder is None else Bodies(folder)
        begin = self._entries.begin(as_seen_from(path, folder))
        self._log = AuditLog(path, begin, problems.warn)
        self._knows_departures = compat.watch_handovers(
            crawl.crawler, problems.never_fatal(self._handed_over)
        )
        crawl.subscribe_decisions(problems.never_fatal(self._decided))
        crawl.retrieval.subscribe(problems.never_fatal(self._retrieved))

    @property
    def waits(self) -> bool:
        """Whether another process is writing, so that something has to wait."""
        return self._log.is_locked_out

    def write(self) -> None:
        """Writes what waits."""
        self._log.flush()

    def end(self, reason: str) -> None:
        """The last line; :meth:`write` writes it."""
        self._log.add(self._entries.end(reason, self._log.lost))

    def close(self) -> None:
        """After the last :meth:`write`."""
        log = self._log
        log.close()
        collector = compat.stats_of(self._crawl.crawler)
        collector.set_value(stats.AUDIT_LINES, log.written)
        for key, count in ((stats.AUDIT_LOST, log.lost), (stats.AUDIT_REPAIRS, log.repairs)):
            if count:
                collector.set_value(key, count)
        self._problems.count(log.errors)
        if log.last is not None:
            logger.info(
                "%(path)s: %(lines)d lines written; the last is number %(number)d, its hash is "
                "%(hash)s",
                {
                    "path": log.path,
                    "lines": log.written,
                    "number": log.last.number,
                    "hash": log.last.hash,
                },
                extra={"spider": self._crawl.crawler.spider},
            )

    # What happens in the crawl

    def _decided(
        self, request: Request, origin: Origin, agent: AgentNames, decision: Passes | Refused
    ) -> None:
        if isinstance(decision, Refused):
            self._under_way.pop(request, None)
            self._add(self._entries.verdict(request, origin, agent, decision))
        elif self._share and is_in_share(request.url, self._share):
            entry = self._entries.verdict(request, origin, agent, decision)
            if self._knows_departures:
                self._under_way[request] = entry
            else:
                self._add(entry)

    def _handed_over(self, request: Request) -> None:
        if not self._under_way:
            return
        entry = self._under_way.pop(request, None)
        if entry is not None:
            entry.sent = self._crawl.clock.wall()
            self._add(entry)

    def _retrieved(self, retrieved: Retrieved) -> None:
        self._add(self._entries.file(retrieved))
        record = retrieved.record
        if self._bodies is None or not record.body:
            return
        try:
            self._bodies.put(record.sha256, record.body)
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
    if share >= 1:
        return True
    digest = blake2b(url.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big") < share * 2**64
