"""A body that is not the whole file never counts as rules, whoever cut it."""

from __future__ import annotations

import gzip
import random
import zlib
from typing import TYPE_CHECKING, Any

import pytest
import pytest_twisted
from scrapy import signals
from scrapy.core.downloader.handlers.http11 import HTTP11DownloadHandler
from scrapy.exceptions import IgnoreRequest, StopDownload
from scrapy.http import Response, TextResponse

from scrapy_robots_plus import RobotsUnreachable
from scrapy_robots_plus.origins import codings
from tests.crawling import crawl, stat
from tests.sites import Hit, Reply, answer, gzipped, redirect, response_bytes

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from scrapy import Request
    from scrapy.crawler import Crawler

    from tests.sites import Sites

RULES = "User-agent: *\nDisallow: /closed\n"
LONG = RULES + "# filler\n" * 80_000  # 720 kB


class Stops:
    """An extension that stops every download, as the example in Scrapy's documentation does."""

    SIGNAL: Any = signals.headers_received
    FAIL = False

    def __init__(self, crawler: Crawler) -> None:
        crawler.signals.connect(self.stop, self.SIGNAL)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Stops:
        return cls(crawler)

    def stop(self) -> None:
        raise StopDownload(fail=self.FAIL)


STOPPERS = [
    type(f"{name} fail={fail}", (Stops,), {"SIGNAL": getattr(signals, name), "FAIL": fail})
    for name in ("headers_received", "bytes_received")
    for fail in (False, True)
]


class StopsLater(Stops):
    """Connects when our own handler is there already."""

    SIGNAL = signals.bytes_received

    def __init__(self, crawler: Crawler) -> None:
        self._signals = crawler.signals
        crawler.signals.connect(self.reached, signals.request_reached_downloader)

    def reached(self) -> None:
        self._signals.connect(self.stop, self.SIGNAL)


@pytest.mark.parametrize("stopper", [*STOPPERS, StopsLater], ids=lambda stopper: stopper.__name__)
@pytest_twisted.ensureDeferred
async def test_a_download_that_somebody_else_stops_is_a_cut_body(
    sites: Sites, stopper: type[Stops]
) -> None:
    host = sites.host(RULES)
    missing = sites.host(answer(RULES, 404))
    crawler = await crawl(
        *(one.url(path) for one in (host, missing) for path in ("/open", "/closed")),
        EXTENSIONS={stopper: 0},
        ROBOTS_FETCH_RETRIES=0,
    )
    assert host.fetched == []
    assert stat(crawler, "robotstxt/failure_count/cut") == 1
    assert isinstance(crawler.spider.failures[host.url("/open")], RobotsUnreachable)
    assert sorted(missing.fetched) == ["/closed", "/open"]  # of a 404 the status says it all


@pytest.mark.parametrize("stopper", [*STOPPERS[2:], StopsLater], ids=lambda one: one.__name__)
@pytest_twisted.ensureDeferred
async def test_stopped_by_another_when_enough_was_read_it_is_the_file(
    sites: Sites, stopper: type[Stops], monkeypatch: pytest.MonkeyPatch
) -> None:
    received = [0]

    def stop(self: Stops, data: bytes) -> None:
        received[0] += len(data)
        if received[0] > 512_000:
            raise StopDownload(fail=self.FAIL)

    monkeypatch.setattr(Stops, "stop", stop)
    host = sites.host(LONG)
    await crawl(host.url("/closed"), host.url("/open"), EXTENSIONS={stopper: 0})
    assert host.fetched == ["/open"]


class Cuts:
    """A middleware that keeps the beginning of a body alone."""

    KEPT = 14

    def process_response(self, request: Request, response: Response) -> Response:
        return response.replace(body=response.body[: self.KEPT])


class Empties(Cuts):
    KEPT = 0


class Unwraps:
    """A middleware that makes another body of it, which is then the file."""

    def process_response(self, request: Request, response: Response) -> Response:
        return response.replace(body=response.body.replace(b"<pre>", b""))


