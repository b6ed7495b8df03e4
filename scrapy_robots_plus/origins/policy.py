"""One origin's robots.txt in a crawl: its record, its parsed rules and its delays."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field, replace
from functools import lru_cache
from math import inf
from typing import NamedTuple

from scrapy.statscollectors import StatsCollector

from scrapy_robots_plus.crawl import stats
from scrapy_robots_plus.crawl.clock import DEFAULT_CLOCK, Clock
from scrapy_robots_plus.protocol import RobotsTxt
from scrapy_robots_plus.protocol.access import Access, is_definite
from scrapy_robots_plus.protocol.crawl_delay import VisitTime
from scrapy_robots_plus.protocol.origin import Origin
from scrapy_robots_plus.protocol.preferences import Preferences, Statement, combine
from scrapy_robots_plus.protocol.preferences.tdm import TdmFile
from scrapy_robots_plus.protocol.printable import printable
from scrapy_robots_plus.protocol.product_token import Agent, AgentNames, as_names
from scrapy_robots_plus.protocol.verdict import Verdict
from scrapy_robots_plus.settings.robots_settings import RobotsSettings
from scrapy_robots_plus.storage.record import RobotsRecord

from . import judging
from .freshness import Source, access_at, fresh_for, may_answer, under_statuses
from .judging import AgentPace, Delay, pace_of
from .parsers import ParsedFile, RobotsParser, Uses, answer_or, is_short, parser_failed


@dataclass(slots=True, eq=False, repr=False)
class Paces:
    """The delay and the visiting hours that requests to one origin keep.

    All agents share one server, so the longest delay of any of them counts.
    """

    delay: float = 0.0
    """The delay in seconds; 0 for none."""
    visits: VisitTime | None = None


_RULES, _UNREACHABLE = Access.RULES, Access.UNREACHABLE  # looked up ten times as fast

_FOLLOWS = {_RULES: "rules", Access.UNAVAILABLE: "all allowed", _UNREACHABLE: "all denied"}

_MOST_OF_A_REASON = 60
"""How many characters of an override's reason are shown."""


def answer_in(record: RobotsRecord) -> str:
    """Returns the outcome and any later failure: ``200``, ``timeout``, ``200, now 503``."""
    if record.failure is None or not record.readable:
        return str(record.outcome)
    return f"{record.outcome}, now {record.failure}"


NO_PREFERENCES = combine(())

AGENTS_REMEMBERED = 16
"""For how many agents a policy remembers the pace: each request may have another agent."""

LEAST_LIFETIME = 1.0
"""Minimum seconds between two requests for a ``tdmrep.json``, whatever the result."""

_LONG = 2_048
"""The length in bytes above which a ``tdmrep.json`` is kept compressed: parsed, it may take a
thousand times the memory of what the site sent."""


@lru_cache(maxsize=8)
def _unpacked(file: bytes) -> TdmFile:
    """Returns a compressed ``tdmrep.json``, parsed. Cached for the files in use."""
    return TdmFile(zlib.decompress(file))


