"""What a store costs: ``python -m benchmarks.store [--rows 10000,100000,1000000]``.

SQLite with that many records: put and get, the file, and what the process grows by. Then a Redis
server on this machine with the same records;
and the memory that each host takes in front of a store, beside Scrapy's own. Each line is a process
of its own; all that a store does is timed, encoding and its checks included.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from array import array
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy_robots_plus.protocol.origin import Origin
from scrapy_robots_plus.storage import Store, open_store

from .store_records import host, record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

MIB = 2**20
GETS = 100_000
HOSTS = 2_000

HEAD = (
    ("records", "{rows:,}"),
    ("put p50", "{put[0]:.0f} us"),
    ("put p99", "{put[1]:,.0f} us"),
    ("put max", "{put[2]:.0f} ms"),
    ("full put p50", "{full[0]:.0f} us"),
    ("full put p99", "{full[1]:,.0f} us"),
    ("get p50", "{get[0]:.0f} us"),
    ("get p99", "{get[1]:.0f} us"),
    ("miss p50", "{miss[0]:.0f} us"),
    ("open", "{open:.1f} ms"),
    ("purge of 10,000", "{purge:.0f} ms"),
    ("file", "{file:,.0f} MiB"),
    ("a record", "{record:,.0f} B"),
    ("process grows by", "{grown:.1f} MiB"),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", default="10000,100000,1000000")
    parser.add_argument("--folder", help="where the files are made; a temporary one by default")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(_one(options.one, options.folder)))
        return
    print(_line(name for name, _ in HEAD))
    print(_line("---" for _ in HEAD))
    for rows in options.rows.split(","):
        values = _in_a_process(rows, options.folder)
        print(_line(form.format(**values) for _, form in HEAD), flush=True)
    _redis(options.rows.split(","))
    held = _in_a_process("memory", options.folder)
    print()
    print(_line(["in memory, a host", "bytes", "of Scrapy's own"]))
    print(_line(["---"] * 3))
    own = next(iter(held.values()))
    for name, size in held.items():
        print(_line([name, f"{size:,.0f}", "1" if size == own else f"1/{own / size:.1f}"]))


def _redis(sizes: list[str]) -> None:
    from .store_redis import HEAD

    print()
    print(_line(name for name, _ in HEAD))
    print(_line("---" for _ in HEAD))
    for rows in sizes:
        values = _in_a_process(f"redis:{rows}", None)
        print(_line(form.format(**values) for _, form in HEAD), flush=True)


def _in_a_process(what: str, folder: str | None) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.store", "--one", what]
    if folder:
        command += ["--folder", folder]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE)
    values: dict[str, float] = json.loads(done.stdout)
    return values


def _one(what: str, folder: str | None) -> object:
    if what == "memory":
        from .store_memory import measure  # Scrapy would count as growth elsewhere

        return dict(measure(HOSTS))
    if what.startswith("redis:"):
        from . import store_redis

        return store_redis.measure(int(what.partition(":")[2]))
    with tempfile.TemporaryDirectory(dir=folder) as made:
        return _sqlite(int(what), Path(made) / "robots.db")


def _sqlite(rows: int, path: Path) -> dict[str, object]:
    gets = min(rows, GETS)
    timings = {
        name: array("d", bytes(8 * count))
        for name, count in {"put": rows, "full": 1_000, "get": gets, "miss": gets}.items()
    }
    chance = random.Random(rows)
    origins = [Origin("https", host(chance.randrange(rows)), 443) for _ in range(gets)]
    unknown = [Origin("https", host(rows * 2 + number), 443) for number in range(gets)]
    with open_store(f"sqlite:{path}.warm", rows) as store:
        store.put(record(1))
    gc.collect()
    before = _resident()

    values: dict[str, object] = {"rows": rows}
    store = _timed_open(path, rows)[0]
    _time(timings["put"], (record(number) for number in range(rows)), store.put)
    store.close()
    values["file"] = path.stat().st_size / MIB
    values["record"] = path.stat().st_size / rows
    store, values["open"] = _timed_open(path, rows)
    _time(timings["get"], origins, store.get)
    _time(timings["miss"], unknown, store.get)
    _time(timings["full"], (record(rows + number) for number in range(1_000)), store.put)
    values["grown"] = (_resident() - before) / MIB
    values["purge"] = _timed_purge(store)
    store.close()
    return {**values, **{name: _summary(taken) for name, taken in timings.items()}}


def _time(taken: array[float], items: Iterable[Any], action: Callable[..., object]) -> None:
    clock = time.perf_counter
    for number, item in enumerate(items):
        begun = clock()
        action(item)
        taken[number] = clock() - begun


def _timed_open(path: Path, rows: int) -> tuple[Store, float]:
    begun = time.perf_counter()
    store = open_store(f"sqlite:{path}", rows)
    return store, (time.perf_counter() - begun) * 1e3


def _timed_purge(store: Store) -> float:
    begun = time.perf_counter()
    store.purge(float("inf"), limit=10_000)
    return (time.perf_counter() - begun) * 1e3


def _summary(taken: array[float]) -> tuple[float, float, float]:
    ordered = sorted(taken)
    return (
        ordered[len(ordered) // 2] * 1e6,
        ordered[len(ordered) * 99 // 100] * 1e6,
        ordered[-1] * 1e3,
    )


def _resident() -> int:
    """Memory of this process, in bytes; 0 where the system does not tell (not Linux)."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


def _line(cells: object) -> str:
    return f"| {' | '.join(cells)} |"  # type: ignore[arg-type]


if __name__ == "__main__":
    main()
