"""Policies under other settings than their file was fetched under, and policies without a file."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from math import inf
from typing import TYPE_CHECKING

from scrapy_robots_plus.crawl.recent import Recent
from scrapy_robots_plus.protocol.access import Access
from scrapy_robots_plus.storage.base import RobotsRecord

from .decide import Source
from .paces import InForce
from .parsers import ParsedFile, guarded
from .policy import Policy
from .retrieval import Retrieval, Retrieved

if TYPE_CHECKING:
    from scrapy.statscollectors import StatsCollector

    from scrapy_robots_plus.crawl.clock import Clock
    from scrapy_robots_plus.protocol.dialect import Dialect
    from scrapy_robots_plus.protocol.origin import Origin
    from scrapy_robots_plus.settings.robots_settings import RobotsSettings


VIEWS_OF_AN_ORIGIN = 64
"""How many of one origin are kept: each request may have an override of its own."""

TEXTS_PARSED = 64
"""How many texts of overrides are kept parsed."""


_TYPE = "text/plain; charset=utf-8"
"""Of these texts: without it, some dialects would read them in another charset."""


class _ViewsOfOrigin:
    """Those of one origin, made from the policy of its own file, or without one."""

    __slots__ = ("by_settings", "fetched", "in_force")

    def __init__(self) -> None:
        self.fetched: Policy | None = None
        self.by_settings: dict[RobotsSettings, Policy] = {}
        self.in_force = InForce()
        """Shared while there is no fetched policy whose pace they could share."""


class Views:
    """Makes and keeps them, in bounded memory. All of one origin share its pace."""

    def __init__(
        self, retrieval: Retrieval, clock: Clock, stats: StatsCollector, size: int
    ) -> None:
        """*retrieval* tells its listeners about the texts of overrides; *size*: how many origins
        are kept.
        """
        self._retrieval = retrieval
        self._clock = clock
        self._stats = stats
        self._origins: Recent[Origin, _ViewsOfOrigin] = Recent(size)
        self._read = lru_cache(TEXTS_PARSED)(self._parsed)

    def of(self, fetched: Policy, settings: RobotsSettings) -> Policy:
        """*fetched*, read under *settings*."""
        views = self._views_of(fetched.origin, fetched)
        return views.by_settings.get(settings) or _keep(views, fetched.under(settings))

    def without_file(
        self, origin: Origin, settings: RobotsSettings, fetched: Policy | None
    ) -> Policy:
        """The policy under *settings* that need no file of the site.

        *fetched*: what is known of its file all the same, because other settings need it.
        """
        views = self._views_of(origin, fetched)
        kept = views.by_settings.get(settings)
        return kept or _keep(views, self._made(origin, settings, views))

    def _views_of(self, origin: Origin, fetched: Policy | None) -> _ViewsOfOrigin:
        views = self._origins.get(origin) or _ViewsOfOrigin()
        self._origins.put(origin, views)
        if views.fetched is not fetched:
            views.fetched = fetched
            views.by_settings.clear()
        return views

    def _made(self, origin: Origin, settings: RobotsSettings, views: _ViewsOfOrigin) -> Policy:
        text, now = settings.robots_txt, self._clock.wall()
        record = _not_asked(origin, now) if text is None else record_of_text(origin, text, now)
        file = None if text is None else self._read(text, settings.dialect)
        in_force = views.fetched.paces.in_force if views.fetched else views.in_force
        clock, stats = self._clock, self._stats
        policy = Policy(
            record, file, settings, clock, stats, in_force=in_force, source=Source.OVERRIDE
        )
        if text is not None:
            self._retrieval.tell(Retrieved(None, policy, record))
        return policy

    def _parsed(self, text: str, dialect: Dialect) -> ParsedFile | None:
        return guarded(
            lambda: self._retrieval.parsers.read(_encoded(text), "utf-8").read_as(dialect),
            lambda _: None,
            "the robots_txt of an override",
            self._stats,
        )


def _keep(views: _ViewsOfOrigin, policy: Policy) -> Policy:
    if len(views.by_settings) >= VIEWS_OF_AN_ORIGIN:
        views.by_settings.clear()
    views.by_settings[policy.settings] = policy
    return policy


def _not_asked(origin: Origin, now: float) -> RobotsRecord:
    return RobotsRecord(origin, Access.UNAVAILABLE, 404, origin.robots_url, now, inf)


def record_of_text(origin: Origin, text: str, now: float) -> RobotsRecord:
    """The record of an origin for which an override has *text* in place of its file."""
    body, url = _encoded(text), origin.robots_url
    digest, headers = hashlib.sha256(body).hexdigest(), {"content-type": _TYPE}
    return RobotsRecord(origin, Access.RULES, 200, url, now, inf, headers, digest, body=body)


@lru_cache(TEXTS_PARSED)
def _encoded(text: str) -> bytes:
    """The same object for the same text, which may be that of thousands of subdomains."""
    return text.encode("utf-8", "replace")
