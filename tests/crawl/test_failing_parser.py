"""A parser that raises is counted each time, and told once."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import pytest
from scrapy.statscollectors import DummyStatsCollector
from scrapy.utils.test import get_crawler

from scrapy_robots_plus.crawl import stats
from scrapy_robots_plus.origins.parsers import (
    _MOST_SAID,
    ParsedFile,
    Parsers,
    RobotsParser,
    Uses,
    answer_or,
)
from scrapy_robots_plus.origins.policy import policy_of_any_site
from scrapy_robots_plus.protocol.access import Access
from scrapy_robots_plus.protocol.dialect import RFC9309
from scrapy_robots_plus.settings.robots_settings import RobotsSettings

if TYPE_CHECKING:
    from collections.abc import Callable

    from typing_extensions import Self


def failing(text: str) -> Callable[[], str]:
    def fail() -> str:
        raise RuntimeError(text)

    return fail


def test_one_that_does_not_raise_is_neither_counted_nor_replaced() -> None:
    collector = get_crawler().stats
    assert collector is not None
    assert answer_or(lambda: "answer", "", "http://a/", collector) == "answer"
    assert collector.get_stats() == {}


def test_the_first_failure_of_a_crawl_is_an_error_and_the_others_are_details(
    caplog: pytest.LogCaptureFixture,
) -> None:
    collector = get_crawler().stats
    assert collector is not None
    with caplog.at_level(logging.DEBUG):
        given = [answer_or(failing(text), "none", f"http://{text}/", collector) for text in "ab"]
    assert given == ["none", "none"]
    assert collector.get_stats() == {stats.PARSER_ERRORS: 2}
    assert [each.levelname for each in caplog.records] == ["ERROR", "DEBUG"]
    assert {each.name for each in caplog.records} == {answer_or.__module__}
    first, second = (each.getMessage().splitlines() for each in caplog.records)
    assert first[0] == (
        "ROBOTSTXT_PARSER failed on http://a/. Further failures are counted as "
        f"{stats.PARSER_ERRORS} and logged at DEBUG."
    )
    assert second[0] == "ROBOTSTXT_PARSER failed on http://b/."
    for lines, text in ((first, "a"), (second, "b")):
        assert lines[1] == "Traceback (most recent call last):"
        assert lines[-1] == f"RuntimeError: {text}"


def test_without_stats_each_failure_is_an_error(caplog: pytest.LogCaptureFixture) -> None:
    collector = DummyStatsCollector(get_crawler())
    for text in "ab":
        answer_or(failing(text), "", f"http://{text}/", collector)
    assert [each.levelname for each in caplog.records] == ["ERROR", "ERROR"]


def test_what_a_site_sent_cannot_write_to_the_terminal(caplog: pytest.LogCaptureFixture) -> None:
    collector = get_crawler().stats
    assert collector is not None
    answer_or(failing("\x1b[31m"), "", "http://a/\x1b[31m", collector)
    assert "\x1b" not in caplog.text
    assert r"http://a/\x1b[31m" in caplog.text


class FailsToRead(RobotsParser):
    @classmethod
    def from_crawler(cls, crawler: Any, robotstxt_body: bytes, charset: str | None = None) -> Self:
        if robotstxt_body:
            raise RuntimeError("no file")
        return super().from_crawler(crawler, robotstxt_body, charset)


def test_a_file_that_a_parser_of_a_project_fails_to_read_is_none_and_counted() -> None:
    crawler = get_crawler(settings_dict={"ROBOTSTXT_PARSER": FailsToRead})
    assert crawler.stats is not None
    file, error = Parsers(crawler).file_of(b"User-agent: *", None, RFC9309, "http://a/")
    assert file is None
    assert error == "ROBOTSTXT_PARSER failed: RuntimeError: no file"
    assert crawler.stats.get_value(stats.PARSER_ERRORS) == 1


def test_what_a_short_file_says_about_uses_is_kept_and_what_a_long_one_says_is_not() -> None:
    asked: tuple[str, tuple[str, ...]] = ("bot", ())
    licenses = "a" * (_MOST_SAID - 1), "b"
    assert Uses(asked, (), None, licenses).is_short
    assert not Uses(asked, (), None, (*licenses, "c")).is_short


class FailsAboutUses(RobotsParser):
    def uses(self, user_agent: object, use_tokens: tuple[str, ...] = ()) -> Uses:
        raise RuntimeError("no uses")


def test_a_parser_of_a_project_that_fails_about_uses_and_licences_denies_nothing() -> None:
    collector = get_crawler().stats
    assert collector is not None
    file = ParsedFile(FailsAboutUses(b"License: https://a/l.xml\nUser-agent: *\nAllow: /"))
    crawler = get_crawler(settings_dict={"ROBOTSTXT_OBEY": True})
    settings = RobotsSettings.from_settings(crawler.settings)
    policy = policy_of_any_site(Access.RULES, file, settings, collector)
    assert policy.licenses("bot") == ()
    assert policy.is_silent("bot")
    assert not policy.preferences("http://site.example/a", "bot")
    assert policy.verdict("http://site.example/a", "bot").allowed
    assert collector.get_value(stats.PARSER_ERRORS) == 3
