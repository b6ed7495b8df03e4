"""The numbers of allowed and denied requests by origin, for the table at the end of a crawl."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass

from scrapy import Request

from scrapy_robots_plus.crawl.crawl import Crawl
from scrapy_robots_plus.crawl.requests import START_META_KEY
from scrapy_robots_plus.protocol.origin import Origin
from scrapy_robots_plus.protocol.standing import Standing

from .policy import Policy


@dataclass(slots=True, repr=False)
class Row:
    """The numbers of one origin, with the latest policy of its robots.txt."""

    allowed: int = 0
    denied: int = 0
    policy: Policy | None = None
    given_up: bool = False
    """Whether requests were denied because the host had refused too many."""
    standing: Standing = Standing.OPEN
    """How the site treats the requests that its robots.txt allows."""


class Tally:
    """The numbers by origin, in bounded memory: the least recently used origins are added up."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._rows: OrderedDict[Origin, Row] = OrderedDict()
        self.forgotten = Row()
        """The sums over the origins that no longer have a row."""
        self.forgotten_origins = 0
        """How many origins :attr:`forgotten` sums up. One that comes back is counted again."""
        self.not_asked = 0
        """How many requests had ``dont_obey_robotstxt``. They are in no row."""
        self.not_followed = 0
        """How many requests were dropped because of pages with ``nofollow``."""
        self.not_indexed = 0
        """How many items were dropped because of pages with ``noindex``."""
        self.skipped_requests = 0
        """How many requests were denied because a file of the site objects to the crawl's use."""
        self.skipped_pages = 0
        """How many denied requests were sent, but their response objects to the crawl's use."""
        self._starts = Row()
        """The numbers of start requests, including those without an origin."""

    @classmethod
    def of_crawl(cls, crawl: Crawl) -> Tally:
        return cls(crawl.settings.cache_size)

    def exempt(self, request: Request) -> None:
        """Counts *request*, if it is a start request, as passed without a robots.txt check."""
        self._count(request, None, allowed=1)

    def allow(self, request: Request, origin: Origin, policy: Policy | None) -> None:
        """Counts *request* as allowed."""
        self._count(request, self._row(origin, policy), allowed=1)

    def deny(
        self, request: Request, origin: Origin, policy: Policy | None, *, given_up: bool = False
    ) -> None:
        """Counts *request* as denied."""
        row = self._row(origin, policy)
        row.given_up = row.given_up or given_up
        self._count(request, row, denied=1)

    def revoke(self, request: Request, origin: Origin) -> None:
        """Takes back that *request* was counted as allowed: it is not sent after all."""
        row = self._row(origin)  # a new one if the old one was forgotten
        self._count(request, row if row.allowed else self.forgotten, allowed=-1)

    def _count(self, request: Request, row: Row | None, allowed: int = 0, denied: int = 0) -> None:
        for each in (row, self._starts if request.meta.get(START_META_KEY) else None):
            if each is not None:
                each.allowed = max(0, each.allowed + allowed)
                each.denied += denied

    def note(self, origin: Origin, standing: Standing) -> None:
        """Records how *origin* treats allowed requests from now on."""
        if origin in self._rows:
            self._rows[origin].standing = standing

    def __iter__(self) -> Iterator[tuple[Origin, Row]]:
        return iter(self._rows.items())

    def __len__(self) -> int:
        return len(self._rows) + self.forgotten_origins

    @property
    def allowed(self) -> int:
        return self.forgotten.allowed + sum(row.allowed for row in self._rows.values())

    @property
    def denied(self) -> int:
        return self.forgotten.denied + sum(row.denied for row in self._rows.values())

    @property
    def denied_from_the_start(self) -> bool:
        """Whether all start requests were denied, and nothing else was allowed since."""
        return self._starts.denied > 0 and self._starts.allowed == 0 and self.allowed == 0

    def _row(self, origin: Origin, policy: Policy | None = None) -> Row:
        """Returns the row of *origin*, making it the most recently used."""
        row = self._rows.get(origin)
        if row is None:
            row = self._rows[origin] = Row()
            if len(self._rows) > self._size:
                _, oldest = self._rows.popitem(last=False)
                self.forgotten_origins += 1
                self.forgotten.allowed += oldest.allowed
                self.forgotten.denied += oldest.denied
        else:
            self._rows.move_to_end(origin)
        if policy is not None:
            row.policy = policy
        return row
