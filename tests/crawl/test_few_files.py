"""A crawl that may open few files: what it cannot open is no failure of a site."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import time
from itertools import pairwise
from math import inf
from typing import TYPE_CHECKING, Any

import pytest
import scrapy
from pytest_twisted import ensureDeferred
from scrapy import Request
from scrapy.core.downloader.handlers.http11 import HTTP11DownloadHandler
from scrapy.utils.defer import deferred_from_coro
from twisted.internet import error as tx
from twisted.python import failure
from twisted.web import client

from scrapy_robots_plus import RobotsDisallowed, RobotsMiddleware, compat
from scrapy_robots_plus.compat import failures
from scrapy_robots_plus.crawl.crawl import Crawl
from scrapy_robots_plus.hosts.door import Door, HeldAtDenial
from scrapy_robots_plus.hosts.own_shortage import OwnShortage
from scrapy_robots_plus.protocol.origin import Origin
from tests.crawl_process import MODES
from tests.crawling import (
    ProbeSpider,
    crawl,
    make_crawler,
    names_rules,
    parts_of_seconds,
    run,
    stat,
)
from tests.everywhere import Everywhere
from tests.nginx import nginx
from tests.sending import HICCUP, TimedSpider
from tests.sites import after, answer, in_turn, when
from tests.waiting import pause, until

from .job_process import Ended, Links, TwoPages, run_job

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from tests.sites import Reply, Sites

CannotListenError: Any = tx.CannotListenError
ConnectBindError: Any = tx.ConnectBindError
ConnectError: Any = tx.ConnectError
DNSLookupError: Any = tx.DNSLookupError
Failure: Any = failure.Failure
ResponseFailed: Any = client.ResponseFailed

RULES = "User-agent: *\nDisallow: /never\n"
FIRST = 2 << 16 | 1
"""The number of the first host: 127.2.0.1."""
HOSTS = 44
FILES = 40
"""A process of the tests has some twenty open before it crawls."""
SHORT = "robotstxt/own_shortage/files"


def test_a_stream_that_a_site_resets_is_no_shortage() -> None:
    """Scrapy's handler for HTTP/2 wraps a mere text in a Failure then."""
    reset = ResponseFailed([Failure("Remote peer sent RST_STREAM", OSError)])
    assert compat.shortage_in(reset) is None
    assert not compat.is_cancelled(reset)


@pytest.fixture
def server() -> Iterator[Everywhere]:
    with Everywhere(keep_alive=True) as running:
        yield running


def crawl_many(port: int, hosts: int = HOSTS, files: int = FILES, **settings: Any) -> Ended:
    return run_job(
        TwoPages,
        [str(FIRST), str(FIRST + hosts), str(port)],
        limits={"RLIMIT_NOFILE": files},
        **settings,
    )


# More hosts than files, each with a connection that is kept open


@pytest.mark.parametrize(
    ("mode", "job"),
    [
        pytest.param("asyncio", True, id="job"),
        *(
            pytest.param(mode, False, id=mode, marks=[pytest.mark.stress] * (mode != "no reactor"))
            for mode in MODES
        ),
    ],
)
def test_all_pages_of_more_hosts_than_files_come(
    server: Everywhere, tmp_path: Path, mode: str, job: bool
) -> None:
    kept: dict[str, Any] = {"JOBDIR": str(tmp_path)} if job else {}
    done = crawl_many(server.port, **MODES[mode], **kept)
    assert len(server.pages) == 2 * HOSTS, done.log
    assert "robotstxt/forbidden" not in done.stats
    if mode != "no reactor":  # aiohttp closes them by itself
        assert done.stats["robotstxt/idle_closed"] > 0
        assert done.log.count("are closed early: this process may open no more than 40 files") == 1


@pytest.mark.stress
@pytest.mark.parametrize("job", [False, True], ids=["no job", "job"])
def test_all_pages_of_5000_hosts_come_with_1024_files_and_nginx(tmp_path: Path, job: bool) -> None:
    kept: dict[str, Any] = {"JOBDIR": str(tmp_path / "job")} if job else {}
    with nginx(tmp_path) as server:
        done = crawl_many(server.port, 5_000, 1_024, CONCURRENT_REQUESTS=64, **kept)
    pages = {key: n for key, n in server.hits.items() if key[1] != "/robots.txt"}
    assert len(pages) == 10_000, done.log
    assert set(pages.values()) == {1}
    assert "robotstxt/forbidden" not in done.stats
    assert "downloader/exception_count" not in done.stats
    assert done.stats["finish_reason"] == "finished"


