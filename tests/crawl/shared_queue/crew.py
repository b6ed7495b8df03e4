"""Workers of scrapy-redis in processes of their own.

usage: MODE < JSON with "urls", "settings" and the "spider"
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy.crawler import AsyncCrawlerProcess, CrawlerProcess
from scrapy.utils.misc import load_object

from tests.crawl.test_jobs import JobSpider
from tests.crawl_process import MODES
from tests.crawling import BASE_SETTINGS

if TYPE_CHECKING:
    from tests.redis_server import RedisServer

LONGEST = 90
PLAIN: dict[str, Any] = {
    "SCHEDULER": "scrapy_redis.scheduler.Scheduler",
    "DUPEFILTER_CLASS": "scrapy_redis.dupefilter.RFPDupeFilter",
    "SCHEDULER_PERSIST": True,
}
"""scrapy-redis, with its own queue."""
SHARED: dict[str, Any] = {
    **PLAIN,
    "SCHEDULER_QUEUE_CLASS": "scrapy_robots_plus.redis.RobotsQueue",
    "DUPEFILTER_CLASS": "scrapy_robots_plus.redis.RobotsDupeFilter",
}


class CrewSpider(JobSpider):
    """The first worker has the start URLs; the others get the rest of the queue."""


class Crew:
    """Workers that share a queue on *server*."""

    def __init__(self, server: RedisServer, mode: str = "asyncio", **settings: Any) -> None:
        self._command = [sys.executable, "-m", __name__, mode]
        self._settings = {"REDIS_URL": server.url, **SHARED, **settings}
        self._stack = ExitStack()
        self.workers: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Crew:
        return self

    def __exit__(self, *_: object) -> None:
        for each in self.workers:
            each.kill()
            each.wait()
            for pipe in (each.stdin, each.stdout, each.stderr):
                if pipe is not None:
                    pipe.close()

    def start(self, *urls: str, **settings: Any) -> subprocess.Popen[bytes]:
        """A worker, with start URLs of its own."""
        pipe = subprocess.PIPE
        worker = subprocess.Popen(
            self._command, stdin=pipe, stdout=pipe, stderr=pipe, cwd=Path(__file__).parents[3]
        )
        self.workers.append(worker)
        given = {"urls": urls, "settings": {**self._settings, **settings}}
        assert worker.stdin is not None
        worker.stdin.write(json.dumps(given).encode())
        worker.stdin.close()
        worker.stdin = None
        return worker

    def kill(self, worker: subprocess.Popen[bytes]) -> None:
        worker.send_signal(signal.SIGKILL)
        worker.wait(LONGEST)

    def results(self) -> list[dict[str, Any]]:
        """Waits until all have ended; the stats of those that were not killed."""
        found = []
        for worker in self.workers:
            output, errors = worker.communicate(timeout=LONGEST)
            self.log = errors.decode()
            if worker.returncode >= 0:
                assert worker.returncode == 0, self.log
                found.append(json.loads(output.splitlines()[-1]))
        return found


def main() -> None:
    job = json.load(sys.stdin)
    settings = {**BASE_SETTINGS, "LOG_LEVEL": "INFO", **MODES[sys.argv[1]], **job["settings"]}
    spider = settings.pop("SPIDER", f"{__name__}.JobSpider")
    process = (CrawlerProcess if sys.argv[1] == "select" else AsyncCrawlerProcess)(settings)
    crawler = process.create_crawler(load_object(spider))
    process.crawl(crawler, urls=job["urls"])
    process.start()
    print(json.dumps(crawler.stats.get_stats(), default=str))


if __name__ == "__main__":
    main()
