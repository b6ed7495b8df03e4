"""Every setting is checked at the start: what is wrong is told with its name and what is right."""

from __future__ import annotations

import ast
import logging
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import pytest_twisted
from scrapy.settings import Settings

from docs.tables import docs_of_settings
from scrapy_robots_plus import RobotsSettingsError
from scrapy_robots_plus.protocol import RFC9309
from scrapy_robots_plus.protocol.access import PRESETS, Access
from scrapy_robots_plus.protocol.http_caching import lifetime
from scrapy_robots_plus.protocol.printable import cut
from scrapy_robots_plus.settings.all_settings import DECLARED, names
from scrapy_robots_plus.settings.checks import number, whole_number
from scrapy_robots_plus.settings.robots_settings import RobotsSettings, report_unknown_settings

from .crawling import crawl, make_crawler, run
from .sites import Sites

if TYPE_CHECKING:
    from scrapy_robots_plus.settings.checks import Check

BOOLEAN = "expected True or False"
DICT = "expected a dict whose keys are strings; headers in it is one, too"
AGENT = (
    "expected a product token (Foobot), a User-Agent header, or a list of them in order of "
    "preference"
)
TTL = "expected two numbers of seconds between 1 and 86,400, the smaller first"
INTERVAL = "expected two numbers of seconds between 0 and 86,400, the smaller first"
STALE = "expected a number of seconds between 0 and 315,360,000"
BYTES = "expected a whole number of bytes between 512,000 and 1,073,741,824"
ORIGINS = "expected a whole number of origins between 1 and 100,000,000"
TIMEOUT = "expected a number of seconds between 0.001 and 86,400"
RETRIES = "expected a whole number of retries between 0 and 100"
PRESET_NAMES = "choose one of rfc9309, mk1996, fail-open, fail-closed"
WORDS = "expected 'allow' or 'disallow'"
KEYS = (
    "is not a status (404), a class (1xx, 2xx, 3xx, 4xx, 5xx, other) or a failure (timeout, dns, "
    "connection, cut, undecodable, challenge, redirects, bad_redirect, error)"
)

AI_USES = "expected a list of train-ai, ai-use, search"
USE_TOKENS = "expected a list of product tokens, such as Google-Extended"
FILE_NAME = "expected the path of a file; %(name)s and %(time)s may be in it, and %% for a %"

