"""``scrapy robots plan``: what a crawl may fetch, and how long its politeness alone takes."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from scrapy import Request
from twisted.internet.defer import CancelledError

from scrapy_robots_plus import compat
from scrapy_robots_plus.commands.output import Style, WrongUsageError
from scrapy_robots_plus.commands.subcommand import (
    AGENT,
    DIALECT,
    JSON,
    Exit,
    Subcommand,
    argument,
)
from scrapy_robots_plus.commands.urls import TURN, URLS, Urls, asked_ahead, origin_of
from scrapy_robots_plus.hosts.queue import RobotsPriorityQueue
from scrapy_robots_plus.origins.policies import Policies
from scrapy_robots_plus.protocol.counting import counted
from scrapy_robots_plus.report.progress import duration
from scrapy_robots_plus.settings.scrapys_own import queue_class, throttles_automatically

from .figures import Figures, Host, Limits
from .sitemaps import Sitemaps

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import AsyncIterator, Iterator, Sequence

    from scrapy_robots_plus.commands.output import Output
    from scrapy_robots_plus.commands.project import Project
    from scrapy_robots_plus.crawl.crawl import Crawl
    from scrapy_robots_plus.protocol.origin import Origin

    from .figures import Total

_LONGEST = 86_400
"""Seconds that one response may take: a day."""


class Plan(Subcommand):
    """Counts by host, however many URLs there are."""

    help = "Say how much of a crawl is allowed, and how long politeness alone takes"
    details = (
        "For each downloader slot, which usually is a host: how many URLs are allowed and denied, "
        "the delay that is kept, and the time from the first request to the last. Every line "
        "counts: URLs that are there twice are counted twice. Exit status: 0; 1 if the plan is "
        "incomplete, because a robots.txt or a sitemap cannot be read or a line is not a URL; 2 if "
        "there is nothing to plan with."
    )
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

    def run(self, arguments: Namespace, project: Project, output: Output) -> int:
        given = _input_of(arguments)
        if not 0 <= arguments.response_time <= _LONGEST:
            raise WrongUsageError(f"--response-time: expected seconds between 0 and {_LONGEST:,}")
        if arguments.top < 0:
            raise WrongUsageError("--top cannot be negative")

        async def work(crawl: Crawl) -> int:
            figures = Figures(_limits(arguments, crawl), project.agent)
            if given is not None:
                counted = await _count(given.arriving(), figures, crawl, output)
            else:
                sitemaps = Sitemaps(arguments.sitemap, crawl, output)
                counted = await _count(sitemaps.urls(), figures, crawl, output)
                figures.sitemaps_unread = sitemaps.unread
            output.end_progress()
            if not (counted or figures.sitemaps_unread):
                output.error(f"{_source(arguments)} leads to no URL")
            if arguments.json:
                print_json(figures, output)
            else:
                print_table(figures, output, arguments.top)
            return _status(figures)

        return project.ask(work)


def _input_of(arguments: Namespace) -> Urls | None:
    """None for a sitemap."""
    given = (bool(arguments.urls), arguments.input is not None, arguments.sitemap is not None)
    if sum(given) != 1:
        raise WrongUsageError("expected either URLs or --input FILE or --sitemap URL|FILE")
    return None if arguments.sitemap is not None else Urls(arguments)


def _source(arguments: Namespace) -> str:
    """Of the URLs, if they are no arguments."""
    name: str = arguments.sitemap or arguments.input
    return "standard input" if name == arguments.input == "-" else name


def _limits(arguments: Namespace, crawl: Crawl) -> Limits:
    settings = crawl.crawler.settings
    return Limits(
        concurrency=crawl.crawler.settings.getint("CONCURRENT_REQUESTS"),
        other_queue=not issubclass(queue_class(settings), RobotsPriorityQueue),
        autothrottle=throttles_automatically(settings),
        response_time=arguments.response_time,
        start=time.time(),
    )


async def _count(urls: AsyncIterator[str], figures: Figures, crawl: Crawl, output: Output) -> int:
    """Adds *urls* to *figures*; how many they are."""
    hosts = _Hosts(figures, crawl)
    counted = 0
    async for url in asked_ahead(urls, crawl.get(Policies)):
        counted += 1
        if counted % TURN == 0:
            output.progress(f"{counted:,} URLs, {len(figures):,} hosts")
        try:
            requested, origin = origin_of(url)
        except ValueError:
            figures.invalid += 1
            continue
        if origin is None:
            figures.not_http += 1
            continue
        policy = await crawl.get(Policies).obtain(origin)
        if policy is None:  # the user stopped it
            raise CancelledError
        figures.add(requested, hosts.of(origin), policy)
    return counted


class _Hosts:
    """Which slot the requests to an origin go to, and what the project wants of it."""

    def __init__(self, figures: Figures, crawl: Crawl) -> None:
        self._figures = figures
        self._downloader = compat.engine_of(crawl.crawler).downloader
        self._known: dict[Origin, Host] = {}

    def of(self, origin: Origin) -> Host:
        host = self._known.get(origin)
        if host is None:
            key = compat.slot_key(self._downloader, Request(str(origin)))
            places, delay, _ = compat.new_slot(self._downloader, key)
            host = self._known[origin] = self._figures.host(key, places, delay)
        return host


def _status(figures: Figures) -> Exit:
    hosts = figures.longest_first()
    if not any(host.allowed or host.denied for host in hosts):
        return Exit.UNDECIDED
    incomplete = figures.invalid or figures.sitemaps_unread
    return Exit.FOUND if incomplete or any(host.undecided for host in hosts) else Exit.OK


_COLUMNS = "{:>14} {:>10} {:>10} {:>10} {:>8}  "
_HEADINGS = ("TAKES", "ALLOWED", "DENIED", "UNDECIDED", "DELAY")


def print_table(figures: Figures, output: Output, top: int) -> None:
    """The *top* hosts, longest first (0 for all), and what holds for the whole."""
    hosts = figures.longest_first()
    shown = hosts[:top] if top else hosts
    if shown:
        output.line((_COLUMNS.format(*_HEADINGS) + "HOST", Style.BOLD))
    for host in shown:
        columns = _columns(figures.seconds(host), host, f"{host.timetable.delay:g} s")
        notes = "; ".join(_notes(host))
        output.line((columns, _style(host)), host.name, f"  ({notes})" if notes else "")
    if len(hosts) > len(shown):
        rest = hosts[len(shown) :]
        output.line(_columns(figures.seconds(rest[0]), _sum(rest), ""), f"{len(rest):,} more")
    for line in ("", *_summary(figures, hosts)):
        output.line(line)


def print_json(figures: Figures, output: Output) -> None:
    """An object for each host, longest first, and one for the whole."""
    hosts = figures.longest_first()
    for host in hosts:
        output.json(_host_fields(figures, host))
    output.json(_total_fields(figures, hosts))


def _columns(seconds: float, host: Host, delay: str) -> str:
    counts = (f"{count:,}" for count in (host.allowed, host.denied, host.undecided))
    return _COLUMNS.format(duration(seconds) if seconds else "-", *counts, delay)


def _style(host: Host) -> Style:
    if host.undecided:
        return Style.UNSURE
    return Style.PLAIN if host.allowed else Style.FAINT


def _sum(hosts: Sequence[Host]) -> Host:
    return Host(
        "",
        allowed=sum(host.allowed for host in hosts),
        denied=sum(host.denied for host in hosts),
        undecided=sum(host.undecided for host in hosts),
    )


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
    whole, total = _sum(hosts), figures.total()
    yield (
        f"{counted(len(hosts), 'host')}: {counted(whole.allowed, 'URL')} allowed, "
        f"{whole.denied:,} denied, {whole.undecided:,} undecided"
    )
    unread = sum(1 for host in hosts if host.undecided)
    if unread:
        yield f"Undecided, because robots.txt cannot be read: {counted(unread, 'host')}"
    if figures.not_http:
        yield f"Left out, because not http or https: {counted(figures.not_http, 'URL')}"
    if figures.invalid:
        yield f"Left out, because not a URL: {counted(figures.invalid, 'line')}"
    if figures.sitemaps_unread:
        yield f"Left out: {counted(figures.sitemaps_unread, 'sitemap')}"
    yield _total_in_words(total, figures)
    if figures.limits.other_queue and len(hosts) > 1:
        yield "More with this SCHEDULER_PRIORITY_QUEUE, in which hosts wait for each other."
    if figures.limits.autothrottle:
        yield "More with AUTOTHROTTLE_ENABLED, which adds to the delays."


def _total_in_words(total: Total, figures: Figures) -> str:
    limits, because = figures.limits, total.because
    if because is None:
        return "Politeness takes no time."
    least = f"At least {duration(total.seconds)}: "
    if isinstance(because, Host):
        paced = f", {because.timetable.delay:g} s apart" if because.timetable.delay else ""
        return f"{least}{counted(because.allowed, 'request')} to {because.name}{paced}"
    return (
        f"{least}responses of {limits.response_time:g} s, {limits.concurrency:,} at a time "
        f"({because})"
    )


def _host_fields(figures: Figures, host: Host) -> dict[str, Any]:
    timetable = host.timetable
    return {
        "type": "host",
        "host": host.name,
        "origins": [str(origin) for origin in host.origins],
        "allowed_urls": host.allowed,
        "denied_urls": host.denied,
        "undecided_urls": host.undecided,
        "delay_asked": host.asked,
        "delay": timetable.delay,
        "hourly": [{"hours": str(hours), "delay": delay} for hours, delay in timetable.hourly],
        "visit_time": next(iter(host.visit_times.values()), None),
        "visit_time_obeyed": timetable.visits is not None,
        "seconds": figures.seconds(host),
    }


def _total_fields(figures: Figures, hosts: Sequence[Host]) -> dict[str, Any]:
    whole, total = _sum(hosts), figures.total()
    because = total.because
    return {
        "type": "total",
        "hosts": len(hosts),
        "allowed_urls": whole.allowed,
        "denied_urls": whole.denied,
        "undecided_urls": whole.undecided,
        "not_http": figures.not_http,
        "invalid": figures.invalid,
        "sitemaps_unread": figures.sitemaps_unread,
        "seconds": total.seconds,
        "because": because.name if isinstance(because, Host) else because,
    }
