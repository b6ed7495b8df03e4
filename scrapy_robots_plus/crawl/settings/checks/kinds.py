"""Kinds of values that any setting may have: booleans, numbers, strings, choices, dicts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from math import isfinite
from typing import TYPE_CHECKING, Any, TypeVar

from scrapy_robots_plus.crawl.settings.setting import Check
from scrapy_robots_plus.protocol.rfc9309 import EXPIRY

if TYPE_CHECKING:
    from enum import Enum

_W = TypeVar("_W")
_T = TypeVar("_T")
_E = TypeVar("_E", bound="Enum")

DAY = EXPIRY
FOREVER = 10 * 365 * 86_400.0


def _boolean(value: object) -> bool:
    text = str(value).lower()
    if text in ("true", "1"):
        return True
    if text in ("false", "0"):
        return False
    raise ValueError("expected True or False")


def _boolean_or_none(value: object) -> bool | None:
    unset = value is None or (isinstance(value, str) and value.lower() in ("", "none"))
    return None if unset else _boolean(value)


def _text(value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError("expected a text that is not empty")
    return value


text: Check[str, str] = Check("a string", _text)
boolean: Check[bool, bool] = Check("`True` or `False`", _boolean)
boolean_or_none: Check[bool | None, bool | None] = Check(
    "`True`, `False` or `None`", _boolean_or_none
)


def number(unit: str, low: float, high: float, why: str = "") -> Check[float, float]:
    """A check for a number of *unit* between *low* and *high*; *why* explains the bound."""
    words = f"number of {unit} between {_plain(low)} and {_plain(high)}"
    read = partial(_number, low=low, high=high, expected=_expected(words, why))
    return Check(f"a {words}", read, unit)


def whole_number(unit: str, low: int, high: int, why: str = "") -> Check[int, int]:
    """Like :func:`number`, without a fraction."""
    words = f"whole number of {unit} between {_plain(low)} and {_plain(high)}"
    expected = _expected(words, why)

    def read(value: object) -> int:
        parsed = _number(value, low, high, expected)
        if parsed != int(parsed):
            raise ValueError(expected)
        return int(parsed)

    return Check(f"a {words}", read, unit)


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


def _expected(words: str, why: str) -> str:
    return f"expected a {words} ({why})" if why else f"expected a {words}"


def or_unset(check: Check[_W, _T]) -> Check[_W | None, _T | None]:
    """Like *check*; None if there is no value."""

    def read(value: object) -> _T | None:
        return None if value is None or value == "" else check.read(value)

    return Check(f"{check.type}, or `None`", read, check.unit)


def _plain(bound: float) -> str:
    """A number as people write it: ``:g`` would write a hundred million as ``1e+08``."""
    return f"{int(bound):,}" if bound == int(bound) else f"{bound:g}"


def one_of(choices: type[_E]) -> Check[str, _E]:
    """A check for the values of an enumeration of strings, in any case."""
    by_name = {str(choice.value): choice for choice in choices}
    *others, last = map(repr, by_name)
    words = f"{', '.join(others)} or {last}"

    def read(value: object) -> _E:
        if isinstance(value, choices):
            return value
        if not isinstance(value, str) or value.lower() not in by_name:
            raise ValueError(f"expected {words}")
        return by_name[value.lower()]

    return Check(words.replace("'", "`"), read)


def json_if_text(value: object, opening: str = "{") -> object:
    """Dicts come from ``-s`` and from environment files as JSON, as elsewhere in Scrapy."""
    if isinstance(value, str) and value.lstrip().startswith(opening):
        try:
            return json.loads(value)
        except ValueError as error:
            raise ValueError(f"not valid JSON: {error}") from None
    return value


def _string_keyed(value: object) -> Mapping[str, Any]:
    value = json_if_text(value)
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise ValueError("expected a dict whose keys are strings")
    return dict(value)


string_keyed: Check[Mapping[str, Any], Mapping[str, Any]] = Check(
    "a dict whose keys are strings", _string_keyed
)


def _headers(value: object) -> Mapping[str, Any]:
    checked = _string_keyed(value)
    for name, content in checked.items():
        contents = content if isinstance(content, (list, tuple)) else [content]
        if not all(isinstance(item, (str, bytes)) for item in contents):
            raise ValueError(f"expected a string or a list of strings as the header {name!r}")
    return checked


headers: Check[Mapping[str, Any], Mapping[str, Any]] = Check(
    "a dict of strings, or of lists of strings", _headers
)


def _share(value: object) -> float:
    expected = "expected True, False, or a number between 0 and 1"
    try:
        return float(_boolean(value))
    except ValueError:
        return _number(value, 0, 1, expected)


share: Check[bool | float, float] = Check("`True`, `False`, or a number between 0 and 1", _share)
