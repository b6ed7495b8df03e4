"""What the slots of one crawl need to keep a pace together with other crawls."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING
from uuid import uuid4

from .turn import Turn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from scrapy.core.downloader import Slot

    from scrapy_robots_plus.crawl.clock import Clock

    from .shared_pace import SharedPace


@dataclass
class Sharing:
    """One per crawl."""

    pace: SharedPace
    clock: Clock
    look_again: Callable[[Slot], None]
    """Makes the downloader look whether the next request of a slot may go."""
    on_wait: Callable[[], None]
    """Called when a request has to wait for other crawls."""
    worker: str = field(default_factory=lambda: uuid4().hex)
    _numbers: Iterator[int] = field(default_factory=count)

    def ticket(self) -> str:
        """For one slot."""
        return f"{self.worker}/{next(self._numbers)}"

    def turn(self, go_on: Callable[[], bool]) -> Turn:
        """For one slot. *go_on*: see :class:`.Turn`."""
        return Turn(self.pace, self.clock.monotonic, self.clock.call_later, go_on, self.on_wait)
