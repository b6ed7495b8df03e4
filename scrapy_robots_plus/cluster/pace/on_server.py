"""A pace that is kept on a Redis server, by its clock."""

from __future__ import annotations

from math import isfinite
from pathlib import Path

from scrapy_robots_plus.server import Server, ServerError

from .keeper import PaceError

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

    def ask(self, host: str, ticket: str, delay: float, patience: float | None) -> float:
        may_wait = "" if patience is None else patience
        return float(self._call(host, "ask", ticket, delay, may_wait))

    def left(self, host: str, ticket: str, ago: float, delay: float) -> None:
        self._call(host, "left", ticket, ago, delay)

    def unused(self, host: str, ticket: str, ago: float) -> None:
        self._call(host, "unused", ticket, ago if isfinite(ago) else "")

    def leave_alone(self, host: str, seconds: float) -> None:
        self._call(host, "leave_alone", seconds)

    def close(self) -> None:
        self._server.close()

    def key(self, host: str) -> str:
        """Where the state of *host* is."""
        return f"{{{PREFIX}:{self._group}:{host}}}"

    def _call(self, host: str, *arguments: str | float) -> bytes:
        try:
            answer: bytes = self._script([self.key(host)], [*arguments, self._now()])
        except ServerError as error:
            raise PaceError(str(error)) from None
        return answer

    def _now(self) -> str | float:
        """The time in seconds; empty: the server's."""
        return ""
