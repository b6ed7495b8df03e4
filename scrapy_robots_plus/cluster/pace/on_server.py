"""A pace that is kept on a Redis server, by its clock."""

from __future__ import annotations

import time
from math import inf, isfinite
from pathlib import Path

from scrapy_robots_plus.server import Server, ServerError

from .hosts import LEAST
from .keeper import PaceError
from .turns import REMEMBERED

PREFIX = "robots:pace"
"""A key is ``{robots:pace:GROUP:HOST}``, all of it its hash tag. It expires when it is no
longer needed."""


class PaceOnServer:
    """See :class:`.PaceKeeper`. All crawls with the same *group* keep one pace."""

    def __init__(self, url: str, group: str) -> None:
        """*url*: as :func:`~scrapy_robots_plus.server.check_redis_url` accepts it."""
        self._server = Server(url)
        self._script = self._server.script(Path(__file__).with_name("turns.lua"))
        self._group = group
        self._known: dict[str, float] = {}
        """Until when the server surely has the state of a host, unless it lost it."""

    def ask(self, host: str, ticket: str, delay: float, patience: float | None) -> float:
        may_wait = "" if patience is None else patience
        wait = float(self._call(host, "ask", ticket, delay, may_wait))
        if not wait and patience is not None:
            self._note(host, 0.0)
        return wait

    def left(self, host: str, ticket: str, ago: float, delay: float) -> None:
        self._call(host, "left", ticket, ago, delay)
        self._note(host, ago)

    def unused(self, host: str, ticket: str, ago: float) -> None:
        self._call(host, "unused", ticket, ago if isfinite(ago) else "")
        self._known.pop(host, None)

    def leave_alone(self, host: str, seconds: float) -> None:
        self._call(host, "leave_alone", seconds)

    def close(self) -> None:
        self._server.close()

    def key(self, host: str) -> str:
        """Where the state of *host* is."""
        return f"{{{PREFIX}:{self._group}:{host}}}"

    def _call(self, host: str, *arguments: str | float) -> bytes:
        is_known = int(self._moment() < self._known.get(host, -inf))
        try:
            answer: bytes = self._script([self.key(host)], [*arguments, is_known, self._now()])
        except ServerError as error:
            raise PaceError(str(error)) from None
        return answer

    def _note(self, host: str, ago: float) -> None:
        """Something left *ago* seconds ago, so that the state is kept for REMEMBERED from then."""
        now = self._moment()
        if len(self._known) >= LEAST:
            self._known = {each: until for each, until in self._known.items() if now < until}
        self._known[host] = now - max(0.0, ago) + 0.9 * REMEMBERED

    def _moment(self) -> float:
        return float(self._now() or time.monotonic())

    def _now(self) -> str | float:
        """The time in seconds; empty: the server's."""
        return ""