WRONG: list[tuple[str, Any, str]] = [
    ("ROBOTSTXT_OBEY", "maybe", BOOLEAN),
    ("ROBOTSTXT_OBEY", 2, BOOLEAN),
    ("ROBOTSTXT_USER_AGENT", 5, AGENT),
    ("ROBOTSTXT_USER_AGENT", [], AGENT),
    ("ROBOTSTXT_USER_AGENT", ["Foobot", ""], AGENT),
    ("ROBOTSTXT_USER_AGENT", ["Foobot", 5], AGENT),
    ("ROBOTSTXT_USER_AGENT", {"Foobot": 1}, AGENT),
    ("ROBOTSTXT_USER_AGENT", "  ", AGENT),
    ("ROBOTSTXT_USER_AGENT", "Foobot,Barbot", AGENT),
    ("ROBOTSTXT_USER_AGENT", '["Foobot", "Barbot"]', AGENT),
    ("ROBOTS_OVERRIDES", '{"a.example": ', "not valid JSON: "),
    ("ROBOTS_MODE", "dry", "expected 'obey' or 'observe'"),
    ("ROBOTS_MODE", True, "expected 'obey' or 'observe'"),
    ("ROBOTS_AI_USES", "training", AI_USES),
    ("ROBOTS_AI_USES", ["train-ai", "ai-train"], AI_USES),
    ("ROBOTS_AI_USES", 5, AI_USES),
    ("ROBOTS_AI_USES", ["train-ai", None], AI_USES),
    ("ROBOTS_CONTENT_USE", "some", "expected 'immediate', 'reference' or 'full'"),
    ("ROBOTS_AI_POLICY", "obey", "expected 'observe' or 'skip'"),
    ("ROBOTS_AI_TOKENS", "*", USE_TOKENS),
    ("ROBOTS_AI_TOKENS", ["Google-Extended", ""], USE_TOKENS),
    ("ROBOTS_AI_TOKENS", {"Google-Extended": True}, USE_TOKENS),
    ("ROBOTS_ITEM_FIELD", 5, "expected the name of a field"),
    ("ROBOTS_ITEM_FIELD", " ", "expected the name of a field"),
    ("ROBOTS_ITEM_FIELD", ":json", "expected the name of a field; "),
    ("ROBOTS_ITEM_FIELD", "robots:yaml", "expected the name of a field; "),
    ("ROBOTS_NOFOLLOW", "drop", "expected 'ignore', 'observe' or 'obey'"),
    ("ROBOTS_NOINDEX", True, "expected 'ignore', 'observe' or 'obey'"),
    ("ROBOTS_STATUS_POLICY", "rfc", f"'rfc' is not a preset; {PRESET_NAMES}"),
    ("ROBOTS_STATUS_POLICY", "", f"'' is not a preset; {PRESET_NAMES}"),
    ("ROBOTS_STATUS_POLICY", 404, "expected a dict or a preset: rfc9309, mk1996, "),
    ("ROBOTS_STATUS_POLICY", {"preset": "strict"}, f"'strict' is not a preset; {PRESET_NAMES}"),
    ("ROBOTS_STATUS_POLICY", {"4x": "allow"}, f"'4x' {KEYS}"),
    ("ROBOTS_STATUS_POLICY", {"99": "allow"}, f"'99' {KEYS}"),
    ("ROBOTS_STATUS_POLICY", {"offline": "allow"}, f"'offline' {KEYS}"),
    ("ROBOTS_STATUS_POLICY", {"404": "rules"}, f"'404' is 'rules'; {WORDS}"),
    ("ROBOTS_STATUS_POLICY", {"404": True}, f"'404' is True; {WORDS}"),
    ("ROBOTS_STATUS_POLICY", '{"404": ', "not valid JSON: "),
    ("ROBOTS_TTL", 3_600, TTL),
    ("ROBOTS_TTL", (0, 60), TTL),
    ("ROBOTS_TTL", [300, 86_401], TTL),
    ("ROBOTS_TTL", (300, 299.0), TTL),
    ("ROBOTS_TTL", "300", TTL),
    ("ROBOTS_TTL", "1,2,3", TTL),
    ("ROBOTS_TTL", "a day", TTL),
    ("ROBOTS_TTL", True, TTL),
    ("ROBOTS_TTL", (float("nan"), 60), TTL),
    ("ROBOTS_TTL", (1, 10**400), TTL),
    ("ROBOTS_STALE_MAX", -1, STALE),
    ("ROBOTS_STALE_MAX", "for ever", STALE),
    (
        "ROBOTS_DIALECT",
        "RFC9310",
        "'RFC9310' is not a dialect; choose one of RFC9309, GOOGLE",
    ),
    ("ROBOTS_DIALECT", 9309, "'9309' is not a dialect; choose one of RFC9309, GOOGLE"),
    ("ROBOTS_STORE", "mysql://x", "expected 'memory', 'sqlite:"),
    ("ROBOTS_STORE", "sqlite:", "expected 'memory', 'sqlite:"),
    ("ROBOTS_STORE", 5, "expected 'memory', 'sqlite:"),
    ("ROBOTS_STORE_MAX", 0, "expected a whole number of records between 1 and 1,000,000,000"),
    ("ROBOTS_RETRY_INTERVAL", 60, INTERVAL),
    ("ROBOTS_RETRY_INTERVAL", (-1, 60), INTERVAL),
    ("ROBOTS_RETRY_INTERVAL", (60, 1e9), INTERVAL),
    ("ROBOTS_RETRY_INTERVAL", (60, 30), INTERVAL),
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
    ("ROBOTS_FETCH_META", '{"proxy"}', "not valid JSON: "),
    ("ROBOTS_FETCH_META", {"headers": "X-Token: 1"}, DICT),
    ("ROBOTS_FETCH_META", {"headers": {1: "1"}}, DICT),
    ("ROBOTS_FETCH_META", '{"a": ' * 100_000, "not valid JSON: "),
    ("ROBOTS_CRAWL_DELAY_OBEY", "sometimes", BOOLEAN),
    ("ROBOTS_CRAWL_DELAY_MAX", -5, STALE),
    ("ROBOTS_CRAWL_DELAY_TOO_LONG", "wait", "expected 'clamp' or 'skip'"),
    ("ROBOTS_CRAWL_DELAY_TOO_LONG", True, "expected 'clamp' or 'skip'"),
    ("ROBOTS_FETCH_CONCURRENCY", 0, "expected a whole number of fetches between 1 and 10,000"),
    ("ROBOTS_WORKER_LIFETIME", 0, "expected a number of seconds between 1 and 86,400"),
    ("ROBOTS_DEFER", -1, STALE),
    ("ROBOTS_DEFER", "defer", STALE),
    ("ROBOTS_POLITENESS", "rude", "expected 'default', 'gentle' or 'archive'"),
    ("ROBOTS_DEFAULT_DELAY", -1, STALE),
    ("ROBOTS_BACKOFF_MAX", "long", STALE),
    ("ROBOTS_GIVE_UP_AFTER", 1.5, "expected a whole number of refusals between 0 and 1,000,000"),
    ("ROBOTS_SHARED_PACE", "redis", "expected 'process', 'off', 'sqlite:PATH'"),
    ("ROBOTS_SHARED_PACE", "sqlite:", "expected 'process', 'off', 'sqlite:PATH'"),
    ("ROBOTS_WORKERS", 0, "expected a whole number of crawls between 1 and 100,000"),
    ("ROBOTS_VISIT_TIME", "night", "expected 'ignore' or 'obey'"),
    ("ROBOTS_WALLS", "climb", "expected 'report' or 'stop'"),
    ("ROBOTS_SUMMARY_FILE", "robots-%(spider)s.json", FILE_NAME),
    ("ROBOTS_SUMMARY_FILE", "100% robots.json", FILE_NAME),
    ("ROBOTS_SUMMARY_FILE", "robots-%s.json", FILE_NAME),
    ("ROBOTS_SUMMARY_FILE", "robots-%(name)d.json", FILE_NAME),
    ("ROBOTS_SUMMARY_FILE", "robots-%(name", FILE_NAME),
    ("ROBOTS_SUMMARY_FILE", "summaries/", FILE_NAME),
    ("ROBOTS_SUMMARY_FILE", "robots\0.json", FILE_NAME),
    ("ROBOTS_SUMMARY_FILE", b"robots.json", FILE_NAME),
    ("ROBOTS_SUMMARY_FILE", True, FILE_NAME),
    ("ROBOTS_SUMMARY_FILE", "s3://bucket/robots.json", FILE_NAME),
    ("ROBOTS_AUDIT_LOG", "audit-%(spider)s.jsonl", FILE_NAME),
    ("ROBOTS_AUDIT_LOG", True, FILE_NAME),
    ("ROBOTS_AUDIT_LOG", "logs/", FILE_NAME),
    ("ROBOTS_SITEMAPS", "robots.txt", "expected True or False"),
    ("ROBOTS_CLEAN_PARAM", "ref", "expected True or False"),
    ("ROBOTS_AUDIT_LOG_ALLOWED", "some", "expected True, False, or a number between 0 and 1"),
    ("ROBOTS_AUDIT_LOG_ALLOWED", 1.5, "expected True, False, or a number between 0 and 1"),
    ("ROBOTS_AUDIT_LOG_ALLOWED", -0.1, "expected True, False, or a number between 0 and 1"),
    ("ROBOTS_AUDIT_LOG_ALLOWED", float("nan"), "expected True, False, or a number between 0 and"),
    ("ROBOTS_AUDIT_BODIES", "", "expected True, False, or the path of a folder"),
    ("ROBOTS_AUDIT_BODIES", 2, "expected True, False, or the path of a folder"),
    ("ROBOTS_AUDIT_BODIES", "s3://b", "expected True, False, or the path of a folder"),
    ("ROBOTS_CRAWL_DELAY_OBEY", "maybe", "expected True or False, or None"),
    ("ROBOTS_AUDIT_WARC", "robots-%d.warc", FILE_NAME),
    ("ROBOTS_AUDIT_WARC", "s3://bucket/robots.warc", FILE_NAME),
]


