"""What a file asks of an agent, and what requests keep of it, by a clock that the test turns."""

from __future__ import annotations

from datetime import time
from typing import Any

import pytest
from scrapy.settings import Settings
from scrapy.utils.test import get_crawler

from scrapy_robots_plus.crawl import stats as keys
from scrapy_robots_plus.crawl.clock import DEFAULT_CLOCK
from scrapy_robots_plus.origins.judging import ANY_PACE, AgentPace, Delay, pace_of
from scrapy_robots_plus.origins.policy import AGENTS_REMEMBERED, Policy
from scrapy_robots_plus.protocol import VisitTime
from scrapy_robots_plus.protocol.access import Access
from scrapy_robots_plus.protocol.origin import Origin
from scrapy_robots_plus.settings.robots_settings import RobotsSettings
from scrapy_robots_plus.storage.record import RobotsRecord
from tests.crawl.parsers_in_use import PROTEGO, PlainParser, read

ORIGIN = Origin("https", "x.example", 443)
RECORD = RobotsRecord(ORIGIN, Access.RULES, 200, ORIGIN.robots_url, 0.0, 3_600.0)
HOUR = 3_600
FILE = b"""\
User-agent: slow
Crawl-delay: 8
Disallow:

User-agent: endless
Crawl-delay: 500
Disallow:

User-agent: morning
Request-rate: 1/20s 0600-0845
Visit-time: 0200-1000
Disallow:

User-agent: *
Crawl-delay: 2
Disallow:

User-agent: free
Disallow:
"""


def settings_of(**changed: Any) -> RobotsSettings:
    return RobotsSettings.from_settings(Settings({"ROBOTSTXT_OBEY": True, **changed}))


class Kept:
    """The paces of one file, with their statistics."""

    def __init__(self, file: Any = FILE, **changed: Any) -> None:
        self.stats = get_crawler().stats
        parsed = read(file) if isinstance(file, bytes) else file
        self.policy = Policy(RECORD, parsed, settings_of(**changed), DEFAULT_CLOCK, self.stats)

    def opens_in(self, moment: float) -> float:
        visits = self.policy.paces.visits
        return visits.begins_in(moment) if visits else 0

    @property
    def delay(self) -> float | None:
        return self.policy.paces.delay or None

    def counted(self, key: str) -> int:
        value: int = self.stats.get_value(key, 0)
        return value


class TestWhatIsAsked:
    @pytest.mark.parametrize(
        ("lines", "asked"),
        [
            ("Crawl-delay: 2", 2),
            ("Request-rate: 1/5", 5),
            ("Crawl-delay: 2\nRequest-rate: 1/5", 5),
            ("Crawl-delay: 5\nRequest-rate: 1/2", 5),
            ("Crawl-delay: 3\nRequest-rate: 2/6", 3),
        ],
    )
    def test_the_longer_of_crawl_delay_and_request_rate(self, lines: str, asked: float) -> None:
        file = read(f"User-agent: *\n{lines}\nDisallow:\n".encode())
        assert pace_of(file, "Foobot", settings_of()) == AgentPace(Delay(asked, asked))

    def test_hours_for_visits_where_they_are_to_be_obeyed(self) -> None:
        pace = pace_of(read(FILE), "morning", settings_of(ROBOTS_VISIT_TIME="obey"))
        assert pace.visits == VisitTime(time(2), time(10))

    @pytest.mark.parametrize("file", [read(FILE), read(b"", PlainParser)])
    def test_nothing_is_one_and_the_same(self, file: Any) -> None:
        assert pace_of(file, "free", settings_of()) is ANY_PACE

    @pytest.mark.parametrize(
        ("setting", "delay"),
        [
            ({}, Delay(500, 60)),
            ({"ROBOTS_CRAWL_DELAY_TOO_LONG": "skip"}, Delay(500, 60, skip=True)),
            ({"ROBOTS_CRAWL_DELAY_MAX": 0}, Delay(500, 500)),
        ],
    )
    def test_one_that_is_too_long(self, setting: dict[str, Any], delay: Delay) -> None:
        settings = settings_of(**setting)
        assert pace_of(read(FILE), "endless", settings).delay == delay

    def test_delays_alone_skip_nothing(self) -> None:
        settings = settings_of(
            ROBOTSTXT_OBEY=False, ROBOTS_CRAWL_DELAY_OBEY=True, ROBOTS_CRAWL_DELAY_TOO_LONG="skip"
        )
        assert pace_of(read(FILE), "endless", settings).delay == Delay(500, 60)


