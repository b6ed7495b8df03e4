"""How many files and sockets the system lets a process open.

The same for all Scrapy versions: what differs is the system, and the reactor.
"""

from __future__ import annotations

from scrapy.utils.reactor import is_reactor_installed


def most_sockets() -> int:
    """How many sockets robots.txt may use: a quarter of the files that may be open."""
    files = _most_files()
    # select() takes no more than 1,024 files, whatever the limit.
    if is_reactor_installed() and "SelectReactor" in type(_reactor()).__name__:
        files = min(files, 1024)
    return max(min(files, 65_536) // 4, 32)


def most_queue_files() -> int:
    """How many files queues may open: five eighths of all; an eighth is left for pages."""
    return _most_files() * 5 // 8


def _most_files() -> int:
    """How many files this process may have open."""
    try:
        import resource  # not on Windows
    except ImportError:
        return 512
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return 1_000_000 if soft == resource.RLIM_INFINITY else soft


def _reactor() -> object:
    from twisted.internet import reactor  # importing it installs one

    return reactor