def test_with_httpx_too(server: Everywhere) -> None:
    """It keeps no more idle connections than there may be requests."""
    handler = "scrapy.core.downloader.handlers._httpx.HttpxDownloadHandler"
    pytest.importorskip(handler.rpartition(".")[0])
    done = crawl_many(server.port, DOWNLOAD_HANDLERS={"http": handler}, CONCURRENT_REQUESTS=8)
    assert len(server.pages) == 2 * HOSTS, done.log
    assert "robotstxt/forbidden" not in done.stats


# More requests than files


@names_rules  # with its first file, another one may import what reads text: a file as well
@pytest.mark.parametrize(
    "mode",
    [pytest.param(mode, marks=[pytest.mark.stress] * (mode != "asyncio")) for mode in MODES],
)
def test_requests_that_find_no_file_wait_for_one(sites: Sites, tmp_path: Path, mode: str) -> None:
    """No host answers before the crawl says that it is short of files."""
    log = tmp_path / "log"
    log.touch()

    def once_it_is_short(body: str) -> Reply:
        return when(lambda: "This machine is short of files" in log.read_text(), answer(body))

    hosts = [sites.host(once_it_is_short(RULES)) for _ in range(HOSTS)]
    done = run_job(
        Links,
        [host.url("/page") for host in hosts],
        limits={"RLIMIT_NOFILE": FILES},
        CONCURRENT_REQUESTS=HOSTS,
        ROBOTS_FETCH_CONCURRENCY=HOSTS,
        LOG_FILE=str(log),
        **MODES[mode],
    )
    told = log.read_text()
    assert [host.fetched for host in hosts] == [["/page"]] * HOSTS, told
    assert "robotstxt/forbidden" not in done.stats
    assert done.stats[SHORT] > 0
    assert told.count("This machine is short of files") == 1
    assert "ulimit -n" in told


def test_the_files_that_are_free_are_counted() -> None:
    before = compat.free_files()
    opened = [open(os.devnull) for _ in range(20)]  # noqa: SIM115
    try:
        assert before - 25 < compat.free_files() <= before - 20
    finally:
        for file in opened:
            file.close()


# Whatever a machine is short of


class Short(HTTP11DownloadHandler):
    """Cannot open a connection at the first tries of each URL."""

    error: Exception
    tries: float = 3

    def tries_of(self, request: Request) -> float:
        return self.tries

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._left: dict[str, float] = {}
        self._sent = getattr(crawler.spider, "sent", [])

    async def download_request(self, request: Request) -> Response:
        left = self._left.setdefault(request.url, self.tries_of(request))
        if left > 0:
            self._left[request.url] = left - 1
            raise self.error
        self._sent.append((time.monotonic(), request.url))
        response: Response = await super().download_request(request)
        return response


def short_of(error: Exception, tries: float = 3) -> dict[str, type[Short]]:
    return {"http": type("ShortOf", (Short,), {"error": error, "tries": tries})}


def no_files() -> OSError:
    return OSError(errno.EMFILE, os.strerror(errno.EMFILE))


def no_ports() -> OSError:
    return OSError(errno.EADDRNOTAVAIL, os.strerror(errno.EADDRNOTAVAIL))


def says(system: Path, ports: str, reserved: str, sockets: str) -> None:
    """Writes what a system tells of its ports."""
    folders = system / "sys/net/ipv4", system / "self/net"
    for folder in folders:
        folder.mkdir(parents=True)
    (folders[0] / "ip_local_port_range").write_text(ports)
    (folders[0] / "ip_local_reserved_ports").write_text(reserved)
    (folders[1] / "sockstat").write_text(sockets)


FEW = "sockets: used 9\nTCP: inuse 40 orphan 0 tw 9 alloc 33 mem 0\n"


