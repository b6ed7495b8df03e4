"""What a worker tells the server, and gives it."""

from __future__ import annotations

import logging
import time
from itertools import count
from math import inf
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NoReturn

import pytest
import scrapy

from scrapy_robots_plus import compat
from scrapy_robots_plus.crawl.crawl import Crawl
from scrapy_robots_plus.hosts.shared_pace import Ask
from scrapy_robots_plus.origins.policies import Policies
from scrapy_robots_plus.redis.host_queue import HostQueue, Report, Stored
from scrapy_robots_plus.redis.leased_requests import LeasedRequest, LeasedRequests
from scrapy_robots_plus.redis.pushing import Pushing
from scrapy_robots_plus.redis.session import Session
from scrapy_robots_plus.storage.redis_server import ServerAwayError
from tests.crawling import make_crawler, new_slot, stat

from .crews import CrewSpider

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy.crawler import Crawler

    from tests.redis_server import RedisServer


@pytest.fixture
def client(server: RedisServer) -> Iterator[Any]:
    with server.client() as client:
        yield client


@pytest.fixture
def crawler(server: RedisServer) -> Crawler:
    made = make_crawler(CrewSpider, REDIS_URL=server.url)
    made._apply_settings()
    return made


@pytest.fixture
def session(crawler: Crawler, client: Any) -> Iterator[Session]:
    opened = Session(crawler, client, "crew:requests")
    yield opened
    opened.close()


def test_what_has_piled_up_is_told_in_pieces(session: Session, client: Any) -> None:
    """While the server was away. All of it at once would keep the server from the others for
    longer than they wait, and be refused at some length.
    """
    for number in range(5_000):
        session.tell(Report("left", b"", f"{number}.example", 0.0, 1.0))
    pieces = 0
    while session._untold:
        assert session.exchange() is not None
        pieces += 1
    assert pieces == 5_000 / Session.TOLD_AT_ONCE
    assert client.zcard("{crew:requests}:idle") == 5_000


def test_what_is_left_is_told_at_the_end(session: Session, client: Any) -> None:
    for number in range(3 * Session.TOLD_AT_ONCE):
        session.tell(Report("left", b"", f"{number}.example", 0.0, 1.0))
    session.leave()
    assert client.zcard("{crew:requests}:idle") == 3 * Session.TOLD_AT_ONCE
    assert 0 < client.ttl("{crew:requests}:workers") <= 3601


def kept(crawler: Crawler, session: Session, number: int) -> Pushing:
    """As many requests were added while the server was away."""
    no: Any = None  # asked for what is added from now on
    pushing = Pushing(crawler, session, no)
    pushing.kept.extend((Stored("a.example", 0.0, b"%d" % each), None) for each in range(number))
    return pushing


