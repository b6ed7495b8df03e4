"""``scrapy robots report`` of a very long log: constant memory, a page that can be mailed."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

import pytest

from scrapy_robots_plus.audit.chain import START, seal
from scrapy_robots_plus.audit.entries import to_fields

from ..audit.pages import Page
from ..audit.sample_log import allowed, begin, denied, end, read
from ..peak_memory import GROWING
from ..programs import Program

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from scrapy_robots_plus.audit.entries import Entry

pytestmark = pytest.mark.stress

MOST_HOSTS = 20_000
MEGABYTE = 1_000_000


def entries() -> Iterator[Entry]:
    """Without an end: more hosts, rules, delays, failures and overrides than are followed."""
    yield begin()
    number = 0
    while True:
        number += 1
        origin = f"https://{'long' * 12}-{number % MOST_HOSTS}.example"
        if number % 50 == 0:
            failure = f"{number % 600}"
            access = {"access": "unreachable", "sha256": None, "detail": "d" * 200}
            yield read(origin, number, status=failure, failure=failure, **access)
        elif number % 51 == 0:
            yield read(origin, number, changed=True, previous=f"{number:064x}")
        elif number % 3 == 0:
            override = {"obey": True, "reason": f"reason {number % 5_000}"} if number % 2 else None
            rule = f"Disallow: /{'<&>' * 50}{number}"
            yield denied(origin, f"/{'<' * 200}{number}", number, rule=rule, override=override)
        else:
            slow = f"https://slow-{number % 300}.example"
            yield allowed(slow, f"/{number}", number, delay=float(number % 300 + 1))


def report_of(lines: int, target: Path) -> tuple[int, str]:
    """By how many octets its memory grows at most, and the page."""
    program = Program(GROWING, "robots", "report", "/dev/stdin", "-o", str(target))
    last = START
    for entry in _with_end(lines):
        line, last = seal(to_fields(entry), last)
        program.stdin.write(line)
    output, errors = program.communicate()
    assert program.wait() == 0, errors.decode()
    return int(output.split()[-1]), target.read_text()


def _with_end(lines: int) -> Iterator[Entry]:
    yield from islice(entries(), lines - 1)
    yield end(at=lines)


def test_memory_and_page_do_not_grow_with_the_log(tmp_path: Path) -> None:
    short, _ = report_of(100_000, tmp_path / "short.html")
    long, page = report_of(1_000_000, tmp_path / "long.html")
    assert long < short + 10 * MEGABYTE
    assert long < 45 * MEGABYTE
    assert len(page) < MEGABYTE
    assert "1,000,000 lines" in Page(page).text
