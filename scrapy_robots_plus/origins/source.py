"""Where a robots.txt came from."""

from __future__ import annotations

from enum import Enum


class Source(str, Enum):
    """Where a retrieval has found what it returned."""

    NETWORK = "network"
    """The site, or nowhere."""
    STORE = "store"
    """``ROBOTS_STORE``."""
    CACHE = "cache"
    """Scrapy's HTTP cache."""
    OVERRIDE = "override"
    """The text of an override."""

    def __str__(self) -> str:
        return self.value
