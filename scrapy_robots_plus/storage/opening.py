"""Opens the store that ``ROBOTS_STORE`` names: ``memory``, or ``sqlite:`` and a path.

The path may be relative to the working directory and contain any character
(``sqlite:robots.db``, ``sqlite:/var/lib/my crawls/r.db``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from scrapy_robots_plus.protocol.rfc9309 import MAX_BYTES

from .base import StoreError
from .memory import MemoryStore
from .sqlite import SqliteStore
from .sqlite_reader import SqliteReader

if TYPE_CHECKING:
    from collections.abc import Callable

    from .base import Store, StoreReader


class _Kind(NamedTuple):
    """What can be done with the part of a URI after its scheme."""

    check: Callable[[str], None]
    open: Callable[[str, int, int], Store]
    read: Callable[[str, int], StoreReader]


def check_store_uri(uri: object) -> str:
    """*uri* as it is, if it names a store as ``ROBOTS_STORE`` does. Opens nothing.

    Raises ValueError saying what is accepted.
    """
    scheme, rest = _split(uri)
    _SCHEMES[scheme].check(rest)
    return str(uri)


def open_store(uri: str, max_records: int, max_body: int = MAX_BYTES) -> Store:
    """The store that *uri* names as ``ROBOTS_STORE`` does, made if there is none yet.

    It is for at most *max_records* records, with bodies of at most *max_body* bytes: by default
    512,000 (RFC 9309 2.5).

    Raises ValueError if *uri* names no store or *max_records* is below 1, and
    :exc:`~scrapy_robots_plus.StoreError` if it cannot be opened.
    """
    scheme, rest = _split(uri)
    kind = _SCHEMES[scheme]
    kind.check(rest)
    return kind.open(rest, max_records, max_body)


def open_reader(uri: str, max_body: int = MAX_BYTES) -> StoreReader:
    """The store that *uri* names as ``ROBOTS_STORE`` does, to be read only. Nothing is created,
    repaired or deleted, and crawls can use the store meanwhile.

    Records with bodies of more than *max_body* bytes, by default 512,000 (RFC 9309 2.5), are not
    returned.

    Raises ValueError if *uri* names no store, and :exc:`~scrapy_robots_plus.StoreError` if there
    is none or it cannot be read.
    """
    scheme, rest = _split(uri)
    kind = _SCHEMES[scheme]
    kind.check(rest)
    return kind.read(rest, max_body)


def _split(uri: object) -> tuple[str, str]:
    if not isinstance(uri, str):
        raise ValueError(f"{uri!r} is not a string; {_EXPECTED}")
    scheme, colon, rest = uri.partition(":")
    if scheme not in _SCHEMES:
        raise ValueError(f"{uri!r} is not a store; {_EXPECTED}")
    return scheme, colon + rest


def _check_memory(rest: str) -> None:
    if rest:
        raise ValueError(f"nothing can follow 'memory'; {_EXPECTED}")


def _check_sqlite(rest: str) -> None:
    path = rest[1:]
    if not path.strip() or "\0" in path:
        raise ValueError(f"'sqlite:' needs a path; {_EXPECTED}")
    if path.startswith("//"):  # in other libraries sqlite:///x is a relative path: do not guess
        raise ValueError(f"write the path without '//' before it; {_EXPECTED}")
    if path == ":memory:":
        raise ValueError(f"'sqlite::memory:' is lost when the crawl ends; {_EXPECTED}")


_EXPECTED = "expected 'memory' or 'sqlite:PATH' (sqlite:robots.db, sqlite:/var/lib/robots.db)"


def _no_memory(rest: str, max_body: int) -> StoreReader:  # noqa: ARG001
    raise StoreError("the store 'memory' ends with its crawl: there is nothing to read")


_SCHEMES = {
    "memory": _Kind(_check_memory, lambda _, *sizes: MemoryStore(*sizes), _no_memory),
    "sqlite": _Kind(
        _check_sqlite,
        lambda rest, *sizes: SqliteStore(rest[1:], *sizes),
        lambda rest, max_body: SqliteReader(rest[1:], max_body),
    ),
}
