"""Whoever reads the log knows why a host is denied, from when, and until when."""

from __future__ import annotations

import logging
import re
from typing import TYPE_CHECKING, Any

import pytest
import pytest_twisted
from scrapy.robotstxt import RobotParser
from scrapy.utils.reactor import is_asyncio_reactor_installed

from scrapy_robots_plus.report.outages import Outages
from tests.crawling import ProbeSpider, crawl, make_crawler, run, stat
from tests.sites import Sites, answer, half, hang, hang_up, in_turn, redirect, reset

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    import scrapy

    from tests.sites import Host, Reply

LOGGER = "scrapy_robots_plus.report.outages"
RULES = "User-agent: *\nDisallow: /private/\n"


@pytest.fixture
def lines(caplog: pytest.LogCaptureFixture) -> Iterator[Lines]:
    with caplog.at_level(logging.DEBUG):
        yield Lines(caplog)


class Lines:
    """What the log says of outages."""

    def __init__(self, caplog: pytest.LogCaptureFixture) -> None:
        self._caplog = caplog

    def of(self, level: int) -> list[str]:
        records = self._caplog.records
        return [each.message for each in records if (each.name, each.levelno) == (LOGGER, level)]


class InTurnSpider(ProbeSpider):
    """Asks for one URL after the other."""

    async def start(self) -> AsyncIterator[scrapy.Request]:
        yield self.next_request()

    def next_request(self) -> scrapy.Request:
        return self.request(self.urls.pop(0), callback=self.went_on)

    def went_on(self, response: scrapy.http.Response) -> Iterator[scrapy.Request]:
        self.parse(response)
        if self.urls:
            yield self.next_request()

    def failed(self, failure: Any) -> Iterator[scrapy.Request]:
        super().failed(failure)
        if self.urls:
            yield self.next_request()


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        (answer("busy", 503), r"503"),
        (answer("slow down", 429), r"429"),
        (hang_up, r"connection: .+"),
        (half(RULES * 20), r"cut: .+"),
        (hang, r"timeout: .+"),
        (redirect("ftp://x.example/robots.txt"), r"bad_redirect.*"),
        (answer(RULES, content_encoding="br"), r"undecodable.*"),
    ],
    ids=["503", "429", "hang up", "cut", "timeout", "bad redirect", "undecodable"],
)
@pytest_twisted.ensureDeferred
async def test_each_way_to_fail_is_told_once_with_what_follows(
    sites: Sites, lines: Lines, reply: Reply, why: str
) -> None:
    host = sites.host(reply)
    urls = [host.url(f"/{number}") for number in range(3)]
    await crawl(*urls, ROBOTS_FETCH_TIMEOUT=0.4 if reply is hang else 60, ROBOTS_FETCH_RETRIES=0)
    (line,) = lines.of(logging.WARNING)
    assert re.match(
        rf"{host.origin}/robots\.txt cannot be read \({why}\): all its requests are denied "
        r"\(see ROBOTS_DEFER\)\. Next attempt in (\d+ s|1 min) at the earliest\.",
        line,
    )


@pytest.mark.skipif(not is_asyncio_reactor_installed(), reason="the handler needs asyncio")
@pytest_twisted.ensureDeferred
async def test_an_exception_without_a_text_is_told_with_its_cause(
    sites: Sites, lines: Lines
) -> None:
    pytest.importorskip("scrapy.core.downloader.handlers._httpx")
    handlers = {"http": "scrapy.core.downloader.handlers._httpx.HttpxDownloadHandler"}
    host = sites.host(reset)
    await crawl(host.url(), DOWNLOAD_HANDLERS=handlers, ROBOTS_FETCH_RETRIES=0)
    (line,) = lines.of(logging.WARNING)
    assert "cannot be read (connection: DownloadFailedError: ReadError): " in line


@pytest.mark.parametrize("status", [200, 404, 403, 410])
@pytest_twisted.ensureDeferred
async def test_an_answer_is_no_outage(sites: Sites, lines: Lines, status: int) -> None:
    await crawl(sites.host(answer(RULES, status)).url())
    assert lines.of(logging.WARNING) == lines.of(logging.INFO) == []


