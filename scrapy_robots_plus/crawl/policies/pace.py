"""The pace that a robots.txt asks of an agent, within what the settings allow."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from scrapy_robots_plus.crawl.parsers import capabilities
from scrapy_robots_plus.policy.delay import Delay, TooLong, delay_of
from scrapy_robots_plus.policy.options import OnVisitTime

if TYPE_CHECKING:
    from scrapy.robotstxt import RobotParser

    from scrapy_robots_plus.crawl.parsers.hours import Hours
    from scrapy_robots_plus.crawl.settings import RobotsSettings
    from scrapy_robots_plus.protocol.product_token import AgentNames


class Pace(NamedTuple):
    """What a file asks of one agent."""

    delay: Delay | None = None
    hourly: tuple[Hours, float] | None = None
    """A delay that holds in some hours of the day."""
    visits: Hours | None = None


ANY_PACE = Pace()
"""One for all, so that it costs nothing to keep."""


def pace_of(parser: RobotParser, agent: AgentNames, settings: RobotsSettings) -> Pace:
    """The longer one of Crawl-delay and Request-rate, and the hours for visits."""
    delay = _bounded(capabilities.crawl_delay_of(parser, agent), settings)
    seconds, hours = capabilities.request_rate_of(parser, agent) or (0.0, None)
    rate = _bounded(seconds, settings)
    hourly = None
    if rate is not None and hours is not None:
        hourly = (hours, rate.kept)
    elif rate is not None and (delay is None or rate.asked > delay.asked):
        delay = rate
    visits = None
    if settings.visit_time is OnVisitTime.OBEY:
        visits = capabilities.visit_time_of(parser, agent)
    pace = Pace(delay, hourly, visits)
    return ANY_PACE if pace == ANY_PACE else pace


def _bounded(asked: object, settings: RobotsSettings) -> Delay | None:
    too_long = settings.crawl_delay_too_long
    if too_long is TooLong.SKIP and not settings.obey:
        too_long = TooLong.CLAMP  # delays alone drop nothing
    return delay_of(asked, settings.crawl_delay_max, too_long)
