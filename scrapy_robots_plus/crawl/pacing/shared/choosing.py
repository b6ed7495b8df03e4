"""Which crawls keep a pace together: those of the same crawler, as sites know it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_robots_plus.crawl.clock import DEFAULT_CLOCK
from scrapy_robots_plus.protocol.product_token import product_tokens

from .in_process import PaceInProcess

if TYPE_CHECKING:
    from scrapy_robots_plus.crawl.agents import Agents

    from .shared_pace import SharedPace

ANY_AGENT = "*"


def shared_pace(agents: Agents) -> SharedPace:
    """The pace of a crawl."""
    return PaceInProcess(_group(agents), DEFAULT_CLOCK.monotonic)


def _group(agents: Agents) -> str:
    """The product token of a crawl, by which sites know it."""
    return next(iter(product_tokens(agents.default)), ANY_AGENT)
