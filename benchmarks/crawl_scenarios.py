"""The crawls that are measured: which hosts there are, and what is asked of them."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True)
class Hosts:
    """A class of hosts. They are at 127.``net``.*.*, so that each has a slot and a robots.txt."""

    name: str
    net: int
    count: int
    pages: int
    delay: float = 0.0
    """Crawl-delay in seconds; 0 for none."""
    dead: bool = False
    """Whether its robots.txt is never answered. Its pages are."""
    latency: float = 0.0
    """Seconds until a page is answered."""

    def address(self, number: int) -> str:
        return f"127.{self.net}.{number // 250}.{number % 250 + 1}"

    @property
    def addresses(self) -> list[str]:
        return [self.address(number) for number in range(self.count)]

    @property
    def robots(self) -> str:
        delay = f"Crawl-delay: {self.delay:g}\n" if self.delay else ""
        return f"User-agent: *\nDisallow: /private/\nDisallow: /*?session=\n{delay}"


@dataclass(frozen=True)
class Scenario:
    """Hosts, and how long a robots.txt may take."""

    name: str
    title: str
    hosts: tuple[Hosts, ...]
    timeout: float = 10.0
    """Seconds for a robots.txt."""
    until_live_done: bool = False
    """Whether the crawl is stopped when the pages of the hosts that are not dead are there."""
    as_links: bool = False
    """Whether all pages but the first are links on that one.

    Start requests come one by one as long as there is room for more. Whether there is depends on
    how fast those before were sent, and with it how many pages are under way: variants would be
    compared at different loads.
    """
    settings: dict[str, Any] = field(default_factory=dict)
    filtered: bool = False
    """Whether the duplicate filter looks at the requests."""
    idle: float = 0.0
    """Seconds after which the server closes a connection without requests; 0 for never."""

    def paths(self) -> list[tuple[str, str]]:
        """Address and path of all pages, page by page, the hosts in an order that mixes them."""
        hosts = [(address, one.pages) for one in self.hosts for address in one.addresses]
        random.Random(5).shuffle(hosts)
        most = max(one.pages for one in self.hosts)
        return [
            (address, f"/page/{number}")
            for number in range(most)
            for address, pages in hosts
            if number < pages
        ]

    @property
    def live_pages(self) -> int:
        return sum(hosts.count * hosts.pages for hosts in self.hosts if not hosts.dead)

    def without_dead(self) -> Scenario:
        live = tuple(hosts for hosts in self.hosts if not hosts.dead)
        return Scenario(f"{self.name}, dead left out", self.title, live, self.timeout)

    @property
    def politeness(self) -> float:
        """Seconds that the slowest host takes by its own delay."""
        return max(hosts.delay * hosts.pages for hosts in self.hosts)


def _dead(count: int) -> Scenario:
    return Scenario(
        f"{count} dead",
        f"{count:,} hosts whose robots.txt never answers beside 40 live ones",
        (Hosts("live", 10, 40, 60, latency=0.05), Hosts("dead", 30, count, 3, dead=True)),
        timeout=5.0,
        until_live_done=True,
    )


def broad(hosts: int, pages: int) -> Scenario:
    """Many small hosts, which close idle connections as real ones do: after 15 seconds."""
    return Scenario(
        f"broad-{hosts}-{pages}",
        f"{hosts:,} hosts, {pages} pages each",
        (Hosts("small", 10, hosts, pages),),
        filtered=True,
        idle=15.0,
    )


def one_host(pages: int) -> Scenario:
    """All pages but the first are links, as the requests of a broad crawl wait in its queue."""
    hosts = (Hosts("open", 10, 1, pages),)
    return Scenario(
        f"one-{pages}", f"one host, {pages:,} pages", hosts, as_links=True, filtered=True
    )


def scenario_named(name: str) -> Scenario:
    """One of :data:`SCENARIOS`, or ``broad-HOSTS-PAGES``, or ``one-PAGES``."""
    if name in SCENARIOS:
        return SCENARIOS[name]
    kind, *numbers = name.split("-")
    kinds: dict[str, Callable[..., Scenario]] = {"broad": broad, "one": one_host}
    return kinds[kind](*map(int, numbers))


SCENARIOS = {
    scenario.name.replace(" ", "-"): scenario
    for scenario in (
        Scenario(
            "mixed",
            "50 fast hosts, 30 with Crawl-delay 1, 20 whose robots.txt never answers",
            (
                Hosts("fast", 10, 50, 60),
                Hosts("slow", 20, 30, 10, delay=1.0),
                Hosts("dead", 30, 20, 10, dead=True),
            ),
        ),
        _dead(400),
        _dead(4000),
        Scenario(
            "slow",
            "500 hosts with Crawl-delay 1, 10 pages each",
            (Hosts("slow", 20, 500, 10, 1.0),),
        ),
        Scenario(
            "one host", "one open host, 6,000 pages", (Hosts("open", 10, 1, 6000),), as_links=True
        ),
        Scenario(
            "20 hosts",
            "20 open hosts, 300 pages each",
            (Hosts("open", 10, 20, 300),),
            as_links=True,
        ),
        Scenario("many hosts", "10,000 hosts, 3 pages each", (Hosts("small", 10, 10_000, 3),)),
    )
}
