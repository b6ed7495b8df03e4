"""What is said for the first time."""

from __future__ import annotations

from typing import Generic, TypeVar

from scrapy_robots_plus.crawl.recent import Recent

_K = TypeVar("_K")


class News(Generic[_K]):
    """Remembers the last value of each key, for the *size* keys that were looked at last."""

    def __init__(self, size: int) -> None:
        self._last: Recent[_K, int] = Recent(size)

    def is_new(self, key: _K, value: object) -> bool:
        """Whether *value*, which must be hashable, differs from the last one of *key*."""
        digest = hash(value)
        is_new = self._last.get(key) != digest
        self._last.put(key, digest)
        return is_new