def settings_with(**values: Any) -> RobotsSettings:
    return RobotsSettings.from_settings(Settings(values))


@pytest.mark.parametrize(
    ("name", "value", "problem"), WRONG, ids=[f"{name}={value!r:.20}" for name, value, _ in WRONG]
)
def test_a_wrong_value_is_told_with_its_name_and_what_is_expected(
    name: str, value: Any, problem: str
) -> None:
    with pytest.raises(RobotsSettingsError) as caught:
        settings_with(**{name: value})
    assert str(caught.value).startswith(f"{name} = {cut(repr(value), 500)}: {problem}")


@pytest.mark.parametrize(
    "value",
    [
        "redis://crawler:5ec/ret@redis.example",
        "redis://crawler:5ecret@redis.example?no=option",
        " redis://:5ecret@redis.example",
        "REDIS://:5ecret@redis.example",
        "postgres://crawler:5ecret@db.example/robots",
        b"redis://:5ecret@redis.example",
    ],
)
def test_the_password_in_a_wrong_store_is_not_shown(value: Any) -> None:
    with pytest.raises(RobotsSettingsError, match="ROBOTS_STORE") as caught:
        settings_with(ROBOTS_STORE=value)
    shown = f"{caught.value} {caught.value!r}"
    assert not [part for part in ("5ec", "ret", "crawler") if part in shown]


