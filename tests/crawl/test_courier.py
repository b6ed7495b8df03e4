"""Calls in a thread, answered in the loop of the crawl."""

from __future__ import annotations

import os
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest
from twisted.internet.defer import CancelledError

from scrapy_robots_plus import compat
from tests.crawl_process import MODES, crawl_in_process
from tests.sending import TimedSpider
from tests.waiting import in_loop, pause, until

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from scrapy import Request
    from twisted.internet.defer import Deferred
    from twisted.python.failure import Failure

    from tests.sites import Sites


@pytest.fixture
def courier() -> Iterator[compat.Courier]:
    courier = compat.Courier("test")
    yield courier
    courier._errands.put(None)


@in_loop
async def test_calls_are_made_in_order_in_one_thread_and_answered_in_the_loop(
    courier: compat.Courier,
) -> None:
    made: list[tuple[int, int]] = []
    answered: list[tuple[int, int]] = []

    def call(number: int) -> int:
        made.append((number, threading.get_ident()))
        return number

    def note(number: int) -> int:
        answered.append((number, threading.get_ident()))
        return number

    sent = [courier.send(lambda n=n: call(n)).addCallback(note) for n in range(500)]  # type: ignore[misc]
    assert await compat.wait_for(sent[-1]) == 499
    assert [number for number, _ in made] == list(range(500))
    assert [number for number, _ in answered] == list(range(500))
    assert len({thread for _, thread in made}) == 1
    assert {thread for _, thread in answered} == {threading.get_ident()}
    assert made[0][1] != threading.get_ident()


@in_loop
async def test_what_a_call_raises_is_raised_where_it_is_waited_for(
    courier: compat.Courier,
) -> None:
    with pytest.raises(ZeroDivisionError):
        await compat.wait_for(courier.send(lambda: 1 / 0))
    assert await compat.wait_for(courier.send(lambda: 1)) == 1


@in_loop
async def test_what_is_told_is_known_before_anybody_goes_on_who_asked_later(
    courier: compat.Courier,
) -> None:
    known: list[int] = []
    courier.tell(lambda: 1, known.append)
    assert await courier.ask(lambda: 2, 30) == 2
    assert known == [1]
    with pytest.raises(ZeroDivisionError):
        await courier.ask(lambda: 1 / 0, 30)


@in_loop
async def test_a_fault_of_what_is_told_is_logged(
    courier: compat.Courier, caplog: pytest.LogCaptureFixture
) -> None:
    courier.tell(lambda: 1 / 0, lambda _: None)
    courier.tell(lambda: [1], lambda result: result[1])
    assert await courier.ask(lambda: 2, 30) == 2
    faults = [type(record.exc_info[1]) for record in caplog.records if record.exc_info]
    assert faults == [ZeroDivisionError, IndexError]


@in_loop
async def test_an_answer_is_not_waited_for_longer_than_said(courier: compat.Courier) -> None:
    hanging, made = threading.Event(), []
    courier.send(hanging.wait)
    with pytest.raises(compat.CourierLateError, match=r"no answer within 0\.01 s"):
        await courier.ask(lambda: made.append(1), 0.01)
    hanging.set()
    assert await courier.ask(lambda: 2, 30) == 2
    assert made == []  # nobody waited for it any more


@in_loop
async def test_all_that_was_sent_can_be_waited_for(courier: compat.Courier) -> None:
    hanging = threading.Event()
    assert await compat.wait_for(courier.flush(30)) is True  # nothing was sent yet
    courier.send(hanging.wait)
    assert await compat.wait_for(courier.flush(0.01)) is False
    hanging.set()
    assert await compat.wait_for(courier.flush(30)) is True
    assert await courier.ask(lambda: 2, 30) == 2


@in_loop
async def test_what_never_takes_long_is_done_in_place() -> None:
    place = compat.InPlace()
    known: list[int] = []
    place.tell(lambda: 1, known.append)
    assert known == [1]
    assert await place.ask(threading.get_ident) == threading.get_ident()
    assert await compat.wait_for(place.flush(0)) is True
    assert await compat.wait_for(place.close(0)) is True


