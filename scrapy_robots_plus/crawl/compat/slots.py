"""Downloader slots: their keys, their clock, their delays, and their transfers.

Needed by 2.14 to 2.19. Slots are to be deprecated by the throttler of
https://github.com/scrapy/scrapy/pull/6931; then the floors of delays move into it.
"""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any

import scrapy.core.downloader as downloader_module
from scrapy import Request

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from scrapy.core.downloader import Downloader, Slot


SLOT_META_KEY = "download_slot"
"""``Downloader.DOWNLOAD_SLOT``: the downloader writes it, and redirects copy it."""


def slot_key(downloader: Downloader, request: Request) -> str:
    """The key of the slot that *request* goes to."""
    return downloader.get_slot_key(request)


slot_clock: Callable[[], float] = getattr(downloader_module, "monotonic", None) or time.time
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


def longest_delay(slot: Slot) -> float:
    """The longest delay in seconds that *slot* can draw at random."""
    return slot.delay * (1 + slot_jitter(slot))


class _Transfers(set[Request]):
    """``Slot.transferring``: reports each request that is added or removed.

    The downloader asks for its length when the next request of the slot could go: it does not, if
    there seem to be as many as the slot allows.
    """

    def __init__(
        self,
        requests: Iterable[Request],
        begun: Callable[[Request], None],
        ended: Callable[[Request], None],
        may_begin: Callable[[int], bool],
    ) -> None:
        super().__init__(requests)
        self._begun = begun
        self._ended = ended
        self._may_begin = may_begin

    def __len__(self) -> int:
        under_way = super().__len__()
        return under_way if self._may_begin(under_way) else sys.maxsize

    def add(self, request: Request) -> None:
        super().add(request)
        self._begun(request)

    def remove(self, request: Request) -> None:
        super().remove(request)
        self._ended(request)


def watch_transfers(
    slot: Slot,
    begun: Callable[[Request], None],
    ended: Callable[[Request], None],
    may_begin: Callable[[int], bool],
) -> None:
    """Calls *begun* just before a request of *slot* is handed to its download handler.

    Calls *ended* when the handler is done, just before the downloader decides when the next one may
    go. Scrapy sends no signal at these moments.

    Calls *may_begin*, with the number of requests under way, when the delay has passed and the
    first request in the queue could go: if that returns False, it stays until :func:`look_again`.
    """
    slot.transferring = _Transfers(slot.transferring, begun, ended, may_begin)


def look_again(downloader: Downloader, slot: Slot) -> None:
    """Makes *downloader* send the next request of *slot* if it may go, or set a timer for it."""
    slot.close()  # its timer, which may ring too late
    downloader._process_queue(slot)  # noqa: SLF001
