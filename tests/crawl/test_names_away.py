"""Names that cannot be looked up for a while are not held against the hosts that are met then."""

from __future__ import annotations

import socket
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
import pytest_twisted
from scrapy.resolver import CachingThreadedResolver, dnscache

from scrapy_robots_plus import compat
from scrapy_robots_plus.origins.network_away import NamesAway, NetworkAway
from tests.crawl.test_budget import fill, make, origin
from tests.crawl.test_network_away import RULES, SOON, meeting
from tests.crawling import crawl, stat

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.sites import Host, Sites

MAY_BE_AWAY = "this machine's DNS may be down"
HANGS = 0.6
"""Seconds after which a look-up fails that nobody answers."""


class Names:
    """A DNS of this test, in place of the system's."""

    def __init__(self) -> None:
        self.hosts: dict[str, Host] = {}
        self.asked: Counter[str] = Counter()
        self.is_away: Callable[[], object] = lambda: False
        self.hangs = 0.0

    def url(self, name: str, host: Host, path: str = "/") -> str:
        """Of *host*, by *name*."""
        self.hosts[name] = host
        return f"http://{name}:{host.sites.port}{path}"

    def look_up(self, name: str) -> str:
        self.asked[name] += 1
        host = self.hosts.get(name)
        if name[-1].isdigit():
            return name
        if host is None or self.is_away():
            time.sleep(self.hangs)  # in a thread
            raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")
        return host.address


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> Iterator[Names]:
    from twisted.internet import reactor

    for name, seconds in {"SILENCE": 0.3, "PATIENCE": 0.1, "POLL": 0.02, "TRUST": 0.3}.items():
        monkeypatch.setattr(NamesAway, name, seconds)
    monkeypatch.setattr(NetworkAway, "LONGEST", 12.0)
    found, before = Names(), reactor.nameResolver
    monkeypatch.setattr(socket, "gethostbyname", found.look_up)
    dnscache.clear()
    CachingThreadedResolver(reactor, 10_000, 60.0).install_on_reactor()
    yield found
    reactor.installNameResolver(before)
    dnscache.clear()


@pytest.mark.parametrize("hangs", [0.0, HANGS])
@pytest.mark.parametrize("count", [1, 5])
@pytest_twisted.ensureDeferred
async def test_hosts_first_met_while_no_name_is_found_are_asked_again(
    sites: Sites, names: Names, caplog: pytest.LogCaptureFixture, hangs: float, count: int
) -> None:
    """The pages of the host that is known come all the while."""
    first, names.hangs = sites.host(RULES), hangs
    hosts = [sites.host(RULES) for _ in range(count)]
    pages = [names.url("first.test", first, f"/{number}") for number in range(5)]
    spider = meeting(
        [names.url(f"{number}.test", host) for number, host in enumerate(hosts)] + pages
    )
    names.is_away = lambda: spider.is_away and names.asked["first.test"] < 4
    settings = {"ROBOTS_FETCH_TIMEOUT": 1.0}
    crawler = await crawl(names.url("first.test", first), spider=spider, **settings)
    assert [host.fetched for host in hosts] == [["/"]] * count
    assert len(first.fetched) == 6
    assert first.robots_hits <= 2
    assert stat(crawler, "robotstxt/forbidden/unreachable") == 0
    assert sum(MAY_BE_AWAY in each.getMessage() for each in caplog.records) == 1


@pytest_twisted.ensureDeferred
async def test_live_hosts_behind_names_that_nobody_answers_for_are_asked(
    sites: Sites, names: Names
) -> None:
    """Twisted looks up ten names at a time."""
    names.hangs = 3 * HANGS
    first, hosts = sites.host(RULES), [sites.host(RULES) for _ in range(3)]
    dead = [f"http://dead{number}.test:{sites.port}/" for number in range(15)]
    live = [names.url(f"{number}.test", host) for number, host in enumerate(hosts)]
    settings = {"ROBOTS_FETCH_TIMEOUT": 1.0}
    spider = meeting([*dead, *live])
    crawler = await crawl(names.url("first.test", first), spider=spider, **settings)
    assert [host.fetched for host in hosts] == [["/"]] * 3
    assert stat(crawler, "robotstxt/forbidden/unreachable") == len(dead)