class TestKeeping:
    def test_to_ask_is_not_to_keep(self) -> None:
        kept = Kept()
        assert kept.policy.pace_of("slow").delay == Delay(8, 8)
        assert kept.delay is None
        assert not kept.policy.is_paced
        assert kept.counted(keys.DELAYS_KEPT) == 0
        assert kept.policy.asked_delay == Delay(8, 8)

    def test_the_longest_of_any_agent_that_goes(self) -> None:
        kept = Kept()
        for agent, delay in (("free", None), ("other", 2), ("slow", 8), ("other", 8)):
            kept.policy.enforce(agent)
            assert kept.delay == delay
        assert kept.policy.is_paced

    def test_each_pace_is_counted_once_however_many_go_by_it(self) -> None:
        kept = Kept()
        for agent in ("one", "two", "slow", "one", "endless"):
            kept.policy.enforce(agent)
        assert kept.counted(keys.DELAYS_KEPT) == 3
        assert kept.counted(keys.DELAYS_CLAMPED) == 1

    def test_one_for_which_the_host_is_skipped_is_not_kept(self) -> None:
        kept = Kept(ROBOTS_CRAWL_DELAY_TOO_LONG="skip")
        kept.policy.enforce("endless")
        assert kept.delay is None
        assert kept.counted(keys.DELAYS_KEPT) == 0
        assert kept.policy.asked_delay == Delay(500, 60, skip=True)

    def test_a_rate_for_some_hours_holds_at_any(self) -> None:
        kept = Kept()
        kept.policy.enforce("morning")
        assert (kept.delay, kept.policy.asked_delay) == (20, Delay(20, 20))

    def test_what_was_asked_and_kept_is_known(self) -> None:
        kept = Kept()
        kept.policy.pace_of("endless")
        assert (kept.policy.asked_delay, kept.policy.delay) == (Delay(500, 60), None)
        kept.policy.enforce("endless")
        assert kept.policy.delay == 60

    @pytest.mark.parametrize(("clock", "opens_in"), [(1, HOUR), (2, 0), (10, 0), (11, 15 * HOUR)])
    def test_visiting_hours(self, clock: float, opens_in: float) -> None:
        kept = Kept(ROBOTS_VISIT_TIME="obey")
        assert kept.opens_in(clock * HOUR) == 0
        kept.policy.enforce("morning")
        assert kept.opens_in(clock * HOUR) == opens_in
        kept.policy.enforce("other")  # which names none
        assert kept.opens_in(clock * HOUR) == opens_in

    @pytest.mark.parametrize(
        "changed", [{"ROBOTS_CRAWL_DELAY_OBEY": False}, {"ROBOTSTXT_OBEY": False}]
    )
    def test_nothing_where_delays_are_not_to_be_kept(self, changed: dict[str, Any]) -> None:
        kept = Kept(**changed)
        kept.policy.enforce("slow")
        assert kept.policy.pace_of("slow") is ANY_PACE
        assert kept.delay is None

    def test_nothing_where_there_is_no_file(self) -> None:
        kept = Kept(None)
        kept.policy.enforce("slow")
        assert (kept.delay, kept.opens_in(0)) == (None, 0)
        assert kept.policy.asked_delay is None


