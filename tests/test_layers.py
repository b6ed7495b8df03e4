"""How the package is laid out: who may import whom, and how much a folder holds."""

from __future__ import annotations

import fnmatch
import re
import subprocess
import sys
from collections import defaultdict
from graphlib import CycleError, TopologicalSorter
from itertools import chain
from os.path import commonpath
from pathlib import Path

import pytest

from docs.rooms import (
    FLOORS,
    GRAPH,
    IMPORTS,
    MODULES,
    PACKAGE,
    ROOT,
    arrows,
    floor_of,
    home_of,
    imported_by,
    room_of,
)

MOST_ARROWS = 60
"""Pairs of rooms of which one imports from the other."""


def _levels() -> dict[str, dict[str, set[str]]]:
    levels: defaultdict[str, defaultdict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for module, imported in GRAPH.items():
        for other in imported:
            paths = MODULES[module], MODULES[other]
            folder = Path(commonpath(paths))
            if folder != ROOT / PACKAGE:  # the floors say more
                here, there = (path.relative_to(folder).parts[0] for path in paths)
                levels[str(folder.relative_to(ROOT))][here].add(there)
    return {folder: dict(level) for folder, level in levels.items()}


LEVELS = _levels()
"""For each folder, which of its files and folders import which others of them."""


def circle_in(graph: dict[str, set[str]]) -> list[str]:
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_a_room_imports_only_from_those_below_it() -> None:
    up = {
        (module.removeprefix(f"{PACKAGE}."), room_of(other))
        for module, imported in GRAPH.items()
        for other in imported
        if floor_of(other) < floor_of(module)
    }
    assert up == set()


def test_there_are_few_arrows_between_rooms() -> None:
    assert len(arrows()) <= MOST_ARROWS


def test_each_floor_is_there() -> None:
    assert {room_of(module) for module in MODULES if floor_of(module) >= 0} == set(FLOORS)


def test_the_files_that_a_folder_names_are_in_it() -> None:
    folders = [path.parent for path in (ROOT / PACKAGE).rglob("__init__.py")]
    named = {
        each: re.findall(r"``(\w+\.(?:py|lua|sql))``", (each / "__init__.py").read_text())
        for each in folders
    }
    assert sum(map(len, named.values())) > 20
    gone = [
        f"{each.name}/{name}"
        for each in folders
        for name in named[each]
        if not (each / name).exists()
    ]
    assert gone == []


@pytest.mark.parametrize("folder", sorted(LEVELS))
def test_there_is_no_circle_between_the_files_and_folders_of_a_folder(folder: str) -> None:
    """Nor between files anywhere: a circle of files is one in the folder that holds them all."""
    assert circle_in(LEVELS[folder]) == []


def test_contributing_says_what_each_folder_is_for() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text()
    for folder in (".", "protocol"):
        names = [path.parent.name for path in (ROOT / PACKAGE / folder).glob("*/__init__.py")]
        assert len(names) >= 3
        assert [name for name in names if f"`{name}`" not in text] == []


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "docs/internals/queue.md"])
def test_the_files_that_a_page_for_contributors_names_are_there(page: str) -> None:
    """A name without a folder is one of the room that was named last, or at the top."""
    named, gone, room = 0, [], ""
    for name in re.findall(r"`([\w./-]+)`", (ROOT / page).read_text()):
        if name in FLOORS and (ROOT / PACKAGE / name).is_dir():
            room = name
        elif re.fullmatch(r"(?:[\w.-]+/)+[\w-]+\.\w+|\w+\.(?:py|sql|lua|md)", name):
            named += 1
            places = (ROOT, ROOT / PACKAGE, ROOT / PACKAGE / room)
            gone += [name] if not any((place / name).exists() for place in places) else []
    assert named > 20
    assert gone == []


@pytest.mark.parametrize(
    "code",
    [
        "from scrapy_robots_plus.requests.judge import Tally",
        "from scrapy_robots_plus.requests import judge",
        "from scrapy_robots_plus.requests.judge import *",
        "import scrapy_robots_plus.requests.judge",
        "import scrapy_robots_plus.requests.judge as counts",
        "from .judge import Judge",
        "from . import judge as counts",
        "from ..requests.judge import Tally",
        "from ..requests import judge",
        "from ...scrapy_robots_plus.requests import judge",
        "if TYPE_CHECKING:\n    from .judge import Judge",
        "def later():\n    import scrapy_robots_plus.requests.judge",
    ],
)
def test_every_form_of_import_is_seen(code: str) -> None:
    names = imported_by(code, f"{PACKAGE}.requests")
    assert {home_of(name) for name in names} == {f"{PACKAGE}.requests.judge"}


def test_crawl_imports_nothing_by_a_name_in_a_string() -> None:
    """The tests above would not see it."""
    by_name = ("import_module", "__import__")
    for module, path in MODULES.items():
        if floor_of(module) >= 0:
            assert not [word for word in by_name if word in path.read_text()], module


PURE = (
    *("audit.[!cr]*", "audit.chain", "audit.report*"),
    *("hosts.book*", "hosts.departures", "hosts.discovery", "hosts.host", "hosts.pace"),
    "hosts.throttle",
    *("job.file", "job.fingerprints", "job.mending", "job.reading", "job.recent_steps"),
    *("job.requests_in_file", "job.schema"),
    *("origins.freshness", "origins.judging"),
    "protocol*",
    "redis.host_queue",
    *("settings.all_settings", "settings.host_patterns", "settings.override"),
    "storage*",
)
"""What can be used, and is tested, without a crawl."""


def test_what_needs_no_crawl_imports_neither_scrapy_nor_twisted() -> None:
    found = {pattern: fnmatch.filter(MODULES, f"{PACKAGE}.{pattern}") for pattern in PURE}
    assert [pattern for pattern, modules in found.items() if not modules] == []
    code = f"""
import importlib, sys
for name in {[*chain.from_iterable(found.values())]!r}:
    importlib.import_module(name)
    if not sys.modules.keys().isdisjoint(["scrapy", "twisted", "asyncio"]):
        sys.exit(name)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, stderr=subprocess.PIPE, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_private_names_of_scrapy_are_used_in_compat_alone() -> None:
    marked = [path for path in MODULES.values() if "SLF001" in path.read_text()]  # ruff passes them
    assert {path.parent.name for path in marked} == {"compat"}


def test_a_crawl_has_its_time_from_one_clock() -> None:
    system = {"time", "time.time", "time.monotonic", "scrapy.utils.asyncio.call_later"}
    rooms = {*FLOORS[FLOORS.index("extension") : FLOORS.index("storage")]} - {"audit"}
    without = (
        "crawl.clock",
        "settings.robots_settings",
        "hosts.book_on_server",
        "hosts.book_in_file",
    )
    clocks = {f"{PACKAGE}.{each}" for each in without}
    modules = [
        module
        for module in {*MODULES} - clocks
        if room_of(module) in rooms or module.startswith(f"{PACKAGE}.audit.recorde")
    ]
    assert len(modules) > 30
    assert [module for module in modules if IMPORTS[module] & system] == []
