"""What an override changes, what it is called, and how it is shown."""

from __future__ import annotations

import json
from types import MappingProxyType

from scrapy_robots_plus.origins.freshness import as_meant_under, under_statuses
from scrapy_robots_plus.protocol.access import PRESETS, Access, Failure
from scrapy_robots_plus.protocol.dialect import GOOGLE, RFC9309, Dialect
from scrapy_robots_plus.protocol.origin import Origin
from scrapy_robots_plus.settings.override import Override
from scrapy_robots_plus.storage.record import RobotsRecord

ORIGIN = Origin("http", "a.example", 80)


def test_it_is_called_by_its_reason_else_by_its_keys() -> None:
    given = {"user_agent": "A", "crawl_delay": 1}
    assert Override(given, given).label == "crawl_delay, user_agent"
    assert Override({"obey": False, "reason": "ours"}, {"obey": False}).label == "ours"


def test_it_changes_the_settings_that_it_names_and_no_others() -> None:
    table = PRESETS["fail-open"]
    changes = {"obey": True, "status_policy": table, "crawl_delay": 1, "robots_txt": ""}
    no_settings = {"reason": "x", "by": "y", "until": 1.0}
    assert Override({**no_settings, **changes}, {}).settings == changes
    assert Override({"user_agent": "A", "dialect": GOOGLE, "content_use": None}, {}).settings == {
        "user_agent": "A",
        "dialect": GOOGLE,
        "content_use": None,
    }
    assert Override({}, {}).settings == {}


def test_pages_are_not_asked_either_where_it_switches_robots_txt_off() -> None:
    off = Override({"obey": False, "noindex": "obey"}, {}).settings
    assert off == {"obey": False, "nofollow": "ignore", "noindex": "obey"}


def test_a_key_that_is_not_given_is_none() -> None:
    empty = Override({}, {})
    assert (empty.until, empty.label, empty.settings) == (None, "", {})


def test_another_is_laid_over_it_key_by_key() -> None:
    one = Override(
        {"obey": False, "reason": "one", "crawl_delay": 2},
        {"obey": 0, "reason": "one", "crawl_delay": 2},
    )
    other = Override({"crawl_delay": 0, "dialect": GOOGLE}, {"crawl_delay": 0, "dialect": "google"})
    both = one.with_changes(other)
    assert both.read == {"obey": False, "reason": "one", "crawl_delay": 0, "dialect": GOOGLE}
    assert both.given == {"obey": 0, "reason": "one", "crawl_delay": 0, "dialect": "google"}


def test_two_that_say_the_same_are_two() -> None:
    assert Override({"obey": True}, {}) != Override({"obey": True}, {})
    assert len({Override({"obey": True}, {}), Override({"obey": True}, {})}) == 2


def test_as_json_it_has_the_keys_as_they_are_configured() -> None:
    own = Dialect("OWN", tokens_only=True)
    liar = Dialect("RFC9309", tokens_only=True)
    given = {
        "obey": False,
        "reason": "ours",
        "crawl_delay": 0.5,
        "user_agent": ("A", "B"),
        "status_policy": MappingProxyType({404: "disallow", "x": b"?"}),
        "robots_txt": "x",
        "dialect": None,
    }
    shown = Override({"robots_txt": "x"}, given).as_json()
    assert json.loads(json.dumps(shown)) == {
        "obey": False,
        "reason": "ours",
        "crawl_delay": 0.5,
        "user_agent": ["A", "B"],
        "status_policy": {"404": "disallow", "x": "b'?'"},
        "robots_txt": "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881",
        "dialect": None,
    }
    assert Override({}, {"dialect": RFC9309}).as_json() == {"dialect": "RFC9309"}
    for dialect in (own, liar):
        shown = Override({}, {"dialect": dialect}).as_json()["dialect"]
        assert shown["name"] == dialect.name
        assert shown["tokens_only"] is True
    assert Override({}, {"robots_txt": "\ud800"}).as_json()["robots_txt"]


def record(access: Access, outcome: int | Failure) -> RobotsRecord:
    return RobotsRecord(ORIGIN, access, outcome, ORIGIN.robots_url, 0.0, 60.0)


def test_a_record_is_read_under_another_status_policy() -> None:
    rules, open_, closed = Access.RULES, Access.UNAVAILABLE, Access.UNREACHABLE
    strict, lax = PRESETS["fail-closed"], PRESETS["fail-open"]
    none = {**PRESETS["rfc9309"], "2xx": open_}
    same = record(rules, 200)
    assert under_statuses(same, strict) is same
    assert under_statuses(record(open_, 403), strict).access is closed
    assert under_statuses(record(closed, 403), lax).access is open_
    assert under_statuses(record(closed, Failure.TIMEOUT), lax).access is open_
    assert under_statuses(record(rules, 200), none).access is open_
    assert under_statuses(record(open_, 200), strict).access is closed  # its text was not kept


def test_a_record_of_another_crawl_is_of_use_if_both_mean_the_same() -> None:
    rules, open_, closed = Access.RULES, Access.UNAVAILABLE, Access.UNREACHABLE
    strict, lax = PRESETS["fail-closed"], PRESETS["fail-open"]
    same = record(rules, 200)
    assert as_meant_under(same, strict) is same
    for outcome in (503, 429, Failure.TIMEOUT):  # an outage is one for all
        there = record(closed, outcome)
        assert as_meant_under(there, strict) is there
        assert as_meant_under(there, lax) == record(open_, outcome)
        assert as_meant_under(record(open_, outcome), strict) == there
    for answered in (record(open_, 403), record(open_, Failure.REDIRECTS)):
        assert as_meant_under(answered, strict) is None
    assert as_meant_under(record(closed, 403), lax) is None
    assert as_meant_under(same, {**strict, "2xx": open_}) is None


def test_as_json_uses_are_as_they_are_read() -> None:
    given = {
        "ai_uses": "train-ai, search",
        "content_use": "FULL",
        "ai_policy": "SKIP",
        "ai_tokens": "Google-Extended",
    }
    read = {
        "ai_uses": ("train-ai", "search"),
        "content_use": "full",
        "ai_policy": "skip",
        "ai_tokens": ("Google-Extended",),
    }
    assert json.loads(json.dumps(Override(read, given).as_json())) == {
        "ai_uses": ["train-ai", "search"],
        "content_use": "full",
        "ai_policy": "skip",
        "ai_tokens": ["Google-Extended"],
    }


def test_what_may_be_written_as_text_is_shown_as_it_is_read() -> None:
    given = {"obey": "False", "crawl_delay": "5", "reason": "ours"}
    assert Override({"obey": False, "crawl_delay": 5.0}, given).as_json() == {
        "obey": False,
        "crawl_delay": 5.0,
        "reason": "ours",
    }
