"""An error of the package itself: the crawl ends, says what to report, and loses nothing."""

from __future__ import annotations

import inspect
import logging
import sys
import time
from contextlib import suppress
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import scrapy
from pytest_twisted import ensureDeferred
from scrapy import signals
from scrapy.core import downloader, engine
from scrapy.core.downloader.handlers import DownloadHandlers
from scrapy.core.downloader.handlers.http11 import HTTP11DownloadHandler
from scrapy.core.downloader.middleware import DownloaderMiddlewareManager
from scrapy.core.scraper import Scraper
from scrapy.pqueues import ScrapyPriorityQueue
from scrapy.settings import default_settings
from scrapy.utils.asyncio import call_later
from scrapy.utils.misc import load_object
from scrapy.utils.reactor import CallLaterOnce
from scrapy.utils.request import RequestFingerprinter

from scrapy_robots_plus import RobotsUnreachable, compat
from scrapy_robots_plus.crawl.crawl import Crawl, is_of_this_package
from scrapy_robots_plus.hosts.refusals import Refusals
from scrapy_robots_plus.origins.policies import Fetch
from scrapy_robots_plus.pages.stamp import PagePreferences
from scrapy_robots_plus.protocol.printable import counted
from scrapy_robots_plus.redis.pushing import Pushing
from tests.crawl_process import MODES, crawl_in_process
from tests.crawling import (
    HAS_THROTTLER,
    IN_FILES,
    OTHER_PARSER,
    ProbeSpider,
    crawl,
    make_crawler,
    parts_of_seconds,
    resumes_jobs,
    run,
)
from tests.redis_server import redis_server, scrapy_redis_may_warn
from tests.sites import after, answer
from tests.waiting import pause
from tests.workers import SHARED

from .breaking import broken, owner_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.sites import Sites

pytestmark = resumes_jobs

RULES = "User-agent: *\nDisallow: /never\nCrawl-delay: 0.02\n"
HOSTS = 6
TOLD = "An error of scrapy-robots-plus itself"
ENDS_OF_SCRAPY = ("shutdown",) if HAS_THROTTLER else ()
"""As what the engine of a Scrapy with a throttler ends a crawl whose components fail."""
OF_THE_QUEUE = [
    "hosts.queue:RobotsPriorityQueue._put",
    "hosts.turns:Hosts.begin",
    "hosts.queue:RobotsPriorityQueue.take",
    "hosts.turns:Hosts.enter",
    "hosts.turns:Hosts._choose",
    "hosts.turns:Hosts._take",
    "hosts.turns:Hosts._settle",
    "hosts.turns:Hosts.fetch_ended",
]
BEHIND_IT = [
    "requests.judge:Judge.judge",
    "requests.judge:Outcomes.passed",
    "origins.store_or_site:Retrieval.retrieve",
    "origins.policies:Policies.usable",
    "origins.policies:Policies.usable_or_refresh",
    "hosts.own_shortage:OwnShortage.download",
    "origins.body_tap:BodyTaps._download",
    "origins.agents:Agents.of",
    "hosts.door:Door._line_of",
    "hosts.line:HostLine.let_through",
    "hosts.pace:Pace.handed_over",
]


class TwoDeep(ProbeSpider):
    """Its requests can be written to disk."""

    def request(self, url: str, **arguments: Any) -> scrapy.Request:
        return scrapy.Request(url, **arguments)

    def parse(self, response: scrapy.http.Response) -> Iterator[scrapy.Request]:
        super().parse(response)
        if response.url.endswith("/page"):
            yield self.request(f"{response.url}/0")


def own_errors(caplog: pytest.LogCaptureFixture) -> list[logging.LogRecord]:
    return [record for record in caplog.records if TOLD in record.getMessage()]


def part(path: str, kept: dict[str, Any] | None, name: str) -> Any:
    """Of all parts but the first, all but those in a job is left to `make stress`."""
    marks = [pytest.mark.stress] if path != OF_THE_QUEUE[0] and kept != {} else []
    return pytest.param(path, kept, id=f"{path.partition(':')[2]}-{name}", marks=marks)


