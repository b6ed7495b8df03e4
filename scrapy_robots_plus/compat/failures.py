"""Exceptions of download handlers, by kind of failure; shortages of this machine; open files.

Scrapy 2.14 raises exceptions of Twisted and other libraries; 2.15 and later have their own for each
kind. Remove the lookup by name with 2.14, and Twisted's exceptions when all handlers, including
those of other packages, raise Scrapy's.
"""

from __future__ import annotations

import errno
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import scrapy.exceptions
from scrapy.utils.reactor import is_reactor_installed
from twisted.internet import error as tx

from .loops import CANCELLED


def _types(*types: type[BaseException], scrapys: str) -> tuple[type[BaseException], ...]:
    """Returns *types* and, from Scrapy 2.15 on, the one that its exceptions call *scrapys*."""
    found = getattr(scrapy.exceptions, scrapys, None)
    return types if found is None else (*types, found)


_DNS = _types(tx.DNSLookupError, scrapys="CannotResolveHostError")
_TIMEOUT = _types(TimeoutError, tx.TimeoutError, scrapys="DownloadTimeoutError")
_CUT = _types(scrapys="ResponseDataLossError")
_REFUSED = _types(OSError, tx.ConnectError, scrapys="DownloadConnectionRefusedError")
_CONNECTION = _types(*_REFUSED, tx.ConnectionClosed, scrapys="DownloadFailedError")
_CANCELLED = _types(*CANCELLED, scrapys="DownloadCancelledError")


def kind_of_failure(exception: BaseException, *, headers_received: bool) -> str:
    """Returns the kind of failure: ``dns``, ``timeout``, ``cut``, ``connection`` or ``error``.

    *exception* comes from a download handler.
    """
    if isinstance(exception, _DNS):
        return "dns"
    if isinstance(exception, _TIMEOUT):
        return "timeout"
    # twisted.web's ResponseFailed wraps what happened; Scrapy 2.14 raises it as it is. A proxy may
    # have opened no tunnel: that exception of Scrapy's is a plain one, in a module of a handler.
    is_lost = isinstance(exception, _CONNECTION) or hasattr(exception, "reasons")
    is_lost = is_lost or type(exception).__name__ == "TunnelError"
    if isinstance(exception, _CUT) or (headers_received and is_lost):
        return "cut"
    return "connection" if is_lost else "error"


FILES, PORTS, MEMORY = "files", "ports", "memory"
"""What a machine may be short of: open files, local ports, memory."""

_SHORTAGES = {
    errno.EMFILE: FILES,
    errno.ENFILE: FILES,
    errno.EADDRNOTAVAIL: PORTS,
    errno.EADDRINUSE: PORTS,
    errno.ENOBUFS: MEMORY,
    errno.ENOMEM: MEMORY,
}


_SYSTEM = Path("/proc")


def shortage_in(exception: BaseException) -> str | None:
    """Returns what this machine was short of if that is why *exception* was raised, else None.

    No connection could be opened, which says nothing about the site.
    """
    for each in _and_its_causes(exception):
        number = getattr(each, "osError", None) or getattr(each, "errno", None)
        # Not a shortage: "bindaddress" is no address of this machine, or it has none for IPv6.
        is_bound = isinstance(each, tx.ConnectBindError)
        if number == errno.EADDRNOTAVAIL and (is_bound or not _ports_may_be_short()):
            continue
        if isinstance(number, int) and number in _SHORTAGES:
            return _SHORTAGES[number]
    return None


def _ports_may_be_short() -> bool:
    """Returns whether half of the local ports are in use, or the system does not tell (Linux)."""
    ports = _SYSTEM / "sys/net/ipv4"
    try:
        lowest, highest = map(int, (ports / "ip_local_port_range").read_text().split())
        has_reserved = (ports / "ip_local_reserved_ports").read_text().strip()
        sockets = "".join(each.read_text() for each in (_SYSTEM / "self/net").glob("sockstat*"))
    except (OSError, ValueError):
        return True
    # Those of a closed connection are in use (tw) for another minute.
    used = [int(number) for number in re.findall(r"(?:TCP6?: inuse| tw) (\d+)", sockets)]
    return bool(has_reserved) or not used or sum(used) >= (highest - lowest) // 2


def is_cancelled(exception: BaseException) -> bool:
    """Returns whether a download was cancelled.

    The reason may be the fast stop of https://github.com/scrapy/scrapy/pull/7455, for example, or a
    body that was too long.
    """
    return any(isinstance(each, _CANCELLED) for each in _and_its_causes(exception))


def _and_its_causes(exception: BaseException) -> Iterator[BaseException]:
    """Yields *exception*, and the causes that libraries have wrapped in it."""
    found: list[Any] = [exception]
    for each in found:  # which grows
        # Scrapy's H2DownloadHandler wraps a mere text in a Failure when a site resets a stream.
        if not isinstance(each, BaseException):
            continue
        yield each
        causes = [each.__cause__, getattr(each, "socketError", None)]  # of CannotListenError
        for name in ("reasons", "exceptions"):  # twisted.web's ResponseFailed, an ExceptionGroup
            wrapped = getattr(each, name, None)
            if isinstance(wrapped, list | tuple):
                causes += [getattr(one, "value", one) for one in wrapped]
        found += [one for one in causes if one not in found]


_OPEN_FILES = "/proc/self/fd" if sys.platform == "linux" else "/dev/fd"
"""The folder that lists the open files of this process."""


def most_sockets() -> int:
    """Returns how many sockets robots.txt may use: a quarter of the files that may be open."""
    return max(min(most_files(), 65_536) // 4, 32)


def most_files() -> int:
    """Returns how many files this process may have open and its reactor can watch."""
    try:
        import resource

        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        most = 1_000_000 if soft == resource.RLIM_INFINITY else soft
    except ImportError:  # on Windows
        most = 512
    # select() takes no more than 1,024 files, whatever the limit.
    if is_reactor_installed():
        from twisted.internet import reactor  # importing it installs one

        if "SelectReactor" in type(reactor).__name__:
            most = min(most, 1024)
    return most


def free_files() -> int:
    """Returns how many more files may be opened; :func:`most_files` if the system does not tell.

    Takes time for each open file, except on Linux 6.2 and later, where the size of the folder is
    their number.
    """
    try:
        opened = os.stat(_OPEN_FILES).st_size if sys.platform == "linux" else 0
        return most_files() - (opened or len(os.listdir(_OPEN_FILES)))
    except FileNotFoundError:
        return most_files()
    except OSError:  # listing the folder takes a file, and none is free
        return 0
