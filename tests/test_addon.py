"""One line wires everything, and leaves alone what a project has wired itself."""

from __future__ import annotations

import ssl
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
import pytest_twisted
from scrapy.downloadermiddlewares.robotstxt import RobotsTxtMiddleware
from scrapy.pqueues import DownloaderAwarePriorityQueue
from scrapy.settings import Settings
from scrapy.utils.misc import load_object

from scrapy_robots_plus import (
    Addon,
    RobotsDisallowed,
    RobotsExtension,
    RobotsItemMiddleware,
    RobotsMiddleware,
    RobotsPagesMiddleware,
)
from scrapy_robots_plus.addon import SchedulerWiring

from .crawling import ADDON, ProbeSpider, crawl, make_crawler, run, stat
from .samples import block_with, settings_of
from .sending import TimedSpider, gaps
from .sites import Sites

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from scrapy import Request
    from scrapy.http import Response
    from scrapy.settings import BaseSettings

BUILT_IN = "scrapy.downloadermiddlewares.robotstxt.RobotsTxtMiddleware"
OURS = "scrapy_robots_plus.RobotsMiddleware"
CLOSED = "User-agent: *\nDisallow: /\n"
BY_HAND: dict[str, Any] = {
    "ADDONS": {},
    "ROBOTSTXT_OBEY": True,
    "DOWNLOADER_MIDDLEWARES": {BUILT_IN: None, OURS: 100},
    "EXTENSIONS": {"scrapy_robots_plus.RobotsExtension": 0},
}
OFF: dict[str, Any] = {"ROBOTSTXT_OBEY": False}
NONE: dict[str, Any] = {"ROBOTSTXT_OBEY": None}


def wired(**settings: Any) -> dict[type, int]:
    """Where middlewares stand after the add-on has been at work on a project with *settings*."""
    crawler = make_crawler(**settings)
    Addon().update_settings(crawler.settings)
    return _placed(crawler.settings.getwithbase("DOWNLOADER_MIDDLEWARES"))


def test_the_built_in_gives_its_place_to_ours() -> None:
    found = wired()
    assert RobotsTxtMiddleware not in found
    assert found[RobotsMiddleware] == 100


@pytest.mark.parametrize("built_in", [BUILT_IN, RobotsTxtMiddleware], ids=["path", "class"])
def test_where_the_project_moved_the_built_in_ours_stands(built_in: object) -> None:
    found = wired(DOWNLOADER_MIDDLEWARES={built_in: 543})
    assert RobotsTxtMiddleware not in found
    assert found[RobotsMiddleware] == 543


@pytest.mark.parametrize("built_in", [BUILT_IN, RobotsTxtMiddleware], ids=["path", "class"])
def test_where_the_project_took_the_built_in_out_ours_stands_in_its_usual_place(
    built_in: object,
) -> None:
    assert wired(DOWNLOADER_MIDDLEWARES={built_in: None})[RobotsMiddleware] == 100


@pytest.mark.parametrize("ours", [OURS, RobotsMiddleware], ids=["path", "class"])
def test_where_the_project_put_ours_it_stays(ours: object) -> None:
    assert wired(DOWNLOADER_MIDDLEWARES={ours: 90})[RobotsMiddleware] == 90


class OpenDoor(RobotsMiddleware):
    """Lets some requests pass unasked."""

    async def process_request(self, request: Request) -> Request | Response | None:
        return None if request.url.endswith("/open") else await super().process_request(request)


class OwnExtension(RobotsExtension):
    """One that a project has changed."""


class OwnItems(RobotsItemMiddleware):
    """The same."""


class OwnPages(RobotsPagesMiddleware):
    """The same."""


@pytest_twisted.ensureDeferred
async def test_a_subclass_of_ours_stands_in_the_place_of_ours() -> None:
    crawler = await crawl(
        DOWNLOADER_MIDDLEWARES={OpenDoor: 90},
        SPIDER_MIDDLEWARES={"tests.test_addon.OwnItems": 10, OwnPages: 60},
        EXTENSIONS={OwnExtension: 0},
        ROBOTS_ITEM_FIELD="robots",
        ROBOTS_NOINDEX="obey",
    )
    engine = crawler.engine
    managers = (engine.downloader.middleware, engine.scraper.spidermw, crawler.extensions)
    placed = {type(each) for manager in managers for each in manager.middlewares}
    ours = {RobotsMiddleware, RobotsItemMiddleware, RobotsPagesMiddleware, RobotsExtension}
    assert placed >= {OpenDoor, OwnItems, OwnPages, OwnExtension}
    assert not placed & ours