@in_loop
async def test_the_loop_goes_on_while_a_call_takes_long(courier: compat.Courier) -> None:
    waiting = threading.Event()
    first = courier.send(waiting.wait)
    second = courier.send(lambda: 2)
    for _ in range(5):
        await pause(0.01)
    assert not first.called
    assert not second.called
    waiting.set()
    assert await compat.wait_for(second) == 2
    assert first.called


@in_loop
async def test_an_answer_that_nobody_waits_for_any_more_is_dropped(
    courier: compat.Courier,
) -> None:
    waiting = threading.Event()
    cancelled = []
    for call in (waiting.wait, lambda: 1 / 0):
        answer: Deferred[Any] = courier.send(call)
        cancelled.append(answer.addErrback(_expect_cancelled))
        answer.cancel()
    waiting.set()
    assert await compat.wait_for(courier.send(lambda: 3)) == 3
    assert [each.called for each in cancelled] == [True, True]


def _expect_cancelled(failure: Failure) -> None:
    assert isinstance(failure.value, CancelledError)


@in_loop
async def test_closing_waits_for_what_was_sent() -> None:
    courier, made = compat.Courier("test"), []
    for number in range(100):
        courier.send(lambda n=number: made.append(n))  # type: ignore[misc]
    assert await compat.wait_for(courier.close(30)) is True
    assert made == list(range(100))
    courier.tell(lambda: made.append(100), lambda _: made.append(100))
    with pytest.raises(compat.CourierClosedError):
        await compat.wait_for(courier.send(lambda: made.append(101)))
    assert await compat.wait_for(courier.close(30)) is True
    assert made == list(range(100))
    await until(lambda: not courier._thread.is_alive())


@in_loop
async def test_closing_waits_no_longer_than_said_for_a_call_that_hangs() -> None:
    courier, hanging, made = compat.Courier("test"), threading.Event(), []
    hung = courier.send(hanging.wait)
    courier.send(lambda: made.append(1))
    assert await compat.wait_for(courier.close(0.01)) is False
    assert not made
    hanging.set()
    await compat.wait_for(hung)
    await until(lambda: not courier._thread.is_alive())
    assert made == [1]  # what was sent is done all the same
    for _ in range(2):
        await pause(0.01)  # the late answer harms nobody


@in_loop
async def test_one_that_was_never_used_is_closed_at_once() -> None:
    threads = threading.active_count()
    assert await compat.wait_for(compat.Courier("test").close(30)) is True
    assert threading.active_count() == threads


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_child_of_a_fork_has_a_thread_of_its_own(courier: compat.Courier) -> None:
    done = threading.Event()
    courier.send(done.set)
    assert done.wait(30)
    child = os.fork()
    if child == 0:
        done.clear()
        courier.send(done.set)
        os._exit(0 if done.wait(30) else 1)
    _, status = os.waitpid(child, 0)
    assert status == 0


class SendingSpider(TimedSpider):
    """Asks for its URLs when a slow call has been answered."""

    async def start(self) -> AsyncIterator[Request]:
        courier = compat.Courier("test")
        sent = [courier.send(lambda n=n: self._slow(n)) for n in range(3)]  # type: ignore[misc]
        answers = [await compat.wait_for(each) for each in sent]
        assert await compat.wait_for(courier.close(30))
        assert answers == [0, 1, 2]
        for url in self.urls:
            yield self.request(url)

    @staticmethod
    def _slow(number: int) -> Any:
        time.sleep(0.01)
        return number


@pytest.mark.parametrize("mode", MODES)
def test_it_works_in_each_reactor_mode(sites: Sites, mode: str) -> None:
    host = sites.host("User-agent: *\nDisallow: /closed\n")
    spider = f"{__name__}.{SendingSpider.__name__}"
    result = crawl_in_process(mode, host.url("/open"), host.url("/closed"), spider=spider)
    assert result["got"] == [host.url("/open")]
    assert host.fetched == ["/open"]
