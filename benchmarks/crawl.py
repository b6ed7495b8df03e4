"""Whole crawls on loopback: this package, Scrapy's own middleware, and robots.txt switched off.

usage: python -m benchmarks.crawl [SCENARIO ...] [--variants package,built-in,off] [--pairs N]
                                  [--draw FOLDER]

Every scenario is served by a process of its own and crawled by one of its own. What is printed are
ratios within one run: absolute numbers are those of the machine.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from dataclasses import dataclass
from operator import truediv
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .crawl_draw import draw
from .crawl_scenarios import SCENARIOS, Scenario, scenario_named

if TYPE_CHECKING:
    from collections.abc import Sequence

LONGEST = 1_600


@dataclass
class Run:
    """What one crawl came to."""

    scenario: Scenario
    variant: str
    result: dict[str, Any]
    hits: list[tuple[float, str, str]]

    def class_of(self, address: str) -> str:
        net = int(address.split(".")[1])
        return next(hosts.name for hosts in self.scenario.hosts if hosts.net == net)

    def timeline(self) -> dict[str, list[float]]:
        """For each class of hosts, when its pages were asked for, from the start."""
        began = self.result["began"]
        times: dict[str, list[float]] = {hosts.name: [] for hosts in self.scenario.hosts}
        for at, address, path in self.hits:
            if path != "/robots.txt":
                times[self.class_of(address)].append(at - began)
        return times

    def done(self, name: str) -> float:
        """When the last page of a class of hosts was asked for."""
        return max(self.timeline()[name], default=0.0)

    @property
    def fetched_twice(self) -> int:
        pages = [(address, path) for _, address, path in self.hits if path != "/robots.txt"]
        return len(pages) - len(set(pages))

    @property
    def missing(self) -> int:
        """Pages of hosts that are not dead that were not asked for."""
        asked = {(address, path) for _, address, path in self.hits}
        dead = {hosts.net for hosts in self.scenario.hosts if hosts.dead}
        return sum(
            page not in asked
            for page in self.scenario.paths()
            if int(page[0].split(".")[1]) not in dead
        )

    @property
    def gaps_broken(self) -> int:
        """Pages that came sooner than 0.95 times the delay after the one before.

        By the clock of the server, which may have been busy when the one before came.
        """
        delays = {hosts.net: hosts.delay for hosts in self.scenario.hosts}
        before: dict[str, float] = {}
        broken = 0
        for at, address, path in self.hits:
            delay = delays[int(address.split(".")[1])]
            if path == "/robots.txt" or not delay:
                continue
            broken += at - before.get(address, -1e9) < 0.95 * delay
            before[address] = at
        return broken


def run(name: str, variant: str, options: Sequence[str] = (), *, without_dead: bool = False) -> Run:
    """One crawl, with *options* of ``crawl_spider.py``.

    Raises CalledProcessError or TimeoutExpired where it fails.
    """
    environment = {**os.environ, "PYTHONWARNINGS": "ignore"}
    # As for users, modules are compiled once, not in each crawl.
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    with subprocess.Popen(
        [sys.executable, "-m", "benchmarks.crawl_server", name],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as server:
        assert server.stdin
        assert server.stdout
        port = server.stdout.readline().strip()
        arguments = [name, variant, port, *options, *(["--live"] if without_dead else [])]
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.crawl_spider", *arguments],
            stdout=subprocess.PIPE,
            text=True,
            check=True,
            timeout=LONGEST,
            env=environment,
        )
        server.stdin.close()
        hits = json.loads(server.stdout.read())
    scenario = scenario_named(name)
    return Run(
        scenario.without_dead() if without_dead else scenario,
        variant,
        json.loads(done.stdout.splitlines()[-1]),
        hits,
    )


def show(one: Run) -> None:
    result = one.result
    times = ", ".join(f"{name} {one.done(name):.1f} s" for name in one.timeline())
    print(
        f"  {one.variant:<9} {result['seconds']:6.1f} s, CPU {result['cpu']:5.1f} s, "
        f"{result['peak']:4.0f} MiB; last page: {times}; {result['got']:,} pages, "
        f"{one.missing} missing, {one.fetched_twice} twice, {one.gaps_broken} gaps too short",
        flush=True,
    )


def compare(name: str, variants: list[str], pictures: Path | None) -> None:
    """Runs a scenario for all variants and prints what it comes to."""
    scenario = SCENARIOS[name]
    print(f"\n{scenario.title}", flush=True)
    runs = {}
    for variant in variants:
        runs[variant] = run(name, variant)
        show(runs[variant])
    if scenario.until_live_done:
        print_dead(name, runs)
    elif "off" in runs:
        print_bound(scenario, runs)
    if pictures:
        draw(scenario, runs, pictures / f"{name}.svg")


def print_bound(scenario: Scenario, runs: dict[str, Run]) -> None:
    off = runs["off"]
    bound = max(scenario.politeness, off.result["cpu"])
    print(f"  bound: {bound:.1f} s (politeness {scenario.politeness:g} s)")
    for variant, one in runs.items():
        ratio = one.result["seconds"] / bound
        line = f"  {variant:<9} {ratio:5.2f} times the bound"
        if any(hosts.name == "fast" for hosts in scenario.hosts):
            fast = one.done("fast") / off.done("fast")
            line += f"; fast hosts done after {fast:.2f} times their time with robots.txt off"
        print(line)


def print_dead(name: str, runs: dict[str, Run]) -> None:
    for variant, one in runs.items():
        alone = run(name, variant, without_dead=True)
        ratio = one.done("live") / alone.done("live")
        print(
            f"  {variant:<9} live pages: {one.done('live'):.1f} s; without the dead "
            f"{alone.done('live'):.1f} s: {ratio:.2f} times",
            flush=True,
        )


def compare_cpu(name: str, pairs: int) -> None:
    """CPU time of the variants, in turns. A pair is this package and Scrapy's own middleware."""
    print(f"\n{SCENARIOS[name].title}: CPU time in pairs", flush=True)
    whole: dict[str, list[float]] = {"package": [], "built-in": [], "off": []}
    without_collector: dict[str, list[float]] = {variant: [] for variant in whole}
    for number in range(pairs):
        for variant in reversed(whole) if number % 2 else whole:
            one = run(name, variant).result
            whole[variant].append(one["cpu"])
            without_collector[variant].append(one["cpu"] - one["collector"])
        texts = [f"{variant} {seconds[-1]:.2f} s" for variant, seconds in whole.items()]
        print("  " + ", ".join(texts), flush=True)
    for compared, to in (("package", "built-in"), ("package", "off"), ("built-in", "off")):
        ratios = [
            statistics.median(map(truediv, seconds[compared], seconds[to]))
            for seconds in (whole, without_collector)
        ]
        print(
            f"  {compared} {ratios[0]:.3f} times {to} (median); "
            f"{ratios[1]:.3f} times without the garbage collector"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scenarios", nargs="*", choices=[[], *SCENARIOS], metavar="SCENARIO")
    parser.add_argument("--variants", default="package,built-in,off")
    parser.add_argument("--pairs", type=int, default=7)
    parser.add_argument("--draw", type=Path, metavar="FOLDER")
    options = parser.parse_args()
    for name in options.scenarios or SCENARIOS:
        if SCENARIOS[name].as_links:
            compare_cpu(name, options.pairs)
        else:
            compare(name, options.variants.split(","), options.draw)


if __name__ == "__main__":
    main()
