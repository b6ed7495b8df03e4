"""The URLs that a command is asked about: how they are read, and what is printed about each."""

from __future__ import annotations

import sys
from queue import Queue
from threading import Thread
from typing import TYPE_CHECKING, Any, BinaryIO

from scrapy_robots_plus import compat
from scrapy_robots_plus.origins.policies import Policies

from .project import Asked, obtain
from .subcommand import Exit, WrongUsageError, argument, opened, picked

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import AsyncIterator, Iterable, Iterator

    from scrapy_robots_plus.crawl.crawl import Crawl
    from scrapy_robots_plus.origins.policy import Policy
    from scrapy_robots_plus.protocol.verdict import Verdict

_LONGEST_LINE = 16_384
"""Bytes of a line that are read. No server takes a longer URL."""

_POLL = 0.01
"""Seconds between two checks for more lines, which a slow producer may write."""

_TOGETHER = 5_000
"""The most URLs that are answered together."""

_TURN = 100
"""The number of URLs that are answered before the event loop gets a turn."""


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
    while line := stream.readline(_LONGEST_LINE):
        last = line
        while len(last) == _LONGEST_LINE and not last.endswith(b"\n"):
            last = stream.readline(_LONGEST_LINE)
        yield line, last is line


async def with_policies(
    urls: Iterable[str], crawl: Crawl
) -> AsyncIterator[tuple[Asked, Policy | None]]:
    """Yields each of *urls* with the policy that decides about it; None if it is not http or https.

    What has come so far is answered together, its robots.txt files fetched concurrently: a slow
    producer may wait for the answers. Raises OSError.
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
            yield asked, await obtain(asked.origin, policies) if asked.origin else None
            if number % _TURN == 0:
                await compat.sleep(0)
        sys.stdout.flush()
    for failure in failures:
        raise failure


EXITS = {"allowed": Exit.OK, "denied": Exit.FOUND, "undecided": Exit.UNDECIDED}
"""The exit status for each word that :func:`word_for` returns."""


def word_for(verdict: Verdict) -> str:
    """Returns ``allowed``, ``denied``, or ``undecided`` if the robots.txt cannot be read."""
    if verdict.allowed:
        return "allowed"
    return "undecided" if verdict.reason.is_unread else "denied"


def fields_of(verdict: Verdict) -> dict[str, Any]:
    """Returns the fields of *verdict* for ``--json``."""
    return {
        "result": word_for(verdict),
        **picked(verdict, "allowed", "reason", "rule", "line", "group", "robots_url"),
        "status": verdict.outcome,
        **picked(verdict, "delay", "form", "override"),
    }
