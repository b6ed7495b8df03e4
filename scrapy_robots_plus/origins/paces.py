"""The delays and visiting hours of an origin: what its robots.txt asks for, and what is kept."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from scrapy_robots_plus.protocol.pace import Timetable

from .judging import Delay, delay_of, longer_delay

if TYPE_CHECKING:
    from scrapy_robots_plus.protocol.pace import VisitTime
    from scrapy_robots_plus.protocol.product_token import AgentNames
    from scrapy_robots_plus.settings.robots_settings import RobotsSettings

    from .parsers import ParsedFile


PACES_REMEMBERED = 1_000
"""How many paces of one origin are told apart: each request may have a delay of its own."""


class Pace(NamedTuple):
    """What a file asks of one agent, within the limits of the settings."""

    delay: Delay | None = None
    hourly: tuple[VisitTime, Delay] | None = None
    """A delay that applies in some hours of the day. No host is skipped because of it."""
    visits: VisitTime | None = None
    """The visiting hours, if ``ROBOTS_VISIT_TIME`` is to obey them."""


AT_ANY_TIME = Timetable()

ANY_PACE = Pace()
"""Shared by all origins without a pace, so that it costs no memory."""


def pace_of(file: ParsedFile | None, agent: AgentNames, settings: RobotsSettings) -> Pace:
    """The longer of Crawl-delay and Request-rate, and the visiting hours; without a *file*, the
    delay that the user sets.
    """
    visits, (delay, hourly) = None, (_own(settings.own_delay), None)
    if file is not None:
        visits = file.visit_time(agent) if settings.visit_time == "obey" else None
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
    if too_long == "skip" and not settings.obey:
        too_long = "clamp"  # without ROBOTSTXT_OBEY nothing is dropped
    return delay_of(asked, settings.crawl_delay_max, too_long)


@dataclass(slots=True)
class Paces:
    """The paces that requests to one origin keep: all agents share one server, so the longest delay
    of any of them counts.
    """

    known: tuple[Pace, ...] = ()
    """Those that were added, so that each is counted once."""
    table: Timetable = AT_ANY_TIME
    """All of them together."""

    def add(self, pace: Pace) -> bool:
        """Puts *pace* in force. Returns whether it was not yet."""
        if pace is ANY_PACE or pace in self.known:
            return False
        if len(self.known) < PACES_REMEMBERED:
            self.known += (pace,)
        delay, hourly, visits = self.table.delay, self.table.hourly, self.table.visits
        if pace.delay is not None and not pace.delay.skip:
            delay = max(pace.delay.kept, delay)
        if pace.hourly is not None:
            window, slower = pace.hourly
            hourly = tuple(dict.fromkeys((*hourly, (window, slower.kept))))
        self.table = Timetable(delay, hourly, pace.visits or visits)
        return True
