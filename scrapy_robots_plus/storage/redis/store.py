"""Records on a Redis server, shared by all crawls that use it, on whatever machine."""

from __future__ import annotations

import secrets
from itertools import islice
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from scrapy_robots_plus.protocol.freshness import CLOCK_SKEW
from scrapy_robots_plus.protocol.rfc9309 import MAX_BYTES
from scrapy_robots_plus.storage import codec
from scrapy_robots_plus.storage.base import SECONDS_OF_USE, Store, StoreError, checked_maximum

from .reader import RedisReader, key_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy_robots_plus.protocol.origin import Origin
    from scrapy_robots_plus.storage.record import RobotsRecord

MARK = "{robots}:store"
"""The key that shows whether the server still has what was stored: it is lost with the records."""

_HOUR = 3_600.0

_BATCH = 500
"""Records that :meth:`RedisStore.purge` looks at in one round trip."""

_HERE = Path(__file__).parent


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
        self._put_script = self.server.script(_HERE / "put.lua")
        self._drop_script = self.server.script(_HERE / "drop.lua")
        self._mark: bytes | None = None
        self._emptied = 0

    def put(self, record: RobotsRecord) -> bool:
        try:
            encoded = codec.encode(record, self._max_body)
        except codec.CodecError as error:
            raise StoreError(str(error)) from error
        keys = [key_of(record.origin)]
        args: list[bytes | float] = [encoded, self._seconds_of(record), CLOCK_SKEW]
        return bool(self._ask(lambda client: self._put_script.ask(client, keys, args)))

    def delete(self, origin: Origin) -> None:
        self._ask(lambda client: client.delete(key_of(origin)))

    def purge(self, before: float, after: float = inf, limit: int | None = None) -> int:
        removed = 0
        keys = self._keys()
        while limit is None or removed < limit:
            batch = list(islice(keys, _BATCH))
            if not batch:
                break
            dead = self._outdated(batch, before, after)
            removed += sum(self._drop(*each) for each in islice(dead, limit and limit - removed))
        return removed

    def _seconds_of(self, record: RobotsRecord) -> float:
        """How long *record* is of use: one of a file that was never readable, until it is tried
        again, and so that it is known then for how long that was.
        """
        return self._seconds_of_use if record.readable else record.retry_in + _HOUR

    def _read(self, key: bytes, last: int) -> bytes:
        def ask(client: Any) -> list[Any]:
            both = client.pipeline(transaction=False)
            both.getrange(key, 0, last)
            both.get(MARK)  # after the record: a loss between the two is noticed
            return list(both.execute())

        data, mark = self._ask(ask)
        self._notice_losses(mark)
        return cast("bytes", data)

    def _notice_losses(self, mark: bytes | None) -> None:
        mark = mark or self._new_mark()
        if self._mark is not None and mark != self._mark:
            self._emptied += 1
        self._mark = mark
        self.losses = self._emptied + self.server.restarts

    def _new_mark(self) -> bytes | None:
        """The mark that the server has now; None if it takes none."""

        def ask(client: Any) -> Any:
            client.set(MARK, secrets.token_hex(16), nx=True)  # another crawl may have been faster
            return client.get(MARK)

        try:
            return cast("bytes", self._ask(ask))
        except StoreError:  # full, or a replica
            return None

    def _outdated(
        self, keys: list[bytes], before: float, after: float
    ) -> Iterator[tuple[bytes, bytes]]:
        """Those of *keys* whose records are outdated, each with the beginning of the record."""

        def ask(client: Any) -> list[Any]:
            together = client.pipeline(transaction=False)
            for key in keys:
                together.getrange(key, 0, codec.LENGTH_OF_STANDING - 1)
            return list(together.execute(raise_on_error=False))

        for key, data in zip(keys, self._ask(ask), strict=True):
            if isinstance(data, bytes) and _is_outdated(data, before, after):
                yield key, data

    def _drop(self, key: bytes, beginning: bytes) -> int:
        return self._ask(lambda client: int(self._drop_script.ask(client, [key], [beginning])))


def _is_outdated(data: bytes, before: float, after: float) -> bool:
    try:
        touched_at = codec.standing(data).touched_at
    except codec.CodecError:  # it has no time that could be read
        return before == inf
    return not before <= touched_at <= after