@pytest.mark.parametrize("middleware", [Cuts, Empties])
@pytest.mark.parametrize("reply", [answer(RULES), gzipped(RULES.encode())], ids=["plain", "gzip"])
@pytest_twisted.ensureDeferred
async def test_what_a_middleware_cuts_off_is_not_lost(
    sites: Sites, middleware: type[Cuts], reply: Reply
) -> None:
    host = sites.host(reply)
    await crawl(host.url("/closed"), host.url("/open"), DOWNLOADER_MIDDLEWARES={middleware: 950})
    assert host.fetched == ["/open"]


@pytest_twisted.ensureDeferred
async def test_what_a_middleware_makes_of_a_body_is_the_file(sites: Sites) -> None:
    host = sites.host("<pre>" + RULES)
    await crawl(host.url("/closed"), host.url("/open"), DOWNLOADER_MIDDLEWARES={Unwraps: 950})
    assert host.fetched == ["/open"]


class Adds:
    """A middleware that adds rules of the project, once the codings are undone."""

    def process_response(self, request: Request, response: Response) -> Response:
        return response.replace(body=response.body + b"Disallow: /own\n")


@pytest.mark.parametrize("reply", [answer(RULES), gzipped(RULES.encode())], ids=["plain", "gzip"])
@pytest_twisted.ensureDeferred
async def test_so_it_is_whether_or_not_the_site_has_compressed_it(
    sites: Sites, reply: Reply
) -> None:
    host = sites.host(reply)
    urls = [host.url(path) for path in ("/own", "/closed", "/open")]
    await crawl(*urls, DOWNLOADER_MIDDLEWARES={Adds: 550})
    assert host.fetched == ["/open"]


class ReadsText:
    """A middleware that looks for a page that bans the crawler."""

    def process_response(self, request: Request, response: Response) -> Response:
        if "banned" in response.text:
            raise IgnoreRequest
        return response


@pytest_twisted.ensureDeferred
async def test_a_middleware_may_read_the_text_of_what_came_compressed(sites: Sites) -> None:
    host = sites.host(redirect("/"))
    page = gzip.compress("<p>Zuhause, schön</p>".encode())
    host.pages["/"] = answer(page, content_encoding="gzip", content_type="text/html")
    await crawl(host.url("/open"), DOWNLOADER_MIDDLEWARES={ReadsText: 550})
    assert host.fetched == ["/", "/open"]


class Refuses:
    """A middleware that ignores what has come."""

    def process_response(self, request: Request, response: Response) -> Response:
        if request.url.endswith("/robots.txt"):
            raise IgnoreRequest
        return response


@pytest.mark.parametrize("reply", [answer(RULES), gzipped(RULES.encode())], ids=["plain", "gzip"])
@pytest_twisted.ensureDeferred
async def test_a_file_that_a_middleware_refuses_is_not_read(sites: Sites, reply: Reply) -> None:
    host = sites.host(reply)
    crawler = await crawl(host.url("/open"), DOWNLOADER_MIDDLEWARES={Refuses: 550})
    assert host.fetched == []
    assert stat(crawler, "robotstxt/failure_count/error") == 1


class Answers404:
    """A middleware that takes a robots.txt away: its 404 is not read with the old body."""

    def process_response(self, request: Request, response: Response) -> Response:
        return response.replace(status=200, body=b"") if response.status == 404 else response


@pytest_twisted.ensureDeferred
async def test_the_body_of_another_status_does_not_come_back(sites: Sites) -> None:
    host = sites.host(answer("User-agent: *\nDisallow: /\n", 404))
    await crawl(host.url("/open"), DOWNLOADER_MIDDLEWARES={Answers404: 950})
    assert host.fetched == ["/open"]


class Handler(HTTP11DownloadHandler):
    """One of a project's own, which sends no signals and checks nothing."""

    response: Response

    async def download_request(self, request: Request) -> Response:
        if request.url.endswith("/robots.txt"):
            return self.response.replace(url=request.url)
        return await super().download_request(request)


