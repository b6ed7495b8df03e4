"""The queue per host on a Redis server, as workers see it."""

from __future__ import annotations

import time
from math import inf
from typing import TYPE_CHECKING

import pytest
from redis import Redis
from redis.exceptions import RedisError

from scrapy_robots_plus.redis.host_queue import HostQueue, Report, Stored, in_its_slot
from tests.redis_server import RedisServer

from .workers import HOUR, MARK, Crew, give_back_of_the_dead, make_known, names, stored, take, tell

if TYPE_CHECKING:
    from typing import Any

A, B = "a.example", "b.example"


def test_a_host_of_which_nothing_is_known_goes_to_one_worker(crew: Crew) -> None:
    one, two = crew.worker("1"), crew.worker("2")
    one.push(stored(A, "first", "second"))
    (first,) = take(one)
    assert (first.host, first.data, first.holds, first.delay) == (A, b"first", True, None)
    assert take(one) == take(two) == []
    tell(one, Report("pace", first.id, A, seconds=0.0))
    assert names(take(two)) == ["second"]


def test_a_host_without_a_delay_gives_several_at_once(crew: Crew) -> None:
    worker = crew.worker("1")
    make_known(worker, A)
    worker.push(stored(A, *"abcde"))
    taken = take(worker, most=3)
    assert names(taken) == ["a", "b", "c"]
    assert not any(each.holds for each in taken)
    assert names(take(worker)) == ["d", "e"]


def test_nothing_waits_at_a_host_of_which_just_all_was_taken(crew: Crew) -> None:
    worker = crew.worker("1")
    make_known(worker, A)
    worker.push(stored(A, "a", "b"))
    assert len(take(worker, most=2)) == 2
    assert worker.state().waiting == 0
    told = worker.exchange(10)
    assert (told.wait, told.waiting) == (inf, 0)


def test_hosts_without_a_delay_share_what_is_taken(crew: Crew) -> None:
    worker = crew.worker("1")
    for host in (A, B):
        make_known(worker, host)
        worker.push(stored(host, *(f"{host}{number}" for number in range(9))))
    first, second = take(worker, most=4), take(worker, most=1)
    assert sorted(each.host for each in first) == [A, A, B, B]
    assert len(second) == 1


def test_a_delay_counts_from_when_the_request_left(crew: Crew) -> None:
    one, two = crew.worker("1"), crew.worker("2")
    make_known(one, A, 60.0)
    one.push(stored(A, "a", "b", "c"))
    (a,) = take(one)
    assert a.holds
    assert take(two) == []  # however long it is under way
    tell(one, Report("left", a.id, A, 59.95, 60.0))
    told = two.exchange(10, 10)
    assert told.taken == []
    assert told.wait <= 0.05
    time.sleep(told.wait)
    assert names(take(two)) == ["b"]


def test_a_request_that_was_not_sent_frees_its_host_at_once(crew: Crew) -> None:
    worker = crew.worker("1")
    make_known(worker, A, 60.0)
    worker.push(stored(A, "a", "b"))
    (a,) = take(worker)
    tell(worker, Report("freed", a.id, A))
    assert names(take(worker)) == ["b"]


def test_requests_that_do_not_hold_a_host_do_not_free_it(crew: Crew) -> None:
    worker = crew.worker("1")
    make_known(worker, A)
    worker.push(stored(A, "free", "a", "b"))
    (free,) = take(worker, most=1)
    tell(worker, Report("pace", free.id, A, seconds=60.0))
    (a,) = take(worker)
    assert a.holds
    tell(worker, Report("freed", free.id, A))
    assert take(worker) == []
    tell(worker, Report("freed", a.id, A))
    assert names(take(worker)) == ["b"]


