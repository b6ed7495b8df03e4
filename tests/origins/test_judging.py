"""Why a request may be sent or not, by what is known of its origin."""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from scrapy_robots_plus.origins import judging
from scrapy_robots_plus.origins.judging import AgentPace, Delay, unreachable
from scrapy_robots_plus.protocol import Reason, RobotsTxt, Verdict
from scrapy_robots_plus.protocol.access import Access
from scrapy_robots_plus.protocol.preferences import combine
from scrapy_robots_plus.protocol.preferences.in_file import FilePreferences

if TYPE_CHECKING:
    from scrapy_robots_plus.protocol.preferences import Preferences
    from scrapy_robots_plus.protocol.product_token import AgentNames

FILE = RobotsTxt.parse("User-agent: foobot\nDisallow: /b\nAllow: /b/open\n")
USES = RobotsTxt.parse(
    "User-agent: foobot\nContent-Usage: /a train-ai=n\nContent-Usage: /ac train-ai=y, search=n\n"
)
SITE = "http://a.example"


@dataclass(frozen=True)
class OriginFacts:
    """An origin whose file was read, unless a test says otherwise."""

    file: Any = FILE
    access: Access = Access.RULES
    obeys: bool = True
    delay: Delay | None = None
    skipped_uses: tuple[str, ...] = ()

    def preferences(self, url: str, agent: AgentNames) -> Preferences:
        return combine(FilePreferences(USES, agent).statements(url))

    def pace_of(self, agent: AgentNames) -> AgentPace:
        return AgentPace(self.delay if agent == "foobot" else None)

    @property
    def settings(self) -> SimpleNamespace:
        return SimpleNamespace(obey=self.obeys, skipped_uses=self.skipped_uses)


class Nameless:
    """The rules of a parser that does not name them."""

    def verdict(self, url: str, agent: AgentNames) -> Verdict:
        return Verdict(FILE.allowed(url, agent), Reason.RULE)


READ = OriginFacts()
UNREAD = replace(READ, access=Access.UNREACHABLE)
NEVER_READ = replace(UNREAD, file=None)
NONE_THERE = replace(READ, access=Access.UNAVAILABLE, file=None)
NOT_OBEYED = replace(READ, obeys=False)


def verdict(of: OriginFacts, url: str, agent: AgentNames) -> Verdict:
    known: Any = of
    return judging.verdict(known, url, agent)


def refusal(known: OriginFacts, url: str, agent: AgentNames) -> Verdict | None:
    found = verdict(known, url, agent)
    return None if found.allowed else found


def test_a_rule_refuses_and_is_named() -> None:
    denied = Verdict(False, Reason.RULE, "Disallow: /b", 2, ("foobot",))
    assert refusal(READ, f"{SITE}/b", "foobot") == denied
    sent = refusal(READ, f"{SITE}/a/../b?c", "foobot")
    assert sent == replace(denied, form="/b?c")


def test_or_permits_and_is_named() -> None:
    url = f"{SITE}/b/open"
    assert refusal(READ, url, "foobot") is None
    assert verdict(READ, url, "foobot") == FILE.verdict(url, "foobot")
    assert verdict(READ, url, "foobot").line == 3


def test_each_crawler_has_rules_of_its_own() -> None:
    assert refusal(READ, f"{SITE}/b", "barbot") is None
    assert refusal(READ, f"{SITE}/a/../b", "barbot") is None
    assert verdict(READ, f"{SITE}/b", "barbot") == Verdict(True, Reason.NO_GROUP)


def test_a_parser_may_name_no_rule() -> None:
    known = replace(READ, file=Nameless())
    assert refusal(known, f"{SITE}/b", "foobot") == Verdict(False, Reason.RULE)
    assert verdict(known, f"{SITE}/a", "foobot") == Verdict(True, Reason.RULE)


class Counting(Nameless):
    """Rules that count how often they are asked."""

    def __init__(self) -> None:
        self.asked = 0

    def verdict(self, url: str, agent: AgentNames) -> Verdict:
        self.asked += 1
        return FILE.verdict(url, agent)


