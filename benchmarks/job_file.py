"""The file of a job alone: many lanes, beside one queue of queuelib that holds the same requests.

usage: python -m benchmarks.job_file [--lanes 1000000] [--requests 3] [--folder /tmp] [--written]

With --written, only what goes to the disk for each request, until it is dealt with: in a slow crawl
(a commit with each request), and in faster ones of more hosts. Scrapy's queues are LIFO files, one
for each host, with its duplicate filter. Octets are those that the system counts as sent to the
disk (Linux; 0 in a file system in memory).

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
from collections import OrderedDict
from pathlib import Path
from typing import TYPE_CHECKING

from queuelib.queue import FifoSQLiteQueue, LifoDiskQueue
from scrapy import Request
from scrapy.dupefilters import RFPDupeFilter
from scrapy.utils.request import fingerprint

from scrapy_robots_plus.job import FILE_NAME, JobFile

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
    while lanes := file.wake(EVERY):
        for lane in lanes:
            while taken := file.take(lane, 0, newest=True):
                file.end(taken.id)
                taken_so_far += 1
                if taken_so_far % EVERY == 0:
                    file.commit()
            file.sleep(lane)
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


def fill(queue: FifoSQLiteQueue) -> None:
    for _ in range(FEW):
        queue.push(DATA)


def measure_queuelib(path: Path) -> dict[str, float]:
    queue = FifoSQLiteQueue(path)
    found = {"add": timed(lambda: fill(queue)) / FEW * 1e6}
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


def written() -> int:
    """Octets that this process has sent to the disk."""
    fields = Path("/proc/self/io").read_text().splitlines()
    return int(next(line for line in fields if line.startswith("write_bytes")).split()[1])


def writes_of_job(hosts: int, requests: int, at_once: int, path: Path) -> float:
    """Octets for each of *requests*, from one host to another, a commit after *at_once* of them."""
    chance, names = random.Random(3), [f"host-{number:07d}.example" for number in range(hosts)]
    begin, file = written(), JobFile(path)
    for number in range(hosts):
        add_new(file, names[number], chance)
        if number % 500 == 0:
            file.commit()
    done, added, awake, under_way = 0, hosts, list[str](), list[int]()
    while done < requests:
        awake = awake or list(file.wake(500))
        name = awake.pop() if awake else ""
        taken = file.take(name, 0, newest=True) if name else None
        if taken is not None:
            file.sleep(name)
            under_way.append(taken.id)
        if taken is None or len(under_way) > 16:
            file.end(under_way.pop(0))
            done += 1
            if added < requests:
                added += 1
                add_new(file, chance.choice(names), chance)
            if done % at_once == 0:
                file.commit()
    file.close()
    return (written() - begin) / requests


def add_new(file: JobFile, name: str, chance: random.Random) -> None:
    file.see(chance.randbytes(20))
    file.add(name, 0, chance.randbytes(len(DATA)))


def writes_of_scrapys(hosts: int, requests: int, folder: Path) -> float:
    """The same with a queue for each host, of which 500 have their files open."""
    chance, begin = random.Random(3), written()
    folder.mkdir()
    filter_ = RFPDupeFilter(str(folder))
    queues = OrderedDict[int, LifoDiskQueue]()

    def queue_of(host: int) -> LifoDiskQueue:
        known = queues.pop(host) if host in queues else None
        queues[host] = known or LifoDiskQueue(str(folder / str(host)))
        if len(queues) > 500:
            queues.popitem(last=False)[1].close()
        return queues[host]

    def add_one(number: int, host: int) -> None:
        filter_.request_seen(Request(f"http://site.example/{number}"))
        queue_of(host).push(DATA)

    for host in range(hosts):
        add_one(host, host)
    for number in range(requests):
        while queue_of(host := chance.randrange(hosts)).pop() is None:
            pass
        add_one(hosts + number, host)
    for queue in queues.values():
        queue.close()
    filter_.close("")
    return (written() - begin) / (hosts + requests)


def print_writes(folder: Path) -> None:
    print(f"{'octets written for a request':<42}{'job':>8}{'Scrapy':>8}")
    cases = [(100, 2_000, 1), (100, 2_000, 5), (10_000, 40_000, 20), (100_000, 300_000, 200)]
    for number, (hosts, requests, at_once) in enumerate(cases):
        job = writes_of_job(hosts, requests, at_once, folder / f"{number}.sqlite")
        scrapys = writes_of_scrapys(hosts, requests - hosts, folder / f"{number}")
        name = f"{hosts:,} hosts, a commit for {at_once} requests"
        print(f"{name:<42}{job:>8,.0f}{scrapys:>8,.0f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--lanes", type=int, default=1_000_000)
    parser.add_argument("--requests", type=int, default=3)
    parser.add_argument("--folder", default=None)
    parser.add_argument("--written", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        if options.written:
            print_writes(Path(folder))
            return
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