def test_a_pause_is_kept_whatever_the_pace(crew: Crew) -> None:
    worker = crew.worker("1")
    for host, known in ((A, True), (B, False)):
        if known:
            make_known(worker, host)
        tell(worker, Report("pause", host=host, seconds=HOUR))
        assert worker.push(stored(host, "a")) == [False]
    told = worker.exchange(10, 10)
    assert told.taken == []
    assert told.wait == pytest.approx(HOUR, abs=10)


def test_it_is_told_how_long_until_a_host_is_due(crew: Crew) -> None:
    worker, year = crew.worker("1"), 365 * 24 * HOUR
    assert (worker.exchange().wait, worker.exchange().waiting) == (inf, 0)
    make_known(worker, A)
    worker.push(stored(A, "a"))
    assert (worker.exchange().wait, worker.exchange().waiting) == (0.0, 1)
    tell(worker, Report("pause", host=A, seconds=year))
    assert worker.exchange(10).wait == pytest.approx(year, abs=HOUR)


def test_a_pause_does_not_free_a_host_and_outlasts_its_delay(crew: Crew) -> None:
    worker = crew.worker("1")
    make_known(worker, A, 1.0)
    worker.push(stored(A, "a", "b"))
    (a,) = take(worker)
    tell(worker, Report("pause", host=A, seconds=HOUR))
    assert worker.exchange(10, 10).wait == inf
    tell(worker, Report("left", a.id, A, HOUR, 1.0))
    assert worker.exchange(10, 10).wait == pytest.approx(HOUR, abs=10)


def test_the_most_urgent_requests_of_a_host_come_first_then_the_oldest(crew: Crew) -> None:
    worker = crew.worker("1")
    make_known(worker, A)
    worker.push(stored(A, "z", "a") + stored(A, "now", priority=5) + stored(A, "late", priority=-1))
    worker.push(stored(A, "b") + stored(A, "at once", priority=10**400))
    worker.push(stored(A, "last", priority=-(10**400)))
    assert names(take(worker)) == ["at once", "now", "z", "a", "b", "late", "last"]


def test_what_was_given_back_has_its_old_place(crew: Crew) -> None:
    worker = crew.worker("1")
    make_known(worker, A)
    worker.push(stored(A, *"abc"))
    a, b = take(worker, most=2)
    tell(worker, Report("back", b.id), Report("back", a.id))
    assert worker.state().waiting == 3
    assert names(take(worker)) == ["a", "b", "c"]


def test_equal_requests_are_all_kept(crew: Crew) -> None:
    worker = crew.worker("1")
    make_known(worker, A)
    worker.push(stored(A, *"aaa"))
    worker.push(stored(A, *"aa"))
    assert len(take(worker)) == 5


def test_what_a_dead_worker_had_is_given_back(crew: Crew) -> None:
    one, two = crew.worker("1"), crew.worker("2")
    make_known(one, A)
    one.push(stored(A, *"abc") + stored(B, "d"))
    taken = take(one)
    assert len(taken) == 4
    tell(one, Report("ended", taken[0].id))
    assert take(two) == []
    assert two.state()[:3] == (0, 3, 1)
    crew.declare_dead(one)
    assert two.exchange(renew=True).more
    assert not two.exchange(renew=True).more
    assert len(take(two)) == 3
    assert two.state()[:3] == (0, 0, 0)


def test_a_dead_worker_with_much_gives_it_back_in_pieces(crew: Crew) -> None:
    one, two = crew.worker("1"), crew.worker("2")
    make_known(one, A)
    one.push(stored(A, *map(str, range(2500))))
    for _ in range(5):
        assert len(take(one, most=500)) == 500
    crew.declare_dead(one)
    give_back_of_the_dead(two)
    assert two.state()[:3] == (2500, 0, 0)


def test_the_delay_of_a_dead_worker_counts_from_when_it_may_have_sent(crew: Crew) -> None:
    one, two = crew.worker("1"), crew.worker("2")
    make_known(one, A, HOUR)
    one.push(stored(A, "a"))
    assert take(one)
    now = time.time()
    crew.client.zadd(one.key("workers"), {"1": now * 1000 - 1000})
    two.exchange(renew=True)
    told = two.exchange(10, 10)
    assert told.wait == pytest.approx(HOUR, abs=30)


