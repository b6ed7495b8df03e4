"""The stores that keep records. They use no Scrapy, no Twisted and no wall clock.

To add a kind of store, start in ``open_by_scheme.py``.
"""

from .open_by_scheme import check_store_uri, open_store
from .record import Standing, StoreError
from .store import Scanned, Store

__all__ = ["Scanned", "Standing", "Store", "StoreError", "check_store_uri", "open_store"]
