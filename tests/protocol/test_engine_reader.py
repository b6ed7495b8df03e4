"""The engine reads files as a slow retelling of the reference parser does, however odd they are."""

from __future__ import annotations

import random

import pytest

from scrapy_robots_plus.protocol import GOOGLE, RobotsTxt
from tests.protocol.slow_reader import allowed as slowly_allowed

KEYS = [
    *(b"User-agent", b"user-agent", b"useragent", b"User agent", b"USER-AGENTS", b"user"),
    *(b"Disallow", b"disallow", b"Disallow", b"dissallow", b"disallaw", b"disallowed", b"dis"),
    *(
        b"Allow",
        b"allow",
        b"ALLOWED",
        b"al",
        b"Sitemap",
        b"Crawl-delay",
        b"Noindex",
        b"",
        b"<p>Allow",
    ),
]
VALUES = [
    *(b"*", b"* all", b"*x", b"bot", b"BOT/1.0", b"bot x", b"other", b"1", b"", b"bot\xe9", b"-_"),
    *(b"/", b"/a", b"/a/b", b"/*b", b"/a$", b"*", b"$", b"*$", b"/a/index.html", b"/a/index.htm?x"),
    *(b"/%61", b"/%c3%a9", b"/\xc3\xa9", b"/a b", b"/a:b", b"a", b"/a//index.htm", b"/%", b"/**a*"),
]
GAPS = [b":", b": ", b" : ", b":\t", b" ", b"  ", b"\t", b" \t ", b"", b"\v", b"::", b" \v "]
ENDS = [
    b"\n",
    b"\n",
    b"\r\n",
    b"\r",
    b"\n\n",
    b"\r\r\n",
    b"\n\r",
    b" # x\n",
    b"#\r",
    b"\0x\n",
    b"\f\n",
]
STARTS = [b"", b"", b"", b" ", b"\t", b"\v", b"\xef\xbb\xbf", b"\xef", b"\0"]
PATHS = [
    *(b"/", b"/a", b"/a/", b"/a/b", b"/ab", b"/b", b"/%61", b"/%C3%A9", b"/a%20b", b"/a:b", b"/x"),
    *(b"/a/index.html", b"/a//", b"/*b", b"/a$", b"/index.htm"),
]


def odd_file(random_: random.Random) -> bytes:
    parts = [random_.choice([b"", b"", b"\xef\xbb\xbf", b"\xef\xbb", b"\xef", b"\xfe"])]
    for _ in range(random_.randrange(1, 14)):
        pick = random_.choice
        parts += [pick(STARTS), pick(KEYS), pick(GAPS), pick(VALUES), pick([b"", b" "]), pick(ENDS)]
    if random_.random() < 0.2:
        parts[-1:] = []
    return b"".join(parts)


def compare(seeds: range) -> None:
    for seed in seeds:
        random_ = random.Random(seed)
        body = odd_file(random_)
        file = RobotsTxt.parse(body, GOOGLE)
        for agent in (b"bot", b"stranger", b"-_"):
            for path in PATHS:
                want = slowly_allowed(body, agent, path)
                assert file.allowed(path, agent) is want, (seed, body, agent, path)


def test_odd_files() -> None:
    compare(range(60))


@pytest.mark.stress
def test_many_odd_files() -> None:
    compare(range(1000, 20_000))


@pytest.mark.parametrize(
    "over", [0, 1, *(pytest.param(each, marks=pytest.mark.stress) for each in (-1, 5))]
)
def test_lines_at_the_limit(over: int) -> None:
    line = b"Disallow: /" + b"a" * (2083 * 8 - 1 - 12 + over) + b"bc"
    body = b"User-agent: bot\n" + line + b"\nAllow: /a" + b"a" * 20_000
    file = RobotsTxt.parse(body, GOOGLE)
    for path in (line[10:], line[10:-1], line[10:-2], b"/a"):
        assert file.allowed(path, "bot") is slowly_allowed(body, b"bot", path)
