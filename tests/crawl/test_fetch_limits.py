"""However long a robots.txt, and however a handler downloads: no more than the limit is held."""

from __future__ import annotations

import base64
import gzip
import random
import zlib
from importlib.util import find_spec
from typing import TYPE_CHECKING

import pytest
import pytest_twisted
from scrapy.core.downloader.handlers.http11 import HTTP11DownloadHandler
from scrapy.http import Response

from scrapy_robots_plus import RobotsMiddleware
from scrapy_robots_plus.origins.body_tap import Tap
from tests.crawl_process import MODES, crawl_in_process
from tests.crawling import crawl, stat
from tests.sites import Hit, Reply, answer, gzipped, response_bytes

if TYPE_CHECKING:
    import asyncio

    from scrapy import Request

    from tests.sites import Sites

RULES = b"User-agent: *\nDisallow: /closed\n"
LIMIT = 512_000
FILLER = b"# filler" * 1_000 + b"\n"


def endless(*, chunked: bool = False) -> Reply:
    """Goes on for as long as somebody reads, up to 100 MB."""

    async def reply(hit: Hit, writer: asyncio.StreamWriter) -> None:
        filler = FILLER * 11
        headers = {"transfer_encoding": "chunked"} if chunked else {}
        head = response_bytes("", 200, headers).replace(b"content-length: 0\r\n", b"")
        writer.write(head)
        for piece in (RULES, *[filler] * 1_100):
            writer.write(b"%x\r\n%b\r\n" % (len(piece), piece) if chunked else piece)
            await writer.drain()

    return reply


def bomb(megabytes: int) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    packed = packer.compress(RULES)
    return (
        packed + b"".join(packer.compress(b"#" * 2**20) for _ in range(megabytes)) + packer.flush()
    )


LONG: dict[str, Reply] = {
    "a little too long": answer(RULES + b"#" * LIMIT),
    "twenty times too long": answer(RULES + FILLER * 1_350),
    "endless": endless(),
    "endless, chunked": endless(chunked=True),
    "a bomb": answer(bomb(20), content_encoding="gzip"),
    "a bomb, deflated": answer(zlib.compress(RULES + b"#" * 5_000_000), content_encoding="deflate"),
    "incompressible": gzipped(
        RULES + b"# " + base64.b64encode(random.Random(1).randbytes(2 * LIMIT))
    ),
}
HANDLERS = {
    "http11": "scrapy.core.downloader.handlers.http11.HTTP11DownloadHandler",
    "aiohttp": "scrapy.core.downloader.handlers._aiohttp.AiohttpDownloadHandler",
    "httpx": "scrapy.core.downloader.handlers._httpx.HttpxDownloadHandler",
}


COMPRESSED = 3
"""Of these HttpCompressionMiddleware warns."""
RUNS = [  # in `make test`, each mode and each handler
    pytest.param("asyncio", "http11", marks=pytest.mark.stress),
    ("asyncio", "aiohttp"),
    ("select", "http11"),
    pytest.param("no reactor", "aiohttp", marks=pytest.mark.stress),
    ("no reactor", "httpx"),
]


@pytest.mark.parametrize(("mode", "handler"), RUNS)
def test_what_was_read_of_a_long_file_holds_with_each_handler(
    sites: Sites, mode: str, handler: str
) -> None:
    path = HANDLERS[handler]
    if mode not in MODES or find_spec(path.rpartition(".")[0]) is None:
        pytest.skip("not in this version of Scrapy")
    pytest.importorskip({"httpx": "httpx2", "http11": "scrapy"}.get(handler, handler))
    hosts = {name: sites.host(reply) for name, reply in LONG.items()}
    result = crawl_in_process(
        mode,
        *(host.url(page) for host in hosts.values() for page in ("/closed", "/open")),
        DOWNLOAD_HANDLERS={"http": path},
        DOWNLOAD_MAXSIZE=1_000,
        DOWNLOAD_WARNSIZE=100,
        ROBOTS_FETCH_RETRIES=0,
    )
    assert {name: host.fetched for name, host in hosts.items()} == {
        name: ["/open"] for name in LONG
    }
    stats = result["stats"]
    assert stats["downloader/response_bytes"] < len(LONG) * 1.5 * LIMIT
    assert stats.get("log_count/WARNING", 0) <= COMPRESSED + EXPERIMENTAL


EXPERIMENTAL = 4
"""Of handlers that Scrapy calls so, there are two warnings or four."""


class Buffering(HTTP11DownloadHandler):
    """Sends no signals, but keeps to ``download_maxsize``, as its users are told."""

    sizes: list[int] = []  # noqa: RUF012
    body = b""

    async def download_request(self, request: Request) -> Response:
        if not request.url.endswith("/robots.txt"):
            return await super().download_request(request)
        limit = request.meta["download_maxsize"]
        self.sizes.append(limit)
        if len(self.body) > limit:
            raise ValueError(f"larger than download max size ({limit})")
        return Response(request.url, body=self.body)


def buffering(body: bytes) -> type[Buffering]:
    return type("Buffered", (Buffering,), {"body": body, "sizes": []})


@pytest_twisted.ensureDeferred
async def test_a_handler_that_cannot_be_stopped_is_given_a_limit(sites: Sites) -> None:
    host = sites.host()
    handler = buffering(RULES + FILLER * 1_125)
    crawler = await crawl(host.url("/open"), DOWNLOAD_HANDLERS={"http": handler})
    assert host.fetched == []
    assert handler.sizes == [2 * LIMIT]
    (policy,) = crawler.get_downloader_middleware(RobotsMiddleware).policies
    assert policy.denies_as_unreachable
    assert stat(crawler, "robotstxt/failure_count/error") == 1


@pytest_twisted.ensureDeferred
async def test_a_file_that_such_a_handler_brings_is_cut_to_the_limit(sites: Sites) -> None:
    host = sites.host()
    handler = buffering(RULES + b"#" * LIMIT + b"\nUser-agent: *\nDisallow: /\n")
    await crawl(host.url("/closed"), host.url("/open"), DOWNLOAD_HANDLERS={"http": handler})
    assert host.fetched == ["/open"]


class Impersonating(HTTP11DownloadHandler):
    """As scrapy-impersonate: derived from Scrapy's own, and often no more than that."""

    async def download_request(self, request: Request) -> Response:
        return await super().download_request(request)


@pytest_twisted.ensureDeferred
async def test_a_handler_that_leaves_it_to_scrapys_own_loses_nothing(sites: Sites) -> None:
    hosts = [sites.host(LONG["twenty times too long"]), sites.host(LONG["a bomb"])]
    await crawl(
        *(host.url(page) for host in hosts for page in ("/closed", "/open")),
        DOWNLOAD_HANDLERS={"http": Impersonating},
    )
    assert [host.fetched for host in hosts] == [["/open"], ["/open"]]


def test_thousands_of_members_are_no_file() -> None:
    """Each of them would make a copy of all that follow it: 6 GB for 500 KB."""
    tap = Tap(LIMIT, None)  # type: ignore[arg-type]
    tap.take(Response("http://site.example/robots.txt", body=gzip.compress(b"#") * 20_000))
    assert "members" in str(tap.error)
