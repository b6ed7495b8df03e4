"""What a store on a Redis server costs: part of ``benchmarks.store``."""

from __future__ import annotations

import random
import time
from array import array
from statistics import median
from typing import TYPE_CHECKING, Any

from scrapy_robots_plus.policy.origin import Origin
from scrapy_robots_plus.storage import open_store
from tests.redis_server import RedisServer

from .store_records import START, host, record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

GETS = 20_000

HEAD = (
    ("records", "{rows:,}"),
    ("put p50", "{put:.0f} us"),
    ("get p50", "{get:.0f} us"),
    ("miss p50", "{miss:.0f} us"),
    ("scan of all", "{scan:.1f} s"),
    ("memory of the server", "{memory:,.0f} MiB"),
    ("a record", "{record:,.0f} B"),
)


def measure(rows: int) -> dict[str, Any]:
    """A server with that many records, on this machine, through TCP."""
    chance = random.Random(rows)
    gets = min(rows, GETS)
    origins = [Origin("https", host(chance.randrange(rows)), 443) for _ in range(gets)]
    unknown = [Origin("https", host(rows * 2 + number), 443) for number in range(gets)]
    use = time.time() - START + 86_400  # the records are old
    with RedisServer() as server, open_store(server.url, rows, seconds_of_use=use) as store:
        before = _memory(server)
        timings = {
            "put": _timed((record(number) for number in range(rows)), rows, store.put),
            "get": _timed(origins, gets, store.get),
            "miss": _timed(unknown, gets, store.get),
        }
        used = _memory(server) - before
        begun = time.perf_counter()
        assert sum(1 for _ in store.scan()) == rows
        scan = time.perf_counter() - begun
    values = {"rows": rows, "scan": scan, "memory": used / 2**20, "record": used / rows}
    return {**values, **{name: median(taken) * 1e6 for name, taken in timings.items()}}


def _memory(server: RedisServer) -> int:
    with server.client() as client:
        used: int = client.info("memory")["used_memory"]
    return used


def _timed(items: Iterable[Any], count: int, action: Callable[[Any], object]) -> array[float]:
    taken, clock = array("d", bytes(8 * count)), time.perf_counter
    for number, item in enumerate(items):
        begun = clock()
        action(item)
        taken[number] = clock() - begun
    return taken