@pytest_twisted.ensureDeferred
async def test_more_names_that_nobody_answers_for_than_anybody_waits_for(
    sites: Sites, names: Names, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They would keep all threads for longer than a live host is waited for."""
    monkeypatch.setattr(NetworkAway, "LONGEST", 2 * HANGS)
    names.hangs = HANGS
    first, hosts = sites.host(RULES), [sites.host(RULES) for _ in range(3)]
    dead = [f"http://dead{number}.test:{sites.port}/" for number in range(100)]
    live = [names.url(f"{number}.test", host) for number, host in enumerate(hosts)]
    spider = meeting([*dead, *live])
    settings = {"ROBOTS_FETCH_TIMEOUT": 0.5}
    crawler = await crawl(names.url("first.test", first), spider=spider, **settings)
    assert [host.fetched for host in hosts] == [["/"]] * 3
    assert stat(crawler, "robotstxt/forbidden/unreachable") == len(dead)


def test_no_more_names_are_looked_up_than_there_are_threads(names: Names) -> None:
    budget, _ = make(32)
    assert fill(budget) == compat.most_look_ups() - 1 == 9
    dnscache["host0.example"] = "127.0.0.1"
    assert fill(budget, 100) == 1
    assert fill(budget, 100) == 0
    budget.answered(origin(1))  # its name was looked up by somebody else, such as a proxy
    assert fill(budget, 200) == 32 - 10


@pytest_twisted.ensureDeferred
async def test_names_are_dead_if_another_one_is_found(
    sites: Sites, names: Names, caplog: pytest.LogCaptureFixture
) -> None:
    first = sites.host(RULES)
    spider = meeting([f"http://dead{number}.test:{sites.port}/" for number in range(20)])
    began = time.monotonic()
    crawler = await crawl(names.url("first.test", first), spider=spider)
    assert time.monotonic() - began < SOON
    assert stat(crawler, "robotstxt/forbidden/unreachable") == 20
    assert {names.asked[name] for name in names.asked if name.startswith("dead")} == {3}
    assert names.asked["first.test"] <= 4
    assert not any(MAY_BE_AWAY in each.getMessage() for each in caplog.records)


@pytest_twisted.ensureDeferred
async def test_nobody_waits_longer_than_a_minute_for_names(
    sites: Sites, names: Names, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(NetworkAway, "LONGEST", 1.0)
    first = sites.host(RULES)
    spider = meeting([f"http://dead{number}.test:{sites.port}/" for number in range(5)])
    names.is_away = lambda: spider.is_away
    began = time.monotonic()
    crawler = await crawl(names.url("first.test", first), spider=spider)
    assert time.monotonic() - began < SOON
    assert stat(crawler, "robotstxt/forbidden/unreachable") == 5


class Another(CachingThreadedResolver):
    """Does not look up names as the system does."""


@pytest_twisted.ensureDeferred
async def test_a_resolver_of_others_is_not_known_to_be_away(
    sites: Sites, names: Names, caplog: pytest.LogCaptureFixture
) -> None:
    from twisted.internet import reactor

    Another(reactor, 10_000, 60.0).install_on_reactor()
    first = sites.host(RULES)
    spider: Any = meeting([f"http://dead.test:{sites.port}/"])
    names.is_away = lambda: spider.is_away
    crawler = await crawl(names.url("first.test", first), spider=spider)
    assert stat(crawler, "robotstxt/forbidden/unreachable") == 1
    assert not any(MAY_BE_AWAY in each.getMessage() for each in caplog.records)
