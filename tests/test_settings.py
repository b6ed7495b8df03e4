"""Every setting is checked at the start: what is wrong is told with its name and what is right."""

from __future__ import annotations

import logging
from typing import Any

import pytest
import pytest_twisted
from scrapy.settings import Settings

from scrapy_robots_plus import RobotsSettingsError
from scrapy_robots_plus.crawl.settings import RobotsSettings, names, unknown_settings
from scrapy_robots_plus.policy.access import PRESETS, Access
from scrapy_robots_plus.policy.delay import TooLong
from scrapy_robots_plus.protocol import RFC9309

from .crawling import crawl, make_crawler, run
from .sites import Sites

DAY = "accepted is a number of seconds from 0 to 86,400"
BOOLEAN = "accepted are True and False"
DICT = "accepted is a dict whose keys are strings"
AGENT = (
    "accepted is a product token (Foobot) or a User-Agent header, as a string, or a list of them "
    "in order of preference"
)
TTL = "accepted is a number of seconds from 1 to 86,400 (RFC 9309 2.4: no longer than 24 hours)"
STALE = "accepted is a number of seconds from 0 to 315,360,000"
BYTES = (
    "accepted is a whole number of bytes from 512,000 to 1,073,741,824 "
    "(RFC 9309 2.5: at least 500 KiB)"
)
ORIGINS = "accepted is a whole number of origins from 1 to 100,000,000"
TIMEOUT = "accepted is a number of seconds from 0.001 to 86,400"
DELAY = "accepted is a number of seconds from 0.001 to 315,360,000"
RETRIES = "accepted is a whole number of retries from 0 to 100"
PRESET_NAMES = "the presets are rfc9309, mk1996, fail-open, fail-closed"
WORDS = "accepted are 'allow' and 'disallow'"
KEYS = (
    "is no status (404), class (1xx, 2xx, 3xx, 4xx, 5xx, other) or failure (timeout, dns, "
    "connection, cut, undecodable, redirects, bad_redirect, error)"
)

