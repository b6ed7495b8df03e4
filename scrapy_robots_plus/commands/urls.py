"""The URLs that a command is asked about: where they come from, and what is said about each."""

from __future__ import annotations

import sys
from queue import Queue
from threading import Thread
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

from scrapy_robots_plus import compat
from scrapy_robots_plus.crawl.requests import as_requested
from scrapy_robots_plus.protocol.origin import Origin

from .output import WrongUsageError, opened, picked
from .project import obtain
from .subcommand import Exit, argument

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import AsyncIterator, Iterable, Iterator

    from scrapy_robots_plus.origins.policies import Policies
    from scrapy_robots_plus.origins.policy import Policy
    from scrapy_robots_plus.protocol.verdict import Verdict

_LONGEST_LINE = 16_384
"""Octets. Servers take no URL of as many."""

_POLL = 0.01
"""Seconds between two looks for more lines, which a slow producer may write."""

_TOGETHER = 5_000
"""URLs that are answered together, at most."""

_TURN = 100
"""URLs that are answered before everything else gets a turn."""


URLS = argument("urls", nargs="*", metavar="URL", help="an absolute http or https URL")
"""For :func:`urls_in`."""
URLS.add_argument(
    "--input", metavar="FILE", help="read URLs from FILE, one per line; - for standard input"
)


def urls_in(arguments: Namespace) -> Iterable[str]:
    """The URLs of a command. Blank lines and lines that begin with ``#`` are left out.

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
            # What is not a URL is for the command to tell, like any other line that is none.
            if not is_whole:
                yield f"line {number} is longer than {_LONGEST_LINE:,} bytes: {text:.100}"
            elif decoded.encode() != line:
                yield f"line {number} is not in UTF-8: {text}"
            else:
                yield text


def _lines_of(stream: BinaryIO) -> Iterator[tuple[bytes, bool]]:
    """Each line, or its beginning; and whether that is all of it."""
    while line := stream.readline(_LONGEST_LINE):
        last = line
        while len(last) == _LONGEST_LINE and not last.endswith(b"\n"):
            last = stream.readline(_LONGEST_LINE)
        yield line, last is line


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
            requested = as_requested(url)
            return cls(url, requested, Origin.of(requested))
        except ValueError as error:
            return cls(url, problem=str(error))


async def with_policies(
    urls: Iterable[str], policies: Policies
) -> AsyncIterator[tuple[Asked, Policy | None]]:
    """*urls*, each with the policy that decides about it; None if it is not http or https. What has
    come so far is answered together, its robots.txt files fetched side by side: a slow producer may
    wait for the answers. Raises OSError.
    """
    lines: Queue[str | Exception] = Queue(_TOGETHER)
    reader = Thread(target=_put_all, args=(urls, lines), daemon=True)
    reader.start()
    while reader.is_alive() or not lines.empty():
        await compat.sleep(_POLL)
        together = list(map(_about, (lines.get_nowait() for _ in range(lines.qsize()))))
        for origin in dict.fromkeys(asked.origin for asked in together):
            if origin:
                compat.run_in_background(policies.obtain(origin))
        for number, asked in enumerate(together, 1):
            yield asked, await obtain(asked.origin, policies) if asked.origin else None
            if number % _TURN == 0:
                await compat.sleep(0)
        sys.stdout.flush()


def _put_all(urls: Iterable[str], lines: Queue[str | Exception]) -> None:
    try:
        for line in urls:
            lines.put(line)
    except Exception as error:  # noqa: BLE001 - raised where the lines are used
        lines.put(error)


def _about(line: str | Exception) -> Asked:
    if isinstance(line, Exception):
        raise line
    return Asked.about(line)


EXITS = {"allowed": Exit.OK, "denied": Exit.FOUND, "undecided": Exit.UNDECIDED}
"""The exit status for each of the words that :func:`word_for` returns."""


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
