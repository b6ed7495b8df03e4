"""When the next request to a host may leave, at a clock that the test sets. Nothing waits."""

from __future__ import annotations

from math import inf
from random import Random

from scrapy import Request

from scrapy_robots_plus.hosts.pace import Pace
from scrapy_robots_plus.hosts.throttle import Throttle
from scrapy_robots_plus.protocol.origin import Origin

ORIGIN = Origin("http", "a.example", 80)
OTHER = Origin("https", "a.example", 443)


class Paced:
    """A host with its pace, and the time."""

    def __init__(self, delay: float = 0.0) -> None:
        self.now = 1000.0
        self.pace = Pace()
        self.pace.keep(ORIGIN, delay)

    def send(self) -> Request:
        request = Request("http://a.example/")
        self.pace.handed_over(request, self.now)
        return request

    def answer(self, request: Request) -> None:
        self.pace.departures.answered(request, self.now)

    @property
    def due(self) -> float:
        return self.pace.due_at()


def test_a_host_that_nothing_delays_is_due() -> None:
    host = Paced()
    host.send()
    assert host.due <= host.now
    assert not host.pace.has_effect(host.now)


def test_the_first_request_waits_for_nothing() -> None:
    assert Paced(1_000_000_000.0).due <= 0


def test_the_longest_delay_of_several_origins_holds_and_goes_with_its_origin() -> None:
    host = Paced(1.0)
    host.pace.keep(OTHER, 3.0)
    assert host.pace.delay == 3.0
    host.pace.keep(OTHER, 0.0)
    assert host.pace.delay == 1.0
    host.pace.keep(ORIGIN, 0.0)
    assert host.pace.delay == 0.0
    assert not host.pace.has_effect(host.now)


def test_whatever_origins_ask_for_in_whatever_order_the_longest_holds() -> None:
    random, pace, asked = Random(1), Pace(), dict[Origin, float]()
    for _ in range(2_000):
        origin = ORIGIN._replace(port=random.randrange(5))
        asked[origin] = random.choice((0.0, 0.5, 0.5, 1.0, 2.0))
        pace.keep(origin, asked[origin])
        assert pace.robots_delay == max(asked.values())


def test_the_delay_counts_from_the_answer_where_connecting_may_have_taken_that_long() -> None:
    host = Paced(2.0)
    request = host.send()
    assert host.due > 1002 + 10
    host.now += 3
    host.answer(request)
    assert host.due == 1005


def test_the_head_of_an_answer_is_enough() -> None:
    host = Paced(2.0)
    request = host.send()
    host.now += 0.5
    assert host.pace.departures.answered(request, host.now)  # headers_received
    assert host.due == 1002.5
    host.now += 60
    assert not host.pace.departures.answered(request, host.now)
    assert host.due == 1002.5


def test_a_request_that_fails_has_left_by_then() -> None:
    host = Paced(2.0)
    request = host.send()
    host.now += 3
    assert host.pace.failed(request, host.now)
    assert host.due == 1005


def test_the_shortest_gap_between_two_requests_is_known() -> None:
    host = Paced(2.0)
    assert host.pace.departures.shortest_gap == inf
    for seconds in (0, 5, 2.5, 3):
        host.now += seconds
        host.answer(host.send())
    assert host.pace.departures.shortest_gap == 2.5


def test_gaps_from_before_a_longer_delay_do_not_count() -> None:
    host = Paced(2.0)
    for delay, seconds in ((2.0, 2.5), (9.0, 9.5), (1.0, 10)):
        host.pace.keep(ORIGIN, delay)
        host.send()
        host.now += seconds
        host.send()
        host.now += 20
    assert host.pace.departures.shortest_gap == 9.5


def test_an_answer_to_what_was_under_way_does_not_end_a_pause() -> None:
    host = Paced(1.0)
    first, second = host.send(), host.send()
    host.pace.shut_for(10.0, host.now)
    host.answer(first)
    host.now += 2
    host.answer(second)
    assert host.due == 1010


def test_outside_of_its_hours_a_host_is_left_alone_and_then_asked_as_before() -> None:
    host = Paced()
    host.pace.shut_for(60, host.now)
    assert host.pace.has_effect(host.now)
    assert host.due == 1060
    host.now += 60
    assert not host.pace.has_effect(host.now)
    assert host.pace.delay == 0


def test_pauses_that_are_ended_leave_nothing_behind() -> None:
    host = Paced()
    host.pace.shut_for(50, host.now)
    host.pace.end_pauses()
    assert not host.pace.has_effect(host.now)
    assert host.due <= 0


def test_a_request_belongs_to_the_phase_of_the_throttle_in_which_it_was_sent() -> None:
    host = Paced()
    throttle = host.pace.throttle = Throttle(300, lambda: 0.0)
    before = host.send()
    throttle.refused(None, host.now, is_first=True, is_429=True, asked=0.0)
    too_early = host.send()
    host.now = host.due
    after = host.send()
    phases = [host.pace.phases.get(each) for each in (before, too_early, after)]
    assert phases == [None, throttle.phase - 1, throttle.phase]
    host.pace.failed(after, host.now)
    assert after not in host.pace.phases
