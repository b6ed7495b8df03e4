"""Exceptions of download handlers, as kinds of failure.

2.14 raises exceptions of Twisted and other libraries; 2.15 and later have their own for each kind.
The lookup by name can go with 2.14, and Twisted's exceptions when all handlers, including those of
other packages, raise Scrapy's.
"""

from __future__ import annotations

import scrapy.exceptions
from twisted.internet import error as tx

from scrapy_robots_plus.policy.access import Failure


def _exception_types(*names: str) -> tuple[type[Exception], ...]:
    """The named exceptions that ``scrapy.exceptions`` has in this version: all from 2.15 on."""
    found = (getattr(scrapy.exceptions, name, None) for name in names)
    return tuple(kind for kind in found if kind is not None)


_TIMEOUT: tuple[type[Exception], ...] = (
    TimeoutError,
    tx.TimeoutError,
    *_exception_types("DownloadTimeoutError"),
)
_DNS: tuple[type[Exception], ...] = (tx.DNSLookupError, *_exception_types("CannotResolveHostError"))
_CUT = _exception_types("ResponseDataLossError")
_CONNECTION: tuple[type[Exception], ...] = (
    OSError,
    tx.ConnectError,
    tx.ConnectionClosed,
    *_exception_types("DownloadConnectionRefusedError", "DownloadFailedError"),
)


def failure_of(exception: BaseException, *, headers_received: bool) -> Failure:
    """The kind of failure of a download handler's *exception*."""
    if isinstance(exception, _DNS):
        return Failure.DNS
    if isinstance(exception, _TIMEOUT):
        return Failure.TIMEOUT
    if isinstance(exception, _CUT) or (headers_received and _is_connection_loss(exception)):
        return Failure.CUT
    return Failure.CONNECTION if _is_connection_loss(exception) else Failure.ERROR


def _is_connection_loss(exception: BaseException) -> bool:
    # twisted.web's ResponseFailed wraps what happened; it reaches us as it is in 2.14.
    return isinstance(exception, _CONNECTION) or hasattr(exception, "reasons")
