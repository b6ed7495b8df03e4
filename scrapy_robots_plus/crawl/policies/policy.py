"""One origin's robots.txt as a crawl holds it: the record, its parsed rules, its delays."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from scrapy_robots_plus.crawl.parsers.failing import parser_failed
from scrapy_robots_plus.policy.access import Access
from scrapy_robots_plus.policy.decide import Lookup, access_at, fresh_for, lookup
from scrapy_robots_plus.protocol.verdict import Reason, Verdict
from scrapy_robots_plus.protocol.wire import asks_for_robots_txt, sent_forms, target_of

from .pace import Paces

if TYPE_CHECKING:
    from scrapy.robotstxt import RobotParser
    from scrapy.statscollectors import StatsCollector

    from scrapy_robots_plus.crawl.clock import Clock
    from scrapy_robots_plus.crawl.parsers.parsed_file import ParsedFile
    from scrapy_robots_plus.crawl.settings import RobotsSettings
    from scrapy_robots_plus.policy.delay import Delay
    from scrapy_robots_plus.policy.origin import Origin
    from scrapy_robots_plus.policy.record import RobotsRecord
    from scrapy_robots_plus.protocol.product_token import AgentNames


class Policy:
    """What a crawl holds of one origin. Read only; a refresh makes a new one.

    What changes while it is held is what requests keep of its delays: ``paces``.
    """

    __slots__ = (
        "_clock",
        "_epoch",
        "_fresh_until",
        "_settings",
        "_stats",
        "detail",
        "file",
        "paces",
        "record",
    )  # fmt: skip

    def __init__(
        self,
        record: RobotsRecord,
        file: ParsedFile | None,
        settings: RobotsSettings,
        clock: Clock,
        stats: StatsCollector,
        detail: str = "",
    ) -> None:
        self.record = record
        self.file = file
        """The parsed rules; None where there are none."""
        self.detail = detail
        """Why the file could not be read just now, where the status does not say it."""
        self.paces = Paces(record.origin, file, settings, stats)
        self._settings = settings
        self._clock = clock
        self._stats = stats
        self._epoch = clock.wall() - clock.monotonic()
        self._fresh_until = clock.monotonic() + fresh_for(record, self.now)

    @property
    def parser(self) -> RobotParser | None:
        """What has parsed the rules, of the class ``ROBOTSTXT_PARSER``."""
        return self.file.parser if self.file else None

    @property
    def origin(self) -> Origin:
        """Scheme, host and port that the robots.txt speaks for."""
        return self.record.origin

    @property
    def now(self) -> float:
        """The time by the clock of the record. While it is held, setting the clock is not felt."""
        return self._epoch + self._clock.monotonic()

    @property
    def access(self) -> Access:
        """Whether there are rules, no file, or no way to read it (RFC 9309 2.3.1)."""
        if self.record.failure is None:
            return self.record.access
        return access_at(self.record, self.now, self._settings.limits)

    @property
    def lookup(self) -> Lookup:
        """Whether it may answer as it is."""
        if self._clock.monotonic() < self._fresh_until:  # asked several times per request
            return Lookup.USE
        return lookup(self.record, self.now, self._settings.limits)

    @property
    def status(self) -> str:
        """The HTTP status of the robots.txt, or the failure to get it: ``200``, ``timeout``.

        Of the last good copy in an outage both: ``200, now 503``.
        """
        record = self.record
        if record.failure is None or not record.readable:
            return str(record.outcome)
        return f"{record.outcome}, now {record.failure}"

    @property
    def in_words(self) -> str:
        """The status and what follows from it: ``200, rules``, ``404, all allowed``, ``503, all
        denied``; of the last good copy in an outage ``200, rules, now 503``.
        """
        record, access = self.record, self.access
        if access is Access.UNREACHABLE:
            # Where delays alone are kept, it drops nothing.
            follows = "all denied" if self._settings.obey else "no rules"
            return f"{record.outcome if record.failure is None else record.failure}, {follows}"
        follows = "rules" if access is Access.RULES else "all allowed"
        is_outage = record.failure is not None and record.readable
        return f"{record.outcome}, {follows}" + (f", now {record.failure}" if is_outage else "")

    def __repr__(self) -> str:
        return f"<Policy {self.origin}: {self.in_words}>"

    @property
    def age(self) -> float:
        """Seconds since it was fetched, or last found to be unchanged."""
        return max(0.0, self.now - self.record.fetched_at)

    @property
    def fresh_for(self) -> float:
        """Seconds until it is asked for again; not over 0 where that is due."""
        return self._fresh_until - self._clock.monotonic()

    @property
    def refuses_all(self) -> bool:
        """Whether every request fails, because the file cannot be read (RFC 9309 2.3.1.4)."""
        return self._settings.obey and self.access is Access.UNREACHABLE

    @property
    def closed_for(self) -> float:
        """Seconds until its visiting hours, where ``ROBOTS_VISIT_TIME`` is to obey them."""
        return self.paces.closed_for(self._clock.wall())

    @property
    def sitemaps(self) -> tuple[str, ...]:
        """The Sitemap lines of the file, as far as the parser in use names them."""
        return self.file.sitemaps if self.file else ()

    @property
    def is_paced(self) -> bool:
        """Whether it has a delay or visiting hours, for any agent that requests went by so far."""
        return self.paces.any

    @property
    def delay(self) -> float | None:
        """The longest delay of any agent that requests went by so far, in seconds."""
        return self.paces.delay(self._clock.wall())

    @property
    def asked_delay(self) -> Delay | None:
        """The longest delay that the file asks of any agent it was looked up for, kept or not."""
        return self.paces.asked_delay

    def refusal(self, url: str, agent: AgentNames) -> Verdict | None:
        """Why *agent* may not fetch *url*; None where it may."""
        if self.access is Access.UNAVAILABLE:
            return None
        verdict = self._refusal(url, agent)
        # 2.2.2: "The /robots.txt URI is implicitly allowed." Of rules, parsers know that.
        unreachable = verdict is not None and verdict.reason is Reason.UNREACHABLE
        return None if unreachable and asks_for_robots_txt(url) else verdict

    def verdict(self, url: str, agent: AgentNames) -> Verdict:
        """Whether *agent* may fetch *url*, and why."""
        refusal = self.refusal(url, agent)
        if refusal is not None:
            return refusal
        if self.access is Access.UNAVAILABLE:
            return self._verdict(Reason.UNAVAILABLE, allowed=True)
        if self.access is Access.UNREACHABLE:  # /robots.txt itself, or ROBOTSTXT_OBEY is off
            return self._verdict(Reason.UNREACHABLE, allowed=True)
        if self.file is None:  # rules that the parser in use fails on
            return self._verdict(Reason.UNREACHABLE, allowed=True)
        return self._explained(self.file, url, agent, allowed=True)

    def _refusal(self, url: str, agent: AgentNames) -> Verdict | None:
        if not self._settings.obey:
            return None
        if self.file is None or self.access is Access.UNREACHABLE:
            return self._verdict(Reason.UNREACHABLE)
        try:
            disallowed = _disallowed_form(self.file, url, agent)
            if disallowed is not None:
                refusal = self._explained(self.file, disallowed, agent, allowed=False)
                is_own = disallowed is url
                return refusal if is_own else replace(refusal, form=target_of(disallowed))
        except Exception as error:  # noqa: BLE001 - any parser may be in use
            parser_failed(error, url, self._stats)
            return self._verdict(Reason.UNREACHABLE)
        delay = self.paces.of(agent).delay
        if delay is not None and delay.skip:
            return self._verdict(Reason.CRAWL_DELAY, delay=delay.asked)
        return None

    def _explained(
        self, file: ParsedFile, url: str, agent: AgentNames, *, allowed: bool
    ) -> Verdict:
        """The parser's decision, with rule and line where the parser names them."""
        named = file.verdict(url, agent)
        if named is None:
            return self._verdict(Reason.RULE, allowed=allowed)
        return replace(named, robots_url=self.record.url, outcome=self.status)

    def _verdict(
        self, reason: Reason, *, allowed: bool = False, delay: float | None = None
    ) -> Verdict:
        return Verdict(
            allowed, reason, robots_url=self.record.url, outcome=self.status, delay=delay
        )


def _disallowed_form(file: ParsedFile, url: str, agent: AgentNames) -> str | None:
    """*url* if its rules disallow it, or the first form it may be sent in that they do."""
    if not file.allowed(url, agent):
        return url
    for form in sent_forms(url):
        if not file.allowed(form, agent):
            return form
    return None
