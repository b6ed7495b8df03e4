"""The entries of the audit log, from what a crawl knows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy.utils.python import global_object_name

from scrapy_robots_plus._version import __version__
from scrapy_robots_plus.crawl import stats
from scrapy_robots_plus.crawl.requests import STAMP_META_KEY
from scrapy_robots_plus.origins.agents import Agents
from scrapy_robots_plus.origins.changes import suspicion
from scrapy_robots_plus.origins.parsers import charset_of
from scrapy_robots_plus.origins.tally import Tally
from scrapy_robots_plus.protocol.preferences import Preference, Statement
from scrapy_robots_plus.protocol.product_token import AgentNames, product_tokens
from scrapy_robots_plus.protocol.verdict import Reason, Verdict
from scrapy_robots_plus.settings.override import dialect_to_json
from scrapy_robots_plus.settings.scrapys_own import class_in

from .entries import (
    DONT_OBEY,
    CrawlEntry,
    EndEntry,
    FileEntry,
    PageEntry,
    SaidEntry,
    StandingEntry,
    VerdictEntry,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scrapy import Request

    from scrapy_robots_plus.crawl.crawl import Crawl
    from scrapy_robots_plus.origins.policy import Passes, Policy, Refused
    from scrapy_robots_plus.origins.retrieval import Retrieved
    from scrapy_robots_plus.pages.middleware import Page
    from scrapy_robots_plus.pages.page_preferences import Sent
    from scrapy_robots_plus.protocol.origin import Origin
    from scrapy_robots_plus.protocol.standing import Site


_AS_DECIDED = ("allowed", "reason", "rule", "line", "group", "form", "use", "source")
"""What an entry says as the verdict does."""


class Entries:
    """Makes the entries of one crawl, each with its time."""

    def __init__(self, crawl: Crawl, name: str) -> None:
        """*name*: the ``crawl`` of each line."""
        self._crawl = crawl
        self._name = name
        self._mode = crawl.settings.mode
        self._strict = crawl.settings.dialect.tokens_only

    def _now(self) -> dict[str, Any]:
        """What all entries have."""
        return {"time": self._crawl.clock.wall(), "crawl": self._name}

    def begin(self, bodies: str | None) -> CrawlEntry:
        """The crawl begins; *bodies*: the folder of the texts."""
        crawler, settings = self._crawl.crawler, self._crawl.settings
        return CrawlEntry(
            **self._now(),
            spider=crawler.spider.name if crawler.spider else "",
            version=__version__,
            mode=settings.mode,
            obey=settings.obey,
            agent=self._crawl.get(Agents).default,
            parser=global_object_name(class_in(crawler.settings, "ROBOTSTXT_PARSER")),
            dialect=dialect_to_json(settings.dialect),
            status_policy=settings.status_policy,
            keeps_delays=settings.keeps_delays,
            crawl_delay_max=settings.crawl_delay_max,
            crawl_delay_too_long=settings.crawl_delay_too_long,
            stale_max=settings.stale_max,
            ai_uses=settings.ai_uses,
            content_use=settings.content_use,
            ai_policy=settings.ai_policy,
            use_tokens=settings.ai_tokens,
            overrides={each: value.as_json() for each, value in settings.overrides.items()} or None,
            allowed_share=settings.audit_log_allowed,
            bodies=bodies,
        )

    def file(self, retrieved: Retrieved) -> FileEntry:
        """A robots.txt was retrieved."""
        before, policy, record = retrieved.previous, retrieved.policy, retrieved.record
        changed = before is not None and _differs(before, policy)
        delay = policy.paces.of(self._crawl.get(Agents).default).delay
        lifetime = record.lifetime if record.failure is None else record.retry_in
        return FileEntry(
            **self._now(),
            origin=str(policy.origin),
            source=retrieved.source,
            detail=policy.detail or None,
            size=None if policy.file is None else policy.file.size,
            lifetime=lifetime if policy.settings.needs_file else None,
            changed=changed,
            previous=(before.record.sha256 or None) if before else None,
            suspicion=suspicion(before, policy, record) if before and changed else None,
            delay_asked=None if delay is None else delay.asked,
            delay=None if delay is None or delay.skip else delay.kept,
            **_about(policy),
        )

    def verdict(
        self, request: Request, origin: Origin, agent: AgentNames, decision: Passes | Refused
    ) -> VerdictEntry:
        """A request was judged. ``sent`` is for whoever knows."""
        policy, verdict = decision.policy, decision.verdict
        entry = self._verdict(request, origin, agent, verdict)
        if policy is None:
            entry.robots_url = verdict.robots_url
            return entry
        settings = policy.settings
        entry.override = None if settings.override is None else settings.override.as_json()
        entry.delay = policy.delay if verdict.delay is None else verdict.delay
        entry.age = round(policy.age, 3) if settings.needs_file else None
        if settings.needs_file or settings.robots_txt is not None:
            for name, value in _about(policy).items():
                setattr(entry, name, value)
        return entry

    def not_judged(self, request: Request, origin: Origin) -> VerdictEntry:
        """A request passes because of ``dont_obey_robotstxt``. ``sent`` is for whoever knows."""
        settings = self._crawl.request_settings.of_origin(origin)
        agent = self._crawl.get(Agents).of(request, settings)
        verdict = Verdict(allowed=True, reason=Reason.NOT_OBEYED)
        entry = self._verdict(request, origin, agent, verdict)
        entry.override = {DONT_OBEY: True}
        return entry

    def _verdict(
        self, request: Request, origin: Origin, agent: AgentNames, verdict: Verdict
    ) -> VerdictEntry:
        stamp = request.meta.get(STAMP_META_KEY) or {}
        preferences = stamp.get("preferences") or {}
        known = {use: each for use, each in preferences.items() if each != Preference.UNKNOWN}
        return VerdictEntry(
            **self._now(),
            url=request.url,
            origin=str(origin),
            agent=agent,
            tokens=product_tokens(agent, self._strict),
            **{name: getattr(verdict, name) for name in _AS_DECIDED},
            preferences=known or None,
            statements=stamp.get("statements") or None,
            mode=self._mode,
        )

    def said(self, request: Request, sent: Sent, statements: Iterable[Statement]) -> SaidEntry:
        """A page says something of its use."""
        return SaidEntry(
            **self._now(),
            url=request.url,
            origin=str(sent.policy.origin),
            agent=sent.agent,
            statements=[each.as_dict() for each in statements],
            mode=self._mode,
        )

    def page(self, page: Page) -> PageEntry:
        """What a page says of itself had consequences."""
        return PageEntry(
            **self._now(),
            url=page.url,
            origin=str(page.origin),
            agent=page.agent,
            tokens=product_tokens(page.agent),
            directives=page.directives.as_json(),
            nofollow=page.settings.on_nofollow,
            requests=page.requests,
            noindex=page.settings.on_noindex,
            items=page.items,
            mode=self._mode,
        )

    def standing(self, origin: Origin, site: Site, url: str) -> StandingEntry:
        """*origin* treats the crawl in another way, since the answer to *url*."""
        standing, why = site.standing, site.why
        return StandingEntry(**self._now(), origin=str(origin), standing=standing, why=why, url=url)

    def end(self, reason: str) -> EndEntry:
        """The crawl ends for *reason*. Its counts of lines are for whoever writes them."""
        tally, counts = self._crawl.get(Tally), self._crawl.stats.get_stats()
        return EndEntry(
            **self._now(),
            reason=reason,
            allowed=tally.allowed + tally.skipped_pages,
            denied=tally.denied,
            dont_obey=tally.not_asked,
            preferences=stats.by_part(counts, stats.PREFERENCES) or None,
            lost=0,
        )


def _about(policy: Policy) -> dict[str, Any]:
    """What entries say of the robots.txt of *policy*."""
    record, needs_file = policy.record, policy.settings.needs_file
    return {
        "robots_url": record.url,
        "status": str(record.outcome) if needs_file else None,
        "failure": None if record.failure is None else str(record.failure),
        "access": policy.access,
        "sha256": record.sha256 or None,
        "charset": charset_of(record.headers),
        "fetched_at": record.fetched_at if needs_file else None,
    }


def _differs(before: Policy, after: Policy) -> bool:
    return before.record.sha256 != after.record.sha256 or before.access is not after.access
