"""The line before one host: what is asked of a pace whose answers come late, and told to it."""

from __future__ import annotations

from math import inf
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from scrapy import Request
from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from scrapy_robots_plus import compat
from scrapy_robots_plus.crawl import stats
from scrapy_robots_plus.crawl.clock import Clock
from scrapy_robots_plus.hosts.departures import Departures
from scrapy_robots_plus.hosts.line import Doorway, HostLine
from scrapy_robots_plus.protocol.origin import Origin
from tests.crawl.hand_clock import HandClock
from tests.crawl.world import Stats
from tests.crawling import new_slot

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from scrapy.core.downloader import Slot

    from scrapy_robots_plus.hosts.shared_pace import Ask

HOST = "a.example"
A = Origin("http", HOST, 80)
OTHER_PORT = A._replace(port=8080)


class Pace:
    """Answers when the test says so; at once if it *agrees*, or with what a host *waits*."""

    def __init__(self) -> None:
        self.asked: list[Ask] = []
        self.told: list[tuple[str, str, float]] = []
        self.agrees = False
        self.waits: dict[str, float] = {}
        self._answers: list[Callable[[float], None]] = []

    def ask(self, asked: Ask, answer: Callable[[float], None]) -> None:
        self.asked.append(asked)
        self._answers.append(answer)
        if self.agrees or asked.host in self.waits:
            self.answer(self.waits.get(asked.host, 0.0))

    def answer(self, wait: float) -> None:
        self._answers.pop(0)(wait)

    def left(self, host: str, ago: float, delay: float) -> None:
        self.told.append(("left", host, ago))

    def unused(self, host: str, ago: float, delay: float) -> None:
        self.told.append(("unused", host, ago))

    def leave_alone(self, host: str, seconds: float) -> None:
        raise NotImplementedError

    def close(self) -> None:
        raise NotImplementedError


class Standing:
    """Requests in a line, each a coroutine that goes on in the next turn of the loop."""

    def __init__(self, delay: float = 1.0) -> None:
        self.time = HandClock()
        self.has_no_loop = False
        """Whether a request goes on within the call that lets it go, as without an asyncio loop."""
        self.pace = Pace()
        self.changed: list[str] = []
        self.handed_over: list[Request] = []
        self.slots: dict[str, Slot] = {}
        self.stats = Stats()
        downloader = SimpleNamespace(slots=self.slots, _process_queue=lambda _: None)
        crawl: Any = SimpleNamespace(
            clock=Clock(monotonic=self.time.clock, call_later=self.time.call_later),
            crawler=SimpleNamespace(engine=SimpleNamespace(downloader=downloader)),
            stats=self.stats,
        )
        self.doorway = Doorway(crawl, self.pace)
        self.doorway.changed = self._changes
        self.line = HostLine(HOST, self.doorway)
        if delay:
            self.line.pace.keep(A, delay)
        self.let_go: list[Request] = []
        """They reach a download handler in the next turn of the loop."""
        self.failed: list[BaseException] = []
        self._coroutines: dict[Request, Coroutine[Any, Any, None]] = {}

    def _changes(self, host: str, request: Request | None) -> None:
        self.changed.append(host)
        if request is not None:
            self.handed_over.append(request)

    def slot(self, key: str = "proxy", places: int = 8, delay: float = 0.0) -> Slot:
        slot = self.slots[key] = new_slot(places, delay)
        slot.lastseen = 1.0
        return slot

    def come(self, slot: str = HOST, url: str = f"http://{HOST}/") -> Request:
        """A request reaches the line."""
        request = Request(url, meta={"download_slot": slot})
        if slot in self.slots:
            self.slots[slot].transferring.add(request)
        coroutine = self.line.let_through(request)
        self._coroutines[request] = coroutine
        self._go_on(request)
        return request

    def _go_on(self, request: Request, error: BaseException | None = None) -> None:
        coroutine = self._coroutines[request]
        try:
            waiter: Any = coroutine.send(None) if error is None else coroutine.throw(error)
        except StopIteration:
            if self.has_no_loop:
                self.line.handed_over(request)
            else:
                self.let_go.append(request)
        except BaseException as raised:  # noqa: BLE001
            self.failed.append(raised)
        else:
            waiter.addBoth(lambda result: self._ended(request, result))

    def _ended(self, request: Request, result: Any) -> None:
        self._go_on(request, result.value if isinstance(result, Failure) else None)

    def cancel(self, request: Request) -> None:
        self._go_on(request, GeneratorExit())

    def hand_over(self) -> None:
        for request in list(self.let_go):
            self.let_go.remove(request)
            self.line.handed_over(request)

    def answer(self, request: Request) -> None:
        if self.line.pace.departures.answered(request, self.time.now):
            self.line.changed()


