"""Checks of the values of settings.

Each returns the value to use, or raises ValueError saying what is expected.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timezone
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Generic, TypeVar, get_args

from scrapy_robots_plus.protocol.access import StatusTable, status_table
from scrapy_robots_plus.protocol.dialect import Dialect, dialect_named
from scrapy_robots_plus.protocol.preferences import LABELS
from scrapy_robots_plus.protocol.printable import FIRST_SECOND, LAST_SECOND, cut
from scrapy_robots_plus.protocol.product_token import has_product_token
from scrapy_robots_plus.protocol.rfc9309 import EXPIRY
from scrapy_robots_plus.storage import check_place, check_store_uri
from scrapy_robots_plus.storage.redis_url import without_password

_T = TypeVar("_T")


class Check(Generic[_T]):
    """A check of the value of a setting."""

    def __init__(self, type: str, convert: Callable[[Any], _T | None]) -> None:  # noqa: A002
        self.type = type
        """What the value may be, in Markdown, for the docs and for errors."""
        self.expected = f"expected {type.replace('`', '')}"
        """The words in which a message says what was expected."""
        self.convert = convert
        """A function that returns the value to use, None for one that is not of the type, or raises
        a ValueError that says what is wrong."""

    def read(self, value: object) -> _T:
        """Returns the value to use. Raises ValueError saying what is expected."""
        read = self.convert(value)
        if read is None:
            raise ValueError(self.expected)
        return read


def check(type: str) -> Callable[[Callable[[Any], _T | None]], Check[_T]]:  # noqa: A002
    """Returns a decorator that makes a :class:`Check` of a function that converts a value."""
    return partial(Check, type)


# Messages about wrong values

_MOST_SHOWN = 500
"""The limit in characters for each part of a message, such as the value."""


def problem(name: str, value: object, expected: object) -> str:
    """Returns a message, without passwords, about the wrong *value* of a setting or part of one."""
    if isinstance(value, str):
        shown = repr(without_password(value))
    else:
        shown = without_password(repr(value))
    said = without_password(name), shown, str(expected)
    return "{} = {}: {}".format(*(cut(each, _MOST_SHOWN) for each in said))


class WrongPartsError(ValueError):
    """An error for a dict that has wrong parts."""

    def __init__(self, problems: Iterable[str]) -> None:
        self.problems = tuple(problems)
        """The messages, each of which begins with the wrong part: ``['example.com']['obey']``."""
        super().__init__("; ".join(self.problems))

    def of(self, name: str) -> list[str]:
        """Returns the messages, each for a part of the setting *name*."""
        return [f"{cut(without_password(name), _MOST_SHOWN)}{each}" for each in self.problems]


def read_or_tell(
    problems: list[str], name: str, reader: Callable[[Any], _T], value: object
) -> _T | None:
    """Returns what *reader* makes of *value*.

    If it raises ValueError, adds what is wrong with *name* to *problems* and returns None.
    """
    try:
        return reader(value)
    except WrongPartsError as error:
        problems += error.of(name)
    except ValueError as error:
        problems.append(problem(name, value, error))
    return None


# Words


class OrUnset(Check[_T | None]):
    """A check like *given* that also takes no value: None, empty, or the text ``None``."""

    def __init__(self, given: Check[_T]) -> None:
        super().__init__(f"{given.type}, or `None`", given.convert)

    def read(self, value: object) -> _T | None:
        """Returns the value to use, None for no value. Raises ValueError like *given*."""
        is_none = value is None or (isinstance(value, str) and value.lower() in ("", "none"))
        return None if is_none else super().read(value)


def one_of(choices: Any) -> Check[Any]:
    """Returns a check for the words of a ``Literal``, in upper or lower case."""
    words = get_args(choices)
    *others, last = (f"`'{word}'`" for word in words)

    @check(f"{', '.join(others)} or {last}")
    def read(value: object) -> Any:
        word = value.lower() if isinstance(value, str) else ""
        return word if word in words else None

    return read


@check("`True` or `False`")
def boolean(value: object) -> bool | None:
    return {"true": True, "1": True, "false": False, "0": False}.get(str(value).lower())


@check("a text that is not empty")
def text(value: object) -> str | None:
    return value if isinstance(value, str) and value.strip() else None


@check("the name of a field; `:json` may be behind it")
def item_field(value: object) -> str | None:
    field = text.convert(value)
    is_wrong = field is None or field.startswith(":") or ":" in field.removesuffix(":json")
    return None if is_wrong else field


# Numbers

DAY = EXPIRY
FOREVER = 10 * 365 * 86_400


def number(unit: str, low: float, high: float) -> Check[float]:
    """Returns a check for a number of *unit* between *low* and *high*."""
    words = f"a number of {unit} between {low:,} and {high:,}"
    return Check(words, lambda value: _number(value, low, high))


def whole_number(unit: str, low: int, high: int) -> Check[int]:
    """Returns a check like :func:`number` that takes no fraction."""

    @check(f"a whole number of {unit} between {low:,} and {high:,}")
    def read(value: object) -> int | None:
        parsed = _number(value, low, high)
        return int(parsed) if parsed is not None and parsed.is_integer() else None

    return read


def pair(unit: str, low: float, high: float) -> Check[tuple[float, float]]:
    """Returns a check for two numbers like :func:`number`, the first no larger than the second."""

    @check(f"two numbers of {unit} between {low:,} and {high:,}, the smaller first")
    def read(value: object) -> tuple[float, float] | None:
        numbers = value.split(",") if isinstance(value, str) else value
        if not isinstance(numbers, (list, tuple)) or len(numbers) != 2:
            return None
        least, most = (_number(each, low, high) for each in numbers)
        return None if least is None or most is None or least > most else (least, most)

    return read


def _number(value: object, low: float, high: float) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        parsed = float(value)
    except (ValueError, OverflowError):
        return None
    return parsed if low <= parsed <= high else None


@check("`True`, `False`, or a number between 0 and 1")
def share(value: object) -> float | None:
    is_on = boolean.convert(value)
    return _number(value, 0, 1) if is_on is None else float(is_on)


# Dicts and lists


def json_if_text(value: object) -> object:
    """Returns *value*, parsed if it is a dict as JSON, as from ``-s`` or an environment file.

    Raises ValueError if the JSON is not valid, or names a key twice.
    """
    if isinstance(value, str) and value.lstrip().startswith("{"):
        try:
            return json.loads(value, object_pairs_hook=_each_once)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"not valid JSON: {error}") from None
    return value


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"{twice!r} is there twice")
    return found


@check("a dict whose keys are strings; `headers` in it is one, too")
def fetch_meta(value: object) -> Mapping[str, Any] | None:
    meta: Any = json_if_text(value)
    return dict(meta) if _has_names(meta) and _has_names(meta.get("headers", {})) else None


def _has_names(value: object) -> bool:
    return isinstance(value, Mapping) and all(isinstance(key, str) for key in value)


def names(
    type: str,  # noqa: A002
    is_one: Callable[[str], bool],
    form: Callable[[str], str] = str,
) -> Check[tuple[str, ...]]:
    """Returns a check for a list of names, or a text with commas between them.

    Names are read in *form*; *is_one* says whether a text is such a name.
    """

    @check(type)
    def read(value: object) -> tuple[str, ...] | None:
        given = value.split(",") if isinstance(value, str) and value else value or ()
        if not isinstance(given, (list, tuple)) or not all(isinstance(each, str) for each in given):
            return None
        found = tuple(form(each.strip()) for each in given)
        return found if all(map(is_one, found)) else None

    return read


ai_uses = names(f"a list of {', '.join(LABELS)}", lambda name: name in LABELS, str.lower)
ai_tokens = names("a list of product tokens, such as `Google-Extended`", has_product_token)


def _agent(value: object) -> str | tuple[str, ...] | None:
    if isinstance(value, str):
        # Not a header: only the first name would count.
        is_list = "," in value and not {"/", "("} & set(value)
        return value if value.strip() and not is_list else None
    names = tuple(value) if isinstance(value, (list, tuple)) else ()
    are_names = all(isinstance(name, str) and name.strip() for name in names)
    return names if names and are_names else None


agent: Check[str | tuple[str, ...]] = Check(
    "a product token (`Foobot`), a User-Agent header, or a list of them in order of preference",
    _agent,
)


# How files are read


@check("the name of a preset, or a dict")
def status_policy(value: object) -> StatusTable:
    return status_table(json_if_text(value))


@check("the name of a dialect or a `Dialect`")
def dialect(value: object) -> Dialect:
    return dialect_named(value if isinstance(value, Dialect) else str(value))


# Places: files, folders, servers


@check(
    "`'process'`, `'off'`, `'sqlite:PATH'` (`sqlite:pace.db`, `sqlite:/var/lib/pace.db`) or the "
    "URL of a Redis server (`redis://127.0.0.1:6379/0`)"
)
def shared_pace(value: object) -> str:
    """Returns the value, opening nothing. Raises ValueError, which shows no password."""
    if isinstance(value, str) and value.lower() in ("process", "off"):
        return value.lower()
    return check_place(value, shared_pace.expected)


store_uri = OrUnset(Check("`memory`, `sqlite:PATH` or the URL of a Redis server", check_store_uri))


@check("the path of a file; `%(name)s` and `%(time)s` may be in it, and `%%` for a `%`")
def file_name(value: object) -> str | None:
    name = _path(value)
    if name is None or name.endswith(("/", os.sep)):
        return None
    return None if "%" in re.sub(_STANDS_FOR, "", name) else name


def _path(value: object) -> str | None:
    """Returns *value* as the text of a path; None if it is none, such as a URL."""
    name = os.fspath(value) if isinstance(value, (str, os.PathLike)) else ""
    is_path = isinstance(name, str) and name and "\0" not in name and "://" not in name
    return str(name) if is_path else None


_STANDS_FOR = r"%%|%\((?:name|time)\)s"
"""The placeholders that may be filled in. Python's ``%`` takes more, ``%s`` for example."""


