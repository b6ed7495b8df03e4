"""The clocks and the dice of a crawl, in one place, so that a test can set them."""

from __future__ import annotations

import random
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True, slots=True)
class Clock:
    """``wall`` dates records, ``monotonic`` measures while they are held, ``jitter`` spreads
    retries.
    """

    wall: Callable[[], float] = time.time
    """Seconds since the epoch."""
    monotonic: Callable[[], float] = time.monotonic
    """Seconds."""
    jitter: Callable[[], float] = random.random
    """A number from 0 to 1."""


DEFAULT_CLOCK = Clock()
