"""Which crawls fetch robots.txt files for each other. Nothing is fetched here."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

import pytest
from scrapy import Spider, signals
from scrapy.settings import Settings
from scrapy.signalmanager import SignalManager

from scrapy_robots_plus.compat import Courier, InPlace
from scrapy_robots_plus.crawl.clock import DEFAULT_CLOCK
from scrapy_robots_plus.origins import lease
from scrapy_robots_plus.origins.agents import Agents
from scrapy_robots_plus.origins.lease import (
    LeasesOnServer,
    Member,
    Turn,
    agreement,
    longest_fetch,
)
from scrapy_robots_plus.protocol.origin import Origin
from scrapy_robots_plus.settings.robots_settings import RobotsSettings
from scrapy_robots_plus.storage.base import MemoryStore
from scrapy_robots_plus.storage.redis_server import Server
from tests.redis_server import RedisServer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy_robots_plus.origins.lease import Turn

ORIGIN = Origin("http", "site.example", 80)
USUAL = {"ROBOTSTXT_USER_AGENT": "foobot", "ROBOTS_FETCH_TIMEOUT": 30}


@pytest.fixture(autouse=True)
def _no_other_crawls(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(lease, "_running", WeakSet())
    yield
    assert not lease._running


class Crawl:
    """As much of a crawl as decides with whom it shares."""

    def __init__(
        self, server: Server | None = None, calls: Courier | None = None, **settings: Any
    ) -> None:
        self.signals = SignalManager(self)
        self.settings = Settings({**USUAL, **settings})
        self.spider = Spider("spider")
        self.checked = RobotsSettings.from_settings(self.settings)
        self.memory = MemoryStore(10)
        self.failed = print
        store: Any = SimpleNamespace(
            memory=self.memory, server=server, calls=calls or InPlace(), failed=self.failed
        )
        crawler: Any = self
        self._agents = Agents(crawler, self.checked)
        self.member = Member(crawler, self.checked, self._agents, store, DEFAULT_CLOCK)

    def agreement(self) -> list[Any]:
        crawler: Any = self
        return agreement(crawler, self.checked, self._agents)

    def open(self) -> Crawl:
        self.signals.send_catch_log(signals.spider_opened)
        return self

    def close(self) -> None:
        self.signals.send_catch_log(signals.spider_closed)

    def turn(self) -> Turn:
        return self.member.turn(ORIGIN)


@pytest.mark.parametrize(
    "difference",
    [
        {"ROBOTSTXT_USER_AGENT": "barbot"},
        {"USER_AGENT": "barbot"},
        {"DEFAULT_REQUEST_HEADERS": {"Accept": "*/*"}},
        {"ROBOTS_FETCH_TIMEOUT": 20},
        {"ROBOTS_FETCH_RETRIES": 3},
        {"ROBOTS_FETCH_MAX_BYTES": 600_000},
        {"ROBOTS_FETCH_META": {"headers": {"Accept-Language": "en"}}},
        {"ROBOTS_FETCH_META": {"proxy": "http://127.0.0.1:1"}},
        {"ROBOTS_STORE": "sqlite:other.db"},
        {"ROBOTS_STORE_MAX": 5},
        {"JOBDIR": "job"},
    ],
    ids=lambda each: next(iter(each)),
)
def test_crawls_that_ask_differently_do_not_agree(difference: dict[str, Any]) -> None:
    assert Crawl().agreement() == Crawl().agreement()
    assert Crawl().agreement() != Crawl(**difference).agreement()


@pytest.mark.parametrize("name", ["user_agent", "http_user", "http_pass", "http_auth_domain"])
def test_attributes_of_spiders_count_as_settings_do(name: str) -> None:
    crawl = Crawl()
    setattr(crawl.spider, name, "x")
    assert crawl.agreement() != Crawl().agreement()


@pytest.mark.parametrize(
    "difference",
    [
        {"ROBOTS_STATUS_POLICY": "fail-open"},
        {"ROBOTS_STORE": "memory"},
        {"DOWNLOAD_DELAY": 5},
        {"ROBOTS_DIALECT": "google"},
    ],
    ids=lambda each: next(iter(each)),
)
def test_what_an_answer_means_is_for_each_to_say(difference: dict[str, Any]) -> None:
    assert Crawl().agreement() == Crawl(**difference).agreement()


@pytest.mark.parametrize("has_server", [False, True])
def test_with_an_http_cache_a_crawl_shares_nothing(has_server: bool) -> None:
    server = Server("redis://127.0.0.1:1") if has_server else None
    calls = Courier("a slow server")  # it waits for no server either
    one, other = (Crawl(server, calls, HTTPCACHE_ENABLED=True).open() for _ in range(2))
    assert begun(one.turn())
    assert begun(other.turn())
    calls.close(0)


def test_crawls_of_one_server_share_its_leases() -> None:
    with RedisServer() as server:
        one, other = Crawl(server.asked()), Crawl(server.asked())
        turn = one.turn()
        assert begun(turn)
        assert not begun(other.turn())
        with server.client() as client:
            assert 34_000 < client.pttl("{robots:http://site.example}:lease") <= 35_000
        turn.release()
        assert begun(other.turn())


def test_their_leases_last_as_long_as_a_fetch_and_their_calls_are_those_of_the_store() -> None:
    crawl = Crawl(Server("redis://127.0.0.1:1"))
    turn = crawl.turn()
    assert isinstance(turn.leases, LeasesOnServer)
    assert (turn.longest, turn.failed, turn.clock) == (35.0, crawl.failed, DEFAULT_CLOCK)
    assert isinstance(turn.calls, InPlace)


@pytest.mark.parametrize(("timeout", "seconds"), [(30, 35.0), (60, 65.0), (180, 65.0)])
def test_how_long_a_fetch_may_take(timeout: float, seconds: float) -> None:
    assert longest_fetch(Crawl(ROBOTS_FETCH_TIMEOUT=timeout).checked) == seconds


def test_crawls_of_one_process_share_while_both_run() -> None:
    one, other = Crawl(), Crawl()
    assert one.turn().leases is not other.turn().leases  # nobody knows yet whom they agree with
    first = one.open().turn()
    assert not first.is_late  # alone, it need not look into its store once more
    second = other.open().turn()
    assert first.leases is second.leases
    assert first.is_late
    assert second.is_late
    assert one.memory._encoded is other.memory._encoded
    assert begun(first)
    assert not begun(second)
    first.release()
    assert begun(second)
    one.close()
    third = Crawl().open()
    assert third.turn().leases is second.leases
    other.close()
    third.close()


def test_crawls_that_run_one_after_the_other_share_nothing() -> None:
    one, other = Crawl().open(), Crawl()
    one.close()
    one.close()
    other.open()
    assert other.memory._encoded is not one.memory._encoded
    assert other.turn().leases is not one.turn().leases
    assert not other.turn().is_late
    other.close()


def test_crawls_that_do_not_agree_share_nothing() -> None:
    one, other = Crawl().open(), Crawl(ROBOTSTXT_USER_AGENT="barbot").open()
    assert begun(one.turn())
    assert begun(other.turn())
    for each in (one, other):
        each.close()


def begun(turn: Turn) -> bool:
    """What :meth:`Turn.begin` returns, which does not wait here."""
    coroutine = turn.begin()
    with pytest.raises(StopIteration) as caught:
        coroutine.send(None)
    return bool(caught.value.value)
