"""What the add-on weighs: a crawl without requests, with it and with Scrapy's own middleware.

usage: python -m benchmarks.weight [PAIRS]

Each crawl is a process of its own, from the import of Scrapy to the end of the crawl; both kinds
take turns. Shown is the least CPU time and peak memory of each, and the difference.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
OURS: dict[str, Any] = {"ADDONS": {"scrapy_robots_plus.Addon": 300}}
THEIRS: dict[str, Any] = {"ROBOTSTXT_OBEY": True}
PACKAGE = "scrapy_robots_plus"


def crawl(settings: dict[str, Any]) -> None:
    """Runs one, and prints what it cost, and the modules of this package that it imported."""
    import scrapy
    from scrapy.crawler import AsyncCrawlerProcess

    class Spider(scrapy.Spider):
        name = "weightless"

    quiet = {"LOG_ENABLED": False, "TELNETCONSOLE_ENABLED": False}
    process = AsyncCrawlerProcess({**quiet, **settings})
    process.crawl(Spider)
    process.start()
    used = resource.getrusage(resource.RUSAGE_SELF)
    modules = [name for name in sys.modules if name.partition(".")[0] == PACKAGE]
    seconds, megabytes = used.ru_utime + used.ru_stime, used.ru_maxrss / 1024
    print(json.dumps({"seconds": seconds, "megabytes": megabytes, "modules": modules}))


def weighed(settings: dict[str, Any]) -> dict[str, Any]:
    """What :func:`crawl` prints, from a process of its own that may keep compiled files."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.weight", "crawl", json.dumps(settings)],
        env=environment,
        stdout=subprocess.PIPE,
        timeout=120,
        check=True,
    )
    weight: dict[str, Any] = json.loads(done.stdout)
    return weight


def main(pairs: int) -> None:
    found: dict[str, list[dict[str, Any]]] = {"Scrapy's own": [], "the add-on": []}
    for number in range(pairs + 1):
        for name, settings in zip(found, (THEIRS, OURS), strict=True):
            weight = weighed(settings)
            if number:  # the first one compiles
                found[name].append(weight)
    least = {
        name: [min(each[what] for each in weights) for what in ("seconds", "megabytes")]
        for name, weights in found.items()
    }
    for name, (seconds, megabytes) in least.items():
        print(f"{name:14}{seconds:8.3f} s{megabytes:8.1f} MB")
    (own, own_memory), (ours, memory) = least.values()
    modules = len(found["the add-on"][0]["modules"])
    print(f"{'more':14}{ours - own:8.3f} s{memory - own_memory:8.1f} MB, {modules} modules")


if __name__ == "__main__":
    if sys.argv[1:2] == ["crawl"]:
        crawl(json.loads(sys.argv[2]))
    else:
        main(int(sys.argv[1]) if sys.argv[1:] else 10)
