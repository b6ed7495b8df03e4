"""What a throttler says is understood as slots are, and a version without one has none.

The throttler here has the names of https://github.com/scrapy/scrapy/pull/6931 that this package
uses. Whole crawls with the real one: ``make test-next``.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from scrapy import Request
from scrapy.settings import Settings

from scrapy_robots_plus import compat

PAGE = Request("http://a.example/page")


class Scope:
    """A ``ThrottlingScopeManager``."""

    def __init__(self, concurrency: int = 8, delay: float = 0.0, **own: Any) -> None:
        self.concurrency = concurrency
        self.delay = delay
        vars(self).update(own)

    def get_concurrency(self) -> int:
        return self.concurrency

    def get_base_delay(self) -> float:
        return self.delay


class Throttler:
    def __init__(self, **scopes: Scope) -> None:
        self.crawler = SimpleNamespace(settings=Settings({"DOWNLOAD_DELAY_JITTER": 0.25}))
        self.get_scope_manager = scopes.__getitem__
        self.released: list[Request] = []

    def get_scopes_key(self, request: Request) -> str:
        key: str = request.meta["scopes"]
        return key

    def release(self, request: Request) -> None:
        self.released.append(request)


def downloader_with(throttler: Throttler | None, **names: Any) -> Any:
    crawler = SimpleNamespace(throttler=throttler)
    return SimpleNamespace(crawler=crawler, active={PAGE}, _in_download_handler={PAGE}, **names)


def slot_of(throttler: Throttler, key: str) -> Any:
    return compat.Slots(downloader_with(throttler)).get(key)


def test_a_scope_is_as_a_slot() -> None:
    throttler = Throttler(a=Scope(2, 3.0, _jitter=0.5, _last_seen=7.0))
    slot = slot_of(throttler, "a")
    assert (slot.concurrency, slot.delay, slot.lastseen) == (2, 3.0, 7.0)
    assert compat.slot_jitter(slot) == 0.5
    assert compat.new_slot(downloader_with(throttler), "a") == (2, 3.0, 0.5)
    assert not slot.queue


def test_of_several_scopes_the_strictest_counts() -> None:
    throttler = Throttler(
        a=Scope(2, 1.0, _jitter=0.0, _last_seen=9.0), b=Scope(5, 4.0, _jitter=0.5)
    )
    slot = slot_of(throttler, '["a", "b"]')
    assert (slot.concurrency, slot.delay, slot.jitter, slot.lastseen) == (2, 4.0, 0.5, 9.0)


def test_a_scope_that_tells_less_is_taken_for_a_usual_one() -> None:
    slot = slot_of(Throttler(a=Scope()), "a")
    assert (slot.jitter, slot.lastseen) == (0.25, 0.0)


def test_a_request_without_scopes_has_no_limit() -> None:
    slot = slot_of(Throttler(), "")
    assert (slot.concurrency, slot.delay, slot.lastseen) == (0, 0.0, 0.0)


def test_the_scopes_of_a_request_are_its_key() -> None:
    request = Request("http://a.example/", meta={"scopes": "proxy", "download_slot": "old"})
    downloader = downloader_with(Throttler())
    assert compat.scopes_key(downloader, request) == compat.slot_key(downloader, request) == "proxy"
    without = downloader_with(None, get_slot_key=lambda _: "own")
    assert compat.scopes_key(without, request) is None
    assert compat.slot_key(without, request) == "own"


def test_what_waits_at_the_door_leaves_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    throttler = Throttler(a=Scope())
    woken: list[Any] = []
    monkeypatch.setattr("scrapy_robots_plus.compat.downloader_slots.wake_engine", woken.append)
    monkeypatch.setattr(
        "scrapy_robots_plus.compat.downloader_slots.call_later",
        lambda _, call, *given: call(*given),
    )
    downloader = downloader_with(throttler)
    slots = compat.Slots(downloader)
    slots.leave_place("a", PAGE)
    assert throttler.released == [PAGE]
    assert woken == [downloader.crawler]
    slots.take_place("a", PAGE)  # of a throttler that cannot be told
    taken: list[Any] = []
    monkeypatch.setattr(
        throttler, "_record_reservation", lambda *given: taken.append(given), raising=False
    )
    slots.take_place("a", PAGE)
    assert [(request, [name for name, _ in scopes]) for request, scopes in taken] == [(PAGE, ["a"])]


def test_a_delay_is_not_shown_in_a_scope() -> None:
    slots = compat.Slots(downloader_with(Throttler(a=Scope())))
    assert slots.get("a") is not None
    assert slots.showing("a") is None
    slots.fail_queued(ValueError, lambda _: True)  # nothing waits in a scope
