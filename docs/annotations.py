"""Annotations in the reference become links: each name in them has to be one of its module's."""

from __future__ import annotations

import ast
import inspect
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, get_type_hints

from .public_names import modules

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FunctionType, ModuleType


def make_resolvable() -> None:
    """Gives each module of the package what it imports for the type checker alone: twice, since
    that may be what another module has for the type checker alone."""
    for module in modules():
        with suppress(ImportError):
            _run_for_the_type_checker(module)
    for module in modules():
        _run_for_the_type_checker(module)


def _run_for_the_type_checker(module: ModuleType) -> None:
    for node in ast.parse(Path(str(module.__file__)).read_text()).body:
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            exec(compile(ast.unparse(node.body), str(module.__file__), "exec"), vars(module))


def unresolved() -> list[str]:
    """Which functions have an annotation with a name that their module does not have."""
    return [why for module in modules() for each in _functions(module) if (why := _why(each))]


def _why(function: FunctionType) -> str:
    try:
        get_type_hints(function)
    except NameError as error:
        return f"{function.__module__}.{function.__qualname__}: {error}"
    except TypeError:  # array[int] is a type from Python 3.12 on
        pass
    return ""


def _functions(module: ModuleType) -> Iterator[FunctionType]:
    """Those whose code is in *module*, and of its classes."""
    for thing in [*vars(module).values()]:
        for member in vars(thing).values() if isinstance(thing, type) else (thing,):
            of_property = getattr(member, "fget", None) or member
            function = getattr(of_property, "__func__", of_property)
            if inspect.isfunction(function) and function.__code__.co_filename == module.__file__:
                yield function
