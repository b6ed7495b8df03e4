"""A job that is killed at any moment loses nothing: each request is sent at least once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from .killed_crawl import SCRAPYS, UNDER_SCRAPYS, Outcome, kill_and_resume

if TYPE_CHECKING:
    from pathlib import Path

    from tests.sites import Sites


def check(outcome: Outcome) -> None:
    assert outcome.status == 0, outcome.log
    assert outcome.missing == outcome.items_missing == 0, f"{outcome}\n{outcome.log}"
    assert outcome.kills > 0
    assert "Traceback" not in outcome.log


def test_killed_five_times_in_a_row_nothing_is_missing(sites: Sites, tmp_path: Path) -> None:
    check(kill_and_resume(sites, tmp_path / "job", 5, hosts=10))


@pytest.mark.stress
@pytest.mark.parametrize("settings", [{}, UNDER_SCRAPYS], ids=["ours", "under Scrapy's"])
def test_killed_at_200_moments_nothing_is_missing(
    sites: Sites, tmp_path: Path, settings: dict[str, Any]
) -> None:
    ours = theirs = Outcome()
    seed = 0
    while ours.kills < 200:
        seed += 1
        kills = 1 + seed % 8
        ours += kill_and_resume(sites, tmp_path / f"{seed}", kills, seed, settings=settings)
        check(ours)
        if seed % 4 == 0:
            theirs += kill_and_resume(
                sites, tmp_path / f"{seed}-scrapys", kills, seed, settings=SCRAPYS
            )
    print(f"\nours: {ours}\nScrapy's: {theirs}")
    assert theirs.missing > 0