def test_a_subclass_of_ours_that_is_switched_off_leaves_ours_in_place() -> None:
    assert wired(DOWNLOADER_MIDDLEWARES={OpenDoor: None})[RobotsMiddleware] == 100


@pytest_twisted.ensureDeferred
async def test_what_a_subclass_of_ours_does_is_what_happens(
    sites: Sites, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    host = sites.host(CLOSED)
    await crawl(
        host.url("/open"),
        host.url("/closed"),
        DOWNLOADER_MIDDLEWARES={OpenDoor: 100},
        EXTENSIONS={OwnExtension: 0},
    )
    assert host.fetched == ["/open"]
    assert caplog.text.count("1 site, 0 requests allowed, 1 denied") == 1
    assert "alongside" not in caplog.text


def test_other_middlewares_stay() -> None:
    stats = "scrapy.downloadermiddlewares.stats.DownloaderStats"
    assert wired(DOWNLOADER_MIDDLEWARES={stats: 7})[load_object(stats)] == 7


@pytest.mark.parametrize("where", [None, 500], ids=["off", "on"])
@pytest.mark.parametrize(
    "name", ["DOWNLOADER_MIDDLEWARES", "SPIDER_MIDDLEWARES", "EXTENSIONS"], ids=str.lower
)
def test_nothing_of_the_project_is_imported(name: str, where: int | None) -> None:
    """It may import a reactor before Scrapy installs its own, and Scrapy 2.14 does not import what
    is switched off: that may be gone.
    """
    settings: dict[str, Any] = {name: {"gone.Middleware": where}}
    crawler = make_crawler(**settings)
    Addon().update_settings(crawler.settings)
    assert crawler.settings.getdict(name)["gone.Middleware"] == where


@pytest.mark.parametrize(
    "name",
    [
        "SCHEDULER",
        "SCHEDULER_PRIORITY_QUEUE",
        "SCHEDULER_DISK_QUEUE",
        "SCHEDULER_MEMORY_QUEUE",
        "SCHEDULER_QUEUE_CLASS",
    ],
    ids=str.lower,
)
@pytest.mark.parametrize("queue", [None, "scrapy_robots_plus.redis.RobotsQueue"])
def test_neither_a_scheduler_nor_a_queue_is_imported(
    name: str, queue: str | None, tmp_path: Path
) -> None:
    settings: dict[str, Any] = {"SCHEDULER_QUEUE_CLASS": queue, "JOBDIR": str(tmp_path)}
    settings[name] = "gone.Class"
    crawler = make_crawler(**settings)
    Addon().update_settings(crawler.settings)
    assert crawler.settings[name] == "gone.Class"


class OwnQueue(DownloaderAwarePriorityQueue):
    """One of the project."""


class ChoosesQueue:
    """An add-on of the project."""

    def update_settings(self, settings: BaseSettings) -> None:
        settings.set("SCHEDULER_PRIORITY_QUEUE", OwnQueue, "addon")


@pytest_twisted.ensureDeferred
async def test_what_an_add_on_after_ours_chooses_is_used(sites: Sites, tmp_path: Path) -> None:
    url = sites.host().url()
    for _ in range(2):
        crawler = await crawl(url, ADDONS={**ADDON, ChoosesQueue: 400}, JOBDIR=str(tmp_path))
        assert crawler.spider.got == [url]
        assert crawler.settings["SCHEDULER_PRIORITY_QUEUE"] is OwnQueue


def test_robotstxt_obey_is_turned_on_unless_the_project_says_otherwise() -> None:
    for settings, expected in (({}, True), (OFF, False), ({"ROBOTSTXT_OBEY": True}, True)):
        crawler = make_crawler(**settings)
        Addon().update_settings(crawler.settings)
        assert crawler.settings.getbool("ROBOTSTXT_OBEY") is expected


WORKERS = {
    "SCHEDULER": "scrapy_redis.scheduler.Scheduler",
    "SCHEDULER_QUEUE_CLASS": "scrapy_robots_plus.redis.RobotsQueue",
    "REDIS_URL": "redis://server.example",
}


@pytest.mark.parametrize(
    ("settings", "store"),
    [
        (WORKERS, "redis://server.example:6379"),
        ({**WORKERS, "ROBOTS_STORE": "memory"}, "memory"),
        ({**WORKERS, "REDIS_URL": None}, "redis://localhost:6379"),
        ({**WORKERS, "REDIS_URL": "what only scrapy-redis knows"}, None),
        (
            {**WORKERS, "REDIS_PARAMS": {"username": "bob", "password": "p@ss%41"}, "REDIS_DB": 3},
            "redis://bob:p%40ss%2541@server.example:6379/3",
        ),
        (
            {
                **WORKERS,
                "REDIS_URL": "redis://:own@server.example/1",
                "REDIS_PARAMS": {"password": "other", "db": 2},
            },
            "redis://:own@server.example:6379/1",
        ),
        (
            {**WORKERS, "REDIS_URL": "unix:///run/redis.sock", "REDIS_PARAMS": {"password": "x"}},
            "unix://:x@/run/redis.sock",
        ),
        (
            {**WORKERS, "REDIS_URL": "unix:///run/redis.sock", "REDIS_DB": 3},
            "unix:///run/redis.sock?db=3",
        ),
        (
            {**WORKERS, "REDIS_URL": None, "REDIS_HOST": "::1", "REDIS_PORT": 7000, "REDIS_DB": 3},
            "redis://[::1]:7000/3",
        ),
        (
            {
                **WORKERS,
                "REDIS_URL": None,
                "REDIS_HOST": "a.example",
                "REDIS_PARAMS": {"ssl": True},
            },
            "rediss://a.example:6379",
        ),
        (
            {
                **WORKERS,
                "REDIS_URL": None,
                "REDIS_PARAMS": {
                    "host": "a.example",
                    "port": 1,
                    "ssl": True,
                    "ssl_ca_certs": "/my certs.pem",
                    "ssl_cert_reqs": None,
                    "socket_timeout": 3,
                },
            },
            "rediss://a.example:1?socket_timeout=3&ssl_ca_certs=/my%20certs.pem&ssl_cert_reqs=none",
        ),
        (
            {
                **WORKERS,
                "REDIS_URL": "rediss://a.example",
                "REDIS_PARAMS": {"ssl_cert_reqs": ssl.CERT_OPTIONAL, "ssl_ca_certs": None},
            },
            "rediss://a.example:6379?ssl_cert_reqs=optional",
        ),
        (
            {**WORKERS, "REDIS_URL": None, "REDIS_PARAMS": {"unix_socket_path": "/run/a b"}},
            "unix:///run/a%20b",
        ),
        (
            {**WORKERS, "REDIS_PARAMS": {"redis_cls": "redis.cluster.RedisCluster"}},
            "redis://server.example:6379?cluster=true",
        ),
        (
            {**WORKERS, "REDIS_PARAMS": {"redis_cls": Exception}},
            None,
        ),
        ({**WORKERS, "REDIS_PARAMS": {"redis_cls": "a_project.redis.SentinelRedis"}}, None),
        ({**WORKERS, "REDIS_PARAMS": {"redis_cls": partial(Exception, "master")}}, None),
        ({**WORKERS, "REDIS_PARAMS": {"connection_pool": object()}}, None),
        ({**WORKERS, "SCHEDULER_QUEUE_CLASS": "scrapy_redis.queue.PriorityQueue"}, None),
        ({**WORKERS, "SCHEDULER": "scrapy.core.scheduler.Scheduler"}, None),
    ],
    ids=[
        "shared",
        "chosen",
        "nowhere",
        "unusual",
        "user and password",
        "those of the URL",
        "socket",
        "database behind a socket",
        "host and port",
        "TLS",
        "TLS with options",
        "TLS with options of other types",
        "socket in REDIS_PARAMS",
        "cluster",
        "class of another package",
        "sentinel",
        "function",
        "pool",
        "other queue",
        "other scheduler",
    ],
)
def test_workers_that_share_our_queue_share_robots_txt_files_where_the_requests_are(
    settings: dict[str, Any], store: str | None
) -> None:
    pytest.importorskip("scrapy_redis")
    crawler = make_crawler(**settings)
    crawler._apply_settings()
    assert crawler.settings.get("ROBOTS_STORE") == store


@pytest_twisted.ensureDeferred
async def test_one_line_is_enough(sites: Sites) -> None:
    host = sites.host(CLOSED)
    crawler = await crawl(host.url())
    assert host.fetched == []
    assert isinstance(crawler.spider.failures[host.url()], RobotsDisallowed)
    assert crawler.get_downloader_middleware(RobotsMiddleware) is not None
    assert crawler.get_downloader_middleware(RobotsTxtMiddleware) is None
    assert crawler.get_extension(RobotsExtension) is not None


@pytest_twisted.ensureDeferred
async def test_the_built_in_never_runs_beside_ours(sites: Sites) -> None:
    for moved in (BUILT_IN, RobotsTxtMiddleware):
        host = sites.host(CLOSED)
        crawler = await crawl(host.url(), DOWNLOADER_MIDDLEWARES={moved: 543})
        assert crawler.get_downloader_middleware(RobotsTxtMiddleware) is None
        assert (host.fetched, host.robots_hits) == ([], 1)


def test_what_the_docs_write_out_by_hand_is_what_the_add_on_does() -> None:
    by_hand, crawler = Settings(), make_crawler()
    by_addon = crawler.settings
    block = block_with("SCHEDULER_PRIORITY_QUEUE", "docs/usage.md")
    by_hand.setdict(settings_of(block), "project")
    Addon().update_settings(by_addon)
    SchedulerWiring.from_crawler(crawler)
    for name in (
        "ROBOTSTXT_OBEY",
        "ROBOTSTXT_PARSER",
        "SCHEDULER_PRIORITY_QUEUE",
        "DOWNLOADER",
    ):
        told, done = by_hand[name], by_addon[name]
        assert told is done or load_object(told) is load_object(done)
    for name in ("DOWNLOADER_MIDDLEWARES", "EXTENSIONS"):
        told, done = by_hand.getwithbase(name), by_addon.getwithbase(name)
        placed = _placed(done)
        placed.pop(SchedulerWiring, None)  # it only makes the choice that is written out
        assert _placed(told) == placed


def _placed(components: Mapping[Any, int | None]) -> dict[type, int]:
    return {load_object(name): place for name, place in components.items() if place is not None}


@pytest_twisted.ensureDeferred
async def test_wired_by_hand_it_works_the_same(sites: Sites) -> None:
    host = sites.host(CLOSED)
    crawler = await crawl(host.url(), **BY_HAND)
    assert host.fetched == []
    assert isinstance(crawler.spider.failures[host.url()], RobotsDisallowed)
    assert stat(crawler, "finish_reason") == "robotstxt_denied"


class OffBySpider(ProbeSpider):
    custom_settings = OFF


@pytest.mark.parametrize(
    ("settings", "arguments"),
    [
        (OFF, {}),
        ({}, {"spider": OffBySpider}),
        ({**BY_HAND, **OFF}, {}),
        (NONE, {}),
        ({**BY_HAND, **NONE}, {}),
    ],
    ids=["project", "spider", "by hand", "None", "None by hand"],
)
@pytest_twisted.ensureDeferred
async def test_turned_off_nothing_is_asked_and_everything_fetched(
    sites: Sites,
    caplog: pytest.LogCaptureFixture,
    settings: dict[str, Any],
    arguments: dict[str, Any],
) -> None:
    host = sites.host(CLOSED)
    crawler = await crawl(host.url(), **arguments, **settings)
    assert [
        text for text in caplog.messages if "scrapy_robots_plus" in text and "Disabled" in text
    ] == []
    assert (host.fetched, host.robots_hits) == (["/"], 0)
    assert crawler.get_downloader_middleware(RobotsMiddleware) is None
    assert crawler.get_extension(RobotsExtension) is None
    assert not [name for name in crawler.stats.get_stats() if name.startswith("robotstxt/")]


@pytest_twisted.ensureDeferred
async def test_turned_off_by_the_command_line(sites: Sites) -> None:
    host = sites.host(CLOSED)
    crawler = make_crawler()
    crawler.settings.set("ROBOTSTXT_OBEY", "False", priority="cmdline")
    await run(crawler, urls=[host.url()])
    assert (host.fetched, host.robots_hits) == (["/"], 0)


@pytest_twisted.ensureDeferred
async def test_delays_alone_can_be_kept(sites: Sites) -> None:
    host = sites.host(CLOSED + "Crawl-delay: 1\n")
    urls = [host.url("/1"), host.url("/2")]
    crawler = await crawl(*urls, spider=TimedSpider, **OFF, ROBOTS_CRAWL_DELAY_OBEY=True)
    assert sorted(host.fetched) == ["/1", "/2"]
    assert min(gaps(crawler.spider.sent, host)) >= 0.98