@pytest.mark.parametrize(
    ("ports", "reserved", "sockets", "kind"),
    [
        ("40000\t40100\n", "", FEW, None),
        ("40000\t40098\n", "", FEW, compat.PORTS),
        ("40000\t40100\n", "40000-40079", FEW, compat.PORTS),
        ("40000\t40100\n", "", "", compat.PORTS),
        ("40000\t40100\n", "", "sockets: used 9\n", compat.PORTS),
        ("", "", FEW, compat.PORTS),
        ("a b", "", FEW, compat.PORTS),
    ],
)
def test_no_port_is_a_shortage_if_most_are_taken_or_nobody_tells(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    ports: str,
    reserved: str,
    sockets: str,
    kind: str | None,
) -> None:
    monkeypatch.setattr(failures, "_SYSTEM", tmp_path)
    assert compat.shortage_in(no_ports()) == compat.PORTS
    says(tmp_path, ports, reserved, sockets)
    assert compat.shortage_in(no_ports()) == kind


@pytest.fixture
def no_port_is_left(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The system says that it has two ports, and more sockets than that."""
    says(tmp_path, "40000\t40001\n", "", "TCP: inuse 27 orphan 0 tw 2 alloc 33 mem 0\n")
    monkeypatch.setattr(failures, "_SYSTEM", tmp_path)


class ShortForPages(Short):
    """Opens no connection for a page, and those for robots.txt at once."""

    error = no_files()

    def tries_of(self, request: Request) -> float:
        return 0 if "robots" in request.url else inf


def caused_by(error: BaseException, outer: Exception) -> Exception:
    outer.__cause__ = error
    return outer


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (no_files(), compat.FILES),
        (OSError(errno.ENFILE, "too many files of the system"), compat.FILES),
        (ConnectBindError(errno.EMFILE, "no socket"), compat.FILES),
        (CannotListenError("", 0, no_files()), compat.FILES),
        (caused_by(no_files(), OSError("All connection attempts failed")), compat.FILES),
        (caused_by(caused_by(no_files(), ValueError()), RuntimeError()), compat.FILES),
        (ResponseFailed([Failure(no_files())]), compat.FILES),
        (ConnectError(errno.EADDRNOTAVAIL, "no port"), compat.PORTS),
        (ConnectBindError(errno.EADDRINUSE, "no port"), compat.PORTS),
        (OSError(errno.ENOBUFS, "no buffers"), compat.MEMORY),
        (ConnectError(errno.ENOMEM, "no memory"), compat.MEMORY),
        (ConnectBindError(errno.EADDRNOTAVAIL, "an address of another machine"), None),
        (ConnectError(errno.ECONNREFUSED, "refused"), None),
        (ConnectionResetError(errno.ECONNRESET, "reset"), None),
        (OSError("Too many open files"), None),
        (ConnectError(), None),
        (ValueError(24), None),
    ],
    ids=repr,
)
def test_which_errors_are_a_shortage_of_this_machine(
    error: Exception, kind: str | None, no_port_is_left: None
) -> None:
    assert compat.shortage_in(error) == kind


IN_ITS_OWN_NETWORK = """
ip link set lo up
echo 1 > /proc/sys/net/ipv6/conf/all/disable_ipv6
echo "40000 40015" > /proc/sys/net/ipv4/ip_local_port_range
"$0" -c "$1"
"""

TRIES = """
import socket
from scrapy_robots_plus.compat import shortage_in

def shortage_for(family, *address):
    try:
        kept.append(socket.socket(family))
        kept[-1].connect(address)
    except OSError as error:
        assert error.errno == 99, error
        return shortage_in(error)

server, kept = socket.create_server(("127.0.0.1", 30000), backlog=100), []
print(shortage_for(socket.AF_INET6, "2001:db8::1", 80))
print([shortage_for(socket.AF_INET, "127.0.0.1", 30000) for _ in range(17)][-1])
"""


def test_a_machine_without_ipv6_is_not_short_of_ports_and_one_that_has_used_all_is() -> None:
    command = ["unshare", "-Urn", "sh", "-ec", IN_ITS_OWN_NETWORK, sys.executable, TRIES]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        pytest.skip("there is no unshare")
    if "Traceback" not in done.stderr and done.returncode:
        pytest.skip(f"no network of its own: {done.stderr}")
    assert done.stdout.split() == ["None", "ports"], done.stderr


def test_errors_that_cause_each_other_and_odd_ones_are_looked_through() -> None:
    class OddError(Exception):
        __hash__ = None  # type: ignore[assignment]
        reasons = 5

        def __init__(self) -> None:
            self.errno = [errno.EMFILE]

    one, other = OddError(), OddError()
    one.__cause__, other.__cause__ = other, one
    assert compat.shortage_in(one) is None


@ensureDeferred
@pytest.mark.parametrize("number", [errno.EMFILE, errno.EADDRNOTAVAIL, errno.ENOBUFS])
async def test_a_request_that_got_no_connection_is_sent_again_and_no_retry_is_used(
    sites: Sites, number: int, no_port_is_left: None
) -> None:
    host = sites.host(RULES)
    crawler = await crawl(
        host.url("/page"),
        host.url("/never"),
        DOWNLOAD_HANDLERS=short_of(OSError(number, os.strerror(number))),
        RETRY_ENABLED=True,
        RETRY_TIMES=1,
        ROBOTS_FETCH_RETRIES=0,
    )
    assert host.fetched == ["/page"]
    stats = crawler.stats.get_stats()
    assert stats["robotstxt/forbidden"] == stats["robotstxt/forbidden/rule"] == 1
    assert "retry/count" not in stats
    assert sum(count for key, count in stats.items() if "own_shortage" in key) == 6


@ensureDeferred
async def test_a_crawl_ends_though_the_shortage_does_not(
    sites: Sites, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(OwnShortage, "MOST_SECONDS", 0.3)
    hosts = [sites.host(RULES) for _ in range(20)]
    urls = [host.url("/page") for host in hosts]
    crawler = await crawl(*urls, DOWNLOAD_HANDLERS=short_of(no_files(), inf))
    assert all(not host.hits for host in hosts)
    assert set(crawler.spider.failures) == set(urls)
    assert caplog.text.count("and fail if none gets a connection in that time") == 1
    stats = crawler.stats.get_stats()
    assert "robotstxt/failure_count/connection" not in stats  # nothing is known of the sites


@ensureDeferred
async def test_after_a_shortage_has_ended_the_next_one_is_waited_for(
    sites: Sites, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(OwnShortage, "MOST_SECONDS", 1.0)
    monkeypatch.setattr(OwnShortage, "FIRST_PAUSE", 0.01)  # 0.1 s at most for each page
    host = sites.host(RULES)
    urls = [host.url(f"/{number}") for number in range(60)]
    began = time.monotonic()
    crawler = await crawl(*urls, DOWNLOAD_HANDLERS=short_of(no_files()), CONCURRENT_REQUESTS=2)
    assert time.monotonic() - began > 1.0  # so long do they wait together
    assert len(host.fetched) == 60
    assert not crawler.spider.failures


class ShortOfBoth(Short):
    """Of files, and of ports."""

    error = no_files()
    without_port: str
    """What has no port in the beginning of its URL, whatever happens."""

    async def download_request(self, request: Request) -> Response:
        if request.url.startswith(self.without_port):
            raise no_ports()
        return await super().download_request(request)


@ensureDeferred
async def test_a_shortage_that_does_not_end_is_not_taken_for_another_one(
    sites: Sites, monkeypatch: pytest.MonkeyPatch, no_port_is_left: None
) -> None:
    """One site never gets a port, while files do get free."""
    monkeypatch.setattr(OwnShortage, "MOST_SECONDS", 0.5)
    never, host = sites.host(RULES), sites.host(after(1.5, answer(RULES)))
    handler = type("Handler", (ShortOfBoth,), {"without_port": never.url("/")})
    crawler = await crawl(
        never.url("/page"),
        host.url("/page"),
        DOWNLOAD_HANDLERS={"http": handler},
        ROBOTS_FETCH_RETRIES=0,
    )
    assert set(crawler.spider.failures) == {never.url("/page")}
    assert host.fetched == ["/page"]


@ensureDeferred
async def test_who_finds_no_file_and_then_no_port_waits_for_both(
    sites: Sites, no_port_is_left: None
) -> None:
    host = sites.host(RULES)
    errors: dict[str, list[Exception]] = {}

    class Handler(HTTP11DownloadHandler):
        async def download_request(self, request: Request) -> Response:
            left = errors.setdefault(request.url, [no_files(), no_ports(), no_files()])
            if left:
                raise left.pop()
            response: Response = await super().download_request(request)
            return response

    crawler = await crawl(host.url("/page"), DOWNLOAD_HANDLERS={"http": Handler})
    assert host.fetched == ["/page"]
    stats = crawler.stats.get_stats()
    assert (stats[SHORT], stats["robotstxt/own_shortage/ports"]) == (4, 2)


@ensureDeferred
@pytest.mark.parametrize(("free", "got"), [(3, ["/page"]), (10_000, [])])
async def test_a_name_is_looked_up_again_if_files_may_be_why_it_was_not_found(
    sites: Sites, monkeypatch: pytest.MonkeyPatch, free: int, got: list[str]
) -> None:
    """A resolver needs files too, and does not say that it found none."""
    monkeypatch.setattr(compat, "free_files", lambda: free)
    host = sites.host(RULES)
    error = DNSLookupError("no results for hostname lookup: site.example")
    await crawl(host.url("/page"), DOWNLOAD_HANDLERS=short_of(error), ROBOTS_FETCH_RETRIES=0)
    assert host.fetched == got


@ensureDeferred
async def test_an_address_that_this_machine_does_not_have_is_told_at_once(sites: Sites) -> None:
    """As ``bindaddress`` may ask for one."""
    url = sites.host(RULES).url("/page")
    error = ConnectBindError(errno.EADDRNOTAVAIL, "Cannot assign requested address")
    began = time.monotonic()
    crawler = await crawl(url, DOWNLOAD_HANDLERS=short_of(error, inf))
    assert url in crawler.spider.failures
    assert time.monotonic() - began < OwnShortage.MOST_SECONDS / 4
    assert not [key for key in crawler.stats.get_stats() if "own_shortage" in key]


@ensureDeferred
async def test_what_waits_for_a_file_does_not_keep_a_stopped_crawl_open(
    sites: Sites, tmp_path: Path
) -> None:
    host = sites.host(RULES)
    settings: dict[str, Any] = {"JOBDIR": str(tmp_path), "ROBOTSTXT_OBEY": True}

    began = time.monotonic()
    stopped = await crawl(
        *[host.url(f"/{number}") for number in range(30)],
        spider=Kept,
        DOWNLOAD_HANDLERS={"http": ShortForPages},
        CLOSESPIDER_TIMEOUT=1,
        **settings,
    )
    assert stopped.stats.get_value("finish_reason") == "closespider_timeout"
    assert time.monotonic() - began < OwnShortage.MOST_SECONDS / 4
    await crawl(spider=Kept, **settings)
    assert sorted(host.fetched) == sorted(f"/{number}" for number in range(30))


@ensureDeferred
async def test_what_was_denied_in_observe_mode_and_waits_at_closing_takes_nothing_off_the_allowed(
    sites: Sites, tmp_path: Path
) -> None:
    host = sites.host("User-agent: *\nDisallow: /closed\n")
    crawler = await crawl(
        host.url("/page"),
        host.url("/closed"),
        spider=Kept,
        JOBDIR=str(tmp_path),
        ROBOTS_MODE="observe",
        ROBOTS_OVERRIDES={host.address: {"crawl_delay": 0.01}},
        DOWNLOAD_HANDLERS={"http": ShortForPages},
        CLOSESPIDER_TIMEOUT=1,
    )
    assert host.fetched == []
    tally = crawler.get_downloader_middleware(RobotsMiddleware).tally
    assert (tally.allowed, tally.denied) == (0, 1)  # what was allowed goes to the next run
    assert crawler.stats.get_value("robotstxt/override") == 1


class Kept(ProbeSpider):
    """Its requests can be written to disk."""

    def request(self, url: str, **arguments: Any) -> scrapy.Request:
        return scrapy.Request(url, **arguments)


@parts_of_seconds
@ensureDeferred
async def test_a_delay_holds_between_requests_that_got_no_connection_at_first(sites: Sites) -> None:
    class Some(Short):
        error = no_files()

        def tries_of(self, request: Request) -> float:
            return 7 if request.url.endswith(("/1", "/3")) else 0

    host = sites.host(RULES + "Crawl-delay: 0.5\n")
    urls = [host.url(f"/{number}") for number in range(5)]
    crawler = await crawl(*urls, spider=TimedSpider, DOWNLOAD_HANDLERS={"http": Some})
    times = [at for at, url in crawler.spider.sent if "robots" not in url]
    assert len(times) == 5
    assert min(later - earlier for earlier, later in pairwise(times)) > 0.5 - HICCUP


@ensureDeferred
async def test_what_waits_for_a_file_is_not_sent_if_new_rules_deny_it(sites: Sites) -> None:
    changed = answer(RULES.replace("/never", "/page"))
    host = sites.host(in_turn(answer(RULES), changed))

    class UntilTheRulesChange(Short):
        async def download_request(self, request: Request) -> Response:
            if host.robots_hits < 2 and request.url.endswith("/page"):
                raise no_files()
            return await HTTP11DownloadHandler.download_request(self, request)

    class WithOthersLater(ProbeSpider):
        async def start(self) -> AsyncIterator[Request]:
            yield self.request(host.url("/page"))
            await pause(1.5)  # then the rules have expired
            yield self.request(host.url("/other"))

    crawler = await crawl(
        spider=WithOthersLater, ROBOTS_TTL=(1, 1), DOWNLOAD_HANDLERS={"http": UntilTheRulesChange}
    )
    assert host.fetched == ["/other"]
    assert list(crawler.spider.failures) == [host.url("/page")]
    assert isinstance(crawler.spider.failures[host.url("/page")], RobotsDisallowed)
    assert stat(crawler, "robotstxt/forbidden/rule") == 1


@ensureDeferred
async def test_a_pause_that_is_the_first_of_all_holds_what_waits_for_a_file(sites: Sites) -> None:
    """Nothing was delayed before, so that nothing stood between the request and its handler."""
    host = sites.host(RULES)
    host.pages["/refused"] = answer("", 429, Retry_After="2")

    class UntilRefused(Short):
        async def download_request(self, request: Request) -> Response:
            if request.url.endswith("/page") and "/refused" not in host.fetched:
                raise no_files()
            response: Response = await HTTP11DownloadHandler.download_request(self, request)
            return response

    class WithRefusedLater(ProbeSpider):
        async def start(self) -> AsyncIterator[Request]:
            yield self.request(host.url("/page"))
            await until(lambda: stat(crawler, SHORT))
            yield self.request(host.url("/refused"))

    crawler = make_crawler(WithRefusedLater, DOWNLOAD_HANDLERS={"http": UntilRefused})
    await run(crawler)
    refused, page = (hit for hit in host.hits if hit.path != "/robots.txt")
    assert (refused.path, page.path) == ("/refused", "/page")
    assert page.at - refused.at > 2 - HICCUP


@ensureDeferred
async def test_one_that_is_denied_while_it_waits_shows_no_shortage_that_lasts(sites: Sites) -> None:
    url = sites.host(RULES).url("/page")
    ended: list[object] = []

    async def fails(_: Request) -> Response:
        raise no_files()

    class Denies(ProbeSpider):
        async def start(self) -> AsyncIterator[Request]:
            own, origin = Crawl.of(self.crawler), Origin.of(url)
            assert origin is not None
            door, shortage = own.get(Door), OwnShortage(own, self.crawler.engine.downloader)
            waits = deferred_from_coro(shortage.download(fails, Request(url)))
            waits.addErrback(ended.append)
            await until(lambda: door._outside)
            assert shortage._since
            door.recheck(origin, lambda _: True)
            await until(lambda: ended)
            ended.append(shortage._since)
            yield self.request(url)

    await crawl(spider=Denies)
    failed, since = ended
    assert isinstance(failed, Failure)
    assert isinstance(failed.value, HeldAtDenial)
    assert not since
