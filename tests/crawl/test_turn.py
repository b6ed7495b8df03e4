"""The turn of one slot: what is asked of a pace whose answers come late, and told to it."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

import pytest
from scrapy import Request
from scrapy.core.downloader import Slot
from twisted.internet.defer import Deferred

from scrapy_robots_plus.crawl.clock import Clock
from scrapy_robots_plus.crawl.pacing.departures import Departures
from scrapy_robots_plus.crawl.pacing.shared.shared_pace import GO_SECONDS
from scrapy_robots_plus.crawl.pacing.shared.sharing import Sharing
from scrapy_robots_plus.crawl.pacing.shared.slot_turn import SlotTurn
from scrapy_robots_plus.crawl.pacing.shared.turn import ANSWER_SECONDS
from scrapy_robots_plus.policy.origin import Origin

from .hand_clock import HandClock

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy_robots_plus.crawl.pacing.shared.shared_pace import Ask

A, B = Origin("http", "a.example", 80), Origin("http", "b.example", 80)


class Pace:
    """Answers when the test says so."""

    def __init__(self) -> None:
        self.asked: list[Ask] = []
        self.told: list[tuple[str, str, float]] = []
        self._answers: list[Callable[[float], None]] = []

    def ask(self, asked: Ask, answer: Callable[[float], None]) -> None:
        self.asked.append(asked)
        self._answers.append(answer)

    def answer(self, wait: float) -> None:
        self._answers.pop(0)(wait)

    def left(self, host: str, ticket: str, ago: float, delay: float) -> None:
        assert ticket.endswith("/0")  # that of the only slot
        self.told.append(("left", host, ago))

    def unused(self, host: str, ticket: str, ago: float) -> None:
        assert ticket.endswith("/0")
        self.told.append(("unused", host, ago))

    def leave_alone(self, host: str, seconds: float) -> None:
        raise NotImplementedError

    def close(self) -> None:
        raise NotImplementedError


class Held:
    """A slot whose requests wait, with as much of a downloader as sends them."""

    def __init__(self) -> None:
        self.time = HandClock()
        self.pace = Pace()
        self.waited = 0
        self.delay = 1.0
        clock = Clock(
            monotonic=self.time.clock, slots=self.time.clock, call_later=self.time.call_later
        )
        sharing = Sharing(self.pace, clock, self._look_again, self._wait)
        self.departures = Departures()
        self.turn = SlotTurn(sharing, self.departures, lambda _: self.delay)
        self.slot = Slot(8, 0.0, 0.0)
        self.turn.adopt(self.slot)
        self.popped: list[Request] = []
        """They reach a download handler in the next turn of the loop."""

    def _wait(self) -> None:
        self.waited += 1

    def _look_again(self, slot: Slot) -> None:
        assert slot is self.slot
        if slot.queue and self.turn.may_begin(len(slot.transferring)):
            self.popped.append(slot.queue.popleft()[0])

    def come(self, url: str = "http://a.example/") -> Request:
        """A request reaches the slot."""
        request = Request(url)
        self.slot.queue.append((request, Deferred()))
        self._look_again(self.slot)
        return request

    def hand_over(self) -> None:
        for request in self.popped:
            self.departures.handed_over(request, self.time.now)
            self.turn.handed_over(request)


def test_a_request_leaves_when_the_answer_allows_it() -> None:
    held = Held()
    request = held.come()
    assert held.popped == []
    assert held.pace.asked[0][0] == "a.example"
    assert held.pace.asked[0].since == inf
    held.pace.answer(0.0)
    assert held.popped == [request]
    held.hand_over()
    assert held.pace.told == []  # the pace knows since it has allowed it
    assert held.waited == 0


def test_a_request_that_has_to_wait_asks_again_when_it_was_told_to() -> None:
    held = Held()
    held.come()
    held.pace.answer(2.5)
    assert held.turn.is_waited_for
    held.time.pass_time(2.4)
    assert len(held.pace.asked) == 1
    held.time.pass_time(0.2)
    assert len(held.pace.asked) == 2
    held.pace.answer(0.5)
    held.time.pass_time(0.6)
    held.pace.answer(0.0)
    assert len(held.popped) == 1
    assert held.waited == 1


def test_an_answer_that_comes_too_late_is_not_used() -> None:
    held = Held()
    held.come()
    held.time.pass_time(GO_SECONDS)
    held.pace.answer(0.0)
    assert held.popped == []
    assert held.pace.told == [("unused", "a.example", inf)]
    held.pace.answer(0.0)
    assert len(held.popped) == 1


def test_a_turn_whose_request_is_gone_is_given_back() -> None:
    held = Held()
    held.come()
    held.slot.queue.clear()
    held.pace.answer(0.0)
    assert held.pace.told == [("unused", "a.example", inf)]
    assert not held.turn.is_waited_for


def test_a_place_whose_request_is_gone_is_given_back() -> None:
    held = Held()
    held.come()
    held.pace.answer(1.0)
    held.slot.queue.clear()
    held.time.pass_time(1.1)
    assert held.pace.told == [("unused", "a.example", inf)]
    assert len(held.pace.asked) == 1


def test_an_answer_for_what_was_given_back_is_ignored() -> None:
    held = Held()
    held.come()
    held.turn.give_back()
    held.pace.answer(0.0)
    assert held.popped == []


def test_a_turn_is_reserved_once() -> None:
    held = Held()
    assert held.turn.due_in(A) == ANSWER_SECONDS
    assert held.turn.due_in(A) == ANSWER_SECONDS
    held.pace.answer(3.0)
    assert held.turn.due_in(A) == 3.0
    held.time.pass_time(3.0)
    assert held.turn.due_in(A) == 0.0
    assert [each.request for each in held.pace.asked] == [None]
    held.time.pass_time(1.0)
    held.turn.due_in(A)
    assert len(held.pace.asked) == 2  # it was not used in time


def test_a_request_that_comes_while_a_turn_is_being_reserved_is_not_forgotten() -> None:
    held = Held()
    held.turn.due_in(A)
    request = held.come()
    assert len(held.pace.asked) == 1
    held.pace.answer(3.0)
    assert held.pace.asked[1].request is request
    held.pace.answer(0.0)
    assert held.popped == [request]


def test_what_is_learned_while_asking_is_told_after_the_answer() -> None:
    """Before it, the host might seem free when the next request has been allowed."""
    held = Held()
    first = held.come()
    held.pace.answer(0.0)
    held.hand_over()
    held.come()
    held.departures.answered(first, held.time.now)
    held.turn.tell_left(first)
    assert held.pace.told == []
    held.time.pass_time(0.5)
    held.pace.answer(1.0)
    assert held.pace.told == [("left", "a.example", 0.5)]


def test_a_request_that_leaves_without_a_turn_is_told() -> None:
    held = Held()
    held.delay = 0.0
    held.come()
    held.delay = 1.0
    held.hand_over()
    assert held.pace.told == [("left", "a.example", -Departures.LONGEST)]


def test_hosts_of_one_slot_are_asked_about_one_after_another() -> None:
    held = Held()
    held.come()
    held.pace.answer(5.0)
    assert held.turn.due_in(B) == 5.0  # a request of the other host is first
    held.slot.queue.clear()
    held.come("http://b.example/")
    assert held.pace.told == [("unused", "a.example", inf)]
    assert [each.host for each in held.pace.asked] == ["a.example", "b.example"]


@pytest.mark.parametrize("origin", [A, Origin("https", "a.example", 443), A._replace(port=8080)])
def test_all_origins_of_a_host_have_its_pace(origin: Origin) -> None:
    held = Held()
    held.turn.due_in(origin)
    assert held.pace.asked[0].host == "a.example"


def test_what_waits_goes_when_there_is_no_delay_any_more() -> None:
    held = Held()
    request = held.come()
    held.pace.answer(50.0)
    held.delay = 0.0
    held.turn.end()
    held.time.pass_time(0.1)
    assert held.popped == [request]
    assert held.pace.told == [("unused", "a.example", inf)]


@pytest.mark.parametrize("url", ["data:,text", "file:///tmp/page"])
def test_what_has_no_host_is_not_held(url: str) -> None:
    held = Held()
    assert [held.come(url)] == held.popped
    held.hand_over()
    assert held.pace.asked == []


def test_as_many_requests_as_the_slot_takes_are_not_asked_about() -> None:
    held = Held()
    held.slot.concurrency = 1
    held.come()
    held.pace.asked.clear()
    assert held.turn.may_begin(1)
    assert held.pace.asked == []
