"""A mapping that takes bounded memory."""

from __future__ import annotations

from collections import OrderedDict
from typing import TypeVar

_K = TypeVar("_K")
_V = TypeVar("_V")


class Recent(OrderedDict[_K, _V]):
    """A mapping of the *most* keys that were put last; older ones are forgotten."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most

    def put(self, key: _K, value: _V) -> None:
        """Stores *value* under *key*, which is now the key that was put last."""
        self[key] = value
        self.move_to_end(key)
        if len(self) > self._most:
            self.popitem(last=False)

    def put_if_new(self, key: _K, value: _V) -> bool:
        """Stores *value*; returns whether *key* had another value before, or none."""
        is_news = self.get(key) != value
        self.put(key, value)
        return is_news
