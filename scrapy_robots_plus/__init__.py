"""Makes a Scrapy crawler obey robots.txt for real.

The public names are loaded when they are first used, so that importing
:mod:`scrapy_robots_plus.protocol` imports neither Scrapy nor Twisted.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from ._version import __version__

if TYPE_CHECKING:
    from .protocol.verdict import Reason, Verdict

_HOMES = {
    "Reason": "protocol.verdict",
    "Verdict": "protocol.verdict",
}

__all__ = ["Reason", "Verdict", "__version__"]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_HOMES[name]}", __name__), name)


def __dir__() -> list[str]:
    return sorted(__all__)
