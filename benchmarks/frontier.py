"""Queues of many hosts, and whole crawls of many hosts: this package beside Scrapy's own.

usage: python -m benchmarks.frontier [queues] [crawls] [--hosts 1000,10000] [--kinds memory,disk]
                                     [--crawl-hosts 10000] [--variants package,off] [--threshold N]
                                     [--repeats N]

Each queue and each crawl runs in a process of its own, queues under the usual limit of 1,024 open
files, with all settings at their defaults. Times are of the CPU, unless they say otherwise:
compare those of one run.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from typing import Any

from .frontier_crawls import compare_crawls
from .frontier_kinds import KINDS

LONGEST = 590
"""Seconds for one process."""
PAGES = "3"
OPERATIONS = ("first", "further", "pop")
"""The first request of a host, further ones, and taking one out."""
HEAD = (
    f"{'':<40}{'first':>8}{'further':>9}{'pop':>10}{'memory':>10}{'files':>7}{'disk':>9}"
    f"{'close':>9}{'resume':>9}\n"
    f"{'us, us, us, bytes a host, , MiB, s, s':<40}"
)


def measure(name: str, hosts: int, folder: str, *more: str) -> dict[str, Any]:
    """What one queue came to; ``failed`` says why it did not get to the end."""
    try:
        done = subprocess.run(
            [
                sys.executable,
                "-m",
                "benchmarks.frontier_queue",
                name,
                str(hosts),
                PAGES,
                folder,
                *more,
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            timeout=LONGEST,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return {"failed": f"not done after {LONGEST} s"}
    lines = done.stdout.splitlines()
    return dict(json.loads(lines[-1])) if lines else {"failed": f"ended with {done.returncode}"}


def run_queue(name: str, hosts: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="frontier-") as folder:
        result = measure(name, hosts, folder)
        if KINDS[name].on_disk and "failed" not in result:
            resumed = measure(name, hosts, folder, "resume")
            result["resumed"] = resumed.get("opening")
            result["lost"] = result["held"] - result["pops"] - resumed.get("held", 0)
    return result


def row(name: str, result: dict[str, Any], plain: float) -> str:
    """*plain*: the memory of the requests alone, for queues that keep them there."""
    title = f"{KINDS[name].title:<40}"
    if "pop" not in result:
        return f"{title}  {result.get('failed')}"
    memory = result["memory"] - (0 if KINDS[name].on_disk else plain)
    cells = [
        f"{result['first']['cpu']:8.1f}",
        f"{result['further']['cpu']:9.1f}",
        f"{result['pop']['cpu']:10,.1f}",
        f"{memory / result['hosts']:10,.0f}",
        f"{result['files']:7}",
    ]
    if KINDS[name].on_disk:
        resumed, lost = result.get("resumed"), result.get("lost")
        cells += [f"{result['disk'] / 2**20:9,.1f}", f"{result['closing']:9.3f}"]
        cells += ["" if resumed is None else f"{resumed:9.3f}"]
        cells += [f"  {lost:,} lost"] if lost else []
    return title + "".join(cells)


def compare_queues(hosts: int, names: list[str]) -> None:
    print(f"\n{hosts:,} hosts with {PAGES} requests each\n{HEAD}", flush=True)
    results: dict[str, dict[str, Any]] = {}
    # First the one whose memory is that of the requests, to be subtracted from that of others.
    for name in sorted(names, key=lambda name: name != "memory-plain"):
        results[name] = {**run_queue(name, hosts), "hosts": hosts}
        plain = results.get("memory-plain", {}).get("memory", 0)
        print(row(name, results[name], plain), flush=True)
        if name == "memory-plain" and plain:
            print(f"{'':<40}  the requests alone: {plain / hosts:,.0f} bytes a host", flush=True)
        if KINDS[name].on_disk:
            print_clock(results[name])
    for ours, theirs in (("memory", "memory-by-host"), ("disk", "disk-by-host")):
        if "pop" in results.get(ours, {}) and "pop" in results.get(theirs, {}):
            print_ratios(KINDS[theirs].title, results[ours], results[theirs])


def print_clock(result: dict[str, Any]) -> None:
    if "pop" in result:
        times = ", ".join(f"{what} {result[what]['clock']:.1f} us" for what in OPERATIONS)
        above = result["memory"] / 2**20
        print(f"{'':<40}  by the clock: {times}; {above:,.0f} MiB above the start", flush=True)


def print_ratios(title: str, ours: dict[str, Any], theirs: dict[str, Any]) -> None:
    ratios = ", ".join(
        f"{what} {ours[what]['cpu'] / theirs[what]['cpu']:.2f}" for what in OPERATIONS
    )
    print(f"  times {title}: {ratios}", flush=True)


def numbers(text: str) -> list[int]:
    return [int(part.replace("_", "")) for part in text.split(",")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", choices=[[], "queues", "crawls"], metavar="PART")
    parser.add_argument("--hosts", type=numbers, default=[1_000, 10_000, 100_000, 1_000_000])
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--crawl-hosts", type=numbers, default=[10_000, 50_000])
    parser.add_argument("--crawl-pages", type=int, default=3)
    parser.add_argument("--repeats", type=int, default=1, help="of crawls; medians are compared")
    parser.add_argument("--variants", default="package,package-job,built-in,built-in-job,off")
    parser.add_argument(
        "--threshold", type=int, help="of the garbage collector (default: Python's)"
    )
    options = parser.parse_args()
    parts = options.parts or ["queues", "crawls"]
    if "queues" in parts:
        for hosts in options.hosts:
            compare_queues(hosts, options.kinds.split(","))
    if "crawls" in parts:
        for hosts in options.crawl_hosts:
            variants = options.variants.split(",")
            compare_crawls(hosts, options.crawl_pages, variants, options.threshold, options.repeats)


if __name__ == "__main__":
    main()
