"""The delays and visiting hours of an origin: what its robots.txt asks for, and what is kept."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from scrapy_robots_plus.crawl import stats as keys
from scrapy_robots_plus.crawl.parsers.failing import parser_failed
from scrapy_robots_plus.policy.delay import Delay, TooLong, delay_of
from scrapy_robots_plus.policy.options import OnVisitTime

if TYPE_CHECKING:
    from scrapy.statscollectors import StatsCollector

    from scrapy_robots_plus.crawl.parsers.adapter import ParsedFile
    from scrapy_robots_plus.crawl.settings import RobotsSettings
    from scrapy_robots_plus.policy.origin import Origin
    from scrapy_robots_plus.protocol import VisitTime
    from scrapy_robots_plus.protocol.product_token import AgentNames

AGENTS_REMEMBERED = 16
"""For how many agents the pace is remembered: a crawl may send another agent each time."""


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
    delay = _bounded(file.crawl_delay(agent), settings)
    seconds, window = file.request_rate(agent) or (0.0, None)
    rate = _bounded(seconds, settings)
    hourly = None
    if rate is not None and window is not None:
        hourly = (window, replace(rate, skip=False))
    elif rate is not None and (delay is None or rate.asked > delay.asked):
        delay = rate
    visits = file.visit_time(agent) if settings.visit_time is OnVisitTime.OBEY else None
    pace = Pace(delay, hourly, visits)
    return ANY_PACE if pace == ANY_PACE else pace


def _bounded(asked: object, settings: RobotsSettings) -> Delay | None:
    too_long = settings.crawl_delay_too_long
    if too_long is TooLong.SKIP and not settings.obey:
        too_long = TooLong.CLAMP  # without ROBOTSTXT_OBEY nothing is dropped
    return delay_of(asked, settings.crawl_delay_max, too_long)


class Paces:
    """The pace that requests to one origin keep, according to its current robots.txt.

    All agents share one server, so the longest delay of any agent in use applies to all.
    :meth:`of` only looks up what an agent is asked for; :meth:`enforce` puts it in force.
    """

    __slots__ = (
        "_asked",
        "_file",
        "_hourly",
        "_in_force",
        "_longest",
        "_origin",
        "_settings",
        "_stats",
        "_visits",
    )  # fmt: skip

    def __init__(
        self,
        origin: Origin,
        file: ParsedFile | None,
        settings: RobotsSettings,
        stats: StatsCollector,
    ) -> None:
        self._origin = origin
        self._file = file if settings.keeps_delays else None
        self._settings = settings
        self._stats = stats
        self._asked: dict[AgentNames, Pace] = {}
        self._in_force: tuple[Pace, ...] = ()
        self._longest: float | None = None
        self._hourly: tuple[tuple[VisitTime, Delay], ...] = ()
        self._visits: VisitTime | None = None

    def of(self, agent: AgentNames) -> Pace:
        """What the file asks of *agent*."""
        if self._file is None:
            return ANY_PACE
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
        if pace is ANY_PACE or pace in self._in_force:
            return
        self._in_force += (pace,)
        self._visits = pace.visits or self._visits
        if pace.hourly is not None and pace.hourly not in self._hourly:
            self._hourly += (pace.hourly,)
        if pace.delay is not None and not pace.delay.skip:
            self._longest = max(pace.delay.kept, self._longest or 0.0)
            self._count(pace.delay)

    @property
    def any(self) -> bool:
        """Whether a delay or visiting hours are in force."""
        return bool(self._longest or self._hourly or self._visits)

    def delay(self, now: float) -> float | None:
        """The longest delay in force, in seconds. *now*: seconds since the epoch."""
        if not self._hourly:
            return self._longest
        hourly = (delay.kept for window, delay in self._hourly if window.includes(now))
        return max((self._longest or 0.0, *hourly)) or None

    @property
    def longest_delay(self) -> float | None:
        """The longest delay in force, in seconds, at any hour of the day."""
        hourly = (delay.kept for _, delay in self._hourly)
        return max((self._longest or 0.0, *hourly)) or None

    def opens_in(self, now: float) -> float:
        """Seconds until the visiting hours begin; 0 during them, or if there are none."""
        return self._visits.begins_in(now) if self._visits else 0.0

    @property
    def asked_delay(self) -> Delay | None:
        """The longest delay that the file asks of any agent looked up so far, at any hour, kept or
        not; one that is too long comes before all others.
        """
        paces = self._asked.values()
        delays = [pace.delay for pace in paces if pace.delay is not None]
        delays += [pace.hourly[1] for pace in paces if pace.hourly is not None]
        return max(delays, key=lambda delay: (delay.skip, delay.asked), default=None)

    def _look_up(self, file: ParsedFile, agent: AgentNames) -> Pace:
        try:
            return pace_of(file, agent, self._settings)
        except Exception as error:  # noqa: BLE001 - any parser may be in use
            parser_failed(error, f"the pace of {self._origin}", self._stats)
            return ANY_PACE

    def _count(self, delay: Delay) -> None:
        self._stats.inc_value(keys.DELAYS_KEPT)
        if delay.clamped:
            self._stats.inc_value(keys.DELAYS_CLAMPED)
