"""A fetch takes no longer than it may, all its tries and redirects together.

What is compared are times within one run; the bounds are generous, because machines are busy.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest
import pytest_twisted
from scrapy import Request
from scrapy.core.downloader.handlers.http11 import HTTP11DownloadHandler
from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.defer import Deferred

from tests.crawling import ProbeSpider, crawl, stat
from tests.sites import Reply, after, answer, drip, hang, in_turn, redirect, when

if TYPE_CHECKING:
    from scrapy.http import Response

    from tests.sites import Sites

RULES = "User-agent: *\nDisallow: /closed\n"
TIMEOUT = 60.0
"""Seconds for a robots.txt, where nobody ought to wait for it."""
SOON = 25.0
"""Seconds within which a crawl has to be closed that could wait for ``TIMEOUT``."""
EXPIRES_AT_ONCE = {"ROBOTS_TTL": (1, 1)}


@pytest_twisted.ensureDeferred
async def test_a_timeout_is_not_tried_again(sites: Sites) -> None:
    host = sites.host(hang)
    crawler = await crawl(host.url("/"), ROBOTS_FETCH_TIMEOUT=0.5, ROBOTS_FETCH_RETRIES=5)
    assert host.robots_hits == 1
    assert stat(crawler, "robotstxt/failure_count/timeout") == 1


@pytest_twisted.ensureDeferred
async def test_retries_and_redirects_share_the_time(sites: Sites) -> None:
    """Each answer alone comes in time; all together do not."""
    failing = sites.host(after(0.5, answer("", 500)))
    moving = sites.host()
    for number in range(5):
        moving.pages[f"/{number}.txt"] = after(0.5, redirect(f"/{number + 1}.txt"))
    moving.pages["/robots.txt"] = after(0.5, redirect("/0.txt"))
    crawler = await crawl(
        failing.url("/"), moving.url("/"), ROBOTS_FETCH_TIMEOUT=1.2, ROBOTS_FETCH_RETRIES=50
    )
    assert failing.robots_hits <= 4
    assert len(moving.hits) <= 4
    assert stat(crawler, "robotstxt/failure_count/timeout") == 2


@pytest_twisted.ensureDeferred
async def test_a_delay_between_downloads_takes_no_time_from_a_fetch(sites: Sites) -> None:
    """A redirect within the host waits in the downloader, where no server can help it."""
    host = sites.host(redirect("/r.txt"))
    host.pages["/r.txt"] = answer(RULES)
    slot = {"delay": 1.5, "jitter": 0, "randomize_delay": False}  # from Scrapy 2.19, up to 2.18
    slots = {host.address: slot}
    await crawl(host.url("/open"), ROBOTS_FETCH_TIMEOUT=1.3, DOWNLOAD_SLOTS=slots)
    assert host.fetched == ["/r.txt", "/open"]


class Patient(HTTP11DownloadHandler):
    """Takes no notice of ``download_timeout``, as those that count it anew with each byte."""

    async def download_request(self, request: Request) -> Response:
        request.meta["download_timeout"] = 60
        return await super().download_request(request)


@pytest.mark.parametrize("robots", [hang, drip(RULES, 0.2)], ids=["hang", "drip"])
@pytest_twisted.ensureDeferred
async def test_the_time_holds_for_handlers_that_keep_none(sites: Sites, robots: Reply) -> None:
    host = sites.host(robots)
    began = time.monotonic()
    crawler = await crawl(
        host.url("/"), ROBOTS_FETCH_TIMEOUT=0.5, DOWNLOAD_HANDLERS={"http": Patient}
    )
    assert time.monotonic() - began < SOON
    assert host.fetched == []
    assert stat(crawler, "robotstxt/failure_count/timeout") == 1


class AnswersWhenCancelled(HTTP11DownloadHandler):
    """As the one for HTTP/2: a cancelled download is a response without a body."""

    async def download_request(self, request: Request) -> Response:
        response = await super().download_request(request.replace(url=request.url + "?"))
        waiting: Deferred[None] = Deferred(lambda deferred: deferred.callback(None))
        if request.url.endswith("/robots.txt"):
            await maybe_deferred_to_future(waiting)
        return response.replace(body=b"")


@pytest_twisted.ensureDeferred
async def test_what_a_handler_answers_when_its_time_is_up_does_not_count(sites: Sites) -> None:
    host = sites.host(RULES)
    crawler = await crawl(
        host.url("/closed"),
        ROBOTS_FETCH_TIMEOUT=0.3,
        DOWNLOAD_HANDLERS={"http": AnswersWhenCancelled},
    )
    assert "/closed" not in host.fetched
    assert stat(crawler, "robotstxt/failure_count/timeout") == 1


class Blocking(ProbeSpider):
    """One of its callbacks blocks the whole process."""

    def parse(self, response: Response) -> None:
        super().parse(response)
        if response.url.endswith("/blocks"):
            time.sleep(5)


@pytest_twisted.ensureDeferred
async def test_time_in_which_the_process_stood_still_is_not_held_against_a_site(
    sites: Sites,
) -> None:
    """The connections of that time may be lost; a site that is silent is asked once more only."""
    blocking = sites.host("")
    asked = [sites.host(in_turn(hang, answer(RULES))), sites.host(hang)]
    blocking.pages["/blocks"] = when(lambda: all(host.robots_hits for host in asked), answer())
    urls = [blocking.url("/blocks"), *(host.url("/open") for host in asked)]
    crawler = await crawl(*urls, spider=Blocking, ROBOTS_FETCH_TIMEOUT=2)
    assert [host.fetched for host in asked] == [["/open"], []]
    assert [host.robots_hits for host in asked] == [2, 2]
    assert stat(crawler, "robotstxt/failure_count/timeout") == 1


class AsksElsewhere:
    """A middleware that has a request of its own, without any meta, in place of a robots.txt."""

    def process_response(self, request: Request, response: Response) -> Request | Response:
        if request.url.endswith("/robots.txt"):
            return Request(request.url.replace("robots", "other"))
        return response


@pytest.mark.parametrize(
    ("other", "fetched", "failure"),
    [
        (answer(RULES), ["/other.txt", "/open"], None),
        (drip(RULES * 9, 0.2), ["/other.txt"], "timeout"),
        (answer("", 302, location="/third"), ["/other.txt", "/third", "/open", "/closed"], None),
    ],
    ids=["answered", "slow", "redirected"],
)
@pytest_twisted.ensureDeferred
async def test_what_a_middleware_asks_in_its_place_is_a_robots_txt_too(
    sites: Sites, other: Reply, fetched: list[str], failure: str | None
) -> None:
    """It waited for the robots.txt of its host, and so for itself, and nothing limited it."""
    host = sites.host(answer("nothing"))
    host.pages |= {"/other.txt": other, "/third": answer("", 404)}
    crawler = await crawl(
        host.url("/open"),
        host.url("/closed"),
        DOWNLOADER_MIDDLEWARES={AsksElsewhere: 550},
        ROBOTS_FETCH_TIMEOUT=1 if failure else TIMEOUT,
    )
    assert sorted(host.fetched) == sorted(fetched)
    assert stat(crawler, f"robotstxt/failure_count/{failure}") == bool(failure)
