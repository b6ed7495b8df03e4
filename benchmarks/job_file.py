"""The file of a job alone: many lanes, beside one queue of queuelib that holds the same requests.

usage: python benchmarks/job_file.py [--lanes 1000000] [--requests 3] [--folder /tmp]

Requests come to lanes in random order and are taken lane by lane, ended, and committed each 1,000
operations. Times are of the CPU, but for opening and closing. queuelib's queue, which Scrapy's
SQLite queues use, has all requests in one lane and commits each of them; it gets 30,000. The
duplicate filter is that of Scrapy with JOBDIR, with the fingerprint that both have to make.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from queuelib.queue import FifoSQLiteQueue
from scrapy import Request
from scrapy.dupefilters import RFPDupeFilter
from scrapy.utils.request import fingerprint

from scrapy_robots_plus.frontier import FILE_NAME, JobFile

if TYPE_CHECKING:
    from collections.abc import Callable

DATA = random.Random(1).randbytes(400)
"""About as long as a request in pickle's form."""
EVERY = 1_000
FEW = 30_000


def timed(work: Callable[[], object]) -> float:
    """Seconds of the CPU, those of the system for this process included."""
    begin = time.process_time()
    work()
    return time.process_time() - begin


def memory() -> float:
    """Most that this process has had, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def add(file: JobFile, names: list[str], requests: int) -> None:
    chance = random.Random(2)
    for _ in range(requests):
        chance.shuffle(names)
        for number, name in enumerate(names):
            file.add(name, 0, DATA)
            if number % EVERY == 0:
                file.commit()
    file.commit()


def take(file: JobFile) -> None:
    taken_so_far = 0
    while rows := file.wake(EVERY):
        for row in rows:
            while taken := file.take(row.name, 0, starts=False, newest=True):
                file.end(taken.id)
                taken_so_far += 1
                if taken_so_far % EVERY == 0:
                    file.commit()
            file.sleep(row.name)
    file.commit()


def measure(lanes: int, requests: int, path: Path) -> dict[str, float]:
    """Microseconds an operation, seconds to open and close, MB of memory and disk."""
    names = [f"host-{number:07d}.example.com" for number in range(lanes)]
    before, file, all_ = memory(), JobFile(path), lanes * requests
    found = {"add": timed(lambda: add(file, names, requests)) / all_ * 1e6}
    begin = time.perf_counter()
    file.close()
    found["close"] = time.perf_counter() - begin
    found["disk"] = path.stat().st_size / 1e6
    begin = time.perf_counter()
    file = JobFile(path)
    found["open"] = time.perf_counter() - begin
    found["take, end"] = timed(lambda: take(file)) / all_ * 1e6
    found["memory"] = memory() - before
    file.close()
    return found


def measure_queuelib(path: Path) -> dict[str, float]:
    queue = FifoSQLiteQueue(path)
    found = {"add": timed(lambda: [queue.push(DATA) for _ in range(FEW)]) / FEW * 1e6}
    found["take, end"] = timed(lambda: [queue.pop() for _ in range(FEW)]) / FEW * 1e6
    queue.close()
    return found


def measure_filters(urls: int, folder: Path) -> tuple[float, float]:
    """Microseconds for a new request: ours, Scrapy's. The better of three times each."""
    ours, scrapys = [], []
    for turn in range(3):
        requests = [Request(f"http://site.example/{turn}/{number}") for number in range(urls)]
        place = folder / str(turn)
        place.mkdir()
        with JobFile(place / FILE_NAME) as file:
            ours.append(timed(lambda: see(file, requests)))  # noqa: B023 - used at once
        requests = [Request(request.url) for request in requests]
        duplicates = RFPDupeFilter(str(place))
        scrapys.append(timed(lambda: [duplicates.request_seen(each) for each in requests]))  # noqa: B023
        duplicates.close("")
    return min(ours) / urls * 1e6, min(scrapys) / urls * 1e6


def see(file: JobFile, requests: list[Request]) -> None:
    for number, request in enumerate(requests):
        file.see(fingerprint(request))
        if number % EVERY == 0:
            file.commit()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--lanes", type=int, default=1_000_000)
    parser.add_argument("--requests", type=int, default=3)
    parser.add_argument("--folder", default=None)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        print(f"{options.lanes:,} lanes, {options.requests} requests each")
        found = measure(options.lanes, options.requests, Path(folder, FILE_NAME))
        print("  " + ", ".join(f"{name} {value:,.2f}" for name, value in found.items()))
        print("  (us for an operation, s to open and to close, MB)")
        peer = measure_queuelib(Path(folder, "queuelib"))
        print("queuelib's SQLite queue, one lane")
        print("  " + ", ".join(f"{name} {value:,.2f}" for name, value in peer.items()))
        ours, scrapys = measure_filters(200_000, Path(folder))
        print(f"a new fingerprint, us: {ours:.1f}, Scrapy's duplicate filter {scrapys:.1f}")
        print(f"{len(os.listdir('/proc/self/fd'))} files open")


if __name__ == "__main__":
    main()