WRONG: list[tuple[str, Any, str]] = [
    ("ROBOTSTXT_OBEY", "maybe", BOOLEAN),
    ("ROBOTSTXT_OBEY", 2, BOOLEAN),
    ("ROBOTSTXT_USER_AGENT", 5, AGENT),
    ("ROBOTSTXT_USER_AGENT", [], AGENT),
    ("ROBOTSTXT_USER_AGENT", ["Foobot", ""], AGENT),
    ("ROBOTSTXT_USER_AGENT", ["Foobot", 5], AGENT),
    ("ROBOTSTXT_USER_AGENT", {"Foobot": 1}, AGENT),
    ("ROBOTSTXT_USER_AGENT", "[]", AGENT),
    ("ROBOTSTXT_USER_AGENT", '["Foobot"', "not JSON: "),
    ("ROBOTS_STATUS_POLICY", "rfc", f"'rfc' is no preset; {PRESET_NAMES}"),
    ("ROBOTS_STATUS_POLICY", "", f"'' is no preset; {PRESET_NAMES}"),
    ("ROBOTS_STATUS_POLICY", 404, "404 is neither the name of a preset nor a dict"),
    ("ROBOTS_STATUS_POLICY", {"preset": "strict"}, f"'strict' is no preset; {PRESET_NAMES}"),
    ("ROBOTS_STATUS_POLICY", {"4x": "allow"}, f"'4x' {KEYS}"),
    ("ROBOTS_STATUS_POLICY", {"99": "allow"}, f"'99' {KEYS}"),
    ("ROBOTS_STATUS_POLICY", {"offline": "allow"}, f"'offline' {KEYS}"),
    ("ROBOTS_STATUS_POLICY", {"404": "rules"}, f"'404' is 'rules'; {WORDS}"),
    ("ROBOTS_STATUS_POLICY", {"404": True}, f"'404' is True; {WORDS}"),
    ("ROBOTS_STATUS_POLICY", '{"404": ', "not JSON: "),
    ("ROBOTS_TTL", 0, TTL),
    ("ROBOTS_TTL", 86_401, TTL),
    ("ROBOTS_TTL", "a day", TTL),
    ("ROBOTS_TTL", True, TTL),
    ("ROBOTS_TTL", float("nan"), TTL),
    ("ROBOTS_TTL", 10**400, TTL),
    ("ROBOTS_TTL_MIN", 0, TTL),
    ("ROBOTS_TTL_MIN", 86_401, TTL),
    ("ROBOTS_TTL_MAX", 604_800, TTL),
    ("ROBOTS_TTL_MAX", 299.0, "accepted is at least ROBOTS_TTL_MIN (300)"),
    ("ROBOTS_STALE_MAX", -1, STALE),
    ("ROBOTS_STALE_MAX", "for ever", STALE),
    (
        "ROBOTS_DIALECT",
        "RFC9310",
        "unknown robots.txt dialect 'RFC9310': it is one of RFC9309, GOOGLE, ",
    ),
    ("ROBOTS_DIALECT", 9309, "accepted is the name of a dialect or a Dialect"),
    ("ROBOTS_STORE", "mysql://x", "'mysql://x' names no store; accepted are 'memory' and 'sqlite:"),
    ("ROBOTS_STORE", "sqlite:", "'sqlite:' needs a path; accepted are 'memory' and 'sqlite:"),
    ("ROBOTS_STORE", 5, "5 is not a string; accepted are 'memory' and 'sqlite:"),
    ("ROBOTS_STORE_MAX", 0, "accepted is a whole number of records from 1 to 1,000,000,000"),
    ("ROBOTS_ERROR_TTL", -1, DAY),
    ("ROBOTS_ERROR_TTL", 3_601.0, "accepted is at most ROBOTS_ERROR_TTL_MAX (3600)"),
    ("ROBOTS_ERROR_TTL_MAX", 1e9, DAY),
    ("ROBOTS_CACHE_SIZE", 0, ORIGINS),
    ("ROBOTS_CACHE_SIZE", 1.5, ORIGINS),
    ("ROBOTS_CACHE_SIZE", 10**400, ORIGINS),
    ("ROBOTS_FETCH_TIMEOUT", 0, TIMEOUT),
    ("ROBOTS_FETCH_TIMEOUT", float("inf"), TIMEOUT),
    ("ROBOTS_FETCH_RETRIES", -1, RETRIES),
    ("ROBOTS_FETCH_RETRIES", "many", RETRIES),
    ("ROBOTS_FETCH_MAX_BYTES", 500_000, BYTES),
    ("ROBOTS_FETCH_MAX_BYTES", 2**31, BYTES),
    ("ROBOTS_FETCH_META", ["proxy"], DICT),
    ("ROBOTS_FETCH_META", {1: 2}, DICT),
    ("ROBOTS_FETCH_META", "proxy", DICT),
    ("ROBOTS_FETCH_META", '{"proxy"}', "not JSON: "),
    ("ROBOTS_FETCH_HEADERS", "X-Token: 1", DICT),
    (
        "ROBOTS_FETCH_HEADERS",
        {"X-Token": 1},
        "the header 'X-Token' is neither a string nor a list of strings",
    ),
    ("ROBOTS_CRAWL_DELAY", "sometimes", BOOLEAN),
    ("ROBOTS_CRAWL_DELAY_MAX", 0, DELAY),
    ("ROBOTS_CRAWL_DELAY_MAX", -5, DELAY),
    ("ROBOTS_CRAWL_DELAY_TOO_LONG", "wait", "accepted are 'clamp', 'skip', 'obey'"),
    ("ROBOTS_CRAWL_DELAY_TOO_LONG", True, "accepted are 'clamp', 'skip', 'obey'"),
    ("ROBOTS_FETCH_CONCURRENCY", 0, "accepted is a whole number of fetches from 1 to 10,000"),
    ("ROBOTS_MAX_WAITING", -1, "accepted is a whole number of requests from 0 to 1,000,000"),
    ("ROBOTS_UNREACHABLE", "wait", "accepted are 'drop', 'defer'"),
    ("ROBOTS_DEFER_MAX", -1, STALE),
    ("ROBOTS_RETRY_AFTER", "always", BOOLEAN),
    ("ROBOTS_RETRY_AFTER_MAX", "long", STALE),
    ("ROBOTS_VISIT_TIME", "night", "accepted are 'ignore', 'obey'"),
]


def settings_with(**values: Any) -> RobotsSettings:
    return RobotsSettings.from_settings(Settings(values))


@pytest.mark.parametrize(
    ("name", "value", "problem"), WRONG, ids=[f"{name}={value!r:.20}" for name, value, _ in WRONG]
)
def test_a_wrong_value_is_told_with_its_name_and_what_is_accepted(
    name: str, value: Any, problem: str
) -> None:
    with pytest.raises(RobotsSettingsError) as caught:
        settings_with(**{name: value})
    assert str(caught.value).startswith(f"{name} = {value!r}: {problem}")
    assert caught.value.name == name


def test_every_setting_has_a_wrong_value_in_these_tests() -> None:
    assert {name for name, _, _ in WRONG} == set(names())


def test_without_settings_all_are_at_their_defaults() -> None:
    settings = settings_with()
    assert settings.obey is False  # Scrapy's own default, which the add-on changes
    unset = dict.fromkeys(set(names()) - {"ROBOTSTXT_OBEY"})
    assert settings == settings_with(**unset)
    assert settings.user_agent is None
    assert settings.status_policy == PRESETS["rfc9309"]
    assert (settings.ttl, settings.error_ttl, settings.error_ttl_max) == (86_400, 60, 3_600)
    assert (settings.ttl_min, settings.ttl_max, settings.stale_max) == (300, 86_400, 30 * 86_400)
    assert (settings.store, settings.store_max) == (None, 100_000)
    assert settings.dialect is RFC9309
    assert settings.cache_size == 10_000
    assert (settings.fetch_timeout, settings.fetch_retries) == (15, 1)
    assert settings.fetch_max_bytes == 512_000
    assert (settings.fetch_meta, settings.fetch_headers) == ({}, {})
    assert settings.crawl_delay is None
    assert settings.crawl_delay_max == 60
    assert settings.crawl_delay_too_long is TooLong.CLAMP


