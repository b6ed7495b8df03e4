"""Random interleavings of requests, answers, failures, cancellations, evictions and closing."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import pytest
import pytest_twisted
from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.internet.defer import Deferred

from scrapy_robots_plus.compat import ClosingWatch
from scrapy_robots_plus.origins.policies import Policies
from tests.crawl.scripted import ANSWERS, Scenario, in_greenlet, turn

if TYPE_CHECKING:
    from collections.abc import Iterator

ORIGINS = 4

STEPS = st.one_of(
    st.tuples(st.just("request"), st.integers(0, ORIGINS - 1), st.sampled_from(["open", "closed"])),
    st.tuples(st.just("answer"), st.integers(0, 20), st.sampled_from(range(len(ANSWERS)))),
    st.tuples(st.just("cancel"), st.integers(0, 20), st.none()),
    st.tuples(st.just("pass time"), st.integers(1, 100_000), st.none()),
)


class RandomScenario(Scenario):
    async def run(self, steps: list[Any], closes: bool) -> None:
        engine = self.crawler.engine
        for step, first, second in steps:
            if step == "request":
                self.request(first, second)
            elif step == "answer":
                engine.answer(first, second)
            elif step == "cancel" and self.running:
                self.running[first % len(self.running)].cancel()
            elif step == "pass time":
                self.now += first
            await turn()
        if closes:
            engine._slot.closing = Deferred()
        for round_ in range(100):
            if len(self.results) == len(self.running) and (closes or not engine.pending):
                break
            if not closes:
                engine.answer(round_, round_)
            await turn(0.001 if closes else 0)
        assert len(self.results) == len(self.running), "a waiter hangs"
        while engine.pending:  # what hangs at closing ends at its timeout
            engine.answer(0, 5)
            await turn()


def check_scenario(steps: list[Any], cache_size: int, closes: bool) -> None:
    scenario = RandomScenario(cache_size)
    pytest_twisted.blockon(Deferred.fromCoroutine(scenario.run(steps, closes)))
    expected = {
        "passed open",
        "RobotsDisallowed: rule",
        "RobotsUnreachable: unreachable",
        "CancelledError",
    }
    if closes:
        expected.add("RobotsUnreachable: closing")
    assert set(scenario.results.values()) <= expected
    assert not scenario.middleware.policies._fetches
    assert scenario.middleware.crawl.get(Policies).waiting == 0


@pytest.fixture
def _quick_and_quiet(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(ClosingWatch, "SECONDS", 0.001)
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.usefixtures("_quick_and_quiet")
@pytest.mark.parametrize("runs", [25, pytest.param(1000, marks=pytest.mark.stress)])
@pytest_twisted.ensureDeferred
async def test_no_leak_and_no_hung_waiter(runs: int) -> None:
    scenarios = given(
        steps=st.lists(STEPS, max_size=60), cache_size=st.integers(1, 4), closes=st.booleans()
    )
    await in_greenlet(settings(max_examples=runs, deadline=None)(scenarios(check_scenario)))
