"""``scrapy robots plan``: what a crawl may fetch, and how long politeness alone takes."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from scrapy import Request

from scrapy_robots_plus import compat
from scrapy_robots_plus.crawl.crawl import Crawl
from scrapy_robots_plus.origins.judging import AgentPace
from scrapy_robots_plus.origins.policy import Policy
from scrapy_robots_plus.protocol.crawl_delay import seconds_for
from scrapy_robots_plus.protocol.origin import Origin
from scrapy_robots_plus.protocol.printable import counted, duration

from .check import EXITS, word_for
from .inputs import AGENT, DIALECT, JSON, URLS, urls_in, with_policies
from .subcommand import Exit, Subcommand

Fields = dict[str, Any]

_COUNTS = tuple(f"{word}_urls" for word in EXITS)
"""The names of the counts, for each host and for all."""

_MOST = 20
"""The most hosts that are shown, the longest times first; ``--json`` shows all."""


class Host(NamedTuple):
    """A downloader slot: usually a host, with all its ports and both schemes."""

    name: str
    own_delay: float
    """Seconds between requests by the settings: ``DOWNLOAD_DELAY``, ``DOWNLOAD_SLOTS``."""
    counts: Counter[str]
    paces: dict[str, AgentPace]
    """What the robots.txt of each origin asks for, by origin."""

    def fields(self, start: float) -> Fields:
        """Returns the plan for this host if the crawl starts at *start* (seconds since the epoch).

        All origins of a slot keep the longest of their delays.
        """
        paces = self.paces.values()
        delays = [pace.delay for pace in paces if pace.delay]
        visits = next((pace.visits for pace in paces if pace.visits), None)
        kept = max((self.own_delay, *(delay.kept for delay in delays if not delay.skip)))
        return {
            "type": "host",
            "host": self.name,
            "origins": list(self.paces),
            **{count: self.counts[count] for count in _COUNTS},
            "delay_asked": max((each.asked for each in delays if not each.own), default=None),
            "delay": kept,
            "seconds": seconds_for(self.counts["allowed_urls"], start, kept, visits),
        }


class Plan(Subcommand):
    """Say how much of a crawl is allowed, and how long politeness alone takes.

    For each host: how many URLs are allowed and denied, the delay that is kept, and the time from
    the first request to the last. Every line counts: URLs that are there twice are counted twice.
    Exit status: 0; 1 if the plan is incomplete, because a robots.txt cannot be read or a line is
    not a URL; 2 if there is nothing to plan with.
    """

    # Keeps counts for each host alone, however many URLs there are.

    arguments = URLS, AGENT, DIALECT, JSON

    def run(self) -> None:
        self._urls = urls_in(self.given)
        self._hosts: dict[str, Host] = {}
        self._left_out = {"not_http": 0, "invalid": 0}
        self.project.ask(self._ask)

    async def _ask(self, crawl: Crawl) -> None:
        start = time.time()
        await self._count(crawl)
        hosts = sorted((host.fields(start) for host in self._hosts.values()), key=_order)
        seconds = hosts[0]["seconds"] if hosts else 0.0
        total: Fields = {
            "type": "total",
            "hosts": len(hosts),
            **_sum(hosts),
            **self._left_out,
            "seconds": seconds,  # hosts are crawled concurrently
            "because": hosts[0]["host"] if seconds else None,
        }
        if not (total["allowed_urls"] or total["denied_urls"]):
            self.note(Exit.UNDECIDED)
        elif total["invalid"] or total["undecided_urls"]:
            self.note(Exit.FOUND)
        self.show([*hosts, total], (*_table(hosts), "", *_summary(hosts, total)))

    async def _count(self, crawl: Crawl) -> None:
        """Counts the URLs, judged by the policies of their origins."""
        of_origin: dict[Origin, Host] = {}
        async for asked, policy in with_policies(self._urls, crawl):
            if policy is None:
                self._left_out["invalid" if asked.problem else "not_http"] += 1
                continue
            verdict = policy.verdict(asked.requested, self.project.agent_for(policy))
            host = of_origin.get(policy.origin) or self._host_of(policy, crawl)
            host.counts[f"{word_for(verdict)}_urls"] += 1
            of_origin[policy.origin] = host

    def _host_of(self, policy: Policy, crawl: Crawl) -> Host:
        """Returns the slot for requests under *policy*, with the delays that apply to it."""
        downloader, origin = crawl.crawler.engine.downloader, str(policy.origin)
        key = compat.slot_key(downloader, Request(origin))
        if key not in self._hosts:
            _, delay, _ = compat.new_slot(downloader, key)
            self._hosts[key] = Host(key, delay, Counter(), {})
        self._hosts[key].paces[origin] = policy.pace_of(self.project.agent_for(policy))
        return self._hosts[key]


def _table(hosts: Sequence[Fields]) -> Iterator[str]:
    """Yields the lines of the first hosts, and the sum of the others."""
    yield _COLUMNS.format("TAKES", "ALLOWED", "DENIED", "UNDECIDED", "DELAY", "HOST")
    for host in hosts[:_MOST]:
        asked = host["delay_asked"]
        note = "" if asked in (None, host["delay"]) else f"  (asks for {asked:g} s)"
        yield _line(host["seconds"], host, f"{host['delay']:g} s", host["host"] + note)
    if rest := hosts[_MOST:]:
        yield _line(rest[0]["seconds"], _sum(rest), "", f"{len(rest):,} more")


def _summary(hosts: Sequence[Fields], total: Fields) -> Iterator[str]:
    yield (
        f"{counted(len(hosts), 'host')}: {counted(total['allowed_urls'], 'URL')} allowed, "
        f"{total['denied_urls']:,} denied, {total['undecided_urls']:,} undecided"
    )
    left_out = total["not_http"] + total["invalid"]
    if left_out:
        what = "is not an http or https URL" if left_out == 1 else "are not http or https URLs"
        yield f"Left out: {counted(left_out, 'line')} that {what}"
    if total["because"] is None:
        yield "Politeness takes no time."
        return
    host = hosts[0]
    requests = f"{counted(host['allowed_urls'], 'request')} to {host['host']}"
    yield f"At least {duration(total['seconds'])}: {requests}, {host['delay']:g} s apart"


def _order(host: Fields) -> tuple[float, int, int, str]:
    """Returns the sort key of *host*: the longest time first, then the most URLs."""
    return -host["seconds"], -host["allowed_urls"], -host["denied_urls"], host["host"]


def _sum(hosts: Sequence[Fields]) -> dict[str, int]:
    return {count: sum(host[count] for host in hosts) for count in _COUNTS}


_COLUMNS = "{:>14} {:>10} {:>10} {:>10} {:>8}  {}"


def _line(seconds: float, counts: Fields, delay: str, host: str) -> str:
    shown = (f"{counts[count]:,}" for count in _COUNTS)
    return _COLUMNS.format(duration(seconds) if seconds else "-", *shown, delay, host)