@parts_of_seconds
@ensureDeferred
@pytest.mark.parametrize(
    ("path", "kept"),
    [
        part(path, kept, name)
        for path in OF_THE_QUEUE + BEHIND_IT
        for name, kept in {"no job": None, "job": {}, "job in files": IN_FILES}.items()
        if kept is not IN_FILES or path in BEHIND_IT  # which are in Scrapy's own queue
    ],
)
async def test_the_crawl_ends_and_no_request_of_its_job_is_lost(
    sites: Sites,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    path: str,
    kept: dict[str, Any] | None,
) -> None:
    hosts = [sites.host(RULES) for _ in range(HOSTS)]
    urls = [host.url("/page") for host in hosts]
    job = {} if kept is None else {"JOBDIR": str(tmp_path), **kept}
    began = time.monotonic()
    with monkeypatch.context() as patched:
        owner, name = owner_of(path)
        patched.setattr(owner, name, broken(getattr(owner, name), 5, 6))
        crawler = await crawl(*urls, spider=TwoDeep, **job)
    assert time.monotonic() - began < 20
    assert crawler.stats.get_value("finish_reason") == "robots_error"
    assert crawler.stats.get_value("robotstxt/own_errors") >= 1
    (record,) = own_errors(caplog)
    assert record.levelno == logging.ERROR
    for told in ("taken_away", "scrapy-robots-plus 0.", f"Scrapy {scrapy.__version__}", "Python 3"):
        assert told in record.getMessage()
    if kept is not None:
        again = await crawl(*urls, spider=TwoDeep, **job)
        assert again.stats.get_value("finish_reason") == "finished"
        assert [set(host.fetched) for host in hosts] == [{"/page", "/page/0"}] * HOSTS


@ensureDeferred
@pytest.mark.parametrize(
    ("path", "first"),
    [
        ("origins.fetcher:Fetcher._request", 1),
        ("origins.fetch_results:_file_in", 1),
        ("pages.stamp:PagePreferences.received", 1),
        ("pages.stamp:PagePreferences.received", HOSTS + 3),  # of a page
    ],
)
async def test_no_site_is_denied_for_a_mistake_and_no_page_is_lost(
    sites: Sites,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    path: str,
    first: int,
) -> None:
    hosts = [sites.host(RULES) for _ in range(HOSTS)]
    urls = [host.url("/page") for host in hosts]
    with monkeypatch.context() as patched:
        owner, name = owner_of(path)
        patched.setattr(owner, name, broken(getattr(owner, name), first, inf))
        crawler = await crawl(*urls, spider=TwoDeep, JOBDIR=str(tmp_path))
    assert crawler.stats.get_value("finish_reason") == "robots_error"
    assert len(own_errors(caplog)) == 1
    assert crawler.stats.get_value("robotstxt/forbidden") is None
    again = await crawl(*urls, spider=TwoDeep, JOBDIR=str(tmp_path))
    assert again.stats.get_value("finish_reason") == "finished"
    assert [len(set(host.fetched)) for host in hosts] == [2] * HOSTS


