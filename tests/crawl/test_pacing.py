"""Floors by origin and by slot, at a clock that the test sets. Nothing waits."""

from __future__ import annotations

from math import inf
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest
import pytest_twisted
from scrapy import Request, signals
from scrapy.utils.defer import deferred_from_coro
from twisted.internet.defer import Deferred

from scrapy_robots_plus.crawl import compat, stats
from scrapy_robots_plus.crawl.pacing.backoff import HeldAtClosing
from scrapy_robots_plus.crawl.pacing.floors import Floors
from scrapy_robots_plus.crawl.pacing.shared.shared_pace import Ask
from scrapy_robots_plus.policy.origin import Origin
from tests.waiting import in_loop, until

from .held_crawl import NOW, ORIGIN, URL, Crawl
from .held_crawl import crawls_end as crawls_end

if TYPE_CHECKING:
    from scrapy_robots_plus.crawl.policies.policy import Policy

pytestmark = pytest.mark.usefixtures("crawls_end")


def test_a_retry_after_holds_every_slot_with_requests_to_the_host() -> None:
    crawl = Crawl()
    for slot in ("one", "two"):
        crawl.queue(slot)
    crawl.queue("other", "http://b.example/")
    crawl.answer("one", retry_after="30")
    waits = {slot: pytest.approx(crawl.due_in(slot)) for slot in crawl.slots}
    assert waits == {"one": 30, "two": 30, "other": 0}


def test_a_retry_after_holds_the_slot_that_the_host_was_sent_to_meanwhile() -> None:
    crawl = Crawl()
    crawl.hold(1.0)
    crawl.queue("before")
    crawl.slots["before"].queue.clear()
    crawl.answer("before", retry_after="30")
    assert crawl.due_in("a.example") == pytest.approx(30)


@pytest.mark.parametrize(
    ("headers", "wait"),
    [
        ({"retry_after": "30"}, 30),
        ({"retry_after": "9999"}, 300),  # ROBOTS_RETRY_AFTER_MAX
        ({"retry_after": "Mon, 12 Jan 1970 13:47:20 GMT"}, 40),  # by our clock
        (
            {
                "retry_after": "Thu, 01 Jan 1970 00:01:00 GMT",
                "date": "Thu, 01 Jan 1970 00:00:10 GMT",
            },
            50,
        ),
        ({"retry_after": "30", "date": "Thu, 01 Jan 1970 00:00:10 GMT"}, 30),
        ({}, 0),
    ],
)
def test_how_long(headers: dict[str, Any], wait: float) -> None:
    crawl = Crawl()
    crawl.queue("a.example")
    crawl.answer("a.example", **headers)
    assert crawl.due_in("a.example") == pytest.approx(wait)


def test_switched_off() -> None:
    crawl = Crawl(ROBOTS_RETRY_AFTER=False)
    crawl.queue("a.example")
    crawl.answer("a.example", retry_after="30")
    assert crawl.due_in("a.example") == 0


def test_after_the_wait_the_host_is_asked_slowly_and_then_as_before() -> None:
    crawl = Crawl()
    crawl.queue("a.example")
    crawl.answer("a.example", retry_after="10")
    crawl.now += 10
    delays = []
    for _ in range(6):
        crawl.answer("a.example", status=200)
        delays.append(crawl.slots["a.example"].delay)
    assert delays == sorted(delays, reverse=True)
    assert delays[0] == pytest.approx(0.5)
    assert delays[-1] == 0


def test_visiting_hours_are_waited_for() -> None:
    crawl = Crawl()
    crawl.hold(None, opens_in=3600)
    assert crawl.due_in("a.example") == pytest.approx(3600)


def test_a_host_without_a_delay_goes_where_it_likes_again() -> None:
    crawl = Crawl()
    assert crawl.hold(2.0).meta["download_slot"] == "a.example"
    assert crawl.slots["a.example"].delay == 2.0
    assert crawl.pacing.assigns_slots
    assert "download_slot" not in crawl.hold(None).meta
    assert crawl.slots["a.example"].delay == 0
    assert not crawl.pacing.assigns_slots


def test_visiting_hours_that_have_begun_let_the_host_go_as_before() -> None:
    crawl = Crawl()
    crawl.hold(None, opens_in=60)
    crawl.now += 60
    assert "download_slot" not in crawl.hold(None).meta
    assert crawl.due_in("a.example") == 0


