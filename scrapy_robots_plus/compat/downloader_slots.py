"""Downloader slots: their keys, their clock, their delays, their places and their queues.

Needed for Scrapy 2.14 to 2.19. With a throttler (https://github.com/scrapy/scrapy/pull/6931), slots
are views that warn, so its scopes are asked instead: see :class:`Scope`.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import scrapy.core.downloader as downloader_module
from scrapy import Request
from scrapy.core.downloader import Downloader, Slot
from scrapy.crawler import Crawler
from scrapy.utils.asyncio import call_later

from .crawler import wake_engine


def throttler_of(downloader: Any) -> Any:
    """Returns ``crawler.throttler``; None in Scrapy versions without one."""
    return getattr(getattr(downloader, "crawler", None), "throttler", None)


class Scope:
    """The throttling scopes of a request, taken together, with the interface of a ``Slot``.

    When all Scrapy versions have a throttler, callers can ask that instead of slots.
    """

    queue = ()
    """An empty queue: what waits for a scope has not reached the downloader."""

    def __init__(self, key: str, downloader: Any) -> None:
        """Takes *key*, which ``throttler.get_scopes_key()`` returned; empty for no scope."""
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
        """When the last request was let go, as far as known; 0 if it is not."""
        seen = (getattr(scope, "_last_seen", None) or 0.0 for _, scope in self._scopes)
        return max(seen, default=0.0)

    def __contains__(self, request: Request) -> bool:
        return request in self._downloader._in_download_handler  # noqa: SLF001

    def remove(self, request: Request) -> None:
        """Frees the places of *request* in its scopes for others."""
        self._throttler.release(request)

    def add(self, request: Request) -> None:
        """Gives *request* a place again, until it ends.

        Scrapy has no public name for taking one without waiting: a throttler of another kind no
        longer counts the request.
        """
        reserve = getattr(self._throttler, "_record_reservation", None)
        if reserve is not None:
            reserve(request, self._scopes)


SLOT_META_KEY = "download_slot"
"""``Downloader.DOWNLOAD_SLOT``, a meta key that the downloader sets and redirects copy."""


def slot_key(downloader: Downloader, request: Request) -> str:
    """Returns the key of the slot that *request* goes to; with a throttler, of its scopes."""
    throttler = throttler_of(downloader)
    key: str = (throttler.get_scopes_key if throttler else downloader.get_slot_key)(request)
    return key


def has_throttler(crawler: Crawler) -> bool:
    """Returns whether scopes of a throttler take the place of slots."""
    return getattr(crawler, "throttler", None) is not None


def scopes_key(downloader: Downloader, request: Request) -> str | None:
    """Returns the key of the scopes of *request*; None if slots are used instead."""
    return slot_key(downloader, request) if throttler_of(downloader) is not None else None


slot_clock: Callable[[], float] = getattr(downloader_module, "time", time.monotonic)
"""The clock of ``Slot.lastseen``: the wall clock up to Scrapy 2.15, a monotonic one from 2.16.
Remove with 2.15."""


_of_spider: Any = getattr(downloader_module, "_get_concurrency_delay", None)
"""Scrapy's function for the concurrency and delay of a spider and the settings; None from 2.18.
Remove with 2.17."""


def new_slot(downloader: Downloader, key: str) -> tuple[int, float, float]:
    """Returns the concurrency, delay and jitter of a slot that is not yet created.

    Scrapy 2.14 to 2.17 also ask the spider for the delay; 2.18 and 2.19 only the downloader.
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
    """Returns the shortest delay that a slot can draw at random; 0 with a jitter above 1."""
    return delay * max(0.0, 1 - jitter)


def slot_jitter(slot: Slot) -> float:
    """Returns the largest fraction of the delay that is subtracted at random.

    Any number from Scrapy 2.19 on, 0.5 or 0 before. Remove with 2.18, with
    :func:`set_slot_jitter`.
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
    """Returns whether *slot* has sent nothing yet.

    Its delay then counts from the zero of its clock: from Scrapy 2.16 on, that may be the start of
    the machine, and a longer delay holds back even the first request.
    """
    return not slot.lastseen


class Slots:
    """The downloader slots of a crawl by key, as the door sees them, if they exist."""

    get: Callable[[str], Slot | None]
    """The lookup of a slot by key, None if there is none; with a throttler, of a :class:`Scope`."""

    def __init__(self, downloader: Downloader) -> None:
        self._downloader = downloader
        self._has_scopes = throttler_of(downloader) is not None
        of_key: Any = partial(Scope, downloader=downloader)
        self.get = of_key if self._has_scopes else downloader.slots.get

    def showing(self, key: str) -> Slot | None:
        """Returns the slot, if it exists and may show a delay.

        A scope may not: what it delays waits before the middlewares, and counts as concurrent. With
        a throttler, only the door keeps the delay.
        """
        return None if self._has_scopes else self.get(key)

    def least_delay(self, key: str) -> float:
        """Returns the shortest delay in seconds that the slot can draw; 0 without a slot."""
        slot = self.get(key)
        return least_delay(slot.delay, slot_jitter(slot)) if slot is not None and slot.delay else 0

    def has_place(self, key: str) -> bool:
        """Returns whether the slot has a free place; True without a slot, and with a throttler."""
        slot = None if self._has_scopes else self.get(key)
        return slot is None or slot.concurrency <= 0 or slot.free_transfer_slots() > 0

    def has_room(self, key: str) -> bool:
        """Returns whether the slot would send another request besides those that are in it.

        True without a slot; False with a throttler, where those without room have not come so far.
        """
        slot = self.get(key)
        if slot is None or self._has_scopes:
            return slot is None
        return slot.concurrency <= 0 or len(slot.active) < slot.concurrency

    def has_arrived(self, request: Request) -> bool:
        """Returns whether *request* is in its slot; with a throttler, where it waits before the
        middlewares, always True.
        """
        slot = None if self._has_scopes else self.get(request.meta.get(SLOT_META_KEY, ""))
        return self._has_scopes or (slot is not None and request in slot.active)

    def leave_place(self, key: str, request: Request) -> None:
        """Frees the place of *request*, still under way for the downloader, for the next one."""
        slot = self.get(key)
        if slot is None or request not in slot.transferring:
            return
        slot.transferring.remove(request)
        call_later(0, self._look, key)

    def take_place(self, key: str, request: Request) -> None:
        """Counts *request* as under way again: it is, or the downloader is about to remove it."""
        if slot := self.get(key):
            slot.transferring.add(request)

    def fail_queued(self, error: type[Exception], fails: Callable[[Request], bool]) -> None:
        """Fails with *error* those queued requests, in any slot, for which *fails* is true."""
        slots = () if self._has_scopes else self._downloader.slots.values()
        for slot in [each for each in slots if each.queue]:
            failing = [each for each in slot.queue if fails(each[0])]
            if not failing:
                continue
            slot.close()  # ends its timer: the others need not wait for those that fail
            for each in failing:  # before any errback, which may queue another one
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
