"""A crawl in a process of its own, for reactor modes that the test process cannot have.

usage, in a fork: MODE < JSON with "urls" and "settings"
"""

from __future__ import annotations

import json
import sys
import warnings
from typing import TYPE_CHECKING, Any

from scrapy.crawler import AsyncCrawlerProcess, CrawlerProcess
from scrapy.settings import Settings, default_settings
from scrapy.utils.misc import load_object

from tests.crawling import BASE_SETTINGS, OwnSettings, ignore_replaced_settings
from tests.forks import CRAWL, Forks

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

LONGEST = 120
"""Seconds for one crawl; it ends by itself long before."""

MODES: dict[str, dict[str, Any]] = {
    "asyncio": {},
    "select": {"TWISTED_REACTOR": "twisted.internet.selectreactor.SelectReactor"},
}
if hasattr(default_settings, "TWISTED_REACTOR_ENABLED"):  # Scrapy 2.15 and later
    MODES["no reactor"] = {"TWISTED_REACTOR_ENABLED": False}


TIMED = "tests.sending.TimedSpider"


def crawl_in_process(mode: str, *urls: str, spider: str = TIMED, **settings: Any) -> dict[str, Any]:
    """Runs a crawl in *mode*; its stats, the URLs it got, the kind of each failure, and
    what was sent when. *spider*: the path of a subclass of ``TimedSpider``.
    """
    job = {"urls": urls, "settings": settings, "spider": spider}
    return run_crawl(CRAWL, mode, job)[0]


def crawls_in_process(mode: str, number: int, *urls: str, **settings: Any) -> list[dict[str, Any]]:
    """Like :func:`crawl_in_process`, for a *number* of crawls that run at the same time."""
    job = {"urls": urls, "settings": settings, "number": number}
    results: list[dict[str, Any]] = run_crawl(CRAWL, mode, job)[0]["crawls"]
    return results


def run_crawl(main: str, mode: str, job: dict[str, Any]) -> tuple[dict[str, Any], str]:
    """Runs *main* with *job* in a fork; the result that it prints, and its log."""
    given = json.dumps(job).encode()
    status, output, errors = Forks.running().run(main, [mode], given, LONGEST)
    assert status == 0, errors.decode()
    return json.loads(output.splitlines()[-1]), errors.decode()


def main() -> None:
    warnings.simplefilter("error")
    ignore_replaced_settings()
    job = json.load(sys.stdin)
    mode = MODES[sys.argv[1]]
    settings = {**BASE_SETTINGS, "LOG_LEVEL": "INFO", **mode, **job["settings"]}
    runner = CrawlerProcess if sys.argv[1] == "select" else AsyncCrawlerProcess
    process = runner((Settings if "number" in job else OwnSettings)(settings))
    spider = load_object(job.get("spider", TIMED))
    crawlers = [process.create_crawler(spider) for _ in range(job.get("number", 1))]
    for crawler in crawlers:
        process.crawl(crawler, urls=job["urls"])
    process.start()
    results = [result_of(crawler) for crawler in crawlers]
    print(json.dumps({"crawls": results} if "number" in job else results[0], default=str))


def result_of(crawler: Crawler) -> dict[str, Any]:
    spider: Any = crawler.spider
    failures = {url: type(error).__name__ for url, error in spider.failures.items()}
    return {
        "stats": crawler.stats.get_stats(),
        "got": spider.got,
        "failures": failures,
        "sent": spider.sent,
    }
