"""Coroutines and Deferreds, in any loop."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Any, TypeVar

from scrapy.utils.asyncio import call_later
from scrapy.utils.defer import deferred_from_coro, maybe_deferred_to_future
from twisted.internet.defer import CancelledError, Deferred

if TYPE_CHECKING:
    from collections.abc import Coroutine

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


async def wait_for(waiter: Deferred[_T]) -> _T:
    """Waits for a Deferred that nothing else waits for, in every reactor mode.

    A Deferred shared by several waiters gives its result to the first only. Needed and can go as
    :func:`run_in_background`.
    """
    return await maybe_deferred_to_future(waiter)


async def sleep(seconds: float) -> None:
    """Lets everything else in the loop go on for *seconds*.

    Needed by 2.14 to 2.17; ``scrapy.utils.asyncio.sleep`` is there from 2.18. Can go with 2.17.
    """
    waiter: Deferred[None] = Deferred()
    call_later(seconds, waiter.callback, None)
    await wait_for(waiter)


def loop_in_use() -> object:
    """What runs the code that asks: the asyncio loop, or the thread if another reactor runs there.

    Needed and can go as :func:`run_in_background`.
    """
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return threading.get_ident()
