"""Coroutines and Deferreds in any event loop, and blocking calls in a thread."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from contextlib import suppress
from math import inf
from queue import SimpleQueue
from threading import Thread
from time import monotonic
from typing import Any, TypeVar

from scrapy.utils.asyncio import call_later, create_looping_call
from scrapy.utils.defer import deferred_from_coro, maybe_deferred_to_future
from twisted.internet.defer import CancelledError, Deferred, fail, maybeDeferred, succeed
from twisted.python.failure import Failure

logger = logging.getLogger(__name__)

_T = TypeVar("_T")


CANCELLED = (asyncio.CancelledError, CancelledError)
"""The exceptions raised where a coroutine waits for something cancelled, in any reactor mode.
Needed as long as :func:`run_in_background`."""


def run_in_background(coroutine: Coroutine[Any, Any, _T]) -> Deferred[_T]:
    """Starts *coroutine* in the current loop; cancelling the Deferred cancels it.

    Needed for Scrapy 2.14 to 2.19: a crawl may have no asyncio loop. Remove when all have one.
    """
    return deferred_from_coro(coroutine)


def repeat(seconds: float, call: Callable[[], object]) -> Callable[[], None]:
    """Calls *call* every *seconds* in the current loop; returns a function that ends that.

    Needed as long as :func:`run_in_background`.
    """
    loop = create_looping_call(call)
    loop.start(seconds, now=False)
    return lambda: loop.stop() if loop.running else None


async def wait_for(waiter: Deferred[_T]) -> _T:
    """Waits for a Deferred that nothing else waits for, in every reactor mode.

    A Deferred shared by several waiters gives its result to the first only. Needed as long as
    :func:`run_in_background`.
    """
    return await maybe_deferred_to_future(waiter)


async def sleep(seconds: float, later: Callable[..., Any] = call_later) -> None:
    """Waits for *seconds*, as *later* measures them, while the rest of the loop goes on.

    Needed for Scrapy 2.14 to 2.17; later versions have ``scrapy.utils.asyncio.sleep``. Remove with
    2.17.
    """
    waiter: Deferred[None] = Deferred()
    alarm = later(seconds, lambda: waiter.callback(None))
    try:
        await wait_for(waiter)
    finally:
        alarm.cancel()


class CourierClosedError(Exception):
    """Raised if a call came after the courier was closed."""


class CourierLateError(Exception):
    """Raised if a call was not answered in time."""


class Courier:
    """A thread that makes calls one after another, in the order in which they are sent.

    The reactor's thread pool is not used: name resolution needs it. The thread starts with the
    first call, and never keeps the process from ending.

    Needed for Scrapy 2.14 to 2.19: a crawl may have no asyncio loop, or no reactor. Remove when
    ``asyncio.to_thread`` works in all.
    """

    def __init__(self, name: str = "") -> None:
        self._name = name
        self._errands: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._thread: Thread | None = None
        self._closed = False
        self._began_at = inf

    @property
    def busy_for(self) -> float:
        """The seconds since the thread began the call that it makes; below 0 if it makes none."""
        return monotonic() - self._began_at

    def send(self, call: Callable[[], _T]) -> Deferred[_T]:
        """Makes *call* after all sent before; the Deferred has what it returned or raised.

        Must be called in the loop of the crawl. Cancelling the Deferred drops a call that has not
        begun.
        """
        if self._closed:
            return fail(CourierClosedError(self._name))
        answer: Deferred[_T] = Deferred()
        to_loop = _caller_in_loop()

        def errand() -> None:
            if answer.called:  # nobody waits any more
                return
            try:
                result: _T | Failure = call()
            except BaseException:  # noqa: BLE001 - it is raised where it is waited for
                result = Failure()  # type: ignore[no-untyped-call]
            to_loop(_answer, answer, result)

        self._errands.put(errand)
        if self._thread is None or not self._thread.is_alive():  # at first, and after a fork
            self._thread = Thread(target=self._run, name=self._name, daemon=True)
            self._thread.start()
        return answer

    async def ask(self, call: Callable[[], _T], seconds: float = 1.5) -> _T:
        """Makes *call* like :meth:`send`, and waits for the answer.

        Raises :class:`CourierLateError` if there is none after *seconds*.
        """
        error = CourierLateError(f"{self._name}: no answer within {seconds:g} s")
        late = Failure(error)  # type: ignore[no-untyped-call]
        return await wait_for(_in_time(self.send(call), seconds, late))

    def tell(self, call: Callable[[], _T], then: Callable[[_T], object]) -> None:
        """Makes *call*, which raises nothing, like :meth:`send`; *then* gets what it returned.

        This happens before anybody goes on who waits for a later call. Does nothing after
        :meth:`close`.
        """
        if not self._closed:
            self.send(call).addCallback(then).addErrback(self._log)

    def flush(self, seconds: float) -> Deferred[bool]:
        """Waits at most *seconds* for all calls that were sent; returns whether they were made."""
        if self._closed or self._thread is None:
            return succeed(True)
        return _in_time(self.send(lambda: True), seconds, False)

    def close(self, seconds: float) -> Deferred[bool]:
        """Takes no more calls, and waits like :meth:`flush`.

        Calls that were not made in time are still made, unless the process ends first.
        """
        done = self.flush(seconds)
        self._closed = True
        self._errands.put(None)
        return done

    def _log(self, failure: Failure) -> None:
        error = failure.value
        logger.error("%s: %r", self._name, error, exc_info=error)

    def _run(self) -> None:
        while (errand := self._errands.get()) is not None:
            self._began_at = monotonic()
            errand()
            self._began_at = inf


class InPlace(Courier):
    """A courier that makes calls at once and without a thread, for calls that never take long."""

    def send(self, call: Callable[[], _T]) -> Deferred[_T]:
        """Makes *call* at once; the Deferred has what it returned or raised."""
        return maybeDeferred(call)


def _in_time(answer: Deferred[_T], seconds: float, late: _T | Failure) -> Deferred[_T]:
    """Returns *answer*, which becomes *late* if it does not come within *seconds*."""
    alarm = call_later(seconds, _answer, answer, late)

    def came(result: _T) -> _T:
        alarm.cancel()
        return result

    return answer.addBoth(came)


def _answer(waiter: Deferred[_T], result: _T | Failure) -> None:
    if not waiter.called:
        waiter.callback(result)


def _caller_in_loop() -> Callable[..., None]:
    """Returns a function that calls another in the current loop, from any thread."""
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
