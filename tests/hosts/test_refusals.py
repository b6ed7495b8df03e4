"""Hosts that refuse requests are asked less often, or given up. Nothing waits."""

from __future__ import annotations

import errno
import logging
from typing import TYPE_CHECKING

import pytest
from scrapy import Request
from twisted.internet import error as tx
from twisted.internet.defer import Deferred

from scrapy_robots_plus import compat
from scrapy_robots_plus.crawl import stats
from scrapy_robots_plus.crawl.requests import TAP_META_KEY
from scrapy_robots_plus.hosts.departures import Departures
from scrapy_robots_plus.hosts.door import HeldAtDenial
from scrapy_robots_plus.hosts.refusals import Refusals
from scrapy_robots_plus.protocol.origin import Origin
from scrapy_robots_plus.protocol.verdict import Reason
from tests.crawl.held_crawl import ORIGIN, URL, Crawl
from tests.crawl.held_crawl import crawls_end as crawls_end
from tests.limiters import Interval
from tests.waiting import in_loop, until

if TYPE_CHECKING:
    from typing import Any

pytestmark = pytest.mark.usefixtures("crawls_end")

HOST = "a.example"
OTHER = "http://b.example/"


def slowed(**settings: Any) -> Crawl:
    crawl = Crawl(**{"ROBOTSTXT_OBEY": True, **settings})
    crawl.queue(HOST)
    return crawl


def refuse(crawl: Crawl, times: int, status: int = 429, **headers: Any) -> None:
    """Each is the first request after the pause before."""
    for _ in range(times):
        request = crawl.send(HOST)
        crawl.answer_to(request, status, **headers)
        crawl.now += crawl.due_in(HOST)


def refuse_all(crawl: Crawl, **headers: Any) -> None:
    """Requests that were under way together are refused, and the pause after that is over."""
    for _ in range(7):
        crawl.answer(HOST, **headers)
    crawl.now += crawl.due_in(HOST)


def test_a_host_that_refuses_is_left_alone_and_then_asked_slowly() -> None:
    crawl = slowed()
    for _ in range(7):
        crawl.answer(HOST)
    assert crawl.due_in(HOST) == pytest.approx(1.0)
    assert crawl.gap() == 0.5
    assert crawl.due_in("b.example") == 0.0
    assert crawl.stats.get_stats() == {stats.REFUSED: 7, stats.BACKOFFS: 1}


def test_an_answer_to_a_request_for_robots_txt_says_nothing_of_pages() -> None:
    crawl = slowed()
    request = Request(f"{URL}robots.txt", meta={TAP_META_KEY: object()})
    for _ in range(7):
        crawl.answer_to(request, Retry_After="30")
    assert crawl.pace_of() is None
    crawl.answer_to(Request(URL), Retry_After="30")
    assert crawl.due_in(HOST) == pytest.approx(30)


def test_a_host_that_refuses_one_of_many_is_not_asked_slowly() -> None:
    crawl = slowed()
    crawl.answer(HOST)
    assert crawl.due_in(HOST) == pytest.approx(1.0)
    for _ in range(6):
        crawl.answer(HOST, 200)
    crawl.now += 1.0
    assert (crawl.gap(), crawl.due_in(HOST)) == (0.0, 0.0)


def test_the_pause_doubles_up_to_the_longest() -> None:
    crawl = slowed(ROBOTS_BACKOFF_MAX=3)
    refuse_all(crawl)
    pauses = [1.0]
    for _ in range(4):
        crawl.answer_to(crawl.send(HOST))
        pauses.append(crawl.due_in(HOST))
        crawl.now += pauses[-1]
    assert pauses == pytest.approx([1.0, 2.0, 3.0, 3.0, 3.0])


def test_requests_that_were_under_way_together_are_refused_as_one() -> None:
    crawl = slowed()
    refuse_all(crawl)
    first, second = crawl.send(HOST), crawl.send(HOST)
    crawl.answer_to(first)
    pause = crawl.due_in(HOST)
    crawl.answer_to(second)
    assert crawl.due_in(HOST) == pause == pytest.approx(2.0)
    assert crawl.stats.get_stats() == {stats.REFUSED: 9, stats.BACKOFFS: 2}


