"""Reading the records on a Redis server, without changing anything there."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, TypeVar, cast

from scrapy_robots_plus.protocol.rfc9309 import MAX_BYTES
from scrapy_robots_plus.storage import codec
from scrapy_robots_plus.storage.base import Scanned, StoreError, StoreReader

from .connection import Server, ServerError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from redis import Redis

    from scrapy_robots_plus.protocol.origin import Origin
    from scrapy_robots_plus.storage.record import RobotsRecord

_T = TypeVar("_T")

logger = logging.getLogger(__name__)

_BEFORE, _AFTER = "{robots:", "}:record"
_PATTERN = f"{_BEFORE}*{_AFTER}"

MOST_NAMES = 50_000
"""Names of origins that are sorted at once."""

_AT_ONCE = 1_000
"""Keys that the server looks at for one answer."""

_MOST_WARNINGS = 10


def key_of(name: object) -> bytes:
    """The key of the record of the origin *name*.

    The braces are its hash tag: what else there is of an origin is on the same node of a cluster.
    """
    return f"{_BEFORE}{name}{_AFTER}".encode("utf-8", "surrogateescape")


class RedisReader(StoreReader):
    """Crawls that use the server notice nothing.

    Redis keeps keys in no order. So :meth:`scan` goes through all keys of the database once for
    every :data:`MOST_NAMES` records, and never holds more than twice as many names.
    """

    def __init__(self, url: str, max_body: int = MAX_BYTES) -> None:
        self.server = Server(url)
        """Where the records are."""
        self._max_body = max_body
        self._closed = False
        self._warnings = 0

    def get(self, origin: Origin) -> RobotsRecord | None:
        try:
            return self._found(str(origin))
        except codec.CodecError as error:
            self._warn(f"the record of {origin} is ignored: {error}")
            return None

    def scan(self, after: str = "") -> Iterator[Scanned]:
        for name in self._names(after):
            found = self._scanned(name)
            if found is not None:
                yield found

    def faults(self) -> Iterator[str]:
        self._ask(lambda client: client.ping())
        return iter(())

    def __len__(self) -> int:
        return sum(1 for _ in self._names())

    def close(self) -> None:
        self._closed = True
        self.server.close()

    def _ask(self, call: Callable[[Redis], _T]) -> _T:
        """What the server answers. Raises StoreError if it does not, or answers with an error."""
        if self._closed:
            raise StoreError(f"{self.server.name}: the store is closed")
        try:
            return self.server.run(call)
        except ServerError as error:
            raise StoreError(str(error)) from error

    def _found(self, name: str) -> RobotsRecord | None:
        """The record of the origin *name*. Raises CodecError if it cannot be trusted."""
        most = codec.most_octets(self._max_body)
        try:
            data = self._read(key_of(name), most)  # one octet more than a record can have
        except StoreError as error:
            if "WRONGTYPE" in str(error):
                raise codec.CodecError("not a record: a value of another type") from error
            raise
        if not data:
            return None
        if len(data) > most:
            raise codec.CodecError("too large")
        record = codec.decode(data, self._max_body)
        if str(record.origin) != name:
            raise codec.CodecError("its key contradicts it")
        return record

    def _scanned(self, name: str) -> Scanned | None:
        try:
            record = self._found(name)
        except codec.CodecError as error:
            return Scanned(name, None, str(error))
        return None if record is None else Scanned(name, record)

    def _read(self, key: bytes, last: int) -> bytes:
        """What is under *key*, up to the octet with the number *last*."""
        return cast("bytes", self._ask(lambda client: client.getrange(key, 0, last)))

    def _keys(self) -> Iterator[bytes]:
        """Those of all records, in no order; some may come twice."""
        found = self._ask(lambda client: client.scan_iter(match=_PATTERN, count=_AT_ONCE))
        while (key := self._ask(lambda _: next(found, None))) is not None:
            yield key

    def _names(self, after: str = "") -> Iterator[str]:
        """The names of all origins that come after *after*, in order."""
        while names := self._next_names(after):
            yield from names
            after = names[-1]

    def _next_names(self, after: str) -> list[str]:
        names: set[str] = set()
        for key in self._keys():
            name = key[len(_BEFORE) : -len(_AFTER)].decode("utf-8", "surrogateescape")
            if name > after:
                names.add(name)
            if len(names) >= 2 * MOST_NAMES:
                names = set(sorted(names)[:MOST_NAMES])
        return sorted(names)[:MOST_NAMES]

    def _warn(self, what: str) -> None:
        self._warnings += 1
        if self._warnings <= _MOST_WARNINGS:
            last = "; what follows is not named" if self._warnings == _MOST_WARNINGS else ""
            logger.warning("%s: %s%s", self.server.name, what, last)
