"""Downloader slots: their keys, their clock, their delays, their places and their queues.

Needed by 2.14 to 2.19. With a throttler (https://github.com/scrapy/scrapy/pull/6931), slots are
views that warn: its scopes answer in their place, see :class:`Scope`.
"""

from __future__ import annotations

import json
import time
from functools import partial
from typing import TYPE_CHECKING, Any

import scrapy.core.downloader as downloader_module
from scrapy.utils.asyncio import call_later

from .crawler import wake_engine

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy import Request
    from scrapy.core.downloader import Downloader, Slot
    from scrapy.crawler import Crawler


def throttler_of(downloader: Any) -> Any:
    """``crawler.throttler``; None in versions without one."""
    return getattr(getattr(downloader, "crawler", None), "throttler", None)


class Scope:
    """What a request's throttling scopes say together: what a ``Slot`` does, in its words.

    When all versions have a throttler, those who ask for slots can ask it.
    """

    queue = ()
    """What waits for a scope has not reached the downloader."""

    def __init__(self, key: str, downloader: Any) -> None:
        """*key*: what ``throttler.get_scopes_key()`` returned; empty for no scope."""
        self._throttler = throttler = throttler_of(downloader)
        names: list[str] = json.loads(key) if key.startswith("[") else [key] if key else []
        self._scopes = [(name, throttler.get_scope_manager(name)) for name in names]
        self._downloader = downloader
        self.transferring = self
        """The requests that download handlers have, and their places in the scopes."""

    @property
    def concurrency(self) -> int:
        """How many requests may be under way; 0 for no limit, as in a slot."""
        return min((scope.get_concurrency() for _, scope in self._scopes), default=0)

    @property
    def delay(self) -> float:
        return max((scope.get_base_delay() for _, scope in self._scopes), default=0.0)

    @property
    def jitter(self) -> float:
        usual = self._throttler.crawler.settings.getfloat("DOWNLOAD_DELAY_JITTER")
        return max((getattr(scope, "_jitter", usual) for _, scope in self._scopes), default=0.0)

    @property
    def lastseen(self) -> float:
        """When it has let the last request go, as far as known."""
        return max(
            (getattr(scope, "_last_seen", None) or 0.0 for _, scope in self._scopes), default=0.0
        )

    def __contains__(self, request: Request) -> bool:
        return request in self._downloader._in_download_handler  # noqa: SLF001

    def remove(self, request: Request) -> None:
        """Others of its scopes may go in its place."""
        self._throttler.release(request)

    def add(self, request: Request) -> None:
        """It has a place again, until it ends. Scrapy has no public name for taking one without
        waiting: a throttler of another kind counts the request no more.
        """
        reserve = getattr(self._throttler, "_record_reservation", None)
        if reserve is not None:
            reserve(request, self._scopes)


SLOT_META_KEY = "download_slot"
"""``Downloader.DOWNLOAD_SLOT``: the downloader writes it, and redirects copy it."""


def slot_key(downloader: Downloader, request: Request) -> str:
    """The key of the slot that *request* goes to, or of its scopes."""
    throttler = throttler_of(downloader)
    key: str = (throttler.get_scopes_key if throttler else downloader.get_slot_key)(request)
    return key


def has_throttler(crawler: Crawler) -> bool:
    """Whether scopes of a throttler stand in the place of slots."""
    return getattr(crawler, "throttler", None) is not None


def scopes_key(downloader: Downloader, request: Request) -> str | None:
    """The key of the scopes that *request* goes to; None if it has none, or a slot instead."""
    return slot_key(downloader, request) if throttler_of(downloader) is not None else None


slot_clock: Callable[[], float] = getattr(downloader_module, "time", time.monotonic)
"""The clock of ``Slot.lastseen``: the wall clock up to 2.15, a monotonic clock from 2.16.

Can go with 2.15.
"""


_of_spider: Any = getattr(downloader_module, "_get_concurrency_delay", None)
"""The concurrency and delay that a spider and the settings ask for.

Can go with 2.17.
"""


