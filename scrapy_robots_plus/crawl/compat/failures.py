"""What a download handler raises, as a kind of failure.

2.14 raises Twisted's exceptions and those of other libraries; 2.15 and later have their own for
each kind. Looking for names can go with 2.14, Twisted's exceptions when all handlers, also those of
other packages, raise Scrapy's.
"""

from __future__ import annotations

import scrapy.exceptions
from twisted.internet import error as tx

from scrapy_robots_plus.policy.access import Failure


def _exception_types(*names: str) -> tuple[type[Exception], ...]:
    """Those of the exceptions of ``scrapy.exceptions`` that this version has: all from 2.15."""
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
    """What kind of failure a download handler's *exception* is."""
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
