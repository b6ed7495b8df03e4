"""Starts Redis and some workers, and shows how often the hosts were asked by all of them together.

usage: python -m robots_sample.cluster [--workers 4] [--pages 8] [--picture FILE]

First with scrapy-redis alone, then with this package. Ends by itself within a minute.
"""

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

from .picture import picture, table
from .server import redis_server
from .web import HOSTS, PAGES, Web

LONGEST = 25
"""Seconds without a request, after which the workers are stopped."""
CRAWLS = {
    "scrapy-redis alone": "robots_sample.cluster.plain",
    "scrapy-redis with RobotsQueue": "robots_sample.cluster.settings",
}


def crawl(settings, workers, pages):
    """What the hosts saw."""
    with Web(pages) as web, redis_server() as redis_url:
        environment = {
            **os.environ,
            "SCRAPY_SETTINGS_MODULE": settings,
            "REDIS_URL": redis_url,
            "http_proxy": web.url,
            "no_proxy": "",
            "PYTHONWARNINGS": "ignore",  # of scrapy-redis, which Scrapy finds old-fashioned
        }
        command = [sys.executable, "-m", "scrapy", "crawl", "cluster"]
        running = [
            subprocess.Popen(command, env={**environment, "WORKER": str(number)})
            for number in range(workers)
        ]
        try:
            wait_for(running, web)
        finally:
            for worker in running:
                worker.kill()
                worker.wait()
        return web.visits


def wait_for(workers, web):
    began = time.monotonic()
    while any(worker.poll() is None for worker in workers):
        last = web.visits[-1].at if web.visits else began
        if time.monotonic() > last + LONGEST:
            print(f"The workers have asked for nothing for {LONGEST} s, and are stopped.")
            return
        time.sleep(0.05)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--pages", type=int, default=PAGES, help="of each host")
    parser.add_argument("--picture", type=Path, default=Path("cluster.svg"), metavar="FILE")
    options = parser.parse_args()
    crawls = {}
    for title, settings in CRAWLS.items():
        print(f"{title}, {options.workers} workers:", flush=True)
        crawls[title] = crawl(settings, options.workers, options.pages)
        print(table(HOSTS, crawls[title]), end="\n\n", flush=True)
    if not all(crawls.values()):
        raise SystemExit("Nothing was fetched: see the messages of the workers above.")
    options.picture.parent.mkdir(parents=True, exist_ok=True)
    options.picture.write_text(picture(HOSTS, crawls))
    print(f"The picture is in {options.picture.resolve()}.")


if __name__ == "__main__":
    main()