def test_a_worker_that_was_taken_for_dead_is_told(crew: Crew) -> None:
    one, two = crew.worker("1"), crew.worker("2")
    assert not one.exchange(renew=True).forgotten  # it is new
    assert not one.exchange(known=True).forgotten
    make_known(one, A)
    one.push(stored(A, "a"))
    (a,) = take(one)
    crew.declare_dead(one)
    give_back_of_the_dead(two)
    told = one.exchange(5, 5, [Report("ended", a.id), Report("back", a.id)], known=True, renew=True)
    assert told.forgotten
    assert told.taken == []
    assert names(take(two)) == ["a"]  # given back once
    assert two.state().workers == 0  # it is not alive by that


def test_a_worker_is_told_while_what_it_had_is_given_back(crew: Crew) -> None:
    """In pieces: the turn of a host may be in the first, and another's since then."""
    one, other = crew.worker("one"), crew.worker("other")
    make_known(one, "a.example")
    one.push(stored("a.example", *(f"{each:0100}" for each in range(600))))
    assert len(take(one, 600)) == 600
    crew.declare_dead(one)
    assert other.exchange(renew=True).more
    assert len(one.held()) in range(1, 600)
    assert one.exchange(known=True, renew=True).forgotten
    assert one.ask(b"turn:1", "b.example", 1.0) < 0
    give_back_of_the_dead(other)
    assert one.held() == set()
    assert one.exchange(known=True, renew=True).forgotten
    assert len(take(other, 600)) == 600


def test_a_worker_that_leaves_gives_back_all_it_has(crew: Crew) -> None:
    one, two = crew.worker("1"), crew.worker("2")
    make_known(one, A)
    one.push(stored(A, *map(str, range(300))) + stored(B, "b"))
    ids = [each.id for each in take(one, most=500)]
    tell(one, Report("ended", ids[0]))
    one.leave()
    assert two.state()[:3] == (300, 0, 0)


class OlderServer(RedisServer):
    """It lacks a command that is new in Redis 6.2."""

    def _options(self) -> list[str]:
        return [*super()._options(), "--rename-command", "HRANDFIELD", ""]


def test_an_older_server_gives_back_what_a_worker_had() -> None:
    """Else the first one that dies stops all others for ever."""
    with OlderServer() as server:
        crew = Crew(server.client())
        one, two = crew.worker("1"), crew.worker("2")
        one.push(stored(A, "a"))
        assert take(one)
        crew.declare_dead(one)
        give_back_of_the_dead(two)
        assert names(take(two)) == ["a"]


def test_what_cannot_be_read_is_set_aside(crew: Crew) -> None:
    worker = crew.worker("1")
    worker.push(stored(A, "bad", "good"))
    (bad,) = take(worker)
    assert worker.set_aside(bad.data) == 1
    tell(worker, Report("freed", bad.id, A))
    assert crew.client.lrange(worker.key("aside"), 0, -1) == [b"bad"]
    assert names(take(worker)) == ["good"]


def test_a_request_that_was_seen_is_dropped(crew: Crew) -> None:
    worker, seen = crew.worker("1"), f"{crew.key}:dupefilter"
    requests = [Stored(A, 0, b"a", "x"), Stored(A, 0, b"b", "y"), Stored(A, 0, b"c", "x")]
    assert worker.push(requests, seen) == [True, False, None]
    assert worker.push([Stored(B, 0, b"d", "y"), Stored(B, 0, b"e")], seen) == [None, True]
    assert worker.state().waiting == 3


