"""Each reason of a verdict has its exception, and those that deny are told to the user."""

from __future__ import annotations

import pickle
import re
from pathlib import Path

import pytest

from scrapy_robots_plus import (
    RobotsDisallowed,
    RobotsGivenUp,
    RobotsUnreachable,
    RobotsUseDisallowed,
    RobotsWalled,
)
from scrapy_robots_plus.audit.replay import UNREPLAYED
from scrapy_robots_plus.commands.diff import _WORDS
from scrapy_robots_plus.protocol import Reason, Verdict
from scrapy_robots_plus.requests.judge import denial_of

PACKAGE = Path(__file__).parents[2] / "scrapy_robots_plus"
_NAMED = re.compile(r"\bReason\.([A-Z_]+)")
STATS = Path(__file__).parents[2] / "docs" / "stats.md"
URL = "https://x.example/page"

DENY = {
    Reason.RULE: RobotsDisallowed,
    Reason.UNREACHABLE: RobotsUnreachable,
    Reason.CRAWL_DELAY: RobotsDisallowed,
    Reason.GIVEN_UP: RobotsGivenUp,
    Reason.WALLED: RobotsWalled,
    Reason.CLOSING: RobotsUnreachable,
    Reason.AI_PREFERENCE: RobotsUseDisallowed,
}
ONLY_ALLOW = {
    *(Reason.NO_RULE, Reason.NO_GROUP, Reason.ROBOTS_TXT),
    *(Reason.UNAVAILABLE, Reason.NOT_HTTP, Reason.NOT_OBEYED),
}


def test_of_every_reason_it_is_known_what_it_does() -> None:
    assert {*DENY, *ONLY_ALLOW} == set(Reason), (
        "add it above: to DENY, with its exception of crawl/events.py, or to ONLY_ALLOW"
    )
    assert not ONLY_ALLOW & set(DENY)


@pytest.mark.parametrize("reason", DENY)
def test_the_exception_of_a_denial(reason: Reason) -> None:
    verdict = Verdict(False, reason)
    error = denial_of(verdict)(URL, verdict)
    assert type(error) is DENY[reason]
    assert error.url == URL
    words = reason.words.format("robots.txt")
    denied = {
        Reason.AI_PREFERENCE: "Skipped for a preference of its site",
        Reason.GIVEN_UP: "Given up",
        Reason.WALLED: "Walled off",
    }.get(reason, "Forbidden by robots.txt")
    assert str(error) == f"{denied}: {URL} ({words})"
    copy = pickle.loads(pickle.dumps(error))
    assert (str(copy), copy.url, copy.verdict) == (str(error), URL, verdict)


def reasons_in(*patterns: str) -> set[Reason]:
    """Those that the code in files of these names gives."""
    paths = [path for pattern in patterns for path in PACKAGE.glob(pattern)]
    return {Reason[name] for path in paths for name in _NAMED.findall(path.read_text())}


def test_a_replay_comes_to_each_reason_to_deny_or_leaves_it_out() -> None:
    left_out = {reason for reason in DENY if reason.value in UNREPLAYED}
    assert reasons_in("origins/*.py", "protocol/rules.py") & set(DENY) | left_out == set(DENY), (
        "add it to UNREPLAYED in audit/replay.py, if a file alone does not tell"
    )


def test_a_difference_can_be_told_for_each_reason_that_a_file_gives() -> None:
    given = reasons_in("protocol/rules.py") - {Reason.RULE}
    no_file = {Reason.UNAVAILABLE, Reason.UNREACHABLE}
    assert given | no_file == set(_WORDS), "_WORDS in commands/diff.py has a few words for each"


def test_the_statistics_of_denials_are_described() -> None:
    described = re.findall(r"^\| `(\w+)`", STATS.read_text(), re.MULTILINE)
    denying = [str(reason) for reason in Reason if reason in DENY]
    assert described == denying, "the table of reasons in docs/stats.md has them in this order"
