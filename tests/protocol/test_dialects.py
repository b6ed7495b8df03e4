"""What each dialect that has a name answers otherwise than RFC 9309, field by field."""

from __future__ import annotations

import pytest

from scrapy_robots_plus.protocol import DIALECTS, FIRST_MATCH, GOOGLE, Dialect, RobotsTxt
from scrapy_robots_plus.protocol.dialect import dialect_named
from scrapy_robots_plus.protocol.fields import Field

DEFAULTS: dict[str, object] = {
    "forgiving": True,
    "charset": "utf-8",
    "blank_line_ends_group": False,
    "orphans_for_all": False,
    "names_are_parts": False,
    "first_group_decides": False,
    "tokens_only": False,
    "first_rule_decides": False,
    "empty_allow_denies": False,
    "wildcards": True,
    "dollar_before_query": False,
    "normal_escapes": True,
    "kept_escapes": "",
    "robots_txt_allowed": True,
    "expiry": 86_400,
}

OF_2008: dict[str, object] = {
    "forgiving": False,
    "charset": "iso-8859-1",
    "blank_line_ends_group": True,
    "names_are_parts": True,
    "first_rule_decides": True,
    "empty_allow_denies": True,
    "normal_escapes": False,
    "kept_escapes": "/",
    "robots_txt_allowed": False,
    "expiry": 604_800,
}

OTHERWISE: dict[str, dict[str, object]] = {
    "RFC9309": {},
    "GOOGLE": {"tokens_only": True, "normal_escapes": False, "robots_txt_allowed": False},
    "GYM2008": OF_2008,
    "MK1996": {**OF_2008, "wildcards": False},
    "FIRST_MATCH": {
        "forgiving": False,
        "orphans_for_all": True,
        "names_are_parts": True,
        "first_group_decides": True,
        "first_rule_decides": True,
        "dollar_before_query": True,
        "normal_escapes": False,
        "kept_escapes": "/?&=",
        "robots_txt_allowed": False,
    },
}


@pytest.mark.parametrize("name", OTHERWISE)
def test_each_dialect(name: str) -> None:
    assert DIALECTS[name]._asdict() == {**DEFAULTS, **OTHERWISE[name], "name": name}
    assert dialect_named(name) is dialect_named(name.lower()) is DIALECTS[name]


def test_there_are_no_others() -> None:
    assert list(DIALECTS) == list(OTHERWISE), "add what is special about it to OTHERWISE above"
    assert Dialect("mine")._asdict() == {**DEFAULTS, "name": "mine"}


def test_in_names_with_stars_the_parts_come_one_behind_the_other() -> None:
    file = RobotsTxt.parse("User-agent: foo*bar\nDisallow: /", FIRST_MATCH)
    assert not file.allowed("/", "fooxbar")
    assert file.allowed("/", "barxfoo")
    file = RobotsTxt.parse("User-agent: foo*bar*baz\nDisallow: /", FIRST_MATCH)
    assert not file.allowed("/", "foo-bar-baz")
    assert file.allowed("/", "foobaz--bar")


@pytest.mark.parametrize(
    "rules",
    ["Disallow: /a/$\nAllow: /a/index.html", "Allow: /a/index.html\nDisallow: /a/$"],
)
def test_an_index_page_that_is_allowed_wins_a_tie_for_its_folder(rules: str) -> None:
    assert RobotsTxt.parse(f"User-agent: *\n{rules}", GOOGLE).allowed("/a/", "Foobot")


@pytest.mark.parametrize("url", ["http://a.example/s.xml", "https://a.example/s.xml"])
@pytest.mark.parametrize("key", ["Sitemap", "SITEMAP", "sitemap", "Sitemap "])
def test_the_colon_of_a_sitemap_may_lack(key: str, url: str) -> None:
    assert RobotsTxt.parse(f"{key} {url}", GOOGLE).sitemaps == (url,)


@pytest.mark.parametrize("name", ["", "RFC", "rfc-9309", "google2"])
def test_an_unknown_name_is_an_error_that_lists_the_names(name: str) -> None:
    with pytest.raises(ValueError, match=f"choose one of {', '.join(DIALECTS)}$"):
        dialect_named(name)


def test_a_dialect_cannot_be_changed_by_accident_and_no_two_are_equal() -> None:
    with pytest.raises(AttributeError):
        GOOGLE.name = "x"  # type: ignore[misc]
    assert len({*DIALECTS.values()}) == len(DIALECTS)


@pytest.mark.parametrize(
    ("dialect", "fields", "apart"),
    [
        (DIALECTS["RFC9309"], [Field.USER_AGENT, Field.DISALLOW, Field.CONTENT_USAGE], []),
        (DIALECTS["GYM2008"], [Field.NOTHING, Field.NOTHING, Field.CONTENT_USAGE], [3]),
    ],
)
def test_keys_that_are_misspelt_count_only_in_a_forgiving_dialect(
    dialect: Dialect, fields: list[Field], apart: list[int]
) -> None:
    """Wherever lines are read again: what is no user-agent line begins no group."""
    file = RobotsTxt.parse(b"User agent: *\nDissalow: /\nContent-Usage: train-ai=n\n", dialect)
    assert [line.field for line in file.lines] == fields
    assert [line.number for line in file.uses_for_all] == apart
