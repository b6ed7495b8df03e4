"""Records on a Redis server, shared by all crawls that use it, on whatever machine."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, TypeVar, cast

from scrapy_robots_plus.protocol.http_caching import CLOCK_SKEW
from scrapy_robots_plus.protocol.rfc9309 import MAX_BYTES

from .base import SECONDS_OF_USE, Store, StoreReader, checked_maximum
from .record import (
    LENGTH_OF_STANDING,
    CodecError,
    RobotsRecord,
    Standing,
    StoreError,
    decode,
    encode,
    most_octets,
    standing,
)
from .redis_server import Server, ServerError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from redis import Redis

    from scrapy_robots_plus.protocol.origin import Origin

    from .redis_server import Seen

_T = TypeVar("_T")

logger = logging.getLogger(__name__)

_BEFORE, _AFTER = "{robots:", "}:record"
_PATTERN = f"{_BEFORE}*{_AFTER}"

_AT_ONCE = 1_000
"""Keys that the server looks at for one answer."""


def key_of(name: object) -> bytes:
    """The key of the record of the origin *name*.

    The braces are its hash tag: what else there is of an origin is on the same node of a cluster.
    """
    return f"{_BEFORE}{name}{_AFTER}".encode("utf-8", "surrogateescape")


class RedisReader(StoreReader):
    """Crawls that use the server notice nothing.

    Redis keeps keys in no order. So :meth:`scan` goes through all keys of the database first, and
    holds the names of all records.
    """

    def __init__(self, url: str, max_body: int = MAX_BYTES) -> None:
        self.server = Server(url)
        """Where the records are."""
        self._max_body = max_body
        self._closed = False

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
        most = most_octets(self._max_body)
        try:
            data = self._read(key_of(name), most)  # one octet more than a record can have
        except StoreError as error:
            if "WRONGTYPE" in str(error):
                raise CodecError("not a record: a value of another type") from error
            raise
        if not data:
            return None
        if len(data) > most:
            raise CodecError("too large")
        record = decode(data, self._max_body)
        if str(record.origin) != name:
            raise CodecError("its key contradicts it")
        return record

    def _read(self, key: bytes, last: int) -> bytes:
        """What is under *key*, up to the octet with the number *last*."""
        return cast("bytes", self._ask(lambda client: client.getrange(key, 0, last)))

    def _names(self, after: str = "") -> Iterator[str]:
        found = self._ask(lambda client: client.scan_iter(match=_PATTERN, count=_AT_ONCE))
        names = set()  # some keys may come twice
        while (key := self._ask(lambda _: next(found, None))) is not None:
            names.add(key[len(_BEFORE) : -len(_AFTER)].decode("utf-8", "surrogateescape"))
        return iter(sorted(name for name in names if name > after))

    def _distrust(self, origin: Origin, error: CodecError) -> None:
        logger.warning("%s: the record of %s is ignored: %s", self.server.name, origin, error)


_HOUR = 3_600.0

_LEAST_SECONDS = 60.0
"""For which a record is kept, wherever the clock stood that dated it."""


class RedisStore(RedisReader, Store):
    """Each record has an expiry time, so that the server removes what is of no use.

    The server's memory is limited by its own settings, not by *max_records*: see docs/storage.md.
    What is damaged, too large or of a later version is ignored, and overwritten by the next record
    of its origin.
    """

    remote = True

    def __init__(
        self,
        url: str,
        max_records: int,
        max_body: int = MAX_BYTES,
        seconds_of_use: float = SECONDS_OF_USE,
    ) -> None:
        checked_maximum(max_records)
        super().__init__(url, max_body)
        self._seconds_of_use = seconds_of_use

    def put(self, record: RobotsRecord) -> bool:
        encoded = encode(record, self._max_body)
        return self._ask(lambda _: self._stored(record, encoded))

    def _stored(self, record: RobotsRecord, encoded: bytes) -> bool:
        key, length = key_of(record.origin), LENGTH_OF_STANDING
        held: Seen | None = self.server.look(key, length)
        while held is not None:
            if _is_newer(held.value, record, held.now + CLOCK_SKEW):
                return False
            left = Standing.of(record).touched_at + self._seconds_of(record) - held.now
            seconds = max(min(left, self._seconds_of(record)), _LEAST_SECONDS)
            held = self.server.swap(key, held.value, encoded, seconds, length)
        return True

    def _delete(self, name: str) -> None:
        self._ask(lambda client: client.delete(key_of(name)))

    def _seconds_of(self, record: RobotsRecord) -> float:
        """How long *record* is of use: one of a file that was never readable, until it is tried
        again, and so that it is known then for how long that was.
        """
        return self._seconds_of_use if record.readable else record.retry_in + _HOUR

    def _read(self, key: bytes, last: int) -> bytes:
        data = super()._read(key, last)
        self.losses = self.server.restarts
        return data


def _is_newer(held: bytes, record: RobotsRecord, latest: float) -> bool:
    """Whether what is *held* is newer than *record*, and not of a time after *latest*."""
    try:
        known = standing(held)
    except CodecError:
        return False
    return known > Standing.of(record) and known.touched_at <= latest
