"""Measures the rule engine beside its peers, in one run: see ``--help``.

Parse time, time of the first decisions and of later ones, memory per host and hostile files. Each
number is the best of several passes, with the peers taking turns, so that what else the machine
does hits all alike.
"""

from __future__ import annotations

import argparse
import gc
import logging
import multiprocessing
import os
import platform
import resource
import subprocess
import tempfile
import time
import tracemalloc
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .engine_corpus import STRANGER, Site, load
from .engine_hostile import hostile
from .engine_peers import OURS, Peer, peers

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).resolve().parents[1]
PARTS = ["parse", "first", "decide", "memory", "hostile"]
FIRST_URL = "https://www.example.com/some/path/page.html?x=1"


def seconds(work: Callable[[], Any]) -> float:
    """How long something takes once."""
    gc.collect()
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def best(works: dict[str, Callable[[], Any]], passes: int) -> dict[str, float]:
    """The best time of each, all taking turns."""
    times: dict[str, float] = dict.fromkeys(works, float("inf"))
    for _ in range(passes):
        for name, work in works.items():
            times[name] = min(times[name], seconds(work))
    return times


def table(title: str, unit: str, rows: dict[str, float]) -> None:
    """Prints numbers, and how many times ours each is."""
    print(f"\n{title} ({unit})")
    for name, value in rows.items():
        ratio = f"{value / rows[OURS]:8.2f} x" if name != OURS else ""
        print(f"  {name:<28}{value:12.2f} {ratio}")


def measure_parsing(found: list[Peer], sites: list[Site], passes: int) -> None:
    """Parsing alone, and parsing until the first answer: some parsers put work off until then."""

    def parse(peer: Peer) -> Callable[[], None]:
        def work() -> None:
            for site in sites:
                peer.parse(site.body)

        return work

    def answer(peer: Peer) -> Callable[[], None]:
        def work() -> None:
            for site in sites:
                peer.allowed(peer.parse(site.body), FIRST_URL, STRANGER)

        return work

    for title, work in (("Parsing", parse), ("Parsing and a first answer", answer)):
        times = best({peer.name: work(peer) for peer in found}, passes)
        table(title, "us a file", {name: t / len(sites) * 1e6 for name, t in times.items()})


