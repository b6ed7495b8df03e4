"""Which room of the package imports which, and a picture of it for docs/internals/rooms.md.

``python -m docs.tables`` draws it; tests/test_layers.py says what may not be.
"""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGE = "scrapy_robots_plus"

FLOORS = (
    "commands",
    "addon",
    "extension",
    "report",
    "audit",
    "redis",
    "requests",
    "pages",
    "hosts",
    "job",
    "origins",
    "crawl",
    "settings",
    "storage",
    "compat",
    "protocol",
    "whole_file",
    "_version",
)
"""The rooms, from top to bottom. What is on no floor, such as testing.py, is above them all."""


def module_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_of(path): path for path in sorted((ROOT / PACKAGE).rglob("*.py"))}


def imported_by(code: str, package: str) -> set[str]:
    """Full names of all that *code*, of a module in *package*, imports: anywhere, in any form."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package.split(".")[: len(package.split(".")) - node.level + 1]
            module = ".".join([*(base if node.level else []), *filter(None, [node.module])])
            found.update(f"{module}.{alias.name}" for alias in node.names)
    return found


def home_of(name: str) -> str | None:
    """The module of the package that the full *name* is, or is defined in."""
    while name and name not in MODULES:
        name = name.rpartition(".")[0]
    return name or None


def _imports(module: str) -> set[str]:
    path = MODULES[module]
    package = module if path.stem == "__init__" else module.rpartition(".")[0]
    return imported_by(path.read_text(), package)


def _graph() -> dict[str, set[str]]:
    graph = {}
    for module, names in IMPORTS.items():
        homes = {home_of(name) for name in names}
        graph[module] = {home for home in homes if home is not None and home != module}
    return graph


IMPORTS = {module: _imports(module) for module in MODULES}
"""All that each module imports."""
GRAPH = _graph()
"""Which modules of the package each of them imports."""


def room_of(module: str) -> str:
    return module.removeprefix(f"{PACKAGE}.").partition(".")[0]


def floor_of(module: str) -> int:
    """The number of its floor, from the top; -1 above them all."""
    room = room_of(module)
    return FLOORS.index(room) if room in FLOORS else -1


def arrows() -> set[tuple[str, str]]:
    """Folders of the package, each with one that a file in it imports from."""
    folders = {path.parent.name for path in (ROOT / PACKAGE).glob("*/__init__.py")}
    pairs = {
        (room_of(module), room_of(other))
        for module, imported in GRAPH.items()
        for other in imported
    }
    return {(one, other) for one, other in pairs if one != other and {one, other} <= folders}


def picture() -> str:
    """A row for each room, with an x for each of the rooms below it that it imports from."""
    found = arrows()
    rooms = [room for room in FLOORS if any(room in pair for pair in found)]
    width = max(map(len, rooms))
    lines = []
    for number, room in enumerate(rooms, 1):
        marks = ("x" if (above, room) in found else "." for above in rooms[: number - 1])
        lines.append(f"{number:2} {room:{width}}  {'  '.join(marks)}".rstrip())
    head = " " * (width + 5) + "".join(f"{number:<3}" for number in range(1, len(rooms))).rstrip()
    return "\n".join(["```text", head, *lines, "```", "", f"{len(found)} arrows."])
