"""Who may fetch a file: one crawl at a time, of all that fetch for each other.

A lease expires by itself, so that a crawl that is killed or stuck keeps nobody from fetching for
longer than that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from collections.abc import Callable

    from redis import Redis

    from scrapy_robots_plus.protocol.origin import Origin
    from scrapy_robots_plus.storage.redis_server import Server


class Leases:
    """The leases of files, by origin, in memory. Each is held by a *token*, which no other holder
    has.
    """

    is_shared = False
    """Whether another crawl may hold one of them."""

    def __init__(self, seconds: float, now: Callable[[], float]) -> None:
        """*seconds*: how long a lease lasts that is not released, by the clock *now*."""
        self._seconds = seconds
        self._now = now
        self._held: dict[Origin, tuple[bytes, float]] = {}
        """Tokens, and until when they hold."""

    def take(self, origin: Origin, token: bytes) -> bytes | None:
        """Takes the lease of *origin*, if it is free. The token of its holder afterwards, or None
        if it was just released by another.
        """
        held = self.holder(origin)
        if held is None:
            self._held[origin] = token, self._now() + self._seconds
        return held or token

    def holder(self, origin: Origin) -> bytes | None:
        """The token of whoever holds the lease of *origin*; None if it is free."""
        token, until = self._held.get(origin, (None, 0.0))
        return token if self._now() < until else None

    def release(self, origin: Origin, token: bytes) -> bool:
        """Gives up the lease of *origin*, if *token* still holds it; whether it did."""
        held = self._held.get(origin, (None, 0.0))[0] == token
        if held:
            del self._held[origin]
        return held


class LeasesOnServer(Leases):
    """The same on a Redis server: keys that expire
    (https://redis.io/docs/latest/commands/set/, "Patterns").

    All methods raise :class:`~scrapy_robots_plus.redis.ServerError` if the server does not do what
    it is asked. A lease that was taken although the answer was lost expires like any other.
    """

    is_shared = True

    def __init__(self, server: Server, seconds: float) -> None:
        self._server = server
        self._milliseconds = max(1, round(seconds * 1000))

    def take(self, origin: Origin, token: bytes) -> bytes | None:
        key = _key(origin)

        def ask(client: Redis) -> bytes | None:
            pipeline = client.pipeline(transaction=False)
            pipeline.set(key, token, nx=True, px=self._milliseconds)
            pipeline.get(key)
            return cast("bytes | None", pipeline.execute()[1])

        return self._server.run(ask)

    def holder(self, origin: Origin) -> bytes | None:
        key = _key(origin)
        return self._server.run(lambda client: cast("bytes | None", client.get(key)))

    def release(self, origin: Origin, token: bytes) -> bool:
        return self._server.swap(_key(origin), token, b"") is None


def _key(origin: Origin) -> str:
    return f"{{robots:{origin}}}:lease"