def test_an_answer_makes_it_faster_again() -> None:
    crawl = slowed()
    refuse_all(crawl)
    delays = [0.5]
    for _ in range(30):
        crawl.answer_to(crawl.send(HOST), 200)
        delays.append(crawl.gap())
        crawl.now += 1.0
    assert delays == sorted(delays, reverse=True)
    assert delays[1] == pytest.approx(0.4)
    assert delays[-1] == 0.0


def test_it_is_said_once_that_a_host_refuses(caplog: pytest.LogCaptureFixture) -> None:
    crawl = slowed()
    with caplog.at_level(logging.INFO):
        crawl.answer(HOST)
        crawl.answer(HOST)
    (said,) = caplog.records
    assert said.getMessage() == "http://a.example refuses requests (429): it is asked less often"
    assert said.levelno == logging.INFO
    assert vars(said)["spider"] is crawl.spider


def test_it_is_a_warning_once_it_has_cost_more_than_a_minute(
    caplog: pytest.LogCaptureFixture,
) -> None:
    crawl = slowed()
    began = crawl.now
    refuse_all(crawl)
    refuse(crawl, 1)
    limit = Interval(0.4)
    while crawl.now < began + 300:
        request = crawl.send(HOST)
        crawl.answer_to(request, 200 if limit.allows(crawl.now) else 429)
        crawl.now += max(crawl.due_in(HOST), 0.1)
        said = [each for each in caplog.records if each.levelno == logging.WARNING]
        assert bool(said) <= (crawl.now > began + 50)
    (warning,) = said
    assert "waiting for it has taken more than a minute so far" in warning.getMessage()
    assert vars(warning)["spider"] is crawl.spider


def test_it_is_said_that_slowness_did_not_help(caplog: pytest.LogCaptureFixture) -> None:
    crawl = slowed()
    with caplog.at_level(logging.INFO):
        refuse_all(crawl)
        while crawl.due_in(HOST) or crawl.gap():
            refuse(crawl, 1, 503)
    assert [each.getMessage() for each in caplog.records] == [
        "http://a.example refuses requests (429): it is asked less often",
        (
            "Asking http://a.example less often did not reduce its refusals: it is asked at full "
            "speed again"
        ),
    ]


def test_it_is_said_once_that_slowness_did_not_help(caplog: pytest.LogCaptureFixture) -> None:
    crawl = slowed()
    with caplog.at_level(logging.INFO):
        for _ in range(2):
            refuse_all(crawl)
            while crawl.due_in(HOST) or crawl.gap():
                refuse(crawl, 1, 503)
            crawl.now += 3600.0
    assert "".join(each.getMessage() for each in caplog.records).count("did not reduce") == 1


def test_a_request_that_is_refused_again_waits_behind_the_others() -> None:
    crawl = slowed()
    request = Request(URL, priority=20)
    crawl.answer_to(request)
    assert request.priority == 20
    again = request.replace(priority=19)
    crawl.answer_to(again)
    assert again.priority == 0
    behind = request.replace(priority=-5)
    crawl.answer_to(behind)
    assert behind.priority == -5


def test_a_request_with_the_meta_of_another_was_not_refused_itself() -> None:
    crawl = slowed()
    crawl.answer(HOST, 200)
    first = crawl.send(HOST)
    crawl.answer_to(first)
    crawl.now += crawl.due_in(HOST)
    crawl.answer_to(first, 200)
    for number in range(7):
        crawl.answer_to(Request(f"{URL}{number}", meta=dict(first.meta)))
    assert crawl.gap() > 0.0
    assert crawl.stats.get_value(stats.REFUSED) == 8


def test_one_whose_url_a_middleware_changes_each_time_is_not_forgiven_for_ever() -> None:
    crawl = slowed()
    refuse_all(crawl)
    meta: dict[str, Any] = {}
    for number in range(20):
        crawl.answer_to(request := Request(f"{URL}{number}", meta=meta))
        meta = request.meta
    assert meta["max_retry_times"] == 2 + 5


