"""The memory that a command takes, whatever the process of the tests takes itself.

A fork begins with what the process has that it is forked from: what counts is by how much it grows.
"""

from __future__ import annotations

import sys

from scrapy.cmdline import execute

GROWING = f"{__name__}:main"
"""What a fork may run."""


def main() -> None:
    """Runs ``scrapy``, and prints at the end the octets by which its memory has grown at most."""
    before = peak()
    try:
        execute()
    finally:
        print(peak() - before)


def peak() -> int:
    import resource

    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return used * (1 if sys.platform == "darwin" else 1_024)
