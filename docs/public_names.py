"""Every public name is in the reference, with a docstring that says what a user needs.

Public is what a module lists in ``__all__``, and the members that the reference shows of a class.
Both the build and a test ask for :func:`problems`; neither Sphinx nor a network is needed.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import scrapy_robots_plus

from . import docstrings

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

PAGES = Path(__file__).parent / "api"
_DIRECTIVE = re.compile(r"^\.\. auto(\w+):: (\S+)\n((?: +:.*\n)*)", re.MULTILINE)
_MEMBERS = re.compile(r"^ +:members:(.*)$", re.MULTILINE)


class Entry(NamedTuple):
    """A name that the reference shows."""

    kind: str
    """``class``, ``function``, ``data``, ``module``, ..."""
    name: str
    members: tuple[str, ...]


def modules() -> list[ModuleType]:
    """All of the package."""
    found = pkgutil.walk_packages(scrapy_robots_plus.__path__, "scrapy_robots_plus.")
    return [scrapy_robots_plus, *(importlib.import_module(each.name) for each in found)]


def public() -> list[str]:
    """Full names, each as its module lists it."""
    lists = {each.__name__: getattr(each, "__all__", ()) for each in modules()}
    return [f"{module}.{name}" for module, names in lists.items() for name in names]


def entries(text: str) -> Iterator[Entry]:
    """What *text*, a page of the reference, shows."""
    for kind, name, options in _DIRECTIVE.findall(text):
        asked = _MEMBERS.search(options)
        members = () if asked is None else _listed(asked[1]) or _all_members(find(name))
        yield Entry(kind, name, members)


def _listed(members: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in members.split(",") if name.strip())


def _all_members(of: Any) -> tuple[str, ...]:
    names = {**vars(of), **getattr(of, "__annotations__", {})}
    return tuple(name for name in names if not name.startswith("_"))


def find(name: str) -> Any:
    """What *name* names: a module, or something in one, or in a class."""
    parts = name.split(".")
    for end in range(len(parts), 0, -1):
        try:
            found: Any = importlib.import_module(".".join(parts[:end]))
        except ModuleNotFoundError:
            continue
        for part in parts[end:]:
            found = getattr(found, part)
        return found
    raise ModuleNotFoundError(name)


def home_of(name: str, thing: Any) -> tuple[ModuleType, str]:
    """The module that defines what others list as *name*, and its name there."""
    parent, _, short = name.rpartition(".")
    if callable(thing) and hasattr(thing, "__name__"):
        return importlib.import_module(thing.__module__), thing.__name__
    for module in modules():
        if short in docstrings.below_assignments(module) and vars(module)[short] is thing:
            return module, short
    return importlib.import_module(parent), short


def shown() -> list[Entry]:
    """What all pages of the reference show."""
    pages = sorted(PAGES.glob("*.md"))
    return [entry for page in pages for entry in entries(page.read_text())]


def undocumented(names: list[str], in_reference: list[Entry]) -> list[str]:
    """Those of *names* that the reference does not show, be it under another name.

    What is only handed on from elsewhere, as by ``robotparser``, is documented there.
    """
    listed = {entry.name for entry in in_reference}
    found = [find(name) for name in listed]
    things = {id(each) for each in found if callable(each)}
    return [
        name
        for name in names
        if name not in listed and id(find(name)) not in things and _is_ours(find(name))
    ]


def _is_ours(thing: Any) -> bool:
    home = getattr(thing, "__module__", scrapy_robots_plus.__name__)
    return home.partition(".")[0] == scrapy_robots_plus.__name__


def problems() -> list[str]:
    """What is wrong, a line each."""
    reference = shown()
    missing = undocumented(public(), reference)
    found = [f"{name} is public and not in docs/api" for name in missing]
    for entry in reference:
        if entry.kind != "module":
            found += problems_of(entry)
    return found


def problems_of(entry: Entry) -> Iterator[str]:
    """What the docstrings of one name and its members do not say."""
    thing = find(entry.name)
    if isinstance(thing, type):
        said = [docstrings.of_class(thing)]
        yield from docstrings.problems_of_class(entry.name, thing)
    else:
        home, name = home_of(entry.name, thing)
        said = [docstrings.of(home, name)]
        yield from docstrings.problems(entry.name, home, name)
    for member in entry.members:
        said.append(docstrings.of(thing, member))
        yield from docstrings.problems(f"{entry.name}.{member}", thing, member)
    if not docstrings.SOURCE.search("\n".join(said)):
        yield f"{entry.name} does not say what it goes by: an RFC, a setting, Scrapy, ..."
