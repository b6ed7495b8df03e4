"""All mutants of a file: mutmut's operators, and two more, also where a module defines its tables.

mutmut itself mutates the bodies of functions alone; half of what a robots.txt means is in tables.
"""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import libcst as cst
from libcst import matchers as m
from libcst.metadata import MetadataWrapper, PositionProvider
from mutmut.mutation.mutators import mutation_operators

from .parts import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

Operator: TypeAlias = "Callable[[Any], Iterable[cst.CSTNode]]"


def return_nothing(node: cst.Return) -> Iterator[cst.Return]:
    """None is as little a yes as False."""
    if node.value is not None and not m.matches(node.value, m.Name("None") | m.Name("False")):
        yield node.with_changes(value=None)


def negate(node: cst.If | cst.While) -> Iterator[cst.CSTNode]:
    if isinstance(node.test, (cst.Name, cst.Attribute, cst.Call)):
        yield node.with_changes(test=cst.UnaryOperation(cst.Not(), node.test))


OPERATORS: list[tuple[type, Operator]] = [
    *mutation_operators,
    (cst.Return, return_nothing),
    (cst.If, negate),
    (cst.While, negate),
]

_SQL = (
    "SELECT|FROM|WHERE|AND|ORDER|INSERT|REPLACE|UPDATE|DELETE|PRAGMA|BEGIN|COMMIT|ROLLBACK|VACUUM"
)
_SYNONYM = re.compile(
    r"\bFalse\b|(\\x[0-9a-fA-F]{2}|(?<=['\"])(?:UTF-8|UTF-16|ISO-8859-1|(?i:COMMIT|ROLLBACK)|\(?(?i:"
    + _SQL
    + r") [^'\"]*)(?=['\"]))"
)

NO_BEHAVIOUR = (
    m.Annotation()
    | m.Decorator()
    | m.Import()
    | m.ImportFrom()
    | m.Expr(m.SimpleString())
    | m.If(test=m.Name("TYPE_CHECKING"))
    | m.Assign(value=m.Call(func=m.Name("TypeVar")))
    | m.AnnAssign(annotation=m.Annotation(m.Name("TypeAlias")))
    | m.Assign(targets=[m.AssignTarget(m.Name("__all__") | m.Name("__slots__"))])
)
"""Types, docstrings, and what only saves memory."""

CAST = m.Call(func=m.Name("cast"))
IN_ANY_CASE = m.Call(
    args=[
        m.ZeroOrMore(),
        m.Arg(m.MatchIfTrue(lambda value: "IGNORECASE" in cst.Module([]).code_for_node(value))),
    ]
)
"""Of a pattern."""


@dataclass(frozen=True)
class Mutant:
    """The *number*-th change that *operator* makes of *node*, at *lines* of the file at *path*."""

    path: Path
    node: cst.CSTNode
    operator: Operator
    number: int
    lines: range
    """Those of the statement, without its block."""

    @cached_property
    def text(self) -> str:
        changed = next(islice(self.operator(self.node), self.number, None))
        module = parsed(self.path).module.deep_replace(self.node, changed)
        return cast("cst.Module", module).code

    @cached_property
    def diff(self) -> tuple[tuple[int, str, str], ...]:
        """Of each changed stretch its first line's number, its lines before, and those after."""
        before, after = source(self.path).splitlines(), self.text.splitlines()
        matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
        return tuple(
            (i1 + 1, stripped(before[i1:i2]), stripped(after[j1:j2]))
            for tag, i1, i2, j1, j2 in matcher.get_opcodes()
            if tag != "equal"
        )

    @property
    def before(self) -> str:
        return "\n".join(before for _, before, _ in self.diff)

    @property
    def after(self) -> str:
        return "\n".join(after for _, _, after in self.diff)

    def __str__(self) -> str:
        lines = [f"{self.path}:{self.lines.start}"]
        for _, before, after in self.diff:
            lines += [f"  - {line}" for line in before.splitlines()]
            lines += [f"  + {line}" for line in after.splitlines()]
        return "\n".join(lines)


def means_the_same(node: cst.CSTNode, changed: cst.CSTNode, *, in_any_case: bool) -> bool:
    """Whether only a False became None, which is a no as well, or SQL, the name of a codec or an
    escape changed case."""
    before, after = (cst.Module([]).code_for_node(each) for each in (node, changed))
    if in_any_case and before.lower() == after.lower():
        return True
    return _SYNONYM.sub(_one_form, before) == _SYNONYM.sub(_one_form, after)


def _one_form(match: re.Match[str]) -> str:
    return match[1].lower() if match[1] else "None"


def stripped(lines: list[str]) -> str:
    return "\n".join(line.strip() for line in lines)


@cache
def source(path: Path) -> str:
    return (ROOT / path).read_text()


@cache
def parsed(path: Path) -> MetadataWrapper:
    return MetadataWrapper(cst.parse_module(source(path)), unsafe_skip_copy=True)


def mutants_of(path: Path) -> list[Mutant]:
    wrapper = parsed(path)
    finder = Finder(path)
    wrapper.visit(finder)
    return finder.found


class Finder(cst.CSTVisitor):
    """Collects the mutants of a file."""

    METADATA_DEPENDENCIES = (PositionProvider,)

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        self.found: list[Mutant] = []
        self.statements: list[range] = []
        self.calls_in_any_case = 0

    def on_visit(self, node: cst.CSTNode) -> bool:
        if m.matches(node, NO_BEHAVIOUR):
            return False
        if m.matches(node, CAST):  # its type means nothing when it runs
            cast("cst.Call", node).args[1].visit(self)
            return False
        if isinstance(node, (cst.BaseStatement, cst.BaseSmallStatement)):
            self.statements.append(self.lines_of(node))
        self.calls_in_any_case += m.matches(node, IN_ANY_CASE)
        for kind, operator in OPERATORS:
            if isinstance(node, kind):
                self.add(node, operator)
        return True

    def on_leave(self, original_node: cst.CSTNode) -> None:
        if m.matches(original_node, NO_BEHAVIOUR):
            return
        self.calls_in_any_case -= m.matches(original_node, IN_ANY_CASE)
        if isinstance(original_node, (cst.BaseStatement, cst.BaseSmallStatement)):
            self.statements.pop()

    def add(self, node: cst.CSTNode, operator: Operator) -> None:
        lines = self.statements[-1] if self.statements else range(1, 2)
        for number, changed in enumerate(operator(node)):
            in_any_case = self.calls_in_any_case and isinstance(node, cst.SimpleString)
            if not means_the_same(node, changed, in_any_case=bool(in_any_case)):
                self.found.append(Mutant(self.path, node, operator, number, lines))

    def lines_of(self, node: cst.CSTNode) -> range:
        place = self.get_metadata(PositionProvider, node)
        block = getattr(node, "body", None)
        if isinstance(block, cst.BaseSuite):
            block_place = self.get_metadata(PositionProvider, block)
            return range(place.start.line, max(block_place.start.line, place.start.line + 1))
        return range(place.start.line, place.end.line + 1)
