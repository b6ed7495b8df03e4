"""What a setting may be: each check returns the value to use, or raises ValueError saying what is
accepted.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from math import isfinite
from typing import TYPE_CHECKING, Any

from scrapy_robots_plus.policy.access import StatusTable, status_table
from scrapy_robots_plus.protocol.dialect import Dialect, dialect_named
from scrapy_robots_plus.storage import check_store_uri

if TYPE_CHECKING:
    from enum import Enum

Check = Callable[[Any], Any]
"""Returns the value to use; raises ValueError saying what is accepted."""


def boolean(value: object) -> bool:
    text = str(value).lower()
    if text in ("true", "1"):
        return True
    if text in ("false", "0"):
        return False
    raise ValueError("accepted are True and False")


def boolean_or_none(value: object) -> bool | None:
    return None if value is None or value in ("", "None") else boolean(value)


def number(unit: str, low: float, high: float, why: str = "", *, whole: bool = False) -> Check:
    """A check for a number of *unit* from *low* to *high*; *why* explains the bound."""
    kind = "whole number" if whole else "number"
    accepted = f"accepted is a {kind} of {unit} from {_plain(low)} to {_plain(high)}"
    if why:
        accepted += f" ({why})"

    def check(value: object) -> float | int:
        if isinstance(value, bool) or not isinstance(value, (int, float, str)):
            raise ValueError(accepted)
        try:
            parsed = float(value)
        except (ValueError, OverflowError):
            raise ValueError(accepted) from None
        if not isfinite(parsed) or not low <= parsed <= high:
            raise ValueError(accepted)
        if not whole:
            return parsed
        if parsed != int(parsed):
            raise ValueError(accepted)
        return int(parsed)

    return check


def _plain(bound: float) -> str:
    """A number as people write it: ``:g`` makes ``1e+08`` of a hundred million."""
    return f"{int(bound):,}" if bound == int(bound) else f"{bound:g}"


def one_of(choices: type[Enum]) -> Check:
    def check(value: object) -> Enum:
        try:
            return choices(value)
        except ValueError:
            names = ", ".join(repr(choice.value) for choice in choices)
            raise ValueError(f"accepted are {names}") from None

    return check


def _json_if_text(value: object, opening: str = "{") -> object:
    """Dicts come from ``-s`` and from environment files as JSON, as elsewhere in Scrapy."""
    if isinstance(value, str) and value.lstrip().startswith(opening):
        try:
            return json.loads(value)
        except ValueError as error:
            raise ValueError(f"not JSON: {error}") from None
    return value


def status_policy(value: object) -> StatusTable:
    return status_table(_json_if_text(value))


def string_keyed(value: object) -> Mapping[str, Any]:
    value = _json_if_text(value)
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise ValueError("accepted is a dict whose keys are strings")
    return dict(value)


def headers(value: object) -> Mapping[str, Any]:
    checked = string_keyed(value)
    for name, content in checked.items():
        contents = content if isinstance(content, (list, tuple)) else [content]
        if not all(isinstance(item, (str, bytes)) for item in contents):
            raise ValueError(f"the header {name!r} is neither a string nor a list of strings")
    return checked


def store_uri(value: object) -> str | None:
    return None if value is None or value == "" else check_store_uri(value)


def dialect(value: object) -> Dialect:
    if isinstance(value, Dialect):
        return value
    if not isinstance(value, str):
        raise ValueError("accepted is the name of a dialect or a Dialect")
    return dialect_named(value)


def user_agent(value: object) -> str | tuple[str, ...] | None:
    value = _json_if_text(value, "[")
    if value is None or value == "":
        return None
    if isinstance(value, bytes):
        return value.decode("latin-1")
    if isinstance(value, str):
        return value
    names = tuple(value) if isinstance(value, (list, tuple)) else ()
    if not names or not all(isinstance(name, str) and name.strip() for name in names):
        raise ValueError(
            "accepted is a product token (Foobot) or a User-Agent header, as a string, or a list "
            "of them in order of preference"
        )
    return names
