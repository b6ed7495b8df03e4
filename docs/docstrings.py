"""What the docstring of a public name has to say: types, units, errors raised, what it goes by.

Types and defaults stand in signatures, which the reference shows. A docstring is also the string
below an assignment, as Sphinx has it.
"""

from __future__ import annotations

import ast
import dataclasses
import enum
import inspect
import re
import textwrap
from functools import cache, cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

SOURCE = re.compile(
    r"RFC\s+\d|Scrapy|ROBOTS_|ROBOTSTXT_|urllib|Internet-Draft|PEP \d|robotstxt|\bsettings\b|Google"
    r"|W3C"
)
"""What a name goes by: where that is laid down."""
_UNIT = re.compile(r"\bseconds?\b|\boctets\b|\bbytes\b", re.IGNORECASE)
_SPAN = re.compile(r"\bfloat\b")


def of_class(cls: type) -> str:
    """The docstring of a class, not of what it inherits from, nor one that Python has made up."""
    said = inspect.cleandoc(vars(cls).get("__doc__") or "")
    return "" if said.startswith(f"{cls.__name__}(") else said


def of(owner: type | ModuleType, name: str) -> str:
    """The docstring of what *owner* has by *name*; where it has none, that of a base."""
    for each in inspect.getmro(owner) if isinstance(owner, type) else (owner,):
        function = _function(vars(each).get(name))
        said = below_assignments(each).get(name) or (function and inspect.getdoc(function))
        if said:
            return said
    return ""


def default_of(owner: Any, name: str) -> str | None:
    """That of a field of a value, as one writes it; None where it has none, or None for one."""
    fields = dataclasses.fields(owner) if dataclasses.is_dataclass(owner) else ()
    defaults = {field.name: field.default for field in fields}
    defaults.update(getattr(owner, "_field_defaults", {}))  # of a NamedTuple
    default = defaults.get(name, dataclasses.MISSING)
    if default is None or default is dataclasses.MISSING:
        return None
    return str(default) if isinstance(default, enum.Enum) else repr(default)


def problems_of_class(name: str, cls: type) -> Iterator[str]:
    if not of_class(cls):
        yield f"{name} has no docstring"
    yield from _of_function(f"{name}()", vars(cls).get("__init__"), of_class(cls))


def problems(name: str, owner: type | ModuleType, member: str) -> Iterator[str]:
    """What is missing for *member* of *owner*, which is called *name* in full."""
    said = of(owner, member)
    if not said:
        yield f"{name} has no docstring"
        return
    # What holds for a whole class, such as the unit of all its times, may be said there.
    context = f"{said}\n{of_class(owner)}" if isinstance(owner, type) else said
    function = _function(vars(owner).get(member))
    yield from _of_function(name, function, context)
    annotation = str(getattr(owner, "__annotations__", {}).get(member, ""))
    if not (annotation or member in vars(owner) or ":class:" in said):
        yield f"{name} does not say its type"
    if _SPAN.search(annotation) and not _UNIT.search(context):
        yield f"{name} has no unit"


def _of_function(name: str, function: Any, said: str) -> Iterator[str]:
    if not inspect.isfunction(function) or function.__code__.co_filename.startswith("<"):
        return  # not written by anybody: of a dataclass
    for error in _raised(function):
        if error not in said:
            yield f"{name} raises {error} and does not say so"
    parameters = list(inspect.signature(function).parameters.values())
    for parameter in parameters[1:] if "." in function.__qualname__ else parameters:
        if parameter.annotation is parameter.empty:
            yield f"{name} does not say the type of {parameter.name}"
    annotations = " ".join(map(str, function.__annotations__.values()))
    if _SPAN.search(annotations) and not _UNIT.search(said):
        yield f"{name} has no unit"


def _function(value: Any) -> Any:
    """The function behind a method, a property or the like; None for other things."""
    if isinstance(value, property):
        return value.fget
    if isinstance(value, cached_property):
        return value.func
    if isinstance(value, (staticmethod, classmethod)):
        return value.__func__
    return value if inspect.isfunction(value) else None


def _raised(function: Any) -> set[str]:
    """The names of the exceptions that *function* itself raises."""
    nodes = ast.walk(ast.parse(textwrap.dedent(inspect.getsource(function))))
    raised = [node.exc for node in nodes if isinstance(node, ast.Raise)]
    called = [error.func for error in raised if isinstance(error, ast.Call)]
    return {each.id for each in (*called, *raised) if isinstance(each, ast.Name)} - {"error"}


@cache
def below_assignments(owner: type | ModuleType) -> dict[str, str]:
    """The strings below assignments in a class, to attributes in its ``__init__``, in a module."""
    try:
        tree: Any = ast.parse(textwrap.dedent(inspect.getsource(owner)))
    except (OSError, TypeError):  # of the interpreter
        return {}
    body = tree.body[0].body if isinstance(owner, type) else tree.body
    made = [each for each in body if getattr(each, "name", "") == "__init__"]
    bodies = [body, *(each.body for each in made)]
    return {name: said for each in bodies for name, said in _pairs(each)}


def _pairs(body: list[ast.stmt]) -> Iterator[tuple[str, str]]:
    for assignment, below in pairwise(body):
        if isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant):
            targets = getattr(assignment, "targets", [getattr(assignment, "target", None)])
            for target in targets:
                name = getattr(target, "id", None) or getattr(target, "attr", None)
                if name is not None:
                    yield name, inspect.cleandoc(str(below.value.value))
