"""Which hosts have a pace, and what answers do to it, at a clock that the test sets."""

from __future__ import annotations

from collections import OrderedDict
from datetime import time
from math import inf
from typing import Any

import pytest
import pytest_twisted
from scrapy import Request, Spider, signals
from scrapy.utils.defer import deferred_from_coro
from twisted.internet.defer import Deferred

from scrapy_robots_plus import compat
from scrapy_robots_plus.crawl import stats
from scrapy_robots_plus.crawl.requests import fields_of
from scrapy_robots_plus.hosts.door import Door, HeldAtClosing
from scrapy_robots_plus.hosts.shared_pace import Ask
from scrapy_robots_plus.protocol.crawl_delay import VisitTime
from tests.crawl.held_crawl import URL, Crawl
from tests.crawl.held_crawl import crawls_end as crawls_end
from tests.waiting import in_loop, until

pytestmark = pytest.mark.usefixtures("crawls_end")


def test_a_retry_after_holds_the_host_and_no_other() -> None:
    crawl = Crawl()
    crawl.answer("one", retry_after="30")
    assert crawl.due_in("a.example") == pytest.approx(30)
    assert crawl.due_in("b.example") == 0
    assert crawl.held([URL, "http://b.example/"]) == [URL]


@pytest.mark.parametrize(
    ("headers", "wait"),
    [
        ({"retry_after": "30"}, 30),
        ({"retry_after": "9999"}, 300),  # ROBOTS_BACKOFF_MAX
        ({"retry_after": "Mon, 12 Jan 1970 13:47:20 GMT"}, 40),  # by our clock
        (
            {
                "retry_after": "Thu, 01 Jan 1970 00:01:00 GMT",
                "date": "Thu, 01 Jan 1970 00:00:10 GMT",
            },
            50,
        ),
        ({"retry_after": "30", "date": "Thu, 01 Jan 1970 00:00:10 GMT"}, 30),
        ({}, 1),  # a pause that backing off makes
    ],
)
def test_how_long(headers: dict[str, Any], wait: float) -> None:
    crawl = Crawl()
    crawl.answer("a.example", **headers)
    assert crawl.due_in("a.example") == pytest.approx(wait)


def test_switched_off() -> None:
    crawl = Crawl(ROBOTS_BACKOFF_MAX=0)
    crawl.answer("a.example", retry_after="30")
    assert crawl.due_in("a.example") == 0


LATER, NIGHT = VisitTime(time(14), time(18)), VisitTime(time(1), time(5))
"""Visiting hours; a crawl begins at 13:46:40."""
OTHER_PORT = "http://a.example:8080/"


@in_loop
async def test_visiting_hours_are_waited_for() -> None:
    crawl = Crawl()
    crawl.hold(None, visits=LATER)
    at_the_door, line = crawl.stand(), crawl.pacing.lines["a.example"]
    await compat.sleep(0)
    assert not at_the_door.called
    assert line.first_may_go_at() == crawl.now + 800
    crawl.now += 800
    line.look()
    await until(lambda: at_the_door.called)


@in_loop
async def test_the_file_of_another_port_opens_nothing_and_closes_nothing() -> None:
    crawl = Crawl()
    crawl.hold(None, visits=LATER)
    crawl.hold(None, OTHER_PORT)
    at_once = crawl.stand(OTHER_PORT)
    await until(lambda: at_once.called)
    crawl.pacing.line("a.example").handed_over(Request(OTHER_PORT))
    at_the_door = crawl.stand()
    await compat.sleep(0)
    crawl.come(None, OTHER_PORT)
    assert not at_the_door.called
    crawl.come(NIGHT)
    crawl.now += 800
    crawl.pacing.line("a.example").look()
    assert not at_the_door.called
    crawl.come(None)
    await until(lambda: at_the_door.called)


def test_a_host_has_a_pace_while_it_asks_for_a_delay() -> None:
    crawl = Crawl()
    crawl.hold(2.0)
    assert crawl.gap() == 2.0
    crawl.hold(None)
    assert crawl.held([URL]) == []


def test_a_host_has_a_pace_while_it_asks_for_visiting_hours() -> None:
    crawl = Crawl()
    crawl.hold(None, visits=LATER)
    assert crawl.held([URL]) == [URL]
    crawl.hold(None)
    assert crawl.held([URL]) == []


