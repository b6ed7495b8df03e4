"""How many files and sockets the system lets a process open, and how many are open.

The same for all Scrapy versions: what differs is the system, and the reactor.
"""

from __future__ import annotations

import os
import sys

from scrapy.utils.reactor import is_reactor_installed

_OPEN_FILES = "/proc/self/fd" if sys.platform == "linux" else "/dev/fd"
"""The folder that lists the open files of this process."""


def most_sockets() -> int:
    """How many sockets robots.txt may use: a quarter of the files that may be open."""
    return max(min(most_files(), 65_536) // 4, 32)


def most_queue_files() -> int:
    """How many files queues may open: five eighths of all; an eighth is left for pages."""
    return _limit() * 5 // 8


def most_files() -> int:
    """How many files this process may have open, and its reactor can watch."""
    # select() takes no more than 1,024 files, whatever the limit.
    if is_reactor_installed() and "SelectReactor" in type(_reactor()).__name__:
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


def _reactor() -> object:
    from twisted.internet import reactor  # importing it installs one

    return reactor
