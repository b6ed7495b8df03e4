"""Whatever workers do, no request is lost or handed out twice, and no host is asked too early."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from scrapy_robots_plus.redis.host_queue import Report, Stored

from .model import Model
from .workers import HOUR, Crew, give_back_of_the_dead

if TYPE_CHECKING:
    from scrapy_robots_plus.redis.host_queue import HostQueue

HOSTS = st.sampled_from(["a", "b", "c"])
WORKERS = st.sampled_from(["1", "2", "3"])
DELAYS = st.sampled_from([0.0, HOUR])
PICKS = st.integers(0, 11)


class Workers(RuleBasedStateMachine):
    client: Any = None

    def __init__(self) -> None:
        super().__init__()
        self.crew = Crew(self.client)
        self.model = Model()
        self.queues: dict[str, HostQueue] = {name: self.crew.worker(name) for name in "123"}

    def tell(self, worker: str, *reports: Report) -> None:
        self.queues[worker].exchange(reports=reports)

    @rule(worker=WORKERS, host=HOSTS, priorities=st.lists(st.sampled_from([0, 0, 3, -1.5])))
    def push(self, worker: str, host: str, priorities: list[float]) -> None:
        due = self.model.host(host)
        free = not due.blocked and due.holder is None
        requests = [Stored(host, each, self.model.push(host, each)) for each in priorities]
        answers = self.queues[worker].push(requests)
        if len(due.waiting) == len(priorities) and priorities:
            assert answers[0] == free

    @rule(worker=WORKERS, most=st.integers(0, 5), unknown=st.integers(0, 3))
    def take(self, worker: str, most: int, unknown: int) -> None:
        told = self.queues[worker].exchange(most, unknown, renew=True)
        known = [each for each in told.taken if each.delay is not None]
        assert len(known) == min(most, self.model.due(known=True))
        assert len(told.taken) - len(known) == min(unknown, self.model.due(known=False))
        for each in told.taken:
            self.model.hand_out(worker, each)
        if told.waiting is not None:
            assert told.waiting == self.model.waiting

    def under_way(self, pick: int) -> tuple[str, bytes, str] | None:
        # What is drawn may not depend on the server, which hands out by its own clock.
        there = sorted((name, id_) for name, out in self.model.out.items() for id_ in out)
        if not there:
            return None
        worker, id_ = there[pick % len(there)]
        return worker, id_, self.model.out[worker][id_][0]

    @rule(pick=PICKS, early=st.booleans())
    def ends_unsent(self, pick: int, early: bool) -> None:
        if (one := self.under_way(pick)) is not None:
            worker, id_, host = one
            self.tell(worker, Report("back", id_) if early else Report("freed", id_, host))
            if early:
                self.model.give_back(worker, id_)
            else:
                self.model.end(worker, id_)
                self.model.release(host, id_)

    @rule(pick=PICKS, delay=DELAYS, long_ago=st.booleans(), ends=st.booleans())
    def leaves(self, pick: int, delay: float, long_ago: bool, ends: bool) -> None:
        if (one := self.under_way(pick)) is not None:
            worker, id_, name = one
            host = self.model.host(name)
            reports = [Report("left", id_, name, 2 * HOUR if long_ago else 0.0, delay)]
            self.tell(worker, *reports, *([Report("ended", id_)] if ends else []))
            host.delay = delay
            host.blocked = host.blocked or (delay > 0 and not long_ago)
            self.model.release(name, id_)
            if ends:
                self.model.end(worker, id_)

    @rule(pick=PICKS, delay=DELAYS)
    def learns_the_pace(self, pick: int, delay: float) -> None:
        if (one := self.under_way(pick)) is not None:
            worker, id_, name = one
            self.tell(worker, Report("pace", id_, name, seconds=delay))
            self.model.host(name).delay = delay
            if not delay:
                self.model.release(name, id_)

    @rule(host=HOSTS, worker=WORKERS)
    def is_paused(self, host: str, worker: str) -> None:
        self.tell(worker, Report("pause", host=host, seconds=HOUR))
        self.model.host(host).blocked = True

    @rule(host=HOSTS)
    def time_passes(self, host: str) -> None:
        """An hour, for one host."""
        queue, known = self.queues["1"], self.model.host(host)
        text = self.crew.client.hget(queue.key("pace"), host)
        if text is None:
            return
        delay, _, holder = text.split(b" ")
        self.crew.client.hset(queue.key("pace"), host, b"%s 0 %s" % (delay, holder))
        if known.holder is None:
            for key in (queue.key("due"), queue.key("new")):
                self.crew.client.zadd(key, {host: 0}, xx=True)
        known.blocked = False

    @rule(worker=WORKERS, reaper=WORKERS)
    def dies(self, worker: str, reaper: str) -> None:
        if worker == reaper:
            return
        self.queues[worker].exchange(renew=True)
        self.crew.client.zadd(self.queues[worker].key("workers"), {worker: time.time() * 1000 - 9})
        give_back_of_the_dead(self.queues[reaper])
        self.model.give_back_all(worker, may_have_left=True)

    @rule(worker=WORKERS)
    def ends_its_crawl(self, worker: str) -> None:
        self.queues[worker].leave()
        self.model.give_back_all(worker)

    @invariant()
    def nothing_is_lost(self) -> None:
        assert self.queues["1"].state().waiting == self.model.waiting


def run(client: Any, examples: int) -> None:
    machine = type("OnThisServer", (Workers,), {"client": client})
    checks = list(HealthCheck)
    options = settings(max_examples=examples, deadline=None, suppress_health_check=checks)
    run_state_machine_as_test(machine, settings=options)


def test_workers_against_the_model(client: Any) -> None:
    run(client, 12)


@pytest.mark.stress
def test_workers_against_the_model_for_long(client: Any) -> None:
    run(client, 400)