@in_loop
async def test_a_request_whose_delay_ends_after_the_visiting_hours_waits_for_the_next() -> None:
    crawl = Crawl()  # it is 13:46
    crawl.hold(2.0, visits=VisitTime(time(6), time(13, 50)))
    crawl.send("a.example")
    at_the_door, line = crawl.stand(), crawl.pacing.lines["a.example"]
    await compat.sleep(0)
    crawl.now += 600.0
    line.look()
    await compat.sleep(0)
    assert not at_the_door.called
    crawl.now += 17 * 3600.0
    line.look()
    await until(lambda: at_the_door.called)


def test_a_host_without_a_delay_has_a_pace_while_it_is_left_alone() -> None:
    crawl = Crawl()
    crawl.answer("own", retry_after="10")
    for _ in range(2):
        crawl.hold(None)
        assert crawl.held([URL]) == [URL]
        crawl.now += 10
    for _ in range(6):
        crawl.answer("own", status=200)
    assert crawl.held([URL]) == []


def test_the_slot_of_the_host_shows_its_delay_and_no_other() -> None:
    crawl = Crawl()
    for slot in ("a.example", "proxy"):
        crawl.queue(slot)
    for slot in ("a.example", "proxy"):
        request = crawl.hold(2.0, download_slot=slot)
        assert request.meta["download_slot"] == slot
        crawl.send(slot)
    assert {key: slot.delay for key, slot in crawl.slots.items()} == {"a.example": 2, "proxy": 0}
    crawl.hold(None)
    assert crawl.slots["a.example"].delay == 0


def test_it_is_shown_again_after_auto_throttle() -> None:
    crawl = Crawl()
    crawl.queue("a.example")
    crawl.hold(2.0)
    crawl.send("a.example")
    crawl.slots["a.example"].delay = 0.1
    crawl.answer("a.example", status=200)
    assert crawl.slots["a.example"].delay == 2.0


def test_a_slot_that_a_redirect_took_along_is_not_kept() -> None:
    crawl = Crawl()
    redirected = crawl.hold(1.0, "http://b.example/")
    meta = {**redirected.meta, "download_slot": "b.example"}
    assert "download_slot" not in crawl.hold(1.0, URL, **meta).meta


@pytest.mark.parametrize(
    ("slot", "page", "is_kept"),
    [
        ("b.example", "http://b.example:8080/page", False),
        ("proxy", "http://b.example/page", True),
        ("b.example", "http://a.example/page", True),
    ],
)
def test_a_slot_that_came_with_the_meta_of_a_page_of_another_host_is_not_kept(
    slot: str, page: str, is_kept: bool
) -> None:
    crawl = Crawl()
    # Its robots.txt may be that of another host.
    stamp = {"robots_url": "http://www.b.example/robots.txt"}
    meta = {**crawl.hold(1.0, page, robots=stamp).meta, "download_slot": slot}
    assert ("download_slot" in crawl.hold(1.0, URL, **meta).meta) is is_kept
    stored = fields_of(Request(URL, meta=meta), Spider("stored"))["meta"]
    assert ("download_slot" in stored) is is_kept


def test_a_slot_that_was_chosen_is_kept_where_the_robots_txt_is_that_of_its_namesake() -> None:
    crawl = Crawl()
    stamp = {"robots_url": "http://www.a.example/robots.txt"}
    request = crawl.hold(1.0, URL, robots=stamp, download_slot="www.a.example")
    assert crawl.hold(1.0, URL, **request.meta).meta["download_slot"] == "www.a.example"


URLS = [f"http://{name}.example/" for name in "abc"]


@pytest.fixture
def few_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """The setting alone says how many hosts are kept."""
    monkeypatch.setattr(Door, "LEAST", 0)


def test_of_many_hosts_a_number_is_kept_whatever_the_size_of_the_cache() -> None:
    """Requests may be on their way to them."""
    crawl = Crawl(ROBOTS_CACHE_SIZE=2)
    urls = [f"http://{number}.example/" for number in range(Door.LEAST + 1)]
    for url in urls:
        crawl.hold(2.0, url)
    assert crawl.held(urls) == urls[1:]


