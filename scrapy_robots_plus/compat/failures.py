"""Exceptions of download handlers: kinds of failure, and shortages of this machine: open files.

2.14 raises exceptions of Twisted and other libraries; 2.15 and later have their own for each kind.
The lookup by name can go with 2.14, and Twisted's exceptions when all handlers, including those of
other packages, raise Scrapy's.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator
from typing import Any

import scrapy.exceptions
from scrapy.utils.reactor import is_reactor_installed
from twisted.internet import error as tx

from .loops import CANCELLED


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
_CANCELLED: tuple[type[BaseException], ...] = (
    *CANCELLED,
    *_exception_types("DownloadCancelledError"),
)


def kind_of_failure(exception: BaseException, *, headers_received: bool) -> str:
    """What a download handler's *exception* says: ``dns``, ``timeout``, ``cut``, ``connection`` or
    ``error``."""
    if isinstance(exception, _DNS):
        return "dns"
    if isinstance(exception, _TIMEOUT):
        return "timeout"
    if isinstance(exception, _CUT) or (headers_received and _is_connection_loss(exception)):
        return "cut"
    return "connection" if _is_connection_loss(exception) else "error"


def _is_connection_loss(exception: BaseException) -> bool:
    # twisted.web's ResponseFailed wraps what happened; it reaches us as it is in 2.14.
    return isinstance(exception, _CONNECTION) or hasattr(exception, "reasons")


FILES, PORTS, MEMORY = "files", "ports", "memory"
"""What a machine may be short of."""

_SHORTAGES = {
    errno.EMFILE: FILES,
    errno.ENFILE: FILES,
    errno.EADDRNOTAVAIL: PORTS,
    errno.EADDRINUSE: PORTS,
    errno.ENOBUFS: MEMORY,
    errno.ENOMEM: MEMORY,
}


def shortage_in(exception: BaseException) -> str | None:
    """What this machine was short of, if that is why *exception* was raised: no connection could be
    opened. It says nothing about the site.
    """
    for each in _and_its_causes(exception):
        number = getattr(each, "osError", None) or getattr(each, "errno", None)
        # An address that is none of this machine: that of "bindaddress".
        if isinstance(each, tx.ConnectBindError) and number == errno.EADDRNOTAVAIL:
            continue
        if isinstance(number, int) and number in _SHORTAGES:
            return _SHORTAGES[number]
    return None


def is_cancelled(exception: BaseException) -> bool:
    """Whether a download was cancelled, by the fast stop of
    https://github.com/scrapy/scrapy/pull/7455 for example, or because its body was too long.
    """
    return any(isinstance(each, _CANCELLED) for each in _and_its_causes(exception))


def _and_its_causes(exception: BaseException) -> Iterator[BaseException]:
    """*exception*, and what libraries have wrapped in it: a cause, or several."""
    waiting: list[Any] = [exception]
    seen = set[int]()
    while waiting:
        each = waiting.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        yield each
        for name in ("reasons", "exceptions"):  # twisted.web's ResponseFailed, an ExceptionGroup
            wrapped = getattr(each, name, None)
            if isinstance(wrapped, list | tuple):
                waiting += [getattr(one, "value", one) for one in wrapped]
        causes = (each.__cause__, getattr(each, "socketError", None))  # of CannotListenError
        waiting += [cause for cause in causes if isinstance(cause, BaseException)]


_OPEN_FILES = "/proc/self/fd" if sys.platform == "linux" else "/dev/fd"
"""The folder that lists the open files of this process."""


def most_sockets() -> int:
    """How many sockets robots.txt may use: a quarter of the files that may be open."""
    return max(min(most_files(), 65_536) // 4, 32)


def most_files() -> int:
    """How many files this process may have open, and its reactor can watch."""
    # select() takes no more than 1,024 files, whatever the limit.
    if is_reactor_installed():
        from twisted.internet import reactor  # importing it installs one

        if "SelectReactor" in type(reactor).__name__:
            return min(_limit(), 1024)
    return _limit()


def free_files() -> int:
    """How many more files may be opened; :func:`most_files` where the system does not tell.

    Takes time for each open file, but on Linux 6.2 and later, where the folder has their number for
    a size.
    """
    try:
        opened = os.stat(_OPEN_FILES).st_size if sys.platform == "linux" else 0
        return most_files() - (opened or len(os.listdir(_OPEN_FILES)))
    except FileNotFoundError:
        return most_files()
    except OSError:  # it takes a file to look
        return 0


def _limit() -> int:
    try:
        import resource  # not on Windows
    except ImportError:
        return 512
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return 1_000_000 if soft == resource.RLIM_INFINITY else soft
