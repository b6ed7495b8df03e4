"""The queue's interface to a crawl, so that only ``running_crawl.py`` depends on a real one."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scrapy import Request

    from scrapy_robots_plus.crawl.fetching.budget import FetchBudget
    from scrapy_robots_plus.crawl.lanes.lane import Address, Lane
    from scrapy_robots_plus.policy.origin import Origin


class OriginState(NamedTuple):
    """What is known about an origin now. Times are by the monotonic clock."""

    delay: float = 0.0
    """The delay in seconds that its robots.txt asks for."""
    unreachable: bool = False
    """Whether all its requests fail because its robots.txt cannot be read."""
    given_up: bool = False
    """Whether all its requests fail because the host has refused too many."""
    again_at: float = 0.0
    """When an unreachable robots.txt is fetched again."""
    opens_at: float = 0.0
    """When its visiting hours begin; not in the future if they have begun."""


class SlotState(NamedTuple):
    """What a downloader slot would do with another request."""

    due_in: float
    """Seconds until its delay has passed; 0 or less if it has."""
    delay: float
    """The minimum number of seconds that it will wait after the next request."""
    capacity: float
    """How many requests it allows at the same time."""
    likely_delay: float = 0.0
    """Average seconds that it waits after a request: jitter makes some waits shorter."""


class DownloaderSlots(Protocol):
    """The queue's interface to the downloader."""

    def slot_key(self, lane: Lane) -> str:
        """The key of the slot that requests of the lane go to."""

    def slot_state(self, key: str) -> SlotState: ...

    def turn_in(self, key: str, lane: Lane) -> float:
        """Seconds until other crawls leave the host to the lane, which wants to send a request to
        the slot. A turn is reserved for it.
        """


class Surroundings(DownloaderSlots, Protocol):
    """The queue's interface to a crawl."""

    budget: FetchBudget

    def address(self, request: Request) -> Address:
        """The lane that a request belongs to."""

    def clock(self) -> float:
        """Monotonic seconds."""

    def origin_state(self, origin: Origin) -> OriginState | None:
        """None if the policy is unknown and must be fetched."""

    def policy_was_used(self, origin: Origin) -> None:
        """A just fetched policy was used: from now on it counts only while it is fresh."""

    def may_fetch(self) -> bool:
        """Whether the crawl is neither paused nor about to close."""

    def is_fetching(self, origin: Origin) -> bool: ...

    def fetch(self, origin: Origin, lane: Lane) -> None:
        """Starts to fetch a policy for the lane. ``Readiness.fetch_ended`` is called at the end."""

    def ended(self, out: Iterable[Request], last: Request | None) -> Iterable[Request]:
        """Those of the requests *out* that came back without a notification.

        *last*: the last request handed out, if it has not been checked yet.
        """

    def wake(self) -> None:
        """Makes the engine ask for requests."""
