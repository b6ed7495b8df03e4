"""The delays and visiting hours of an origin: what its robots.txt asks for, and what is kept."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from scrapy_robots_plus.crawl import stats as keys
from scrapy_robots_plus.settings.options import OnVisitTime, TooLong

from .judging import Delay, delay_of, longer_delay
from .parsers import ParsedFile, guarded

if TYPE_CHECKING:
    from scrapy.statscollectors import StatsCollector

    from scrapy_robots_plus.protocol import VisitTime
    from scrapy_robots_plus.protocol.origin import Origin
    from scrapy_robots_plus.protocol.product_token import AgentNames
    from scrapy_robots_plus.settings.robots_settings import RobotsSettings


AGENTS_REMEMBERED = 16
"""For how many agents the pace is remembered: a crawl may send another agent each time."""


PACES_REMEMBERED = 1_000
"""How many paces of one origin are told apart: each request may have a delay of its own."""


class Pace(NamedTuple):
    """What a file asks of one agent, within the limits of the settings."""

    delay: Delay | None = None
    hourly: tuple[VisitTime, Delay] | None = None
    """A delay that applies in some hours of the day. No host is skipped because of it."""
    visits: VisitTime | None = None
    """The visiting hours, if ``ROBOTS_VISIT_TIME`` is to obey them."""


ANY_PACE = Pace()
"""Shared by all origins without a pace, so that it costs no memory."""


def pace_of(file: ParsedFile, agent: AgentNames, settings: RobotsSettings) -> Pace:
    """The longer of Crawl-delay and Request-rate, and the visiting hours."""
    visits = file.visit_time(agent) if settings.visit_time is OnVisitTime.OBEY else None
    delay, hourly = _delays_of(file, agent, settings)
    pace = Pace(delay, hourly, visits)
    return ANY_PACE if pace == ANY_PACE else pace


def _delays_of(
    file: ParsedFile, agent: AgentNames, settings: RobotsSettings
) -> tuple[Delay | None, tuple[VisitTime, Delay] | None]:
    """The delay for all day, and that for some hours."""
    own = _own(settings.own_delay)
    if settings.fixed_delay is not None:
        return own, None
    delay = _bounded(file.crawl_delay(agent), settings)
    asked = file.request_rate(agent)
    rate = None if asked is None else _bounded(asked.delay, settings)
    if rate is not None and asked is not None and asked.window is not None:
        return delay or own, (asked.window, replace(rate, skip=False))
    return longer_delay(delay, rate) or own, None


def _own(seconds: float) -> Delay | None:
    """The delay that the user sets, within no limits; None for 0."""
    return Delay(seconds, seconds, own=True) if seconds else None


def _bounded(asked: object, settings: RobotsSettings) -> Delay | None:
    too_long = settings.crawl_delay_too_long
    if too_long is TooLong.SKIP and not settings.obey:
        too_long = TooLong.CLAMP  # without ROBOTSTXT_OBEY nothing is dropped
    return delay_of(asked, settings.crawl_delay_max, too_long)


@dataclass(slots=True)
class InForce:
    """The paces that requests to one origin keep: the longest delay of any of them counts."""

    paces: tuple[Pace, ...] = ()
    """Those that were added, so that each is counted once."""
    longest: float | None = None
    hourly: tuple[tuple[VisitTime, Delay], ...] = ()
    visits: VisitTime | None = None

    def add(self, pace: Pace) -> None:
        if len(self.paces) < PACES_REMEMBERED:
            self.paces += (pace,)
        self.visits = pace.visits or self.visits
        if pace.hourly is not None and pace.hourly not in self.hourly:
            self.hourly += (pace.hourly,)
        if pace.delay is not None and not pace.delay.skip:
            self.longest = max(pace.delay.kept, self.longest or 0.0)


class Paces:
    """The pace that requests to one origin keep, according to its current robots.txt.

    All agents share one server, so the longest delay of any agent in use applies to all.
    :meth:`of` only looks up what an agent is asked for; :meth:`enforce` puts it in force.
    """

    __slots__ = ("_asked", "_file", "_origin", "_settings", "_stats", "in_force")

    def __init__(
        self,
        origin: Origin,
        file: ParsedFile | None,
        settings: RobotsSettings,
        stats: StatsCollector,
        in_force: InForce | None = None,
    ) -> None:
        """*in_force*: that of other settings for the same server, which these share."""
        self._origin = origin
        self._file = file if settings.keeps_delays else None
        self._settings = settings
        self._stats = stats
        self._asked: dict[AgentNames, Pace] = {}
        self.in_force = in_force or InForce()

    def of(self, agent: AgentNames) -> Pace:
        """What is asked of *agent*: by the file, or by the user."""
        if self._file is None:
            return self._without_file
        pace = self._asked.get(agent)
        if pace is None:
            pace = self._look_up(self._file, agent)
            if len(self._asked) >= AGENTS_REMEMBERED:
                del self._asked[next(iter(self._asked))]
            self._asked[agent] = pace
        return pace

    def enforce(self, agent: AgentNames) -> None:
        """A request is sent as *agent*: its pace is in force from now on, and counted.

        Each pace in the file counts once, however many agents share it.
        """
        pace = self.of(agent)
        if pace is ANY_PACE or pace in self.in_force.paces:
            return
        self.in_force.add(pace)
        if pace.delay is not None and not (pace.delay.skip or pace.delay.own):
            self._count(pace.delay)

    @property
    def any(self) -> bool:
        """Whether a delay or visiting hours are in force."""
        kept = self.in_force
        return bool(kept.longest or kept.hourly or kept.visits)

    def delay(self, now: float) -> float | None:
        """The longest delay in force, in seconds. *now*: seconds since the epoch."""
        kept = self.in_force
        if not kept.hourly:
            return kept.longest
        hourly = (delay.kept for window, delay in kept.hourly if window.includes(now))
        return max((kept.longest or 0.0, *hourly)) or None

    @property
    def longest_delay(self) -> float | None:
        """The longest delay in force, in seconds, at any hour of the day."""
        hourly = (delay.kept for _, delay in self.in_force.hourly)
        return max((self.in_force.longest or 0.0, *hourly)) or None

    def opens_in(self, now: float) -> float:
        """Seconds until the visiting hours begin; 0 during them, or if there are none."""
        visits = self.in_force.visits
        return visits.begins_in(now) if visits else 0.0

    @property
    def asked_delay(self) -> Delay | None:
        """The longest delay that the file asks of any agent looked up so far, at any hour, kept or
        not; one that is too long comes before all others.
        """
        if self._settings.fixed_delay is not None:
            return None  # whatever it asks for
        paces = self._asked.values()
        delays = [pace.delay for pace in paces if pace.delay is not None and not pace.delay.own]
        delays += [pace.hourly[1] for pace in paces if pace.hourly is not None]
        return max(delays, key=lambda delay: (delay.skip, delay.asked), default=None)

    @property
    def _without_file(self) -> Pace:
        own = self._settings.own_delay
        return Pace(_own(own)) if own else ANY_PACE

    def _look_up(self, file: ParsedFile, agent: AgentNames) -> Pace:
        return guarded(
            lambda: pace_of(file, agent, self._settings),
            lambda _: self._without_file,
            f"the pace of {self._origin}",
            self._stats,
        )

    def _count(self, delay: Delay) -> None:
        self._stats.inc_value(keys.DELAYS_KEPT)
        if delay.clamped:
            self._stats.inc_value(keys.DELAYS_CLAMPED)