def test_a_host_without_a_delay_stays_where_it_is_while_it_is_asked_slowly() -> None:
    crawl = Crawl()
    crawl.queue("own")
    crawl.answer("own", retry_after="10")
    assert crawl.hold(None).meta["download_slot"] == "own"
    crawl.now += 10
    assert crawl.hold(None).meta["download_slot"] == "own"
    for _ in range(6):
        crawl.answer("own", status=200)
    assert "download_slot" not in crawl.hold(None).meta


def test_all_requests_of_a_host_with_a_delay_go_to_the_slot_of_the_first() -> None:
    crawl = Crawl()
    crawl.hold(2.0)
    request = Request(URL + "other", meta={"download_slot": "elsewhere"})
    crawl.pacing.pin(request, ORIGIN)
    assert request.meta["download_slot"] == "a.example" == crawl.pacing.slot_of(ORIGIN)


def test_a_request_to_a_host_that_is_not_held_stays_where_it_is() -> None:
    crawl = Crawl()
    request = Request(URL, meta={"download_slot": "elsewhere"})
    crawl.pacing.pin(request, ORIGIN)
    assert request.meta["download_slot"] == "elsewhere"


def test_a_slot_that_a_redirect_took_along_is_not_kept() -> None:
    crawl = Crawl()
    meta = {"download_slot": "b.example", "redirect_urls": ["http://b.example/"]}
    request = Request(URL, meta=meta)
    crawl.pacing.assign_slot(
        request, ORIGIN, cast("Policy", SimpleNamespace(delay=1.0, opens_in=0.0))
    )
    assert request.meta["download_slot"] == "a.example"


URLS = [f"http://{name}.example/" for name in "abc"]


def test_floors_beyond_the_size_of_the_cache_go_when_nothing_waits_for_them() -> None:
    crawl = Crawl(ROBOTS_CACHE_SIZE=2)
    for url in URLS:
        crawl.hold(2.0, url)
    assert crawl.held(URLS) == URLS  # each may be on its way to its slot
    crawl.now += 60
    crawl.hold(2.0, URLS[0])
    assert crawl.held(URLS) == [URLS[0], URLS[2]]


def test_the_first_one_too_many_goes_at_once() -> None:
    crawl = Crawl(ROBOTS_CACHE_SIZE=2)
    crawl.hold(2.0, URLS[0])
    crawl.hold(2.0, URLS[1])
    crawl.now += 60
    crawl.hold(2.0, URLS[1])
    crawl.hold(2.0, URLS[2])
    assert crawl.held(URLS) == URLS[1:]


def test_floors_that_are_needed_are_searched_for_once_a_second() -> None:
    crawl = Crawl(ROBOTS_CACHE_SIZE=2)
    crawl.now += 100
    for url in URLS:
        crawl.hold(2.0, url)
    crawl.now += 60
    for url in URLS:
        crawl.slots[url.split("/")[2]].queue.append((Request(url), Deferred()))
    crawl.answer("elsewhere", status=200)
    assert crawl.held(URLS) == URLS
    for slot in crawl.slots.values():
        slot.queue.clear()
    crawl.now += Floors.TRIM_SECONDS / 2
    crawl.answer("elsewhere", status=200)
    assert crawl.held(URLS) == URLS
    crawl.now += Floors.TRIM_SECONDS / 2
    crawl.answer("elsewhere", status=200)
    assert crawl.held(URLS) == URLS[1:]


def test_origins_beyond_the_size_of_the_cache_go_where_all_share_one_slot() -> None:
    crawl = Crawl(ROBOTS_CACHE_SIZE=2)
    for url in URLS:
        assert crawl.hold(2.0, url, download_slot="proxy").meta["download_slot"] == "proxy"
    crawl.now += 60
    crawl.answer("elsewhere", status=200)
    assert crawl.held(URLS) == URLS[1:]


def test_slots_beyond_the_size_of_the_cache_are_as_before_after_a_retry_after() -> None:
    crawl = Crawl(ROBOTS_CACHE_SIZE=2)
    for name in ("one", "two", "three"):
        crawl.queue(name)
    crawl.answer("one", retry_after="10")
    for slot in crawl.slots.values():
        slot.queue.clear()
    crawl.now += 60
    crawl.answer("elsewhere", status=200)
    delays = {name: slot.delay for name, slot in crawl.slots.items()}
    assert sorted(delays.values()) == [0.0, 1.0, 1.0]
    assert delays["one"] == 1.0  # where the host is sent to