def test_the_password_in_a_store_is_not_part_of_what_settings_look_like() -> None:
    pytest.importorskip("redis")
    settings = settings_with(ROBOTS_STORE="redis://crawler:5ecret@redis.example")
    assert "5ecret" not in repr(settings)
    assert settings.store == "redis://crawler:5ecret@redis.example"


def test_a_password_in_a_wrong_value_is_not_shown() -> None:
    with pytest.raises(RobotsSettingsError) as caught:
        settings_with(ROBOTS_SHARED_PACE="redis://user:secret@host/zero")
    assert "ROBOTS_SHARED_PACE = 'redis://***" in str(caught.value)
    assert "secret" not in f"{caught.value} {caught.value!r}"


WITH_PASSWORDS: list[tuple[str, Any]] = [
    ("ROBOTS_STORE", ["redis://user:secret@host/0"]),
    ("ROBOTS_SHARED_PACE", ["redis://user:se/secret@host/0"]),
    ("ROBOTS_FETCH_META", {"proxy": "http://user:secret@proxy.example", "headers": "a"}),
    ("ROBOTS_OVERRIDES", {"http://user:secret@site.example": {"crawl_delay": 1}}),
    ("ROBOTS_OVERRIDES", {"site.example": "http://user:secret@site.example"}),
    ("ROBOTS_OVERRIDES", {"site.example": {"user_agent": ["", "http://user:secret@a.example"]}}),
    ("ROBOTS_OVERRIDES", {"site.example": {"obay": "http://user:secret@a.example"}}),
]


