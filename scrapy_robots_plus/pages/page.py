"""A page that says something of itself, and what happened to what its callback yielded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from scrapy_robots_plus.settings.options import PageAction

if TYPE_CHECKING:
    from scrapy_robots_plus.protocol.directives import PageDirectives, PageStatement
    from scrapy_robots_plus.protocol.origin import Origin
    from scrapy_robots_plus.protocol.product_token import AgentNames
    from scrapy_robots_plus.settings.robots_settings import RobotsSettings


@dataclass(slots=True)
class Page:
    """One response, read for one crawler."""

    url: str
    origin: Origin
    agent: AgentNames
    settings: RobotsSettings
    directives: PageDirectives
    read_at: float
    """Seconds since 1970."""
    requests: int = 0
    """Those that were dropped or marked."""
    items: int = 0
    """Those that were dropped or marked."""

    @property
    def nofollow(self) -> PageStatement | None:
        """Why its links are not to be followed; None if they may be, or nobody asks."""
        asks = self.settings.on_nofollow is not PageAction.IGNORE
        return self.directives.against_following() if asks else None

    @property
    def noindex(self) -> PageStatement | None:
        """Why it is not to be used; None if it may be, or nobody asks."""
        asks = self.settings.on_noindex is not PageAction.IGNORE
        return self.directives.against_indexing(self.read_at) if asks else None
