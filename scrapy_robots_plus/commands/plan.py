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
from scrapy_robots_plus.settings.scrapys_own import has_our_priority_queue

from .output import Style, WrongUsageError
from .sitemaps import Sitemaps
from .subcommand import AGENT, DIALECT, JSON, Exit, Subcommand, argument
from .urls import STYLES, TURN, URLS, Urls, asked_ahead, origin_of, word_for

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Iterator, Sequence

    from scrapy_robots_plus.crawl.crawl import Crawl
    from scrapy_robots_plus.origins.paces import Pace
    from scrapy_robots_plus.origins.policy import Policy
    from scrapy_robots_plus.protocol.origin import Origin
    from scrapy_robots_plus.protocol.product_token import AgentNames

_LONGEST = 86_400
"""Seconds that one response may take: a day."""


@dataclass(slots=True)
class Host:
    """One downloader slot: usually a host, with all its ports and both schemes."""

    name: str
    places: int = 0
    """How many of its requests may be under way at once; 0 for any number."""
    own_delay: float = 0.0
    """Seconds between requests that the project wants: ``DOWNLOAD_DELAY``, ``DOWNLOAD_SLOTS``."""
    counts: Counter[str] = field(default_factory=Counter)
    """How many URLs are ``allowed``, ``denied`` and ``undecided``."""
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


def _sum(hosts: Iterable[Host]) -> Counter[str]:
    whole: Counter[str] = Counter()
    for host in hosts:
        whole.update(host.counts)
    return whole


RESPONSES = "CONCURRENT_REQUESTS"
"""What takes longest, if it is not a host: so many responses at a time."""


class Figures:
    """What a plan counts: for each downloader slot, whatever the number of URLs."""

    def __init__(self, crawl: Crawl, agent: AgentNames, response_time: float) -> None:
        """*response_time*: seconds that one response takes."""
        settings = crawl.crawler.settings
        self.response_time = response_time
        self.concurrency = settings.getint("CONCURRENT_REQUESTS")
        """0 for any number."""
        self.other_queue = not has_our_priority_queue(settings)
        """Whether requests wait for their delay elsewhere than in the queue of this package, and so
        keep those of other hosts from being sent."""
        self.autothrottle = settings.getbool("AUTOTHROTTLE_ENABLED")
        """Whether AutoThrottle adds to delays, which nobody can foresee."""
        self._start = time.time()
        self._agent = agent
        self._downloader = compat.engine_of(crawl.crawler).downloader
        self._hosts: dict[str, Host] = {}
        self._of_origin: dict[Origin, Host] = {}
        self.not_http = 0
        """URLs to which robots.txt does not apply."""
        self.invalid = 0
        """Lines that are not URLs."""
        self.sitemaps_unread = 0

    def __len__(self) -> int:
        return len(self._hosts)

    def add(self, url: str, policy: Policy) -> None:
        """Counts one URL, judged by its origin's *policy*."""
        host = self._of_origin.get(policy.origin) or self._add_origin(policy)
        refusal = policy.refusal(url, self._agent)
        host.counts["allowed" if refusal is None else word_for(refusal)] += 1

    def _add_origin(self, policy: Policy) -> Host:
        """The slot that its requests go to, and what the project and its file want of that."""
        origin = policy.origin
        key = compat.slot_key(self._downloader, Request(str(origin)))
        if key not in self._hosts:
            places, delay, _ = compat.new_slot(self._downloader, key)
            self._hosts[key] = Host(key, places, delay)
        host = self._of_origin[origin] = self._hosts[key]
        host.origins[origin] = policy.paces.of(self._agent)
        visits = policy.file.visit_time(self._agent) if policy.file else None
        if visits is not None:
            host.visit_times[origin] = str(visits)
        return host

    def longest_first(self) -> list[Host]:
        """All hosts; of those that take as long, the one with more URLs comes first."""
        return sorted(
            self._hosts.values(),
            key=lambda host: (
                -self.seconds(host),
                -host.counts["allowed"],
                -host.counts["denied"],
                host.name,
            ),
        )

    def seconds(self, host: Host) -> float:
        """Seconds from the start of the crawl until the last response of *host* is there."""
        allowed, response = host.counts["allowed"], self.response_time
        if not allowed:
            return 0.0
        alone = host.timetable.seconds_for(allowed, self._start) + response
        return max(alone, allowed * response / (host.places or allowed))

    def total(self) -> tuple[float, Host | str | None]:
        """How many seconds all hosts together take, side by side, and what takes that long: a host,
        :data:`RESPONSES`, or None if nothing does."""
        longest: tuple[float, Host | str | None] = 0.0, None
        for host in self._hosts.values():
            longest = max(longest, (self.seconds(host), host), key=_seconds)
        if self.concurrency:
            allowed = _sum(self._hosts.values())["allowed"]
            seconds = allowed * self.response_time / self.concurrency
            longest = max(longest, (seconds, RESPONSES), key=_seconds)
        return longest