def test_what_was_kept_is_given_in_parts_that_keep_nobody_waiting(
    crawler: Crawler, session: Session, client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    moments = count(step=Pushing.SECONDS / Pushing.AT_ONCE)  # a step takes longer than it may
    monkeypatch.setattr(session, "now", lambda: next(moments))
    pushing = kept(crawler, session, 2 * Pushing.AT_ONCE + 1)
    for left in (Pushing.AT_ONCE + 1, 1, 0, 0):
        pushing.give()
        assert len(pushing.kept) == left
    waiting = client.zrange("{crew:requests}:host:a.example", 0, -1)
    numbers = [each[8:] for each in waiting]
    assert numbers == [b"%d" % each for each in range(2 * Pushing.AT_ONCE + 1)]


def test_all_that_was_kept_is_given_at_the_end(
    crawler: Crawler, session: Session, client: Any
) -> None:
    pushing = kept(crawler, session, 10 * Pushing.AT_ONCE + 1)
    pushing.give(seconds=inf)
    assert not pushing.kept
    assert client.zcard("{crew:requests}:host:a.example") == 10 * Pushing.AT_ONCE + 1


def test_a_request_whose_answer_was_lost_is_not_taken_for_one_that_was_seen(
    crawler: Crawler, session: Session, client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It waits at the server: whoever counts dropped requests would count it, too."""
    pushing = kept(crawler, session, 0)
    seen: list[scrapy.Request] = []
    pushing.on_seen, pushing.seen_key = seen.append, "seen"
    push = session.queue.push

    def answers_too_late(*arguments: Any) -> NoReturn:
        push(*arguments)
        raise ServerAwayError

    monkeypatch.setattr(session.queue, "push", answers_too_late)
    pushing.kept.append((Stored("a.example", 0.0, b"a", "f"), scrapy.Request("http://a.example/")))
    pushing.give()
    monkeypatch.setattr(session.queue, "push", push)
    pushing.give()
    assert not pushing.kept
    assert client.zcard("{crew:requests}:host:a.example") == 1
    assert seen == []


def test_a_server_that_refuses_every_second_question_is_named_once(
    server: RedisServer, crawler: Crawler, session: Session, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    server.run_out_of_memory()
    for number in range(100):
        assert session.is_new("seen", f"{number}")  # refused
        assert session.attempt(session.queue.held) == set()
    server.limit_memory(0)
    assert stat(crawler, "robotstxt/shared_queue/errors") == 100
    ours = [record for record in caplog.records if record.name.startswith("scrapy_robots_plus")]
    assert [record.levelname for record in ours] == ["WARNING", "INFO"]


@pytest.mark.parametrize("ends", ["unused", "after it has left", "before it has left"])
def test_the_turn_of_a_host_is_handed_over_by_the_request_that_has_it(
    crawler: Crawler, session: Session, client: Any, monkeypatch: pytest.MonkeyPatch, ends: str
) -> None:
    """And not by one that had it before the server came back with older data, and handed the same
    request out again. It may stand in front of the other in their slot: each would wait for ever.
    """
    monkeypatch.setattr(LeasedRequests, "own_delay", lambda *_: 0.0)
    monkeypatch.setattr(compat, "finished", lambda requests, _: list(requests))
    host, delay = "a.example", 0.001
    session.begin({"a delay": "0.001"})
    session.tell(Report("left", b"", host, 0.0, delay))
    session.queue.push([Stored(host, 0.0, b"a"), Stored(host, 0.0, b"b")])
    time.sleep(10 * delay)  # since the era began, too
    told = session.exchange(most=1)
    assert told is not None
    (taken,) = told.taken
    assert taken.holds
    leases = LeasedRequests(crawler, session)
    before, again = scrapy.Request("http://a.example/1"), scrapy.Request("http://a.example/1")
    leases.under_way[before] = LeasedRequest(before, b"", host, holds=True, since=0.0)
    leases.under_way[again] = LeasedRequest(again, taken.id, host, holds=True, since=0.0)
    waits: list[float] = []
    leases.ask(Ask(host, delay, 60.0, 1.0, before), waits.append)
    assert waits == [0.0]
    assert leases.ids == {taken.id}
    if ends == "unused":
        leases.unused(host, inf, delay)
        leases.ask(Ask(host, delay, 60.0, 1.0, again), waits.append)
        assert waits == [0.0, 0.0]
        return
    if ends == "before it has left":
        leases.collect_ended()
    session.exchange()
    other = HostQueue(client, "crew:requests", "other", 60)
    assert other.exchange(most=1, renew=True, reap=False).taken == []
    leases.left(host, 0.0, delay)
    session.exchange()
    time.sleep(10 * delay)
    assert [each.data for each in other.exchange(most=1).taken] == [b"b"]
    is_over = ends == "before it has left"
    assert session.queue.held() == leases.ids == (set() if is_over else {taken.id})


def test_a_turn_that_has_ended_is_not_used_again(
    crawler: Crawler, session: Session, client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server was away, and does not know of the end: when it does, others may go."""
    monkeypatch.setattr(LeasedRequests, "own_delay", lambda *_: 0.0)
    host, delay = "a b", 0.1  # a link may lead to such a host
    session.begin({})
    other = HostQueue(client, "crew:requests", "other", 60)
    other.exchange(reports=[Report("left", b"", host, 60.0, delay)], renew=True)
    leases = LeasedRequests(crawler, session)
    first, second = (scrapy.Request(f"http://a.example/{number}") for number in range(2))
    waits = [1.0]  # nothing is known of the host: it is left alone for a second
    while waits[-1]:
        time.sleep(waits[-1])
        leases.ask(Ask(host, delay, 60.0, inf, first), waits.append)
    leases.left(host, 0.0, delay)
    time.sleep(2 * delay)
    leases.ask(Ask(host, delay, 60.0, 2 * delay, second), waits.append)
    assert waits[-1]
    session.exchange()
    leases.ask(Ask(host, delay, 60.0, 2 * delay, second), waits.append)
    assert not waits[-1]
    session.exchange()
    assert other.ask(b"1", host, delay)


def test_a_server_that_is_away_once_more_is_named_later(
    server: RedisServer,
    session: Session,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Else nobody would learn from the log why a crawl stands still."""
    caplog.set_level(logging.INFO)
    monkeypatch.setattr(Session, "TELLS_EVERY", 0.0)
    for _ in range(2):
        server.run_out_of_memory()
        for _ in range(3):
            assert session.is_new("seen", "1")  # refused
        server.limit_memory(0)
        assert session.attempt(session.queue.held) == set()
    ours = [record for record in caplog.records if record.name.startswith("scrapy_robots_plus")]
    assert [record.levelname for record in ours] == 2 * ["WARNING", "INFO"]


@pytest.mark.parametrize("is_of_queue", [True, False])
def test_a_request_that_counts_as_sent_before_its_answer_keeps_the_delay_of_robots_txt(
    crawler: Crawler, session: Session, monkeypatch: pytest.MonkeyPatch, is_of_queue: bool
) -> None:
    """As it does in a slot without a delay of its own."""
    monkeypatch.setattr(LeasedRequests, "own_delay", lambda *_: 0.0)
    monkeypatch.setattr(LeasedRequests, "collect_ended", lambda _: None)
    host, delay, patience = "a.example", 20.0, 0.01
    session.begin({"a delay": "20"})
    leases = LeasedRequests(crawler, session)
    request, other = (scrapy.Request(f"http://a.example/{number}") for number in range(2))
    if is_of_queue:
        session.queue.push([Stored(host, 0.0, b"a")])
        told = session.exchange(unknown=1)
        assert told is not None
        leases.under_way[request] = LeasedRequest(
            request, told.taken[0].id, host, holds=True, since=0.0
        )
    waits = [1.0]  # nothing is known of the host: it is left alone for a second
    while waits[-1]:
        time.sleep(waits[-1])
        leases.ask(Ask(host, delay, patience, inf, request), waits.append)
    leases.left(host, -patience, delay)  # it may still be under way
    time.sleep(2 * patience)
    leases.look()
    session.exchange()
    leases.ask(Ask(host, 0.0, patience, inf, other), waits.append)
    assert delay - 5.0 < waits[-1] <= delay


@pytest.mark.parametrize("where", ["a middleware", "its slot"])
def test_only_a_request_that_a_middleware_keeps_gives_its_turn_away(
    crawler: Crawler, session: Session, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    """In its slot, it may wait for the delay of the user, longer than a middleware should take."""
    monkeypatch.setattr(LeasedRequests, "own_delay", lambda *_: 0.0)
    slot = new_slot()
    engine: Any = SimpleNamespace(downloader=SimpleNamespace(slots={"a.example": slot}))
    crawler.engine = engine
    leases = LeasedRequests(crawler, session)
    request = scrapy.Request("http://a.example/", meta={"download_slot": "a.example"})
    now = session.now()
    lease = LeasedRequest(request, b"1", "a.example", holds=True, since=now, delay=3.0)
    leases.under_way[request] = lease
    if where == "its slot":
        slot.active.add(request)
    leases.look()
    assert lease.holds
    lease.since = now - LeasedRequests.ARRIVES_SECONDS
    leases.look()
    assert lease.holds is (where == "its slot")
    assert lease.sent_by is None
    told: list[Report] = []
    monkeypatch.setattr(session, "tell", told.append)
    for _ in range(2):
        leases.left_downloader(request)
    assert [(each.what, each.seconds) for each in told] == [("left", 3.0)]
    assert not lease.holds


def test_a_request_that_ends_while_another_uses_its_turn_is_told_of_once_that_has_left(
    crawler: Crawler, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(LeasedRequests, "own_delay", lambda *_: 0.0)
    leases = LeasedRequests(crawler, session)
    request = scrapy.Request("http://a.example/")
    lease = LeasedRequest(request, b"1", "a.example", holds=True, since=session.now())
    leases.under_way[request] = leases._leaving["a.example"] = lease
    monkeypatch.setattr(compat, "finished", lambda under_way, _: list(under_way))
    told: list[str] = []
    monkeypatch.setattr(session, "tell", lambda report, **_: told.append(report.what))
    leases.collect_ended()
    assert told == []  # or its turn would be taken for one that nobody has
    leases.left("a.example", 0.0, 3.0)
    assert told == ["left", "ended"]


def test_a_host_with_many_ports_takes_no_more_places_than_there_are(
    crawler: Crawler, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(LeasedRequests, "own_delay", lambda *_: 0.0)
    leases, asked = LeasedRequests(crawler, session), list[Any]()
    policies: Any = SimpleNamespace(
        usable=lambda _: None,
        is_fetching=asked.__contains__,
        prefetch=lambda to, _: asked.append(to),
    )
    crawl = Crawl.of(crawler)
    get = crawl.get
    monkeypatch.setattr(crawl, "get", lambda kind: policies if kind is Policies else get(kind))
    monkeypatch.setattr(Crawl, "holds_requests", True)
    told: list[str] = []
    monkeypatch.setattr(session, "tell", lambda report, **_: told.append(report.what))
    places = crawl.settings.fetch_concurrency
    for port in range(1, 100):
        url = f"http://a.example:{port}/"
        lease = LeasedRequest(scrapy.Request(url), b"%d" % port, "a.example", holds=False, since=0)
        leases.add(lease)
    assert len(asked) == leases.waiting == places
    assert told.count("pause") == told.count("back") == 99 - places


def test_what_a_dead_worker_had_comes_back_though_the_server_takes_nothing_new(
    server: RedisServer, client: Any
) -> None:
    made = make_crawler(CrewSpider, REDIS_URL=server.url, ROBOTS_WORKER_LIFETIME=1)
    made._apply_settings()
    session = Session(made, client, "crew:requests")
    unused: Any = None
    pushing = Pushing(made, session, unused)
    dead = HostQueue(client, "crew:requests", "dead", 1.0)
    dead.exchange(renew=True)
    dead.push([Stored("a.example", 0.0, b"page")])
    assert dead.exchange(10, 10, known=True, renew=True).taken
    taken: list[Any] = []
    server.run_out_of_memory()
    pushing.kept.append((Stored("b.example", 0.0, b"new"), None))
    until = time.monotonic() + 20.0
    while not taken and time.monotonic() < until:
        pushing.give()
        told = session.exchange(10, 10)
        taken += told.taken if told else []
        time.sleep(0.1)
    server.limit_memory(0)
    assert [each.data for each in taken] == [b"page"]
    session.close()