def measure_decisions(found: list[Peer], sites: list[Site], passes: int, most: int) -> None:
    """Decisions on parsed files that were asked before."""
    questions = [
        (number, agent, url)
        for number, site in enumerate(sites)
        for agent in site.agents
        for url in site.urls
    ]
    questions = questions[:: max(1, len(questions) // most)]
    works: dict[str, Callable[[], Any]] = {}
    for peer in found:
        parsed = [peer.parse(site.body) for site in sites]

        def ask(peer: Peer = peer, parsed: list[Any] = parsed) -> None:
            allowed = peer.allowed
            for number, agent, url in questions:
                allowed(parsed[number], url, agent)

        ask()
        works[peer.name] = ask
    times = best(works, passes)
    title = f"Deciding, {len(questions):,} questions"
    table(title, "us a decision", {name: t / len(questions) * 1e6 for name, t in times.items()})


def scrapys() -> list[Peer]:
    """Our parser and Protego as Scrapy's parsers."""
    from scrapy.robotstxt import ProtegoRobotParser
    from scrapy.utils.test import get_crawler

    from scrapy_robots_plus.origins.parsers import RobotsParser

    crawler = get_crawler()

    def peer(name: str, parser: Any) -> Peer:
        return Peer(
            name,
            lambda body: parser.from_crawler(crawler, body),
            lambda parsed, url, agent: parsed.allowed(url, agent),
        )

    return [peer(OURS, RobotsParser), peer("Protego", ProtegoRobotParser)]


STAGES = {"parsing and 1 decision": 1, "parsing and 10": 10, "the next 40": 50}


def measure_first(found: list[Peer], sites: list[Site], passes: int) -> None:
    """The first questions about a file, beside Protego. The two take turns at each file.

    In a crawl that keeps all its parsers, ours gives up what it keeps parsed, which takes time.
    """
    pair = [peer for peer in found if peer.name in {OURS, "Protego"}]
    for title, peers_, keeps in (
        ("", pair, False),
        (", as Scrapy's parsers", scrapys(), False),
        (", as Scrapy's parsers, all of which are kept", scrapys(), True),
    ):
        fastest: dict[str, list[float]] = {}
        for _ in range(passes):
            for name, times in first_answers(peers_, sites, keeps).items():
                fastest[name] = list(map(min, times, fastest.get(name, times)))
        for at, stage in enumerate(STAGES):
            rows = {name: times[at] / len(sites) * 1e6 for name, times in fastest.items()}
            table(f"First decisions{title}: {stage}", "us a file", rows)


def first_answers(found: list[Peer], sites: list[Site], keeps: bool) -> dict[str, list[float]]:
    """Seconds of processor time for each stage, over all files."""
    times = {peer.name: [0.0] * len(STAGES) for peer in found}
    kept: list[Any] = []
    gc.collect()
    gc.disable()
    for number, site in enumerate(sites):
        urls = (site.urls * 50)[: max(STAGES.values())]
        for turn in range(len(found)):
            peer = found[(number + turn) % len(found)]
            allowed, asked, since = peer.allowed, 0, time.process_time()
            parsed = peer.parse(site.body)
            for at, until in enumerate(STAGES.values()):
                for url in urls[asked:until]:
                    allowed(parsed, url, STRANGER)
                now = time.process_time()
                # The second stage has the first one in it, the third none.
                times[peer.name][at] += now - since
                if until >= 10:
                    since = now
                asked = until
            if keeps:
                kept.append(parsed)
            del parsed  # or another peer's time would hold that of taking it apart
    gc.enable()
    return times


def measure_memory(sites: list[Site]) -> None:
    """What Scrapy's parsers keep for each host, asked once each; ours with all that it caches."""
    from scrapy.robotstxt import ProtegoRobotParser, PythonRobotParser, RerpRobotParser
    from scrapy.utils.test import get_crawler

    from scrapy_robots_plus.origins.parsers import RobotsParser

    logging.disable()  # the standard library's parser tells of each file that is no UTF-8
    crawler = get_crawler()
    rows = {}
    for name, parser in (
        (OURS, RobotsParser),
        ("Protego", ProtegoRobotParser),
        ("robotexclusionrulesparser", RerpRobotParser),
        ("urllib.robotparser", PythonRobotParser),
    ):
        gc.collect()
        tracemalloc.start()
        try:
            kept = [parser.from_crawler(crawler, site.body) for site in sites]
            for each in kept:
                each.allowed(FIRST_URL, STRANGER)
            rows[name] = tracemalloc.get_traced_memory()[0] / len(sites) / 1024
        except ImportError:
            print(f"  ({name} is not installed)")
        finally:
            tracemalloc.stop()
            kept = []
    table(f"Memory, {len(sites):,} hosts", "KiB a host", rows)


def ask_hostile(peer: Peer, body: bytes, urls: list[str], pipe: Any, memory: int) -> None:
    """Runs in a process of its own: not every peer comes back from this."""
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    try:
        started = time.perf_counter()
        parsed = peer.parse(body)
        times = [time.perf_counter() - started]
        first = seconds(lambda: peer.allowed(parsed, urls[0], "bot"))
        slowest = max(
            min(seconds(partial(peer.allowed, parsed, url, "bot")) for _ in range(3))
            for url in urls
        )
        pipe.send([*times, first, slowest])
    except (MemoryError, RecursionError, ValueError) as error:
        pipe.send(type(error).__name__)


def in_a_process(peer: Peer, body: bytes, urls: list[str], limit: float) -> str:
    """Parse time, first and slowest decision in ms; or why there are none."""
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe()
    process = context.Process(target=ask_hostile, args=(peer, body, urls, there, 4 << 30))
    process.start()
    told = here.recv() if here.poll(limit) else f"over {limit:.0f} s"
    process.kill()
    process.join()
    if isinstance(told, str):
        return told
    return "  ".join(f"{value * 1000:9.2f}" for value in told)


def measure_hostile(found: list[Peer], limit: float) -> None:
    """500 KiB and URLs of 2,000 octets."""
    gc.freeze()  # what is measured in a child should not pay for collecting the parent's objects
    print("\nHostile files of 500 KiB: parsing, first decision, slowest decision after it (ms)")
    for name, body, urls in hostile():
        print(f"  {name}")
        for peer in found:
            print(f"    {peer.name:<28}{in_a_process(peer, body, urls, limit)}", flush=True)


def measure_google(binary: Path, sites: list[Site]) -> None:
    """google/robotstxt's command, a process a question; and whether it agrees."""
    from scrapy_robots_plus.protocol import GOOGLE, RobotsTxt

    differ, asked, started = 0, 0, time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "robots.txt")
        for site in sites[:200]:
            path.write_bytes(site.body)
            for url in site.urls[:3]:
                done = subprocess.run(
                    [binary, path, STRANGER, url], capture_output=True, check=False
                )
                asked += 1
                allowed = RobotsTxt.parse(site.body, GOOGLE, max_bytes=None).allowed(url, STRANGER)
                differ += (done.returncode == 0) is not allowed
    each = (time.perf_counter() - started) / asked * 1e6
    print(f"\ngoogle/robotstxt: {each:.0f} us a process; {differ} of {asked} decisions differ")


def default_corpus() -> Path:
    """Real files, where they are at hand."""
    folder = os.environ.get("ROBOTS_CONFORMANCE", ROOT.parent / "shared" / "conformance")
    return Path(os.environ.get("ROBOTS_CORPUS", Path(folder, "corpus_dev.tar.gz")))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--corpus",
        type=Path,
        default=default_corpus(),
        help="folder or .tar.gz of files (env ROBOTS_CORPUS)",
    )
    parser.add_argument("--google", type=Path, help="google/robotstxt's robots binary")
    parser.add_argument(
        "--files", type=int, default=1000, help="files to make up if there is no corpus"
    )
    parser.add_argument("--passes", type=int, default=5)
    parser.add_argument("--questions", type=int, default=60_000)
    parser.add_argument(
        "--limit", type=float, default=20, help="seconds a peer has for a hostile file"
    )
    parser.add_argument("--only", choices=PARTS, action="append")
    return parser.parse_args()


def main() -> None:
    options = arguments()
    found, missing = peers()
    name, sites = load(options.corpus, options.files)
    size = sum(len(site.body) for site in sites) / 1e6
    print(f"Python {platform.python_version()}, {name}, {size:.1f} MB")
    print("not installed:", ", ".join(missing) or "none")
    wanted = options.only or PARTS
    if "parse" in wanted:
        measure_parsing(found, sites, options.passes)
    if "first" in wanted:
        measure_first(found, sites, options.passes)
    if "decide" in wanted:
        measure_decisions(found, sites, options.passes, options.questions)
    if "memory" in wanted:
        measure_memory(sites)
    if "hostile" in wanted:
        measure_hostile(found, options.limit)
    if options.google:
        measure_google(options.google, sites)


if __name__ == "__main__":
    main()