def _seconds(total: tuple[float, object]) -> float:
    return total[0]


_COLUMNS = "{:>14} {:>10} {:>10} {:>10} {:>8}  "
_HEADINGS = ("TAKES", "ALLOWED", "DENIED", "UNDECIDED", "DELAY")


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
        *URLS,
        argument(
            "--sitemap",
            metavar="URL|FILE",
            help="the URLs of a sitemap, an index of sitemaps, or a site's robots.txt",
        ),
        AGENT,
        DIALECT,
        argument(
            "--response-time",
            type=float,
            default=0.0,
            metavar="SECONDS",
            help="count this time for each response, so that the limits of "
            "CONCURRENT_REQUESTS count too (default: 0, politeness alone)",
        ),
        argument(
            "--top",
            type=int,
            default=20,
            metavar="N",
            help="the hosts to show, longest first; 0 for all (default: 20; with --json all)",
        ),
        JSON,
    )

    def run(self) -> int:
        given = self.given
        ways = (bool(given.urls), given.input is not None, given.sitemap is not None)
        if sum(ways) != 1:
            raise WrongUsageError("expected either URLs or --input FILE or --sitemap URL|FILE")
        if not 0 <= given.response_time <= _LONGEST:
            raise WrongUsageError(f"--response-time: expected seconds between 0 and {_LONGEST:,}")
        if given.top < 0:
            raise WrongUsageError("--top cannot be negative")

        async def work(crawl: Crawl) -> int:
            figures = Figures(crawl, self.project.agent, given.response_time)
            if given.sitemap is None:
                count = await self._count(Urls(given).arriving(), figures, crawl)
            else:
                sitemaps = Sitemaps(given.sitemap, crawl, self.output)
                count = await self._count(sitemaps.urls(), figures, crawl)
                figures.sitemaps_unread = sitemaps.unread
            self.output.end_progress()
            if not (count or figures.sitemaps_unread):
                name = "standard input" if given.input == "-" else given.sitemap or given.input
                self.output.error(f"{name} leads to no URL")
            hosts = figures.longest_first()
            if self.as_json:
                for host in hosts:
                    self.output.json(_host_fields(figures, host))
                self.output.json(_total_fields(figures, hosts))
            else:
                self._print_table(figures, hosts)
            return _status(figures, hosts)

        return self.project.ask(work)

    async def _count(self, urls: AsyncIterator[str], figures: Figures, crawl: Crawl) -> int:
        """Adds *urls* to *figures*; how many they are."""
        count, policies = 0, crawl.get(Policies)
        async for url in asked_ahead(urls, policies):
            count += 1
            if count % TURN == 0:
                self.output.progress(f"{count:,} URLs, {len(figures):,} hosts")
            try:
                requested, origin = origin_of(url)
            except ValueError:
                figures.invalid += 1
                continue
            if origin is None:
                figures.not_http += 1
                continue
            policy = await policies.obtain(origin)
            if policy is None:  # the user stopped it
                raise CancelledError
            figures.add(requested, policy)
        return count

    def _print_table(self, figures: Figures, hosts: Sequence[Host]) -> None:
        """The first hosts, and what holds for the whole."""
        shown = hosts[: self.given.top] if self.given.top else hosts
        if shown:
            self.output.line((_COLUMNS.format(*_HEADINGS) + "HOST", Style.BOLD))
        for host in shown:
            columns = _columns(figures.seconds(host), host.counts, f"{host.timetable.delay:g} s")
            style = Style.PLAIN if host.counts["allowed"] else Style.FAINT
            notes = "; ".join(_notes(host))
            self.output.line(
                (columns, Style.UNSURE if host.counts["undecided"] else style),
                host.name,
                f"  ({notes})" if notes else "",
            )
        if rest := hosts[len(shown) :]:
            columns = _columns(figures.seconds(rest[0]), _sum(rest), "")
            self.output.line(columns, f"{len(rest):,} more")
        for line in ("", *_summary(figures, hosts)):
            self.output.line(line)


