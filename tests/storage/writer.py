"""A process that fills a store, in a fork: PATH REPORT STEP PUTS.

Writes to REPORT what was reported stored, once it was. Any record it writes can be told from its
origin and time.
"""

from __future__ import annotations

import os
import random
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

from scrapy_robots_plus.storage import StoreError
from scrapy_robots_plus.storage.sqlite_store import SqliteStore
from tests.programs import Program

from .records import START, rules

if TYPE_CHECKING:
    from pathlib import Path

    from scrapy_robots_plus.storage.record import RobotsRecord

ORIGINS = 150


def expected(number: int, fetched_at: float) -> RobotsRecord:
    """From a few lines to what needs many pages."""
    size = random.Random(f"{number} {fetched_at}").choice([0, 1, 3, 10, 50, 2_000])
    return rules(number, fetched_at, lines=size)


def start(path: Path, report: Path, step: int, puts: int = 100_000) -> Program:
    """Starts one. *step*: its times are START + step, + 2 more for each put."""
    return Program(f"{__name__}:main", str(path), str(report), str(step), str(puts))


def reported(report: Path) -> dict[int, float]:
    """The latest time by origin that was reported stored. A line cut off was not reported."""
    latest: dict[int, float] = {}
    if report.exists():
        for line in report.read_bytes().split(b"\n")[:-1]:
            number, _, fetched_at = line.partition(b" ")
            latest[int(number)] = float(fetched_at)
    return latest


def opened(path: str) -> SqliteStore:
    """A store that others have locked for too long, on a busy machine, is opened a little later."""
    for _ in range(100):
        with suppress(StoreError):
            return SqliteStore(path, max_records=10_000)
    return SqliteStore(path, max_records=10_000)


def main() -> None:
    path, report, step, puts = sys.argv[1:]
    chance = random.Random(step)
    out = os.open(report, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    with opened(path) as store:
        for count in range(int(puts)):
            number = chance.randrange(ORIGINS)
            fetched_at = START + int(step) + 2 * count
            with suppress(StoreError):  # locked for too long by the other, on a busy machine
                store.put(expected(number, fetched_at))
                os.write(out, b"%d %d\n" % (number, fetched_at))
