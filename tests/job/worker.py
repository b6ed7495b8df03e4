"""A process that works on a job, in a fork: PATH LOG [LIMIT [STEPS]].

Each request is a number. Handling one adds those it links to, which is known from the number. What
was handled goes to LOG before it is ended, so a number that was handled and not ended comes again.
With LIMIT, no file may grow beyond so many octets: a full disk. After STEPS, all goes to the file,
and as soon as SQLite's memory, which is small then, is full.
"""

from __future__ import annotations

import os
import resource
import signal
import sys
from pathlib import Path

from scrapy_robots_plus.job import JobFile, JobFileError, recent_steps, schema
from tests.programs import Program

LAST = 3_000
"""The tree of numbers: each links to the two that are twice as large."""


def start(path: Path, log: Path, *more: str) -> Program:
    return Program(f"{__name__}:main", str(path), str(log), *more)


def handled(log: Path) -> list[str]:
    return log.read_text().split("\n") if log.exists() else []


def links_of(number: int) -> list[int]:
    return [each for each in (2 * number, 2 * number + 1, number) if each <= LAST]


def data_of(number: int) -> bytes:
    return b"%d " % number + b"x" * (number * 37 % 900)


def add(file: JobFile, number: int) -> None:
    if file.see(b"%020d" % number):
        file.add(f"host-{number % 50}.example", -2 * (number % 3), data_of(number))


def handle_next(file: JobFile, out: int) -> bool:
    for lane in file.wake(1):
        taken = file.take(lane, min(file.contents(lane)), newest=True)
        assert taken is not None
        number = int(taken.data.split()[0])
        assert taken.data == data_of(number)
        for link in links_of(number):
            add(file, link)
        os.write(out, b"%d\n" % number)
        file.end(taken.id)
        file.sleep(lane)
        return True
    return file.recall()


def main() -> None:
    path, log, limit, steps = [*sys.argv[1:], "", ""][:4]
    if steps:
        recent_steps.MOST_STEPS, schema.CACHE_KIB = int(steps), 200
    out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    if limit:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(limit), int(limit)))
    try:
        with JobFile(path) as file:
            add(file, 1)
            count = 0
            while handle_next(file, out):
                count += 1
                if count % 20 == 0:
                    file.commit()
            file.commit()
            os.write(out, b"done\n")
    except JobFileError as error:
        print(error)
        sys.exit(3)
