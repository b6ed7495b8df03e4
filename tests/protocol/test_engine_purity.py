"""The engine is pure: it imports neither Scrapy nor Twisted, nor anything that knows the time."""

from __future__ import annotations

import subprocess
import sys

PROBE = """
import sys
import scrapy_robots_plus.protocol
found = {name.partition(".")[0] for name in sys.modules}
print(sorted(found & {"scrapy", "twisted", "socket", "asyncio", "ssl", "selectors", "protego"}))
"""


def test_importing_the_protocol_imports_neither_scrapy_nor_twisted() -> None:
    done = subprocess.run([sys.executable, "-c", PROBE], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
