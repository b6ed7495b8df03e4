"""Where records live between crawls. No Scrapy, no Twisted, no clock."""

from .base import Scanned, Standing, Store, StoreDamagedError, StoreError, StoreReader
from .opening import check_sqlite_uri as check_sqlite_uri
from .opening import check_store_uri, open_reader, open_store
from .opening import shown as shown

__all__ = [
    "Scanned",
    "Standing",
    "Store",
    "StoreDamagedError",
    "StoreError",
    "StoreReader",
    "check_store_uri",
    "open_reader",
    "open_store",
]