@pytest.fixture(autouse=True)
def no_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    async def wait_for(waiter: Deferred[Any]) -> Any:
        return await waiter

    monkeypatch.setattr(compat, "wait_for", wait_for)


def test_a_request_leaves_when_the_answer_allows_it() -> None:
    held = Standing()
    request = held.come()
    assert held.let_go == []
    assert held.pace.asked[0].host == HOST
    assert held.pace.asked[0].since == inf
    held.pace.answer(0.0)
    assert held.let_go == [request]
    held.hand_over()
    assert held.pace.told == []  # the pace knows since it has allowed it
    assert held.stats == {}


def test_a_request_that_has_to_wait_asks_again_when_it_was_told_to() -> None:
    held = Standing()
    held.come()
    held.pace.answer(2.5)
    held.time.pass_time(2.4)
    assert len(held.pace.asked) == 1
    held.time.pass_time(0.2)
    assert len(held.pace.asked) == 2
    held.pace.answer(0.5)
    held.time.pass_time(0.6)
    held.pace.answer(0.0)
    assert len(held.let_go) == 1
    assert held.stats == {stats.SHARED_PACE_WAITS: 1}


def test_one_at_a_time_goes_each_after_the_delay() -> None:
    held = Standing(2.0)
    held.pace.agrees = True
    first, second, third = held.come(), held.come(), held.come()
    assert held.let_go == [first]
    held.hand_over()
    held.answer(first)
    held.time.pass_time(1.9)
    assert held.let_go == []
    held.time.pass_time(0.2)
    assert held.let_go == [second]
    held.hand_over()
    held.answer(second)
    held.time.pass_time(2.1)
    assert held.let_go == [third]
    assert held.doorway.waiting == 0


def slow_to_answer() -> Standing:
    """Requests to a host whose answers take as long as its delay, so that none is waited for."""
    held = Standing(1.0)
    held.pace.agrees = True
    for _ in range(3):
        request = held.come()
        held.hand_over()
        held.time.pass_time(1.1)
        held.answer(request)
        held.time.pass_time(3.0)
    return held


@pytest.mark.parametrize("turns", [0, 1, 2])
def test_if_the_loop_was_blocked_the_delay_counts_from_when_a_request_was_written(
    turns: int,
) -> None:
    held = slow_to_answer()
    held.come()
    second = held.come()
    held.hand_over()
    for _ in range(turns):
        held.time.turn()
    told = len(held.pace.told)
    held.time.now += 1.5  # and nothing rings
    held.time.pass_time(0.9)
    assert held.let_go == []
    assert len(held.pace.told) == told + 1  # other crawls are told, too
    held.time.pass_time(0.2)
    assert held.let_go == [second]


def test_a_loop_that_is_blocked_later_or_for_a_moment_changes_nothing() -> None:
    held = slow_to_answer()
    held.come()
    second = held.come()
    held.hand_over()
    held.time.now += HostLine.BLOCKED_SECONDS / 2
    for _ in range(HostLine.TURNS):
        held.time.turn()
    held.time.now += 0.8
    held.time.pass_time(0.2)
    assert held.let_go == [second]


def test_nobody_goes_while_one_is_on_its_way_to_its_handler() -> None:
    held = Standing(0.0)
    first, second = held.come(), held.come()
    assert held.let_go == [first]
    held.hand_over()
    assert held.let_go == []
    held.time.turn()
    assert held.let_go == [second]
    assert held.pace.asked == []  # a host without a delay is asked about nobody


def test_hundreds_that_waited_go_on_where_no_loop_comes_between() -> None:
    held = Standing(0.0)
    held.has_no_loop = True
    held.line.pace.shut_for(1.0, held.time.now)
    requests = [held.come() for _ in range(500)]
    held.time.pass_time(0.9)
    assert held.handed_over == []
    held.time.pass_time(0.2)
    assert held.handed_over == requests


