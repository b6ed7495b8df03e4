"""What the door knows of downloader slots. Nothing waits."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from scrapy import Request
from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from scrapy_robots_plus import compat
from scrapy_robots_plus.crawl.clock import Clock
from scrapy_robots_plus.hosts.line import Doorway
from scrapy_robots_plus.hosts.slot_delays import ShownDelay
from tests.crawling import new_slot

if TYPE_CHECKING:
    from scrapy.core.downloader import Slot


def used(delay: float = 0.0, jitter: float = 0.0) -> Slot:
    slot = new_slot(8, delay, jitter)
    slot.lastseen = 1.0
    return slot


def shown(slot: Slot) -> tuple[float, float]:
    return slot.delay, compat.slot_jitter(slot)


@pytest.mark.parametrize(
    ("own", "delay", "raised"),
    [
        ((0.0, 0.5), 0.0, (0.0, 0.5)),
        ((4.0, 0.5), 2.0, (4.0, 0.5)),
        ((4.0, 0.5), 2.1, (4.0, 0.0)),
        ((1.0, 0.5), 2.0, (2.0, 0.0)),
        ((1.0, 0.0), 1.0, (1.0, 0.0)),
    ],
)
def test_a_delay_changes_only_where_it_would_go_below(
    own: tuple[float, float], delay: float, raised: tuple[float, float]
) -> None:
    slot = used(*own)
    ShownDelay().show(slot, delay)
    assert shown(slot) == raised


def test_its_own_delay_comes_back() -> None:
    slot, show = used(0.1, 0.5), ShownDelay()
    for delay, found in ((1.0, (1.0, 0.0)), (3.0, (3.0, 0.0)), (0.0, (0.1, 0.5))):
        show.show(slot, delay)
        assert shown(slot) == found


def test_a_delay_that_auto_throttle_found_is_what_it_goes_back_to() -> None:
    slot, show = used(0.1), ShownDelay()
    show.show(slot, 1.0)
    slot.delay = 5.0
    show.show(slot, 1.0)
    assert slot.delay == 5.0
    slot.delay = 0.3
    show.show(slot, 1.0)
    assert slot.delay == 1.0
    show.show(slot, 0.0)
    assert slot.delay == 0.3


def test_a_slot_that_is_made_anew_shows_it_too() -> None:
    show, again = ShownDelay(), used(0.2)
    show.show(used(0.1), 1.0)
    show.show(again, 1.0)
    assert again.delay == 1.0
    show.show(again, 0.0)
    assert again.delay == 0.2


def test_a_slot_that_has_sent_nothing_shows_nothing() -> None:
    """Scrapy would hold its first request back, as if one had been sent when the clock began."""
    slot = new_slot()
    ShownDelay().show(slot, 1_000_000_000.0)
    assert slot.delay == 0.0


def test_a_slot_that_showed_nothing_is_left_alone() -> None:
    slot = used(0.7, 0.5)
    ShownDelay().show(slot, 0.0)
    assert shown(slot) == (0.7, 0.5)


class Downloader:
    def __init__(self, **slots: Slot) -> None:
        self.slots = slots
        self.looked: list[Slot] = []
        self._process_queue = self.looked.append


def slots_of(**slots: Slot) -> compat.Slots:
    downloader: Any = Downloader(**slots)
    return compat.Slots(downloader)


def doorway_of(**slots: Slot) -> Doorway:
    engine = SimpleNamespace(downloader=Downloader(**slots))
    crawl: Any = SimpleNamespace(clock=Clock(), crawler=SimpleNamespace(engine=engine))
    pace: Any = None
    return Doorway(crawl, pace)


def test_the_least_delay_of_a_slot_counts_from_its_last_handover() -> None:
    doorway = doorway_of(own=used(2.0, 0.5), none=used())
    for key in ("own", "none", "unknown"):
        assert doorway.slot_lets_go_at(key) < 0
        doorway.left_slot(key, 10.0)
    assert list(doorway.last_of_slots) == ["own"]
    assert doorway.slot_lets_go_at("own") == 11.0


def test_the_slots_used_last_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Doorway, "MOST_SLOTS", 4)
    slots = {f"s{number}": used(1.0) for number in range(10)}
    doorway = doorway_of(**slots)
    for key in slots:
        doorway.left_slot(key, 1.0)
    assert list(doorway.last_of_slots) == ["s6", "s7", "s8", "s9"]


def test_the_requests_that_wait_in_any_slot_fail() -> None:
    slots, failed = slots_of(one=used(), two=used()), []

    def queue(key: str, path: str) -> None:
        slot = slots.get(key)
        assert slot is not None
        waiter: Deferred[Any] = Deferred()
        waiter.addErrback(lambda _: failed.append((key, path)))
        slot.queue.append((Request(f"http://a.example/{path}"), waiter))

    for key in ("one", "two"):
        queue(key, "a")
        queue(key, "b")
    slots.fail_queued(ValueError, lambda request: request.url.endswith("b"))
    assert failed == [("one", "b"), ("two", "b")]
    slot = slots.get("two")
    assert slot is not None
    assert [request.url for request, _ in slot.queue] == ["http://a.example/a"]


def test_a_place_is_one_of_those_that_the_slot_allows() -> None:
    slots, request = slots_of(one=new_slot(1)), Request("http://a.example/")
    assert slots.has_place("one")
    slots.take_place("one", request)
    assert not slots.has_place("one")
    assert slots.has_place("unknown")
    slots.take_place("unknown", request)
    slots.leave_place("unknown", request)


def test_a_failure_is_what_the_error_says() -> None:
    slots = slots_of(one=used())
    slot = slots.get("one")
    assert slot is not None
    waiter: Deferred[Any] = Deferred()
    slot.queue.append((Request("http://a.example/"), waiter))
    slots.fail_queued(KeyError, lambda _: True)
    found: list[Failure] = []
    waiter.addErrback(found.append)
    assert found[0].type is KeyError
