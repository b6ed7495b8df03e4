"""Entries of an audit log, as strategies."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from scrapy_robots_plus.audit import entries as fields
from scrapy_robots_plus.audit.entries import ENTRIES, Entry

_MOMENTS = st.integers(0, 4_000_000_000_000_000).map(lambda micros: micros / 1_000_000)
_TEXTS = st.text(max_size=20)
_JSON = st.dictionaries(_TEXTS, st.none() | st.booleans() | st.integers() | _TEXTS, max_size=3)

_VALUES: dict[int, st.SearchStrategy[Any]] = {
    id(fields.TEXT): _TEXTS,
    id(fields.TEXTS): st.lists(_TEXTS, max_size=3).map(tuple),
    id(fields.NAMES): _TEXTS | st.lists(_TEXTS, max_size=3).map(tuple),
    id(fields.FLAG): st.booleans(),
    id(fields.COUNT): st.integers(0, 2**53),
    id(fields.NUMBER): st.floats(allow_nan=False, allow_infinity=False),
    id(fields.SECONDS): st.floats(allow_nan=False, allow_infinity=False),
    id(fields.MOMENT): _MOMENTS,
    id(fields.OBJECT): _JSON,
    id(fields.OBJECTS): st.lists(_JSON, max_size=3),
}


def _value(declared: fields.Field) -> st.SearchStrategy[Any]:
    value = _VALUES[id(declared.kind)]
    return st.none() | value if declared.nullable else value


def _of(kind: type[Entry]) -> st.SearchStrategy[Entry]:
    values = {name: _value(declared) for name, declared in fields.fields_of(kind)}
    return st.builds(kind, **values)


any_entry: st.SearchStrategy[Entry] = st.one_of(*map(_of, ENTRIES))
