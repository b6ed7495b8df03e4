"""What of the package is not in use, or there twice, is said once at the start."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import pytest
import pytest_twisted
from scrapy.core.downloader import Downloader
from scrapy.core.scheduler import Scheduler
from scrapy.downloadermiddlewares.robotstxt import RobotsTxtMiddleware
from scrapy.pqueues import ScrapyPriorityQueue

from tests.crawling import crawl, stat
from tests.redis_server import redis_server, scrapy_redis_may_warn
from tests.sites import Sites, answer

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

LOGGER = "scrapy_robots_plus.extension"
RULES = "User-agent: *\nDisallow: /private/\n"


class OwnMiddleware(RobotsTxtMiddleware):
    """As projects have it, to change some detail."""


class OtherScheduler:
    """As scrapy-redis has it: not Scrapy's, and with a queue of its own."""

    def __init__(self, crawler: Any) -> None:
        self._requests: list[Request] = []

    @classmethod
    def from_crawler(cls, crawler: Any) -> OtherScheduler:
        return cls(crawler)

    def open(self, spider: Any) -> None: ...

    def close(self, reason: str) -> None: ...

    def has_pending_requests(self) -> bool:
        return bool(self._requests)

    def enqueue_request(self, request: Request) -> bool:
        self._requests.append(request)
        return True

    def next_request(self) -> Request | None:
        return self._requests.pop() if self._requests else None


class OwnScheduler(Scheduler):
    """Scrapy's, with a detail changed."""


async def said(
    sites: Sites, caplog: pytest.LogCaptureFixture, **settings: Any
) -> list[tuple[str, str]]:
    """Levels and texts of what a crawl says of its wiring."""
    with caplog.at_level(logging.INFO, LOGGER):
        await crawl(sites.host(RULES).url(), **settings)
    records = [record for record in caplog.records if record.funcName == "_report_wiring"]
    return [(record.levelname, record.getMessage()) for record in records]


@pytest.mark.parametrize("settings", [{}, {"SCHEDULER": OwnScheduler}], ids=["usual", "own"])
@pytest_twisted.ensureDeferred
async def test_with_everything_in_use_nothing_is_said(
    sites: Sites, caplog: pytest.LogCaptureFixture, settings: dict[str, Any]
) -> None:
    assert await said(sites, caplog, **settings) == []


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"SCHEDULER": OtherScheduler}, 'SCHEDULER = "scrapy.core.scheduler.Scheduler"'),
        (
            {"SCHEDULER_PRIORITY_QUEUE": ScrapyPriorityQueue},
            'SCHEDULER_PRIORITY_QUEUE = "scrapy_robots_plus.RobotsPriorityQueue"',
        ),
        ({"DOWNLOADER": Downloader}, 'DOWNLOADER = "scrapy_robots_plus.RobotsDownloader"'),
    ],
    ids=["scheduler", "queue", "downloader"],
)
@pytest_twisted.ensureDeferred
async def test_a_part_that_is_not_in_use_is_named_with_what_to_set(
    sites: Sites, caplog: pytest.LogCaptureFixture, settings: dict[str, Any], named: str
) -> None:
    ((level, text),) = await said(sites, caplog, **settings)
    assert level == "INFO"
    assert named in text
    (chosen,) = settings.values()
    assert f"{chosen.__module__}.{chosen.__qualname__}" in text