@pytest.mark.parametrize(("name", "value"), WITH_PASSWORDS)
def test_no_message_shows_a_password_in_a_part_of_a_value(name: str, value: Any) -> None:
    with pytest.raises(RobotsSettingsError) as caught:
        settings_with(**{name: value})
    assert str(caught.value).startswith(name)
    assert "***" in str(caught.value)
    assert "secret" not in str(caught.value)


def test_what_is_left_of_a_wrong_url_says_what_it_was_meant_to_be() -> None:
    with pytest.raises(RobotsSettingsError) as caught:
        settings_with(ROBOTS_STORE="redis:/secret")
    assert str(caught.value).startswith(
        "ROBOTS_STORE = 'redis:***': 'redis:***' is not the URL of a Redis server; expected redis://"
    )


@pytest.mark.parametrize("word", ["OFF", "Process"])
def test_who_shares_a_pace_may_be_said_in_upper_case(word: str) -> None:
    assert settings_with(ROBOTS_SHARED_PACE=word).shared_pace == word.lower()


def test_every_setting_has_a_wrong_value_in_these_tests() -> None:
    named = {name for name, _, _ in WRONG}
    assert named == set(names()), "add a wrong value to WRONG above, with what the user is told"


def test_there_are_no_more_settings_than_anybody_wants_to_read() -> None:
    assert len(DECLARED) <= 44


def test_each_setting_is_fully_described() -> None:
    docs = docs_of_settings()
    for field, declared in DECLARED.items():
        doc, example = docs[field]
        written = declared.name.partition("_")[2].lower()
        assert written == field
        value = ast.literal_eval(example)
        assert value != declared.default
        assert settings_with(**{declared.name: value})
        assert declared.check.type
        assert doc.endswith(".")
        assert not doc.startswith(declared.name)


def test_without_settings_all_are_at_their_defaults() -> None:
    settings = settings_with()
    assert settings.obey is False  # Scrapy's own default, which the add-on changes
    assert settings_with(ROBOTSTXT_OBEY=None).obey is False
    unset = dict.fromkeys(set(names()) - {"ROBOTSTXT_OBEY"})
    assert vars(settings) == vars(settings_with(**unset))
    assert settings.user_agent is None
    assert settings.status_policy == PRESETS["rfc9309"]
    assert settings.retry_interval == (60, 3_600)
    assert (settings.ttl, settings.stale_max) == ((300, 86_400), 30 * 86_400)
    assert (settings.store, settings.store_max) == (None, 100_000)
    assert settings.dialect is RFC9309
    assert settings.cache_size == 10_000
    assert (settings.fetch_timeout, settings.fetch_retries) == (15, 2)
    assert settings.fetch_max_bytes == 512_000
    assert settings.fetch_meta == {}
    assert settings.crawl_delay_obey is None
    assert settings.crawl_delay_max == 60
    assert settings.crawl_delay_too_long == "clamp"


@pytest.mark.parametrize(
    ("values", "seconds"),
    [
        ({}, 86_400),
        ({"ROBOTS_DIALECT": "GYM2008"}, 7 * 86_400),
        ({"ROBOTS_DIALECT": "mk1996"}, 7 * 86_400),
        ({"ROBOTS_DIALECT": RFC9309._replace(expiry=900)}, 900),
    ],
)
def test_the_dialect_says_how_long_a_copy_is_good(values: dict[str, Any], seconds: float) -> None:
    assert settings_with(**values).limits.expiry == seconds


def test_a_dialect_does_not_stretch_the_day_of_rfc_9309() -> None:
    limits = settings_with(ROBOTS_DIALECT="GYM2008").limits
    assert lifetime({}, 0.0, limits) == 86_400
    # What comes from a cache is a day old before it counts as such.
    assert lifetime({"age": f"{6 * 86_400 + 3_600}"}, 0.0, limits) == 86_400 - 3_600


