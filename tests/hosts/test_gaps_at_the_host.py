"""What a host sees of crawls that share its pace, by the book and by what answers tell.

The rules before the book, which gave turns to crawls in an order of waiting, were run in the same
situations with the same seeds. What came of that is recorded here.
"""

from __future__ import annotations

import heapq
import itertools
from functools import cache
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from scrapy import Request

from scrapy_robots_plus.hosts.book import Entry
from scrapy_robots_plus.hosts.departures import Departures

if TYPE_CHECKING:
    from collections.abc import Callable

DELAY = 0.5
SEEDS = range(1, 6)
FEW = 2
ONE_BY_ONE = [pytest.param(seed, marks=[pytest.mark.stress] * (seed > FEW)) for seed in SEEDS]
PAGES = 200


def fast(_: Random, __: int) -> float:
    return 0.003


def jitter(random: Random, _: int) -> float:
    return random.random() * 0.03


def one_often_late(random: Random, crawl: int) -> float:
    return 0.9 if crawl == 0 and random.random() < 1 / 3 else 0.003


def one_always_slow(_: Random, crawl: int) -> float:
    return 0.4 if crawl == 0 else 0.003


def one_always_a_little_slow(_: Random, crawl: int) -> float:
    return 0.15 if crawl == 0 else 0.003


def all_sometimes_late(random: Random, _: int) -> float:
    return random.random() * 3 if random.random() < 0.1 else 0.003


class Crawl:
    """Keeps its own delay as :class:`.Pace` does, and asks the book as the door does."""

    def __init__(self, number: int, run: Run) -> None:
        self.who = str(number)
        self.departures = Departures()
        self.pages = PAGES
        self._number = number
        self._run = run
        self._moment: float | None = None
        self._version = 0

    def look_at(self, at: float) -> None:
        self._version += 1
        self._run.at(at, self._look, self._version)

    def _look(self, now: float, version: int) -> None:
        if version != self._version or not self.pages:
            return
        due = self.departures.latest(DELAY) + DELAY
        if due > now + 1e-9:
            self.look_at(due)
            return
        patience = self.departures.patience(DELAY)
        wait, self._moment = self._run.entry.ask(now, self.who, DELAY, patience, self._moment)
        if wait:
            self.look_at(now + wait)
            return
        self.pages -= 1
        request = Request("http://a.example/")
        self.departures.handed_over(request, now)
        arrives = now + self._run.connect(self._run.random, self._number)
        self._run.at(arrives, self._run.arrived, self.who)
        self._run.at(arrives + self._run.answering, self._answered, request)
        self.look_at(now + 0.001)

    def _answered(self, now: float, request: Request) -> None:
        self.departures.answered(request, now)
        self._run.entry.left(now, self.who, now - self.departures.others_count_from(DELAY), DELAY)
        self.look_at(now)


class Run:
    def __init__(
        self, connect: Callable[[Random, int], float], seed: int, answering: float, crawls: int = 4
    ) -> None:
        self.connect = connect
        self.random = Random(seed)
        self.answering = answering
        self.entry = Entry()
        self.seen: list[tuple[float, str]] = []
        self._numbers = itertools.count()
        self._events: list[tuple[float, int, Callable[..., None], tuple[Any, ...]]] = []
        for number in range(crawls):
            Crawl(number, self).look_at(self.random.random() * 0.1)
        while self._events:
            now, _, happen, arguments = heapq.heappop(self._events)
            happen(now, *arguments)
        ordered = sorted(at for at, _ in self.seen)
        self.gaps = [later - at for at, later in itertools.pairwise(ordered)]

    def at(self, moment: float, happen: Callable[..., None], *arguments: Any) -> None:
        heapq.heappush(self._events, (moment, next(self._numbers), happen, arguments))

    def arrived(self, now: float, who: str) -> None:
        self.seen.append((now, who))


@cache
def gaps_of(connect: Callable[[Random, int], float], seed: int) -> list[float]:
    return Run(connect, seed, 0.05).gaps


@pytest.mark.parametrize(
    "seeds", [SEEDS[:FEW], pytest.param(SEEDS, marks=pytest.mark.stress)], ids=["few", "all"]
)
@pytest.mark.parametrize(
    ("connect", "short_before"),
    [
        (fast, 0),
        (jitter, 0),
        (one_often_late, 2),
        (one_always_slow, 989),
        (one_always_a_little_slow, 989),
        (all_sometimes_late, 229),
    ],
)
def test_no_more_gaps_are_too_short_than_with_turns(
    connect: Callable[[Random, int], float], short_before: int, seeds: range
) -> None:
    gaps = [gap for seed in seeds for gap in gaps_of(connect, seed)]
    assert sum(gap < 0.98 * DELAY for gap in gaps) <= short_before * len(seeds) / len(SEEDS)


@pytest.mark.parametrize("connect", [one_always_slow, one_always_a_little_slow])
@pytest.mark.parametrize("seed", ONE_BY_ONE)
def test_a_crawl_whose_connection_is_always_slow_makes_no_gap_too_short(
    connect: Callable[[Random, int], float], seed: int
) -> None:
    assert min(gaps_of(connect, seed)) >= DELAY


@pytest.mark.parametrize("connect", [fast, jitter, one_always_slow, all_sometimes_late])
def test_all_have_as_many_turns(connect: Callable[[Random, int], float]) -> None:
    run = Run(connect, 1, 0.005)
    first = [who for _, who in sorted(run.seen)[: 2 * PAGES]]
    for crawl in set(first):
        assert first.count(crawl) == pytest.approx(PAGES / 2, abs=2)


@pytest.mark.parametrize("seed", ONE_BY_ONE)
def test_fast_ones_lose_little_time(seed: int) -> None:
    run = Run(fast, seed, 0.005)
    assert sum(run.gaps) / len(run.gaps) < 1.02 * DELAY


def test_a_crawl_alone_loses_none() -> None:
    """It goes by its own estimate, which counts half of the time of an answer."""
    run = Run(fast, 1, 0.3, crawls=1)
    assert sum(run.gaps[2:]) / len(run.gaps[2:]) == pytest.approx(DELAY + 0.303 / 2, rel=0.001)
