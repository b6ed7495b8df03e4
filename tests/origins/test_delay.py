"""From a Crawl-delay to the delay that is kept."""

from __future__ import annotations

from typing import Any, get_args

import pytest
from scrapy.settings import BaseSettings

from scrapy_robots_plus.origins.judging import Delay, delay_of, pace_of
from scrapy_robots_plus.protocol import RobotsTxt
from scrapy_robots_plus.protocol.origin import Origin
from scrapy_robots_plus.settings.all_settings import TooLong
from scrapy_robots_plus.settings.robots_settings import RobotsSettings

CLAMP, SKIP = get_args(TooLong)


@pytest.mark.parametrize("too_long", [CLAMP, SKIP])
@pytest.mark.parametrize("asked", [0.001, 1, 2.5, 60])
def test_up_to_the_maximum_it_is_kept(asked: float, too_long: TooLong) -> None:
    delay = delay_of(asked, 60, too_long)
    assert delay == Delay(asked, asked)
    assert not delay.skip


@pytest.mark.parametrize(
    ("too_long", "kept", "skip"),
    [(CLAMP, 60, False), (SKIP, 60, True)],
)
def test_over_the_maximum_it_is_what_the_project_wants(
    too_long: TooLong, kept: float, skip: bool
) -> None:
    delay = delay_of(61, 60, too_long)
    assert delay is not None
    assert (delay.asked, delay.kept, delay.skip) == (61, kept, skip)


@pytest.mark.parametrize("too_long", [CLAMP, SKIP])
def test_without_a_maximum_any_is_kept(too_long: TooLong) -> None:
    assert delay_of(86_400, 0, too_long) == Delay(86_400, 86_400)


@pytest.mark.parametrize("too_long", [CLAMP, SKIP])
@pytest.mark.parametrize(
    "value",
    [0, 0.0, -1, -0.5, float("nan"), float("inf"), float("-inf"), None, "5", b"5", [5]],
    ids=repr,
)
def test_what_parsers_let_through_and_is_no_delay(value: object, too_long: TooLong) -> None:
    assert delay_of(value, 60, too_long) is None


def test_it_is_in_seconds_with_a_fraction() -> None:
    delay = delay_of(5, 60, CLAMP)
    assert delay is not None
    assert [type(delay.asked), type(delay.kept)] == [float, float]


def test_what_a_file_asks_for_is_not_the_users_own() -> None:
    of_file = delay_of(5, 60, CLAMP)
    assert of_file is not None
    assert not of_file.own
    assert of_file != Delay(5, 5, own=True)


def test_of_two_delays_the_one_that_asks_for_more_counts() -> None:
    def asked(*lines: str) -> Delay | None:
        file: Any = RobotsTxt.parse("\n".join(("User-agent: *", *lines)))
        return pace_of(file, "Foobot", settings).delay

    settings = RobotsSettings.from_settings(BaseSettings({"ROBOTSTXT_OBEY": True}))

    assert asked("Crawl-delay: 5", "Request-rate: 1/90") == Delay(90, 60)
    assert asked("Crawl-delay: 90", "Request-rate: 1/5") == Delay(90, 60)
    assert asked("Crawl-delay: 5") == asked("Request-rate: 1/5") == Delay(5, 5)
    assert asked("Crawl-delay: 0", "Request-rate: 1/5") == Delay(5, 5)
    assert asked("Crawl-delay: 70", "Request-rate: 1/80") == Delay(80, 60)
    assert asked() is None


def test_the_users_own_delay_counts_if_no_file_asks_or_an_override_sets_it() -> None:
    file: Any = RobotsTxt.parse("User-agent: *\nCrawl-delay: 5")
    overrides = {"a.example": {"crawl_delay": 2}}
    settings = BaseSettings({"ROBOTSTXT_OBEY": True, "ROBOTS_OVERRIDES": overrides})
    origin = Origin.of("http://a.example/")
    assert origin is not None
    own = RobotsSettings.from_settings(settings).for_origin(origin)

    assert pace_of(file, "Foobot", own) == pace_of(None, "Foobot", own)
    assert pace_of(None, "Foobot", own).delay == Delay(2, 2, own=True)
