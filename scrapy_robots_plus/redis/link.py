"""The connection of scrapy-redis's scheduler, for a queue that must not keep a crawl waiting."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from scrapy_robots_plus.storage.redis_server import Server

_THEIR_SECONDS = 30
"""How long scrapy-redis waits for an answer unless ``REDIS_PARAMS`` says otherwise."""
_OURS = ("retry", "retry_on_error", "retry_on_timeout", "decode_responses", "encoding_errors")


class Link(Server):
    """The same server, asked with short waits, and left alone for a while when it is away."""

    for_a_cluster = 'set REDIS_PARAMS = {"redis_cls": "redis.RedisCluster"}'

    def __init__(self, client: Any) -> None:
        super().__init__(_url_of(client))
        self._client = _impatient(client)

    @property
    def client(self) -> Any:
        return self._client


def _impatient(client: Any) -> Any:
    """A client like *client*, which answers with bytes and gives up soon.

    One that was made in an unusual way, such as that of a cluster, is used as it is.
    """
    import redis
    from redis.backoff import NoBackoff
    from redis.retry import Retry

    pool: Any = getattr(client, "connection_pool", None)
    if type(pool) not in (redis.ConnectionPool, redis.BlockingConnectionPool):
        return client
    options = {name: each for name, each in pool.connection_kwargs.items() if name not in _OURS}
    for name in ("socket_timeout", "socket_connect_timeout"):
        if options.get(name) in (None, _THEIR_SECONDS):
            options[name] = 1.0
    options["retry"] = Retry(NoBackoff(), 0)
    own = redis.ConnectionPool(connection_class=pool.connection_class, **options)
    return redis.Redis.from_pool(own)  # which is closed with it


def _url_of(client: Any) -> str:
    """Where *client* connects to, to be named in messages; they show no password."""
    pool = getattr(client, "connection_pool", None)
    options = getattr(pool, "connection_kwargs", {})
    user, password = (quote(str(options.get(name) or ""), "") for name in ("username", "password"))
    who = f"{user}:{password}@" if password else ""
    if "path" in options:
        return f"unix://{who}{options['path']}"
    host = options.get("host", "localhost")
    place = f"[{host}]" if ":" in host else host
    return f"redis://{who}{place}:{options.get('port', 6379)}"
