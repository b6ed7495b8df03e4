"""The clocks and the dice of a crawl, in one place, so that a test can set them."""

from __future__ import annotations

import random
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from . import compat

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
    slots: Callable[[], float] = compat.slot_clock
    """Seconds, by the clock that the downloader counts the delays of its slots with."""


DEFAULT_CLOCK = Clock()
