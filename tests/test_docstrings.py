"""Docstrings begin with a verb, as Scrapy's do, and can be read without what stands beside them."""

from __future__ import annotations

import ast
import re
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import scrapy_robots_plus

if TYPE_CHECKING:
    from collections.abc import Iterator

PACKAGE = Path(scrapy_robots_plus.__file__).parent
NO_VERBS = {
    *("Always", "As", "Bytes", "Hosts", "Its", "Keys", "Lines", "Names", "Others", "Perhaps"),
    *("Requests", "Rules", "Seconds", "These", "This", "Those"),
}
"""Words that end like a verb."""
LEAN_ON_OTHERS = re.compile(
    r"(?:Also|And|Both|It|Likewise|Nobody|None|Not|Nothing|Of|Others|Same|That|The same|Those|"
    r"Whoever)\b(?!-)"
)
"""How a text begins that says something only beside another one."""
EXEMPT = {"Of URLs that a site's Clean-param lines call equal"}


def is_attribute(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return any("property" in ast.dump(each) for each in function.decorator_list)


def without_expressions(node: ast.AST) -> Iterator[ast.AST]:
    """*node* and all in it, but for what has no docstring and is most of it."""
    yield node
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.expr):
            yield from without_expressions(child)


def docstrings(tree: ast.Module) -> Iterator[tuple[int, bool, str]]:
    """The line of each, whether it is that of a function, and its text."""
    for node in without_expressions(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Module)):
            is_function = not isinstance(node, (ast.ClassDef, ast.Module)) and not is_attribute(
                node
            )
            if said := ast.get_docstring(node):
                yield getattr(node, "lineno", 1), is_function, said
        body = getattr(node, "body", ())
        for assignment, below in pairwise(body if isinstance(body, list) else ()):
            if (
                isinstance(assignment, (ast.Assign, ast.AnnAssign))
                and isinstance(below, ast.Expr)
                and isinstance(below.value, ast.Constant)
            ):
                yield below.lineno, False, str(below.value.value)


def faults(code: str) -> list[tuple[int, str]]:
    found = []
    for line, is_function, said in docstrings(ast.parse(code)):
        first = said.split(maxsplit=1)[0].rstrip(".,:;")
        is_verb = first == "See" or (re.fullmatch("[A-Z][a-z]+s", first) and first not in NO_VERBS)
        leans = LEAN_ON_OTHERS.match(said) and not any(said.startswith(each) for each in EXEMPT)
        if leans or (is_function and not is_verb):
            found.append((line, said.splitlines()[0]))
    return found


def test_docstrings_begin_with_a_verb_and_stand_alone() -> None:
    found = {path: faults(path.read_text()) for path in PACKAGE.rglob("*.py")}
    assert len(found) > 100
    assert {path: wrong for path, wrong in found.items() if wrong} == {}


@pytest.mark.parametrize(
    "code",
    [
        'def first():\n    """The first of them."""',
        'def first():\n    """*name* is the first."""',
        'def first():\n    """Whether it is the first."""',
        'def both():\n    """Seconds until the next."""',
        'async def both():\n    """Return them."""',
        'class Both:\n    """The same of two."""',
        'MOST = 5\n"""Of those, so many."""',
        'class Both:\n    @property\n    def second(self):\n        """Likewise."""',
        '"""That of the others."""',
    ],
)
def test_a_docstring_that_does_not_is_found(code: str) -> None:
    assert len(faults(code)) == 1


@pytest.mark.parametrize(
    "code",
    [
        'def first():\n    """Returns the first of *names*."""',
        'class Both:\n    @property\n    def second(self):\n        """The second of two."""',
        'MOST = 5\n"""The number of hosts."""',
    ],
)
def test_others_are_fine(code: str) -> None:
    assert faults(code) == []