def test_a_request_from_elsewhere_asks_for_its_turn(crew: Crew) -> None:
    one, two = crew.worker("1"), crew.worker("2")
    for worker in (one, two):
        worker.exchange(renew=True)
    assert one.ask(b"x", A, 60.0) == 0.0
    assert one.ask(b"x", A, 60.0) == 0.0  # it has it
    assert 0 < two.ask(b"y", A, 60.0) <= 0.5
    two.push(stored(A, "a"))
    assert take(two) == []
    tell(one, Report("left", b"x", A, 30.0, 60.0), Report("ended", b"x"))
    assert 29 < two.ask(b"y", A, 60.0) <= 30
    assert two.state()[:3] == (1, 0, 1)


@pytest.mark.parametrize("is_used", [True, False])
def test_who_has_asked_for_a_turn_is_the_next(crew: Crew, is_used: bool) -> None:
    """Else workers that are nearer would take the host again and again just before."""
    far, near = crew.worker("1"), crew.worker("2")
    take(far)
    tell(near, Report("left", b"", A, 0.8, 1.0))
    near.push(stored(A, "a"))
    time.sleep(far.ask(b"x", A, 1.0))
    assert take(near) == []
    if is_used:
        assert far.ask(b"x", A, 1.0) == 0.0
        tell(far, Report("left", b"x", A, 1.0, 1.0), Report("ended", b"x"))
    else:
        tell(far, Report("freed", b"x", A))
    assert names(take(near)) == ["a"]


def test_who_is_not_alive_gets_no_turn(crew: Crew) -> None:
    """Nobody would give it back."""
    worker = crew.worker("1")
    assert worker.ask(b"x", A, 60.0) < 0
    worker.exchange(renew=True)
    assert worker.ask(b"x", A, 60.0) == 0.0


@pytest.mark.parametrize("what", ["left", "freed", "pace"])
def test_a_forgotten_worker_frees_no_host_that_another_holds(crew: Crew, what: str) -> None:
    """The other may have the same request, or another with the same number."""
    one, two = crew.worker("1"), crew.worker("2")
    make_known(one, A, 1.0)
    one.push(stored(A, "a", "b"))
    (a,) = take(one)
    crew.declare_dead(one)
    give_back_of_the_dead(two)
    crew.client.zadd(two.key("due"), {A: 1})
    (again,) = take(two)
    assert again.id == a.id
    report = {
        "left": Report("left", a.id, A, HOUR, 1.0),
        "freed": Report("freed", a.id, A),
        "pace": Report("pace", a.id, A, seconds=0.0),
    }[what]
    assert one.exchange(reports=[report], known=True).forgotten
    assert take(two) == []


def test_what_a_forgotten_worker_says_of_a_host_counts(crew: Crew) -> None:
    """A server without any data has taken over."""
    one, two = crew.worker("1"), crew.worker("2")
    assert one.exchange(reports=[Report("left", b"7", A, 0.0, HOUR)], known=True).forgotten
    two.push(stored(A, "a"))
    assert two.exchange(10, 10).wait == pytest.approx(HOUR, abs=10)


def test_a_host_is_free_though_the_server_has_forgotten_that_its_request_left(crew: Crew) -> None:
    one, two = crew.worker("1"), crew.worker("2")
    make_known(one, A, 0.1)
    one.push(stored(A, "a", "b"))
    (a,) = take(one)
    crew.client.delete(one.key("new"))
    told = one.exchange(5, 5, [Report("ended", a.id)], known=True)
    assert told.lost
    assert told.taken == []
    assert crew.client.zcount(two.key("due"), "inf", "inf") == 0
    wait = two.exchange(5, 5).wait
    assert 0.5 < wait <= 1.0  # nobody knows who else was sent there
    time.sleep(wait)
    assert names(take(two)) == ["b"]


def test_two_losses_within_a_millisecond_are_two(crew: Crew) -> None:
    worker = crew.worker("1")
    for _ in range(2):
        crew.client.set(worker.key("clock"), "9000000000000 0")
        crew.client.delete(worker.key("new"))
        assert worker.exchange(known=True).lost


