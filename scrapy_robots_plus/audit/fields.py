"""The fields of the lines of an audit log: what each means, and how it is written and read."""

from __future__ import annotations

import re
from dataclasses import MISSING, dataclass, field, fields
from math import isfinite
from typing import TYPE_CHECKING, Any

from scrapy_robots_plus.protocol.moments import moment_of, rfc3339

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from scrapy_robots_plus.protocol.product_token import AgentNames

SHA256 = re.compile("[0-9a-f]{64}")
"""A hash in hexadecimal."""


@dataclass(frozen=True)
class Kind:
    """A kind of field."""

    type: str
    """What it is in JSON, in words."""
    read: Callable[[Any], Any]
    """From JSON. Raises ValueError for a value of another kind."""
    write: Callable[[Any], Any] | None = None
    """To JSON; None if the value is written as it is."""


@dataclass(frozen=True)
class Field:
    """One field, as it is declared."""

    kind: Kind
    doc: str
    """What it means, in Markdown."""
    nullable: bool


def _of_type(words: str, *types: type) -> Callable[[Any], Any]:
    def read(value: Any) -> Any:
        if type(value) not in types:  # a bool is an int, but not here
            raise ValueError(f"expected {words}, not {value!r:.100}")
        return value

    return read


_text = _of_type("a string", str)
_object = _of_type("an object", dict)


def _number(value: Any) -> float:
    number = float(_of_type("a number", int, float)(value))
    if not isfinite(number):
        raise ValueError("expected a finite number")
    return number


def _texts(value: Any) -> tuple[str, ...]:
    return tuple(map(_text, _of_type("a list", list)(value)))


def _names(value: Any) -> AgentNames:
    return _texts(value) if isinstance(value, list) else str(_text(value))


TEXT = Kind("string", _text)
TEXTS = Kind("list of strings", _texts, list)
NAMES = Kind("string, or list of strings", _names)
FLAG = Kind("boolean", _of_type("true or false", bool))
COUNT = Kind("whole number", _of_type("a whole number", int))
NUMBER = Kind("number", _number)
SECONDS = Kind("number of seconds", _number)
MOMENT = Kind("time, RFC 3339 in UTC", lambda value: moment_of(_text(value)), rfc3339)
OBJECT = Kind("object", _object, dict)


def required(kind: Kind, doc: str) -> Any:
    """A field that always has a value."""
    return field(metadata={"field": Field(kind, doc, nullable=False)})


def optional(kind: Kind, doc: str) -> Any:
    """A field that may be null; None is its default."""
    return field(default=None, metadata={"field": Field(kind, doc, nullable=True)})


def fields_of(entry: type) -> Iterator[tuple[str, Field]]:
    """The fields that a dataclass declares, by name, in the order in which they are written."""
    for each in fields(entry):
        yield each.name, each.metadata["field"]


def writer_of(entry: type) -> Callable[[Any], dict[str, Any]]:
    """A function that returns the fields of such an *entry* as JSON has them."""
    declared = [(name, each.kind.write) for name, each in fields_of(entry)]

    def write(value: Any) -> dict[str, Any]:
        written = {}
        for name, convert in declared:
            content = getattr(value, name)
            if convert is not None and content is not None:
                content = convert(content)
            written[name] = content
        return written

    return write


def read_fields(entry: type, line: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments to make an *entry* of a parsed *line*, whose other fields do not matter.

    Raises ValueError naming the field that is missing or of another kind.
    """
    found = {}
    for name, declared in fields_of(entry):
        value = line.get(name, MISSING)
        if declared.nullable and (value is None or value is MISSING):
            continue
        if value is MISSING:
            raise ValueError(f"{name!r} is missing")
        try:
            found[name] = declared.kind.read(value)
        except ValueError as error:
            raise ValueError(f"{name!r}: {error}") from None
    return found