def test_strings_are_read_as_they_come_from_the_command_line() -> None:
    settings = settings_with(
        ROBOTSTXT_OBEY="True",
        ROBOTS_CRAWL_DELAY_OBEY="0",
        ROBOTS_TTL="60, 3600.5",
        ROBOTS_RETRY_INTERVAL="1,2.5",
        ROBOTS_CACHE_SIZE="50",
        ROBOTS_CRAWL_DELAY_TOO_LONG="skip",
        ROBOTS_STATUS_POLICY='{"preset": "mk1996", "5xx": "disallow", "timeout": "disallow"}',
        ROBOTS_FETCH_META='{"proxy": "http://127.0.0.1:3128", "headers": {"X-Token": ["a", "b"]}}',
    )
    assert settings.obey is True
    assert settings.crawl_delay_obey is False
    assert settings.ttl == (60, 3600.5)
    assert settings.retry_interval == (1, 2.5)
    assert settings.cache_size == 50
    assert settings.crawl_delay_too_long == "skip"
    assert settings.status_policy["5xx"] is settings.status_policy["timeout"] is Access.UNREACHABLE
    assert settings.status_policy["401"] is Access.UNREACHABLE
    assert settings.status_policy["dns"] is Access.UNAVAILABLE
    headers = {"X-Token": ["a", "b"]}
    assert settings.fetch_meta == {"proxy": "http://127.0.0.1:3128", "headers": headers}


@pytest.mark.parametrize("names", [["Foobot-News", "Foobot"], ("Foobot-News", "Foobot")])
def test_a_crawler_may_have_several_names(names: object) -> None:
    assert settings_with(ROBOTSTXT_USER_AGENT=names).user_agent == ("Foobot-News", "Foobot")


@pytest.mark.parametrize(
    "header",
    [
        "Foobot",
        "Foobot/1.0 (+https://foobot.example/)",
        "Mozilla/5.0 (X11; Linux) AppleWebKit/537.36 (KHTML, like Gecko) Foobot/1.0",
    ],
)
def test_a_header_is_no_list_whatever_commas_it_has(header: str) -> None:
    assert settings_with(ROBOTSTXT_USER_AGENT=header).user_agent == header


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (None, None),
        ("", None),
        (Path("folder") / "%(name)s.json", "folder/%(name)s.json"),
        ("100%% %(time)s %(name)s %(name)s", "100%% %(time)s %(name)s %(name)s"),
        ("a:/b", "a:/b"),
    ],
)
def test_a_file_is_named_by_a_string_or_a_path(value: object, name: str | None) -> None:
    assert settings_with(ROBOTS_SUMMARY_FILE=value).summary_file == name


def test_options_ignore_case() -> None:
    settings = settings_with(
        ROBOTS_CRAWL_DELAY_TOO_LONG="Skip",
        ROBOTS_VISIT_TIME="Obey",
        ROBOTS_STATUS_POLICY={"Preset": "MK1996", "Timeout": "Disallow", "5XX": "DISALLOW"},
        ROBOTS_DIALECT="google",
        ROBOTS_CRAWL_DELAY_OBEY="NONE",
        ROBOTSTXT_OBEY="TRUE",
    )
    assert settings.crawl_delay_too_long == "skip"
    assert settings.visit_time == "obey"
    assert settings.status_policy["401"] is Access.UNREACHABLE
    assert settings.status_policy["timeout"] is Access.UNREACHABLE
    assert settings.status_policy["5xx"] is Access.UNREACHABLE
    assert settings.keeps_delays
    assert settings_with(ROBOTS_STATUS_POLICY="Fail-Open").status_policy == PRESETS["fail-open"]


@pytest.mark.parametrize(
    "values",
    [
        {"ROBOTS_DIALECT": "x" * 10**6},
        {"ROBOTS_AI_USES": "x" * 10**6},
        {"ROBOTS_OVERRIDES": {"x" * 10**6: {"obey": True}}},
        {"ROBOTS_OVERRIDES": {"a.example": {"x" * 10**6: True}}},
    ],
)
def test_what_is_told_of_a_wrong_value_is_short_however_long_it_is(values: dict[str, Any]) -> None:
    with pytest.raises(RobotsSettingsError) as caught:
        settings_with(**values)
    assert len(str(caught.value)) < 2_000