@pytest_twisted.ensureDeferred
async def test_a_403_that_closes_a_site_is_told(sites: Sites, lines: Lines) -> None:
    await crawl(sites.host(answer("no", 403)).url(), ROBOTS_STATUS_POLICY="mk1996")
    assert "cannot be read (403): all its requests are denied" in lines.of(logging.WARNING)[0]


@pytest_twisted.ensureDeferred
async def test_a_status_policy_that_opens_a_site_is_named(sites: Sites, lines: Lines) -> None:
    host = sites.host(answer("busy", 503))
    crawler = await crawl(host.url(), ROBOTS_STATUS_POLICY={"5xx": "allow"})
    assert crawler.spider.got == [host.url()]
    (line,) = lines.of(logging.WARNING)
    assert "(503): everything is allowed, as ROBOTS_STATUS_POLICY says." in line


@pytest_twisted.ensureDeferred
async def test_delays_alone_deny_nothing(sites: Sites, lines: Lines) -> None:
    host = sites.host(answer("busy", 503))
    await crawl(host.url(), ROBOTSTXT_OBEY=False, ROBOTS_CRAWL_DELAY_OBEY=True)
    assert "(503): its Crawl-delay is unknown." in lines.of(logging.WARNING)[0]


@pytest_twisted.ensureDeferred
async def test_requests_that_wait_are_not_called_denied(sites: Sites, lines: Lines) -> None:
    host = sites.host(in_turn(answer("busy", 503), answer(RULES)))
    crawler = await crawl(
        host.url(), ROBOTS_DEFER=3600, ROBOTS_RETRY_INTERVAL=(0.2, 3600), ROBOTS_FETCH_RETRIES=0
    )
    assert crawler.spider.got == [host.url()]
    (line,) = lines.of(logging.WARNING)
    assert "(503): its requests wait in the queue for up to 1 h." in line
    assert lines.of(logging.INFO) == [f"{host.origin}/robots.txt can be read again (200, rules)"]


@pytest_twisted.ensureDeferred
async def test_the_last_good_copy_is_named_and_each_outage_told_by_itself(
    sites: Sites, lines: Lines
) -> None:
    busy, rules = answer("busy", 503), answer(RULES)
    host = sites.host(in_turn(rules, busy, busy, rules, busy, rules))
    urls = [host.url("/private/" if number % 2 else f"/{number}") for number in range(26)]
    crawler = make_crawler(
        InTurnSpider,
        ROBOTS_TTL=(1, 1),
        ROBOTS_RETRY_INTERVAL=(0.5, 0.5),
        ROBOTS_FETCH_RETRIES=0,
        DOWNLOAD_DELAY=0.15,
        CONCURRENT_REQUESTS_PER_DOMAIN=1,
    )
    await run(crawler, urls=urls)
    warnings, ends = lines.of(logging.WARNING), lines.of(logging.INFO)
    assert warnings
    assert len(warnings) - len(ends) in (0, 1)
    assert len(warnings) < host.robots_hits  # two failures in a row are one outage
    assert all("the copy from" in line and "(200, now 503, rules)" in line for line in warnings)


@pytest_twisted.ensureDeferred
async def test_beyond_a_number_outages_are_told_at_debug(
    sites: Sites, lines: Lines, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Outages, "MOST_WARNINGS", 2)
    hosts: list[Host] = [sites.host(answer("busy", 503)) for _ in range(5)]
    hosts.append(sites.host(hang_up))
    await crawl(*(host.url() for host in hosts), ROBOTS_FETCH_RETRIES=0)
    first, last = lines.of(logging.WARNING)
    assert "Further outages" not in first
    assert "Further outages are logged at DEBUG" in last
    assert len([line for line in lines.of(logging.DEBUG) if "cannot be read" in line]) == 4


