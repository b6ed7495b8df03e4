"""What becomes of requests that could wait for better times."""

from __future__ import annotations

from enum import Enum


class Unreachable(str, Enum):
    """What becomes of requests to a host whose robots.txt cannot be read."""

    DROP = "drop"
    """They fail."""
    DEFER = "defer"
    """They wait in the queue until it can be read."""


class OnVisitTime(str, Enum):
    """What becomes of a Visit-time."""

    IGNORE = "ignore"
    OBEY = "obey"
    """The host waits in the queue for its hours."""