def test_all_wrong_settings_are_named_at_once() -> None:
    with pytest.raises(RobotsSettingsError) as caught:
        settings_with(ROBOTS_TTL="a day", ROBOTS_DEFER="wait", ROBOTS_STALE_MAX=-1)
    assert str(caught.value).splitlines() == [
        "3 settings are wrong:",
        f"  ROBOTS_DEFER = 'wait': {STALE}",
        f"  ROBOTS_TTL = 'a day': {TTL}",
        f"  ROBOTS_STALE_MAX = -1: {STALE}",
    ]


ODD: list[Any] = [
    b"defer",
    b"\xff",
    bytearray(b"1"),
    "",
    " ",
    "{",
    "[",
    "[[1]]",
    "{}",
    '{"preset": null}',
    "\0",
    "\ud800",
    float("nan"),
    -(10**400),
    1j,
    [],
    [[]],
    [None],
    {None: None},
    {"preset": {}},
    {(): ()},
    {"x": {"y": object()}},
    set(),
    object(),
    object,
    Path("x"),
    lambda: 1,
]


@pytest.mark.parametrize(
    ("name", "values"),
    [
        # In `make test`, each value with every second setting.
        *(pytest.param(name, ODD[turn % 2 :: 2], id=name) for turn, name in enumerate(names())),
        *(pytest.param(name, ODD, id=f"{name}-all", marks=pytest.mark.stress) for name in names()),
    ],
)
def test_whatever_a_setting_is_it_holds_or_is_named(name: str, values: list[Any]) -> None:
    for value in values:
        assert _named_as_wrong(name, value) in ([], [name])


def _named_as_wrong(name: str, value: object) -> list[str]:
    try:
        settings_with(**{name: value})
    except RobotsSettingsError as error:
        return [re.split(r" = |\[", str(error))[0]]
    return []


@pytest.mark.parametrize(
    ("value", "shown"),
    [("x" * 498, "'" + "x" * 498 + "'"), ("x" * 100_000, "'" + "x" * 499 + "...")],
)
def test_a_long_value_is_shown_in_part(value: str, shown: str) -> None:
    with pytest.raises(RobotsSettingsError) as caught:
        settings_with(ROBOTS_TTL=value)
    assert str(caught.value) == f"ROBOTS_TTL = {shown}: {TTL}"


@pytest.mark.parametrize(
    ("check", "expected"),
    [
        (number("seconds", 0.5, 60), "expected a number of seconds between 0.5 and 60"),
        (whole_number("hosts", 1, 9_000), "expected a whole number of hosts between 1 and 9,000"),
    ],
)
def test_a_check_of_a_number_says_its_bounds(check: Check[Any], expected: str) -> None:
    with pytest.raises(ValueError, match=r"^expected") as caught:
        check.read("x")
    assert str(caught.value) == expected


@pytest.mark.parametrize("obey", [True, False])
@pytest.mark.parametrize("delays", [True, False])
def test_a_crawl_delay_that_is_set_does_not_follow_robotstxt_obey(obey: bool, delays: bool) -> None:
    settings = settings_with(ROBOTS_CRAWL_DELAY_OBEY=delays, ROBOTSTXT_OBEY=obey)
    assert settings.keeps_delays is delays


@pytest.mark.parametrize(("policy", "skipped"), [("skip", ("train-ai",)), ("observe", ())])
def test_pages_are_skipped_for_their_uses_only_where_the_project_says_so(
    policy: str, skipped: tuple[str, ...]
) -> None:
    settings = settings_with(ROBOTS_AI_POLICY=policy, ROBOTS_AI_USES=["train-ai"])
    assert settings.skipped_uses == skipped


