"""The Redis server that several crawls share. No Scrapy, no Twisted."""

from .url import check_redis_url as check_redis_url
from .url import hidden as hidden
from .url import without_password as without_password