def test_who_holds_a_host_is_known_though_all_that_were_alive_are_forgotten(crew: Crew) -> None:
    """In whatever order the server tells its keys."""
    one, two = crew.worker("1"), crew.worker("2")
    hosts = [f"{number}.example" for number in range(20)]
    for host in hosts:
        make_known(one, host, 0.05)
        one.push(stored(host, "a", "b"))
    taken = take(one, most=20)
    assert len(taken) == 20
    crew.client.delete(one.key("workers"))
    give_back_of_the_dead(two)
    for each in taken:
        tell(one, Report("left", each.id, each.host, 0.0, 0.05))
    time.sleep(1.1)  # what is kept after a loss, far less than the life of a worker
    assert names(take(one, most=20)) == ["b"] * 20


def test_the_turn_of_a_dead_worker_is_free_again(crew: Crew) -> None:
    one, two = crew.worker("1"), crew.worker("2")
    one.exchange(renew=True)
    assert one.ask(b"x", A, 1.0) == 0.0
    crew.declare_dead(one)
    assert two.exchange(renew=True).more
    assert two.ask(b"y", A, 1.0) == 0.0
    assert two.state().waiting == 0


def test_clearing_removes_all_that_waits_and_what_is_set_aside(crew: Crew) -> None:
    one, two = crew.worker("1"), crew.worker("2")
    for number in range(1200):
        one.push(stored(f"{number}.example", "a"))
    make_known(two, A)
    two.push(stored(A, *"ab"))
    assert take(one, 1, 5)
    assert take(two, 1, 5)
    one.set_aside(take(one)[0].data)
    one.clear()
    gone = (one.key("aside"), one.key("host:"), one.key("waiting"))
    assert [key for key in crew.key_names if key.startswith(gone)] == []
    assert take(one) == []
    for each in (one, two):
        each.leave()
    assert one.state()[:3] == (0, 0, 0)
    assert all(0 < crew.client.ttl(key) <= 2 * HOUR for key in crew.key_names)


def test_clearing_leaves_hosts_alone_that_were_just_asked(crew: Crew) -> None:
    one, two = crew.worker("1"), crew.worker("2")
    for host in (A, B):
        make_known(one, host, HOUR)
        one.push(stored(host, "1", "2"))
    a, b = take(one)
    tell(one, Report("left", a.id, A, 0.0, HOUR))
    two.clear()
    two.push(stored(A, "3") + stored(B, "3"))
    assert take(two) == []
    tell(one, Report("left", b.id, B, HOUR, HOUR))
    assert [each.host for each in take(two)] == [B]


def test_hosts_that_have_nothing_left_are_forgotten_later(crew: Crew) -> None:
    worker = crew.worker("1")
    make_known(worker, A)
    worker.push(stored(A, "a"))
    assert len(take(worker, most=2)) == 1
    idle = worker.key("idle")
    assert crew.client.zscore(idle, A) / 1000 == pytest.approx(time.time() + 3600, abs=60)
    crew.client.zadd(idle, {A: 1})
    worker.exchange(renew=True)
    assert crew.client.hkeys(worker.key("pace")) == [MARK]
    worker.push(stored(A, "b"))
    assert take(worker)[0].delay is None


def test_many_hosts_are_forgotten_as_fast_as_they_come(crew: Crew) -> None:
    worker = crew.worker("1")
    tell(worker, *(Report("left", b"", f"{each}.example", 0.0, 0.0) for each in range(3_000)))
    idle = worker.key("idle")
    crew.client.zadd(idle, {f"{each}.example": 1 for each in range(2_500)})
    assert any(not worker.exchange(renew=True).more for _ in range(5))
    assert crew.client.hlen(worker.key("pace")) - 1 == crew.client.zcard(idle) == 500


