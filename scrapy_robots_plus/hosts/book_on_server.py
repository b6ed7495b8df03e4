"""The book that a Redis server keeps, by its clock."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

from scrapy_robots_plus.crawl.recent import Recent
from scrapy_robots_plus.storage.redis_server import Server

from .book import BookError, Entry

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy_robots_plus.storage.redis_server import Seen

PREFIX = "robots:pace"
"""A key is ``{robots:pace:GROUP:HOST}``, all of it its hash tag. It expires when it is no
longer needed."""
MOST = 10_000
"""Of so many hosts, the last ones, is remembered that the server has an entry."""
LEFT_ALONE = 1.0
"""Seconds for which a server that does not answer is left alone at most: when it is back, crawls
keep no pace together before all of them ask it again."""
LONGEST = 5.0
"""Seconds for which an entry is written again and again, if others change it meanwhile: what the
crawl asks of other hosts waits behind it."""
SPARE = 10.0
"""Seconds for which the server keeps an entry longer than anybody expects it: an answer may take a
while, and its clock may be faster."""


class BookOnServer:
    """See :class:`.Book`. All crawls with the same *group* share it.

    A key holds the values of an :class:`.Entry`, which process of the server has written it, and
    when, as a list in JSON.
    """

    def __init__(
        self, url: str, group: str, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        """*url*: as :func:`~scrapy_robots_plus.storage.redis_url.check_redis_url` accepts it."""
        self._server = Server(url, longest_pause=LEFT_ALONE)
        self._group = group
        self._monotonic = monotonic
        self._known: Recent[str, float] = Recent(MOST)
        """Until when the server surely has the entry of a host, unless it lost it."""

    def change(self, host: str, event: str, *arguments: Any) -> Any:
        """Like :meth:`.Book.change`. Raises :class:`.ServerError`, too."""
        at, key = self._monotonic(), self.key(host)
        seen = self._server.look(key)
        while True:
            entry = self._entry(seen, key, is_known=at < self._known.get(host, 0.0))
            before = entry.values
            answer = getattr(entry, event)(seen.now, *arguments)
            useful_for = entry.useful_until - seen.now
            if seen.value and entry.values == before and entry.lost_at < seen.now:
                break  # others need not look again
            values = [*entry.values, seen.process.decode(), seen.now] if useful_for > 0 else None
            new = json.dumps(values).encode() if values else b""
            changed = self._server.swap(key, seen.value, new, useful_for + SPARE, though_full=True)
            if changed is None:
                break
            if self._monotonic() > at + LONGEST:
                if event == "ask":  # many others do: to go without them would break their delays
                    _, delay, _, moment = arguments
                    return delay, moment
                raise BookError(f"{self._server.name}: the key {key} is changed too often")
            seen = changed
        self._known.put(host, at + useful_for)
        return answer

    def close(self) -> None:
        """Lets the connection go. Never raises."""
        self._server.close()

    def key(self, host: str) -> str:
        """Where the entry of *host* is."""
        return f"{{{PREFIX}:{self._group}:{host}}}"

    def _entry(self, seen: Seen, key: str, *, is_known: bool) -> Entry:
        """The entry that was *seen* under *key*. *is_known*: there has to be one."""
        entry, is_lost = Entry(), is_known
        if seen.value:
            try:
                *values, process, written_at = json.loads(seen.value)
                entry, is_lost = Entry(*values), process != seen.process.decode()
                entry.move(min(0.0, seen.now - written_at))
            except (ValueError, TypeError) as error:
                raise BookError(
                    f"{self._server.name}: the key {key} is of an older scrapy-robots-plus: end "
                    "the crawls of that version, then delete it, or wait a minute"
                ) from error
        if is_lost:  # nobody knows who has just sent something
            entry.lost_at = seen.now
        return entry
