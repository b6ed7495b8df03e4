"""As whom, and in which way, a robots.txt may be read: agents, dialects, meanings of a status."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from scrapy_robots_plus.crawl.settings.setting import Check
from scrapy_robots_plus.policy.status_policy import StatusTable, status_table
from scrapy_robots_plus.protocol.dialect import Dialect, dialect_named

from .kinds import json_if_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def _status_policy(value: object) -> StatusTable:
    return status_table(json_if_text(value))


status_policy: Check[str | Mapping[str, str], StatusTable] = Check(
    "the name of a preset, or a dict", _status_policy
)


def _dialect(value: object) -> Dialect:
    if not isinstance(value, (str, Dialect)):
        raise ValueError("expected the name of a dialect or a Dialect")
    return dialect_named(value)


dialect: Check[str | Dialect, Dialect] = Check("the name of a dialect, or a `Dialect`", _dialect)


_LIST_OF_NAMES = re.compile(r"[\w.-]+(/[\w.-]+)?(\s*,\s*[\w.-]+(/[\w.-]+)?)+")
"""``Foobot,Barbot``: lists on Scrapy's command line look like this, User-Agent headers do not."""


AN_AGENT = (
    "expected a product token (Foobot), a User-Agent header, or a list of them in order of "
    "preference"
)


def _user_agent(value: object) -> str | tuple[str, ...] | None:
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


user_agent: Check[str | Sequence[str] | None, str | tuple[str, ...] | None] = Check(
    "a string, a list of strings, or `None`", _user_agent
)
