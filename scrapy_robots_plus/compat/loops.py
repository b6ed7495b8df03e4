"""Coroutines and Deferreds, in any loop, and calls that block, in a thread."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from contextlib import suppress
from queue import SimpleQueue
from threading import Thread
from typing import Any, TypeVar

from scrapy.utils.asyncio import call_later, create_looping_call
from scrapy.utils.defer import deferred_from_coro, maybe_deferred_to_future
from twisted.internet.defer import CancelledError, Deferred, maybeDeferred, succeed
from twisted.python.failure import Failure

logger = logging.getLogger(__name__)

_T = TypeVar("_T")


CANCELLED = (asyncio.CancelledError, CancelledError)
"""Raised in a coroutine that waits for something cancelled, in any reactor mode.

Needed and can go as :func:`run_in_background`.
"""


def run_in_background(coroutine: Coroutine[Any, Any, _T]) -> Deferred[_T]:
    """Starts *coroutine* in the current loop; cancelling the Deferred cancels it.

    Needed by 2.14 to 2.19, in which a crawl may have no asyncio loop. Can go when all have one.
    """
    return deferred_from_coro(coroutine)


def repeat(seconds: float, call: Callable[[], object]) -> Callable[[], None]:
    """Calls *call* every *seconds* in the current loop; returns what ends that.

    Needed and can go as :func:`run_in_background`.
    """
    loop = create_looping_call(call)
    loop.start(seconds, now=False)
    return lambda: loop.stop() if loop.running else None


async def wait_for(waiter: Deferred[_T]) -> _T:
    """Waits for a Deferred that nothing else waits for, in every reactor mode.

    A Deferred shared by several waiters gives its result to the first only. Needed and can go as
    :func:`run_in_background`.
    """
    return await maybe_deferred_to_future(waiter)


async def sleep(seconds: float, later: Callable[..., Any] = call_later) -> None:
    """Lets everything else in the loop go on for *seconds*, as *later* tells the time.

    Needed by 2.14 to 2.17; ``scrapy.utils.asyncio.sleep`` is there from 2.18. Can go with 2.17.
    """
    waiter: Deferred[None] = Deferred()
    alarm = later(seconds, lambda: waiter.callback(None))
    try:
        await wait_for(waiter)
    finally:
        alarm.cancel()


SECONDS = 1.5
"""How long an answer is waited for."""


class CourierError(Exception):
    """There is no answer to a call."""


class CourierClosedError(CourierError):
    """It came after the courier was closed."""


class CourierLateError(CourierError):
    """It was not answered in time."""


class Courier:
    """Makes calls in a thread of its own, one after another, in the order in which they are sent.

    Not in the reactor's pool of threads: name resolution needs that. The thread starts with the
    first call, and never keeps the process from ending.

    Needed by 2.14 to 2.19, in which a crawl may have no asyncio loop and no reactor. Can go when
    ``asyncio.to_thread`` works in all.
    """

    def __init__(self, name: str = "") -> None:
        self._name = name
        self._errands: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._thread: Thread | None = None
        self._closed = False

    def send(self, call: Callable[[], _T]) -> Deferred[_T]:
        """Makes *call* after all sent before. The Deferred has what it returned or raised.

        To be asked in the loop of the crawl. Cancelling the Deferred drops a call that has not
        begun.
        """
        answer: Deferred[_T] = Deferred()
        if self._closed:
            answer.errback(CourierClosedError(self._name))
            return answer
        to_loop = _caller_in_loop()

        def errand() -> None:
            if answer.called:  # nobody waits any more
                return
            try:
                result: _T | Failure = call()
            except BaseException:  # noqa: BLE001 - it is raised where it is waited for
                result = Failure()  # type: ignore[no-untyped-call]
            to_loop(_answer, answer, result)

        self._put(errand)
        return answer

    async def ask(self, call: Callable[[], _T], seconds: float = SECONDS) -> _T:
        """Like :meth:`send`, for a coroutine to wait for. Raises :class:`CourierLateError` if there
        is no answer after *seconds*.
        """
        answer = self.send(call)
        late = call_later(seconds, self._give_up, answer, seconds)
        try:
            return await wait_for(answer)
        finally:
            late.cancel()

    def tell(self, call: Callable[[], _T], then: Callable[[_T], object]) -> None:
        """Like :meth:`send`, for a call that raises nothing: what it returned is given to *then*,
        before anybody goes on who waits for a later call. Does nothing after :meth:`close`.
        """
        if not self._closed:
            self.send(call).addCallback(then).addErrback(self._log)

    def flush(self, seconds: float) -> Deferred[bool]:
        """Waits at most *seconds* for all calls that were sent. Whether they were made."""
        if self._closed or self._thread is None:
            return succeed(True)
        done: Deferred[bool] = Deferred()
        late = call_later(seconds, _answer, done, False)

        def in_time(_: object) -> None:
            late.cancel()
            _answer(done, True)

        self.send(bool).addCallback(in_time)
        return done

    def close(self, seconds: float) -> Deferred[bool]:
        """Takes no more calls, and waits as :meth:`flush`.

        Calls that were not made in time are still made, unless the process ends before.
        """
        done = self.flush(seconds)
        self._closed = True
        self._errands.put(None)
        return done

    def _give_up(self, answer: Deferred[Any], seconds: float) -> None:
        if not answer.called:
            answer.errback(CourierLateError(f"{self._name}: no answer within {seconds:g} s"))

    def _log(self, failure: Failure) -> None:
        error = failure.value
        logger.error("%s: %r", self._name, error, exc_info=error)

    def _put(self, errand: Callable[[], None]) -> None:
        self._errands.put(errand)
        if self._thread is None or not self._thread.is_alive():  # at first, and after a fork
            self._thread = Thread(target=self._run, name=self._name, daemon=True)
            self._thread.start()

    def _run(self) -> None:
        while (errand := self._errands.get()) is not None:
            errand()


class InPlace(Courier):
    """Makes calls at once and in place, for what never takes long."""

    def send(self, call: Callable[[], _T]) -> Deferred[_T]:
        """Makes *call*. The Deferred has what it returned or raised."""
        return maybeDeferred(call)


def _answer(waiter: Deferred[_T], result: _T | Failure) -> None:
    if not waiter.called:
        waiter.callback(result)


def _caller_in_loop() -> Callable[..., None]:
    """Calls a function in the loop that this is called in, from any thread."""
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        from twisted.internet import reactor  # the one that runs this

        from_thread: Callable[..., None] = reactor.callFromThread
        return from_thread

    def call(function: Callable[..., object], *arguments: Any) -> None:
        with suppress(RuntimeError):  # the loop has ended, and nobody waits any more
            loop.call_soon_threadsafe(function, *arguments)

    return call
