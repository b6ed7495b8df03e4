"""Dialects in JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from enum import Enum
from typing import Any

from scrapy_robots_plus.protocol.dialect import RFC9309, Dialect, dialect_named


def dialect_to_json(dialect: Dialect) -> dict[str, Any]:
    """All fields of *dialect*."""
    values = {each.name: getattr(dialect, each.name) for each in fields(dialect)}
    return {name: each.value if isinstance(each, Enum) else each for name, each in values.items()}


def dialect_from_json(value: str | Mapping[str, Any]) -> Dialect:
    """The dialect with these fields, or with this name. Raises ValueError if there is none.

    Fields that are missing are as in RFC 9309: an older version did not have them.
    """
    if isinstance(value, str):
        return dialect_named(value)
    if not isinstance(value, Mapping):
        raise ValueError(f"{value!r:.100} is not a dialect")
    found: dict[str, Any] = {"name": str(value.get("name", "of one's own"))}
    for each in fields(Dialect):
        default = getattr(RFC9309, each.name)
        if each.name not in value or each.name == "name":
            continue
        kind = type(default)
        given = value[each.name]
        if not (isinstance(default, Enum) or isinstance(given, kind) or given is None):
            raise ValueError(f"{each.name!r} of the dialect is {given!r:.100}")
        found[each.name] = kind(given) if isinstance(default, Enum) else given
    return Dialect(**found)
