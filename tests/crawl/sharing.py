"""What a slot needs to share its pace, at a clock that the test sets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_robots_plus.cluster.pace.hosts import Hosts
from scrapy_robots_plus.crawl.clock import Clock
from scrapy_robots_plus.crawl.pacing.shared.in_process import PaceInProcess
from scrapy_robots_plus.crawl.pacing.shared.sharing import Sharing

if TYPE_CHECKING:
    from collections.abc import Callable


def alone(now: Callable[[], float]) -> Sharing:
    """Of a crawl whose pace no other crawl shares."""
    pace = PaceInProcess(Hosts(), now)
    return Sharing(pace, Clock(monotonic=now, slots=now), lambda _: None, lambda: None)
