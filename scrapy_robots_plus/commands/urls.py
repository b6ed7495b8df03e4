"""The URLs that a command is asked about: where they come from, and what is said about each."""

from __future__ import annotations

from collections import deque
from pathlib import Path
from queue import Empty, Queue
from threading import Thread
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urljoin, urlsplit

from scrapy import Request
from scrapy.utils.gz import gunzip
from scrapy.utils.sitemap import Sitemap

from scrapy_robots_plus import compat
from scrapy_robots_plus.crawl.requests import as_requested
from scrapy_robots_plus.origins.policies import Policies
from scrapy_robots_plus.protocol.access import Access
from scrapy_robots_plus.protocol.origin import Origin

from .output import Output, Style, UnreadableError, WrongUsageError, picked
from .subcommand import Exit, argument, numbered_lines, opened

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import AsyncIterator, Iterable, Iterator

    from scrapy_robots_plus.crawl.crawl import Crawl
    from scrapy_robots_plus.protocol.verdict import Verdict

_AHEAD = 1_000
"""Lines that are read ahead."""

_POLL = 0.01
"""Seconds between two looks for another line, while a slow producer writes standard input."""

_LONGEST = 65_536
"""Bytes of a line that are read; no server takes a longer URL."""

_SHOWN = 100
"""Characters that stand for a line that is too long."""


URLS = argument("urls", nargs="*", metavar="URL", help="an absolute http or https URL")
"""For :func:`urls_in`."""
URLS.add_argument(
    "--input", metavar="FILE", help="read URLs from FILE, one per line; - for standard input"
)


def urls_in(arguments: Namespace) -> Iterable[str]:
    """The URLs of a command. Blank lines and lines that begin with ``#`` are left out.

    Raises WrongUsageError if there are both arguments and a file, or neither; UnreadableError when
    the file is read.
    """
    if bool(arguments.urls) == (arguments.input is not None):
        raise WrongUsageError("expected URLs or --input FILE")
    return arguments.urls or _urls_of(arguments.input)


def _urls_of(name: str) -> Iterator[str]:
    with opened(name) as stream:
        for number, line in numbered_lines(stream, _LONGEST):
            decoded = line.decode("utf-8", "backslashreplace")
            text = decoded.removeprefix("\ufeff").strip()
            # What is not a URL is for the command to tell, like any other line that is none.
            if len(line) == _LONGEST and not line.endswith(b"\n"):
                yield f"line {number} has more than {_LONGEST:,} bytes: {text[:_SHOWN]}..."
            elif text and not text.startswith("#"):
                is_utf8 = decoded.encode() == line
                yield text if is_utf8 else f"line {number} is not in UTF-8: {text}"


async def arriving(urls: Iterable[str]) -> AsyncIterator[str]:
    """*urls*, while the loop goes on beside a slow producer. Raises UnreadableError."""
    lines: Queue[str | Exception | None] = Queue(_AHEAD)
    Thread(target=_put_all, args=(urls, lines), daemon=True).start()
    while True:
        try:
            line = lines.get_nowait()
        except Empty:
            await compat.sleep(_POLL)
            continue
        if line is None:
            return
        if isinstance(line, Exception):
            raise line
        yield line


def _put_all(urls: Iterable[str], lines: Queue[str | Exception | None]) -> None:
    try:
        for line in urls:
            lines.put(line)
        lines.put(None)
    except Exception as error:  # noqa: BLE001 - raised where the lines are used
        lines.put(error)


WINDOW = 5_000
"""URLs that are looked at ahead of the one to answer."""

TURN = 100
"""URLs that are answered before everything else gets a turn."""


class Asked(NamedTuple):
    """A URL that a command is asked about."""

    url: str
    """As it was given."""
    requested: str = ""
    """As a request would have it."""
    origin: Origin | None = None
    """None if it is not http or https."""
    problem: str = ""
    """Why no request can be sent to it, and what is expected; empty if one can."""

    @classmethod
    def about(cls, url: str) -> Asked:
        """What *url* asks for."""
        try:
            return cls(url, *origin_of(url))
        except ValueError as error:
            return cls(url, problem=str(error))


async def asked_ahead(urls: AsyncIterator[str], policies: Policies) -> AsyncIterator[Asked]:
    """*urls*, each returned when the robots.txt of those that follow are being fetched."""
    window: deque[Asked] = deque()
    answered = 0
    async for url in urls:
        asked = Asked.about(url)
        origin = asked.origin
        if origin and policies.usable(origin) is None and not policies.is_fetching(origin):
            compat.run_in_background(policies.obtain(origin))
        window.append(asked)
        if len(window) > WINDOW:
            answered += 1
            yield window.popleft()
            if answered % TURN == 0:
                await compat.sleep(0)
    while window:
        yield window.popleft()


MOST_FILES = 10_000
"""Sitemaps that are read for one command."""

