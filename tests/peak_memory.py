"""The most memory that a command takes, whatever the process of the tests takes itself.

A process begins with the peak of the one that started it (getrusage(2), ``ru_maxrss``): so a small
one stands between.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def measured(command: Sequence[str], target: Path) -> list[str]:
    """A command that runs *command*, and writes its peak to *target*."""
    return [sys.executable, __file__, str(target), *command]


def peak(target: Path) -> int:
    """In octets."""
    return int(target.read_text())


def main() -> int:
    import resource
    import subprocess

    target, *command = sys.argv[1:]
    status = subprocess.run(command, check=False).returncode
    used = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    Path(target).write_text(str(used * (1 if sys.platform == "darwin" else 1_024)))
    return status


if __name__ == "__main__":
    sys.exit(main())