class DownloaderOfItsOwn(Downloader):
    """Has no ``handlers`` that could be held back."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._own = self.__dict__.pop("handlers")

    async def _download(self, *slot_and_request: Any) -> Response:
        response: Response = await self._own.download_request_async(slot_and_request[-1])
        return response


@pytest.mark.parametrize(("delay", "warnings"), [("Crawl-delay: 1\n", 1), ("", 0)])
@pytest_twisted.ensureDeferred
async def test_a_downloader_with_which_no_delay_is_kept_is_named_once_a_host_has_one(
    sites: Sites, caplog: pytest.LogCaptureFixture, delay: str, warnings: int
) -> None:
    hosts = [sites.host(RULES + delay) for _ in range(2)]
    await crawl(*(host.url("/") for host in hosts), DOWNLOADER=DownloaderOfItsOwn)
    assert [host.fetched for host in hosts] == [["/"], ["/"]]
    said = [each.getMessage() for each in caplog.records if each.levelno == logging.WARNING]
    named = f"because DOWNLOADER is {__name__}.DownloaderOfItsOwn"
    assert [named in text for text in said] == [True] * warnings


OURS = "scrapy_robots_plus.redis.RobotsQueue"


@scrapy_redis_may_warn
@pytest_twisted.ensureDeferred
async def test_with_scrapy_redis_the_queue_that_is_not_in_use_is_named_with_what_to_set(
    sites: Sites, caplog: pytest.LogCaptureFixture
) -> None:
    with redis_server() as redis:
        ((level, text),) = await said(sites, caplog, **redis)
    assert level == "INFO"
    assert text.startswith("RobotsPriorityQueue is not in use")
    assert "each worker keeps delays for itself" in text
    assert text.endswith(f'set SCHEDULER_QUEUE_CLASS = "{OURS}".')


@scrapy_redis_may_warn
@pytest_twisted.ensureDeferred
async def test_with_scrapy_redis_and_our_queue_nothing_is_said(
    sites: Sites, caplog: pytest.LogCaptureFixture
) -> None:
    with redis_server() as redis:
        assert await said(sites, caplog, **redis, SCHEDULER_QUEUE_CLASS=OURS) == []


@scrapy_redis_may_warn
@pytest_twisted.ensureDeferred
async def test_our_queue_without_scrapy_redis_is_a_warning(
    sites: Sites, caplog: pytest.LogCaptureFixture
) -> None:
    ((level, text),) = await said(sites, caplog, SCHEDULER_QUEUE_CLASS=OURS)
    assert level == "WARNING"
    assert text.startswith("SCHEDULER_QUEUE_CLASS has no effect")
    assert text.endswith('set SCHEDULER = "scrapy_redis.scheduler.Scheduler".')


@pytest.mark.parametrize("queue", ["project.Missing", "no_such.Queue", "", "json.dumps", 1])
@pytest_twisted.ensureDeferred
async def test_a_queue_that_scrapy_redis_would_not_find_is_none_of_our_concern(
    sites: Sites, caplog: pytest.LogCaptureFixture, queue: object
) -> None:
    assert await said(sites, caplog, SCHEDULER_QUEUE_CLASS=queue) == []


@pytest_twisted.ensureDeferred
async def test_defer_that_acts_as_drop_is_a_warning(
    sites: Sites, caplog: pytest.LogCaptureFixture
) -> None:
    ((level, text),) = await said(sites, caplog, SCHEDULER=OtherScheduler, ROBOTS_DEFER=3600)
    assert level == "WARNING"
    assert "ROBOTS_DEFER has no effect" in text


@pytest.mark.parametrize("own", [OwnMiddleware, RobotsTxtMiddleware], ids=["subclass", "built-in"])
@pytest_twisted.ensureDeferred
async def test_a_second_middleware_for_robots_txt_is_named_with_what_to_remove(
    sites: Sites, caplog: pytest.LogCaptureFixture, own: type
) -> None:
    settings: dict[str, Any] = {"DOWNLOADER_MIDDLEWARES": {own: 101}}
    if own is RobotsTxtMiddleware:  # which the add-on takes out
        settings = {
            "ADDONS": {},
            "ROBOTSTXT_OBEY": True,
            "EXTENSIONS": {"scrapy_robots_plus.RobotsExtension": 0},
            "DOWNLOADER_MIDDLEWARES": {"scrapy_robots_plus.RobotsMiddleware": 99},
        }
    warnings = [text for level, text in await said(sites, caplog, **settings) if level == "WARNING"]
    (text,) = warnings
    assert f"'{own.__module__}.{own.__qualname__}': None" in text


@pytest_twisted.ensureDeferred
async def test_a_middleware_that_was_switched_off_is_missed(
    sites: Sites, caplog: pytest.LogCaptureFixture
) -> None:
    off = {"scrapy_robots_plus.RobotsMiddleware": None}
    found = await said(sites, caplog, DOWNLOADER_MIDDLEWARES=off)
    assert found[0][0] == "WARNING"
    assert "so this package checks no request" in found[0][1]


@pytest.mark.parametrize(
    ("name", "setting"),
    [
        ("RobotsPagesMiddleware", {"ROBOTS_NOFOLLOW": "obey"}),
        ("RobotsItemMiddleware", {"ROBOTS_ITEM_FIELD": "robots"}),
    ],
)
@pytest_twisted.ensureDeferred
async def test_so_is_one_that_settings_need(
    sites: Sites, caplog: pytest.LogCaptureFixture, name: str, setting: dict[str, Any]
) -> None:
    assert await said(sites, caplog, **setting) == []
    off = {f"scrapy_robots_plus.{name}": None}
    ((level, text),) = await said(sites, caplog, SPIDER_MIDDLEWARES=off, **setting)
    assert level == "WARNING"
    assert text.startswith(f"{name} is not in SPIDER_MIDDLEWARES, so ROBOTS_")


@pytest_twisted.ensureDeferred
async def test_a_middleware_that_fetches_the_file_again_is_the_one_that_is_named(
    sites: Sites,
) -> None:
    host = sites.host(answer(RULES))
    crawler = await crawl(host.url(), DOWNLOADER_MIDDLEWARES={OwnMiddleware: 101})
    assert host.robots_hits == 2
    assert stat(crawler, "robotstxt/request_count") == 2
