"""The Redis server that several crawls share. No Scrapy, no Twisted."""

from .connection import MissingRedisError as MissingRedisError
from .connection import Script as Script
from .connection import Server as Server
from .connection import ServerAwayError as ServerAwayError
from .connection import ServerError as ServerError
from .connection import connect as connect
from .url import check_redis_url as check_redis_url
from .url import hidden as hidden
from .url import without_password as without_password
