"""What a setting may be. Each check returns the value to use, or raises ValueError saying what is
expected.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import partial
from importlib.util import find_spec
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from scrapy_robots_plus.protocol.access import StatusTable, status_table
from scrapy_robots_plus.protocol.dialect import Dialect, dialect_named
from scrapy_robots_plus.protocol.preferences import CURRENT
from scrapy_robots_plus.protocol.printable import cut
from scrapy_robots_plus.protocol.product_token import has_product_token
from scrapy_robots_plus.protocol.rfc9309 import EXPIRY
from scrapy_robots_plus.storage import check_sqlite_uri, check_store_uri
from scrapy_robots_plus.storage.redis_url import check_redis_url

if TYPE_CHECKING:
    from enum import Enum

_T = TypeVar("_T")
_E = TypeVar("_E", bound="Enum")


@dataclass(frozen=True)
class Check(Generic[_T]):
    """What a setting may be."""

    type: str
    """In words."""
    read: Callable[[object], _T]
    """Returns the value to use. Raises ValueError saying what is expected."""


def check(type: str) -> Callable[[Callable[[object], _T]], Check[_T]]:  # noqa: A002
    """Makes a :class:`Check` of the function that reads a value."""
    return lambda read: Check(type, read)


_MOST_OF_A_VALUE = 500
"""How many characters of a value are shown."""


class SettingProblem(NamedTuple):
    """A wrong setting of a Scrapy project."""

    name: str
    """Its name, such as ``ROBOTS_TTL``."""
    value: object
    """Its value in the project, or that of the part."""
    expected: str
    """What is wrong, or what is expected."""
    part: str = ""
    """Which part of it, if it is a dict: ``['example.com']['obey']``."""

    def __str__(self) -> str:
        value = cut(repr(self.value), _MOST_OF_A_VALUE)
        return f"{self.name}{self.part} = {value}: {self.expected}"


class WrongPartsError(ValueError):
    """A value that is a dict has wrong parts."""

    def __init__(self, parts: Iterable[SettingProblem]) -> None:
        self.parts = tuple(parts)
        """Each of them, without the name of the setting."""
        super().__init__("; ".join(map(str, self.parts)))


DAY = EXPIRY
FOREVER = 10 * 365 * 86_400.0


@check("`True` or `False`")
def boolean(value: object) -> bool:
    text = str(value).lower()
    if text in ("true", "1"):
        return True
    if text in ("false", "0"):
        return False
    raise ValueError("expected True or False")


@check("`True`, `False` or `None`")
def boolean_or_none(value: object) -> bool | None:
    unset = value is None or (isinstance(value, str) and value.lower() in ("", "none"))
    return None if unset else boolean.read(value)


@check("a string")
def text(value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError("expected a text that is not empty")
    return value


@check("a string")
def item_field(value: object) -> str:
    field = text.read(value)
    if field.startswith(":") or field.partition(":")[2] not in ("", "json", "columns"):
        raise ValueError("expected the name of a field; :json or :columns may be behind it")
    return field.removesuffix(":")


def number(unit: str, low: float, high: float, why: str = "") -> Check[float]:
    """A check for a number of *unit* between *low* and *high*; *why* explains the bound."""
    words, expected = _in_words("a number", unit, low, high, why)
    return Check(words, partial(_number, low=low, high=high, expected=expected))


def whole_number(unit: str, low: int, high: int, why: str = "") -> Check[int]:
    """Like :func:`number`, without a fraction."""
    words, expected = _in_words("a whole number", unit, low, high, why)

    def read(value: object) -> int:
        parsed = _number(value, low, high, expected)
        if parsed != int(parsed):
            raise ValueError(expected)
        return int(parsed)

    return Check(words, read)


def pair(unit: str, low: float, high: float, why: str = "") -> Check[tuple[float, float]]:
    """A check for two numbers like :func:`number`, the first no larger than the second."""
    words, expected = _in_words("two numbers", unit, low, high, why, ", the smaller first")

    def read(value: object) -> tuple[float, float]:
        value = json_if_text(value, "[")
        numbers = value.split(",") if isinstance(value, str) else value
        if not isinstance(numbers, (list, tuple)) or len(numbers) != 2:
            raise ValueError(expected)
        least, most = (_number(each, low, high, expected) for each in numbers)
        if least > most:
            raise ValueError(expected)
        return least, most

    return Check(words, read)


def _in_words(
    what: str, unit: str, low: float, high: float, why: str, more: str = ""
) -> tuple[str, str]:
    """What is expected, and the same as a message."""
    words = f"{what} of {unit} between {_plain(low)} and {_plain(high)}{more}"
    return words, f"expected {words} ({why})" if why else f"expected {words}"


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


def or_unset(given: Check[_T]) -> Check[_T | None]:
    """Like *given*; None if there is no value."""

    @check(f"{given.type}, or `None`")
    def read(value: object) -> _T | None:
        return None if value is None or value == "" else given.read(value)

    return read


def _plain(bound: float) -> str:
    """A number as people write it: ``:g`` would write a hundred million as ``1e+08``."""
    return f"{int(bound):,}" if bound == int(bound) else f"{bound:g}"


def one_of(choices: type[_E]) -> Check[_E]:
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


@check("a dict whose keys are strings")
def string_keyed(value: object) -> Mapping[str, Any]:
    value = json_if_text(value)
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise ValueError("expected a dict whose keys are strings")
    return dict(value)


@check(string_keyed.type)
def fetch_meta(value: object) -> Mapping[str, Any]:
    meta = string_keyed.read(value)
    if "headers" not in meta:
        return meta
    headers = string_keyed.read(meta["headers"])
    for name, content in headers.items():
        contents = content if isinstance(content, (list, tuple)) else [content]
        if not all(isinstance(item, (str, bytes)) for item in contents):
            raise ValueError(f"expected a string or a list of strings as the header {name!r}")
    return {**meta, "headers": headers}


@check("`True`, `False`, or a number between 0 and 1")
def share(value: object) -> float:
    expected = "expected True, False, or a number between 0 and 1"
    try:
        return float(boolean.read(value))
    except ValueError:
        return _number(value, 0, 1, expected)


# How files are read


@check("the name of a preset, or a dict")
def status_policy(value: object) -> StatusTable:
    return status_table(json_if_text(value))


@check("the name of a dialect, or a `Dialect`")
def dialect(value: object) -> Dialect:
    if not isinstance(value, (str, Dialect)):
        raise ValueError("expected the name of a dialect or a Dialect")
    return dialect_named(value)


_LIST_OF_NAMES = re.compile(r"[\w.-]+(/[\w.-]+)?(\s*,\s*[\w.-]+(/[\w.-]+)?)+")
"""``Foobot,Barbot``: lists on Scrapy's command line look like this, User-Agent headers do not."""


