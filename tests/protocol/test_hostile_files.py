"""Files made to hurt. The limits are far over what is measured: they catch growth, not slowness.

Measured times are printed by ``benchmarks/engine.py``.
"""

from __future__ import annotations

import time

import pytest

from scrapy_robots_plus.protocol import RobotsTxt

SIZE = 512_000
URL = "/" + "a" * 1999


def full(line: str, head: str = "User-agent: *\n") -> str:
    """A file of 500 KiB of this line, in which {} is a number."""
    lines, size, number = [head], len(head), 0
    while size < SIZE:
        lines.append(line.replace("{}", str(number)) + "\n")
        size += len(lines[-1])
        number += 1
    return "".join(lines[:-1])


AGENTS = full("User-agent: bot{}", "")[: SIZE // 2].rpartition("\n")[0] + "\nUser-agent: *\n"

HOSTILE = {
    "agents x rules": full("Disallow: /{}", AGENTS),
    "a group per agent": full("User-agent: bot{}\nDisallow: /{}", ""),
    "literals": full("Disallow: /{}"),
    "stars": full("Disallow: /*{}*a*a*a*b"),
    "many stars": full("Disallow: /" + "*a" * 200 + "*b{}"),
    "very many stars": full("Disallow: /" + "*a*b" * 2000 + "{}"),
    "ends": full("Disallow: /*{}$"),
    "nearly": full("Disallow: /*" + "a" * 100 + "b{}"),
    "escapes": full("Disallow: /%61%2f%7e*{}%"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_costs_no_more_than_a_long_one(name):
    started = time.perf_counter()
    file = RobotsTxt.parse(HOSTILE[name])
    parsed = time.perf_counter()
    assert file.allowed(URL, "bot")
    asked = time.perf_counter()
    for _ in range(10):
        file.allowed(URL, "bot")
    decided = time.perf_counter()
    assert parsed - started < 5
    assert asked - parsed < 1
    assert (decided - asked) / 10 < 0.1


def test_a_rule_of_thousands_of_wildcards_overflows_nothing():
    stars = "*a*b" * 4000
    file = RobotsTxt.parse(
        "User-agent: *\n" + "".join(f"Disallow: /{stars[:size]}\n" for size in range(1, 16_000, 97))
    )
    assert not file.allowed("/" + "ab" * 1000, "bot")
    assert not file.allowed("/a", "bot")
    assert file.explain("/" + "ab" * 100, "bot").beaten
