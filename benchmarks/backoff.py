"""Crawls sites that refuse requests, with this package and with Scrapy's own middlewares alone.

usage: python -m benchmarks.backoff [--pages N] [--only WORDS] [--setting NAME=VALUE ...]

Real crawls, default settings: broken sites of 100 pages one after the other, then sites with
a limit of 2 requests a second and N pages (400), and nginx with limit_req of 3 a second where it is
installed, side by side. In virtual time 20 crawls of 5,000
pages for each pattern of refusals. The ideal time of a limited site is that of its rate. Takes
eight minutes.

Marked with ``!``: fewer pages than Scrapy's own; a broken site that takes over 10 seconds longer; a
limited one that takes over 1.5 times the ideal time, or of which over 10 % is refused.
"""

from __future__ import annotations

import argparse
import random
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import TYPE_CHECKING, Any

import scrapy
from scrapy.crawler import CrawlerRunner
from scrapy.utils.log import configure_logging
from scrapy.utils.reactor import install_reactor
from twisted.internet.defer import ensureDeferred, gatherResults

from tests.broken_sites import AtRandom, Dead, EveryNth, GrowingBan, Limited, Outages, Site, served
from tests.crawling import ADDON
from tests.limiters import LIMITERS
from tests.limiting_nginx import LimitingNginx, has_nginx
from tests.sites import Sites
from tests.virtual_crawl import virtual_crawl

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from tests.limiters import Limiter
    from tests.sites import Host

OBEYS = {"ROBOTSTXT_OBEY": True, "LOG_LEVEL": "ERROR", "TELNETCONSOLE_ENABLED": False}


def _every(number: int) -> Callable[[int], Site]:
    return lambda _: EveryNth(number)


PATTERNS: dict[str, Callable[[int], Site]] = {
    **{f"every {number}th": _every(number) for number in (3, 5, 10, 33)},
    "3 % at random": lambda seed: AtRandom(0.03, random.Random(seed)),
    "0.3 s of each 3 s": lambda _: Outages(3.0, 0.3),
}


class CountingSpider(scrapy.Spider):
    """Asks for all pages at once."""

    name = "counting"

    def __init__(self, urls: list[str], urgent: int | None = None) -> None:
        super().__init__()
        self.urls = urls
        self.urgent = urgent
        self.got: set[str] = set()
        self.last_at: dict[str, float] = {}
        """When a page of each host came last, in seconds since the start."""

    async def start(self) -> AsyncIterator[scrapy.Request]:
        for number, url in enumerate(self.urls):
            yield scrapy.Request(url, priority=20 if number == self.urgent else 0)

    def parse(self, response: Response) -> None:
        self.got.add(response.url)


@dataclass
class Case:
    """What is crawled twice."""

    name: str
    site: Callable[[], Site] | None
    pages: int
    rate: float = 0.0
    """Requests a second that are allowed; 0 for a site that is broken."""
    retry_after: str | None = None
    urgent: int | None = None
    at_once: int | None = None
    nginx: tuple[int, bool] | None = None
    """The status that it answers with, and whether with Retry-After."""


def broken() -> Iterator[Case]:
    for count in (2, 5, 20):
        step = 100 // count
        for where, dead in (
            ("scattered", range(3, 100, step)),
            ("in a row", range(40, 40 + count)),
            ("at the end", range(100 - count, 100)),
        ):
            yield Case(f"{count} of 100 always 503, {where}", partial(Dead, dead), 100)
    yield Case("12 pages, 503 twice, then 200", partial(Dead, range(12), 503, 2), 12)
    first = partial(Dead, {0}, 429)
    yield Case("the first by priority always 429", first, 31, urgent=0, at_once=1)
    yield Case("one page among others always 429", partial(Dead, {15}, 429), 31)
    for name, site in PATTERNS.items():
        yield Case(f"{name} refused", partial(site, 1), 100)


def limited_by(limiter: Callable[[], Limiter]) -> Limited:
    return Limited(limiter())


def limited(pages: int) -> Iterator[Case]:
    for name, limiter in LIMITERS.items():
        for seconds in (None, "1"):
            words = f"limit: {name}" + (", Retry-After" if seconds else "")
            yield Case(words, partial(limited_by, limiter), pages, 2.0, seconds)
    yield Case("a ban that grows", partial(GrowingBan, 2), pages, 2.0)
    if has_nginx():
        for status in (429, 503):
            for asks in (False, True):
                words = f"nginx, {status}" + (", Retry-After" if asks else "")
                yield Case(words, None, pages, 3.0, nginx=(status, asks))


def main() -> None:
    arguments = _arguments()
    settings = dict(each.partition("=")[::2] for each in arguments.setting)
    install_reactor("twisted.internet.asyncioreactor.AsyncioSelectorReactor")
    runner = CrawlerRunner(OBEYS)
    configure_logging({"LOG_LEVEL": "CRITICAL"})
    cases = [*broken(), *limited(arguments.pages)]
    cases = [case for case in cases if arguments.only in case.name]
    runs: list[tuple[Case, list[Crawler]]] = []
    asked: dict[Crawler, dict[str, Any]] = {}
    with Sites() as sites, LimitingNginx() as nginx:
        for case in cases:
            crawlers = []
            for ours in (True, False):
                urls = _urls(case, sites, nginx)
                crawler = _crawler(runner, case, settings, ours=ours)
                asked[crawler] = {"urls": urls, "urgent": case.urgent}
                crawlers.append(crawler)
            runs.append((case, crawlers))
        twenty = []
        if arguments.only in "twenty hosts":
            twenty = _twenty_hosts(runner, sites, settings, asked)
        nginx.start()
        _run(runner, [*runs, *twenty], asked)
    print(f"{'':34}  pages     own  seconds     own   ideal  refused     own")
    for case, crawlers in runs:
        print(f"{case.name:34}{_figures(case, *crawlers)}")
    for case, crawlers in twenty:
        print(f"{case.name:34}{_figures(case, *crawlers)}")
    if not arguments.only:
        _virtual()


