"""``scrapy robots plan``: what a crawl may fetch, and how long its politeness alone takes."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from scrapy import Request
from twisted.internet.defer import CancelledError

from scrapy_robots_plus import compat
from scrapy_robots_plus.commands.ahead import TURN, asked_ahead
from scrapy_robots_plus.commands.answers import origin_of
from scrapy_robots_plus.commands.errors import WrongUsageError
from scrapy_robots_plus.commands.subcommand import (
    Exit,
    Subcommand,
    add_agent,
    add_dialect,
    add_json,
)
from scrapy_robots_plus.commands.urls import Urls, add_urls
from scrapy_robots_plus.hosts.queue import RobotsPriorityQueue
from scrapy_robots_plus.origins.policies import Policies
from scrapy_robots_plus.settings.scrapys_own import queue_class, throttles_automatically

from .figures import Figures, Limits
from .report import print_json, print_table
from .sitemaps import Sitemaps

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import AsyncIterator

    from scrapy_robots_plus.commands.output import Output
    from scrapy_robots_plus.commands.project import Project
    from scrapy_robots_plus.crawl.crawl import Crawl
    from scrapy_robots_plus.protocol.origin import Origin

    from .figures import Host

_LONGEST = 86_400
"""Seconds that one response may take: a day."""


class Plan(Subcommand):
    """Counts by host, however many URLs there are."""

    name = "plan"
    syntax = (
        "URL... | --input FILE | --sitemap URL|FILE [--agent NAME] [--dialect NAME] "
        "[--response-time SECONDS] [--top N] [--json]"
    )
    help = "Say how much of a crawl is allowed, and how long politeness alone takes"
    details = (
        "For each downloader slot, which usually is a host: how many URLs are allowed and denied, "
        "the delay that is kept, and the time from the first request to the last. Every line "
        "counts: URLs that are there twice are counted twice. Exit status: 0; 1 if the plan is "
        "incomplete, because a robots.txt or a sitemap cannot be read or a line is not a URL; 2 if "
        "there is nothing to plan with."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_urls(parser)
        parser.add_argument(
            "--sitemap",
            metavar="URL|FILE",
            help="the URLs of a sitemap, an index of sitemaps, or a site's robots.txt",
        )
        add_agent(parser)
        add_dialect(parser)
        parser.add_argument(
            "--response-time",
            type=float,
            default=0.0,
            metavar="SECONDS",
            help="count this time for each response, so that the limits of "
            "CONCURRENT_REQUESTS count too (default: 0, politeness alone)",
        )
        parser.add_argument(
            "--top",
            type=int,
            default=20,
            metavar="N",
            help="the hosts to show, longest first; 0 for all (default: 20; with --json all)",
        )
        add_json(parser)

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
