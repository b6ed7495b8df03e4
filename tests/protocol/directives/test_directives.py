"""What a page asks of one crawler: which statements count for it, and which of them decides."""

from __future__ import annotations

import pytest

from scrapy_robots_plus.protocol.directives import (
    PageDirectives,
    PageSource,
    header_statements,
    meta_statements,
)
from scrapy_robots_plus.protocol.product_token import Agent

JUNE_25 = 1277424000


def asked(*headers: str, agent: Agent = "Foobot") -> PageDirectives:
    return PageDirectives.of(header_statements(headers), agent)


@pytest.mark.parametrize(
    ("agent", "counts"),
    [
        ("Foobot", True),
        ("foobot", True),
        ("Mozilla/5.0 (compatible; Foobot/2.1; +https://foo.example/bot)", True),
        (["Barbot", "Foobot"], True),
        (b"Foobot/1.0", True),
        ("Foobot-News", False),
        ("Foo", False),
        ("Barbot", False),
        ("Mozilla/5.0 (X11; Linux x86_64) Gecko/20100101 Firefox/130.0", False),
        ("", False),
        ("*", False),
    ],
)
def test_what_names_a_crawler_counts_for_it_alone(agent: Agent, counts: bool) -> None:
    said = asked("noarchive, foobot: noindex", agent=agent)
    assert said.directives == {**({"noindex": ""} if counts else {}), "noarchive": ""}


def test_a_name_with_a_version_or_digits_is_matched_as_in_a_robots_txt() -> None:
    assert asked("foobot/2.0: noindex")
    assert asked("MJ12bot: noindex", agent="MJ12bot/v1.4.8")
    assert asked("foobot2: noindex")  # RFC 9309 2.2.1: the token ends at the digit
    assert not asked("barbot2: noindex")


def test_what_is_said_to_all_and_to_one_counts_together() -> None:
    said = asked("nofollow", "foobot: noindex", "barbot: noarchive")
    assert said.directives == {"noindex": "", "nofollow": ""}


def test_headers_and_meta_tags_count_together() -> None:
    statements = (*header_statements("noindex"), *meta_statements("foobot", "noindex, nofollow"))
    said = PageDirectives.of(statements, "Foobot")
    noindex, nofollow = said.says("noindex"), said.says("nofollow")
    assert noindex is not None
    assert noindex.source is PageSource.HEADER
    assert nofollow is not None
    assert nofollow.source is PageSource.META
    assert said.statements == statements


class TestTheMostRestrictiveDecides:
    def test_of_dates(self) -> None:
        early, late = "25 Jun 2010 00:00:00 GMT", "26 Jun 2010 00:00:00 GMT"
        for first, second in ((early, late), (late, early)):
            said = asked(f"unavailable_after: {first}", f"unavailable_after: {second}")
            assert said.directives == {"unavailable_after": early.lower()}

    def test_of_yes_and_no(self) -> None:
        assert asked("index, noindex, all, follow").directives == {"noindex": ""}

    def test_of_equals_the_first(self) -> None:
        said = asked("noindex", "none").says("noindex")
        assert said is not None
        assert said.text == "noindex"


def test_for_json_each_comes_with_its_source_and_text() -> None:
    statements = (*header_statements("none"), *meta_statements("robots", "noai"))
    assert PageDirectives.of(statements, "Foobot").as_json() == {
        "noindex": {"value": "", "source": "X-Robots-Tag", "text": "none"},
        "nofollow": {"value": "", "source": "X-Robots-Tag", "text": "none"},
        "noai": {"value": "", "source": "meta", "text": "noai"},
    }
    assert PageDirectives().as_json() == {}
    assert PageDirectives().directives == {}


def test_equal_statements_count_once() -> None:
    assert len(asked("noindex, noindex", "noindex").statements) == 1


def test_directives_come_in_one_order() -> None:
    one = asked("noai, noindex, unavailable_after: 25 Jun 2010, nofollow")
    other = asked("nofollow, unavailable_after: 25 Jun 2010, noindex, noai")
    expected = ["noindex", "nofollow", "noai", "unavailable_after"]
    assert list(one.directives) == list(other.directives) == expected


class TestAgainstIndexing:
    @pytest.mark.parametrize("value", ["noindex", "none", "foobot: noindex"])
    def test_always(self, value: str) -> None:
        said = asked(value).against_indexing(0)
        assert said is not None
        assert said.text == value

    def test_from_a_date_on(self) -> None:
        said = asked("unavailable_after: 2010-06-25")
        assert said.against_indexing(JUNE_25 - 1) is None
        over = said.against_indexing(JUNE_25)
        assert over is not None
        assert over.directive == "unavailable_after"

    def test_from_a_date_on_in_whatever_case_it_is_kept(self) -> None:
        said = asked("unavailable_after: 2010-W25-5")
        assert said.against_indexing(JUNE_25 - 1) is None

    def test_noindex_is_named_before_a_date(self) -> None:
        said = asked("unavailable_after: 2010-06-25, noindex").against_indexing(JUNE_25)
        assert said is not None
        assert said.directive == "noindex"

    @pytest.mark.parametrize("value", ["", "nofollow", "noarchive, noai", "barbot: none"])
    def test_not_otherwise(self, value: str) -> None:
        assert asked(value).against_indexing(JUNE_25) is None


class TestAgainstFollowing:
    @pytest.mark.parametrize("value", ["nofollow", "none", "foobot: nofollow"])
    def test_a_page_says_so(self, value: str) -> None:
        said = asked(value).against_following()
        assert said is not None
        assert said.text == value

    @pytest.mark.parametrize("value", ["", "noindex", "follow", "barbot: nofollow"])
    def test_a_page_does_not(self, value: str) -> None:
        assert asked(value).against_following() is None


def test_a_page_that_says_nothing_is_false() -> None:
    assert not PageDirectives()
    assert not asked("all", "barbot: noindex")
    assert asked("noai")