def _run(
    runner: CrawlerRunner,
    runs: list[tuple[Case, list[Crawler]]],
    asked: dict[Crawler, dict[str, Any]],
) -> None:
    """Those that wait for a limit side by side, all others one after the other."""
    from twisted.internet.task import react  # the reactor is installed now

    async def run_all() -> None:
        alone = [each for case, crawlers in runs for each in crawlers if not case.rate]
        alone += [crawlers[1] for case, crawlers in runs if case.rate]
        for crawler in alone:
            await runner.crawl(crawler, **asked[crawler])
        limited = [crawlers[0] for case, crawlers in runs if case.rate]
        await gatherResults([runner.crawl(each, **asked[each]) for each in limited])

    with suppress(SystemExit):
        react(lambda _: ensureDeferred(run_all()))


def _urls(case: Case, sites: Sites, nginx: LimitingNginx) -> list[str]:
    if case.nginx is not None:
        origin = nginx.server(*case.nginx)
        return [f"{origin}/page?{number}" for number in range(case.pages)]
    host = sites.host()
    assert case.site is not None
    host.pages["/page"] = served(case.site(), retry_after=case.retry_after)
    return _pages(host, case.pages)


def _pages(host: Host, count: int) -> list[str]:
    return [host.url(f"/page?{number}") for number in range(count)]


def _crawler(runner: CrawlerRunner, case: Case, settings: dict[str, Any], *, ours: bool) -> Crawler:
    made: dict[str, Any] = {**OBEYS, **settings}
    if ours:
        made["ADDONS"] = ADDON
    if case.at_once is not None:
        made["CONCURRENT_REQUESTS"] = case.at_once
    spider = type("Spider", (CountingSpider,), {"custom_settings": made})
    return runner.create_crawler(spider)


def _twenty_hosts(
    runner: CrawlerRunner,
    sites: Sites,
    settings: dict[str, Any],
    asked: dict[Crawler, dict[str, Any]],
) -> list[tuple[Case, list[Crawler]]]:
    """Twenty hosts of which two refuse all, and the eighteen others alone."""
    runs = []
    for name, bad in (("twenty hosts, two always 503", 2), ("the eighteen others alone", 0)):
        crawlers = []
        for ours in (True, False):
            urls = []
            for number in range(20):
                host = sites.host()
                if number < 2:
                    host.pages["/page"] = served(Dead(range(50)))
                if number >= 2 or bad:
                    urls += _pages(host, 50)
            crawler = _crawler(runner, Case("", None, 0), settings, ours=ours)
            asked[crawler] = {"urls": urls}
            crawlers.append(crawler)
        runs.append((Case(name, None, 0), crawlers))
    return runs


def _figures(case: Case, ours: Crawler, own: Crawler) -> str:
    (got, seconds, share), (got_own, seconds_own, share_own) = map(_result, (ours, own))
    ideal = (case.pages - 1) / case.rate if case.rate else 0.0
    late = seconds > 1.5 * ideal or share > 0.1 if ideal else seconds > seconds_own + 10
    mark = " !" if got < got_own or late else ""
    asked = f"{ideal:8.1f}" if ideal else f"{'':8}"
    return (
        f"{got:7}{got_own:8}{seconds:9.1f}{seconds_own:8.1f}{asked}"
        f"{share:9.1%}{share_own:8.1%}{mark}"
    )


def _result(crawler: Crawler) -> tuple[int, float, float]:
    """Pages, seconds, share of refusals."""
    assert crawler.stats is not None
    stats = crawler.stats.get_stats()
    counts = [stats.get(f"downloader/response_status_count/{each}", 0) for each in (429, 503)]
    sent = sum(counts) + len(crawler.spider.got)
    return len(crawler.spider.got), stats["elapsed_time_seconds"], sum(counts) / max(sent, 1)


def _virtual() -> None:
    print("\nvirtual time, 20 crawls of 5,000 pages: seconds longer than Scrapy's own, pages lost")
    for name, make in PATTERNS.items():
        longer, lost, lost_own = [], 0, 0
        for seed in range(20):
            ours = virtual_crawl(make(seed), 5_000, seed=seed)
            own = virtual_crawl(make(seed), 5_000, seed=seed, own=True)
            longer.append(ours.seconds - own.seconds)
            lost += 5_000 - len(ours.got)
            lost_own += 5_000 - len(own.got)
        mark = " !" if max(longer) > 10 or lost > lost_own else ""
        print(
            f"{name:34} {median(longer):5.1f} (at most {max(longer):4.1f}), "
            f"{lost} (own: {lost_own}){mark}"
        )


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--pages", type=int, default=400)
    parser.add_argument("--only", default="", metavar="WORDS", help="the cases with WORDS")
    parser.add_argument("--setting", action="append", default=[], metavar="NAME=VALUE")
    return parser.parse_args()


if __name__ == "__main__":
    main()
