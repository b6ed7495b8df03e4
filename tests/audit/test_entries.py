"""The schema of the audit log: what is written is read again, and nothing else is."""

from __future__ import annotations

import json
from dataclasses import fields as dataclass_fields
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given

from scrapy_robots_plus.audit.chain import START, parse, seal
from scrapy_robots_plus.audit.entries import (
    ENTRIES,
    VERSION,
    CrawlEntry,
    EndEntry,
    Entry,
    from_fields,
    to_fields,
)

from .entries import any_entry
from .logs import begin

END = EndEntry(time=0.0, crawl="a", reason="finished", allowed=1, denied=2, dont_obey=0, lost=0)
LINE: dict[str, Any] = {"v": VERSION, **to_fields(END)}


def through_json(entry: Entry) -> Entry:
    return from_fields(json.loads(json.dumps({"v": VERSION, **to_fields(entry)})))


@given(any_entry)
def test_an_entry_is_read_as_it_was_written(entry: Entry) -> None:
    assert through_json(entry) == entry


@given(any_entry)
def test_a_line_has_every_field_in_the_order_of_the_schema(entry: Entry) -> None:
    names = [field.name for field in dataclass_fields(entry)]
    assert list(to_fields(entry)) == ["type", *names]


def test_any_mapping_is_written_as_an_object() -> None:
    entry = begin()
    entry.status_policy = MappingProxyType({"404": "allow"})
    line, _ = seal(to_fields(entry), START)
    read = from_fields(parse(line)[0])
    assert isinstance(read, CrawlEntry)
    assert read.status_policy == {"404": "allow"}


def test_each_type_has_one_name() -> None:
    names = ["crawl", "end", "file", "standing", "verdict"]
    assert sorted(entry.type for entry in ENTRIES) == names


def test_a_field_or_a_type_of_a_later_reader_does_not_matter() -> None:
    assert from_fields({**LINE, "new": 1}) == END
    assert from_fields({**LINE, "type": "new"}) == Entry(time=END.time, crawl=END.crawl)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"v": 2}, "version 2 of the schema"),
        ({"v": None}, "version None"),
        ({"denied": "2"}, "'denied': expected a whole number, not '2'"),
        ({"denied": True}, "'denied': expected a whole number, not True"),
        ({"denied": None}, "'denied': expected a whole number, not None"),
        ({"time": "1970-01-01T00:00:00+01:00"}, "'time': expected a time in UTC"),
        ({"time": "yesterdayZ"}, "'time': "),
        ({"time": 0}, "'time': expected a time, RFC 3339 in UTC, not 0"),
        ({"reason": 1}, "'reason': expected a string, not 1"),
    ],
)
def test_a_line_of_another_kind_is_refused_by_name(changed: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        from_fields({**LINE, **changed})


@pytest.mark.parametrize(
    "value", [float("inf"), float("-inf"), float("nan"), 10**400], ids=["inf", "-inf", "nan", "int"]
)
def test_a_number_is_finite(value: float) -> None:
    line = {"v": VERSION, **to_fields(begin()), "stale_max": value}
    with pytest.raises(ValueError, match=r"'stale_max': (expected a finite number|int too large)"):
        from_fields(line)


def test_a_missing_field_is_named() -> None:
    line = {name: value for name, value in LINE.items() if name != "lost"}
    with pytest.raises(ValueError, match="'lost': expected a whole number, not None"):
        from_fields(line)


@pytest.mark.parametrize("kind", [None, [], {}, 3])
def test_a_type_that_is_not_a_name_is_refused(kind: object) -> None:
    with pytest.raises(ValueError, match="expected a string"):
        from_fields({**LINE, "type": kind})
