"""What is remembered in bounded memory."""

from __future__ import annotations

from collections import OrderedDict
from typing import TypeVar

_K = TypeVar("_K")
_V = TypeVar("_V")


class Recent(OrderedDict[_K, _V]):
    """The *most* keys that were put last, with their values; those before them are forgotten."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most

    def put(self, key: _K, value: _V) -> None:
        """Keeps *value* as the one that was put last."""
        self[key] = value
        self.move_to_end(key)
        if len(self) > self._most:
            self.popitem(last=False)

    def is_news(self, key: _K, value: _V) -> bool:
        """Whether *value* is not the one that was put last. It is now."""
        is_news = self.get(key) != value
        self.put(key, value)
        return is_news