def handing_over(body: str | bytes = b"", **rest: Any) -> type[Handler]:
    raw = body.encode() if isinstance(body, str) else body
    response = TextResponse("http://any.example/", body=raw, **rest)
    return type("HandingOver", (Handler,), {"response": response})


CUT: dict[str, dict[str, Any]] = {
    "dataloss": {"body": RULES[:14], "flags": ["dataloss"]},
    "stopped": {"body": RULES[:14], "flags": ["download_stopped"]},
    "Content-Length larger than the body": {
        "body": RULES[:14], "headers": {"Content-Length": "5000"},
    },
    "empty with a Content-Length": {"headers": {"Content-Length": "5000"}},
    "206": {"body": RULES[:14], "status": 206},
    "206, a part": {
        "body": RULES[:14], "status": 206, "headers": {"Content-Range": "bytes 0-13/33"},
    },
    "206, the second half": {
        "body": RULES[14:], "status": 206, "headers": {"Content-Range": "bytes 14-32/33"},
    },
    "206, of unknown length": {
        "body": RULES, "status": 206, "headers": {"Content-Range": "bytes 0-32/*"},
    },
}  # fmt: skip
WHOLE: dict[str, dict[str, Any]] = {
    "closed by the end": {"flags": ["partial"]},
    # What the handler inflated was longer before: a few bytes do not compress well.
    "inflated": {"headers": {"Content-Length": "53"}},
    "a Content-Length that is none": {"headers": {"Content-Length": "9" * 5000}},
}


@pytest.mark.parametrize("kind", CUT)
@pytest_twisted.ensureDeferred
async def test_what_a_handler_hands_over_in_part_is_a_cut_body(sites: Sites, kind: str) -> None:
    host = sites.host(RULES)
    crawler = await crawl(
        host.url("/open"),
        host.url("/closed"),
        DOWNLOAD_HANDLERS={"http": handing_over(**CUT[kind])},
    )
    assert host.fetched == []
    assert stat(crawler, "robotstxt/failure_count/cut") == 1


@pytest.mark.parametrize("kind", WHOLE)
@pytest_twisted.ensureDeferred
async def test_what_a_handler_hands_over_whole_is_the_file(sites: Sites, kind: str) -> None:
    host = sites.host("")
    handler = handing_over(RULES, **WHOLE[kind])
    await crawl(host.url("/open"), host.url("/closed"), DOWNLOAD_HANDLERS={"http": handler})
    assert host.fetched == ["/open"]


def zstandard(body: bytes) -> bytes:
    """A frame, if this version of Scrapy reads them with a package that we know."""
    module = pytest.importorskip("backports.zstd")
    return bytes(module.compress(body))


def brotli(body: bytes) -> bytes:
    return bytes(pytest.importorskip("brotli").compress(body))


SKIPPABLE = b"\x50\x2a\x4d\x18\x04\0\0\0abcd"
COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "deflate": zlib.compress,
    "br": brotli,
    "zstd": zstandard,
}
INCOMPRESSIBLE = RULES.encode() + b"# " + random.Random(1).randbytes(2000).hex().encode()


def encoded(body: bytes, coding: str) -> Reply:
    return answer(body, content_encoding=coding)


