"""``ROBOTS_OVERRIDES`` is checked when the crawl starts: each host, key and value."""

from __future__ import annotations

import json
from datetime import date, datetime, timezone
from typing import Any

import pytest
from scrapy.settings import Settings

from scrapy_robots_plus import Dialect, Origin, RobotsSettingsError
from scrapy_robots_plus.protocol import GOOGLE
from scrapy_robots_plus.protocol.access import Access
from scrapy_robots_plus.settings.robots_settings import RobotsSettings

OFF = {"obey": False, "reason": "our own site"}
NEXT = "\n  "
KEYS = (
    "obey, user_agent, dialect, status_policy, default_delay, ai_uses, content_use, ai_policy, "
    "ai_tokens, nofollow, noindex, reason, by, evidence, until, crawl_delay, robots_txt"
)


def settings_with(overrides: Any, **values: Any) -> RobotsSettings:
    return RobotsSettings.from_settings(Settings({"ROBOTS_OVERRIDES": overrides, **values}))


def problems_with(overrides: Any) -> list[str]:
    with pytest.raises(RobotsSettingsError) as caught:
        settings_with(overrides)
    lines = str(caught.value).removeprefix(f"{str(caught.value).count(NEXT)} settings are wrong:")
    return lines.removeprefix(NEXT).split(NEXT)


def test_it_is_a_dict_by_host() -> None:
    (told,) = problems_with(["a.example"])
    assert told == (
        "ROBOTS_OVERRIDES = ['a.example']: expected a dict of hosts, each with a dict of what is "
        "different there"
    )


@pytest.mark.parametrize(
    ("keys", "problem"),
    [
        ("off", f" = 'off': expected a dict of {KEYS}"),
        ({"obey": 2, "reason": "x"}, "['obey'] = 2: expected True or False"),
        ({"obey": True}, "['obey'] = True: expected a reason as well, "),
        ({"obey": False, "reason": ""}, "['reason'] = '': expected a text that is not empty"),
        ({"obey": False, "reason": 5}, "['reason'] = 5: expected a text that is not empty"),
        ({**OFF, "by": ""}, "['by'] = '': expected a text that is not empty"),
        ({**OFF, "evidence": 7}, "['evidence'] = 7: expected a text that is not empty"),
        *(
            ({**OFF, "until": wrong}, f"['until'] = {wrong!r}: expected a day (2026-12-31), whose")
            for wrong in (
                *("", "soon", "2026", "2026-12", "2026-13-01", "2026-02-30", "31.12.2026"),
                *("2026-12-31T25:00", "2026-12-31T12", "20261231", "2026-W53-4", "2026-12-31Z"),
                *("2026-12-31T12:00+2", "٢٠٢٦-12-31", "2026-12-31\n12:00", 1_798_675_200, 2.5),
                *(None, True, [2026, 12, 31], float("inf")),
            )
        ),
        ({"user_agent": ""}, "['user_agent'] = '': expected a product token"),
        ({"user_agent": []}, "['user_agent'] = []: expected a product token"),
        ({"dialect": "RFC1"}, "['dialect'] = 'RFC1': 'RFC1' is not a dialect; choose one of "),
        ({"status_policy": {"4x": "allow"}}, "['status_policy'] = {'4x': 'allow'}: '4x' is not a"),
        ({"crawl_delay": -1}, "['crawl_delay'] = -1: expected a number of seconds between 0 and"),
        ({"default_delay": -1}, "['default_delay'] = -1: expected a number of seconds between 0 "),
        ({"crawl_delay": True}, "['crawl_delay'] = True: expected a number of seconds"),
        ({"crawl_delay": float("nan")}, "['crawl_delay'] = nan: expected a number of seconds"),
        ({"robots_txt": None}, "['robots_txt'] = None: expected the text of a robots.txt"),
        ({"crawldelay": 1}, "['crawldelay'] = 1: there is no such key; did you mean crawl_delay?"),
        ({"Obey": 1}, "['Obey'] = 1: there is no such key; did you mean obey?"),
        ({"zzz": 1}, f"['zzz'] = 1: there is no such key; expected {KEYS}"),
        ({5: 1}, f"[5] = 1: there is no such key; expected {KEYS}"),
    ],
)
def test_a_wrong_key_or_value_is_named_with_its_host(keys: Any, problem: str) -> None:
    (told,) = problems_with({"a.example": keys})
    assert told.startswith(f"ROBOTS_OVERRIDES['a.example']{problem}")


def test_all_that_is_wrong_is_named_at_once() -> None:
    assert len(problems_with({"a.example": {"obay": 1, "crawl_delay": "x"}, "b c": OFF})) == 3


@pytest.mark.parametrize(
    ("first", "second"),
    [("a.example", "A.Example."), ("http://a.example", "http://a.example:80/"), ("::1", "[::1]")],
)
def test_a_host_that_is_there_twice_is_named(first: str, second: str) -> None:
    """One of the two would count for nothing."""
    (told,) = problems_with({first: OFF, second: {"crawl_delay": 5}})
    assert told.startswith(f"ROBOTS_OVERRIDES[{second!r}] = ")
    assert "expected one entry for " in told


