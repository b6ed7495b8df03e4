"""What settings about the use of pages may be."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_robots_plus.crawl.settings.setting import Check
from scrapy_robots_plus.protocol.preferences import CURRENT
from scrapy_robots_plus.protocol.product_token import has_product_token

from .kinds import json_if_text

if TYPE_CHECKING:
    from collections.abc import Sequence


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


def _ai_uses(value: object) -> tuple[str, ...]:
    expected = f"expected a list of {', '.join(CURRENT.labels)}"
    uses = tuple(name.lower() for name in _names(value, expected))
    unknown = [repr(use) for use in uses if use not in CURRENT.labels]
    if unknown:
        raise ValueError(f"{expected}, not {', '.join(unknown)}")
    return uses


def _use_tokens(value: object) -> tuple[str, ...]:
    expected = "expected a list of product tokens, such as Google-Extended"
    tokens = _names(value, expected)
    if not all(map(has_product_token, tokens)):
        raise ValueError(expected)
    return tokens


ai_uses: Check[Sequence[str], tuple[str, ...]] = Check("a list of strings", _ai_uses)
use_tokens: Check[Sequence[str], tuple[str, ...]] = Check("a list of strings", _use_tokens)
