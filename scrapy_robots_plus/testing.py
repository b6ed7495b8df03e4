"""A pytest plugin for tests of one's own spiders: sites on this machine, and crawls of them.

pytest finds it by itself. The fixture is :func:`robots_site`; :func:`assert_verdicts` needs no
crawl. Each crawl runs in a process of its own: a Twisted reactor cannot be started twice.
"""

from __future__ import annotations

import inspect
import os
import pickle
import subprocess
import sys
import time
from argparse import Namespace
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from scrapy import Request, Spider
    from scrapy.settings import Settings

    from scrapy_robots_plus import Verdict

    Text = str | bytes
    Page = Text | int | tuple[int, Mapping[str, str], Text]

ROBOTS = "/robots.txt"
FOR_TESTS: dict[str, Any] = {
    "DOWNLOAD_DELAY": 0,
    "FEEDS": {},
    "HTTPCACHE_ENABLED": False,
    "JOBDIR": None,
    "LOG_FILE": None,
    "LOG_LEVEL": "DEBUG",
    "ROBOTS_STORE": "memory",
    "TELNETCONSOLE_ENABLED": False,
}
"""Settings of every crawl here: it is quick, and neither finds nor leaves anything in files."""
_CHILD = "from scrapy_robots_plus.testing import _crawl_in_child; _crawl_in_child()"


@dataclass(frozen=True)
class SeenRequest:
    """A request that a site has received."""

    method: str
    path: str
    """With its query, as it was sent."""
    headers: Mapping[str, str]
    """By names in lower case."""
    host: int
    """The number of the host, counted from 0."""
    at: float
    """When it came, in seconds by a monotonic clock."""


@dataclass(frozen=True)
class Denied:
    """A request that robots.txt has denied."""

    url: str
    rule: str | None
    """The line that decided, such as ``Disallow: /private/``; None if none did."""
    line: int | None
    """Its number in the file, counted from 1."""
    reason: str
    """A reason as in the stats: ``rule``, ``unreachable`` ..."""


@dataclass(frozen=True)
class Crawled:
    """The outcome of a crawl."""

    stats: dict[str, Any]
    items: list[dict[str, Any]]
    """What the spider scraped and no pipeline dropped, each as a dict."""
    denied: list[Denied]
    """The requests that robots.txt has denied, in order."""
    log: str
    paths: list[str]
    """What the site received, in order, except requests for robots.txt."""


