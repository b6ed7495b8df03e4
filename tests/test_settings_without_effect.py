"""A setting that has no effect, because another one is off, is told at the start."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import pytest_twisted
from scrapy.settings import Settings

from scrapy_robots_plus.settings.declared import DECLARED, NEEDS
from scrapy_robots_plus.settings.robots_settings import RobotsSettings, settings_without_effect

from .crawling import crawl

if TYPE_CHECKING:
    from .sites import Sites

OFF: dict[str, Any] = {"ROBOTSTXT_OBEY": False}
CASES: list[tuple[str, Any, dict[str, Any], str]] = [
    ("ROBOTS_AUDIT_LOG_ALLOWED", True, {}, "ROBOTS_AUDIT_LOG is not set"),
    ("ROBOTS_AUDIT_BODIES", "files", {}, "ROBOTS_AUDIT_LOG is not set"),
    ("ROBOTS_AUDIT_LOG", "a.jsonl", OFF, "ROBOTSTXT_OBEY is False"),
    ("ROBOTS_AUDIT_WARC", "a.warc", OFF, "ROBOTSTXT_OBEY is False"),
    ("ROBOTS_SUMMARY_FILE", "a.json", OFF, "ROBOTSTXT_OBEY is False"),
    ("ROBOTS_DEFER", 600, OFF, "ROBOTSTXT_OBEY is False"),
    ("ROBOTS_AI_POLICY", "skip", {}, "ROBOTS_AI_USES is empty"),
    ("ROBOTS_AI_TOKENS", ["Foo"], OFF, "ROBOTSTXT_OBEY is False"),
    ("ROBOTS_CRAWL_DELAY_MAX", 10, OFF, "ROBOTS_CRAWL_DELAY_OBEY is not set"),
    ("ROBOTS_CRAWL_DELAY_TOO_LONG", "skip", OFF, "ROBOTS_CRAWL_DELAY_OBEY is not set"),
    (
        "ROBOTS_CRAWL_DELAY_MAX",
        10,
        {"ROBOTS_CRAWL_DELAY_OBEY": False},
        "ROBOTS_CRAWL_DELAY_OBEY is False",
    ),
    ("ROBOTS_GIVE_UP_AFTER", 2, {"ROBOTS_BACKOFF_MAX": 0}, "ROBOTS_BACKOFF_MAX is 0"),
    ("ROBOTS_VISIT_TIME", "obey", OFF, "ROBOTSTXT_OBEY is False"),
    ("ROBOTS_WALLS", "stop", OFF, "ROBOTSTXT_OBEY is False"),
    ("ROBOTS_SITEMAPS", True, OFF, "ROBOTSTXT_OBEY is False"),
    ("ROBOTS_CLEAN_PARAM", True, OFF, "ROBOTSTXT_OBEY is False"),
]


def told(**settings: Any) -> list[str]:
    given = Settings({"ROBOTSTXT_OBEY": True, **settings})
    return list(settings_without_effect(given, RobotsSettings.from_settings(given)))


@pytest.mark.parametrize(("name", "value", "others", "because"), CASES)
def test_both_are_named(name: str, value: Any, others: dict[str, Any], because: str) -> None:
    (text,) = (text for text in told(**{name: value}, **others) if text.startswith(name))
    assert text.partition(" = ")[0] == name
    assert text.endswith(f" has no effect, because {because}.")


def test_each_need_has_a_case() -> None:
    needs = {(each.name, NEEDS[each.need]) for each in DECLARED.values() if each.need}
    assert {(name, because.partition(" is ")[0]) for name, _, _, because in CASES} == needs


def test_defaults_and_settings_with_an_effect_are_not_told() -> None:
    assert told() == []
    assert told(ROBOTSTXT_OBEY=False) == []
    in_use = {"ROBOTS_AUDIT_LOG": "a", "ROBOTS_DEFER": 3600, "ROBOTS_CLEAN_PARAM": True}
    sets = {name: value for name, value, others, _ in CASES if not others}
    assert told(**{**sets, **in_use, "ROBOTS_AI_USES": ["train-ai"]}) == []


def test_what_an_override_makes_effective_is_not_told() -> None:
    override: dict[str, Any] = {"a.example": {"ai_uses": ["train-ai"], "reason": "x"}}
    assert told(ROBOTS_AI_POLICY="skip", ROBOTS_OVERRIDES=override) == []
    override = {"a.example": {"obey": True, "reason": "x"}}
    assert told(**OFF, ROBOTS_DEFER=3600, ROBOTS_OVERRIDES=override) == []


@pytest_twisted.ensureDeferred
async def test_a_crawl_warns_once_at_its_start(
    sites: Sites, caplog: pytest.LogCaptureFixture
) -> None:
    await crawl(sites.host("").url("/"), ROBOTS_AUDIT_LOG_ALLOWED=0.5)
    warned = [each.getMessage() for each in caplog.records if each.levelname == "WARNING"]
    assert warned == [
        "ROBOTS_AUDIT_LOG_ALLOWED = 0.5 has no effect, because ROBOTS_AUDIT_LOG is not set.",
    ]


@pytest_twisted.ensureDeferred
async def test_so_does_one_that_does_not_obey(
    sites: Sites, caplog: pytest.LogCaptureFixture
) -> None:
    await crawl(sites.host("").url("/"), **OFF, ROBOTS_CLEAN_PARAM=True)
    text = "ROBOTS_CLEAN_PARAM = True has no effect, because ROBOTSTXT_OBEY is False."
    assert caplog.text.count(text) == 1
