"""Scrapy's own robots.txt middleware and this package, in the same crawls of the same site.

``python -m benchmarks.comparison`` runs them all and writes the table into the README.
With ``--check`` nothing is run: is the README's table the one that this script would write, but for
what was measured?
"""

from __future__ import annotations

import gzip
import logging
import sys
import warnings
from pathlib import Path
from platform import python_version
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

import scrapy
from scrapy.utils.reactor import install_reactor
from twisted.internet.defer import Deferred
from twisted.internet.task import react

from docs.tables import README, between, put_between, table
from tests.crawl.killed_crawl import kill_and_resume
from tests.crawling import ADDON, ProbeSpider, crawl
from tests.sites import Sites, after, answer, drip, half, hang, hang_up, redirect

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    from tests.sites import Reply

    Run = Callable[[Sites, dict[str, Any]], Awaitable[str]]

CLOSED = "User-agent: *\nDisallow: /\n"
SLOW = "User-agent: *\nCrawl-delay: 1\n"
BIG = CLOSED + "# filler\n" * 80_000

BUILT_IN = {"ADDONS": {}, "ROBOTSTXT_OBEY": True, "DOWNLOAD_TIMEOUT": 1}
PLUS = {"ADDONS": ADDON, "ROBOTS_FETCH_TIMEOUT": 1, "DOWNLOAD_TIMEOUT": 1}
HEAD = ("situation", "should be", "Scrapy's own", "scrapy-robots-plus")

NO_PAGE = "0 fetched"
NOTHING = "nothing fetched"
KEPT_APART = "smallest gap 1.00 s"
EACH_KEPT_APART = "smallest gap of each host 1.00 s"


class Situation(NamedTuple):
    """A row of the table."""

    text: str
    should_be: str
    run: Run


situations: list[Situation] = []


def situation(text: str, should_be: str) -> Callable[[Run], Run]:
    def register(run: Run) -> Run:
        situations.append(Situation(text, should_be, run))
        return run

    return register


@situation("100 start URLs that robots.txt disallows, robots.txt takes 0.3 s", NO_PAGE)
async def together(sites: Sites, side: dict[str, Any]) -> str:
    host = sites.host(after(0.3, answer(CLOSED)))
    await crawl(*(host.url(f"/{number}") for number in range(100)), **side)
    return f"{len(host.fetched)} fetched"


async def fetched_despite(
    sites: Sites, side: dict[str, Any], replies: dict[str, Reply], **settings: Any
) -> str:
    """Under which of *replies* to robots.txt a page was fetched."""
    fetched = []
    for name, reply in replies.items():
        host = sites.host(reply)
        await crawl(host.url("/page"), **{**side, **settings})
        fetched += [name] if host.fetched else []
    return f"fetched: {', '.join(fetched)}" if fetched else NOTHING


@situation("a server error instead of robots.txt: 429, 500, 503", NOTHING)
async def server_errors(sites: Sites, side: dict[str, Any]) -> str:
    replies = {str(status): answer("Later", status) for status in (429, 500, 503)}
    return await fetched_despite(sites, side, replies)


@situation(
    "robots.txt breaks off or never comes: hang-up, half a body, dripping body, timeout", NOTHING
)
async def network_failures(sites: Sites, side: dict[str, Any]) -> str:
    replies = {
        "hang-up": hang_up,
        "half a body": half(CLOSED),
        "dripping body": drip(CLOSED, 0.1),
        "timeout": hang,
    }
    return await fetched_despite(sites, side, replies)


@situation("`Disallow: /` at the top of a file over `DOWNLOAD_MAXSIZE`: 700 kB, gzip bomb", NOTHING)
async def too_large(sites: Sites, side: dict[str, Any]) -> str:
    bomb = gzip.compress(CLOSED.encode() + b"#" * 20_000_000)
    replies = {
        "700 kB": answer(BIG),
        "gzip bomb": answer(bomb, content_encoding="gzip"),
    }
    return await fetched_despite(sites, side, replies, DOWNLOAD_MAXSIZE=600_000)


@situation("there is no robots.txt: 404 with `Disallow: /` in its body", "pages fetched")
async def not_found(sites: Sites, side: dict[str, Any]) -> str:
    host = sites.host(answer(CLOSED, 404))
    await crawl(host.url("/page"), **side)
    return "pages fetched" if host.fetched else "pages skipped"


class Offsite(ProbeSpider):
    """Its site is elsewhere: robots.txt and start URLs are outside of the allowed domains."""

    allowed_domains = ("elsewhere.example",)


@situation("start URL outside of `allowed_domains`, disallowed", NO_PAGE)
async def outside(sites: Sites, side: dict[str, Any]) -> str:
    host = sites.host(CLOSED)
    # Start requests with dont_filter pass the offsite middleware.
    await crawl(host.url("/page"), spider=Offsite, **side)
    return f"{len(host.fetched)} fetched"


