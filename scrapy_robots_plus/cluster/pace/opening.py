"""Opens the pace that ``ROBOTS_SHARED_PACE`` names, if processes share it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from scrapy_robots_plus.server import check_redis_url
from scrapy_robots_plus.storage import check_sqlite_uri

from .in_file import PaceInFile
from .on_server import PaceOnServer

if TYPE_CHECKING:
    from .keeper import PaceKeeper

PROCESS = "process"
OFF = "off"
FILE = "sqlite:"
SERVERS = ("redis:", "rediss:", "unix:")

EXPECTED = (
    "expected 'process', 'off', 'sqlite:PATH' (sqlite:pace.db, sqlite:/var/lib/pace.db) or the URL "
    "of a Redis server (redis://127.0.0.1:6379/0)"
)


def check_pace(value: object) -> str:
    """*value*, with a word in lower case, if ``ROBOTS_SHARED_PACE`` may be it. Opens nothing.

    Raises ValueError saying what is accepted, which shows no password.
    """
    if isinstance(value, str):
        if value.lower() in (PROCESS, OFF):
            return value.lower()
        if value.startswith(FILE):
            return check_sqlite_uri(value, EXPECTED)
        if value.startswith(SERVERS):
            return check_redis_url(value)
    raise ValueError(EXPECTED)


def open_keeper(value: str, group: str) -> PaceKeeper | None:
    """What keeps the pace of the crawls in *group*; None if no other process shares it."""
    if value.startswith(FILE):
        return PaceInFile(Path(value.removeprefix(FILE)), group)
    if value.startswith(SERVERS):
        return PaceOnServer(value, group)
    return None
