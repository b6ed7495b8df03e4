"""Crawls servers that allow two requests a second and answer 429 beyond: how long it takes.

usage: python benchmarks/backoff.py [--pages N] [--setting NAME=VALUE ...]

Real crawls with the default settings, side by side, with and without Retry-After. 400 pages take
four minutes. The ideal time is that of one request every half second.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import scrapy
from scrapy import signals
from scrapy.crawler import CrawlerProcess

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.crawling import ADDON
from tests.limiters import LIMITERS, limited
from tests.sites import Sites

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from tests.sites import Host


class CountingSpider(scrapy.Spider):
    """Asks for all pages at once."""

    name = "counting"

    def __init__(self, host: Host, pages: int) -> None:
        super().__init__()
        self.start_urls = [host.url(f"/page?{number}") for number in range(pages)]
        self.got: set[str] = set()
        self.sent_at: list[float] = []

    @classmethod
    def from_crawler(cls, crawler: Crawler, *arguments: object, **named: object) -> CountingSpider:
        spider = super().from_crawler(crawler, *arguments, **named)
        crawler.signals.connect(spider.was_sent, signals.request_reached_downloader)
        return spider

    def was_sent(self) -> None:
        self.sent_at.append(time.monotonic())

    def parse(self, response: Response) -> None:
        self.got.add(response.url)


def main() -> None:
    arguments = _arguments()
    settings = dict(each.partition("=")[::2] for each in arguments.setting)
    process = CrawlerProcess({"ADDONS": ADDON, "LOG_LEVEL": "ERROR", **settings})
    runs: dict[str, tuple[Crawler, Host]] = {}
    with Sites() as sites:
        for name, limiter in LIMITERS.items():
            for retry_after in (False, True):
                host = sites.host()
                host.pages["/page"] = limited(limiter(), retry_after=retry_after)
                crawler = process.create_crawler(CountingSpider)
                process.crawl(crawler, host=host, pages=arguments.pages)
                runs[name + (", Retry-After" if retry_after else "")] = crawler, host
        process.start()
    print(f"{'limit of 2 requests a second':44} pages  refused  time / ideal")
    for name, (crawler, host) in runs.items():
        print(f"{name:44} {_figures(crawler, host, arguments.pages)}")


def _figures(crawler: Crawler, host: Host, pages: int) -> str:
    times = [hit.at for hit in host.hits if hit.path != "/robots.txt"]
    refused = (len(times) - len(crawler.spider.got)) / len(times)
    ratio = (times[-1] - times[0]) / ((pages - 1) / 2)
    return f"{len(crawler.spider.got):5}  {refused:7.1%}  {ratio:12.2f}"


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--pages", type=int, default=400)
    parser.add_argument("--setting", action="append", default=[], metavar="NAME=VALUE")
    return parser.parse_args()


if __name__ == "__main__":
    main()
