"""Whole crawls of many hosts, and of one host with as many requests."""

from __future__ import annotations

import subprocess
import tempfile
from statistics import median
from typing import NamedTuple

from .crawl import Run, run

MOST_SECONDS = 1_500
"""For one crawl. What it got by then counts."""
HEAD = (
    f"{'':<34}{'seconds':>9}{'CPU':>8}{'collector':>11}{'peak':>7}{'files':>7}{'pages':>8}"
    f"{'twice':>7}{'ms/page':>9}{'ms/request':>12}"
)


class Cost(NamedTuple):
    """CPU time in milliseconds."""

    page: float
    request: float
    """Requests for robots.txt count too."""


def compare_crawls(
    hosts: int, pages: int, variants: list[str], threshold: int | None, repeats: int
) -> None:
    """*variants*: of ``crawl_spider.py``; with ``-job``, they have a ``JOBDIR``.

    All are run *repeats* times, one after the other: other work on the machine comes and goes.
    """
    print(f"\n{hosts:,} hosts with {pages} pages each, and one host\n{HEAD}", flush=True)
    # As many requests: each host of the broad crawl has a robots.txt.
    broad, one = f"broad-{hosts}-{pages}", f"one-{hosts * (pages + 1)}"
    crawls = [(broad, variant) for variant in variants] + [(one, "package"), (one, "off")]
    costs: dict[tuple[str, str], list[Cost]] = {crawl: [] for crawl in crawls}
    for _ in range(repeats):
        for name, variant in crawls:
            cost = show(name, variant, threshold)
            costs[name, variant] += [] if cost is None else [cost]
    middle = {crawl: median_of(found) for crawl, found in costs.items() if found}
    for variant in ("package", "off"):
        if (one, variant) in middle:
            print_ratios(middle, variant, middle[one, variant])


def median_of(costs: list[Cost]) -> Cost:
    return Cost(*map(median, zip(*costs, strict=True)))


def show(name: str, variant: str, threshold: int | None) -> Cost | None:
    kind, _, job = variant.partition("-")
    kind, job = ("built-in", job.partition("-")[2]) if kind == "built" else (kind, job)
    with tempfile.TemporaryDirectory(prefix="crawl-") as folder:
        options = ["--seconds", str(MOST_SECONDS), *(["--job", folder] if job else [])]
        options += [] if threshold is None else ["--threshold", str(threshold)]
        try:
            done = run(name, kind, options)
        except (subprocess.SubprocessError, ValueError) as error:
            print(f"{name + ', ' + variant:<34}  {type(error).__name__}", flush=True)
            return None
    return shown(name, variant, done)


def shown(name: str, variant: str, done: Run) -> Cost | None:
    result = done.result
    if not result["got"]:
        print(f"{name + ', ' + variant:<34}  no page: {result['reason']}", flush=True)
        return None
    cost = Cost(result["cpu"] / result["got"] * 1e3, result["cpu"] / len(done.hits) * 1e3)
    text = (
        f"{name + ', ' + variant:<34}{result['seconds']:9.1f}{result['cpu']:8.1f}"
        f"{result['collector']:11.1f}{result['peak']:7.0f}{result['files']:7}{result['got']:8,}"
        f"{done.fetched_twice:7}{cost.page:9.3f}{cost.request:12.3f}"
    )
    failed, reason = result["failed"], result["reason"]
    incomplete = f"  {done.missing:,} missing, {failed:,} failed, {reason}" if done.missing else ""
    print(text + incomplete, flush=True)
    return cost


def print_ratios(costs: dict[tuple[str, str], Cost], variant: str, one: Cost) -> None:
    ratios = ", ".join(
        f"{name} {cost.request / one.request:.2f} ({cost.page / one.page:.2f} for a page)"
        for (scenario, name), cost in costs.items()
        if scenario.startswith("broad")
    )
    print(f"  CPU for a request, times that of one host ({variant}): {ratios}", flush=True)
