"""Every kind of line has a key that is found, however it is written."""

from __future__ import annotations

import pytest

from scrapy_robots_plus.protocol import RFC9309
from scrapy_robots_plus.protocol.groups import Scanner
from scrapy_robots_plus.protocol.lines import _EXACT, _FORGIVEN, _PREFIXES, Kind, kind_of

KEYS = [*_EXACT, *_FORGIVEN, *(prefix for prefix, _ in _PREFIXES)]


def test_each_kind_has_a_key() -> None:
    assert {kind_of(key, RFC9309) for key in KEYS} == set(Kind) - {Kind.NOTHING}


@pytest.mark.parametrize("key", KEYS)
def test_the_scanner_passes_no_key_over(key: bytes) -> None:
    """It leaves most lines of an HTML page at their first octet."""
    for written in (key, key.upper(), b"  " + key.title()):
        scanner = Scanner(RFC9309)
        scanner.scan([b"User-agent: *", written + b": x"])
        (section,) = scanner.sections
        members = [line for each in section.members for line in each.lines]
        found = [*section.agents[1:], *section.rules, *members, *scanner.globals]
        assert len(found) == 1, written
