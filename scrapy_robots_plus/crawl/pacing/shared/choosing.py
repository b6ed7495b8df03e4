"""Which crawls keep a pace together: those of the same crawler, as sites know it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_robots_plus.cluster.pace.hosts import Hosts
from scrapy_robots_plus.cluster.pace.opening import OFF, open_keeper
from scrapy_robots_plus.crawl.clock import DEFAULT_CLOCK
from scrapy_robots_plus.protocol.product_token import product_tokens

from .between_processes import PaceBetweenProcesses
from .in_process import PaceInProcess, hosts_of

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from scrapy_robots_plus.crawl.agents import Agents
    from scrapy_robots_plus.crawl.settings import RobotsSettings

    from .shared_pace import SharedPace

ANY_AGENT = "*"


def shared_pace(crawler: Crawler, settings: RobotsSettings, agents: Agents) -> SharedPace:
    """The pace of a crawl, as ``ROBOTS_SHARED_PACE`` says."""
    value, group = settings.shared_pace, _group(agents)
    if value == OFF:
        return PaceInProcess(Hosts(), DEFAULT_CLOCK.monotonic)
    keeper = open_keeper(value, group)
    if keeper is None:
        return PaceInProcess(hosts_of(group), DEFAULT_CLOCK.monotonic)
    return PaceBetweenProcesses(crawler, keeper, settings.workers)


def _group(agents: Agents) -> str:
    """The product token of a crawl, by which sites know it."""
    return next(iter(product_tokens(agents.default)), ANY_AGENT)