def test_a_turn_is_not_used_in_a_pause_that_began_while_it_was_asked_for() -> None:
    held = Standing()
    request = held.come()
    held.line.pace.shut_for(30.0, held.time.now)
    held.pace.answer(0.0)
    assert held.pace.told == [("unused", HOST, inf)]
    held.time.pass_time(29)
    assert held.let_go == []
    held.pace.agrees = True
    held.time.pass_time(2)
    assert held.let_go == [request]


def test_a_turn_whose_request_is_cancelled_is_given_back() -> None:
    held = Standing()
    request = held.come()
    held.cancel(request)
    assert held.pace.told == [("unused", HOST, inf)]
    held.pace.answer(0.0)
    assert held.let_go == []
    assert held.line.is_empty
    assert held.doorway.waiting == 0


def test_one_that_is_cancelled_when_it_was_let_go_is_given_back_too() -> None:
    held = Standing()
    request = Request(f"http://{HOST}/", meta={"download_slot": HOST})
    waiting = held.line.let_through(request)
    waiter: Any = waiting.send(None)
    held.pace.answer(0.0)  # the coroutine does not go on yet
    assert waiter.called
    with pytest.raises(GeneratorExit):
        waiting.throw(GeneratorExit())
    assert held.pace.told == [("unused", HOST, inf)]
    assert held.line.is_empty


def test_a_request_that_is_cancelled_behind_others_changes_nothing_for_them() -> None:
    held = Standing()
    first, second = held.come(), held.come()
    held.cancel(second)
    assert held.pace.told == []
    held.pace.answer(0.0)
    assert held.let_go == [first]


def test_an_answer_for_what_was_given_back_is_ignored() -> None:
    held = Standing()
    held.come()
    held.line.turn.give_back()
    held.pace.answer(0.0)
    assert held.let_go == []


def test_what_is_learned_while_asking_is_told_after_the_answer() -> None:
    """Before it, the host might seem free when the next request has been allowed."""
    held = Standing(0.1)
    first = held.come()
    held.pace.answer(0.0)
    held.hand_over()
    held.time.pass_time(20)
    held.come()
    assert len(held.pace.asked) == 2
    held.answer(first)
    assert held.pace.told == []
    held.pace.answer(1.0)
    ((what, host, ago),) = held.pace.told
    assert (what, host) == ("left", HOST)
    assert 5.0 <= ago <= 20.0


def test_a_request_that_leaves_without_a_turn_is_told() -> None:
    held = Standing(0.0)
    held.come()
    held.line.pace.keep(A, 1.0)
    held.hand_over()
    assert held.pace.told == [("left", HOST, -Departures.LONGEST)]


def test_what_waits_goes_when_there_is_no_delay_any_more() -> None:
    held = Standing()
    request = held.come()
    held.pace.answer(50.0)
    held.line.pace.keep(A, 0.0)
    held.line.look()
    assert held.let_go == [request]
    assert held.pace.told == [("unused", HOST, inf)]


def test_the_longest_delay_of_the_origins_of_a_host_holds() -> None:
    held = Standing(1.0)
    held.line.pace.keep(OTHER_PORT, 3.0)
    held.come()
    assert held.pace.asked[0].delay == 3.0
    held.line.pace.keep(OTHER_PORT, 0.0)
    assert held.line.pace.delay == 1.0


class HeldError(Exception):
    pass


def test_what_fails_leaves_the_others_in_their_order() -> None:
    held = Standing()
    first, second, third = held.come(), held.come(), held.come()
    held.line.fail(HeldError, lambda request: request is not second)
    assert [type(each) for each in held.failed] == [HeldError, HeldError]
    held.pace.answer(0.0)  # to the first, which is gone: its turn goes back, and the next one asks
    held.pace.answer(0.0)
    assert held.let_go == [second]
    assert held.pace.asked[-1].request is second
    assert first is not third


# When the spider closes


def test_short_delays_drain_and_no_others() -> None:
    held = Standing(2.0)
    held.pace.agrees = True
    first = held.come()
    held.hand_over()
    held.answer(first)
    assert not held.line.is_late(held.time.now + 5)
    held.come()
    assert not held.line.is_late(held.time.now + 2)
    assert held.line.is_late(held.time.now + 1.9)


@pytest.mark.parametrize("what", ["pause", "others", "long", "late"])
def test_nothing_else_is_waited_for(what: str) -> None:
    held = Standing(1_000_000_000.0 if what == "long" else 1.0)
    held.pace.agrees = what != "others"
    held.come()
    if what == "others":
        held.pace.answer(3.0)
    else:
        held.hand_over()
        held.come()
    if what == "pause":
        held.line.pace.shut_for(3.0, held.time.now)
    assert held.line.is_late(held.time.now + (0.5 if what == "late" else 5))


