"""The delay that a host sees, whatever lies between handing over and arrival. Nothing waits."""

from __future__ import annotations

import itertools
import random
from heapq import heappop, heappush
from typing import NamedTuple

import pytest
from scrapy import Request

from scrapy_robots_plus.hosts.departures import Departures


class Trip(NamedTuple):
    connecting: float
    """Seconds from the handing over of a request to its arrival."""
    answering: float
    """Seconds from there to the answer."""
    fails: bool = False


class Crawl:
    """Requests of one slot, each sent as soon as it may, in a time of our own."""

    def __init__(self, delay: float, trips: list[Trip]) -> None:
        self._delay = delay
        self._departures = Departures()
        self._ends: list[tuple[float, int, Request, bool]] = []
        self.handed_over: list[float] = []
        self.arrivals: list[float] = []
        for trip in trips:
            self._send(trip, max(0.0, self._due()))

    def _due(self) -> float:
        """When the next one may go, after all the answers that come sooner."""
        while True:
            due = self._departures.latest(self._delay) + self._delay
            if not self._ends or self._ends[0][0] > due:
                return due
            now, _, request, fails = heappop(self._ends)
            (self._departures.failed if fails else self._departures.answered)(request, now)

    def _send(self, trip: Trip, now: float) -> None:
        number = len(self.handed_over)
        request = Request(f"http://a.example/{number}")
        self._departures.handed_over(request, now)
        self.handed_over.append(now)
        arrival = now + trip.connecting
        self.arrivals.append(arrival)
        heappush(self._ends, (arrival + trip.answering, number, request, trip.fails))

    @property
    def least_gap(self) -> float:
        return min(b - a for a, b in itertools.pairwise(sorted(self.arrivals)))

    @property
    def seconds(self) -> float:
        """From the first request to the last."""
        return self.handed_over[-1]


DICE = random.Random(9)
COUNT = 40

KEPT = {
    "a fast host": (1, [Trip(0.01, 0.05)] * COUNT),
    "a browser that starts": (2, [Trip(3, 0.2)] + [Trip(0.1, 0.2)] * COUNT),
    "a browser that is slow at first": (2, [Trip(8, 1), Trip(1.5, 0.4)] + [Trip(0.2, 0.3)] * COUNT),
    "a start that fails": (1, [Trip(0.5, 2, fails=True), Trip(3, 0.1)] + [Trip(0.1, 0.1)] * COUNT),
    "a connection that is closed now and then": (
        1, [Trip(1.6 if number % 7 == 6 else 0.01, 0.05) for number in range(COUNT)],
    ),
    "a connection that is closed now and then, on a very slow road": (
        1, [Trip(3 if number % 7 in (0, 6) else 0.01, 0.05) for number in range(COUNT)],
    ),
    "connecting that takes as long each time": (1, [Trip(4, 0.1)] * COUNT),
    "another proxy each time": (
        2, [Trip(DICE.uniform(0.5, 2), DICE.uniform(0.1, 0.2)) for _ in range(COUNT)],
    ),
    "answers that take long": (1, [Trip(0.01, 10)] * COUNT),
}  # fmt: skip


@pytest.mark.parametrize("name", KEPT)
def test_the_host_sees_the_delay(name: str) -> None:
    delay, trips = KEPT[name]
    assert Crawl(delay, trips).least_gap >= delay - 1e-6


BOUNDS = {
    "a fast host is not slowed": ([Trip(0.01, 0.05)] * COUNT, 1.05),
    "answers that take ten delays": ([Trip(0.01, 10)] * COUNT, 1.6),
    "answers that take long, none exactly as long": (
        [Trip(0.01, DICE.uniform(8, 12)) for _ in range(COUNT)], 1.6,
    ),
    "one page in ten takes long: one delay more for each": (
        [Trip(0.01, 20 if number % 10 == 5 else 0.05) for number in range(COUNT)], 1.2,
    ),
    "half of the pages take long: twice the time at most": (
        [Trip(0.01, 10 * (number % 2)) for number in range(COUNT)], 2,
    ),
    "half of the pages take long, the first one too: three delays more for each at most": (
        [Trip(0.01, 10 - 10 * (number % 2)) for number in range(COUNT)], 3,
    ),
    "nothing is ever answered": ([Trip(0.01, 180)] * COUNT, 2.5),
}  # fmt: skip
"""How long it may take, in parts of what it takes without any connecting."""


