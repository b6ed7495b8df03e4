"""The copies of a robots.txt that a user can name: a file, a site, what a store has of a site."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from scrapy_robots_plus.commands.answers import origin_of
from scrapy_robots_plus.commands.errors import UnreadableError, WrongUsageError
from scrapy_robots_plus.commands.project import obtain
from scrapy_robots_plus.commands.subcommand import read_file
from scrapy_robots_plus.origins.parsers.adapter import charset_of
from scrapy_robots_plus.protocol import Reason, RobotsTxt
from scrapy_robots_plus.protocol.access import Access, is_definite
from scrapy_robots_plus.protocol.sent_forms import target_of
from scrapy_robots_plus.protocol.status_policy import access_of
from scrapy_robots_plus.storage import open_reader, shown

if TYPE_CHECKING:
    from scrapy_robots_plus.commands.project import Project
    from scrapy_robots_plus.crawl.crawl import Crawl
    from scrapy_robots_plus.protocol import Dialect
    from scrapy_robots_plus.protocol.origin import Origin
    from scrapy_robots_plus.storage.record import RobotsRecord

STORED = "store:"
"""Begins the name of a stored copy."""

_NO_FILE = {
    Access.UNAVAILABLE: Reason.UNAVAILABLE,
    Access.UNREACHABLE: Reason.UNREACHABLE,
}


@dataclass(frozen=True)
class Copy:
    """A robots.txt at some time, or why there was none."""

    name: str
    """As the user named it."""
    in_words: str
    """Its status and what it means, such as ``404, all allowed``; empty for a file on disk."""
    access: Access
    """What may be crawled according to it and to the status policy."""
    is_known: bool
    """Whether the site gave an answer; otherwise it was an outage."""
    body: bytes
    charset: str | None

    def read(self, dialect: Dialect, max_bytes: int) -> RobotsTxt | Reason:
        """Its rules, or why there are none."""
        if self.access is not Access.RULES:
            return _NO_FILE[self.access]
        return RobotsTxt.parse(self.body, dialect, self.charset, max_bytes)


def site_in(name: str) -> Origin | None:
    """The site whose robots.txt *name* is the URL of; None if it is not a URL.

    Raises WrongUsageError for a URL of something else.
    """
    if not name.lower().startswith(("http://", "https://")):
        return None
    try:
        url, origin = origin_of(name)
    except ValueError as error:
        raise WrongUsageError(str(error)) from error
    if origin is None or target_of(url) not in ("/", "/robots.txt"):
        raise WrongUsageError(f"{name}: expected a site, such as https://site.example")
    return origin


def file_copy(name: str) -> Copy:
    """That of the file *name*, or standard input. Raises UnreadableError."""
    return Copy(name, "", Access.RULES, True, read_file(name), None)


def stored_copy(name: str, project: Project, uri: str | None) -> Copy:
    """What the store *uri* has of the site in *name*; the store stays as it is.

    Raises UnreadableError if it has nothing, StoreError if there is none or it cannot be read.
    """
    origin = site_in(name.removeprefix(STORED))
    if origin is None:
        raise WrongUsageError(f"{name}: expected a site, such as {STORED}https://site.example")
    if uri is None or uri == "memory":
        raise WrongUsageError(f"{name}: ROBOTS_STORE names no store that outlives a crawl")
    with open_reader(uri, project.robots.fetch_max_bytes) as store:
        record = store.get(origin)
    if record is None:
        raise UnreadableError(f"{name}: the store {shown(uri)} has no copy of it")
    today = access_of(record.outcome, project.robots.status_policy)
    return _copy(name, replace(record, access=today), project)


async def site_copy(name: str, origin: Origin, crawl: Crawl, project: Project) -> Copy:
    """What the site has now. Raises UnreadableError if the user stops it."""
    return _copy(name, (await obtain(origin, crawl)).record, project)


def _copy(name: str, record: RobotsRecord, project: Project) -> Copy:
    policy = project.policy_of(record)
    return Copy(
        name,
        policy.in_words,
        policy.access,
        is_definite(record.outcome),
        record.body,
        charset_of(record.headers),
    )