@pytest.mark.parametrize(
    ("meta", "of_spider", "settings", "is_handled"),
    [
        ({}, None, {}, False),
        ({}, [404], {}, False),
        ({}, [429, 503], {}, True),
        ({"handle_httpstatus_list": [404]}, [429, 503], {}, False),
        ({"handle_httpstatus_list": [429, 503]}, None, {}, True),
        ({"handle_httpstatus_all": True}, None, {}, True),
        ({"handle_httpstatus_all": False}, None, {}, False),
        ({}, None, {"HTTPERROR_ALLOW_ALL": True}, True),
        ({}, None, {"HTTPERROR_ALLOWED_CODES": [429, 503]}, True),
        ({}, [404], {"HTTPERROR_ALLOWED_CODES": [429, 503]}, False),
        ({"handle_httpstatus_list": 429}, None, {}, False),  # no list
        ({}, ["no number"], {}, False),
    ],
)
@pytest.mark.parametrize("status", [429, 503])
def test_who_handles_a_status_gets_it_no_later(
    status: int,
    meta: dict[str, Any],
    of_spider: list[Any] | None,
    settings: dict[str, Any],
    is_handled: bool,
) -> None:
    crawl = slowed(**settings)
    refuse_all(crawl)
    if of_spider is not None:
        crawl.spider.handle_httpstatus_list = of_spider  # type: ignore[attr-defined]
    request = Request(URL, meta=dict(meta))
    crawl.answer_to(request, status)
    assert ("max_retry_times" not in request.meta) is is_handled


def test_who_handles_one_status_may_be_refused_with_another() -> None:
    crawl = slowed()
    refuse_all(crawl)
    request = Request(URL, meta={"handle_httpstatus_list": [429]})
    crawl.answer_to(request, 503)
    assert request.meta["max_retry_times"] == 3


def test_a_refused_request_may_be_retried_once_more() -> None:
    crawl = slowed(RETRY_TIMES=4)
    assert crawl.answer(HOST).meta["max_retry_times"] == 5
    unlimited = Request(URL, meta={"max_retry_times": None})  # by this request, as Scrapy says
    crawl.answer_to(unlimited)
    assert unlimited.meta["max_retry_times"] == 5
    wrong = Request(URL, meta={"max_retry_times": "5"})
    crawl.answer_to(wrong)
    assert wrong.meta["max_retry_times"] == "5"


def test_only_the_third_503_in_a_row_is_a_refusal() -> None:
    crawl = slowed()
    for refusals in (None, None, 1, 2):
        crawl.answer(HOST, 503)
        assert crawl.stats.get_value(stats.REFUSED) == refusals


def test_hosts_that_answer_once_push_out_none_that_is_asked_all_the_time() -> None:
    crawl = slowed(ROBOTS_CACHE_SIZE=2)
    for number in range(3):
        crawl.answer(HOST, 503)
        assert crawl.stats.get_value(stats.REFUSED, 0) == (number == 2)
        crawl.answer(f"b{number}.example", 200, f"http://b{number}.example/")


def test_a_host_in_a_slot_that_others_share_is_slowed_down_alone() -> None:
    crawl = slowed()
    crawl.answer("proxy")
    assert crawl.due_in(HOST) == pytest.approx(1.0)
    assert crawl.due_in("proxy") == crawl.due_in("b.example") == 0.0


def test_what_has_no_host_refuses_nothing() -> None:
    crawl = slowed()
    crawl.answer("", url="file:///page")
    assert crawl.stats.get_stats() == {}
    crawl.answer("", url="file:///page", retry_after="5")
    assert crawl.stats.get_stats() == {stats.RETRY_AFTER: 1}


def test_a_crawl_that_shares_the_pace_leaves_the_host_alone_too() -> None:
    crawl = slowed()
    crawl.answer(HOST)
    wait, _ = crawl.book.change(HOST, "ask", "other", 0.1, 0.0, None)
    assert wait == pytest.approx(1.0)


def test_switched_off() -> None:
    crawl = Crawl(ROBOTS_BACKOFF_MAX=0)
    crawl.queue(HOST)
    crawl.answer(HOST)
    assert crawl.due_in(HOST) == 0.0
    assert crawl.stats.get_stats() == {}


# Giving up

ASKING: dict[str, Any] = {"retry_after": "1"}


def test_a_host_that_refuses_all_is_given_up(caplog: pytest.LogCaptureFixture) -> None:
    crawl = slowed(ROBOTS_GIVE_UP_AFTER=3)
    refuse_all(crawl, **ASKING)
    refuse(crawl, 1, **ASKING)
    assert ORIGIN not in crawl.given_up
    caplog.clear()
    waiting = crawl.slots[HOST].queue[0][1]
    failures: list[Any] = []
    waiting.addErrback(failures.append)
    refuse(crawl, 1, **ASKING)
    assert ORIGIN in crawl.given_up
    assert crawl.stats.get_value(stats.GIVEN_UP) == 1
    assert [type(each.value) for each in failures] == [HeldAtDenial]
    assert not crawl.slots[HOST].queue
    assert crawl.pace_of() is None
    assert crawl.due_in(HOST) == 0.0
    (said,) = caplog.records
    assert said.getMessage() == (
        "http://a.example is given up: it has answered nothing but 429 with Retry-After 3 times in "
        "a row"
    )
    assert said.levelno == logging.WARNING
    assert vars(said)["spider"] is crawl.spider