def test_a_host_that_is_there_twice_in_json_is_named() -> None:
    first, second = json.dumps({"a.example": OFF}), json.dumps({"a.example": {"crawl_delay": 5}})
    (told,) = problems_with(f"{first[:-1]}, {second[1:]}")
    assert "not valid JSON: 'a.example' is there twice" in told


def test_a_long_value_is_cut() -> None:
    (told,) = problems_with({"a.example": {"robots_text": "x" * 10_000}})
    assert len(told) < 700


def test_it_comes_from_the_command_line_as_json() -> None:
    overrides = {"a.example": {**OFF, "crawl_delay": "0.5", "status_policy": {"404": "disallow"}}}
    settings = settings_with(json.dumps(overrides)).for_origin(Origin("http", "a.example", 80))
    assert settings.obey is False
    assert settings.crawl_delay == 0.5
    assert settings.status_policy["404"] is Access.UNREACHABLE


def test_each_key_changes_what_it_says_and_nothing_else() -> None:
    keys = {
        "user_agent": ["Barbot", "Foobot"],
        "dialect": "google",
        "status_policy": "fail-open",
        "crawl_delay": 0,
        "default_delay": "7",
        "robots_txt": "User-agent: *\n",
    }
    settings = settings_with({"a.example": keys}, ROBOTSTXT_OBEY=True, ROBOTS_STALE_MAX=600)
    there = settings.for_origin(Origin("https", "a.example", 8443))
    assert there.user_agent == ("Barbot", "Foobot")
    assert there.dialect is GOOGLE
    assert there.status_policy["timeout"] is Access.UNAVAILABLE
    assert (there.crawl_delay, there.robots_txt) == (0, "User-agent: *\n")
    assert there.obey
    assert there.stale_max == 600
    assert there.override is not None
    assert there.default_delay == 7
    assert there.override.label == (
        "crawl_delay, default_delay, dialect, robots_txt, status_policy, user_agent"
    )


@pytest.mark.parametrize(
    ("until", "moment"),
    [
        ("2026-12-31", datetime(2027, 1, 1, tzinfo=timezone.utc)),
        (date(2026, 12, 31), datetime(2027, 1, 1, tzinfo=timezone.utc)),
        ("2026-12-31T18:00Z", datetime(2026, 12, 31, 18, tzinfo=timezone.utc)),
        (" 2026-12-31 18:00 ", datetime(2026, 12, 31, 18, tzinfo=timezone.utc)),
        ("2026-12-31T18:00:30+02:00", datetime(2026, 12, 31, 16, 0, 30, tzinfo=timezone.utc)),
        (datetime(2026, 12, 31, 18), datetime(2026, 12, 31, 18, tzinfo=timezone.utc)),  # noqa: DTZ001
        *((each, each) for each in [datetime(2026, 12, 31, 18, 0, 0, 7, tzinfo=timezone.utc)]),
        ("9999-12-31", None),
        ("1066-10-14", None),
    ],
)
def test_it_holds_until_its_end(
    until: object, moment: datetime | None, caplog: pytest.LogCaptureFixture
) -> None:
    """A day ends with itself, in UTC."""
    there = Origin("http", "a.example", 80)
    keys = {**OFF, "by": "the owner", "until": until}
    overrides = settings_with({"*.example": keys}, ROBOTSTXT_OBEY=True)
    if moment is None:
        assert overrides.for_origin(there).obey is ("1066" in str(until))  # else for ever
        return
    now = moment.timestamp() - 0.001
    settings = overrides.with_changes(now=lambda: now)
    assert settings.for_origin(there).obey is False
    assert caplog.text == ""
    now = moment.timestamp()
    for host in ("a.example", "b.example"):
        assert settings.for_origin(Origin("http", host, 80)) is settings
    (said,) = caplog.records
    assert said.levelname == "WARNING"
    assert said.getMessage() == (
        f"The override for http://a.example (our own site) has ended, as its until is {until}: "
        "robots.txt applies again"
    )
    now = 0.0  # the clock was set back
    assert settings.for_origin(there).obey is False


def test_what_it_is_about_is_no_part_of_its_keys() -> None:
    keys = {"crawl_delay": 1, "by": "me", "evidence": "mail of 1 May", "until": "2999-01-01"}
    settings = settings_with({"a.example": keys}).for_origin(Origin("http", "a.example", 80))
    assert settings.override is not None
    assert settings.override.label == "crawl_delay"
    assert settings.override.as_json() == keys


def test_an_origin_always_gets_the_same_settings() -> None:
    settings = settings_with({"*.example": OFF})
    one, other = (Origin("http", host, 80) for host in ("a.example", "b.example"))
    assert settings.for_origin(one) is settings.for_origin(other)
    assert settings.for_origin(Origin("http", "x.org", 80)) is settings