def new_slot(downloader: Downloader, key: str) -> tuple[int, float, float]:
    """The concurrency, delay and jitter that a slot not yet created will have.

    2.14 to 2.17 ask the spider for the delay, too; 2.18 and 2.19 only the downloader.
    """
    if throttler_of(downloader) is not None:
        scope = Scope(key, downloader)
        return scope.concurrency, scope.delay, scope.jitter
    own: dict[str, Any] = downloader.per_slot_settings.get(key, {})
    places = downloader.ip_concurrency or downloader.domain_concurrency
    delay: Any = getattr(downloader, "_delay", None)  # from 2.18
    if _of_spider is not None:  # up to 2.17
        places, delay = _of_spider(places, downloader.crawler.spider, downloader.settings)
    jitter = own.get("jitter", getattr(downloader, "_jitter", 0.5))  # from 2.19
    return int(own.get("concurrency", places)), float(own.get("delay", delay)), float(jitter)


def least_delay(delay: float, jitter: float) -> float:
    """The shortest delay that a slot can draw at random; with a jitter above 1 it is 0."""
    return delay * max(0.0, 1 - jitter)


def slot_jitter(slot: Slot) -> float:
    """The largest part of the delay that is subtracted at random.

    A number from 2.19, a half or nothing before. Can go with 2.18, as can :func:`set_slot_jitter`.
    """
    if hasattr(slot, "jitter"):  # from 2.19
        return float(slot.jitter)
    return 0.5 if slot.randomize_delay else 0.0  # up to 2.18


def set_slot_jitter(slot: Slot, jitter: float) -> None:
    if hasattr(slot, "jitter"):  # from 2.19
        slot.jitter = jitter
    else:  # up to 2.18
        slot.randomize_delay = bool(jitter)


def is_untouched(slot: Slot) -> bool:
    """Whether *slot* has sent nothing yet.

    It counts its delay from the beginning of its clock: from 2.16 that may be when the machine was
    started, and a delay that is longer holds back even the first request.
    """
    return not slot.lastseen


class Slots:
    """The downloader slots of a crawl, as the door sees them: by key, if they exist."""

    get: Callable[[str], Slot | None]
    """The slot with a key, if there is one; with a throttler, what stands for it."""

    def __init__(self, downloader: Downloader) -> None:
        self._downloader = downloader
        self._has_scopes = throttler_of(downloader) is not None
        of_key: Any = partial(Scope, downloader=downloader)
        self.get = of_key if self._has_scopes else downloader.slots.get

    def showing(self, key: str) -> Slot | None:
        """The slot, if a delay may be shown in it. What a scope of a throttler delays waits before
        the middlewares, and counts as concurrent: there, only the door keeps it.
        """
        return None if self._has_scopes else self.get(key)

    def least_delay(self, key: str) -> float:
        """The shortest delay in seconds that the slot can draw."""
        slot = self.get(key)
        return least_delay(slot.delay, slot_jitter(slot)) if slot is not None and slot.delay else 0

    def has_place(self, key: str) -> bool:
        """Whether fewer requests are under way than the slot allows. Scopes are not asked."""
        slot = None if self._has_scopes else self.get(key)
        return slot is None or slot.concurrency <= 0 or slot.free_transfer_slots() > 0

    def leave_place(self, key: str, request: Request) -> None:
        """*request*, which the downloader takes to be under way, lets the next of its slot go."""
        slot = self.get(key)
        if slot is None or request not in slot.transferring:
            return
        slot.transferring.remove(request)
        call_later(0, self._look, key)

    def take_place(self, key: str, request: Request) -> None:
        """*request* is under way again, or the downloader is to take it to be so."""
        slot = self.get(key)
        if slot is not None:
            slot.transferring.add(request)

    def fail_queued(self, error: type[Exception], fails: Callable[[Request], bool]) -> None:
        """The queued requests of all slots that *fails* is true of end in *error*."""
        slots = () if self._has_scopes else self._downloader.slots.values()
        for slot in [each for each in slots if each.queue]:
            failing = [each for each in slot.queue if fails(each[0])]
            if not failing:
                continue
            slot.close()  # its timer: the others need not wait for what has ended
            for each in failing:  # first: a callback may queue another one
                slot.queue.remove(each)
            for _, waiter in failing:
                waiter.errback(error())
            self._downloader._process_queue(slot)  # noqa: SLF001

    def _look(self, key: str) -> None:
        slot = self.get(key)
        if self._has_scopes:
            wake_engine(self._downloader.crawler)
        elif slot is not None:
            self._downloader._process_queue(slot)  # noqa: SLF001