@pytest.mark.parametrize(
    ("coding", "ends"),
    [
        # By turns in `make test`.
        pytest.param(coding, ends, marks=[pytest.mark.stress] * ((turn + place) % 2))
        for turn, coding in enumerate(COMPRESS)
        for place, ends in enumerate(["by Content-Length", "by closing the connection"])
    ],
)
@pytest_twisted.ensureDeferred
async def test_a_compressed_body_that_is_cut_off_is_a_cut_body(
    sites: Sites, coding: str, ends: str
) -> None:
    body = COMPRESS[coding](INCOMPRESSIBLE)
    reply = encoded if ends == "by Content-Length" else closing_after
    kept = (3, 30, len(body) // 2, len(body) - 9, len(body) - 1)
    cut = [sites.host(reply(body[:length], coding)) for length in kept]
    whole = sites.host(reply(body, coding))
    crawler = await crawl(
        *(host.url(path) for host in (*cut, whole) for path in ("/open", "/closed")),
        ROBOTS_FETCH_RETRIES=0,
    )
    assert [host.fetched for host in cut] == [[]] * len(cut)
    assert stat(crawler, "robotstxt/failure_count/cut") == len(cut)
    assert whole.fetched == ["/open"]


def closing_after(body: bytes, coding: str) -> Reply:
    """As HTTP/1.0: the end of the connection is the end of the body."""

    async def reply(hit: Hit, writer: asyncio.StreamWriter) -> None:
        sent = response_bytes(body, 200, {"content_encoding": coding})
        writer.write(sent.replace(b"content-length", b"x-length"))

    return reply


LAYERS = ["gzip, zstd", "zstd, br", "br, gzip", "deflate, identity, br", "zstd,zstd", "x-gzip, BR"]


@pytest.mark.parametrize("codings", LAYERS)
@pytest_twisted.ensureDeferred
async def test_of_several_codings_each_may_be_cut_off(sites: Sites, codings: str) -> None:
    outer, inner = (
        COMPRESS[name.strip().lower().removeprefix("x-")]
        for name in (codings.split(",")[-1], codings.split(",")[0])
    )
    replies = [outer(inner(INCOMPRESSIBLE)), outer(inner(INCOMPRESSIBLE)[:-9])]
    replies.append(replies[0][:-9])
    hosts = [sites.host(encoded(body, codings)) for body in replies]
    crawler = await crawl(
        *(host.url(path) for host in hosts for path in ("/open", "/closed")),
        ROBOTS_FETCH_RETRIES=0,
    )
    assert [host.fetched for host in hosts] == [["/open"], [], []]
    assert stat(crawler, "robotstxt/failure_count/cut") == 2


@pytest_twisted.ensureDeferred
async def test_more_codings_than_anybody_uses_are_no_robots_txt(sites: Sites) -> None:
    """Each may cost as much as a body of the longest size, and a header has room for thousands."""
    hosts = []
    for times in (5, 6):
        body = b"User-agent: *\nDisallow: /closed\n"
        for _ in range(times):
            body = gzip.compress(body)
        hosts.append(sites.host(encoded(body, ", ".join(["gzip"] * times))))
    await crawl(
        *(host.url(path) for host in hosts for path in ("/open", "/closed")),
        ROBOTS_FETCH_RETRIES=0,
    )
    assert [host.fetched for host in hosts] == [["/open"], []]


@pytest_twisted.ensureDeferred
async def test_zstd_is_a_series_of_frames(sites: Sites) -> None:
    first, second = zstandard(b"User-agent: *\n"), zstandard(b"Disallow: /closed\n")
    empty = zstandard(b"")
    bodies = {
        "two": (first + second, ["/open"]),
        "with empty ones": (empty + first + empty + second + empty, ["/open"]),
        "with one to skip": (SKIPPABLE + first + SKIPPABLE + second, ["/open"]),
        "the second cut": (first + second[:-4], []),
        "the second cut in its mark": (first + second[:3], []),
        "one to skip, cut": (first + SKIPPABLE[:6], []),
        "zeros behind it": (first + second + bytes(64), ["/open"]),
        "very many": (empty * 10_000 + first + second, []),
        "no zstd": (RULES.encode(), []),
        "a window of 2 GiB": (b"\x28\xb5\x2f\xfd\x00\xa8" + second[6:], []),
        "only an empty one": (empty, ["/closed", "/open"]),
    }
    hosts = {name: sites.host(encoded(body, "zstd")) for name, (body, _) in bodies.items()}
    await crawl(
        *(host.url(path) for host in hosts.values() for path in ("/closed", "/open")),
        ROBOTS_FETCH_RETRIES=0,
        CONCURRENT_REQUESTS=100,
    )
    fetched = {name: sorted(host.fetched) for name, host in hosts.items()}
    assert fetched == {name: expected for name, (_, expected) in bodies.items()}


@pytest.mark.parametrize("coding", COMPRESS)
@pytest_twisted.ensureDeferred
async def test_a_bomb_is_read_up_to_the_limit(sites: Sites, coding: str) -> None:
    body = RULES.encode() + b"# filler\n" * 300_000  # 2.7 MB
    host = sites.host(encoded(COMPRESS[coding](body), coding))
    await crawl(host.url("/open"), host.url("/closed"))
    assert host.fetched == ["/open"]


@pytest.mark.parametrize("coding", ["br", "zstd"])
@pytest_twisted.ensureDeferred
async def test_what_scrapy_alone_decodes_is_not_the_file(
    sites: Sites, coding: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = sites.host(encoded(COMPRESS[coding](RULES.encode()), coding))
    monkeypatch.delitem(codings._DECODERS, coding.encode())
    crawler = await crawl(host.url("/open"), host.url("/closed"), ROBOTS_FETCH_RETRIES=0)
    assert host.fetched == []
    assert stat(crawler, "robotstxt/failure_count/undecodable") == 1


def chunked(*chunks: bytes, end: bool) -> Reply:
    async def reply(hit: Hit, writer: asyncio.StreamWriter) -> None:
        head = response_bytes("", 200, {"transfer_encoding": "chunked"})
        writer.write(head.replace(b"content-length: 0\r\n", b""))
        for chunk in chunks:
            writer.write(b"%x\r\n%b\r\n" % (len(chunk), chunk))
        if end:
            writer.write(b"0\r\n\r\n")

    return reply


def until_closed(body: str) -> Reply:
    """As HTTP/1.0: the end of the connection is the end of the body."""

    async def reply(hit: Hit, writer: asyncio.StreamWriter) -> None:
        writer.write(response_bytes(body, 200, {}).replace(b"content-length", b"x-length"))

    return reply


members = gzip.compress(b"User-agent: *\n") + gzip.compress(b"Disallow: /closed\n")
SENT = {
    "chunked, ended early": (chunked(RULES[:14].encode(), end=False), []),
    "chunked, whole": (chunked(RULES[:14].encode(), RULES[14:].encode(), end=True), ["/open"]),
    "until the connection is closed": (until_closed(RULES), ["/open"]),
    "empty with a Content-Length": (answer("", content_length="33"), []),
    "206": (answer(RULES[:14], 206, content_range="bytes 0-13/33"), []),
    "gzip without an end": (gzipped(RULES.encode() * 50, keep=-9), []),
    "gzip of two members": (answer(members, content_encoding="gzip"), ["/open"]),
    "gzip, the second member cut": (answer(members[:-9], content_encoding="gzip"), []),
    "gzip of next to nothing, for 2 MB": (
        answer(gzip.compress(b"") * 100_000 + members, content_encoding="gzip"), [],
    ),
    "206, the end of a long file": (
        answer("# filler\n" * 80_000, 206, content_range="bytes 720000-1439999/1440000"), [],
    ),
    "gzip and zeros": (answer(members + bytes(64), content_encoding="gzip"), ["/open"]),
    "deflate": (answer(zlib.compress(RULES.encode()), content_encoding="deflate"), ["/open"]),
    "deflate, bare": (
        answer(zlib.compress(RULES.encode())[2:-4], content_encoding="deflate"), ["/open"],
    ),
    "redirect to a cut body": (redirect("/r.txt"), ["/r.txt"]),
}  # fmt: skip


@pytest_twisted.ensureDeferred
async def test_what_a_server_sends_in_part_is_never_rules(sites: Sites) -> None:
    hosts = {name: sites.host(reply) for name, (reply, _) in SENT.items()}
    hosts["redirect to a cut body"].pages["/r.txt"] = answer(RULES[:9], content_length="33")
    await crawl(
        *(host.url(path) for host in hosts.values() for path in ("/closed", "/open")),
        ROBOTS_FETCH_RETRIES=0,
        CONCURRENT_REQUESTS=100,
    )
    fetched = {name: host.fetched for name, host in hosts.items()}
    assert fetched == {name: expected for name, (_, expected) in SENT.items()}
