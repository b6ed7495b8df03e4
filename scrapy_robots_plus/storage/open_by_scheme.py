"""Which stores there are, by the scheme with which ``ROBOTS_STORE`` begins: ``memory``, ``sqlite:``
and a path, or the URL of a Redis server. A new kind of store begins here.

The path may be relative to the working directory and contain any character
(``sqlite:robots.db``, ``sqlite:/var/lib/my crawls/r.db``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_robots_plus.protocol.rfc9309 import MAX_BYTES

from .record import StoreError
from .redis_url import check_redis_url
from .store import SECONDS_OF_USE

if TYPE_CHECKING:
    from .store import Store

_ON_SERVERS = ("redis", "rediss", "unix")
SCHEMES = ("memory", "sqlite", *_ON_SERVERS)
"""What the URI of a store begins with."""

_EXPECTED = (
    "expected 'memory', 'sqlite:PATH' (sqlite:robots.db, sqlite:/var/lib/robots.db), or a Redis "
    "server: 'redis://HOST:PORT/DB', 'rediss://HOST:PORT/DB' (TLS), 'unix:///PATH'"
)


def check_store_uri(uri: object) -> str:
    """*uri* as it is, if it names a store as ``ROBOTS_STORE`` does. Opens nothing.

    Raises ValueError saying what is accepted, without the password in *uri*.
    """
    return "memory" if uri == "memory" else check_place(uri, _EXPECTED)


def check_place(uri: object, expected: str) -> str:
    """*uri* as it is, if it is ``sqlite:`` and a path, or the URL of a Redis server. Opens nothing.

    Raises ValueError saying what is *expected*, without the password in *uri*.
    """
    scheme, colon, path = uri.partition(":") if isinstance(uri, str) else ("", "", "")
    if scheme in _ON_SERVERS and colon:
        return check_redis_url(str(uri))
    if scheme != "sqlite" or not path.strip() or "\0" in path or path == ":memory:":
        raise ValueError(expected)
    if path.startswith("//"):  # in other libraries sqlite:///x is a relative path: do not guess
        raise ValueError(f"write the path without '//' before it; {expected}")
    return str(uri)


def open_store(
    uri: str,
    max_records: int,
    max_body: int = MAX_BYTES,
    seconds_of_use: float = SECONDS_OF_USE,
    *,
    as_it_is: bool = False,
) -> Store:
    """The store that *uri* names as ``ROBOTS_STORE`` does, made if there is none yet.

    It is for at most *max_records* records, with bodies of at most *max_body* bytes: by default
    512,000 (RFC 9309 2.5). A Redis server limits its memory itself; it removes each record
    *seconds_of_use* seconds after it was last asked for: by default 31 days. Whether the server
    answers is seen when it is first asked.

    *as_it_is*: for a look at it. A file is not created, repaired or set aside, and a record that
    cannot be trusted stays.

    Raises ValueError if *uri* names no store, and :exc:`~scrapy_robots_plus.StoreError` if it
    cannot be opened.
    """
    scheme, _, path = check_store_uri(uri).partition(":")
    if scheme == "memory" and as_it_is:
        what = "expected a ROBOTS_STORE that outlives its crawl, or a JOBDIR with a store"
        raise StoreError(f"{what}: 'memory' ends with its crawl")
    if scheme == "memory":
        from .memory_store import MemoryStore

        return MemoryStore(max_records, max_body)
    if scheme == "sqlite":
        from .sqlite_store import SqliteStore

        return SqliteStore(path, max_records, max_body, as_it_is=as_it_is)
    from .redis_store import RedisStore

    return RedisStore(uri, max_body, seconds_of_use)