@pytest.mark.parametrize("name", BOUNDS)
def test_a_host_that_is_slow_to_answer_is_not_slowed_for_ever(name: str) -> None:
    trips, bound = BOUNDS[name]
    assert Crawl(1, trips).seconds <= bound * (len(trips) - 1)


def test_an_end_that_was_not_begun_here_changes_nothing() -> None:
    """The floor came while the request was under way, or its head came before its end."""
    departures, request = Departures(), Request("http://a.example/")
    departures.failed(request, 5)
    departures.answered(request, 6)
    assert departures.latest(1) < 0
    departures.handed_over(request, 10)
    departures.answered(request, 12)
    before = departures.latest(1)
    departures.failed(request, 100)
    assert departures.latest(1) == before == 12


@pytest.mark.parametrize(("slow", "waits"), [(7, True), (8, False)])
def test_a_host_is_as_fast_as_the_fastest_of_its_last_eight_answers(slow: int, waits: bool) -> None:
    departures, now = Departures(), 0.0
    for seconds in [0.1, 0.1] + [5.0] * slow:
        request = Request("http://a.example/")
        departures.handed_over(request, now)
        departures.answered(request, now + seconds)
        now += 100
    departures.handed_over(Request("http://a.example/"), now)
    assert (departures.latest(1) > now) is waits


@pytest.mark.parametrize(
    ("answers", "patience"),
    [
        ([], 0.5),  # nobody has answered the first one
        ([0.2, 0.1], 0.5),
        ([1.2, 0.1], 1.2),
        ([10.0, 0.1], 1.5),
    ],
)
def test_an_answer_is_waited_for_one_delay_or_up_to_three_if_connecting_may_take_that_long(
    answers: list[float], patience: float
) -> None:
    departures, now = Departures(), 0.0
    for seconds in answers:
        request = Request("http://a.example/")
        departures.handed_over(request, now)
        departures.answered(request, now + seconds)
        now += 100
    if not answers:
        departures.handed_over(Request("http://a.example/"), now)
    departures.handed_over(Request("http://a.example/"), now)
    assert departures.latest(0.5) == now + patience


# For other crawls


def with_three_answers(took: float) -> Departures:
    """Each after *took* seconds, the last one at 120 and so many seconds."""
    departures = Departures()
    for at in (100.0, 110.0, 120.0):
        request = Request(f"http://a/{at}")
        departures.handed_over(request, at)
        departures.answered(request, at + took)
    return departures


def test_other_crawls_count_from_the_answer() -> None:
    """Their way to the host may be shorter than that of all requests of this crawl."""
    departures = with_three_answers(0.5)
    assert departures.latest(1.0) == 120.25
    assert departures.others_count_from(1.0) == 120.5


def test_but_not_if_answers_take_as_long_as_the_delay() -> None:
    departures = with_three_answers(2.0)
    assert departures.others_count_from(1.0) == departures.latest(1.0) == 121.0
    departures.handed_over(Request("http://a/under-way"), 130.0)
    assert departures.others_count_from(1.0) == 130.0


def test_while_a_request_is_under_way_they_wait_as_this_crawl_does() -> None:
    departures, request = Departures(), Request("http://a/1")
    departures.handed_over(request, 100.0)
    assert departures.others_count_from(1.0) == departures.latest(1.0) == 115.0


def test_an_answer_after_very_long_counts_as_sent_in_the_longest_time() -> None:
    departures, request = Departures(), Request("http://a/1")
    departures.handed_over(request, 100.0)
    departures.failed(request, 500.0)
    assert departures.others_count_from(1.0) == 100.0 + Departures.LONGEST
