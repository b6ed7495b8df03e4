"""Docstrings name things as their modules do; the reference may show them by another name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import public_names

if TYPE_CHECKING:
    from docutils import nodes
    from sphinx.addnodes import pending_xref
    from sphinx.application import Sphinx
    from sphinx.environment import BuildEnvironment


BEFORE_INTERSPHINX = 400
"""A priority among the handlers of ``missing-reference``."""

_ELSEWHERE = {"typing_extensions.Self": "typing.Self"}
"""What Python 3.10 has from another package."""


def resolve(
    app: Sphinx, env: BuildEnvironment, node: pending_xref, content: nodes.Element
) -> nodes.Node | None:
    """A link to where the reference shows what *node* names; None where it does not."""
    if node["refdomain"] != "py":
        return None
    target = node["reftarget"].lstrip(".")
    if target in _ELSEWHERE:  # intersphinx goes on from here
        node["reftype"], node["reftarget"] = "obj", _ELSEWHERE[target]
        return None
    name = shown_as(target) or shown_as(f"{node.get('py:module')}.{target}")
    if name is None:
        return None
    domain = env.get_domain("py")
    # Up to Sphinx 8.1 a name in a signature is taken for a class, and not found if it is an alias.
    return domain.resolve_xref(env, node["refdoc"], app.builder, "obj", name, node, content)


def shown_as(name: str) -> str | None:
    """By which name the reference shows what *name* is, a class, a function or a type."""
    try:
        thing: Any = public_names.find(name)
    except (AttributeError, ModuleNotFoundError):
        return None
    names = (entry.name for entry in public_names.shown())
    return next((each for each in names if public_names.find(each) is thing), None)