def test_when_all_have_left_what_is_known_of_hosts_expires(crew: Crew) -> None:
    one, two = crew.worker("1"), crew.worker("2")
    known = [one.key("pace"), one.key("idle"), one.key("clock")]

    def seconds_left() -> list[int]:
        return [crew.client.ttl(key) for key in known]

    for each in (one, two):
        each.exchange(renew=True)
    tell(one, Report("left", b"", A, 0.0, 0.0), Report("pause", host=A, seconds=HOUR))
    one.leave()
    assert seconds_left() == [-1] * 3
    two.leave()
    assert seconds_left() == pytest.approx([2 * HOUR] * 3, abs=60)
    one.exchange(renew=True)
    assert seconds_left() == [-1] * 3
    one.push(stored(A, "a"))
    one.leave()
    assert seconds_left() == [-1] * 3


def test_hosts_with_requests_are_not_forgotten(crew: Crew) -> None:
    worker = crew.worker("1")
    make_known(worker, A, HOUR)
    worker.push(stored(A, "a"))
    crew.client.zadd(worker.key("idle"), {A: 1})
    worker.exchange(renew=True)
    assert crew.client.hexists(worker.key("pace"), A)


def test_any_name_of_a_slot_is_a_host(crew: Crew) -> None:
    worker = crew.worker("1")
    odd = ["", "a b", "ä:/{}", "\udc80", "x" * 10_000, "-1 0 y", "+inf"]
    for name in odd:
        worker.push(stored(name, "a", "b"))
    first = take(worker, unknown=100)
    assert {each.host for each in first} == set(odd)
    tell(worker, *(Report("pace", each.id, each.host, seconds=0.0) for each in first))
    assert {each.host for each in take(worker, most=100)} == set(odd)


def test_any_bytes_are_data(crew: Crew) -> None:
    worker, data = crew.worker("1"), bytes(range(256)) * 500
    worker.push([Stored(A, 0, data), Stored(A, 0, b"")])
    (first,) = take(worker)
    tell(worker, Report("back", first.id))
    (first,) = take(worker)
    assert first.data == data
    tell(worker, Report("freed", first.id, A))
    assert take(worker)[0].data == b""


@pytest.mark.parametrize("delay", [1e300, -5.0, 0.0001])
def test_odd_delays_break_nothing(crew: Crew, delay: float) -> None:
    worker = crew.worker("1")
    worker.push(stored(A, "a", "b"))
    (a,) = take(worker)
    tell(worker, Report("left", a.id, A, -3.0, delay), Report("pause", host=A, seconds=delay))
    told = worker.exchange(10, 10)
    assert told.wait >= 0


@pytest.mark.parametrize(
    ("ago", "delay", "told"),
    [(0.0, 0.0, (0, 0)), (0.0019, 0.0011, (1, 2)), (-0.0011, 5.0, (-2, 5000))],
)
def test_no_wait_is_too_short_for_being_told_in_milliseconds(
    ago: float, delay: float, told: tuple[int, int]
) -> None:
    assert Report("left", b"1", A, ago, delay).arguments[-2:] == told
    assert Report("pace", b"1", A, seconds=delay).arguments[-1] == told[1]
    assert Report("pause", host=A, seconds=delay).arguments[-1] == told[1]


def test_the_keys_lie_in_the_hash_slot_of_scrapys_redis_queue() -> None:
    assert in_its_slot("spider:requests") == "{spider:requests}"
    assert in_its_slot("{all}:requests") == "{all}:requests"
    assert in_its_slot("{}x") == "{{}x}"
    assert in_its_slot("{}{a}") == "{{}{a}}"  # Redis looks at the first brace alone
    assert in_its_slot("odd{") == "{odd{}"


