"""The scopes of a throttler, as the slots that they replace.

Needed by the throttler of https://github.com/scrapy/scrapy/pull/6931, in which ``Downloader.slots``
are views that warn. When all versions have it, those who ask for slots can ask it.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scrapy import Request


def throttler_of(downloader: Any) -> Any:
    """``crawler.throttler``; None in versions without one."""
    return getattr(getattr(downloader, "crawler", None), "throttler", None)


class Scope:
    """What a request's throttling scopes say together: what a ``Slot`` does, in its words."""

    queue = ()
    """What waits for a scope has not reached the downloader."""

    def __init__(self, key: str, downloader: Any) -> None:
        """*key*: what ``throttler.get_scopes_key()`` returned; empty for no scope."""
        self._throttler = throttler = throttler_of(downloader)
        names: list[str] = json.loads(key) if key.startswith("[") else [key] if key else []
        self._scopes = [(name, throttler.get_scope_manager(name)) for name in names]
        self.active: set[Request] = downloader.active
        """All that the downloader has: whoever asks looks for one request."""
        self.transferring = _Places(downloader, throttler, self._scopes)

    @property
    def concurrency(self) -> int:
        """How many requests may be under way; 0 for no limit, as in a slot."""
        return min((scope.get_concurrency() for _, scope in self._scopes), default=0)

    @property
    def delay(self) -> float:
        return max((scope.get_base_delay() for _, scope in self._scopes), default=0.0)

    @property
    def jitter(self) -> float:
        usual = self._throttler.crawler.settings.getfloat("DOWNLOAD_DELAY_JITTER")
        return max((getattr(scope, "_jitter", usual) for _, scope in self._scopes), default=0.0)

    @property
    def lastseen(self) -> float:
        """When it has let the last request go, as far as known."""
        return max(
            (getattr(scope, "_last_seen", None) or 0.0 for _, scope in self._scopes), default=0.0
        )

    def free_transfer_slots(self) -> int:
        return int(all(self._throttler.get_scope_load(name) < 1 for name, _ in self._scopes))


class _Places:
    """The requests that download handlers have, and their places in the scopes."""

    def __init__(self, downloader: Any, throttler: Any, scopes: list[tuple[str, Any]]) -> None:
        self._downloader = downloader
        self._throttler = throttler
        self._scopes = scopes

    def __contains__(self, request: Request) -> bool:
        return request in self._downloader._in_download_handler  # noqa: SLF001

    def remove(self, request: Request) -> None:
        """Others of its scopes may go in its place."""
        self._throttler.release(request)

    def add(self, request: Request) -> None:
        """It has a place again, until it ends. Scrapy has no public name for taking one without
        waiting: a throttler of another kind counts the request no more.
        """
        reserve = getattr(self._throttler, "_record_reservation", None)
        if reserve is not None:
            reserve(request, self._scopes)