@dataclass
class RobotsSite:
    """A site of one or more hosts on 127.0.0.0/8, each with its own port. See
    :func:`robots_site`.
    """

    robots: Sequence[Text | None]
    pages: Mapping[str, Page] | None
    status: int
    requests: list[SeenRequest] = field(default_factory=list)
    """What it has received, requests for robots.txt included, in order."""
    servers: list[ThreadingHTTPServer] = field(default_factory=list, repr=False)

    def url(self, path: str = "/", host: int = 0) -> str:
        """The URL of *path* at one of the hosts, counted from 0."""
        address, port = self.servers[host].server_address[:2]
        return f"http://{address!s}:{port}{path}"

    def crawl(
        self,
        spider: type[Spider] | str,
        *,
        settings: Mapping[str, Any] | None = None,
        timeout: float = 60.0,
        **arguments: Any,
    ) -> Crawled:
        """Runs a crawl to its end. *arguments* are those of the spider.

        *spider* is a class, which must stand at the top of a module, or the name of one of the
        project. The settings are those of the project that pytest runs in, or else those of Scrapy
        with this package's add-on; over them :data:`FOR_TESTS`, and over all *settings*. Raises
        RuntimeError, with the log, if the crawl cannot start or takes more than *timeout* seconds.
        """
        began = len(self.requests)
        with TemporaryDirectory() as folder:
            result = Path(folder, "result")
            job = pickle.dumps((dict(settings or {}), arguments))
            given = pickle.dumps((str(result), _place_of(spider), job))
            paths = os.pathsep.join(path or os.getcwd() for path in sys.path)
            command = [sys.executable, "-c", _CHILD]
            try:
                done = subprocess.run(  # noqa: S603 - our own program
                    command,
                    input=given,
                    env={**os.environ, "PYTHONPATH": paths},
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.PIPE,
                    timeout=timeout,
                    check=False,
                )
            except subprocess.TimeoutExpired as error:
                log = (error.stderr or b"").decode(errors="replace")
                raise RuntimeError(f"no end after {timeout:g} s; the log:\n{log}") from None
            log = done.stderr.decode(errors="replace")
            if not result.exists():
                raise RuntimeError(f"the crawl did not run; the log:\n{log}")
            stats, items, denied = pickle.loads(result.read_bytes())  # noqa: S301 - our own
        seen = [each.path for each in self.requests[began:] if each.path != ROBOTS]
        return Crawled(stats, items, denied, log, seen)

    def open(self, host: int) -> None:
        """Begins to serve a host. The fixture does it."""

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(handler) -> None:  # noqa: N805 - self is the site
                self._answer(handler, host)

            do_HEAD = do_POST = do_GET  # noqa: N815

            def log_message(self, *_: object) -> None:
                pass

        try:
            server = ThreadingHTTPServer((f"127.0.0.{host + 1}", 0), Handler)
        except OSError:  # macOS has the first address only
            server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        self.servers.append(server)
        Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()

    def _answer(self, handler: BaseHTTPRequestHandler, host: int) -> None:
        headers = {name.lower(): value for name, value in handler.headers.items()}
        handler.rfile.read(int(headers.get("content-length", 0)))
        self.requests.append(
            SeenRequest(handler.command, handler.path, headers, host, time.monotonic())
        )
        status, sent, body = self._page(handler.path, host)
        content = body.encode() if isinstance(body, str) else body
        handler.send_response(status)
        for name, value in {"Content-Length": str(len(content)), **sent}.items():
            handler.send_header(name, value)
        handler.end_headers()
        if handler.command != "HEAD":
            handler.wfile.write(content)

    def _page(self, path: str, host: int) -> tuple[int, Mapping[str, str], Text]:
        html = {"Content-Type": "text/html; charset=utf-8"}
        if path == ROBOTS:
            robots = self.robots[host]
            status = 404 if robots is None and self.status == 200 else self.status
            return status, {"Content-Type": "text/plain"}, robots or ""
        if self.pages is None:
            return 200, html, "<title>A page</title>"
        page = self.pages.get(path, 404)
        if isinstance(page, tuple):
            return page[0], {**html, **page[1]}, page[2]
        return (page, html, "") if isinstance(page, int) else (200, html, page)

    def close(self) -> None:
        """Ends all hosts. The fixture does it."""
        for server in self.servers:
            server.shutdown()
            server.server_close()


@pytest.fixture
def robots_site() -> Iterator[Callable[..., RobotsSite]]:
    """Makes a :class:`RobotsSite`, which ends with the test.

    ``robots_site(robots=None, pages=None, status=200, hosts=1)``: *robots* is the robots.txt of all
    hosts, or a list with one for each; None is a 404, and *status* is another status for it.
    *pages* has, by path, a body, a status, or a tuple of status, headers and body; what it lacks is
    a 404. Without *pages*, every path is a small page.
    """
    made: list[RobotsSite] = []

    def make(
        robots: Text | Sequence[Text | None] | None = None,
        pages: Mapping[str, Page] | None = None,
        status: int = 200,
        hosts: int = 1,
    ) -> RobotsSite:
        of_each = [robots] * hosts if robots is None or isinstance(robots, str | bytes) else robots
        if len(of_each) != hosts:
            raise ValueError(f"{len(of_each)} robots.txt for {hosts} hosts")
        site = RobotsSite(list(of_each), pages, status)
        made.append(site)
        for host in range(hosts):
            site.open(host)
        return site

    yield make
    for site in made:
        site.close()


