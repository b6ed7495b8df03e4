"""What a store on a Redis server costs: part of ``benchmarks.store``."""

from __future__ import annotations

import random
import time
from array import array
from statistics import median
from typing import TYPE_CHECKING, Any

from scrapy_robots_plus.protocol.origin import Origin
from scrapy_robots_plus.storage import open_store
from tests.redis_server import RedisServer

from .store_records import START, host, record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from scrapy_robots_plus.storage.record import RobotsRecord

GETS = 20_000

HEAD = (
    ("records", "{rows:,}"),
    ("put p50", "{put:.0f} us"),
    ("get p50", "{get:.0f} us"),
    ("miss p50", "{miss:.0f} us"),
    ("memory of the server", "{memory:,.0f} MiB"),
    ("a record", "{record:,.0f} B"),
)


def measure(rows: int) -> dict[str, Any]:
    """A server with that many records, on this machine, through TCP."""
    chance = random.Random(rows)
    gets = min(rows, GETS)
    origins = [Origin("https", host(chance.randrange(rows)), 443) for _ in range(gets)]
    unknown = [Origin("https", host(rows * 2 + number), 443) for number in range(gets)]
    with RedisServer() as server, open_store(server.url, rows) as store:
        before = _memory(server)
        timings = {
            "put": _timed((_of_now(number) for number in range(rows)), rows, store.put),
            "get": _timed(origins, gets, store.get),
            "miss": _timed(unknown, gets, store.get),
        }
        used = _memory(server) - before
        assert len(store) == rows
    values = {"rows": rows, "memory": used / 2**20, "record": used / rows}
    return {**values, **{name: median(taken) * 1e6 for name, taken in timings.items()}}


def _of_now(number: int) -> RobotsRecord:
    """One that the server does not remove during the measurement."""
    made, ago = record(number), time.time() - START
    fetched_at, failed_at = (each and each + ago for each in (made.fetched_at, made.failed_at))
    return made._replace(fetched_at=fetched_at, failed_at=failed_at)


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