class TestHostsThatNameNoDelay:
    """``ROBOTS_DEFAULT_DELAY``."""

    @pytest.mark.parametrize(
        ("lines", "kept"),
        [
            ("", 3),
            ("Crawl-delay: 0", 3),
            ("Crawl-delay: -1", 3),
            ("Crawl-delay: soon", 3),
            ("Crawl-delay: 1", 1),
            ("Crawl-delay: 9", 9),
            ("Request-rate: 1/2", 2),
            ("Request-rate: 0/5", 3),
        ],
    )
    @pytest.mark.parametrize("maximum", [60, 10])
    def test_a_delay_that_is_named_goes_before(
        self, lines: str, kept: float, maximum: float
    ) -> None:
        file = f"User-agent: *\n{lines}\nDisallow:\n".encode()
        there = Kept(file, ROBOTS_DEFAULT_DELAY=3, ROBOTS_CRAWL_DELAY_MAX=maximum)
        there.policy.enforce("Foobot")
        assert there.delay == kept

    @pytest.mark.parametrize(
        "changed",
        [{}, {"ROBOTS_CRAWL_DELAY_OBEY": False}, {"ROBOTSTXT_OBEY": False}],
        ids=["no file", "Crawl-delay is ignored", "nothing is obeyed"],
    )
    def test_it_holds_where_no_file_is_asked(self, changed: dict[str, Any]) -> None:
        kept = Kept(None if not changed else FILE, ROBOTS_DEFAULT_DELAY=3, **changed)
        kept.policy.enforce("slow")
        assert kept.delay == 3
        assert settings_of(ROBOTS_DEFAULT_DELAY=3, **changed).is_on

    def test_it_is_ours_so_nothing_limits_it_and_no_file_has_asked_for_it(self) -> None:
        changed = {"ROBOTS_CRAWL_DELAY_MAX": 10, "ROBOTS_CRAWL_DELAY_TOO_LONG": "skip"}
        kept = Kept(ROBOTS_DEFAULT_DELAY=100, **changed)
        kept.policy.enforce("free")
        assert kept.policy.pace_of("free") == AgentPace(Delay(100, 100, own=True))
        assert (kept.policy.asked_delay, kept.policy.delay) == (None, 100)
        assert kept.counted(keys.DELAYS_KEPT) == kept.counted(keys.DELAYS_CLAMPED) == 0

    @pytest.mark.parametrize(
        ("override", "kept"),
        [({"default_delay": 7}, 7), ({"default_delay": 0}, None), ({"crawl_delay": 0}, None)],
    )
    def test_an_override_changes_it_for_its_host(
        self, override: dict[str, Any], kept: float | None
    ) -> None:
        settings = settings_of(ROBOTS_DEFAULT_DELAY=3, ROBOTS_OVERRIDES={"x.example": override})
        of_origin, stats = settings.for_origin(ORIGIN), get_crawler().stats
        policy = Policy(RECORD, read(FILE), of_origin, DEFAULT_CLOCK, stats)
        policy.enforce("free")
        assert policy.delay == kept


class CountingParser(PlainParser):
    """Counts how many times it is asked for a delay."""

    asked = 0

    def crawl_delay(self, user_agent: Any) -> float:
        CountingParser.asked += 1
        return float(user_agent)


def test_what_was_asked_is_remembered_for_the_last_agents() -> None:
    CountingParser.asked = 0
    kept = Kept(read(b"", CountingParser))
    for number in range(1, AGENTS_REMEMBERED + 2):
        for _ in range(3):
            kept.policy.enforce(str(number))
    assert CountingParser.asked == AGENTS_REMEMBERED + 1
    kept.policy.pace_of("1")  # which was forgotten
    assert CountingParser.asked == AGENTS_REMEMBERED + 2
    assert kept.delay == AGENTS_REMEMBERED + 1


class BrokenParser(PlainParser):
    def crawl_delay(self, user_agent: Any) -> float:
        raise RuntimeError("no idea")


def test_a_parser_that_fails_asks_for_nothing(caplog: pytest.LogCaptureFixture) -> None:
    kept = Kept(read(b"", BrokenParser))
    kept.policy.enforce("Foobot")
    assert kept.delay is None
    assert kept.counted(keys.PARSER_ERRORS) == 1
    assert f"failed on the pace of {ORIGIN}" in caplog.text


def test_other_parsers_are_kept_to_as_well() -> None:
    kept = Kept(read(FILE, PROTEGO))
    kept.policy.enforce("slow")
    assert kept.delay == 8
