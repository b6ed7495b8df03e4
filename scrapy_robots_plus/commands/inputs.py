"""What a command is given: arguments, files and URLs; and the errors if something is wrong."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from queue import Queue
from threading import Thread
from typing import Any, BinaryIO, NamedTuple

from twisted.internet.defer import CancelledError

from scrapy_robots_plus import compat
from scrapy_robots_plus.crawl.crawl import Crawl
from scrapy_robots_plus.crawl.log import Once
from scrapy_robots_plus.crawl.requests import as_requested
from scrapy_robots_plus.origins.policies import Policies
from scrapy_robots_plus.origins.policy import Policy
from scrapy_robots_plus.protocol.dialect import dialect_named
from scrapy_robots_plus.protocol.origin import Origin
from scrapy_robots_plus.protocol.printable import printable
from scrapy_robots_plus.settings import checks

from .errors import WrongUsageError

_LONGEST_LINE = 16_384
"""Bytes of a line that are read. No server takes a longer URL."""

_POLL = 0.01
"""Seconds between two checks for more lines, which a slow producer may write."""

_TOGETHER = 5_000
"""The most URLs that are answered together."""

_TURN = 100
"""The number of URLs that are answered before the event loop gets a turn."""


_standard_input = Once()


def opened(name: str) -> BinaryIO:
    """Opens the file *name*, or standard input for ``-``.

    Raises OSError, and WrongUsageError if standard input was opened before.
    """
    if name == "-" and not _standard_input.is_first():
        raise WrongUsageError("standard input (-) can be read only once")
    # Not ``sys.stdin`` itself: Python aborts if it exits while a thread reads from that.
    return open(sys.stdin.fileno() if name == "-" else name, "rb", closefd=name != "-")


def argument(*flags: str, **options: Any) -> ArgumentParser:
    """Declares an argument, with what :meth:`argparse.ArgumentParser.add_argument` takes."""
    declared = ArgumentParser(add_help=False)
    declared.add_argument(*flags, **options)
    return declared


def read_by(read: Callable[[str], Any]) -> Callable[[str], Any]:
    """Returns the ``type`` of an argument that *read* parses; the user sees its ValueError."""

    def read_argument(text: str) -> Any:
        try:
            return read(text)
        except ValueError as error:
            given = "" if repr(text) in str(error) else f"{text!r}: "
            raise ArgumentTypeError(printable(f"{given}{error}")) from None

    return read_argument


def agent_option(words: str) -> ArgumentParser:
    """Declares ``--agent``, with *words* as its help."""
    return argument("--agent", type=read_by(checks.text.read), metavar="NAME", help=words)


def dialect_option(words: str) -> ArgumentParser:
    """Declares ``--dialect``, with *words* as its help."""
    return argument("--dialect", type=read_by(dialect_named), metavar="NAME", help=words)


AGENT = agent_option(
    "ask as this crawler: a product token or a User-Agent header (default: ROBOTSTXT_USER_AGENT, "
    "else USER_AGENT)"
)
"""``--agent``, which :meth:`Project.agent_for` returns if it is given."""
DIALECT = dialect_option("read files in this dialect (default: ROBOTS_DIALECT)")
FILE = argument(
    "--file", metavar="ROBOTS.TXT", help="judge by the rules in this file; nothing is fetched"
)
"""``--file``, to be read by :meth:`Project.file`."""
JSON = argument("--json", action="store_true", help="print one JSON object per line")
URLS = argument("urls", nargs="*", metavar="URL", help="an absolute http or https URL")
"""The arguments that :func:`urls_in` reads."""
URLS.add_argument(
    "--input", metavar="FILE", help="read URLs from FILE, one per line; - for standard input"
)


def urls_in(arguments: Namespace) -> Iterable[str]:
    """Returns the URLs of a command; in a file, blank lines and ``#`` comments are skipped.

    Raises WrongUsageError if there are both arguments and a file, or neither; OSError when the
    file is read.
    """
    if bool(arguments.urls) == (arguments.input is not None):
        raise WrongUsageError("expected either URLs or --input FILE")
    return arguments.urls or _urls_of(arguments.input)


def _urls_of(name: str) -> Iterator[str]:
    with opened(name) as stream:
        for number, (line, is_whole) in enumerate(_lines_of(stream), 1):
            decoded = line.decode("utf-8", "backslashreplace")
            text = decoded.removeprefix("\ufeff").strip()
            if not text or text.startswith("#"):
                continue
            # The command reports these texts, like any other line that is not a URL.
            if not is_whole:
                yield f"line {number} is longer than {_LONGEST_LINE:,} bytes: {text:.100}"
            elif decoded.encode() != line:
                yield f"line {number} is not in UTF-8: {text}"
            else:
                yield text


def _lines_of(stream: BinaryIO) -> Iterator[tuple[bytes, bool]]:
    """Yields each line, or its beginning if it is too long, and whether it is whole."""
    most = _LONGEST_LINE + 1  # with its end
    while line := stream.readline(most):
        last = line
        while len(last) == most and not last.endswith(b"\n"):
            last = stream.readline(most)
        yield line, last is line


class Asked(NamedTuple):
    """A URL that a command is asked about."""

    url: str
    """The URL as it was given."""
    requested: str = ""
    """The URL as in a request for it; empty if no request can be sent."""
    origin: Origin | None = None
    """Its origin; None if it is not an http or https URL."""
    problem: str = ""
    """Why no request can be sent to it, and what is expected; empty if one can."""

    @classmethod
    def about(cls, url: str) -> Asked:
        """Makes an :class:`Asked` from *url*, with a *problem* if no request can be sent to it."""
        try:
            requested = as_requested(url)
            return cls(url, requested, Origin.of(requested))
        except ValueError as error:
            return cls(url, problem=str(error))


def site_of(url: str) -> tuple[str, Origin]:
    """Returns *url* as in a request for it, and its origin.

    Raises WrongUsageError if it is not an http or https URL.
    """
    asked = Asked.about(url)
    if asked.origin is None:
        not_http = f"{url} is not an http or https URL; robots.txt does not apply to it"
        raise WrongUsageError(asked.problem or not_http)
    return asked.requested, asked.origin


async def with_policies(
    urls: Iterable[str], crawl: Crawl
) -> AsyncIterator[tuple[Asked, Policy | None]]:
    """Yields each of *urls* with the policy that decides about it; None if it is not http or https.

    What has come so far is answered together, its robots.txt files fetched concurrently: a slow
    producer may wait for the answers. Raises OSError, and CancelledError if the user stops it.
    """
    policies = crawl.get(Policies)
    lines: Queue[str] = Queue(_TOGETHER)
    failures: list[Exception] = []

    def read() -> None:
        try:
            for line in urls:
                lines.put(line)
        except Exception as error:  # noqa: BLE001 - raised where the lines are used
            failures.append(error)

    reader = Thread(target=read, daemon=True)
    reader.start()
    while reader.is_alive() or not lines.empty():
        await compat.sleep(_POLL)
        together = [Asked.about(lines.get_nowait()) for _ in range(lines.qsize())]
        for origin in dict.fromkeys(asked.origin for asked in together):
            if origin:
                compat.run_in_background(policies.obtain(origin))
        for number, asked in enumerate(together, 1):
            policy = await policies.obtain(asked.origin) if asked.origin else None
            if asked.origin and policy is None:
                raise CancelledError
            yield asked, policy
            if number % _TURN == 0:
                await compat.sleep(0)
        sys.stdout.flush()
    for failure in failures:
        raise failure
