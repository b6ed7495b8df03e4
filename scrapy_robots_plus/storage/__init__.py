"""Where records live between crawls. No Scrapy, no Twisted, no clock.

Opens the store that ``ROBOTS_STORE`` names: ``memory``, ``sqlite:`` and a path, or the URL of a
Redis server.

The path may be relative to the working directory and contain any character
(``sqlite:robots.db``, ``sqlite:/var/lib/my crawls/r.db``).
"""

from __future__ import annotations

from scrapy_robots_plus.protocol.rfc9309 import MAX_BYTES

from .base import SECONDS_OF_USE, MemoryStore, Scanned, Store, StoreReader
from .record import Standing, StoreError
from .redis_url import check_redis_url, without_password

__all__ = [
    "Scanned",
    "Standing",
    "Store",
    "StoreError",
    "StoreReader",
    "check_store_uri",
    "open_reader",
    "open_store",
]


def check_store_uri(uri: object) -> str:
    """*uri* as it is, if it names a store as ``ROBOTS_STORE`` does. Opens nothing.

    Raises ValueError saying what is accepted, without the password in *uri*.
    """
    if not isinstance(uri, str):
        raise ValueError(f"{without_password(repr(uri))} is not a string; {_EXPECTED}")
    scheme = _scheme_of(uri)
    if scheme not in SCHEMES:
        raise ValueError(f"{without_password(uri)!r} is not a store; {_EXPECTED}")
    if scheme == "sqlite":
        return check_sqlite_uri(uri)
    if scheme in _ON_SERVERS:
        return check_redis_url(uri)
    if uri != "memory":
        raise ValueError(f"nothing can follow 'memory'; {_EXPECTED}")
    return uri


def open_store(
    uri: str,
    max_records: int,
    max_body: int = MAX_BYTES,
    seconds_of_use: float = SECONDS_OF_USE,
) -> Store:
    """The store that *uri* names as ``ROBOTS_STORE`` does, made if there is none yet.

    It is for at most *max_records* records, with bodies of at most *max_body* bytes: by default
    512,000 (RFC 9309 2.5). A Redis server limits its memory itself; it removes each record
    *seconds_of_use* seconds after it was last asked for: by default 31 days. Whether the server
    answers is seen when it is first asked.

    Raises ValueError if *uri* names no store or *max_records* is below 1, and
    :exc:`~scrapy_robots_plus.StoreError` if it cannot be opened.
    """
    scheme = _scheme_of(check_store_uri(uri))
    if scheme == "memory":
        return MemoryStore(max_records, max_body)
    if scheme == "sqlite":
        from .sqlite_store import SqliteStore

        return SqliteStore(_path_in(uri), max_records, max_body)
    from .redis_store import RedisStore

    return RedisStore(uri, max_records, max_body, seconds_of_use)


def open_reader(uri: str, max_body: int = MAX_BYTES) -> StoreReader:
    """The store that *uri* names as ``ROBOTS_STORE`` does, to be read only. Nothing is created,
    repaired or deleted, and crawls can use the store meanwhile.

    Records with bodies of more than *max_body* bytes, by default 512,000 (RFC 9309 2.5), are not
    returned.

    Raises ValueError if *uri* names no store, and :exc:`~scrapy_robots_plus.StoreError` if there
    is none or it cannot be read.
    """
    scheme = _scheme_of(check_store_uri(uri))
    if scheme == "memory":
        what = "expected a ROBOTS_STORE that outlives its crawl, or a JOBDIR with a store"
        raise StoreError(f"{what}: 'memory' ends with its crawl")
    if scheme == "sqlite":
        from .sqlite_store import SqliteReader

        return SqliteReader(_path_in(uri), max_body)
    from .redis_store import RedisReader

    return RedisReader(uri, max_body)


def _scheme_of(uri: str) -> str:
    return uri.partition(":")[0]


def _path_in(uri: str) -> str:
    return uri.partition(":")[2]


_EXPECTED = (
    "expected 'memory', 'sqlite:PATH' (sqlite:robots.db, sqlite:/var/lib/robots.db), or a Redis "
    "server: 'redis://HOST:PORT/DB', 'rediss://HOST:PORT/DB' (TLS), 'unix:///PATH'"
)


def check_sqlite_uri(uri: str, expected: str = _EXPECTED) -> str:
    """*uri* as it is, if it is ``sqlite:`` and a path. Opens nothing.

    Raises ValueError, which ends with *expected*.
    """
    path = _path_in(uri)
    if not path.strip() or "\0" in path:
        raise ValueError(f"'sqlite:' needs a path; {expected}")
    if path.startswith("//"):  # in other libraries sqlite:///x is a relative path: do not guess
        raise ValueError(f"write the path without '//' before it; {expected}")
    if path == ":memory:":
        raise ValueError(f"'sqlite::memory:' is lost when the crawl ends; {expected}")
    return uri


_ON_SERVERS = ("redis", "rediss", "unix")
SCHEMES = ("memory", "sqlite", *_ON_SERVERS)
"""What the URI of a store begins with."""