def test_statuses_in_a_dict_may_be_numbers() -> None:
    policy = settings_with(ROBOTS_STATUS_POLICY={403: "disallow"}).status_policy
    assert policy["403"] is Access.UNREACHABLE
    assert policy["4xx"] is Access.UNAVAILABLE


@pytest.mark.parametrize("empty", [None, "", "None"])
@pytest.mark.parametrize("obey", [True, False])
def test_an_unset_crawl_delay_follows_robotstxt_obey(empty: str | None, obey: bool) -> None:
    assert settings_with(ROBOTS_CRAWL_DELAY_OBEY=empty, ROBOTSTXT_OBEY=obey).keeps_delays is obey


def unknown_settings(caplog: pytest.LogCaptureFixture, *names: str) -> list[str]:
    """What is told of settings with these *names*."""
    report_unknown_settings(Settings(dict.fromkeys(names, 1)))
    return caplog.messages


def test_unknown_settings_are_told_with_the_nearest_name(caplog: pytest.LogCaptureFixture) -> None:
    unknown = ("ROBOTS_CRAWL_DELAY_MAXIMUM", "ROBOTS_WHATEVER_ELSE_THERE_MIGHT_BE")
    assert unknown_settings(caplog, *unknown, "ROBOTS_TTL", "ROBOTICS", "ROBOT_ARM_SPEED") == [
        "There is no setting ROBOTS_CRAWL_DELAY_MAXIMUM; did you mean ROBOTS_CRAWL_DELAY_MAX?",
        "There is no setting ROBOTS_WHATEVER_ELSE_THERE_MIGHT_BE",
    ]


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("ROBOTS_CRAWL_DELAY_OBY", "ROBOTS_CRAWL_DELAY_OBEY"),
        ("ROBOTS_CACHESIZE", "ROBOTS_CACHE_SIZE"),
        ("ROBOTS_TTLS", "ROBOTS_TTL"),
        ("ROBOTS_FETCH_HEADERS", "ROBOTS_FETCH_META"),
        ("ROBOTS_OBEY", "ROBOTSTXT_OBEY"),
        ("ROBOTS_USER_AGENT", "ROBOTSTXT_USER_AGENT"),
        ("ROBOTSTXT_USERAGENT", "ROBOTSTXT_USER_AGENT"),
        ("ROBOTSTXT_OBEYS", "ROBOTSTXT_OBEY"),
        ("ROBOTSTXT_CRAWL_DELAY_OBEY", "ROBOTS_CRAWL_DELAY_OBEY"),
        ("ROBOTS_PARSER", "ROBOTSTXT_PARSER"),
        ("ROBOTS_QQQ", None),
        ("ROBOTS_T", None),
        ("ROBOTS_AUDIT", "ROBOTS_AUDIT_LOG"),
        ("ROBOTS_", None),
        ("ROBOTS_TXT_OBEY", "ROBOTSTXT_OBEY"),
    ],
)
def test_a_name_is_near_by_what_follows_the_prefix(
    name: str, nearest: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    hint = f"; did you mean {nearest}?" if nearest else ""
    assert unknown_settings(caplog, name) == [f"There is no setting {name}{hint}"]


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
    with pytest.raises(RobotsSettingsError, match=r"^ROBOTS_TTL = 'a day': expected two numbers"):
        await run(crawler, urls=[host.url()])
    assert host.hits == []


@pytest.mark.parametrize("value", [None, "", "None", "none"])
def test_what_may_be_unset_is_unset_by_none_as_the_command_line_says_it(value: object) -> None:
    names = ("CRAWL_DELAY_OBEY", "STORE", "ITEM_FIELD", "SUMMARY_FILE", "AUDIT_LOG", "AUDIT_WARC")
    settings = settings_with(**{f"ROBOTS_{name}": value for name in names})
    assert [getattr(settings, name.lower()) for name in names] == [None] * len(names)