def test_the_override_of_a_request_is_laid_over_that_of_its_host() -> None:
    hosts = settings_with({"a.example": {"crawl_delay": 1, "ai_policy": "skip", "reason": "host"}})
    of_request = settings_with({"a.example": {"crawl_delay": 2, "reason": "request"}})
    origin = Origin("http", "a.example", 80)
    over = of_request.for_origin(origin).override
    assert over is not None
    both = hosts.for_origin(origin).under(over)
    assert (both.crawl_delay, both.ai_policy) == (2, "skip")
    assert both.override is not None
    assert both.override.as_json() == {
        "crawl_delay": 2,
        "ai_policy": "skip",
        "reason": "request",
    }


def test_a_file_that_none_needs_is_fetched_by_the_rules_of_the_crawl_if_it_has_any() -> None:
    """Code may ask for it all the same."""
    origin = Origin("http", "a.example", 80)
    obeys = settings_with({"a.example": OFF}, ROBOTSTXT_OBEY=True)
    assert obeys.for_fetching(origin) is obeys
    needs_none = settings_with({"a.example": OFF}, ROBOTSTXT_OBEY=False)
    assert needs_none.for_fetching(origin).needs_file
    needs_it = settings_with({"a.example": {"dialect": "GOOGLE"}}, ROBOTSTXT_OBEY=True)
    assert needs_it.for_fetching(origin) is needs_it.for_origin(origin)


@pytest.mark.parametrize(
    ("keys", "more", "needed"),
    [
        ({"dialect": "GOOGLE"}, {}, True),
        (OFF, {}, False),
        (OFF, {"ROBOTS_CRAWL_DELAY_OBEY": True}, True),
        ({**OFF, "crawl_delay": 1}, {"ROBOTS_CRAWL_DELAY_OBEY": True}, False),
        ({"robots_txt": ""}, {}, False),
        ({"crawl_delay": 1}, {}, True),
        ({"crawl_delay": 1}, {"ROBOTSTXT_OBEY": False}, False),
    ],
)
def test_a_file_is_needed_for_rules_or_for_a_delay(
    keys: dict[str, Any], more: dict[str, Any], needed: bool
) -> None:
    settings = settings_with({"a.example": keys}, **{"ROBOTSTXT_OBEY": True, **more})
    assert settings.for_origin(Origin("http", "a.example", 80)).needs_file is needed


def test_an_override_is_shown_as_it_is_configured() -> None:
    own = Dialect("OWN", tokens_only=True)
    keys = {**OFF, "dialect": own, "robots_txt": "x", "user_agent": ("A", "B")}
    settings = settings_with({"a.example": keys, "b.example": {"dialect": GOOGLE}})
    override = settings.for_origin(Origin("http", "a.example", 80)).override
    assert override is not None
    shown = json.loads(json.dumps(override.as_json()))
    assert list(shown) == ["obey", "reason", "dialect", "robots_txt", "user_agent"]
    digest = "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"
    assert shown["robots_txt"] == digest
    assert shown["dialect"]["tokens_only"] is True
    assert shown["user_agent"] == ["A", "B"]
    other = settings.for_origin(Origin("http", "b.example", 80)).override
    assert other is not None
    assert other.as_json() == {"dialect": "GOOGLE"}


A_HOST = Origin("http", "a.example", 80)


@pytest.mark.parametrize(
    ("keys", "nofollow", "noindex"),
    [
        ({"crawl_delay": 1}, "obey", "observe"),
        (OFF, "ignore", "ignore"),
        ({**OFF, "nofollow": "observe"}, "observe", "ignore"),
        ({**OFF, "noindex": "obey"}, "ignore", "obey"),
        ({"obey": True, "reason": "x"}, "obey", "observe"),
        ({"nofollow": "IGNORE", "noindex": "obey"}, "ignore", "obey"),
    ],
)
def test_page_level_directives_of_a_host(keys: dict[str, Any], nofollow: str, noindex: str) -> None:
    settings = settings_with({"a.example": keys}, ROBOTS_NOFOLLOW="obey", ROBOTS_NOINDEX="observe")
    host = settings.for_origin(A_HOST)
    assert (host.nofollow, host.noindex) == (nofollow, noindex)
    assert host.reads_pages is not (nofollow == noindex == "ignore")
    assert (settings.nofollow, settings.noindex) == ("obey", "observe")
    assert settings.reads_any_pages


def test_pages_are_read_if_one_host_asks_for_it() -> None:
    assert not settings_with({}).reads_any_pages
    assert not settings_with({"a.example": OFF}).reads_any_pages
    settings = settings_with({"a.example": {"noindex": "observe"}})
    assert settings.reads_any_pages
    assert not settings.reads_pages


@pytest.mark.parametrize("unset", [None, "none"])
def test_a_host_may_have_no_use_where_the_crawl_has_one(unset: str | None) -> None:
    settings = settings_with({"a.example": {"content_use": unset}}, ROBOTS_CONTENT_USE="full")
    settings = settings.for_origin(Origin("http", "a.example", 80))
    assert (settings.content_use, settings.uses) == (None, ())
    assert settings.override is not None
    assert settings.override.as_json() == {"content_use": None}
