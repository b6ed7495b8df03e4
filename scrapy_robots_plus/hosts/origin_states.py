"""What robots.txt says of the requests that wait for an origin: they may go, wait, or will fail."""

from __future__ import annotations

from math import inf
from typing import NamedTuple

from scrapy_robots_plus.crawl.crawl import Crawl
from scrapy_robots_plus.crawl.recent import Recent
from scrapy_robots_plus.origins.agents import Agents
from scrapy_robots_plus.origins.policies import LEAST_PAUSE
from scrapy_robots_plus.origins.policy import Policy
from scrapy_robots_plus.protocol.crawl_delay import VisitTime
from scrapy_robots_plus.protocol.origin import Origin

from .given_up import GivenUp
from .host import State


class OriginState(NamedTuple):
    """What requests to an origin wait for."""

    state: State
    """What requests wait for. ``READY``: nothing; ``POLICY``: the robots.txt; ``HELD``: a moment;
    ``REFUSED``: their turn to fail."""
    until: float = 0.0
    """The moment at which to look again if requests are held back, by the monotonic clock."""
    delay: float = 0.0
    """The delay in seconds that the robots.txt asks for."""
    visits: VisitTime | None = None
    """The visiting hours that the robots.txt asks for."""


HELD = State.HELD  # a global is found in a tenth of the time

OPEN = OriginState(State.READY)
UNKNOWN = OriginState(State.POLICY)
FAILING = OriginState(State.REFUSED)


def _again_in(policy: Policy) -> float:
    """Returns the seconds until the robots.txt of *policy* may be fetched again."""
    return max(policy.fresh_for, LEAST_PAUSE)


class OriginStates:
    """The states of origins under their policies, for the agent that most requests are sent as.

    Requests to an origin whose robots.txt cannot be read are held back for ``ROBOTS_DEFER``
    seconds, counted from when that was first seen.
    """

    MOST_OUTAGES = 100_000
    """The number of origins of which it is remembered when their robots.txt was first unreadable;
    for any other, the time begins anew when it is looked at again."""

    def __init__(self, crawl: Crawl) -> None:
        self._agents = crawl.get(Agents)
        self._given_up = crawl.get(GivenUp)
        self._defer = crawl.settings.defer
        self._clock = crawl.clock.monotonic
        self._unreachable_since: Recent[Origin, float] = Recent(self.MOST_OUTAGES)

    def under(self, policy: Policy) -> OriginState:
        """Returns the state of the origin of *policy* now."""
        policy.enforce(self._agents.default_under(policy.settings))
        origin = policy.origin
        if self._given_up.reason(origin) is not None:
            return FAILING
        if policy.denies_as_unreachable:
            now = self._clock()
            until = self._kept_until(origin, now)
            if now >= until:
                return FAILING
            return OriginState(HELD, min(now + _again_in(policy), until))
        if self._unreachable_since:
            self._unreachable_since.pop(origin, None)
        if not policy.is_paced:
            return OPEN
        opens_in, delay, visits = policy.opens_in, policy.delay or 0.0, policy.paces.visits
        if opens_in > 0:
            until = self._clock() + min(opens_in, _again_in(policy))
            return OriginState(HELD, until, delay, visits)
        return OriginState(State.READY, 0.0, delay, visits)

    def now(self, policy: Policy | None) -> OriginState:
        """Returns the state under *policy*; ``UNKNOWN`` if that is None, or would hold requests
        back although it has expired: the hours may be others by now.
        """
        if policy is None:
            return UNKNOWN
        state = self.under(policy)
        return UNKNOWN if state.state is HELD and policy.fresh_for <= 0 else state

    def defers(self, origin: Origin) -> bool:
        """Returns whether requests to *origin* are kept while its robots.txt cannot be read."""
        now = self._clock()
        return now < self._kept_until(origin, now)

    def _kept_until(self, origin: Origin, now: float) -> float:
        if not self._defer:
            return -inf
        since = self._unreachable_since.get(origin, now)
        self._unreachable_since.put(origin, since)
        return since + self._defer