def _boolean_or_path(value: object) -> bool | str | None:
    is_on = boolean.convert(value)
    return _path(value) if is_on is None else is_on


boolean_or_path: Check[bool | str] = Check(
    "`True`, `False`, or the path of a folder", _boolean_or_path
)


@check(file_name.type)
def warc_file(value: object) -> str:
    name = file_name.read(value)
    if find_spec("warcio") is None:
        raise ValueError("warcio is not installed: pip install 'scrapy-robots-plus[warc]'")
    return name


def filled_in(setting: str, name: str, began: float) -> Path:
    """Returns the absolute path of *setting* for a spider's *name* and a crawl that *began* then.

    *began* is in seconds since the epoch.
    """
    time = datetime.fromtimestamp(int(began), timezone.utc).isoformat().replace(":", "-")
    return Path(setting % {"name": name, "time": time}).absolute()


# Moments

_MOMENT = r"(?a)\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d{6})?)?(Z|[+-]\d\d:\d\d)?)?"


@check(
    "a day (`2026-12-31`), whose end in UTC it is, or a moment (`2026-12-31T18:00Z`, or another "
    "zone: `+02:00`)"
)
def until(value: object) -> float | None:
    """Returns the moment in seconds since the epoch."""
    text = str(value).strip()
    found = re.fullmatch(_MOMENT, text)
    try:
        given = datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        return None
    if found is None:
        return None
    seconds = (given if given.tzinfo else given.replace(tzinfo=timezone.utc)).timestamp()
    seconds += 0 if found[1] else DAY
    return min(max(seconds, FIRST_SECOND), LAST_SECOND)
