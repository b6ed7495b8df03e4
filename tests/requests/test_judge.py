"""What becomes of a request, by name. The engine answers when it is told; nothing waits."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
import pytest_twisted
from scrapy import Request
from scrapy.utils.defer import deferred_from_coro
from twisted.internet.defer import Deferred

from scrapy_robots_plus.crawl.crawl import Crawl
from scrapy_robots_plus.origins.policies import Policies
from scrapy_robots_plus.origins.policy import Passes, Refused
from scrapy_robots_plus.protocol.origin import Origin
from scrapy_robots_plus.protocol.verdict import Reason
from scrapy_robots_plus.requests.judge import Asked, Decision, Judge
from tests.crawl.scripted import make_crawler, turn

if TYPE_CHECKING:
    from collections.abc import Awaitable

ORIGIN = Origin("http", "host.example", 80)
OPEN, CLOSED = "http://host.example/open", "http://host.example/closed"
RULES, UNREADABLE = 0, 2  # of scripted.ANSWERS
DELAYS_ALONE = {"ROBOTSTXT_OBEY": False, "ROBOTS_CRAWL_DELAY_OBEY": True}


class Judged:
    """A crawl whose one host has answered."""

    def __init__(self, **settings: Any) -> None:
        self.crawler = make_crawler(ROBOTS_FETCH_RETRIES=0, **settings)
        self.crawl = Crawl.of(self.crawler)

    async def know(self, answer: int) -> None:
        """Its robots.txt is fetched."""
        self.crawl.get(Policies).prefetch(ORIGIN, Request(ORIGIN.robots_url))
        await turn()
        self.crawler.engine.answer(0, answer)
        await turn()

    def close(self, *, keeps_requests: bool = False) -> None:
        slot = self.crawler.engine._slot
        slot.closing, slot.scheduler = Deferred(), SimpleNamespace(persist=keeps_requests)

    def judge(self, request: str | Request, *, again: bool = False) -> Awaitable[Decision]:
        if isinstance(request, str):
            request = Request(request)
        asked = Asked(request, ORIGIN, "foobot", self.crawl.settings, again)
        judged = self.crawl.get(Judge).judge(asked)
        return deferred_from_coro(judged)

    @property
    def policy(self) -> object:
        return self.crawl.get(Policies).usable(ORIGIN)


class TakesAll:
    """A queue that has handed out every request, and takes it back."""

    def takes_back(self, request: Request, origin: Origin, /) -> bool:
        return True


async def judged(answer: int, **settings: Any) -> Judged:
    made = Judged(**settings)
    await made.know(answer)
    return made


@pytest_twisted.ensureDeferred
async def test_a_url_that_rules_allow_passes_with_the_policy_that_lets_it() -> None:
    host = await judged(RULES)
    passes = await host.judge(OPEN)
    assert isinstance(passes, Passes)
    assert passes.policy is host.policy
    assert (passes.verdict.allowed, passes.verdict.reason) == (True, Reason.RULE)


@pytest_twisted.ensureDeferred
async def test_a_url_that_rules_disallow_is_refused_and_why() -> None:
    host = await judged(RULES)
    decision = await host.judge(CLOSED)
    assert isinstance(decision, Refused)
    assert (decision.verdict.reason, decision.policy) == (Reason.RULE, host.policy)


@pytest_twisted.ensureDeferred
async def test_a_rule_that_refuses_many_urls_makes_one_verdict() -> None:
    """A page may have thousands of links that one rule disallows."""
    host = await judged(RULES, ROBOTSTXT_PARSER="scrapy_robots_plus.RobotsParser")
    first, second = [await host.judge(f"{CLOSED}/{number}") for number in range(2)]
    assert isinstance(first, Refused)
    assert isinstance(second, Refused)
    assert first.verdict is second.verdict


@pytest_twisted.ensureDeferred
async def test_without_a_queue_that_keeps_it_an_unreadable_file_refuses() -> None:
    host = await judged(UNREADABLE)
    decision = await host.judge(OPEN)
    assert isinstance(decision, Refused)
    assert decision.verdict.reason is Reason.UNREACHABLE


@pytest_twisted.ensureDeferred
async def test_what_the_queue_keeps_passes_its_duplicate_filter_once() -> None:
    host = await judged(UNREADABLE)
    host.crawl.queue = TakesAll()
    first = Request(OPEN, meta={"mine": 1})
    for _ in range(2):
        decision = await host.judge(first)
        assert isinstance(decision, Request)
        assert (decision.url, decision.dont_filter) == (OPEN, True)
        first = decision
    assert host.crawler.stats.get_value("robotstxt/put_back") == 2
    await host.judge(first)
    assert (first.dont_filter, first.meta) == (False, {"mine": 1})


@pytest_twisted.ensureDeferred
async def test_the_queue_keeps_nothing_that_rules_disallow() -> None:
    host = await judged(RULES)
    host.crawl.queue = TakesAll()
    assert isinstance(await host.judge(CLOSED), Refused)


@pytest_twisted.ensureDeferred
async def test_what_the_end_of_the_crawl_leaves_unread_is_refused() -> None:
    host = Judged()
    host.close()
    decision = await host.judge(OPEN)
    assert isinstance(decision, Refused)
    assert (decision.verdict.reason, decision.policy) == (Reason.CLOSING, None)


@pytest_twisted.ensureDeferred
async def test_what_the_end_of_the_crawl_leaves_unread_passes_where_delays_alone_are_kept() -> None:
    host = Judged(**DELAYS_ALONE)
    host.close()
    assert await host.judge(OPEN) is None


@pytest.mark.parametrize("settings", [{}, DELAYS_ALONE], ids=["rules", "delays alone"])
@pytest_twisted.ensureDeferred
async def test_a_scheduler_that_outlives_the_crawl_keeps_what_is_left_unread(
    settings: dict[str, Any],
) -> None:
    host = Judged(**settings)
    host.close(keeps_requests=True)
    decision = await host.judge(OPEN)
    assert isinstance(decision, Request)
    again = await host.judge(decision)  # its asker sends whatever it gets
    assert again is None if settings else isinstance(again, Refused)


@pytest_twisted.ensureDeferred
async def test_those_that_wait_are_counted_until_the_file_has_come() -> None:
    host = Judged()
    decisions = [host.judge(OPEN), host.judge(CLOSED)]
    await turn()
    assert host.crawl.get(Policies).waiting == 2
    host.crawler.engine.answer(0, RULES)
    assert [type(await decision) for decision in decisions] == [Passes, Refused]
    assert host.crawl.get(Policies).waiting == 0


@pytest_twisted.ensureDeferred
async def test_a_request_for_the_robots_txt_that_is_being_fetched_does_not_wait_for_itself() -> (
    None
):
    host = Judged()
    judge, own = host.crawl.get(Judge), Request(ORIGIN.robots_url)
    assert not judge.is_exempt(own, ORIGIN)
    host.crawl.get(Policies).prefetch(ORIGIN, Request(ORIGIN.robots_url))
    assert judge.is_exempt(own, ORIGIN)
    assert not judge.is_exempt(Request(OPEN), ORIGIN)
    await turn()
    host.crawler.engine.answer(0, RULES)
    await turn()
    assert not judge.is_exempt(own, ORIGIN)
