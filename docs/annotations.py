"""Annotations in the reference become links: each name in them has to be one of its module's."""

from __future__ import annotations

import ast
from pathlib import Path

from .public_names import modules


def make_resolvable() -> None:
    """Gives each module of the package what it imports for the type checker alone."""
    for module in modules():
        for node in ast.parse(Path(str(module.__file__)).read_text()).body:
            if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
                exec(compile(ast.unparse(node.body), str(module.__file__), "exec"), vars(module))
