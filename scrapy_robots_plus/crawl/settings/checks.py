"""What a setting may be: each check returns the value to use, or raises ValueError saying what is
expected.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from functools import partial
from math import isfinite
from typing import TYPE_CHECKING, Any, TypeVar

from scrapy_robots_plus.policy.access import StatusTable, status_table
from scrapy_robots_plus.protocol.dialect import Dialect, dialect_named
from scrapy_robots_plus.storage import check_store_uri

if TYPE_CHECKING:
    from enum import Enum

_T = TypeVar("_T")
_E = TypeVar("_E", bound="Enum")

Check = Callable[[object], _T]
"""Returns the value to use; raises ValueError saying what is expected."""


def boolean(value: object) -> bool:
    text = str(value).lower()
    if text in ("true", "1"):
        return True
    if text in ("false", "0"):
        return False
    raise ValueError("expected True or False")


def boolean_or_none(value: object) -> bool | None:
    unset = value is None or (isinstance(value, str) and value.lower() in ("", "none"))
    return None if unset else boolean(value)


def number(unit: str, low: float, high: float, why: str = "") -> Check[float]:
    """A check for a number of *unit* between *low* and *high*; *why* explains the bound."""
    return partial(_number, low=low, high=high, expected=_expected("number", unit, low, high, why))


def whole_number(unit: str, low: int, high: int, why: str = "") -> Check[int]:
    """As :func:`number`, without a fraction."""
    expected = _expected("whole number", unit, low, high, why)

    def check(value: object) -> int:
        parsed = _number(value, low, high, expected)
        if parsed != int(parsed):
            raise ValueError(expected)
        return int(parsed)

    return check


def _number(value: object, low: float, high: float, expected: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise ValueError(expected)
    try:
        parsed = float(value)
    except (ValueError, OverflowError):
        raise ValueError(expected) from None
    if not isfinite(parsed) or not low <= parsed <= high:
        raise ValueError(expected)
    return parsed


def _expected(kind: str, unit: str, low: float, high: float, why: str) -> str:
    bounds = f"expected a {kind} of {unit} between {_plain(low)} and {_plain(high)}"
    return f"{bounds} ({why})" if why else bounds


def or_unset(check: Check[_T]) -> Check[_T | None]:
    """As *check*, and None where there is no value."""
    return lambda value: None if value is None or value == "" else check(value)


def _plain(bound: float) -> str:
    """A number as people write it: ``:g`` makes ``1e+08`` of a hundred million."""
    return f"{int(bound):,}" if bound == int(bound) else f"{bound:g}"


def one_of(choices: type[_E]) -> Check[_E]:
    """A check for one of the values of an enumeration of strings, in any case."""
    by_name = {str(choice.value): choice for choice in choices}
    *others, last = map(repr, by_name)
    expected = f"expected {', '.join(others)} or {last}"

    def check(value: object) -> _E:
        if isinstance(value, choices):
            return value
        if not isinstance(value, str) or value.lower() not in by_name:
            raise ValueError(expected)
        return by_name[value.lower()]

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
        raise ValueError("expected a dict whose keys are strings")
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
        raise ValueError("expected the name of a dialect or a Dialect")
    return dialect_named(value)


_LIST_OF_NAMES = re.compile(r"[\w.-]+(/[\w.-]+)?(\s*,\s*[\w.-]+(/[\w.-]+)?)+")
"""``Foobot,Barbot``: no User-Agent header looks so, but lists on Scrapy's command line do."""


def user_agent(value: object) -> str | tuple[str, ...] | None:
    value = _json_if_text(value, "[")
    if value is None or value == "":
        return None
    if isinstance(value, bytes):
        value = value.decode("latin-1")
    if isinstance(value, str):
        names = value.split(",") if _LIST_OF_NAMES.fullmatch(value.strip()) else ()
        return tuple(name.strip() for name in names) or value
    names = tuple(value) if isinstance(value, (list, tuple)) else ()
    if not names or not all(isinstance(name, str) and name.strip() for name in names):
        raise ValueError(
            "expected a product token (Foobot) or a User-Agent header, as a string, or a list of "
            "them in order of preference"
        )
    return names
