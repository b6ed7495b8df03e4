"""The stores that keep records, and the choice of one by ``ROBOTS_STORE``.

They use no Scrapy, no Twisted and no wall clock.

The setting is ``memory`` (``store.py``), ``sqlite:`` and a path (``sqlite_store.py``), or the URL
of a Redis server (``redis_store.py``). The path may be relative to the working directory and
contain any character but NUL (``sqlite:robots.db``, ``sqlite:/var/lib/my crawls/r.db``). To add a
kind of store, start at :data:`SCHEMES`.
"""

from __future__ import annotations

from scrapy_robots_plus.protocol.rfc9309 import MAX_BYTES

from .record import Standing as Standing
from .record import StoreError as StoreError
from .redis_url import check_redis_url
from .store import SECONDS_OF_USE, MemoryStore
from .store import Scanned as Scanned
from .store import Store as Store

_ON_SERVERS = ("redis", "rediss", "unix")
SCHEMES = ("memory", "sqlite", *_ON_SERVERS)
"""The schemes with which the URI of a store may begin."""

_EXPECTED = (
    "expected 'memory', 'sqlite:PATH' (sqlite:robots.db, sqlite:/var/lib/robots.db), or a Redis "
    "server: 'redis://HOST:PORT/DB', 'rediss://HOST:PORT/DB' (TLS), 'unix:///PATH'"
)


def check_store_uri(uri: object) -> str:
    """Returns *uri* unchanged if it is a valid value of ``ROBOTS_STORE``. Opens nothing.

    Raises ValueError otherwise. The message says what is accepted, and hides the password in *uri*.
    """
    return "memory" if uri == "memory" else check_place(uri, _EXPECTED)


def check_place(uri: object, expected: str) -> str:
    """Returns *uri* unchanged if it is ``sqlite:`` and a path, or a Redis URL. Opens nothing.

    Raises ValueError otherwise. The message says what is *expected* (of a Redis URL: what that may
    look like), and hides the password in *uri*.
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
    """Opens the store that *uri* names, a value of ``ROBOTS_STORE``; creates it if needed.

    It keeps at most *max_records* records, with bodies of at most *max_body* bytes: by default
    512,000 (RFC 9309 2.5). A Redis server limits its memory itself, and removes each record
    *seconds_of_use* seconds after its file was last requested: by default 31 days. The server is
    not contacted before the store is first used.

    *as_it_is* opens the store only to look at it: a file is not created, repaired or set aside, and
    a record that cannot be trusted stays.

    Raises ValueError if *uri* is not valid, and :exc:`~scrapy_robots_plus.StoreError` if the store
    cannot be opened.
    """
    scheme, _, path = check_store_uri(uri).partition(":")
    if scheme == "memory" and as_it_is:
        what = "expected a ROBOTS_STORE that outlives its crawl, or a JOBDIR with a store"
        raise StoreError(f"{what}: 'memory' ends with its crawl")
    if scheme == "memory":
        return MemoryStore(max_records, max_body)
    if scheme == "sqlite":
        from .sqlite_store import SqliteStore

        return SqliteStore(path, max_records, max_body, as_it_is=as_it_is)
    from .redis_store import RedisStore

    return RedisStore(uri, max_body, seconds_of_use)