@pytest.mark.usefixtures("few_kept")
def test_beyond_the_size_of_the_cache_a_host_outside_its_hours_stays() -> None:
    crawl = Crawl(ROBOTS_CACHE_SIZE=1)
    crawl.hold(None, URLS[0], visits=LATER)
    crawl.hold(2.0, URLS[1])
    crawl.now += Door.TRIM_SECONDS
    crawl.hold(2.0, URLS[2])
    assert crawl.held(URLS) == [URLS[0], URLS[2]]


@pytest.mark.usefixtures("few_kept")
def test_beyond_the_size_of_the_cache_the_host_goes_that_was_asked_longest_ago() -> None:
    crawl = Crawl(ROBOTS_CACHE_SIZE=2)
    crawl.hold(2.0, URLS[0])
    crawl.hold(2.0, URLS[1])
    crawl.hold(2.0, URLS[0])
    crawl.hold(2.0, URLS[2])
    assert crawl.held(URLS) == [URLS[0], URLS[2]]


@pytest.mark.usefixtures("few_kept")
def test_a_host_that_may_not_be_asked_yet_does_not_go() -> None:
    crawl = Crawl(ROBOTS_CACHE_SIZE=1)
    crawl.hold(2.0, URLS[0])
    crawl.send("a.example")
    crawl.hold(2.0, URLS[1])
    assert crawl.held(URLS) == URLS[:2]


@pytest.mark.usefixtures("few_kept")
def test_hosts_that_are_left_alone_stay_and_are_searched_for_once_a_second() -> None:
    crawl = Crawl(ROBOTS_CACHE_SIZE=2)
    crawl.now += 100
    for url in URLS:
        crawl.answer("any", url=url, retry_after="50")
    assert crawl.held(URLS) == URLS
    crawl.now += 50 - Door.TRIM_SECONDS / 2
    crawl.answer("elsewhere", status=200, url=URLS[2])
    assert crawl.held(URLS) == URLS
    crawl.now += Door.TRIM_SECONDS / 2
    crawl.answer("elsewhere", status=200, url=URLS[2])
    assert crawl.held(URLS) == URLS
    crawl.now += Door.TRIM_SECONDS / 2
    crawl.answer("elsewhere", status=200, url=URLS[2])
    assert crawl.held(URLS) == URLS[1:]


@pytest.mark.usefixtures("few_kept")
def test_the_slot_of_a_host_that_is_forgotten_is_as_before() -> None:
    crawl = Crawl(ROBOTS_CACHE_SIZE=1)
    crawl.queue("a.example")
    crawl.hold(2.0)
    crawl.send("a.example")
    assert crawl.slots["a.example"].delay == 2.0
    crawl.now += 60
    crawl.hold(2.0, URLS[1])
    assert crawl.held(URLS) == [URLS[1]]
    assert crawl.slots["a.example"].delay == 0.0


def test_the_head_of_an_answer_says_that_its_request_has_left() -> None:
    crawl = Crawl()
    crawl.hold(2.0)
    request = crawl.send("a.example")
    crawl.now += 0.5
    assert crawl.due_in("a.example") > 10
    crawl.tell(signals.headers_received, request=request)
    assert crawl.due_in("a.example") == 2.0


def test_each_retry_after_is_counted() -> None:
    crawl = Crawl()
    for status in (429, 200, 503):
        crawl.answer("a.example", status=status, retry_after="1")
    assert crawl.stats.get_value(stats.RETRY_AFTER) == 2


@pytest.mark.parametrize("slot", ["a.example", "proxy"])
@pytest.mark.parametrize("reason", ["retry-after", "visit-time", "delay"])
@pytest_twisted.ensureDeferred
async def test_a_spider_that_closes_waits_for_no_host(reason: str, slot: str) -> None:
    crawl = Crawl()
    if reason == "retry-after":
        crawl.answer("a.example", retry_after="9")
    elif reason == "visit-time":
        crawl.hold(None, visits=LATER)
    else:
        crawl.hold(86_400.0)
        crawl.send("a.example")
    held = crawl.queue(slot)
    waiter = held.queue[0][1]
    at_the_door = crawl.stand()
    other = crawl.queue("b.example", "http://b.example/")
    crawl.engine_slot.closing = Deferred()
    with pytest.raises(HeldAtClosing) as caught:
        await waiter
    with pytest.raises(HeldAtClosing):
        await at_the_door
    assert str(caught.value) == (
        "the spider closed while the request waited for its host, other crawls or a connection of "
        "this machine"
    )
    assert not held.queue
    assert len(other.queue) == 1


