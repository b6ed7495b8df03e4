"""The book that a Redis server keeps, by its clock."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from scrapy_robots_plus.storage.redis_server import Server

PREFIX = "robots:pace"
"""A key is ``{robots:pace:GROUP:HOST}``, all of it its hash tag. It expires when it is no
longer needed."""
EXPECTED_FOR = 54.0
"""Seconds after a request for which the server has an entry, unless it lost it; it keeps it a
little longer."""
LEAST = 1_000
"""Of up to this many hosts is remembered that the server has an entry, without checking."""


class BookOnServer:
    """All crawls with the same *group* share the book."""

    def __init__(self, url: str, group: str) -> None:
        """*url*: as :func:`~scrapy_robots_plus.storage.redis_url.check_redis_url` accepts it."""
        self._server = Server(url)
        self._script = self._server.script(Path(__file__).with_name("book.lua"))
        self._group = group
        self._known: dict[str, float] = {}
        """Until when the server surely has the entry of a host, unless it lost it."""

    def change(self, host: str, event: str, *arguments: Any) -> Any:
        """Like :meth:`.Book.change`. Raises :class:`.ServerError`."""
        at = float(self._now() or time.monotonic())
        is_known = int(at < self._known.get(host, 0.0))
        told = ["" if each is None else each for each in arguments]
        wait, moment = self._script([self.key(host)], [event, *told, is_known, self._now()])
        if event == "ask" and not moment:
            self._note(host, at)
        elif event == "left":
            self._note(host, at - max(0.0, arguments[1]))
        elif event == "unused":
            self._known.pop(host, None)
        return (float(wait), float(moment) if moment else None) if event == "ask" else None

    def close(self) -> None:
        """Lets the connection go. Never raises."""
        self._server.close()

    def key(self, host: str) -> str:
        """Where the entry of *host* is."""
        return f"{{{PREFIX}:{self._group}:{host}}}"

    def _note(self, host: str, left_at: float) -> None:
        if len(self._known) >= LEAST:
            self._known = {each: until for each, until in self._known.items() if left_at < until}
        self._known[host] = left_at + EXPECTED_FOR

    def _now(self) -> float | str:
        """The time in seconds; empty: the server's."""
        return ""