@pytest_twisted.ensureDeferred
async def test_a_setting_at_fault_is_named_with_the_exception(sites: Sites, lines: Lines) -> None:
    await crawl(sites.host(RULES).url(), ROBOTS_FETCH_META={"proxy": 1})
    (line,) = lines.of(logging.WARNING)
    assert re.search(r"\(error: \w*Error: .+\)", line)
    assert "ROBOTS_FETCH_META" in line


@pytest_twisted.ensureDeferred
async def test_a_broken_proxy_is_named(sites: Sites, lines: Lines) -> None:
    host = sites.host(RULES)
    await crawl(host.url(), ROBOTS_FETCH_META={"proxy": sites.closed_host()})
    (line,) = lines.of(logging.WARNING)
    assert "connection: " in line
    assert line.endswith("Check ROBOTS_FETCH_META.")


class FailingParser(RobotParser):
    @classmethod
    def from_crawler(cls, crawler: Any, robotstxt_body: bytes) -> Any:
        if b"Disallow" in robotstxt_body:
            raise RuntimeError(f"no idea \x1b[31m what {robotstxt_body.decode()!r} means")
        return cls()

    def allowed(self, url: Any, user_agent: Any) -> bool:
        raise RuntimeError("no idea whether")


@pytest_twisted.ensureDeferred
async def test_a_parser_that_fails_is_named_and_its_traceback_logged_once(
    sites: Sites, lines: Lines, caplog: pytest.LogCaptureFixture
) -> None:
    hosts = [sites.host(RULES) for _ in range(3)]
    crawler = await crawl(*(host.url() for host in hosts), ROBOTSTXT_PARSER=FailingParser)
    assert crawler.spider.got == []
    for line in lines.of(logging.WARNING):
        assert "(error: ROBOTSTXT_PARSER failed: RuntimeError: no idea \\x1b[31m what" in line
    assert len(lines.of(logging.WARNING)) == 3
    errors = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert len(errors) == 1
    assert "Traceback" in errors[0].getMessage()
    assert "\x1b" not in caplog.text
    assert stat(crawler, "robotstxt/parser_errors") == 3


@pytest_twisted.ensureDeferred
async def test_a_parser_that_fails_on_each_url_is_not_logged_for_each(
    sites: Sites, caplog: pytest.LogCaptureFixture
) -> None:
    host = sites.host("User-agent: *\n")
    urls = [host.url(f"/{number}") for number in range(5)]
    crawler = await crawl(*urls, ROBOTSTXT_PARSER=FailingParser)
    assert crawler.spider.got == []
    assert len([record for record in caplog.records if record.levelno == logging.ERROR]) == 1


@pytest_twisted.ensureDeferred
async def test_a_middleware_that_refuses_the_fetch_is_told(sites: Sites, lines: Lines) -> None:
    class Refuses:
        def process_request(self, request: scrapy.Request) -> None:
            if "robots_fetch" in request.meta:
                raise RuntimeError("not\x9b this\u202e one")

    host = sites.host(RULES)
    await crawl(host.url(), DOWNLOADER_MIDDLEWARES={Refuses: 50})
    (line,) = lines.of(logging.WARNING)
    assert r"(error: RuntimeError: not\x9b this\u202e one)" in line


@pytest_twisted.ensureDeferred
async def test_a_crawl_that_is_closed_blames_no_host(sites: Sites, lines: Lines) -> None:
    host = sites.host(hang)
    await crawl(host.url(), CLOSESPIDER_TIMEOUT=1, ROBOTS_FETCH_TIMEOUT=60)
    assert lines.of(logging.WARNING) == []


@pytest_twisted.ensureDeferred
async def test_so_is_a_proxy_that_wants_a_password(sites: Sites, lines: Lines) -> None:
    host, proxy = sites.host(RULES), sites.host()
    proxy.pages[host.url("/robots.txt")] = answer("", 407)
    await crawl(host.url(), ROBOTS_FETCH_META={"proxy": proxy.origin})
    assert host.hits == []
    (line,) = lines.of(logging.WARNING)
    assert "cannot be read (407): all its requests are denied" in line
    assert line.endswith("Check ROBOTS_FETCH_META.")