@dataclass(slots=True, eq=False, repr=False)
class Policy:
    """What a crawl knows about one origin. It is read-only: a refresh makes a new one.

    Only ``paces`` changes: it holds the delays that requests keep.
    """

    record: RobotsRecord
    file: ParsedFile | None
    """The parsed rules; None if there are none."""
    settings: RobotsSettings
    """The settings under which the policy was made and answers."""
    _clock: Clock
    _stats: StatsCollector
    detail: str = ""
    """Why the file could not be read at the last attempt, if the status does not say it."""
    source: Source = Source.NETWORK
    """Where the crawl got the policy: ``network``, ``store``, ``cache`` or ``override``."""
    paces: Paces = field(default_factory=Paces)
    """The paces in force. Copies of this policy under other settings share them."""
    _asked: dict[AgentNames, AgentPace] = field(default_factory=dict, init=False)
    """The paces of agents that were looked up."""
    _enforced_for: AgentNames | None = field(default=None, init=False)
    """The agent whose pace was last put in force."""
    _signed: tuple[Verdict, Verdict] | None = field(default=None, init=False)
    """The last signed verdict, before and after signing: one rule decides for many URLs."""
    tdmrep: TdmFile | bytes = b""
    """The site's ``tdmrep.json``, compressed if long; empty if it says nothing or was not read."""
    _tdmrep_until: float = inf
    _epoch: float = field(init=False)
    _fresh_until: float = field(init=False)
    _ours: RobotsParser | None = field(init=False)
    """The parser, if it is this package's; else None."""
    _may_be_unreachable: bool = field(init=False)

    def __post_init__(self) -> None:
        self._ours = self.file.ours if self.file else None
        is_good = self.record.failure is None and self.record.access is not _UNREACHABLE
        self._may_be_unreachable = self.settings.obey and not is_good
        monotonic = self._clock.monotonic()
        self._epoch = self._clock.wall() - monotonic
        lasts = fresh_for(self.record, self.now) if self.settings.needs_file else inf
        self._fresh_until = min(monotonic + lasts, self._tdmrep_until)

    def apply_tdmrep(self, tdmrep: RobotsRecord, previous: Policy | None) -> None:
        """Applies a ``tdmrep.json``; that of *previous* in an outage without a stored copy.

        Called before the policy is first used. The policy is then due for a refresh when the
        ``tdmrep.json`` is, and answers meanwhile.
        """
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
        """The file as this package's parser read it, with rules and all else; None with others."""
        return self._ours.file if self._ours else None

    @property
    def origin(self) -> Origin:
        """The scheme, host and port that the robots.txt applies to."""
        return self.record.origin

    @property
    def now(self) -> float:
        """Wall clock, in seconds since the epoch. Changes to the system clock have no effect."""
        return self._epoch + self._clock.monotonic()

    @property
    def access(self) -> Access:
        """Whether there are rules, no file, or an unreadable file (RFC 9309 2.3.1)."""
        record = self.record
        if record.failure is None:
            return record.access
        return access_at(record, self.now, self.settings.limits)

    @property
    def may_answer(self) -> bool:
        """Whether the policy may answer, if only while it is refreshed."""
        return self.fresh_for > 0 or may_answer(self.record, self.now, self.settings.limits)

    @property
    def status(self) -> str:
        """The HTTP status of the robots.txt, or the failure to get it: ``200``, ``timeout``.

        For the last good copy in an outage, both: ``200, now 503``. If no file of the site is
        needed: ``own text``, ``not asked``.
        """
        if not self.settings.needs_file:
            return "not asked" if self.settings.robots_txt is None else "own text"
        return answer_in(self.record)

    @property
    def in_words(self) -> str:
        """The status and its meaning: ``200, rules``, ``404, all allowed``, ``503, all denied``.

        For the last good copy in an outage: ``200, now 503, rules``. An override adds its reason:
        ``not obeyed (override: our own site)``.
        """
        settings, access = self.settings, self.access
        if not settings.needs_file:
            words = "own text" if settings.obey else "not obeyed"
        elif access is _UNREACHABLE and not settings.obey:
            words = f"{self.status}, no rules"  # nothing is denied
        else:
            words = f"{self.status}, {_FOLLOWS[access]}"
        label = self.override_label
        return f"{words} (override: {printable(label, _MOST_OF_A_REASON)})" if label else words

    def __repr__(self) -> str:
        return f"<Policy {self.origin}: {self.in_words}>"

    @property
    def age(self) -> float:
        """Seconds since the file was fetched or last found unchanged."""
        return max(0.0, self.now - self.record.fetched_at)

    @property
    def fresh_for(self) -> float:
        """Seconds until the policy is due for a refresh; 0 or less if it is due."""
        return self._fresh_until - self._clock.monotonic()

    @property
    def denies_as_unreachable(self) -> bool:
        """Whether all requests are denied because the file cannot be read (RFC 9309 2.3.1.4)."""
        return self._may_be_unreachable and self.access is _UNREACHABLE

    @property
    def opens_in(self) -> float:
        """Seconds until the visiting hours begin; 0 during them, or if none are obeyed."""
        visits = self.paces.visits
        return visits.begins_in(self._clock.wall()) if visits else 0.0

    @property
    def sitemaps(self) -> tuple[str, ...]:
        """The Sitemap URLs of the file, if the parser in use provides them and does not fail."""
        file = self.file
        return answer_or(lambda: file.sitemaps, (), self.record.url, self._stats) if file else ()

    @property
    def is_paced(self) -> bool:
        """Whether a delay or visiting hours apply to any agent that requests have used so far."""
        return bool(self.paces.delay or self.paces.visits)

    @property
    def delay(self) -> float | None:
        """The longest delay, in seconds, of any agent in use so far; None if there is none."""
        return self.paces.delay or None

    @property
    def asked_delay(self) -> Delay | None:
        """The longest delay that the file asks of any agent looked up so far, kept or not.

        A delay for which the host is skipped comes before all others.
        """
        paces = self._asked.values()
        delays = [pace.delay for pace in paces if pace.delay is not None and not pace.delay.own]
        return max(delays, key=lambda delay: (delay.skip, delay.asked), default=None)

    def under(self, settings: RobotsSettings) -> Policy:
        """Returns this policy under other *settings*. Both share their paces."""
        record = under_statuses(self.record, settings.status_policy)
        file = self.file and self.file.read_as(settings.dialect)
        return replace(self, record=record, file=file, settings=settings)

    def pace_of(self, agent: AgentNames) -> AgentPace:
        """Returns the pace that the file or the user asks of *agent*. Puts nothing in force."""
        pace = self._asked.get(agent)
        if pace is None:
            settings = self.settings
            file = self.file if settings.keeps_delays else None
            own = pace_of(None, agent, settings)
            if file is None:
                return own
            subject = f"the pace of {self.origin}"
            pace = answer_or(lambda: pace_of(file, agent, settings), own, subject, self._stats)
            if len(self._asked) >= AGENTS_REMEMBERED:
                del self._asked[next(iter(self._asked))]
            self._asked[agent] = pace
        return pace

    def enforce(self, agent: AgentNames) -> None:
        """Puts the pace of *agent* in force: requests are sent as *agent* from now on.

        Counts the delay if the file asks for it and it is longer than all before it.
        """
        if agent == self._enforced_for:
            return
        self._enforced_for = agent
        paces, (delay, visits) = self.paces, self.pace_of(agent)
        paces.visits = visits or paces.visits
        if delay is None or delay.skip or delay.kept <= paces.delay:
            return
        paces.delay = delay.kept
        if not delay.own:
            self._stats.inc_value(stats.DELAYS_KEPT)
            if delay.kept < delay.asked:
                self._stats.inc_value(stats.DELAYS_CLAMPED)

    def verdict(self, url: str, agent: Agent) -> Verdict:
        """Returns whether *agent* may fetch *url*, and why."""
        return self.signed(self.judged(url, as_names(agent)))

    def judged(self, url: str, agent: AgentNames) -> Verdict:
        """Returns the verdict on *url* for *agent*, without what :meth:`signed` adds.

        If the parser fails, the file counts as unreadable.
        """
        try:
            return judging.verdict(self, url, agent)
        except Exception as error:  # noqa: BLE001 - any parser may be in use
            parser_failed(error, url, self._stats)
            return judging.unreachable(url)

    @property
    def reads_uses(self) -> bool:
        """Whether it is known what the file says about uses: it was read, or there is none."""
        if not self.settings.obey or self.denies_as_unreachable:
            return False
        return is_definite(self.record.outcome) if self.file is None else self._ours is not None

    def is_silent(self, agent: AgentNames) -> bool:
        """Returns whether robots.txt and ``tdmrep.json`` tell *agent* nothing about any use."""
        if self.tdmrep:
            return False
        uses = self._uses(agent)
        return not (uses and (uses.by_url or uses.everywhere))

    def preferences(self, url: str, agent: AgentNames) -> Preferences:
        """Returns what robots.txt and ``tdmrep.json`` prefer for the use of *url*.

        The robots.txt counts only if *agent* may fetch *url*.
        """
        statements = self._in_file(url, agent)
        if self.tdmrep:
            file = _unpacked(self.tdmrep) if isinstance(self.tdmrep, bytes) else self.tdmrep
            statements += file.statements(url)
        return combine(statements) if statements else NO_PREFERENCES

    def _in_file(self, url: str, agent: AgentNames) -> tuple[Statement, ...]:
        ours, tokens = self._ours, self.settings.ai_tokens
        if ours is None or not self.settings.obey or self.access is not _RULES:
            return ()
        return answer_or(lambda: ours.statements(url, agent, tokens), (), url, self._stats)

    def licenses(self, agent: AgentNames) -> tuple[str, ...]:
        """Returns the URLs of the first licences that the file names (RSL 1.0)."""
        uses = self._uses(agent)
        return uses.licenses if uses else ()

    def _uses(self, agent: AgentNames) -> Uses | None:
        """Returns what the file says about uses to *agent*; None if the parser cannot tell."""
        ours, tokens = self._ours, self.settings.ai_tokens
        if ours is None:
            return None
        return answer_or(lambda: ours.uses(agent, tokens), None, self.origin, self._stats)

    def signed(self, verdict: Verdict) -> Verdict:
        """Returns *verdict* with the URL and status of the robots.txt, and the override."""
        if self._signed is None or self._signed[0] is not verdict:
            url, status = self.record.url, self.status
            signed = replace(verdict, robots_url=url, outcome=status, override=self.override_label)
            if not is_short(verdict):
                return signed
            self._signed = verdict, signed
        return self._signed[1]

    @property
    def override_label(self) -> str | None:
        """The reason of the override that it is under, or its keys; None without an override."""
        return self.settings.override.label if self.settings.override else None


@dataclass(slots=True, eq=False, repr=False)  # one is created per page
class Passes:
    """The decision that a request may be sent."""

    policy: Policy
    """The policy that allows the request."""
    verdict: Verdict
    """The verdict, which says why the request is allowed."""


class Refused(NamedTuple):
    """The decision that a request must not be sent, or its page must not be used."""

    verdict: Verdict
    policy: Policy | None
    """The policy of the origin; None if it was not known when the crawl closed or gave it up."""
    preferences: Preferences | None = None
    """What site and page say about its use, if the page was fetched but must not be used."""


def policy_of_any_site(
    access: Access, file: ParsedFile | None, settings: RobotsSettings, collector: StatsCollector
) -> Policy:
    """Returns a policy that decides by *file* and *settings* alone, whatever the site and time."""
    site = Origin("http", "site.example", 80)
    record = RobotsRecord(site, access, 200, site.robots_url, fetched_at=0, lifetime=0)
    return Policy(record, file, settings, DEFAULT_CLOCK, collector)
