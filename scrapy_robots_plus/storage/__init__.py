"""Where records live between crawls. No Scrapy, no Twisted, no clock.

A new kind of store begins in ``open_by_scheme.py``.
"""

from .open_by_scheme import check_store_uri, open_store
from .record import Standing, StoreError
from .store import Scanned, Store

__all__ = ["Scanned", "Standing", "Store", "StoreError", "check_store_uri", "open_store"]
