"""The book that crawls share on a Redis server, by the server's clock."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

from scrapy_robots_plus.crawl.recent import Recent
from scrapy_robots_plus.storage.redis_server import Seen, Server

from .book import BookError, Entry

PREFIX = "robots:pace"
"""The prefix in each key, ``{robots:pace:GROUP:HOST}``, all of which is a hash tag. Keys expire
when they are no longer needed."""
MOST = 10_000
"""How many hosts, the latest ones, are remembered as having an entry on the server."""
LEFT_ALONE = 1.0
"""Maximum seconds for which a server that does not answer is left alone: once it is back, crawls
keep no pace together until all of them ask it again."""
LONGEST = 5.0
"""Seconds for which writing an entry that others change meanwhile is tried again: the crawl's
questions about other hosts wait behind it."""
SPARE = 10.0
"""Seconds for which the server keeps an entry longer than a crawl expects: an answer may take a
while, and the server's clock may be faster."""


class BookOnServer:
    """A :class:`.Book` on a server, shared by all crawls with the same *group*.

    A key holds a JSON list: the values of an :class:`.Entry`, the server process that wrote it,
    and the time of writing.
    """

    def __init__(
        self, url: str, group: str, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        """Takes *url* as :func:`~scrapy_robots_plus.storage.redis_url.check_redis_url` does."""
        self._server = Server(url, longest_pause=LEFT_ALONE)
        self._group = group
        self._monotonic = monotonic
        self._known: Recent[str, float] = Recent(MOST)
        """The time until which the server must have an entry, unless it lost it; by host."""

    def change(self, host: str, event: str, *arguments: Any) -> Any:
        """Does what :meth:`.Book.change` says. May raise :class:`.ServerError`, too."""
        at, key = self._monotonic(), self.key(host)
        seen = self._server.look(key)
        while True:
            entry = self._entry(seen, key, is_known=at < self._known.get(host, 0.0))
            before = entry.values
            answer = getattr(entry, event)(seen.now, *arguments)
            useful_for = entry.useful_until - seen.now
            if seen.value and entry.values == before and entry.lost_at < seen.now:
                break  # nothing to write: others need not look again
            values = [*entry.values, seen.process.decode(), seen.now] if useful_for > 0 else None
            new = json.dumps(values).encode() if values else b""
            changed = self._server.swap(key, seen.value, new, useful_for + SPARE, though_full=True)
            if changed is None:
                break
            if self._monotonic() > at + LONGEST:
                if event == "ask":  # many crawls ask: going regardless would break their delays
                    _, delay, _, moment = arguments
                    return delay, moment
                raise BookError(f"{self._server.name}: other crawls keep changing the key {key}")
            seen = changed
        self._known.put(host, at + useful_for)
        return answer

    def close(self) -> None:
        """Closes the connection. Never raises."""
        self._server.close()

    def key(self, host: str) -> str:
        """Returns the key of the entry of *host*."""
        return f"{{{PREFIX}:{self._group}:{host}}}"

    def _entry(self, seen: Seen, key: str, *, is_known: bool) -> Entry:
        """Returns the entry *seen* under *key*. *is_known*: there must be one, or it was lost."""
        entry, is_lost = Entry(), is_known
        if seen.value:
            try:
                *values, process, written_at = json.loads(seen.value)
                # It is "" for a user who may not ask, which counts as the same.
                known = {process, seen.process.decode()} - {""}
                entry, is_lost = Entry(*values), len(known) > 1
                entry.move(min(0.0, seen.now - written_at))
            except (ValueError, TypeError) as error:
                raise BookError(
                    f"{self._server.name}: the key {key} was written by another version of "
                    "scrapy-robots-plus: end the crawls of that version, then delete it, or wait a "
                    "minute"
                ) from error
        if is_lost:  # nobody knows who has just sent a request
            entry.lost_at = seen.now
        return entry