def test_without_a_delay_nothing_is_late() -> None:
    held = Standing(0.0)
    held.come()
    held.hand_over()
    assert not held.line.is_late(held.time.now - 1)


# In a slot that hosts share


def without_its_place(held: Standing, other: Request) -> tuple[Request, Slot]:
    """One that has waited until it may go, and whose place in its slot *other* has by then."""
    slot = held.slot(places=1)
    request = held.come("proxy")
    held.pace.answer(3.0)
    assert not slot.transferring
    slot.transferring.add(other)
    held.pace.agrees = True
    held.time.pass_time(4.0)
    assert held.let_go == []
    return request, slot


def test_what_waits_leaves_its_place_and_takes_one_before_it_goes() -> None:
    held, other = Standing(), Request("http://b.example/")
    request, slot = without_its_place(held, other)
    held.doorway.place_is_free("proxy")  # just before the downloader takes it out
    slot.transferring.remove(other)
    assert held.let_go == [request]
    assert slot.transferring == {request}


def test_a_free_place_goes_on_to_a_line_that_can_use_it() -> None:
    """Of two lines that want it, the first has nothing left to send."""
    held = Standing()
    request, _ = without_its_place(held, Request("http://b.example/"))
    wanting = held.doorway.wanting["proxy"]
    assert list(wanting) == [held.line]
    wanting[HostLine("c.example", held.doorway)] = None
    wanting.move_to_end(held.line)
    held.doorway.place_is_free("proxy")
    assert held.let_go == [request]
    assert "proxy" not in held.doorway.wanting


def test_so_does_one_whose_taker_is_told_at_once_to_wait_for_other_crawls() -> None:
    held, beside = Standing(), Standing()
    first, slot = without_its_place(held, Request("http://b.example/"))
    held.pace.agrees = False
    beside.slots, beside.line = held.slots, HostLine("c.example", held.doorway)
    beside.line.pace.keep(A._replace(host="c.example"), 1.0)
    second = beside.come("proxy", "http://c.example/")
    held.pace.answer(3.0)
    held.time.pass_time(3.5)
    assert list(held.doorway.wanting["proxy"]) == [held.line, beside.line]
    held.pace.waits[HOST], held.pace.agrees = 0.3, True
    held.doorway.place_is_free("proxy")
    assert (held.let_go, beside.let_go) == ([], [second])
    assert first not in slot.transferring


def test_one_that_is_asked_for_at_once_has_a_place() -> None:
    """The downloader looks for it there when its answer has come, and fails without it."""
    held = Standing()
    slot = held.slot()
    first, second = held.come("proxy"), held.come("proxy")
    held.pace.answer(0.0)
    assert held.let_go == [first]
    assert slot.transferring == {first}
    held.line.fail(HeldError, lambda request: request is second)
    assert slot.transferring == {first, second}


def test_a_place_that_nobody_tells_of_is_found() -> None:
    """A robots.txt may be fetched through the same slot, and does not come through the door."""
    held = Standing()
    request, slot = without_its_place(held, Request("http://b.example/robots.txt"))
    slot.transferring.clear()
    held.time.pass_time(1.0)
    assert held.let_go == [request]
    assert len(held.doorway.wanting.get("proxy", ())) <= 1


def test_in_the_slot_of_the_host_it_keeps_its_place() -> None:
    held = Standing()
    slot = held.slot(HOST)
    request = held.come()
    held.pace.answer(3.0)
    assert slot.transferring == {request}


@pytest.mark.parametrize("how", ["fails", "is cancelled"])
def test_the_downloader_finds_what_does_not_go_in_its_place(how: str) -> None:
    held = Standing()
    slot = held.slot()
    request = held.come("proxy")
    held.pace.answer(3.0)
    if how == "fails":
        held.line.fail(HeldError, lambda _: True)
    else:
        held.cancel(request)
    assert slot.transferring == {request}


def test_the_delay_of_the_slot_is_kept_too() -> None:
    held = Standing(1.0)
    held.pace.agrees = True
    held.slot(delay=3.0)
    first = held.come("proxy")
    held.hand_over()
    held.answer(first)
    second = held.come("proxy")
    held.time.pass_time(2.9)
    assert held.let_go == []
    held.time.pass_time(0.2)
    assert held.let_go == [second]