@in_loop
async def test_a_spider_that_closes_waits_for_no_hours_but_for_the_other_ports() -> None:
    crawl = Crawl()
    crawl.hold(None, visits=LATER)
    crawl.hold(1.0, OTHER_PORT)
    crawl.pacing.line("a.example").handed_over(Request(OTHER_PORT))
    crawl.tell(signals.headers_received, request=Request(OTHER_PORT))
    in_slot = crawl.queue("a.example").queue[0][1]
    other = crawl.queue("a.example", OTHER_PORT).queue[-1]
    at_the_door, its = crawl.stand(), crawl.stand(OTHER_PORT)
    await compat.sleep(0)
    crawl.engine_slot.closing = Deferred()
    with pytest.raises(HeldAtClosing):
        await compat.wait_for(in_slot)
    with pytest.raises(HeldAtClosing):
        await compat.wait_for(at_the_door)
    assert list(crawl.slots["a.example"].queue) == [other]
    assert not its.called
    crawl.now += 20.0
    crawl.pacing.lines["a.example"].look()
    await until(lambda: its.called)


# With other crawls


def of_another_crawl(crawl: Crawl, delay: float, host: str = "a.example") -> float:
    """Its request leaves now, or after so many seconds."""
    waits: list[float] = []
    crawl.other.ask(Ask(host, delay, 0.0, inf, Request(URL)), waits.append)
    return waits[0]


def test_a_request_that_fails_may_have_left_until_then() -> None:
    crawl = Crawl()
    crawl.hold(2.0)
    request = crawl.send("a.example")
    crawl.now += 3.0
    assert of_another_crawl(crawl, 2.0) == pytest.approx(0.2)  # it may leave yet: look again soon
    line = crawl.pacing.lines["a.example"]
    assert line.pace.failed(request, crawl.now)
    line.changed()
    assert of_another_crawl(crawl, 2.0) == 2.0


def test_a_host_that_asks_for_a_pause_has_one_from_other_crawls_too() -> None:
    crawl = Crawl()
    crawl.answer("a.example", retry_after="30")
    assert of_another_crawl(crawl, 1.0) == pytest.approx(30)


@in_loop
async def test_the_end_of_a_crawl_gives_its_turns_back_and_waits_until_all_is_told() -> None:
    crawl, told = Crawl(), Deferred[bool]()
    crawl.hold(2.0)
    assert of_another_crawl(crawl, 2.0) == 0.0
    waiting = crawl.stand()
    await compat.sleep(0)
    assert of_another_crawl(crawl, 2.0) > 2.0  # after the one that waits
    waits: list[float] = []
    crawl.now += 2.0

    def close() -> Deferred[bool]:
        waits.append(of_another_crawl(crawl, 2.0))
        return told

    crawl.pacing.shared_pace.close = close  # type: ignore[method-assign]
    closing = deferred_from_coro(crawl.signals.send_catch_log_async(signals.spider_closed))
    await until(lambda: waits)
    assert waits == [0.0]
    assert not closing.called
    waiting.addErrback(lambda _: None)
    waiting.cancel()
    told.callback(True)
    await compat.wait_for(closing)


class Wanting:
    """A line that wants a place, and has nothing to send when it gets one."""

    def __init__(self) -> None:
        self.offered: list[str] = []

    def look(self, *, free: str = "") -> bool:
        self.offered.append(free)
        return False


@in_loop
async def test_the_place_of_a_request_that_ends_is_offered_in_its_slot_alone() -> None:
    crawl = Crawl()
    lines = {key: Wanting() for key in ("proxy", "other")}
    wanting: Any = {key: OrderedDict({line: None}) for key, line in lines.items()}
    crawl.pacing.wanting = wanting

    async def download(request: Any) -> Any:
        assert not lines["proxy"].offered
        return request

    request = Request("http://b.example/", meta={"download_slot": "proxy"})
    await crawl.pacing._download(download, request)
    assert [line.offered for line in lines.values()] == [["proxy"], []]
    assert list(wanting) == ["other"]
