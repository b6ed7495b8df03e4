"""Opens the store that ``ROBOTS_STORE`` names: ``memory``, ``sqlite:`` and a path, or the URL of a
Redis server.

The path may be relative to the working directory and contain any character
(``sqlite:robots.db``, ``sqlite:/var/lib/my crawls/r.db``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from scrapy_robots_plus.protocol.rfc9309 import MAX_BYTES

from .base import SECONDS_OF_USE, StoreError
from .memory import MemoryStore
from .redis.url import check_redis_url, hidden, without_password

if TYPE_CHECKING:
    from collections.abc import Callable

    from .base import Store, StoreReader


class _Kind(NamedTuple):
    """What can be done with a URI."""

    check: Callable[[str], object]
    open: Callable[[str, int, int, float], Store]
    read: Callable[[str, int], StoreReader]


def check_store_uri(uri: object) -> str:
    """*uri* as it is, if it names a store as ``ROBOTS_STORE`` does. Opens nothing.

    Raises ValueError saying what is accepted, without the password in *uri*.
    """
    return _kind_of(uri)[1]


def shown(uri: str) -> str:
    """*uri*, which names a store, without user and password."""
    return hidden(uri) if _scheme_of(uri) in _ON_SERVERS else uri


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
    kind, uri = _kind_of(uri)
    return kind.open(uri, max_records, max_body, seconds_of_use)


def open_reader(uri: str, max_body: int = MAX_BYTES) -> StoreReader:
    """The store that *uri* names as ``ROBOTS_STORE`` does, to be read only. Nothing is created,
    repaired or deleted, and crawls can use the store meanwhile.

    Records with bodies of more than *max_body* bytes, by default 512,000 (RFC 9309 2.5), are not
    returned.

    Raises ValueError if *uri* names no store, and :exc:`~scrapy_robots_plus.StoreError` if there
    is none or it cannot be read.
    """
    kind, uri = _kind_of(uri)
    return kind.read(uri, max_body)


def _kind_of(uri: object) -> tuple[_Kind, str]:
    """What *uri* names, checked, and *uri* itself."""
    if not isinstance(uri, str):
        raise ValueError(f"{without_password(repr(uri))} is not a string; {_EXPECTED}")
    kind = _KINDS.get(_scheme_of(uri))
    if kind is None:
        raise ValueError(f"{without_password(uri)!r} is not a store; {_EXPECTED}")
    kind.check(uri)
    return kind, uri


def _scheme_of(uri: str) -> str:
    return uri.partition(":")[0]


def _path_in(uri: str) -> str:
    return uri.partition(":")[2]


def _check_memory(uri: str) -> None:
    if uri != "memory":
        raise ValueError(f"nothing can follow 'memory'; {_EXPECTED}")


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


def _no_memory(uri: str, max_body: int) -> StoreReader:  # noqa: ARG001
    raise StoreError("the store 'memory' ends with its crawl: there is nothing to read")


def _open_sqlite(uri: str, most: int, max_body: int, _: float) -> Store:
    from .sqlite.store import SqliteStore

    return SqliteStore(_path_in(uri), most, max_body)


def _read_sqlite(uri: str, max_body: int) -> StoreReader:
    from .sqlite.reader import SqliteReader

    return SqliteReader(_path_in(uri), max_body)


def _open_redis(uri: str, most: int, max_body: int, seconds_of_use: float) -> Store:
    from .redis.store import RedisStore

    return RedisStore(uri, most, max_body, seconds_of_use)


def _read_redis(uri: str, max_body: int) -> StoreReader:
    from .redis.reader import RedisReader

    reader = RedisReader(uri, max_body)
    reader.faults()  # so that it is known to answer
    return reader


_ON_SERVERS = ("redis", "rediss", "unix")
_KINDS = {
    "memory": _Kind(
        _check_memory, lambda _, most, longest, __: MemoryStore(most, longest), _no_memory
    ),
    "sqlite": _Kind(check_sqlite_uri, _open_sqlite, _read_sqlite),
    **dict.fromkeys(_ON_SERVERS, _Kind(check_redis_url, _open_redis, _read_redis)),
}