AN_AGENT = (
    "expected a product token (Foobot), a User-Agent header, or a list of them in order of "
    "preference"
)


@check("a string, a list of strings, or `None`")
def user_agent(value: object) -> str | tuple[str, ...] | None:
    value = json_if_text(value, "[")
    if value is None or value == "":
        return None
    if isinstance(value, bytes):
        value = value.decode("latin-1")
    if isinstance(value, str):
        names = value.split(",") if _LIST_OF_NAMES.fullmatch(value.strip()) else ()
        return tuple(name.strip() for name in names) or value
    names = tuple(value) if isinstance(value, (list, tuple)) else ()
    if not names or not all(isinstance(name, str) and name.strip() for name in names):
        raise ValueError(AN_AGENT)
    return names


# Uses of pages


def _names(value: object, expected: str) -> tuple[str, ...]:
    value = json_if_text(value, "[")
    if value is None or value == "":
        return ()
    names = value.split(",") if isinstance(value, str) else value
    if not isinstance(names, (list, tuple, set, frozenset)):
        raise ValueError(expected)
    if not all(isinstance(name, str) and name.strip() for name in names):
        raise ValueError(expected)
    return tuple(dict.fromkeys(name.strip() for name in names))


@check("a list of strings")
def ai_uses(value: object) -> tuple[str, ...]:
    expected = f"expected a list of {', '.join(CURRENT.labels)}"
    uses = tuple(name.lower() for name in _names(value, expected))
    unknown = [repr(use) for use in uses if use not in CURRENT.labels]
    if unknown:
        raise ValueError(f"{expected}, not {', '.join(unknown)}")
    return uses