def _status(figures: Figures, hosts: Sequence[Host]) -> Exit:
    whole = _sum(hosts)
    if not (whole["allowed"] or whole["denied"]):
        return Exit.UNDECIDED
    incomplete = figures.invalid or figures.sitemaps_unread or whole["undecided"]
    return Exit.FOUND if incomplete else Exit.OK


def _columns(seconds: float, counts: Counter[str], delay: str) -> str:
    shown = (f"{counts[word]:,}" for word in STYLES)
    return _COLUMNS.format(duration(seconds) if seconds else "-", *shown, delay)


def _notes(host: Host) -> Iterator[str]:
    asked, timetable = host.asked, host.timetable
    if asked is not None and asked != timetable.delay:
        yield f"asks for {asked:g} s"
    for window, delay in timetable.hourly:
        yield f"{delay:g} s during {window}"
    for visit_time in dict.fromkeys(host.visit_times.values()):
        ignored = "" if timetable.visits else ", ignored (ROBOTS_VISIT_TIME)"
        yield f"Visit-time {visit_time}{ignored}"


def _summary(figures: Figures, hosts: Sequence[Host]) -> Iterator[str]:
    whole = _sum(hosts)
    yield (
        f"{counted(len(hosts), 'host')}: {counted(whole['allowed'], 'URL')} allowed, "
        f"{whole['denied']:,} denied, {whole['undecided']:,} undecided"
    )
    unread = sum(1 for host in hosts if host.counts["undecided"])
    if unread:
        yield f"Undecided, because robots.txt cannot be read: {counted(unread, 'host')}"
    if figures.not_http:
        yield f"Left out, because not http or https: {counted(figures.not_http, 'URL')}"
    if figures.invalid:
        yield f"Left out, because not a URL: {counted(figures.invalid, 'line')}"
    if figures.sitemaps_unread:
        yield f"Left out: {counted(figures.sitemaps_unread, 'sitemap')}"
    yield _total_in_words(figures)
    if figures.other_queue and len(hosts) > 1:
        yield "More with this SCHEDULER_PRIORITY_QUEUE, in which hosts wait for each other."
    if figures.autothrottle:
        yield "More with AUTOTHROTTLE_ENABLED, which adds to the delays."


def _total_in_words(figures: Figures) -> str:
    seconds, because = figures.total()
    if because is None:
        return "Politeness takes no time."
    least = f"At least {duration(seconds)}: "
    if isinstance(because, Host):
        paced = f", {because.timetable.delay:g} s apart" if because.timetable.delay else ""
        return f"{least}{counted(because.counts['allowed'], 'request')} to {because.name}{paced}"
    at_a_time = f"{figures.concurrency:,} at a time ({because})"
    return f"{least}responses of {figures.response_time:g} s, {at_a_time}"


def _urls_fields(counts: Counter[str]) -> dict[str, int]:
    return {f"{word}_urls": counts[word] for word in STYLES}


def _host_fields(figures: Figures, host: Host) -> dict[str, Any]:
    timetable = host.timetable
    return {
        "type": "host",
        "host": host.name,
        "origins": [str(origin) for origin in host.origins],
        **_urls_fields(host.counts),
        "delay_asked": host.asked,
        "delay": timetable.delay,
        "hourly": [{"hours": str(hours), "delay": delay} for hours, delay in timetable.hourly],
        "visit_time": next(iter(host.visit_times.values()), None),
        "visit_time_obeyed": timetable.visits is not None,
        "seconds": figures.seconds(host),
    }


def _total_fields(figures: Figures, hosts: Sequence[Host]) -> dict[str, Any]:
    whole, (seconds, because) = _sum(hosts), figures.total()
    return {
        "type": "total",
        "hosts": len(hosts),
        **_urls_fields(whole),
        "not_http": figures.not_http,
        "invalid": figures.invalid,
        "sitemaps_unread": figures.sitemaps_unread,
        "seconds": seconds,
        "because": because.name if isinstance(because, Host) else because,
    }
