"""What a robots.txt says about the use of its pages, kept for the agent that asked last."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_robots_plus.protocol.preferences import FilePreferences

if TYPE_CHECKING:
    from scrapy_robots_plus.protocol import Agent, RobotsTxt
    from scrapy_robots_plus.protocol.preferences import Statement

MOST_LICENSES = 10
"""License lines that count."""


class Uses:
    """What one file says to one agent."""

    __slots__ = ("_agent", "_tokens", "by_url", "everywhere", "licenses")

    def __init__(self, file: RobotsTxt, agent: Agent, tokens: tuple[str, ...]) -> None:
        preferences = FilePreferences(file, agent, tokens)
        self._agent = agent
        self._tokens = tokens
        everywhere = preferences.everywhere
        self.everywhere: tuple[Statement, ...] = everywhere or ()
        """What it says about each URL that may be fetched."""
        self.by_url = preferences if everywhere is None else None
        """What it says about each URL, if that depends on the URL. It holds the file."""
        self.licenses = file.licenses[:MOST_LICENSES]
        """License URLs as served, the first of them."""

    @property
    def is_silent(self) -> bool:
        """Whether it says nothing of any URL, and names no licence."""
        return self.by_url is None and not self.everywhere and not self.licenses

    def is_for(self, agent: Agent, tokens: tuple[str, ...]) -> bool:
        """Whether it is what this agent asked for."""
        return self._agent == agent and self._tokens == tokens
