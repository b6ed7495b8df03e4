"""Entries of an audit log, as strategies."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from scrapy_robots_plus.audit.entries import ENTRIES, EndEntry, Entry, fields_of

_MOMENTS = st.integers(0, 4_000_000_000_000_000).map(lambda micros: micros / 1_000_000)
_TEXTS = st.text(max_size=20)
_JSON = st.dictionaries(_TEXTS, st.none() | st.booleans() | st.integers() | _TEXTS, max_size=3)

_VALUES: dict[str, st.SearchStrategy[Any]] = {
    "string": _TEXTS,
    "list of strings": st.lists(_TEXTS, max_size=3).map(tuple),
    "string, or list of strings": _TEXTS | st.lists(_TEXTS, max_size=3).map(tuple),
    "boolean": st.booleans(),
    "whole number": st.integers(0, 2**53),
    "number": st.floats(allow_nan=False, allow_infinity=False),
    "number of seconds": st.floats(allow_nan=False, allow_infinity=False),
    "time, RFC 3339 in UTC": _MOMENTS,
    "JSON object": _JSON,
    "list of JSON objects": st.lists(_JSON, max_size=3),
}


def _of(kind: type[Entry]) -> st.SearchStrategy[Entry]:
    values = {
        name: st.none() | _VALUES[each.type] if nullable else _VALUES[each.type]
        for name, each, nullable in fields_of(kind)
    }
    return st.builds(kind, **values)


any_entry: st.SearchStrategy[Entry] = st.one_of(*map(_of, ENTRIES))


def before_ends(entries: list[Entry]) -> list[Entry]:
    """*entries* without those of crawls that have ended."""
    ended: set[str] = set()
    kept = []
    for entry in entries:
        if entry.crawl not in ended:
            kept.append(entry)
        if isinstance(entry, EndEntry):
            ended.add(entry.crawl)
    return kept


some_entries = st.lists(any_entry, max_size=5).map(before_ends)
"""Some that a log may hold."""
