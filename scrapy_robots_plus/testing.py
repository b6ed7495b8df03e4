"""A pytest plugin for tests of your own spiders: sites on this machine, and crawls of them.

pytest finds it by itself. The fixture is :func:`robots_site`. Each crawl runs in a process of its
own: a Twisted reactor cannot be started twice.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from scrapy import Request, Spider

    from scrapy_robots_plus import Verdict

    Text = str | bytes
    Page = Text | int | tuple[int, Mapping[str, str], Text]

ROBOTS = "/robots.txt"
A_PAGE = "<title>A page</title>"
FOR_TESTS: dict[str, Any] = {
    "DOWNLOAD_DELAY": 0,
    "FEEDS": {},
    "HTTPCACHE_ENABLED": False,
    "JOBDIR": None,
    "LOG_FILE": None,
    "LOG_LEVEL": "DEBUG",
    "ROBOTS_AUDIT_LOG": None,
    "ROBOTS_AUDIT_WARC": None,
    "ROBOTS_SHARED_PACE": "process",
    "ROBOTS_STORE": "memory",
    "ROBOTS_SUMMARY_FILE": None,
    "TELNETCONSOLE_ENABLED": False,
}
"""Settings of every test crawl: they make it quick, and let it neither read nor leave files."""
_CHILD = "from scrapy_robots_plus.testing import _crawl_in_child; _crawl_in_child()"


@dataclass(frozen=True)
class SeenRequest:
    """A request that a site has received."""

    method: str
    path: str
    """The path with its query, as it was sent."""
    headers: Mapping[str, str]
    """The headers by their names, in lower case."""
    at: float
    """When it came, in seconds of a monotonic clock."""


@dataclass(frozen=True)
class Crawled:
    """The outcome of a crawl."""

    stats: dict[str, Any]
    items: list[dict[str, Any]]
    """The items that no pipeline dropped, each as a dict."""
    denied: dict[str, Verdict]
    """The URLs that robots.txt denied, in order, each with the verdict that says why."""
    log: str
    paths: list[str]
    """The paths that the site was asked for, in order, without those of robots.txt."""


@dataclass
class RobotsSite:
    """A site on 127.0.0.1, with a port of its own. See :func:`robots_site`."""

    robots: Page
    pages: Mapping[str, Page] | None
    requests: list[SeenRequest] = field(default_factory=list)
    """The requests that it has received, in order, including those for robots.txt."""

    def __post_init__(self) -> None:
        handler = type("Handler", (_Handler,), {"site": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def url(self, path: str = "/") -> str:
        """Returns the URL of *path*."""
        return f"http://127.0.0.1:{self._server.server_port}{path}"

    def crawl(
        self,
        spider: type[Spider] | str,
        *,
        settings: Mapping[str, Any] | None = None,
        timeout: float = 60.0,
        **arguments: Any,
    ) -> Crawled:
        """Runs a crawl to its end. *arguments* are those of the spider.

        *spider* is a class at the top level of a module that can be imported, or the name of one of
        the project. The settings are those of the project that pytest runs in, or else those of
        Scrapy with this package's add-on; :data:`FOR_TESTS` overrides them, and *settings* both.
        Raises RuntimeError, with the log, if the crawl cannot start or takes more than *timeout*
        seconds.
        """
        began = len(self.requests)
        with TemporaryDirectory() as folder:
            result = Path(folder, "result")
            paths = os.pathsep.join(path or os.getcwd() for path in sys.path)
            try:
                done = subprocess.run(  # noqa: S603 - our own program
                    [sys.executable, "-c", _CHILD],
                    input=pickle.dumps((str(result), dict(settings or {}), spider, arguments)),
                    env={**os.environ, "PYTHONPATH": paths},
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.PIPE,
                    timeout=timeout,
                    check=False,
                )
            except subprocess.TimeoutExpired as error:
                log = (error.stderr or b"").decode(errors="replace")
                what = f"the crawl did not end within {timeout:g} s"
                raise RuntimeError(f"{what}; its log:\n{log}") from None
            log = done.stderr.decode(errors="replace")
            if not result.exists():
                raise RuntimeError(f"the crawl gave no result; its log:\n{log}")
            stats, items, denied = pickle.loads(result.read_bytes())  # noqa: S301 - our own
        seen = [each.path for each in self.requests[began:] if each.path != ROBOTS]
        return Crawled(stats, items, denied, log, seen)

    def answer(self, path: str) -> tuple[int, Mapping[str, str], Text]:
        """Returns the status, headers and body for *path*."""
        if path == ROBOTS:
            page, kind = self.robots, "text/plain"
        else:
            page = A_PAGE if self.pages is None else self.pages.get(path, 404)
            kind = "text/html; charset=utf-8"
        if not isinstance(page, tuple):
            page = (page, {}, "") if isinstance(page, int) else (200, {}, page)
        status, headers, body = page
        return status, {"Content-Type": kind, **headers}, body

    def close(self) -> None:
        """Shuts the site down. The fixture does so."""
        self._server.shutdown()
        self._server.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    site: RobotsSite

    def do_GET(self) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.rfile.read(int(headers.get("content-length", 0)))
        self.site.requests.append(SeenRequest(self.command, self.path, headers, time.monotonic()))
        status, sent, body = self.site.answer(self.path)
        content = body.encode() if isinstance(body, str) else body
        self.send_response(status)
        for name, value in {"Content-Length": str(len(content)), **sent}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = do_GET  # noqa: N815

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def robots_site() -> Iterator[Callable[..., RobotsSite]]:
    """Makes a :class:`RobotsSite`, which ends with the test.

    ``robots_site(robots=404, pages=None)``: *robots* is the robots.txt, as a body, a status, or a
    tuple of status, headers and body. *pages* maps paths to the same kinds of values; any other
    path is a 404. Without *pages*, every path is a small page.
    """
    with ExitStack() as ends:

        def make(robots: Page = 404, pages: Mapping[str, Page] | None = None) -> RobotsSite:
            site = RobotsSite(robots, pages)
            ends.callback(site.close)
            return site

        yield make


def _crawl_in_child() -> None:
    result, overriding, spider, arguments = pickle.load(sys.stdin.buffer)  # noqa: S301 - our own

    from itemadapter import ItemAdapter
    from scrapy import signals
    from scrapy.utils.project import get_project_settings, inside_project

    from scrapy_robots_plus import compat
    from scrapy_robots_plus.crawl.events import request_disallowed

    settings = get_project_settings()
    if not inside_project():
        settings.set("ADDONS", {"scrapy_robots_plus.Addon": 300}, "project")
    for name, value in {**FOR_TESTS, **overriding}.items():
        settings.set(name, value, "cmdline")
    process = compat.crawler_process(settings)
    crawler = process.create_crawler(spider)
    items: list[dict[str, Any]] = []
    denied: dict[str, Verdict] = {}

    def scraped(item: Any) -> None:
        items.append(ItemAdapter(item).asdict())

    def disallowed(request: Request, verdict: Verdict) -> None:
        denied[request.url] = verdict

    crawler.signals.connect(scraped, signals.item_scraped)
    crawler.signals.connect(disallowed, request_disallowed)
    process.crawl(crawler, **arguments)
    process.start()
    stats = crawler.stats.get_stats()
    if "finish_reason" in stats:
        Path(result).write_bytes(pickle.dumps((stats, items, denied)))