def test_strings_are_read_as_they_come_from_the_command_line() -> None:
    settings = settings_with(
        ROBOTSTXT_OBEY="True",
        ROBOTS_CRAWL_DELAY="0",
        ROBOTS_TTL="3600.5",
        ROBOTS_CACHE_SIZE="50",
        ROBOTS_CRAWL_DELAY_TOO_LONG="skip",
        ROBOTS_STATUS_POLICY='{"preset": "mk1996", "5xx": "disallow", "timeout": "disallow"}',
        ROBOTS_FETCH_META='{"proxy": "http://127.0.0.1:3128"}',
        ROBOTS_FETCH_HEADERS='{"X-Token": ["a", "b"]}',
    )
    assert settings.obey is True
    assert settings.crawl_delay is False
    assert settings.ttl == 3600.5
    assert settings.cache_size == 50
    assert settings.crawl_delay_too_long is TooLong.SKIP
    assert settings.status_policy["5xx"] is settings.status_policy["timeout"] is Access.UNREACHABLE
    assert settings.status_policy["401"] is Access.UNREACHABLE
    assert settings.status_policy["dns"] is Access.UNAVAILABLE
    assert settings.fetch_meta == {"proxy": "http://127.0.0.1:3128"}
    assert settings.fetch_headers == {"X-Token": ["a", "b"]}


@pytest.mark.parametrize(
    "names", [["Foobot-News", "Foobot"], ("Foobot-News", "Foobot"), '["Foobot-News", "Foobot"]']
)
def test_a_crawler_may_have_several_names(names: object) -> None:
    assert settings_with(ROBOTSTXT_USER_AGENT=names).user_agent == ("Foobot-News", "Foobot")


def test_statuses_in_a_dict_may_be_numbers() -> None:
    policy = settings_with(ROBOTS_STATUS_POLICY={403: "disallow"}).status_policy
    assert policy["403"] is Access.UNREACHABLE
    assert policy["4xx"] is Access.UNAVAILABLE


@pytest.mark.parametrize("empty", [None, "", "None"])
@pytest.mark.parametrize("obey", [True, False])
def test_an_unset_crawl_delay_follows_robotstxt_obey(empty: str | None, obey: bool) -> None:
    assert settings_with(ROBOTS_CRAWL_DELAY=empty, ROBOTSTXT_OBEY=obey).keeps_delays is obey


def test_unknown_settings_are_found_with_the_nearest_name() -> None:
    settings = Settings(
        {
            "ROBOTS_CRAWL_DELAY_MAXIMUM": 5,
            "ROBOTS_WHATEVER_ELSE_THERE_MIGHT_BE": 1,
            "ROBOTS_TTL": 5,
            "ROBOTICS": 1,
        }
    )
    assert unknown_settings(settings) == {
        "ROBOTS_CRAWL_DELAY_MAXIMUM": "ROBOTS_CRAWL_DELAY_MAX",
        "ROBOTS_WHATEVER_ELSE_THERE_MIGHT_BE": None,
    }


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("ROBOTS_CRAWL_DELY", "ROBOTS_CRAWL_DELAY"),
        ("ROBOTS_CACHESIZE", "ROBOTS_CACHE_SIZE"),
        ("ROBOTS_TTLS", "ROBOTS_TTL"),
        ("ROBOTS_OBEY", "ROBOTSTXT_OBEY"),
        ("ROBOTS_USER_AGENT", "ROBOTSTXT_USER_AGENT"),
        ("ROBOTS_QQQ", None),
        ("ROBOTS_T", None),
        ("ROBOTS_AUDIT", None),
        ("ROBOTS_", None),
    ],
)
def test_a_name_is_near_by_what_follows_the_prefix(name: str, nearest: str | None) -> None:
    assert unknown_settings(Settings({name: 1})) == {name: nearest}


@pytest_twisted.ensureDeferred
async def test_an_unknown_setting_is_reported_in_the_log(
    sites: Sites, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "scrapy_robots_plus"):
        await crawl(sites.host().url(), ROBOTS_STATUS_POLICIES="mk1996")
    assert (
        "There is no setting ROBOTS_STATUS_POLICIES; did you mean ROBOTS_STATUS_POLICY?"
        in caplog.messages
    )


@pytest_twisted.ensureDeferred
async def test_a_wrong_setting_stops_the_crawl_before_anything_is_fetched(sites: Sites) -> None:
    host = sites.host()
    crawler = make_crawler(ROBOTS_TTL="a day")
    with pytest.raises(RobotsSettingsError, match=r"^ROBOTS_TTL = 'a day': accepted is a number"):
        await run(crawler, urls=[host.url()])
    assert host.hits == []