def test_of_a_slot_that_hosts_share_the_others_stay() -> None:
    crawl = slowed(ROBOTS_GIVE_UP_AFTER=1)
    other = crawl.queue(HOST, OTHER).queue[-1]
    crawl.slots[HOST].queue[0][1].addErrback(lambda _: None)
    crawl.answer(HOST, **ASKING)
    assert list(crawl.slots[HOST].queue) == [other]


@in_loop
async def test_what_robots_txt_does_not_apply_to_stays_and_waits_for_its_delay() -> None:
    crawl = slowed(ROBOTS_GIVE_UP_AFTER=1)
    crawl.hold(60.0)
    crawl.send(HOST)
    slot, exempt = crawl.slots[HOST], Request(URL, meta={"dont_obey_robotstxt": True})
    slot.queue[0][1].addErrback(lambda _: None)
    slot.queue.append((exempt, Deferred()))
    at_the_door, its = crawl.stand(), crawl.stand(**exempt.meta)
    await compat.sleep(0)
    assert not its.called
    crawl.answer(HOST, **ASKING)
    assert [request for request, _ in slot.queue] == [exempt]
    with pytest.raises(HeldAtDenial):
        await compat.wait_for(at_the_door)
    assert not its.called
    crawl.now += 60.0 + Departures.LONGEST  # the one before it may have left as late as that
    crawl.pacing.lines[HOST].look()
    await until(lambda: its.called)


def test_what_was_under_way_when_it_was_given_up_changes_nothing() -> None:
    crawl = slowed(ROBOTS_GIVE_UP_AFTER=1)
    crawl.slots[HOST].queue.clear()
    crawl.answer(HOST, **ASKING)
    late = crawl.answer(HOST, retry_after="50")
    assert crawl.due_in(HOST) == 0.0
    assert "max_retry_times" not in late.meta
    found = crawl.stats.get_stats()
    assert (found[stats.REFUSED], found[stats.BACKOFFS], found[stats.GIVEN_UP]) == (2, 1, 1)


@pytest.mark.parametrize(
    "settings",
    [
        {"ROBOTS_GIVE_UP_AFTER": 0},
        {"ROBOTS_GIVE_UP_AFTER": 7},
        {"ROBOTS_GIVE_UP_AFTER": 2, "ROBOTSTXT_OBEY": False},
        {
            "ROBOTS_GIVE_UP_AFTER": 2,
            "ROBOTS_OVERRIDES": {HOST: {"obey": False, "reason": "our own"}},
        },
    ],
)
def test_where_no_host_is_given_up(settings: dict[str, Any]) -> None:
    crawl = slowed(**settings)
    crawl.answer(HOST, **ASKING)
    crawl.now += 1.0
    refuse(crawl, 5, **ASKING)
    assert ORIGIN not in crawl.given_up


def test_a_host_that_is_out_of_order_is_not_given_up() -> None:
    crawl = slowed(ROBOTS_GIVE_UP_AFTER=1)
    for _ in range(3):
        crawl.answer(HOST, 503)
    assert crawl.stats.get_value(stats.BACKOFFS) == 1
    assert ORIGIN not in crawl.given_up


def test_a_single_answer_starts_the_count_again() -> None:
    crawl = slowed(ROBOTS_GIVE_UP_AFTER=2)
    refuse_all(crawl, **ASKING)
    crawl.answer_to(crawl.send(HOST), 200)
    refuse(crawl, 1, **ASKING)
    assert ORIGIN not in crawl.given_up
    crawl.slots[HOST].queue.clear()
    refuse(crawl, 1, **ASKING)
    assert ORIGIN in crawl.given_up


EIGHTY_EIGHTY = f"http://{HOST}:8080/"


