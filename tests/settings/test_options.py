"""The words by which a project chooses, as docs and settings have them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from scrapy_robots_plus.settings.options import (
    AiPolicy,
    ContentUse,
    Mode,
    OnVisitTime,
    PageAction,
    Politeness,
    SitemapScope,
    TooLong,
    uses_of,
)

if TYPE_CHECKING:
    from enum import Enum


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (TooLong, ["clamp", "skip"]),
        (OnVisitTime, ["ignore", "obey"]),
        (PageAction, ["ignore", "observe", "obey"]),
        (Politeness, ["default", "gentle", "archive"]),
        (AiPolicy, ["observe", "skip"]),
        (Mode, ["obey", "observe"]),
        (SitemapScope, ["host", "site", "any"]),
    ],
)
def test_each_option_is_its_word(options: type[Enum], words: list[str]) -> None:
    assert [option.value for option in options] == words
    assert all(isinstance(option, str) for option in options)


def test_uses_are_named_as_statements_name_them() -> None:
    assert uses_of(("train-ai",), None) == ("train-ai",)
    assert uses_of((), "full") == ("use=full",)
    assert uses_of(("train-ai", "search"), ContentUse.REFERENCE) == (
        *("train-ai", "search", "use=reference"),
    )
