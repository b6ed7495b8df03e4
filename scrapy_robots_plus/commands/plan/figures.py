"""What a plan counts: for each downloader slot, whatever the number of URLs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from scrapy_robots_plus.protocol.politeness import Timetable

if TYPE_CHECKING:
    from scrapy_robots_plus.origins.paces import Pace
    from scrapy_robots_plus.origins.policy import Policy
    from scrapy_robots_plus.protocol.origin import Origin
    from scrapy_robots_plus.protocol.product_token import AgentNames

RESPONSES = "CONCURRENT_REQUESTS"
"""What takes longest, if it is not a host: so many responses at a time."""


class Limits(NamedTuple):
    """What bounds a crawl besides the delays of hosts."""

    concurrency: int
    """``CONCURRENT_REQUESTS``; 0 for any number."""
    other_queue: bool
    """Whether requests wait for their delay elsewhere than in the queue of this package, and so
    keep those of other hosts from being sent."""
    autothrottle: bool
    """Whether AutoThrottle adds to delays, which nobody can foresee."""
    response_time: float
    """Seconds that one response takes."""
    start: float
    """When the crawl starts, in seconds since the epoch."""


@dataclass(slots=True)
class Host:
    """One downloader slot: usually a host, with all its ports and both schemes."""

    name: str
    places: int = 0
    """How many of its requests may be under way at once; 0 for any number."""
    own_delay: float = 0.0
    """Seconds between requests that the project wants: ``DOWNLOAD_DELAY``, ``DOWNLOAD_SLOTS``."""
    allowed: int = 0
    denied: int = 0
    undecided: int = 0
    origins: dict[Origin, Pace] = field(default_factory=dict)
    """What the file of each asks for."""
    visit_times: dict[Origin, str] = field(default_factory=dict)
    """The Visit-time of each that has one, obeyed or not."""

    @property
    def asked(self) -> float | None:
        """The longest delay that a file asks for, in seconds."""
        delays = [pace.delay for pace in self.origins.values() if pace.delay]
        return max((delay.asked for delay in delays if not delay.own), default=None)

    @property
    def timetable(self) -> Timetable:
        """When its requests are sent: all origins of a slot keep the longest of their delays."""
        paces = self.origins.values()
        kept = [pace.delay.kept for pace in paces if pace.delay and not pace.delay.skip]
        hours = filter(None, (pace.hourly for pace in paces))
        hourly = tuple((window, delay.kept) for window, delay in hours)
        visits = next((pace.visits for pace in paces if pace.visits), None)
        return Timetable(max((self.own_delay, *kept)), hourly, visits)


class Total(NamedTuple):
    """How long all hosts together take, side by side."""

    seconds: float
    because: Host | str | None = None
    """What takes that long: a host, or :data:`RESPONSES`; None if nothing does."""


class Figures:
    """The counts of one plan."""

    def __init__(self, limits: Limits, agent: AgentNames) -> None:
        self.limits = limits
        self._agent = agent
        self._hosts: dict[str, Host] = {}
        self.not_http = 0
        """URLs to which robots.txt does not apply."""
        self.invalid = 0
        """Lines that are not URLs."""
        self.sitemaps_unread = 0

    def __len__(self) -> int:
        return len(self._hosts)

    def host(self, name: str, places: int, own_delay: float) -> Host:
        """The host of that name; made with its *places* and *own_delay* if it is new."""
        found = self._hosts.get(name)
        if found is None:
            found = self._hosts[name] = Host(name, places, own_delay)
        return found

    def add(self, url: str, host: Host, policy: Policy) -> None:
        """Counts one URL of *host*, judged by its origin's *policy*."""
        refusal = policy.refusal(url, self._agent)
        if refusal is None:
            host.allowed += 1
        elif refusal.reason.is_unread:
            host.undecided += 1
        else:
            host.denied += 1
        if policy.origin not in host.origins:
            host.origins[policy.origin] = policy.paces.of(self._agent)
            visits = policy.file.visit_time(self._agent) if policy.file else None
            if visits is not None:
                host.visit_times[policy.origin] = str(visits)

    def longest_first(self) -> list[Host]:
        """All hosts; of those that take as long, the one with more URLs comes first."""
        return sorted(
            self._hosts.values(),
            key=lambda host: (-self.seconds(host), -host.allowed, -host.denied, host.name),
        )

    def seconds(self, host: Host) -> float:
        """Seconds from the start of the crawl until the last response of *host* is there."""
        if not host.allowed:
            return 0.0
        response = self.limits.response_time
        alone = host.timetable.seconds_for(host.allowed, self.limits.start) + response
        return max(alone, host.allowed * response / (host.places or host.allowed))

    def total(self) -> Total:
        """The longest host, or all responses if ``CONCURRENT_REQUESTS`` makes them take longer."""
        total = Total(0.0)
        for host in self._hosts.values():
            total = max(total, Total(self.seconds(host), host), key=_seconds)
        if self.limits.concurrency:
            allowed = sum(host.allowed for host in self._hosts.values())
            seconds = allowed * self.limits.response_time / self.limits.concurrency
            total = max(total, Total(seconds, RESPONSES), key=_seconds)
        return total


def _seconds(total: Total) -> float:
    return total.seconds