@situation("robots.txt redirected outside of `allowed_domains`, disallowed", NO_PAGE)
async def moved_outside(sites: Sites, side: dict[str, Any]) -> str:
    rules = sites.host()
    rules.pages["/rules.txt"] = answer(CLOSED)
    host = sites.host(redirect(rules.url("/rules.txt")))

    class Inside(ProbeSpider):
        allowed_domains = (host.address,)

    await crawl(host.url("/page"), spider=Inside, **side)
    return f"{len(host.fetched)} fetched"


@situation(
    "robots.txt redirected, spider with `handle_httpstatus_list = [301]`, disallowed", NO_PAGE
)
async def moved_unfollowed(sites: Sites, side: dict[str, Any]) -> str:
    rules = sites.host()
    rules.pages["/rules.txt"] = answer(CLOSED)
    host = sites.host(redirect(rules.url("/rules.txt")))

    class Handles(ProbeSpider):
        handle_httpstatus_list = (301,)

    await crawl(host.url("/page"), spider=Handles, **side)
    return f"{len(host.fetched)} fetched"


async def smallest_gap(sites: Sites, side: dict[str, Any], **settings: Any) -> str:
    host = sites.host(SLOW)
    await crawl(*(host.url(f"/{number}") for number in range(4)), **{**side, **settings})
    return f"smallest gap {min(host.gaps):.2f} s"


@situation("`Crawl-delay: 1`", KEPT_APART)
async def crawl_delay(sites: Sites, side: dict[str, Any]) -> str:
    return await smallest_gap(sites, side)


@situation("`Crawl-delay: 1` and AutoThrottle", KEPT_APART)
async def crawl_delay_autothrottle(sites: Sites, side: dict[str, Any]) -> str:
    settings = {"AUTOTHROTTLE_ENABLED": True, "AUTOTHROTTLE_START_DELAY": 0.1}
    return await smallest_gap(sites, side, **settings)


@situation("`Crawl-delay: 1`, `DOWNLOAD_DELAY = 0.2` and its jitter", KEPT_APART)
async def crawl_delay_jitter(sites: Sites, side: dict[str, Any]) -> str:
    return await smallest_gap(sites, side, DOWNLOAD_DELAY=0.2, RANDOMIZE_DOWNLOAD_DELAY=True)


@situation("`Crawl-delay: 1`, each request redirected from another host", KEPT_APART)
async def crawl_delay_redirected(sites: Sites, side: dict[str, Any]) -> str:
    slow = sites.host(SLOW)
    fast = sites.host()
    for number in range(3):
        fast.pages[f"/{number}"] = redirect(slow.url(f"/{number}"))
    await crawl(*(fast.url(f"/{number}") for number in range(3)), **side)
    return f"smallest gap {min(slow.gaps):.2f} s"


@situation("`Crawl-delay: 1`, two hosts in one downloader slot", EACH_KEPT_APART)
async def crawl_delay_shared(sites: Sites, side: dict[str, Any]) -> str:
    hosts = [sites.host(SLOW), sites.host(SLOW)]
    requests = [
        scrapy.Request(host.url(f"/{number}"), meta={"download_slot": "shared"})
        for number in range(3)
        for host in hosts
    ]
    await crawl(*requests, **side)
    return f"smallest gap of each host {min(gap for host in hosts for gap in host.gaps):.2f} s"


@situation("`JOBDIR`: 1,200 pages, killed (SIGKILL) four times and resumed", "0 pages missing")
async def killed(sites: Sites, side: dict[str, Any]) -> str:
    with TemporaryDirectory(prefix="jobs") as folder:
        outcome = kill_and_resume(sites, Path(folder, "job"), 4, settings=side)
    return f"{outcome.missing} pages missing"


async def measure() -> list[tuple[str, str, str, str]]:
    rows = []
    with Sites() as sites:
        for text, should_be, run in situations:
            rows.append((text, should_be, await run(sites, BUILT_IN), await run(sites, PLUS)))
            print(" | ".join(rows[-1]), flush=True)
    return rows


def versions() -> str:
    measured = f"Scrapy {scrapy.__version__}, Python {python_version()}"
    return f"Measured by `make comparison` with {measured}."


def written(rows: Iterable[tuple[str, ...]]) -> str:
    return f"{table(HEAD, rows)}\n\n{versions()}"


def shape(text: str) -> list[list[str]]:
    """A table as written, but for what was measured: two columns of four."""
    return [line.split(" | ")[:2] for line in text.splitlines() if line.startswith("|")]


def is_current() -> bool:
    expected = [(text, should_be, "", "") for text, should_be, _ in situations]
    return shape(between(README, "comparison")) == shape(written(expected))


def main() -> None:
    install_reactor("twisted.internet.asyncioreactor.AsyncioSelectorReactor")
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")

    async def run(_: object) -> None:
        put_between(README, "comparison", written(await measure()))

    react(lambda reactor: Deferred.fromCoroutine(run(reactor)))


if __name__ == "__main__":
    if "--check" in sys.argv[1:]:
        sys.exit(None if is_current() else "the README's comparison is not that of this script")
    main()
