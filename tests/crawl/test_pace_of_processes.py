"""Crawls in several processes keep one pace, in a SQLite file or on a Redis server."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from scrapy_robots_plus.crawl import stats
from tests.redis_server import RedisServer

from .pace_process import ended, gaps, start

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.sites import Host, Sites

DELAY = 0.3
KEEPERS = ["file", "server"]


@contextmanager
def kept_in(keeper: str, folder: Path) -> Iterator[str]:
    """The value of ``ROBOTS_SHARED_PACE``."""
    if keeper == "file":
        yield f"sqlite:{folder / 'pace.db'}"
    else:
        with RedisServer() as server:
            yield server.url


def paced(sites: Sites, delay: float = DELAY) -> Host:
    return sites.host(f"User-agent: *\nCrawl-delay: {delay}\n")


def pages(host: Host, crawl: int, number: int) -> list[str]:
    return [host.url(f"/{crawl}/{page}") for page in range(number)]


@pytest.mark.parametrize("keeper", KEEPERS)
def test_four_processes_keep_one_pace(sites: Sites, tmp_path: Path, keeper: str) -> None:
    host, each = paced(sites), 3
    with kept_in(keeper, tmp_path) as value:
        forks = [
            start(tmp_path, *pages(host, number, each), ROBOTS_SHARED_PACE=value)
            for number in range(4)
        ]
        sent, ends = ended(forks)
    assert len(ends) == 4, (tmp_path / "log").read_text()
    found = gaps(sent, host)
    assert len(found) == 4 * each - 1
    assert min(found) >= DELAY - 0.01
    assert sum(found) < len(found) * DELAY * 1.3
    assert not any(stats.SHARED_PACE_ERRORS in each for each in ends)