def test_all_origins_of_a_host_are_given_up_with_it() -> None:
    crawl = slowed(ROBOTS_GIVE_UP_AFTER=1)
    crawl.hold(5.0, EIGHTY_EIGHTY)
    slot = crawl.queue(HOST, EIGHTY_EIGHTY)
    failures: list[Any] = []
    for _, waiting in slot.queue:
        waiting.addErrback(failures.append)
    refuse_all(crawl, **ASKING)
    assert Origin("http", HOST, 8080) in crawl.given_up
    assert [type(each.value) for each in failures] == [HeldAtDenial] * 2
    assert not slot.queue
    pace = crawl.pace_of()
    assert pace is not None
    assert not pace.is_held(crawl.now)  # only the delay is left, for what robots.txt does not cover


def test_of_a_host_that_is_given_up_what_is_not_obeyed_is_asked_on_and_slowed_down_again() -> None:
    overrides = {f"http://{HOST}:8080": {"obey": False, "reason": "our own"}}
    crawl = slowed(ROBOTS_GIVE_UP_AFTER=1, ROBOTS_OVERRIDES=overrides)
    own = crawl.queue(HOST, EIGHTY_EIGHTY).queue[-1]
    crawl.slots[HOST].queue[0][1].addErrback(lambda _: None)
    crawl.answer(HOST, **ASKING)
    assert list(crawl.slots[HOST].queue) == [own]
    assert crawl.due_in(HOST) == 0.0
    crawl.answer(HOST, url=EIGHTY_EIGHTY, **ASKING)
    assert crawl.due_in(HOST) == pytest.approx(1.0)


def test_for_a_walled_site_that_nothing_delays_no_door_is_opened() -> None:
    crawl = Crawl(ROBOTSTXT_OBEY=True, ROBOTS_WALLS="stop")
    for page in range(5):
        crawl.answer(HOST, 403, url=f"{URL}{page}")
    assert crawl.given_up.reason(ORIGIN) is Reason.WALLED
    assert not crawl.pacing._is_open


def test_a_walled_site_ends_no_pause_of_its_host() -> None:
    crawl = slowed(ROBOTS_WALLS="stop")
    crawl.slots[HOST].queue.clear()
    refuse_all(crawl, retry_after="60")
    crawl.answer(HOST, url=EIGHTY_EIGHTY, retry_after="60")
    pause, throttle = crawl.due_in(HOST), crawl.pace_of().throttle
    assert pause == pytest.approx(60)
    for page in range(5):
        crawl.answer(HOST, 403, url=f"{URL}{page}")
    assert crawl.given_up.reason(ORIGIN) is Reason.WALLED
    assert crawl.due_in(HOST) == pause
    assert crawl.pace_of().throttle is throttle
    crawl.answer(HOST, retry_after="90")  # one that was under way
    assert crawl.due_in(HOST) == pytest.approx(90)


def test_what_this_machine_is_short_of_is_not_held_against_the_site() -> None:
    crawl = slowed()
    refusals = crawl.crawl.get(Refusals)
    shortage = tx.ConnectBindError(errno.EMFILE)  # type: ignore[no-untyped-call]
    for page in range(5):
        refusals.failed(Request(f"{URL}{page}"), shortage)
    assert crawl.stats.get_stats() == {}
    for page in range(5):
        refusals.failed(Request(f"{URL}{page}"), TimeoutError())
    assert crawl.stats.get_stats() == {"robotstxt/standing/broken": 1}


def test_a_licence_may_be_asked_for_in_any_line_of_its_header() -> None:
    crawl = slowed()
    lines = ["License", 'Basic realm="a"']
    for page in range(2):
        crawl.answer(HOST, 401, f"{URL}{page}", www_authenticate=lines)
    assert crawl.stats.get_stats() == {"robotstxt/standing/priced": 1}


def test_a_host_recovers_though_many_others_have_refused_since() -> None:
    crawl = slowed(ROBOTS_CACHE_SIZE=10)
    refuse_all(crawl)
    gap = crawl.gap()
    assert gap > 0
    for number in range(10):
        crawl.answer(f"h{number}.example", url=f"http://h{number}.example/")
    for _ in range(20):
        request = crawl.send(HOST)
        crawl.answer_to(request, 200)
        crawl.now += crawl.due_in(HOST)
    assert crawl.gap() < gap


def test_a_host_whose_line_was_forgotten_is_asked_slowly_again_once_it_refuses() -> None:
    crawl = slowed()
    refuse_all(crawl)
    assert crawl.gap() > 0
    crawl.pacing._end(crawl.pacing.lines[HOST])
    assert crawl.pace_of() is None
    crawl.answer(HOST)
    assert crawl.gap() > 0
