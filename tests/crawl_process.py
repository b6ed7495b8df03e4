"""A crawl in a process of its own, for reactor modes that the test process cannot have.

usage: python -m tests.crawl_process MODE < JSON with "urls" and "settings"
"""

from __future__ import annotations

import json
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

from scrapy.crawler import AsyncCrawlerProcess, CrawlerProcess
from scrapy.settings import default_settings

from tests.crawling import BASE_SETTINGS
from tests.sending import TimedSpider

MODES: dict[str, dict[str, Any]] = {
    "asyncio": {},
    "select": {"TWISTED_REACTOR": "twisted.internet.selectreactor.SelectReactor"},
}
if hasattr(default_settings, "TWISTED_REACTOR_ENABLED"):  # Scrapy 2.15 and later
    MODES["no reactor"] = {"TWISTED_REACTOR_ENABLED": False}


def crawl_in_process(mode: str, *urls: str, **settings: Any) -> dict[str, Any]:
    """Runs a crawl in *mode*; its stats, the URLs it got, the kind of each failure, and
    what was sent when.
    """
    done = subprocess.run(
        [sys.executable, "-m", "tests.crawl_process", mode],
        input=json.dumps({"urls": urls, "settings": settings}),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        cwd=Path(__file__).parent.parent,
    )
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def main() -> None:
    warnings.simplefilter("error")
    job = json.load(sys.stdin)
    mode = MODES[sys.argv[1]]
    settings = {**BASE_SETTINGS, "LOG_LEVEL": "INFO", **mode, **job["settings"]}
    runner = CrawlerProcess if sys.argv[1] == "select" else AsyncCrawlerProcess
    process = runner(settings)
    crawler = process.create_crawler(TimedSpider)
    process.crawl(crawler, urls=job["urls"])
    process.start()
    spider = crawler.spider
    failures = {url: type(error).__name__ for url, error in spider.failures.items()}
    result = {
        "stats": crawler.stats.get_stats(),
        "got": spider.got,
        "failures": failures,
        "sent": spider.sent,
    }
    print(json.dumps(result, default=str))


if __name__ == "__main__":
    main()
