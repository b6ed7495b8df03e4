"""One origin's robots.txt in a crawl: the record, its parsed rules, its delays."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field, replace
from functools import lru_cache
from math import inf
from typing import TYPE_CHECKING, NamedTuple

from scrapy_robots_plus.crawl import stats
from scrapy_robots_plus.crawl.clock import DEFAULT_CLOCK, Clock
from scrapy_robots_plus.protocol.access import Access, is_definite
from scrapy_robots_plus.protocol.origin import Origin
from scrapy_robots_plus.protocol.preferences import Preferences, Statement, combine
from scrapy_robots_plus.protocol.preferences.tdm import TdmFile
from scrapy_robots_plus.protocol.printable import printable
from scrapy_robots_plus.protocol.product_token import as_names
from scrapy_robots_plus.storage.record import RobotsRecord

from . import judging
from .freshness import Source, access_at, fresh_for, may_answer, under_statuses
from .judging import Delay, delay_in
from .parsers import ParsedFile, guarded, is_short, parser_failed

if TYPE_CHECKING:
    from scrapy.statscollectors import StatsCollector

    from scrapy_robots_plus.protocol import RobotsTxt
    from scrapy_robots_plus.protocol.pace import VisitTime
    from scrapy_robots_plus.protocol.product_token import Agent, AgentNames
    from scrapy_robots_plus.protocol.verdict import Verdict
    from scrapy_robots_plus.settings.robots_settings import RobotsSettings

    from .parsers import RobotsParser


class Pace(NamedTuple):
    """What a file asks of one agent, within the limits of the settings."""

    delay: Delay | None = None
    visits: VisitTime | None = None
    """The visiting hours, if ``ROBOTS_VISIT_TIME`` is to obey them."""


ANY_PACE = Pace()
"""Shared by all origins without a pace, so that it costs no memory."""


def pace_of(file: ParsedFile | None, agent: AgentNames, settings: RobotsSettings) -> Pace:
    """The longer of Crawl-delay and Request-rate, and the visiting hours; without a *file*, the
    delay that the user sets.
    """
    own = settings.own_delay
    delay = Delay(own, own, own=True) if own else None
    if file is None:
        return Pace(delay) if delay else ANY_PACE
    visits = file.visit_time(agent) if settings.visit_time == "obey" else None
    if settings.crawl_delay is None:
        # Without ROBOTSTXT_OBEY nothing is dropped.
        too_long = settings.crawl_delay_too_long if settings.obey else "clamp"
        delay = delay_in(file, agent, settings.crawl_delay_max, too_long) or delay
    pace = Pace(delay, visits)
    return ANY_PACE if pace == ANY_PACE else pace


class Paces:
    """The paces that requests to one origin keep: all agents share one server, so the longest delay
    of any of them counts.
    """

    __slots__ = ("delay", "visits")

    def __init__(self) -> None:
        self.delay = 0.0
        """Seconds; 0 for none."""
        self.visits: VisitTime | None = None

    def add(self, pace: Pace) -> bool:
        """Puts *pace* in force. Returns whether its delay is longer than all before."""
        delay = pace.delay.kept if pace.delay and not pace.delay.skip else 0.0
        is_longer = delay > self.delay
        self.delay = max(delay, self.delay)
        self.visits = pace.visits or self.visits
        return is_longer


_RULES, _UNREACHABLE = Access.RULES, Access.UNREACHABLE  # found in a tenth of the time

_FOLLOWS = {_RULES: "rules", Access.UNAVAILABLE: "all allowed", _UNREACHABLE: "all denied"}

_MOST_OF_A_REASON = 60
"""Characters of the reason of an override that are shown."""


def answer_in(record: RobotsRecord) -> str:
    """``200``, ``timeout``, ``200, now 503``."""
    if record.failure is None or not record.readable:
        return str(record.outcome)
    return f"{record.outcome}, now {record.failure}"


NO_PREFERENCES = combine(())

AGENTS_REMEMBERED = 16
"""For how many agents the pace is remembered: a crawl may send another agent each time."""

LEAST_LIFETIME = 1.0
"""Seconds for which a ``tdmrep.json`` is not asked for again, whatever became of it."""

_LONG = 2_048
"""Octets of a ``tdmrep.json`` from which on it is kept compressed: parsed, it may take a thousand
times what the site has sent."""


@lru_cache(maxsize=8)
def _unpacked(file: bytes) -> TdmFile:
    """Kept for files in use."""
    return TdmFile(zlib.decompress(file))


@dataclass(slots=True, eq=False, repr=False)
class Policy:
    """What a crawl knows about one origin. Read-only; a refresh makes a new one.

    Only ``paces`` changes: it holds the delays that requests keep.
    """

    record: RobotsRecord
    file: ParsedFile | None
    """The parsed rules; None if there are none."""
    settings: RobotsSettings
    """The settings that it was made under, and answers under."""
    _clock: Clock
    _stats: StatsCollector
    detail: str = ""
    """Why the file could not be read just now, if the status does not say so."""
    source: Source = Source.NETWORK
    """Where the crawl got it: ``network``, ``store``, ``cache`` or ``override``."""
    paces: Paces = field(default_factory=Paces)
    """Those in force. Policies for the same server share them."""
    _asked: dict[AgentNames, Pace] = field(default_factory=dict, init=False)
    """What the file asks of agents that were looked up."""
    _enforced_for: AgentNames | None = field(default=None, init=False)
    """The agent that was the last to send requests."""
    _signed: tuple[Verdict, Verdict] | None = field(default=None, init=False)
    """The last verdict that was signed, before and after: one rule decides for many URLs."""
    tdmrep: TdmFile | bytes = b""
    """The site's ``tdmrep.json``, a long one compressed; empty if it says nothing, or was not read.
    """
    _tdmrep_until: float = inf
    _epoch: float = field(init=False)
    _fresh_until: float = field(init=False)
    _ours: RobotsParser | None = field(init=False)
    """The parser, if it is ours."""
    _may_be_unreachable: bool = field(init=False)

    def __post_init__(self) -> None:
        self._ours = self.file.ours if self.file else None
        is_good = self.record.failure is None and self.record.access is not _UNREACHABLE
        self._may_be_unreachable = self.settings.obey and not is_good
        monotonic = self._clock.monotonic()
        self._epoch = self._clock.wall() - monotonic
        lasts = fresh_for(self.record, self.now) if self.settings.needs_file else inf
        self._fresh_until = min(monotonic + lasts, self._tdmrep_until)

    def reserve(self, tdmrep: RobotsRecord, previous: Policy | None) -> None:
        """Goes by a ``tdmrep.json`` too; by that of *previous* where the store had no copy for an
        outage. Called before its first use; it is refreshed, while it answers, when that is due."""
        if tdmrep.access is Access.RULES and not tdmrep.is_cut:
            file = TdmFile(tdmrep.body)
            self.tdmrep = zlib.compress(tdmrep.body) if file and len(tdmrep.body) > _LONG else file
        elif previous is not None and not is_definite(tdmrep.outcome):
            self.tdmrep = previous.tdmrep
        lasts = max(fresh_for(tdmrep, self.now), LEAST_LIFETIME)
        self._tdmrep_until = self._clock.monotonic() + lasts
        self._fresh_until = min(self._fresh_until, self._tdmrep_until)

    @property
    def parsed(self) -> RobotsTxt | None:
        """The file, if our parser has read it: its rules and all else that stands in it."""
        return self._ours.file if self._ours else None

    @property
    def origin(self) -> Origin:
        """Scheme, host and port that the robots.txt speaks for."""
        return self.record.origin

    @property
    def now(self) -> float:
        """Wall clock, in seconds since the epoch. Changes to the system clock have no effect."""
        return self._epoch + self._clock.monotonic()

    @property
    def access(self) -> Access:
        """Whether there are rules, no file, or an unreadable one (RFC 9309 2.3.1)."""
        record = self.record
        if record.failure is None:
            return record.access
        return access_at(record, self.now, self.settings.limits)

    @property
    def may_answer(self) -> bool:
        """Whether it may answer, if only while it is refreshed."""
        return self.fresh_for > 0 or may_answer(self.record, self.now, self.settings.limits)

    @property
    def status(self) -> str:
        """The HTTP status of the robots.txt, or the failure to get it: ``200``, ``timeout``.

        Both for the last good copy in an outage: ``200, now 503``. Without a file of the site:
        ``own text``, ``not asked``.
        """
        if not self.settings.needs_file:
            return "not asked" if self.settings.robots_txt is None else "own text"
        return answer_in(self.record)

    @property
    def in_words(self) -> str:
        """The status and what it means: ``200, rules``, ``404, all allowed``, ``503, all denied``;
        for the last good copy in an outage ``200, now 503, rules``. Under an override also what
        it is for: ``not obeyed (override: our own site)``.
        """
        settings, access = self.settings, self.access
        if not settings.needs_file:
            words = "own text" if settings.obey else "not obeyed"
        elif access is _UNREACHABLE and not settings.obey:
            words = f"{self.status}, no rules"  # nothing is denied
        else:
            words = f"{self.status}, {_FOLLOWS[access]}"
        label = self._override
        return f"{words} (override: {printable(label, _MOST_OF_A_REASON)})" if label else words

    def __repr__(self) -> str:
        return f"<Policy {self.origin}: {self.in_words}>"

    @property
    def age(self) -> float:
        """Seconds since it was fetched or last found unchanged."""
        return max(0.0, self.now - self.record.fetched_at)

    @property
    def fresh_for(self) -> float:
        """Seconds until it is due for a refresh; 0 or less if it is due."""
        return self._fresh_until - self._clock.monotonic()

    @property
    def denies_as_unreachable(self) -> bool:
        """Whether all requests fail because the file cannot be read (RFC 9309 2.3.1.4)."""
        return self._may_be_unreachable and self.access is _UNREACHABLE

    @property
    def opens_in(self) -> float:
        """Seconds until its visiting hours begin, if ``ROBOTS_VISIT_TIME`` is to obey them."""
        visits = self.paces.visits
        return visits.begins_in(self._clock.wall()) if visits else 0.0

    @property
    def sitemaps(self) -> tuple[str, ...]:
        """The Sitemap URLs of the file, if the parser in use provides them."""
        return self.file.sitemaps if self.file else ()

    @property
    def is_paced(self) -> bool:
        """Whether a delay or visiting hours apply to any agent that requests have used so far."""
        return bool(self.paces.delay or self.paces.visits)

    @property
    def delay(self) -> float | None:
        """The longest delay, in seconds, of any agent in use so far."""
        return self.paces.delay or None

    @property
    def asked_delay(self) -> Delay | None:
        """The longest delay that the file asks of any agent looked up so far, kept or not; one that
        is too long comes before all others.
        """
        if self.settings.crawl_delay is not None:
            return None  # whatever it asks for
        paces = self._asked.values()
        delays = [pace.delay for pace in paces if pace.delay is not None and not pace.delay.own]
        return max(delays, key=lambda delay: (delay.skip, delay.asked), default=None)

    def under(self, settings: RobotsSettings) -> Policy:
        """What is known, read under other *settings*. It keeps the same pace."""
        record = under_statuses(self.record, settings.status_policy)
        file = self.file and self.file.read_as(settings.dialect)
        return replace(self, record=record, file=file, settings=settings)

    @property
    def obeys(self) -> bool:
        """Whether the rules are obeyed."""
        return self.settings.obey

    def pace_of(self, agent: AgentNames) -> Pace:
        """What is asked of *agent*: by the file, or by the user. Puts nothing in force."""
        pace = self._asked.get(agent)
        if pace is None:
            settings = self.settings
            file = self.file if settings.keeps_delays else None
            own = pace_of(None, agent, settings)
            if file is None:
                return own
            subject = f"the pace of {self.origin}"
            pace = guarded(lambda: pace_of(file, agent, settings), own, subject, self._stats)
            if len(self._asked) >= AGENTS_REMEMBERED:
                del self._asked[next(iter(self._asked))]
            self._asked[agent] = pace
        return pace

    def enforce(self, agent: AgentNames) -> None:
        """A request is sent as *agent*: its pace is in force from now on, and counted if the file
        asks for a longer delay than before.
        """
        if agent == self._enforced_for:
            return
        self._enforced_for = agent
        pace = self.pace_of(agent)
        if not self.paces.add(pace) or pace.delay is None or pace.delay.own:
            return
        self._stats.inc_value(stats.DELAYS_KEPT)
        if pace.delay.clamped:
            self._stats.inc_value(stats.DELAYS_CLAMPED)

    def delay_for(self, agent: AgentNames) -> Delay | None:
        """The Crawl-delay that requests of *agent* keep, or are skipped for."""
        return self.pace_of(agent).delay

    def verdict(self, url: str, agent: Agent) -> Verdict:
        """Whether *agent* may fetch *url*, and why."""
        return self.signed(self.judged(url, as_names(agent)))

    def judged(self, url: str, agent: AgentNames) -> Verdict:
        """As :meth:`verdict`, without the names of what it is about."""
        try:
            return judging.verdict(self, url, agent)
        except Exception as error:  # noqa: BLE001 - any parser may be in use
            parser_failed(error, url, self._stats)
            return judging.unreachable(url)

    @property
    def reads_uses(self) -> bool:
        """Whether it is known what the file says about uses: it was read, or there is none."""
        if not self.settings.obey or self.access is _UNREACHABLE:
            return False
        return is_definite(self.record.outcome) if self.file is None else self._ours is not None

    def is_silent(self, agent: AgentNames) -> bool:
        """Whether neither the robots.txt nor the ``tdmrep.json`` says anything to *agent* of the
        use of any page."""
        ours, tokens = self._ours, self.settings.ai_tokens
        if self.tdmrep or ours is None:
            return not self.tdmrep
        uses = guarded(lambda: ours.uses(agent, tokens), None, self.origin, self._stats)
        return uses is None or (uses.by_url is None and not uses.everywhere)

    def preferences(self, url: str, agent: AgentNames) -> Preferences:
        """What the robots.txt prefers for the use of *url*, if *agent* may fetch it, and what the
        ``tdmrep.json`` does."""
        statements = self._in_file(url, agent)
        if self.tdmrep:
            file = _unpacked(self.tdmrep) if isinstance(self.tdmrep, bytes) else self.tdmrep
            statements += file.statements(url)
        return combine(statements) if statements else NO_PREFERENCES

    def _in_file(self, url: str, agent: AgentNames) -> tuple[Statement, ...]:
        ours, tokens = self._ours, self.settings.ai_tokens
        if ours is None or not self.settings.obey or self.access is not _RULES:
            return ()
        return guarded(lambda: ours.statements(url, agent, tokens), (), url, self._stats)

    def licenses(self, agent: AgentNames) -> tuple[str, ...]:
        """The first of the licences that the file names (RSL 1.0)."""
        return self._ours.licenses(agent, self.settings.ai_tokens) if self._ours else ()

    @property
    def skipped_uses(self) -> tuple[str, ...]:
        """The uses because of which pages are skipped whose site objects to them."""
        return self.settings.skipped_uses

    def signed(self, verdict: Verdict) -> Verdict:
        """*verdict*, with the names of what it is about."""
        if self._signed is None or self._signed[0] is not verdict:
            url, status = self.record.url, self.status
            signed = replace(verdict, robots_url=url, outcome=status, override=self._override)
            if not is_short(verdict):
                return signed
            self._signed = verdict, signed
        return self._signed[1]

    @property
    def _override(self) -> str | None:
        return self.settings.override.label if self.settings.override else None


@dataclass(slots=True, eq=False, repr=False)  # one is created per page
class Passes:
    """It may be sent."""

    policy: Policy
    """The policy that allows it."""
    verdict: Verdict
    """Why it does."""


class Refused(NamedTuple):
    """It must not be sent."""

    verdict: Verdict
    policy: Policy | None
    """None if the spider closed before there was one."""
    preferences: Preferences | None = None
    """What robots.txt and headers say of the page, if it is the page that must not be used."""


def policy_of_any_site(
    access: Access, file: ParsedFile | None, settings: RobotsSettings, collector: StatsCollector
) -> Policy:
    """What decides by *file* and *settings* alone, whatever the site and the time."""
    site = Origin("http", "site.example", 80)
    record = RobotsRecord(site, access, 200, site.robots_url, fetched_at=0, lifetime=0)
    return Policy(record, file, settings, DEFAULT_CLOCK, collector)