def verdicts(
    settings: Mapping[str, Any] | None, robots_txt: Text, urls: Iterable[str]
) -> dict[str, Verdict]:
    """What crawls with *settings* would make of *urls*, by URL, if *robots_txt* were the file of
    each site for which ``ROBOTS_OVERRIDES`` has no text. Needs no network. *settings* are laid over
    those of the project.
    """
    from scrapy_robots_plus.commands.project import Project
    from scrapy_robots_plus.crawl.requests import as_requested
    from scrapy_robots_plus.origins.policies import record_of_text
    from scrapy_robots_plus.protocol.origin import Origin

    project = Project(_settings(settings or {}), Namespace())
    body = robots_txt.encode() if isinstance(robots_txt, str) else robots_txt
    found = {}
    for url in urls:
        requested = as_requested(url)
        origin = Origin.of(requested)
        if origin is None:
            raise ValueError(f"{url} is not http or https: no robots.txt applies to it")
        settings_there = project.robots.for_origin(origin)
        if settings_there.robots_txt is None:
            record = project.record_of(body, origin.robots_url, origin)
        else:
            record = record_of_text(origin, settings_there.robots_txt, time.time())
        policy = project.policy_of(record)
        agent = settings_there.user_agent or project.agent
        found[url] = policy.under(settings_there).verdict(requested, agent)
    return found


def assert_verdicts(
    settings: Mapping[str, Any] | None, robots_txt: Text, expected: Mapping[str, bool]
) -> None:
    """Fails unless each URL of *expected* is allowed (True) or denied (False). See
    :func:`verdicts`; the message names the rule and the line of each that differs.
    """
    __tracebackhide__ = True
    found = verdicts(settings, robots_txt, list(expected))
    wrong = [
        f"{url} is {'allowed' if verdict else 'denied'}: {verdict.describe()}"
        for url, verdict in found.items()
        if bool(verdict) is not expected[url]
    ]
    if wrong:
        raise AssertionError("\n".join(wrong))


def _place_of(spider: type[Spider] | str) -> tuple[str, str, str]:
    """Where the process of the crawl finds *spider*: module, file, name."""
    if isinstance(spider, str):
        return "", "", spider
    if "<locals>" in spider.__qualname__:
        raise ValueError(f"{spider.__qualname__} is made in a function: move it out")
    return spider.__module__, inspect.getfile(spider), spider.__qualname__


def _settings(settings: Mapping[str, Any]) -> Settings:
    from scrapy.utils.project import get_project_settings, inside_project

    made = get_project_settings()
    if not inside_project():
        made.set("ADDONS", {"scrapy_robots_plus.Addon": 300}, "project")
    for name, value in {**FOR_TESTS, **settings}.items():
        made.set(name, value, "cmdline")
    return made


def _crawl_in_child() -> None:
    result, (module, file, name), job = pickle.load(sys.stdin.buffer)  # noqa: S301 - our own
    spider = _find(module, file, name) if module else name
    settings, arguments = pickle.loads(job)  # noqa: S301

    from itemadapter import ItemAdapter
    from scrapy import signals

    from scrapy_robots_plus import compat
    from scrapy_robots_plus.crawl.events import request_disallowed

    process = compat.crawler_process(_settings(settings))
    crawler = process.create_crawler(spider)
    items: list[dict[str, Any]] = []
    denied: list[Denied] = []

    def scraped(item: Any) -> None:
        items.append(ItemAdapter(item).asdict())

    def disallowed(request: Request, verdict: Verdict) -> None:
        denied.append(Denied(request.url, verdict.rule, verdict.line, str(verdict.reason)))

    crawler.signals.connect(scraped, signals.item_scraped)
    crawler.signals.connect(disallowed, request_disallowed)
    process.crawl(crawler, **arguments)
    process.start()
    stats = compat.stats_of(crawler).get_stats()
    if "finish_reason" in stats:
        Path(result).write_bytes(pickle.dumps((stats, items, denied)))


def _find(module: str, file: str, name: str) -> Any:
    """The class *name*; of its file, if *module* cannot be imported by its name."""
    try:
        found: Any = import_module(module)
    except ImportError:
        spec = spec_from_file_location(module, file)
        if spec is None or spec.loader is None:
            raise
        found = sys.modules[module] = module_from_spec(spec)
        spec.loader.exec_module(found)
    for part in name.split("."):
        found = getattr(found, part)
    return found