@ensureDeferred
async def test_what_others_raise_while_a_page_is_read_is_no_failure_of_its_host(
    sites: Sites, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[Exception] = []

    def fail(_: object, request: scrapy.Request, __: object) -> None:
        if "robots.txt" not in request.url:
            raise RuntimeError

    monkeypatch.setattr(PagePreferences, "received", fail)
    monkeypatch.setattr(Refusals, "failed", lambda _self, _request, error: told.append(error))
    url = sites.host(RULES).url("/page")
    crawler = await crawl(url)
    assert isinstance(crawler.spider.failures[url], RuntimeError)
    assert told == []


@pytest.mark.parametrize(
    ("mode", "spider"),
    [
        # By turns in `make test`.
        pytest.param(mode, spider, marks=[pytest.mark.stress] * ((turn + place) % 2))
        for turn, mode in enumerate(sorted({*MODES} - {"asyncio"}))
        for place, spider in enumerate(["BreaksPop", "BreaksPush", "BreaksJudge"])
    ],
)
def test_in_every_other_reactor_mode(sites: Sites, tmp_path: Path, mode: str, spider: str) -> None:
    hosts = [sites.host(RULES) for _ in range(HOSTS)]
    urls = [host.url("/page") for host in hosts]
    path = f"tests.crawl.breaking.{spider}"
    result = crawl_in_process(mode, *urls, spider=path, JOBDIR=str(tmp_path))
    assert result["stats"]["finish_reason"] == "robots_error"
    whole = "tests.crawl.breaking.WholeSpider"
    again = crawl_in_process(mode, *urls, spider=whole, JOBDIR=str(tmp_path))
    assert again["stats"]["finish_reason"] == "finished"
    assert [set(host.fetched) for host in hosts] == [{"/page", "/page/next"}] * HOSTS


@pytest.mark.parametrize("every", [4, pytest.param(1, marks=pytest.mark.stress)])
def test_every_bridge_to_scrapy_in_turn_ends_the_crawl_or_does_without(
    sites: Sites, monkeypatch: pytest.MonkeyPatch, every: int
) -> None:
    """Whichever of them a new version of Scrapy breaks, nothing idles for ever."""
    bridges = [
        name
        for name, value in vars(compat).items()
        if inspect.isfunction(value) and name not in NEEDED_TO_CLOSE
    ]
    assert len(bridges) > 30
    hosts = [sites.host(RULES) for _ in range(2)]
    urls = [host.url("/page") for host in hosts]
    closed = 0
    for name in bridges[::every]:
        result = crawl_in_process(
            "asyncio", *urls, spider="tests.crawl.breaking.BreaksBridge", BRIDGE=name
        )
        reason = result["stats"].get("finish_reason")
        assert reason in ("robots_error", "finished", None, *ENDS_OF_SCRAPY), name
        if reason == "finished":
            assert len(result["got"]) == 4, name
        closed += reason == "robots_error"
    assert closed > (5 // every if OTHER_PARSER is None else 0)  # others need fewer of them


NEEDED_TO_CLOSE = {"close_crawl", "is_closing", "crawler_process"}


# What is an error of this package, and what is not


def raised(call: Any) -> BaseException:
    try:
        call()
    except Exception as error:  # noqa: BLE001
        return error
    raise AssertionError


def test_only_mistakes_in_code_of_this_package_are_its_errors() -> None:
    own = raised(broken(lambda: None, 1, 1))
    assert is_of_this_package(own)
    assert not is_of_this_package(raised(lambda: None.taken_away))  # type: ignore[attr-defined]
    assert not is_of_this_package(AttributeError("never raised"))
    assert not is_of_this_package(raised(lambda: int("x")))


@ensureDeferred
async def test_errors_of_a_project_take_their_usual_way(
    sites: Sites, caplog: pytest.LogCaptureFixture
) -> None:
    class Careless(ProbeSpider):
        def parse(self, response: scrapy.http.Response) -> None:
            super().parse(response)
            raise AttributeError("of the spider")

    def handler() -> None:
        raise AttributeError("of the project")

    class Middleware:
        def process_request(self, request: scrapy.Request) -> None:
            if request.url.endswith("/2"):
                raise AttributeError("of a middleware")

    host = sites.host(RULES)
    urls = [host.url(f"/{number}") for number in range(4)]
    crawler = make_crawler(Careless, DOWNLOADER_MIDDLEWARES={Middleware: 500})
    crawler.signals.connect(handler, signals.request_reached_downloader)
    await run(crawler, urls=urls)
    assert crawler.stats.get_value("finish_reason") == "finished"
    assert sorted(host.fetched) == ["/0", "/1", "/3"]
    assert own_errors(caplog) == []


@ensureDeferred
async def test_an_error_of_a_projects_fingerprinter_costs_one_request_of_a_job(
    sites: Sites, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    class Fingerprinter(RequestFingerprinter):
        def fingerprint(self, request: scrapy.Request) -> bytes:
            if request.url.endswith("/bad"):
                raise ValueError("of the project")
            return super().fingerprint(request)

    class Linking(ProbeSpider):
        def parse(self, response: scrapy.http.Response) -> Any:
            super().parse(response)
            if response.url.endswith("/0"):
                yield from response.follow_all(["/bad", "/good"])

    host = sites.host(RULES)
    settings = {"JOBDIR": str(tmp_path), "REQUEST_FINGERPRINTER_CLASS": Fingerprinter}
    crawler = make_crawler(Linking, **settings)
    await run(crawler, urls=[host.url("/0")])
    assert crawler.stats.get_value("finish_reason") == "finished"
    assert sorted(host.fetched) == ["/0", "/good"]
    assert own_errors(caplog) == []


@ensureDeferred
@pytest.mark.parametrize("slot", [["a"], ("a", [])])
async def test_a_slot_that_cannot_be_one_costs_its_request(
    sites: Sites, caplog: pytest.LogCaptureFixture, slot: Any
) -> None:
    class Odd(ProbeSpider):
        def parse(self, response: scrapy.http.Response) -> Any:
            super().parse(response)
            if response.url.endswith("/0"):
                yield self.request(response.urljoin("/odd"), meta={"download_slot": slot})
                yield self.request(response.urljoin("/1"))

    host = sites.host(RULES)
    crawler = await crawl(host.url("/0"), spider=Odd)
    assert crawler.stats.get_value("finish_reason") == "finished"
    assert host.fetched == ["/0", "/1"]
    assert isinstance(crawler.spider.failures[host.url("/odd")], TypeError)
    assert own_errors(caplog) == []


@ensureDeferred
@pytest.mark.parametrize("fails_in", ["handler", "timer", "loop"])
async def test_a_handler_of_a_signal_a_timer_and_a_loop_of_this_package(
    sites: Sites, caplog: pytest.LogCaptureFixture, fails_in: str
) -> None:
    crawler = make_crawler(ProbeSpider)
    errors, call = Crawl.of(crawler).errors, broken(lambda: None, 1, 1)
    ends: list[Any] = []
    handlers = {
        "handler": call,
        "timer": lambda: errors.timers(call_later)(0, call),
        "loop": lambda: ends.append(errors.repeat(0.01, call)),
    }
    crawler.signals.connect(handlers[fails_in], signals.spider_opened)
    await run(crawler, urls=[sites.host(after(5, answer(RULES))).url("/page")])
    for end in ends:
        end()
    assert crawler.stats.get_value("finish_reason") == "robots_error"
    assert len(own_errors(caplog)) == 1


@ensureDeferred
@pytest.mark.parametrize(
    ("path", "rules"),
    [
        ("hosts.door:Door._fail_waiting", answer("User-agent: *\nDisallow:\n")),
        ("origins.policies:Policies._call_off", after(100, answer(RULES))),
    ],
)
async def test_an_error_while_the_spider_closes_leaves_nothing_waiting(
    sites: Sites,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    path: str,
    rules: Any,
) -> None:
    owner, name = owner_of(path)
    monkeypatch.setattr(owner, name, broken(getattr(owner, name), 1, 1))
    slow = sites.host(rules)
    began = time.monotonic()
    crawler = await crawl(
        *(slow.url(f"/{page}") for page in range(3)),
        SCHEDULER_PRIORITY_QUEUE="scrapy.pqueues.ScrapyPriorityQueue",
        ROBOTS_DEFAULT_DELAY=100,
        CLOSESPIDER_TIMEOUT=1,
    )
    assert time.monotonic() - began < 30
    assert crawler.stats.get_value("finish_reason") == "closespider_timeout"
    assert len(own_errors(caplog)) == 1


@ensureDeferred
async def test_who_waits_for_a_robots_txt_is_answered_though_that_fails(
    sites: Sites, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(Fetch, "answer", broken(Fetch.answer, 1, 1))
    queue = "scrapy.pqueues.ScrapyPriorityQueue"  # requests wait in the middleware
    began = time.monotonic()
    crawler = await crawl(sites.host(RULES).url("/page"), SCHEDULER_PRIORITY_QUEUE=queue)
    assert time.monotonic() - began < 20
    assert crawler.stats.get_value("finish_reason") == "robots_error"
    assert len(own_errors(caplog)) == 1


@ensureDeferred
@pytest.mark.parametrize("path", ["/odd", "/robots.txt"])
async def test_a_download_handler_that_returns_no_response_costs_its_request(
    sites: Sites, caplog: pytest.LogCaptureFixture, path: str
) -> None:
    class Odd(HTTP11DownloadHandler):
        async def download_request(self, request: scrapy.Request) -> Any:
            return None if request.url.endswith(path) else await super().download_request(request)

    host = sites.host(RULES)
    urls = [host.url(each) for each in ("/odd", "/1", "/2")]
    crawler = await crawl(*urls, DOWNLOAD_HANDLERS={"http": Odd})
    assert own_errors(caplog) == []
    if path == "/odd":
        assert sorted(host.fetched) == ["/1", "/2"]
        assert isinstance(crawler.spider.failures[host.url("/odd")], TypeError)
    else:
        assert {type(each) for each in crawler.spider.failures.values()} == {RobotsUnreachable}


@ensureDeferred
async def test_a_middleware_that_removes_the_mark_of_a_fetch_ends_no_crawl_early(
    sites: Sites,
) -> None:
    class Cleans:
        def process_request(self, request: scrapy.Request) -> None:
            request.meta.pop("robots_fetch", None)

    class Slow(TwoDeep):
        async def parse(self, response: scrapy.http.Response) -> Any:
            await pause(0.5)
            for each in super().parse(response):
                yield each

    host = sites.host(RULES)
    host.pages["/page"] = after(0.5, answer("there"))
    cleans = {"DOWNLOADER_MIDDLEWARES": {Cleans: 50}}
    crawler = await crawl(host.url("/page"), spider=Slow, **cleans)
    assert crawler.stats.get_value("finish_reason") == "finished"
    assert host.fetched == ["/page", "/page/0"]


# Names of Scrapy


class Hidden:
    """A name of a class of Scrapy, which this package alone does not find."""

    def __init__(self, owner: type, name: str) -> None:
        self._kept: Any = vars(owner).get(name)
        self._name = name
        if self._kept is None and hasattr(owner, name):
            self._kept = getattr(owner, name)

    def __get__(self, instance: Any, owner: type) -> Any:
        if sys._getframe(1).f_globals["__name__"].startswith("scrapy_robots_plus."):
            raise AttributeError(self._name)
        if self._kept is None:
            return instance.__dict__[self._name]
        return self._kept.__get__(instance, owner) if hasattr(self._kept, "__get__") else self._kept

    def __set__(self, instance: Any, value: Any) -> None:
        if hasattr(self._kept, "__set__"):
            self._kept.__set__(instance, value)
        else:
            instance.__dict__[self._name] = value


def classes() -> dict[str, type]:
    """Those whose names are needed: the last one on the way to each."""
    found = {
        "Downloader": downloader.Downloader,
        "Downloader.handlers": DownloadHandlers,
        "Downloader.middleware": DownloaderMiddlewareManager,
        "ExecutionEngine": engine.ExecutionEngine,
        "ExecutionEngine.scraper": Scraper,
        "ExecutionEngine._slot": engine._Slot,
        "ExecutionEngine._slot.nextcall": CallLaterOnce,
        "ScrapyPriorityQueue": ScrapyPriorityQueue,
    }
    if HAS_THROTTLER:
        return {**found, "Throttler": load_object(default_settings.THROTTLER)}
    return {**found, "Slot": downloader.Slot}


NAMES = [
    "Downloader.active",
    "Downloader.total_concurrency",
    "Downloader.handlers._get_handler",
    "Downloader.handlers._handlers",
    "Downloader.handlers.download_request_async",
    "Downloader.middleware.methods",
    "ExecutionEngine.downloader",
    "ExecutionEngine.scraper",
    "ExecutionEngine._slot",
    "ExecutionEngine._slot.closing",
    "ExecutionEngine._slot.inprogress",
    "ExecutionEngine._slot.nextcall",
    "ExecutionEngine._slot.nextcall.schedule",
    "ScrapyPriorityQueue._start_queues",
    "ScrapyPriorityQueue.curprio",
    "ScrapyPriorityQueue.queues",
]
NAMES += (
    [f"Throttler.{name}" for name in ("get_scope_manager", "get_scopes_key")]
    if HAS_THROTTLER
    else [
        *("Downloader.get_slot_key", "Downloader.slots", "Downloader.per_slot_settings"),
        *("Downloader.domain_concurrency", "Downloader.ip_concurrency"),
        *("Slot.concurrency", "Slot.delay", "Slot.transferring", "Slot.free_transfer_slots"),
    ]
)


@ensureDeferred
@pytest.mark.parametrize("path", NAMES)
async def test_no_crawl_idles_where_scrapy_lacks_a_name(
    sites: Sites, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, path: str
) -> None:
    job = {"JOBDIR": str(tmp_path), **IN_FILES} if path.startswith("Scrapy") else {}
    way, _, name = path.rpartition(".")
    hides_in = classes()[way]
    monkeypatch.setattr(hides_in, name, Hidden(hides_in, name), raising=False)
    host, began = sites.host(RULES), time.monotonic()
    reason: Any = "not started"
    with suppress(AttributeError):
        crawler = await crawl(host.url("/page"), **job)
        reason = crawler.stats.get_value("finish_reason")
    ends = ("not started", "robots_error", "robotstxt_denied", "finished", *ENDS_OF_SCRAPY)
    assert reason in ends
    assert time.monotonic() - began < 5


@scrapy_redis_may_warn
@ensureDeferred
@pytest.mark.parametrize(
    "path",
    [
        "redis.leased_requests:LeasedRequests.hand_out",
        "redis.pushing:Pushing.is_seen",
        "redis.leased_requests:LeasedRequests.add",
        "redis.pushing:Pushing.push",
        "requests.judge:Judge.judge",
    ],
    ids=lambda path: path.partition(":")[2],
)
async def test_the_requests_of_a_shared_queue_stay_in_it(
    sites: Sites, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, path: str
) -> None:
    hosts = [sites.host(RULES) for _ in range(HOSTS)]
    urls = [host.url("/page") for host in hosts]
    with redis_server() as redis:
        settings = {**redis, **SHARED, "ROBOTS_WORKER_LIFETIME": 10}
        with monkeypatch.context() as patched:
            owner, name = owner_of(path)
            patched.setattr(owner, name, broken(getattr(owner, name), 8, 9))
            crawler = await crawl(*urls, spider=TwoDeep, **settings)
        assert crawler.stats.get_value("finish_reason") == "robots_error"
        assert len(own_errors(caplog)) == 1
        again = await crawl(*urls, spider=TwoDeep, **settings)
    assert again.stats.get_value("finish_reason") == "finished"
    assert [set(host.fetched) for host in hosts] == [{"/page", "/page/0"}] * HOSTS


@scrapy_redis_may_warn
@ensureDeferred
@pytest.mark.parametrize("name", ["push", "give"])
async def test_requests_that_a_shared_queue_never_takes_are_counted(
    sites: Sites, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    urls = [sites.host(RULES).url("/page") for _ in range(HOSTS)]
    with redis_server() as redis:
        whole = getattr(Pushing, name)
        failing = broken(whole, 1 if name == "give" else 8, inf)

        def fails(pushing: Pushing, *arguments: Any, **limit: Any) -> Any:
            method = failing if name == "push" or pushing.kept else whole
            return method(pushing, *arguments, **limit)

        monkeypatch.setattr(Pushing, name, fails)
        crawler = await crawl(*urls, spider=TwoDeep, **{**redis, **SHARED})
    assert crawler.stats.get_value("finish_reason") == "robots_error"
    lost = crawler.stats.get_value("robotstxt/queue/lost")
    assert lost >= 1
    assert f"{counted(lost, 'request')} could not be given to the queue" in caplog.text