@pytest.mark.parametrize("path", ["/a", "/b", "/b/open"])
def test_rules_are_asked_once_for_a_url(path: str) -> None:
    rules = Counting()
    assert verdict(replace(READ, file=rules), SITE + path, "foobot") == FILE.verdict(path, "foobot")
    assert rules.asked == 1


@pytest.mark.parametrize("known", [UNREAD, NEVER_READ, replace(READ, file=None)])
def test_without_the_file_all_but_robots_txt_is_refused(known: OriginFacts) -> None:
    refused = Verdict(False, Reason.UNREACHABLE)
    assert refusal(known, f"{SITE}/a", "foobot") == unreachable(f"{SITE}/a") == refused
    url = f"{SITE}/robots.txt"
    permitted = Verdict(True, Reason.UNREACHABLE)
    assert verdict(known, url, "foobot") == unreachable(url) == permitted


@pytest.mark.parametrize(
    ("known", "reason"),
    [
        (NONE_THERE, Reason.UNAVAILABLE),
        (replace(NONE_THERE, file=FILE), Reason.UNAVAILABLE),
        (NOT_OBEYED, Reason.NOT_OBEYED),
        (replace(UNREAD, obeys=False), Reason.NOT_OBEYED),
        (replace(NONE_THERE, obeys=False), Reason.NOT_OBEYED),
    ],
)
def test_without_rules_to_obey_nothing_is_refused(known: OriginFacts, reason: Reason) -> None:
    assert refusal(replace(known, delay=Delay(90, 60, skip=True)), f"{SITE}/b", "foobot") is None
    assert verdict(known, f"{SITE}/b", "foobot") == Verdict(True, reason)


def test_a_delay_that_is_too_long_refuses_what_the_rules_permit() -> None:
    known = replace(READ, delay=Delay(90, 60, skip=True))
    told = Verdict(False, Reason.CRAWL_DELAY, delay=90)
    assert refusal(known, f"{SITE}/a", "foobot") == told
    assert refusal(known, f"{SITE}/a", "barbot") is None
    denied = refusal(known, f"{SITE}/b", "foobot")
    assert denied is not None
    assert denied.reason is Reason.RULE
    assert refusal(replace(READ, delay=Delay(90, 60)), f"{SITE}/a", "foobot") is None


SKIPPING = replace(READ, skipped_uses=("train-ai",))


def test_an_objection_to_a_use_refuses_where_that_use_is_to_be_skipped() -> None:
    url = f"{SITE}/a"
    assert refusal(READ, url, "foobot") is None
    assert refusal(SKIPPING, url, "foobot") == Verdict(
        False,
        Reason.AI_PREFERENCE,
        "Content-Usage: /a train-ai=n",
        2,
        use="train-ai",
        source="robots.txt Content-Usage",
    )
    assert refusal(SKIPPING, f"{SITE}/ac", "foobot") is None
    assert refusal(SKIPPING, url, "barbot") is None
    assert refusal(replace(READ, skipped_uses=("ai-use", "search")), url, "foobot") is None


def test_it_counts_for_any_form_in_which_the_url_may_be_sent() -> None:
    refused = refusal(SKIPPING, f"{SITE}/x/../a", "foobot")
    assert refused is not None
    assert (refused.reason, refused.form) == (Reason.AI_PREFERENCE, "/a")


def test_rules_and_delays_come_before_it() -> None:
    denied = refusal(replace(SKIPPING, skipped_uses=("train-ai",)), f"{SITE}/b", "foobot")
    slow = replace(SKIPPING, delay=Delay(90, 90, skip=True))
    skipped = refusal(slow, f"{SITE}/a", "foobot")
    assert denied is not None
    assert skipped is not None
    assert (denied.reason, skipped.reason) == (Reason.RULE, Reason.CRAWL_DELAY)


@pytest.mark.parametrize("known", [NOT_OBEYED, NONE_THERE])
def test_what_else_the_site_says_counts_where_its_rules_do_not(known: OriginFacts) -> None:
    assert refusal(known, f"{SITE}/a", "foobot") is None
    skipped = refusal(replace(known, skipped_uses=("train-ai",)), f"{SITE}/a", "foobot")
    assert skipped is not None
    assert skipped.reason is Reason.AI_PREFERENCE
