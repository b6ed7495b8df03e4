"""Who may fetch a robots.txt: one worker at a time, of all that use the same Redis server.

A lease is a key that expires by itself, so that a worker that is killed keeps nobody from fetching
for longer than that (https://redis.io/docs/latest/commands/set/, "Patterns").
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from redis import Redis

    from scrapy_robots_plus.protocol.origin import Origin
    from scrapy_robots_plus.storage.redis_server import Server


class Leases:
    """The leases of files, by origin. Each is held by a *token*, which no other holder has.

    All methods raise :class:`~scrapy_robots_plus.redis.ServerError` if the server does not do what
    it is asked. A lease that was taken although the answer was lost expires like any other.
    """

    def __init__(self, server: Server, seconds: float) -> None:
        """*seconds*: how long a lease lasts that is not released."""
        self._server = server
        self._milliseconds = max(1, round(seconds * 1000))

    def take(self, origin: Origin, token: bytes) -> bytes | None:
        """Takes the lease of *origin*, if it is free. The token of its holder afterwards, or None
        if it was just released by another.
        """
        key = _key(origin)

        def ask(client: Redis) -> bytes | None:
            pipeline = client.pipeline(transaction=False)
            pipeline.set(key, token, nx=True, px=self._milliseconds)
            pipeline.get(key)
            return cast("bytes | None", pipeline.execute()[1])

        return self._server.run(ask)

    def holder(self, origin: Origin) -> bytes | None:
        """The token of whoever holds the lease of *origin*; None if it is free."""
        key = _key(origin)
        return self._server.run(lambda client: cast("bytes | None", client.get(key)))

    def release(self, origin: Origin, token: bytes) -> bool:
        """Gives up the lease of *origin*, if *token* still holds it; whether it did."""
        return self._server.swap(_key(origin), token, b"")


def _key(origin: Origin) -> str:
    return f"{{robots:{origin}}}:lease"
