"""The Redis server that several crawls share. No Scrapy, no Twisted."""

from .connection import MissingRedisError, Script, Server, ServerAwayError, ServerError, connect
from .url import check_redis_url, hidden

__all__ = [
    "MissingRedisError",
    "Script",
    "Server",
    "ServerAwayError",
    "ServerError",
    "check_redis_url",
    "connect",
    "hidden",
]
