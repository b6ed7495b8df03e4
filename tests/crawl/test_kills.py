"""A job that is killed at any moment loses nothing: each request is sent at least once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.sites import answer

from .killed_crawl import SCRAPYS, LongWay, Outcome, kill_and_resume

if TYPE_CHECKING:
    import asyncio
    from pathlib import Path

    from tests.sites import Hit, Sites


def check(outcome: Outcome) -> None:
    assert outcome.status == 0, outcome.log
    assert outcome.missing == outcome.items_missing == 0, f"{outcome}\n{outcome.log}"
    assert outcome.kills > 0
    assert "Traceback" not in outcome.log


def test_killed_three_times_in_a_row_nothing_is_missing(sites: Sites, tmp_path: Path) -> None:
    kinds = ("first second", "resuming", "closing")
    check(kill_and_resume(sites, tmp_path / "job", 3, hosts=2, kinds=kinds))


@pytest.mark.stress
def test_killed_at_200_moments_nothing_is_missing(sites: Sites, tmp_path: Path) -> None:
    ours = theirs = Outcome()
    seed = 0
    while ours.kills < 200:
        seed += 1
        kills = 1 + seed % 8
        ours += kill_and_resume(sites, tmp_path / f"{seed}", kills, seed)
        check(ours)
        if seed % 4 == 0:
            theirs += kill_and_resume(
                sites, tmp_path / f"{seed}-scrapys", kills, seed, settings=SCRAPYS
            )
    print(f"\nours: {ours}\nScrapy's: {theirs}")
    assert theirs.missing > 0


AT_ONCE = 16
DEFER: dict[str, Any] = {
    "ROBOTS_DEFER": 3600,
    "ROBOTS_TTL": (1, 1),
    "ROBOTS_STALE_MAX": 0,
    "ROBOTS_RETRY_INTERVAL": (0.1, 3600),
    "ROBOTS_FETCH_RETRIES": 0,
    "CONCURRENT_REQUESTS": AT_ONCE,
    "DOWNLOADER_MIDDLEWARES": {f"{LongWay.__module__}.{LongWay.__name__}": 50},
}


class EverySecondTime:
    """A robots.txt that can be read every second time."""

    def __init__(self) -> None:
        self._hits = 0

    async def __call__(self, hit: Hit, writer: asyncio.StreamWriter) -> None:
        self._hits += 1
        await (answer("", 503) if self._hits % 2 == 0 else answer("User-agent: *"))(hit, writer)


@pytest.mark.parametrize(
    "kills", [2, *(pytest.param(kills, marks=pytest.mark.stress) for kills in (0, 40))]
)
def test_killed_while_requests_are_put_back_nothing_is_missing(
    sites: Sites, tmp_path: Path, kills: int
) -> None:
    outcome = kill_and_resume(
        sites,
        tmp_path / "job",
        kills,
        hosts=max(1, kills // 4),
        settings=DEFER,
        robots=EverySecondTime(),
        kinds=["putting back"],
    )
    assert kills or "'robotstxt/put_back'" in outcome.log  # of the last run
    assert outcome.status == 0, outcome.log
    assert outcome.missing == outcome.items_missing == 0, f"{outcome}\n{outcome.log}"
    assert bool(outcome.kills) == bool(kills)
    # Those that were under way, and what was dealt with in a fifth of a second.
    assert outcome.twice <= 2 * AT_ONCE * outcome.kills
