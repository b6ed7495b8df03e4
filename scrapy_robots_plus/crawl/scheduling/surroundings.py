"""What the queue asks of a crawl, so that only ``running_crawl.py`` has to know one."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scrapy import Request

    from scrapy_robots_plus.crawl.fetching.budget import FetchBudget
    from scrapy_robots_plus.crawl.lanes.lane import Address, Lane
    from scrapy_robots_plus.policy.origin import Origin


class OriginState(NamedTuple):
    """What is known of an origin now. Times are by the monotonic clock."""

    delay: float = 0.0
    """Seconds from one request to the next that its robots.txt asks for."""
    unreachable: bool = False
    """Whether all its requests fail, because its robots.txt cannot be read."""
    again_at: float = 0.0
    """When an unreachable robots.txt is asked for again."""
    opens_at: float = 0.0
    """When its visiting hours begin; past or now where they have."""


class SlotState(NamedTuple):
    """What a downloader slot would do with another request."""

    due_in: float
    """Seconds until its delay has passed; not over 0 where it has."""
    delay: float
    """The least number of seconds that it will keep after the next request."""
    capacity: float
    """How many requests it takes at the same time."""
    likely_delay: float = 0.0
    """Seconds that it will keep after a request on average: jitter makes some shorter."""


class DownloaderSlots(Protocol):
    """What is asked of the downloader."""

    def slot_key(self, lane: Lane) -> str:
        """The key of the slot that requests of the lane go to."""

    def slot_state(self, key: str) -> SlotState: ...


class Surroundings(DownloaderSlots, Protocol):
    """What is asked of a crawl."""

    budget: FetchBudget

    def address(self, request: Request) -> Address:
        """The lane that a request belongs to."""

    def clock(self) -> float:
        """Monotonic seconds."""

    def origin_state(self, origin: Origin) -> OriginState | None:
        """None where the policy is not known: it is to be fetched."""

    def forget(self, origin: Origin) -> None:
        """A policy that came just now has been used: from here it counts while it is fresh."""

    def may_fetch(self) -> bool:
        """Whether the crawl is neither paused nor about to close."""

    def is_fetching(self, origin: Origin) -> bool: ...

    def fetch(self, origin: Origin, lane: Lane) -> None:
        """Starts to fetch a policy for the lane. ``Readiness.fetch_ended`` is told of the end."""

    def ended(self, out: Iterable[Request], last: Request | None) -> Iterable[Request]:
        """Those of the requests *out* that came back without anybody telling us.

        *last*: what was handed out last, if it has not been asked about yet.
        """

    def wake(self) -> None:
        """Makes the engine ask for requests."""