def test_the_cost_of_a_pop_does_not_grow_with_the_hosts(crew: Crew, client: Any) -> None:
    """In commands, which a busy machine does not change."""
    small, large = crew.worker("1"), Crew(client).worker("1")
    costs = []

    def cost_of_a_pop() -> int:
        before = client.info("stats")["total_commands_processed"]
        assert len(worker.exchange(5).taken) == 5
        return int(client.info("stats")["total_commands_processed"] - before)

    for worker, hosts in ((small, 25), (large, 2_000)):
        for start in range(0, hosts, 1000):
            end = min(hosts, start + 1000)
            worker.push([Stored(str(each), 0, b"a") for each in range(start, end)])
            tell(
                worker, *(Report("pace", b"", str(each), seconds=1.0) for each in range(start, end))
            )
        worker.exchange(5)
        costs.append(min(cost_of_a_pop() for _ in range(3)))  # some write what time it is
    assert costs[0] == costs[1]


def test_scripts_are_sent_again_to_a_server_that_has_lost_them(crew: Crew) -> None:
    worker = crew.worker("1")
    worker.push(stored(A, "a"))
    crew.client.script_flush()
    assert names(take(worker)) == ["a"]


def test_what_it_has_by_the_servers_account(crew: Crew) -> None:
    worker = crew.worker("1")
    worker.push(stored(A, "a") + stored(B, "b"))
    taken = take(worker)
    assert worker.held() == {each.id for each in taken}


def test_a_worker_can_live_without_taking_from_the_dead(crew: Crew) -> None:
    one, two = crew.worker("1"), crew.worker("2")
    one.push(stored(A, "a"))
    take(one)
    crew.declare_dead(one)
    assert not two.exchange(renew=True, reap=False).more
    assert two.exchange(renew=True).more


def test_a_server_without_memory_can_be_emptied(server: RedisServer) -> None:
    crew = Crew(server.client())
    worker = crew.worker("1")
    worker.push(stored(A, "a", "b") + stored(B, "c"))
    server.run_out_of_memory()
    with pytest.raises(RedisError):
        worker.push(stored(A, "d"))
    first, third = take(worker)
    tell(worker, Report("left", first.id, first.host, HOUR, 1.0), Report("ended", first.id))
    assert names(take(worker)) == ["b"]
    assert worker.ask(b"turn:1", "c.example", 1.0) == 0.0
    worker.leave()
    assert worker.state()[:3] == (2, 0, 0)
    assert third.host == B


def test_a_worker_is_told_what_the_others_have_in_other_ways(crew: Crew) -> None:
    one, two = crew.worker("1"), crew.worker("2")
    assert one.agree({"token": "foobot", "delay": "1"}) == {}
    assert take(one) == []  # it is there
    assert two.agree({"token": "foobot", "delay": "2"}) == {"delay": "1"}
    one.leave()
    assert two.agree({"token": "foobot", "delay": "2"}) == {}
    assert one.agree({"token": "foobot", "delay": "1"}) == {}  # the other one never came


def test_of_two_workers_that_start_together_one_is_told(crew: Crew) -> None:
    one, two = crew.worker("1"), crew.worker("2")
    assert take(one) == take(two) == []
    assert one.agree({"delay": "1"}) == {}
    assert two.agree({"delay": "2"}) == {"delay": "1"}


def test_workers_that_start_together_go_by_nothing_of_those_that_have_left(crew: Crew) -> None:
    for delay in "12":
        workers = [crew.worker(f"{delay}{name}") for name in "ab"]
        for each in workers:
            take(each)
        assert [each.agree({"delay": delay}) for each in workers] == [{}, {}]
        for each in workers:
            each.leave()


def test_what_was_lost_is_counted_in_a_key_of_the_queue(crew: Crew) -> None:
    assert crew.worker("1").key("lost") == f"{{{crew.key}}}:lost"


def fill(client: Any, keys: int) -> None:
    """With what is somebody else's."""
    client.mset({f"{{of another}}:{number}": 1 for number in range(keys)})


def test_other_keys_of_a_server_hold_no_crawl_open(server: RedisServer) -> None:
    """Looking through very many of them takes long."""
    client = server.client()
    fill(client, 20_000)
    worker = HostQueue(client, "worker:requests", "1", HOUR)
    told = worker.exchange(10, 10, renew=True)
    assert told.more
    assert (told.waiting, worker.state().waiting) == (0, 0)