@check("a list of strings")
def ai_tokens(value: object) -> tuple[str, ...]:
    expected = "expected a list of product tokens, such as Google-Extended"
    tokens = _names(value, expected)
    if not all(map(has_product_token, tokens)):
        raise ValueError(expected)
    return tokens


# Places: files, folders, servers


@check("`process`, `off`, `sqlite:PATH`, or the URL of a Redis server")
def shared_pace(value: object) -> str:
    """Opens nothing. Raises ValueError, which shows no password."""
    expected = (
        "expected 'process', 'off', 'sqlite:PATH' (sqlite:pace.db, sqlite:/var/lib/pace.db) or the "
        "URL of a Redis server (redis://127.0.0.1:6379/0)"
    )
    if isinstance(value, str):
        if value.lower() in ("process", "off"):
            return value.lower()
        if value.startswith("sqlite:"):
            return check_sqlite_uri(value, expected)
        if value.startswith(("redis:", "rediss:", "unix:")):
            return check_redis_url(value)
    raise ValueError(expected)


store_uri = or_unset(Check("`memory`, `sqlite:PATH` or the URL of a Redis server", check_store_uri))


@check("the path of a file, with `%(name)s` and `%(time)s`")
def file_name(value: object) -> str:
    expected = "expected the path of a file; %(name)s and %(time)s may be in it, and %% for a %"
    name = os.fspath(value) if isinstance(value, (str, os.PathLike)) else ""
    if not isinstance(name, str) or not name or "\0" in name or name.endswith(("/", os.sep)):
        raise ValueError(expected)
    if "://" in name:
        raise ValueError(f"{expected}; a URL is not a path")
    if "%" in _STANDS_FOR.sub("", name):
        raise ValueError(expected)
    return name


_STANDS_FOR = re.compile(r"%%|%\((?:name|time)\)s")
"""What Python's ``%`` puts something else for; it would take more, ``%s`` for example."""


def filled_in(setting: str, name: str, began: float) -> Path:
    """The absolute path that *setting* names for a spider *name* and a crawl that *began*."""
    time = datetime.fromtimestamp(int(began), timezone.utc).isoformat().replace(":", "-")
    return Path(setting % {"name": name, "time": time}).absolute()


@check("`True`, `False`, or the path of a folder")
def boolean_or_path(value: object) -> bool | str:
    try:
        return boolean.read(value)
    except ValueError:
        return file_name.read(value)


@check(file_name.type)
def warc_file(value: object) -> str:
    name = file_name.read(value)
    if find_spec("warcio") is None:
        raise ValueError("warcio is not installed: pip install 'scrapy-robots-plus[warc]'")
    return name


# Moments


_MOMENT = re.compile(
    r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d{6})?)?(Z|[+-]\d\d:\d\d)?)?", re.ASCII
)


def moment(text: str, *, at_end: bool = False) -> float:
    """Seconds since the epoch of a day in UTC (2026-12-31), at its begin or its end, or of a moment
    (2026-12-31T18:00), in UTC unless it names another zone.

    Raises ValueError for anything else.
    """
    found = _MOMENT.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is neither a day nor a moment")
    given = datetime.fromisoformat(text.replace("Z", "+00:00"))
    seconds = (given if given.tzinfo else given.replace(tzinfo=timezone.utc)).timestamp()
    return seconds + DAY if at_end and not found[1] else seconds
