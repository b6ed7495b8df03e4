"""Where records live between crawls. No Scrapy, no Twisted, no clock."""

from .base import Standing, Store, StoreError
from .opening import check_store_uri, open_store

__all__ = ["Standing", "Store", "StoreError", "check_store_uri", "open_store"]
