"""``scrapy robots plan``: what a crawl may fetch, and how long its politeness alone takes."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from scrapy import Request
from twisted.internet.defer import CancelledError

from scrapy_robots_plus import compat
from scrapy_robots_plus.origins.policies import Policies
from scrapy_robots_plus.protocol.pace import Timetable
from scrapy_robots_plus.protocol.printable import counted, duration
from scrapy_robots_plus.settings import checks
from scrapy_robots_plus.settings.scrapys_own import has_our_priority_queue

from .output import Style, WrongUsageError
from .subcommand import AGENT, DIALECT, JSON, Exit, Subcommand, argument, read_by
from .urls import STYLES, URLS, Sitemaps, arriving, asked_ahead, urls_in, word_for

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Sequence

    from scrapy.settings import BaseSettings

    from scrapy_robots_plus.crawl.crawl import Crawl
    from scrapy_robots_plus.origins.policy import Pace, Policy
    from scrapy_robots_plus.protocol.origin import Origin

    Fields = dict[str, Any]

_ANY = 1_000_000_000
"""As many as there may be."""

_COUNTS = tuple(f"{word}_urls" for word in STYLES)
"""What is counted of each host, and of all."""

RESPONSES = "CONCURRENT_REQUESTS"
"""What takes longest, if it is not a host: so many responses at a time."""


@dataclass(slots=True)
class Host:
    """One downloader slot: usually a host, with all its ports and both schemes."""

    name: str
    places: int
    """How many of its requests may be under way at once; 0 for any number."""
    own_delay: float
    """Seconds between requests that the project wants: ``DOWNLOAD_DELAY``, ``DOWNLOAD_SLOTS``."""
    counts: Counter[str] = field(default_factory=Counter)
    paces: dict[str, Pace] = field(default_factory=dict)
    """What the file of each origin asks for."""
    visit_time: str | None = None
    """That of the first file that has one, obeyed or not."""

    def fields(self, start: float, response_time: float) -> Fields:
        """What is planned for it, if the crawl starts at *start* (since the epoch). All origins of
        a slot keep the longest of their delays."""
        paces, allowed = self.paces.values(), self.counts["allowed_urls"]
        delays = [pace.delay for pace in paces if pace.delay]
        hours = filter(None, (pace.hourly for pace in paces))
        hourly = tuple((window, delay.kept) for window, delay in hours)
        visits = next((pace.visits for pace in paces if pace.visits), None)
        kept = max((self.own_delay, *(delay.kept for delay in delays if not delay.skip)))
        seconds = 0.0
        if allowed:
            alone = Timetable(kept, hourly, visits).seconds_for(allowed, start) + response_time
            seconds = max(alone, allowed * response_time / (self.places or allowed))
        return {
            "type": "host",
            "host": self.name,
            "origins": list(self.paces),
            **{count: self.counts[count] for count in _COUNTS},
            "delay_asked": max((each.asked for each in delays if not each.own), default=None),
            "delay": kept,
            "hourly": [{"hours": str(hours), "delay": delay} for hours, delay in hourly],
            "visit_time": self.visit_time,
            "visit_time_obeyed": visits is not None,
            "seconds": seconds,
        }


class Plan(Subcommand):
    """Say how much of a crawl is allowed, and how long politeness alone takes.

    For each downloader slot, which usually is a host: how many URLs are allowed and denied, the
    delay that is kept, and the time from the first request to the last. Every line counts: URLs
    that are there twice are counted twice. Exit status: 0; 1 if the plan is incomplete, because a
    robots.txt or a sitemap cannot be read or a line is not a URL; 2 if there is nothing to plan
    with.
    """

    # Counts by host, however many URLs there are.

    arguments = (
        URLS,
        argument(
            "--sitemap",
            metavar="URL|FILE",
            help="the URLs of a sitemap, an index of sitemaps, or a site's robots.txt",
        ),
        AGENT,
        DIALECT,
        argument(
            "--response-time",
            type=read_by(checks.number("seconds", 0, checks.DAY).read),
            default=0.0,
            metavar="SECONDS",
            help="count this time for each response, so that the limits of "
            "CONCURRENT_REQUESTS count too (default: 0, politeness alone)",
        ),
        argument(
            "--top",
            type=read_by(checks.whole_number("hosts", 0, _ANY).read),
            default=20,
            metavar="N",
            help="the hosts to show, longest first; 0 for all (default: 20; with --json all)",
        ),
        JSON,
    )

    def run(self) -> None:
        given = self.given
        ways = (bool(given.urls), given.input is not None, given.sitemap is not None)
        if sum(ways) != 1:
            raise WrongUsageError("expected either URLs or --input FILE or --sitemap URL|FILE")
        self._hosts: dict[str, Host] = {}
        self._left_out = dict.fromkeys(("not_http", "invalid", "sitemaps_unread"), 0)
        self.project.ask(self._ask)

    async def _ask(self, crawl: Crawl) -> None:
        start, given, settings = time.time(), self.given, crawl.crawler.settings
        if given.sitemap is None:
            await self._count(arriving(urls_in(given)), crawl)
        else:
            sitemaps = Sitemaps(given.sitemap, crawl, self.output)
            await self._count(sitemaps.urls(), crawl)
            self._left_out["sitemaps_unread"] = sitemaps.unread
        if not (self._hosts or any(self._left_out.values())):
            name = "standard input" if given.input == "-" else given.sitemap or given.input
            self.output.error(f"{name} leads to no URL")
        hosts = [host.fields(start, given.response_time) for host in self._hosts.values()]
        hosts.sort(key=_order)
        total = self._total(hosts, settings.getint("CONCURRENT_REQUESTS"))
        if not (total["allowed_urls"] or total["denied_urls"]):
            self.note(Exit.UNDECIDED)
        elif total["invalid"] or total["sitemaps_unread"] or total["undecided_urls"]:
            self.note(Exit.FOUND)
        if self.as_json:
            for fields in (*hosts, total):
                self.output.json(fields)
        else:
            self._print(hosts, total, settings)

    async def _count(self, urls: AsyncIterator[str], crawl: Crawl) -> None:
        """Counts *urls*, judged by the policies of their origins."""
        policies, agent = crawl.get(Policies), self.project.agent
        of_origin: dict[Origin, Host] = {}
        async for asked in asked_ahead(urls, policies):
            origin = asked.origin
            if origin is None:
                self._left_out["invalid" if asked.problem else "not_http"] += 1
                continue
            policy = await policies.obtain(origin)
            if policy is None:  # the user stopped it
                raise CancelledError
            refusal = policy.refusal(asked.requested, agent)
            word = "allowed" if refusal is None else word_for(refusal)
            host = of_origin.get(origin) or self._host_of(policy, crawl)
            host.counts[f"{word}_urls"] += 1
            of_origin[origin] = host

    def _host_of(self, policy: Policy, crawl: Crawl) -> Host:
        """The slot of its requests, with what the project and the file of *policy* want of it."""
        downloader, origin = compat.engine_of(crawl.crawler).downloader, str(policy.origin)
        key, agent = compat.slot_key(downloader, Request(origin)), self.project.agent
        if key not in self._hosts:
            places, delay, _ = compat.new_slot(downloader, key)
            self._hosts[key] = Host(key, places, delay)
        host = self._hosts[key]
        host.paces[origin] = policy.pace_of(agent)
        visits = policy.file.visit_time(agent) if policy.file else None
        if visits is not None and host.visit_time is None:
            host.visit_time = str(visits)
        return host

    def _total(self, hosts: Sequence[Fields], concurrency: int) -> Fields:
        """All *hosts* together, side by side; *concurrency*: 0 for any number."""
        counts = _sum(hosts)
        seconds, because = (hosts[0]["seconds"], hosts[0]["host"]) if hosts else (0.0, None)
        of_responses = counts["allowed_urls"] * self.given.response_time
        if concurrency and of_responses / concurrency > seconds:
            seconds, because = of_responses / concurrency, RESPONSES
        return {
            "type": "total",
            "hosts": len(hosts),
            **counts,
            **self._left_out,
            "seconds": seconds,
            "because": because if seconds else None,
        }

    def _print(self, hosts: Sequence[Fields], total: Fields, settings: BaseSettings) -> None:
        """The first hosts, and what holds for the whole."""
        shown = hosts[: self.given.top] if self.given.top else hosts
        if shown:
            headings = ("TAKES", "ALLOWED", "DENIED", "UNDECIDED", "DELAY")
            self.output.line((_COLUMNS.format(*headings) + "HOST", Style.BOLD))
        for host in shown:
            style = Style.PLAIN if host["allowed_urls"] else Style.FAINT
            style = Style.UNSURE if host["undecided_urls"] else style
            columns = _columns(host["seconds"], host, f"{host['delay']:g} s")
            notes = "; ".join(_notes(host))
            self.output.line((columns, style), host["host"], f"  ({notes})" if notes else "")
        if rest := hosts[len(shown) :]:
            self.output.line(_columns(rest[0]["seconds"], _sum(rest), ""), f"{len(rest):,} more")
        self.output.line()
        for line in self._summary(hosts, total, settings):
            self.output.line(line)

    def _summary(
        self, hosts: Sequence[Fields], total: Fields, settings: BaseSettings
    ) -> Iterator[str]:
        yield (
            f"{counted(len(hosts), 'host')}: {counted(total['allowed_urls'], 'URL')} allowed, "
            f"{total['denied_urls']:,} denied, {total['undecided_urls']:,} undecided"
        )
        unread = sum(1 for host in hosts if host["undecided_urls"])
        for words, number, noun in (
            ("Undecided, because robots.txt cannot be read", unread, "host"),
            ("Left out, because not http or https", total["not_http"], "URL"),
            ("Left out, because not a URL", total["invalid"], "line"),
            ("Left out", total["sitemaps_unread"], "sitemap"),
        ):
            if number:
                yield f"{words}: {counted(number, noun)}"
        least = f"At least {duration(total['seconds'])}: "
        if total["because"] is None:
            yield "Politeness takes no time."
        elif total["because"] == RESPONSES:
            at_a_time = f"{settings.getint(RESPONSES):,} at a time ({RESPONSES})"
            yield f"{least}responses of {self.given.response_time:g} s, {at_a_time}"
        else:
            host = hosts[0]
            paced = f", {host['delay']:g} s apart" if host["delay"] else ""
            yield f"{least}{counted(host['allowed_urls'], 'request')} to {host['host']}{paced}"
        if not has_our_priority_queue(settings) and len(hosts) > 1:
            yield "More with this SCHEDULER_PRIORITY_QUEUE, in which hosts wait for each other."
        if settings.getbool("AUTOTHROTTLE_ENABLED"):
            yield "More with AUTOTHROTTLE_ENABLED, which adds to the delays."


def _order(host: Fields) -> tuple[float, int, int, str]:
    """The longest first; of those that take as long, the one with more URLs."""
    return -host["seconds"], -host["allowed_urls"], -host["denied_urls"], host["host"]


def _sum(hosts: Sequence[Fields]) -> dict[str, int]:
    return {count: sum(host[count] for host in hosts) for count in _COUNTS}


_COLUMNS = "{:>14} {:>10} {:>10} {:>10} {:>8}  "


def _columns(seconds: float, counts: Fields, delay: str) -> str:
    shown = (f"{counts[count]:,}" for count in _COUNTS)
    return _COLUMNS.format(duration(seconds) if seconds else "-", *shown, delay)


def _notes(host: Fields) -> Iterator[str]:
    if host["delay_asked"] not in (None, host["delay"]):
        yield f"asks for {host['delay_asked']:g} s"
    for each in host["hourly"]:
        yield f"{each['delay']:g} s during {each['hours']}"
    if host["visit_time"]:
        ignored = "" if host["visit_time_obeyed"] else ", ignored (ROBOTS_VISIT_TIME)"
        yield f"Visit-time {host['visit_time']}{ignored}"
