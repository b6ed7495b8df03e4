from __future__ import annotations

import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from scrapy_robots_plus.storage import SCHEMES, StoreError, check_store_uri, open_store
from scrapy_robots_plus.storage.store import MemoryStore

from .records import origin, rules

if TYPE_CHECKING:
    from pathlib import Path

ACCEPTED = (
    "expected 'memory', 'sqlite:PATH' (sqlite:robots.db, sqlite:/var/lib/robots.db), or a Redis "
    "server: 'redis://HOST:PORT/DB', 'rediss://HOST:PORT/DB' (TLS), 'unix:///PATH'"
)
SLASHES = f"write the path without '//' before it; {ACCEPTED}"


@pytest.mark.parametrize(
    ("uri", "why"),
    [
        *((uri, ACCEPTED) for uri in ("", "Memory", "mysql://user:secret@host/db")),
        *((uri, ACCEPTED) for uri in ("Redis://:secret@host", "robots.db", "/var/robots.db")),
        *((uri, ACCEPTED) for uri in ("memory:", "memory:x", "sqlite::memory:")),
        *((uri, ACCEPTED) for uri in ("sqlite", "sqlite:", "sqlite:  ", "sqlite:a\0b")),
        *((uri, SLASHES) for uri in ("sqlite://robots.db", "sqlite:///robots.db")),
        *((value, ACCEPTED) for value in (None, 7)),
    ],
)
def test_what_names_no_store_is_refused(uri: object, why: str) -> None:
    words = f"^{re.escape(why)}$"
    with pytest.raises(ValueError, match=words):
        check_store_uri(uri)
    with pytest.raises(ValueError, match=words):
        open_store(uri, 10)  # type: ignore[arg-type]


STORES = (
    "memory",
    "sqlite:robots.db",
    "sqlite:/var/lib/my crawls/r.db",
    "redis://crawler:secret@redis.example:6379/0",
    "rediss://redis.example",
    "unix:///run/redis.sock",
)


@pytest.mark.parametrize("uri", STORES)
def test_what_names_a_store_comes_back_as_it_is(uri: str) -> None:
    assert check_store_uri(uri) == uri


def test_these_are_all_schemes() -> None:
    assert {uri.partition(":")[0] for uri in STORES} == set(SCHEMES)


def test_the_check_opens_nothing(tmp_path: Path) -> None:
    check_store_uri(f"sqlite:{tmp_path}/robots.db")
    assert list(tmp_path.iterdir()) == []


def test_memory() -> None:
    assert isinstance(open_store("memory", 10), MemoryStore)


@pytest.mark.parametrize("name", ["robots.db", "with space.db", "a?b#c%20d&e.db", "über:.db"])
@pytest.mark.parametrize("relative", [False, True])
def test_sqlite_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, relative: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / name
    uri = f"sqlite:{name if relative else path}"
    with open_store(uri, 10) as store:
        store.put(rules(1))
        monkeypatch.chdir("/")  # the path is that of the moment it was opened
        store.put(rules(2))
    assert [found.name for found in tmp_path.iterdir()] == [name]
    monkeypatch.chdir(tmp_path)
    with open_store(uri, 10) as store:
        assert store.get(origin(2)) == rules(2)


def test_missing_folders_are_made(tmp_path: Path) -> None:
    with open_store(f"sqlite:{tmp_path}/a/b/robots.db", 10) as store:
        store.put(rules(1))
    assert (tmp_path / "a/b/robots.db").is_file()


def test_a_folder_that_cannot_be_made_is_a_store_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="file"):
        open_store(f"sqlite:{tmp_path}/file/robots.db", 10)


def test_a_store_needs_neither_scrapy_nor_twisted_nor_a_clock() -> None:
    code = (
        "import sys, scrapy_robots_plus.storage as storage\n"
        "loaded = {name.partition('.')[0] for name in sys.modules}\n"
        "assert not loaded & {'scrapy', 'twisted', 'protego'}, loaded\n"
        "assert not any(\n"
        "    hasattr(module, 'time') or hasattr(module, 'datetime')\n"
        "    for name, module in sys.modules.items() if name.startswith(storage.__name__)\n"
        ")\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
