"""A setting that has no effect, because another one is off, is told at the start."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import pytest_twisted
from scrapy.settings import Settings

from scrapy_robots_plus.settings.all_settings import DECLARED, NEEDS
from scrapy_robots_plus.settings.robots_settings import (
    PRESETS,
    RobotsSettings,
    report_settings_without_effect,
)

from .crawling import crawl

if TYPE_CHECKING:
    from collections.abc import Callable

    from .sites import Sites

    Told = Callable[..., list[str]]

OFF: dict[str, Any] = {"ROBOTSTXT_OBEY": False}
FILE = "ROBOTSTXT_OBEY or ROBOTS_CRAWL_DELAY_OBEY"
IN_USE = "ROBOTSTXT_OBEY, a delay, ROBOTS_AI_USES or ROBOTS_CONTENT_USE"
CASES: list[tuple[str, Any, dict[str, Any], str]] = [
    ("ROBOTS_AUDIT_LOG_ALLOWED", True, {}, "ROBOTS_AUDIT_LOG"),
    ("ROBOTS_AUDIT_BODIES", "files", {}, "ROBOTS_AUDIT_LOG"),
    ("ROBOTS_AUDIT_LOG", "a.jsonl", OFF, IN_USE),
    ("ROBOTS_AUDIT_WARC", "a.warc", OFF, IN_USE),
    ("ROBOTS_SUMMARY_FILE", "a.json", OFF, IN_USE),
    ("ROBOTS_DEFER", 600, OFF, "ROBOTSTXT_OBEY"),
    ("ROBOTS_AI_POLICY", "skip", {}, "ROBOTS_AI_USES or ROBOTS_CONTENT_USE"),
    ("ROBOTS_AI_TOKENS", ["Foo"], OFF, "ROBOTSTXT_OBEY"),
    ("ROBOTS_CRAWL_DELAY_MAX", 10, OFF, "ROBOTS_CRAWL_DELAY_OBEY"),
    ("ROBOTS_CRAWL_DELAY_TOO_LONG", "skip", OFF, "ROBOTS_CRAWL_DELAY_OBEY"),
    ("ROBOTS_GIVE_UP_AFTER", 2, {"ROBOTS_BACKOFF_MAX": 0}, "ROBOTS_BACKOFF_MAX"),
    ("ROBOTS_VISIT_TIME", "obey", OFF, FILE),
    ("ROBOTS_WALLS", "stop", OFF, "ROBOTSTXT_OBEY"),
    ("ROBOTS_SITEMAPS", True, OFF, FILE),
    ("ROBOTS_CLEAN_PARAM", True, OFF, FILE),
]


@pytest.fixture
def told(caplog: pytest.LogCaptureFixture) -> Told:
    def told(**settings: Any) -> list[str]:
        given = Settings({"ROBOTSTXT_OBEY": True, **settings})
        caplog.clear()
        report_settings_without_effect(RobotsSettings.from_settings(given))
        return caplog.messages

    return told


@pytest.mark.parametrize(("name", "value", "others", "need"), CASES)
def test_both_are_named(
    name: str, value: Any, others: dict[str, Any], need: str, told: Told
) -> None:
    assert told(**{name: value}, **others) == [f"{name} has no effect without {need}"]


def test_each_need_has_a_case() -> None:
    needs = {(each.name, NEEDS[each.need]) for each in DECLARED.values() if each.need}
    assert {(name, need) for name, _, _, need in CASES} == needs


def test_defaults_and_settings_with_an_effect_are_not_told(told: Told) -> None:
    assert told() == []
    assert told(ROBOTSTXT_OBEY=False) == []
    in_use = {"ROBOTS_AUDIT_LOG": "a", "ROBOTS_DEFER": 3600, "ROBOTS_CLEAN_PARAM": True}
    sets = {name: value for name, value, others, _ in CASES if not others}
    assert told(**{**sets, **in_use, "ROBOTS_AI_USES": ["train-ai"]}) == []


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize(
    "off", [OFF, {"ROBOTS_CRAWL_DELAY_OBEY": False}, {"ROBOTS_BACKOFF_MAX": 0}]
)
def test_what_a_preset_sets_is_not_told(preset: str, off: dict[str, Any], told: Told) -> None:
    """Nobody could find it in the settings of the project."""
    assert told(ROBOTS_POLITENESS=preset, **off) == []


def test_what_an_override_makes_effective_is_not_told(told: Told) -> None:
    override: dict[str, Any] = {"a.example": {"ai_uses": ["train-ai"], "reason": "x"}}
    assert told(ROBOTS_AI_POLICY="skip", ROBOTS_OVERRIDES=override) == []
    override = {"a.example": {"obey": True, "reason": "x"}}
    assert told(**OFF, ROBOTS_DEFER=3600, ROBOTS_OVERRIDES=override) == []


@pytest.mark.parametrize("need", ["obey", "needs_file", "is_on"])
def test_without_rules_only_what_needs_no_rules_has_an_effect(need: str, told: Told) -> None:
    """A robots.txt is read for its delays all the same."""
    in_need = {each.name for each in DECLARED.values() if each.need == need}
    for name, value, _, needed in CASES:
        expected = [f"{name} has no effect without {needed}"] if need == "obey" else []
        if name in in_need:
            assert told(**{name: value}, **OFF, ROBOTS_CRAWL_DELAY_OBEY=True) == expected


@pytest_twisted.ensureDeferred
async def test_a_crawl_warns_once_at_its_start(
    sites: Sites, caplog: pytest.LogCaptureFixture
) -> None:
    await crawl(sites.host("").url("/"), ROBOTS_AUDIT_LOG_ALLOWED=0.5)
    warned = [each.getMessage() for each in caplog.records if each.levelname == "WARNING"]
    assert warned == ["ROBOTS_AUDIT_LOG_ALLOWED has no effect without ROBOTS_AUDIT_LOG"]


@pytest_twisted.ensureDeferred
async def test_so_does_one_that_does_not_obey(
    sites: Sites, caplog: pytest.LogCaptureFixture
) -> None:
    await crawl(sites.host("").url("/"), **OFF, ROBOTS_CLEAN_PARAM=True)
    assert caplog.text.count(f"ROBOTS_CLEAN_PARAM has no effect without {FILE}") == 1
