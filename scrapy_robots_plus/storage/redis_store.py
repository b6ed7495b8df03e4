"""The store that keeps records on a Redis server, shared by crawls on any machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_robots_plus.protocol.http_caching import CLOCK_SKEW
from scrapy_robots_plus.protocol.rfc9309 import MAX_BYTES

from .record import LENGTH_OF_STANDING, CodecError, Standing, decode, encode, most_bytes, standing
from .redis_server import Seen, Server
from .store import SECONDS_OF_USE, Store

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy_robots_plus.protocol.origin import Origin

    from .record import RobotsRecord

_BEFORE, _AFTER = "{robots:", "}:record"
_PATTERN = f"{_BEFORE}*{_AFTER}"

_AT_ONCE = 1_000
"""How many keys the server looks at for one answer of a scan."""


def key_of(name: object) -> bytes:
    """Returns the key of the record of the origin *name*.

    The braces mark its hash tag: all keys of an origin are on the same node of a cluster.
    """
    return f"{_BEFORE}{name}{_AFTER}".encode("utf-8", "surrogateescape")


_LEAST_SECONDS = 60.0
"""How many seconds a record is kept at least, however wrong the clock was that dated it."""


class RedisStore(Store):
    """A store on a Redis server. Each record expires when it is no longer of use.

    The server's memory is limited by its own settings: see docs/storage.md. A record that is
    damaged, too large or of a later version is ignored; the next one of its origin overwrites it.

    Redis keeps keys in no order. So :meth:`scan` first goes through all keys of the database, and
    holds the names of all records in memory.
    """

    remote = True

    def __init__(
        self, url: str, max_body: int = MAX_BYTES, seconds_of_use: float = SECONDS_OF_USE
    ) -> None:
        self.server = Server(url)
        self.name = self.server.name
        self._max_body = max_body
        self._seconds_of_use = seconds_of_use

    def close(self) -> None:
        self.server.close()

    def put(self, record: RobotsRecord) -> bool:
        encoded = encode(record, self._max_body)
        key, length = key_of(record.origin), LENGTH_OF_STANDING
        # If the file was never readable: an hour past the next fetch, which counts its failures on.
        of_use = self._seconds_of_use if record.readable else record.retry_in + 3_600.0
        held: Seen | None = self.server.look(key, length)
        while held is not None:
            if _is_newer(held.value, record, held.now + CLOCK_SKEW):
                return False
            left = Standing.of(record).touched_at + of_use - held.now
            seconds = max(min(left, of_use), _LEAST_SECONDS)
            held = self.server.swap(key, held.value, encoded, seconds, length)
        return True

    def _found(self, name: str) -> RobotsRecord | None:
        most = most_bytes(self._max_body)
        data = self.server.look(key_of(name), most + 1).value  # one more than the longest record
        self.losses = self.server.restarts
        if not data:
            return None
        if len(data) > most:
            raise CodecError("too large")
        record = decode(data, self._max_body)
        if str(record.origin) != name:
            raise CodecError("it is of another origin than its key")
        return record

    def _names(self) -> Iterator[str]:
        keys = self.server.run(lambda client: set(client.scan_iter(_PATTERN, _AT_ONCE)))
        names = (key[len(_BEFORE) : -len(_AFTER)] for key in keys)  # SCAN may return a key twice
        return iter(sorted(name.decode("utf-8", "surrogateescape") for name in names))

    def delete(self, origin: Origin | str) -> bool:
        return bool(self.server.run(lambda client: client.delete(key_of(origin))))


def _is_newer(held: bytes, record: RobotsRecord, latest: float) -> bool:
    """Returns whether the record in *held* is newer than *record*, and not later than *latest*."""
    try:
        known = standing(held)
    except CodecError:
        return False
    return known > Standing.of(record) and known.touched_at <= latest