MOST_LEVELS = 5
"""Sitemaps that name each other, from the first one down. The protocol allows two."""

MOST_OCTETS = 100_000_000
"""Of one sitemap, uncompressed; the protocol allows 50 MiB (https://www.sitemaps.org/protocol.html)."""


class Sitemaps:
    """All URLs that a sitemap leads to; each sitemap is read once, one after the other.

    One that cannot be read is named on standard error and counted in ``unread``, unless it is the
    first: that raises UnreadableError.
    """

    def __init__(self, name: str, crawl: Crawl, output: Output) -> None:
        self._first = name
        self._crawl = crawl
        self._output = output
        self.unread = 0

    async def urls(self) -> AsyncIterator[str]:
        waiting, known = [(self._first, 1)], {self._first}
        while waiting:
            name, level = waiting.pop()
            try:
                for url, is_sitemap in await self._entries(name):
                    if not is_sitemap:
                        yield url
                    elif url not in known and (level == MOST_LEVELS or len(known) == MOST_FILES):
                        self._leave_out(f"{url}: too many sitemaps")
                    elif url not in known:
                        known.add(url)
                        waiting.append((url, level + 1))
            except Exception as error:  # any download handler may be in use, and lxml
                why = getattr(error, "strerror", None) or str(error) or type(error).__name__
                words = f"{name} cannot be read: {why:.200}"
                if name == self._first:
                    raise UnreadableError(words) from error
                self._leave_out(words)

    def _leave_out(self, why: str) -> None:
        self.unread += 1
        self._output.error(f"left out: {why}")

    async def _entries(self, name: str) -> Iterable[tuple[str, bool]]:
        """The URLs in a sitemap or robots.txt, and whether each is that of a sitemap."""
        origin = Asked.about(name).origin
        if origin is None:
            if name != self._first:  # a site names no files of this machine
                raise ValueError("it is not an http or https URL")
            return _entries_in(Path(name).read_bytes())
        if urlsplit(name).path != "/robots.txt":
            return _entries_in(await self._fetched(name))
        policy = await self._crawl.get(Policies).obtain(origin)
        if policy is None or policy.access is Access.UNREACHABLE:
            raise UnreadableError(policy.in_words if policy else "stopped")
        return [(_joined(name, url), True) for url in policy.sitemaps]

    async def _fetched(self, url: str) -> bytes:
        meta = {"download_maxsize": MOST_OCTETS, "download_warnsize": 0}
        engine = compat.engine_of(self._crawl.crawler)
        response = await engine.download_async(Request(url, meta=meta, dont_filter=True))
        if response.status != 200:
            raise ValueError(f"status {response.status}")
        return response.body


def _joined(base: str, url: str) -> str:
    """*url* as a page at *base* means it; unchanged if it is not a URL."""
    try:
        return urljoin(base, url)
    except ValueError:
        return url


def _entries_in(body: bytes) -> Iterator[tuple[str, bool]]:
    is_zipped = body[:3] == b"\x1f\x8b\x08"
    try:
        sitemap = Sitemap(gunzip(body, max_size=MOST_OCTETS) if is_zipped else body)
    except StopIteration as error:  # it has no element
        raise ValueError("it is not a sitemap") from error
    if sitemap.type not in ("urlset", "sitemapindex"):
        raise ValueError("it is not a sitemap")
    for entry in sitemap:
        if entry.get("loc"):
            yield entry["loc"], sitemap.type == "sitemapindex"


STYLES = {"allowed": Style.GOOD, "denied": Style.BAD, "undecided": Style.UNSURE}
"""How the words look that :func:`word_for` returns."""


EXITS = {"allowed": Exit.OK, "denied": Exit.FOUND, "undecided": Exit.UNDECIDED}
"""The exit status for each of them."""


def origin_of(url: str) -> tuple[str, Origin | None]:
    """*url* as a request would have it, and its origin; None if it is not http or https.

    Raises ValueError, saying what is expected, if no request can be sent.
    """
    requested = as_requested(url)
    return requested, Origin.of(requested)


def site_of(url: str) -> tuple[str, Origin]:
    """The same. Raises WrongUsageError for what is not an http or https URL."""
    asked = Asked.about(url)
    if asked.origin is None:
        why = f"{url} is not an http or https URL; robots.txt does not apply to it"
        raise WrongUsageError(asked.problem or why)
    return asked.requested, asked.origin


def word_for(verdict: Verdict) -> str:
    """``allowed``, ``denied``, or ``undecided`` if the robots.txt cannot be read."""
    if verdict.allowed:
        return "allowed"
    return "undecided" if verdict.reason.is_unread else "denied"


def fields_of(verdict: Verdict) -> dict[str, Any]:
    """The verdict for ``--json``."""
    return {
        "result": word_for(verdict),
        **picked(verdict, "allowed", "reason", "rule", "line", "group", "robots_url"),
        "status": verdict.outcome,
        **picked(verdict, "delay", "form", "override"),
    }
