"""What is said for the first time."""

from __future__ import annotations

from collections import OrderedDict
from typing import Generic, TypeVar

_K = TypeVar("_K")


class News(Generic[_K]):
    """Remembers the last value of each key, for the *size* keys that were looked at last."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._last: OrderedDict[_K, int] = OrderedDict()

    def is_new(self, key: _K, value: object) -> bool:
        """Whether *value*, which must be hashable, differs from the last one of *key*."""
        digest = hash(value)
        is_new = self._last.get(key) != digest
        self._last[key] = digest
        self._last.move_to_end(key)
        if len(self._last) > self._size:
            self._last.popitem(last=False)
        return is_new