def test_what_may_still_be_found_is_waited_for(server: RedisServer) -> None:
    client = server.client()
    worker = HostQueue(client, "worker:requests", "1", HOUR)
    worker.exchange(renew=True)
    worker.push(stored(A, "a", "b"))
    fill(client, 20_000)
    for name in ("due", "new", "workers", "pace"):
        client.delete(worker.key(name))
    another = HostQueue(client, "worker:requests", "2", HOUR)
    told = another.exchange(renew=True)
    while told.more:
        assert told.waiting
        told = another.exchange(renew=True)
    assert another.state().waiting == 2


def test_what_was_lost_with_the_set_of_hosts_is_counted(crew: Crew, client: Any) -> None:
    worker = crew.worker("1")
    worker.push([*stored(A, "a", "b"), *stored(B, "c")])
    client.delete(worker.key("new"), worker.key(f"host:{A}"))
    give_back_of_the_dead(worker)
    crew.age(worker)
    assert names(take(worker)) == ["c"]
    assert (worker.state().waiting, worker.state().lost) == (0, 2)


def test_no_look_for_the_lost_is_at_all_hosts(server: RedisServer) -> None:
    """Nobody else is answered meanwhile."""
    client = server.client()
    worker = HostQueue(client, "worker:requests", "1", HOUR)
    worker.push([Stored(f"{number}.example", 0.0, b"a") for number in range(300)])
    client.delete(worker.key("due"))
    more = True
    while more:
        before = server.usage()
        more = worker.exchange(renew=True).more
        assert (server.usage() - before).commands["ZCARD"] < 100


def test_workers_of_which_only_some_may_ask_for_the_process_share_the_queue(
    server: RedisServer,
) -> None:
    with server.client() as client, Redis.from_url(server.url_for("plain", "x")) as other:
        client.acl_setuser(
            "plain", enabled=True, passwords="+x", commands=["+@all", "-info"], keys="*"
        )
        crew = Crew(client)
        one = crew.worker("1")
        two = HostQueue(other, crew.key, "2", HOUR)
        make_known(one, A)
        one.push(stored(A, *"abcd"))
        taken = []
        for known in (False, True, True):
            for worker in (one, two):
                told = worker.exchange(1, known=known, renew=True)
                assert not told.lost
                taken += names(told.taken)
        assert sorted(taken) == ["a", "b", "c", "d"]


def test_the_turn_of_a_host_with_a_tiny_delay_is_not_asked_for_all_the_time(crew: Crew) -> None:
    one, two = crew.worker("1"), crew.worker("2")
    make_known(one, A, 0.001)
    for worker in (one, two):
        take(worker)
    assert one.ask(b"x", A, 0.001) == 0.0
    assert two.ask(b"y", A, 0.001) >= 0.05


def test_a_loss_shortens_the_life_of_no_worker(client: Any) -> None:
    crew = Crew(client)
    worker = crew.worker("1")
    take(worker)
    before = client.zscore(worker.key("workers"), "1")
    client.delete(worker.key("due"))
    worker.push(stored(A, "a"))
    assert client.zscore(worker.key("workers"), "1") >= before


def test_a_number_that_was_lost_with_a_process_is_not_given_again(crew: Crew) -> None:
    worker = crew.worker("1")
    make_known(worker, A)
    worker.push(stored(A, "a"))
    before = crew.client.get(worker.key("pushed"))
    worker.push(stored(A, "b"))
    lost = [each.id for each in take(worker)]
    crew.client.set(worker.key("pushed"), before)  # as it was when the data were written
    *mark, _ = crew.client.hget(worker.key("pace"), MARK).split(b" ")
    crew.client.hset(worker.key("pace"), MARK, b" ".join([*mark, b"another"]))
    worker.push(stored(B, "c"))
    (later,) = (each for each in (*take(worker), *take(worker)) if each.data == b"c")
    assert later.id not in lost
