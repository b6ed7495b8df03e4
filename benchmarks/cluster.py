"""Several workers of one crawl, with this package and with scrapy-redis alone.

usage: python -m benchmarks.cluster [crawl] [throughput] [queue] [--variants package,plain,off]
                                    [--workers 1,2,4] [--repeats N] [--queue-hosts 10000,100000]

crawl: four workers, 50 hosts with a Crawl-delay of a second and 50 without, all on loopback: what
the hosts saw of all workers together. throughput: hosts without a delay, and what Redis is asked.
queue: the queue alone, with very many hosts.

Each worker is a process of its own, and Redis is a real one. Commands are those that workers send;
what a script does within Redis is in its CPU time. Compare the figures of one run.
"""

from __future__ import annotations

import argparse
from collections import Counter
from statistics import median
from typing import TYPE_CHECKING, Any

from tests.forks import Forks
from tests.redis_server import RedisServer
from tests.sites import Sites
from tests.workers import EACH_FOR_ITSELF, OFF, PLAIN, SHARED, Workers, robots, smallest

from .cluster_queue import compare_memory, compare_queues

if TYPE_CHECKING:
    from tests.workers import Crawled

LONGEST = 280
"""Seconds for one crawl."""

VARIANTS: dict[str, dict[str, Any]] = {
    "package": SHARED,
    "add-on": EACH_FOR_ITSELF,
    "plain": PLAIN,
    "off": OFF,
}
MEANINGS = {
    "package": "RobotsQueue, robots.txt files in Redis",
    "add-on": "the add-on with scrapy-redis's queue: each worker for itself",
    "plain": "scrapy-redis with Scrapy's robots.txt middleware",
    "off": "scrapy-redis, robots.txt off",
}


def crawl(
    variant: str, workers: int, slow: tuple[int, int], fast: tuple[int, int], delay: float
) -> Crawled:
    """*slow* and *fast*: how many hosts, with how many pages each. The slow come first."""
    with Sites() as sites, RedisServer() as server:
        hosts = {sites.host(robots(delay)): slow[1] for _ in range(slow[0])}
        hosts |= {sites.host(robots()): fast[1] for _ in range(fast[0])}
        with Workers(hosts, server, VARIANTS[variant]) as running:
            running.start(workers)
            return running.crawl(LONGEST)


def compare_crawls(options: argparse.Namespace) -> None:
    slow, fast = (options.hosts, options.slow_pages), (options.hosts, options.fast_pages)
    politeness = (options.slow_pages - 1) * options.delay
    print(
        f"\n4 workers, {slow[0]} hosts with Crawl-delay {options.delay:g} and {slow[1]} pages "
        f"each, {fast[0]} without a delay and {fast[1]} pages each",
        flush=True,
    )
    done = {}
    for variant in options.variants:
        done[variant] = crawl(variant, 4, slow, fast, options.delay)
        show_crawl(variant, done[variant], slow[0], options.delay)
    bound = max(politeness, done["off"].seconds if "off" in done else 0.0)
    print(f"  bound: {bound:.1f} s (politeness {politeness:g} s)")
    for variant, one in done.items():
        print(f"  {variant:<9} {one.seconds / bound:5.2f} times the bound", flush=True)


def show_crawl(variant: str, one: Crawled, slow: int, delay: float) -> None:
    hosts = list(one.workers.hosts)[:slow]
    gaps = [gap for host in hosts for gap in one.gaps[host]]
    asked = Counter(one.robots_requests.values())
    times = ", ".join(f"{count} times by {hosts}" for count, hosts in sorted(asked.items()))
    print(
        f"  {variant:<9} {one.seconds:6.1f} s, CPU {one.cpu:5.1f} s; smallest gap "
        f"{min(gaps):.3f} s as sent, {smallest(one.arrival_gaps, hosts):.3f} s as it arrived, "
        f"{sum(gap < 0.98 * delay for gap in gaps):,} of {len(gaps):,} too short; robots.txt: "
        f"{sum(one.robots_requests.values())} requests ({times} hosts); {len(one.missing)} pages "
        f"missing, {sum(count > 1 for count in one.fetched.values())} twice",
        flush=True,
    )


def compare_throughput(options: argparse.Namespace) -> None:
    hosts, pages = 40, options.fast_pages
    print(f"\n{hosts} hosts without a delay, {pages} pages each; medians of {options.repeats}")
    print(
        f"{'':<9}{'workers':>9}{'pages/s':>9}{'CPU ms':>9}{'commands':>10}{'round trips':>13}"
        f"{'bytes':>8}{'Redis us':>10}   all but the first for a page",
        flush=True,
    )
    found: dict[tuple[str, int], list[list[float]]] = {}
    for _ in range(options.repeats):
        for workers in options.workers:
            for variant in options.variants:
                one = crawl(variant, workers, (0, 0), (hosts, pages), 0)
                found.setdefault((variant, workers), []).append(costs(one))
    for (variant, workers), all_costs in found.items():
        middle = [median(column) for column in zip(*all_costs, strict=True)]
        print(
            "{:<9}{:>9}{:>9.0f}{:>9.2f}{:>10.2f}{:>13.2f}{:>8.0f}{:>10.0f}".format(
                variant, workers, *middle
            )
        )
    if "plain" in options.variants:
        print_ratios(found, options.workers)


def costs(one: Crawled) -> list[float]:
    pages = one.workers.pages
    return [
        pages / one.seconds,
        one.cpu / pages * 1e3,
        one.asked("commands") / pages,
        one.asked("round_trips") / pages,
        (one.usage.received + one.usage.sent) / pages,
        one.usage.cpu / pages * 1e6,
    ]


def print_ratios(found: dict[tuple[str, int], list[list[float]]], workers: list[int]) -> None:
    """Each beside the plain one of the same round."""
    for (variant, number), all_costs in found.items():
        if variant == "plain" or number not in workers:
            continue
        pairs = list(zip(all_costs, found["plain", number], strict=True))
        speed, commands, size = (
            median(one[column] / plain[column] for one, plain in pairs) for column in (0, 2, 4)
        )
        print(
            f"  {variant}, {number} workers: {speed:.2f} times the pages/s of plain, "
            f"{commands:.2f} times its commands, {size:.2f} times its bytes"
        )


def numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(",")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "parts", nargs="*", choices=[[], "crawl", "throughput", "queue"], metavar="PART"
    )
    parser.add_argument("--variants", type=lambda text: text.split(","), default=[*VARIANTS])
    parser.add_argument("--workers", type=numbers, default=[1, 2, 4], help="of throughput")
    parser.add_argument("--repeats", type=int, default=3, help="of throughput")
    parser.add_argument("--hosts", type=int, default=50, help="of each kind in the crawl")
    parser.add_argument("--slow-pages", type=int, default=12, help="of each slow host")
    parser.add_argument("--fast-pages", type=int, default=60, help="of each fast host")
    parser.add_argument("--delay", type=float, default=1.0)
    parser.add_argument("--queue-hosts", type=numbers, default=[10_000, 100_000])
    options = parser.parse_args()
    parts = options.parts or ["crawl", "throughput", "queue"]
    for variant in options.variants:
        print(f"{variant}: {MEANINGS[variant]}")
    if "crawl" in parts:
        compare_crawls(options)
    if "throughput" in parts:
        compare_throughput(options)
    if "queue" in parts:
        for hosts in options.queue_hosts:
            compare_queues(hosts)
        compare_memory()
    Forks.end()


if __name__ == "__main__":
    main()