def test_the_head_of_an_answer_says_that_its_request_has_left() -> None:
    crawl = Crawl()
    request = crawl.hold(2.0)
    slot = crawl.slots["a.example"]
    slot.lastseen = crawl.now - NOW
    slot.transferring.add(request)
    crawl.now += 0.5
    assert crawl.due_in("a.example") > 10
    crawl.signals.send_catch_log(signals.headers_received, request=request)
    assert crawl.due_in("a.example") == 2.0


def test_each_retry_after_is_counted() -> None:
    crawl = Crawl()
    for status in (429, 200, 503):
        crawl.answer("a.example", status=status, retry_after="1")
    assert crawl.stats.get_stats() == {stats.RETRY_AFTER: 2}


@pytest.mark.parametrize("reason", ["retry-after", "visit-time"])
@pytest_twisted.ensureDeferred
async def test_a_spider_that_closes_waits_for_no_host(reason: str) -> None:
    crawl = Crawl()
    if reason == "retry-after":
        crawl.answer("a.example", retry_after="9")
    else:
        crawl.hold(None, opens_in=9.0)
    held = crawl.queue("a.example")
    waiter = held.queue[0][1]
    other = crawl.queue("b.example", "http://b.example/")
    crawl.engine_slot.closing = Deferred()
    with pytest.raises(HeldAtClosing) as caught:
        await waiter
    assert str(caught.value) == (
        "the spider closed while the request waited for a Retry-After or Visit-time or for "
        "other crawls, or its host refused requests"
    )
    assert not held.queue
    assert len(other.queue) == 1


# With other crawls


def of_another_crawl(crawl: Crawl, delay: float, host: str = "a.example") -> float:
    """Its request leaves now, or after so many seconds."""
    waits: list[float] = []
    crawl.pace.ask(Ask(host, "other/0", delay, 0.0, inf, Request(URL)), waits.append)
    return waits[0]


def test_the_turns_of_other_crawls_are_waited_for() -> None:
    crawl = Crawl()
    assert crawl.pacing.turn_in("a.example", ORIGIN) == 0.0
    crawl.hold(2.0)
    assert of_another_crawl(crawl, 2.0) == 0.0
    assert crawl.pacing.turn_in("a.example", ORIGIN) == 2.0
    assert of_another_crawl(crawl, 2.0, "b.example") == 0.0
    without_delay = Origin("http", "b.example", 80)
    assert crawl.pacing.turn_in("a.example", without_delay) == 0.0


def test_a_request_that_fails_may_have_left_until_then() -> None:
    crawl = Crawl()
    crawl.hold(2.0)
    request = crawl.send("a.example")
    crawl.now += 3.0
    assert of_another_crawl(crawl, 2.0) == pytest.approx(0.2)  # it may leave yet: look again soon
    crawl.slots["a.example"].transferring.remove(request)
    assert of_another_crawl(crawl, 2.0) == 2.0


def test_a_host_that_asks_for_a_pause_has_one_from_other_crawls_too() -> None:
    crawl = Crawl()
    crawl.queue("a.example")
    crawl.answer("a.example", retry_after="30")
    assert of_another_crawl(crawl, 1.0) == pytest.approx(30)


@in_loop
async def test_the_end_of_a_crawl_gives_its_turns_back_and_waits_until_all_is_told() -> None:
    crawl, told = Crawl(), Deferred[bool]()
    crawl.hold(2.0)
    assert crawl.pacing.turn_in("a.example", ORIGIN) == 0.0
    assert of_another_crawl(crawl, 2.0) > 0.0
    waits: list[float] = []

    def close() -> Deferred[bool]:
        waits.append(of_another_crawl(crawl, 2.0))
        return told

    crawl.pace.close = close  # type: ignore[assignment, method-assign]
    closing = deferred_from_coro(crawl.signals.send_catch_log_async(signals.spider_closed))
    await until(lambda: waits)
    assert waits == [0.0]
    assert not closing.called
    told.callback(True)
    await compat.wait_for(closing)
