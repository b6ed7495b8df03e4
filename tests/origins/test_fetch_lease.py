"""Leases on a real server: one holder at a time, whatever comes between."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrapy_robots_plus.origins.fetch_lease import Leases
from scrapy_robots_plus.protocol.origin import Origin
from scrapy_robots_plus.storage.redis_server import ServerAwayError, ServerError
from tests.redis_server import RedisServer, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

ORIGINS = [Origin("https", f"site{number}.example", 443) for number in range(2)]
ONE, OTHER = ORIGINS
LONG = 3_600.0


@pytest.fixture(scope="module")
def shared() -> Iterator[RedisServer]:
    with RedisServer() as running:
        yield running


@pytest.fixture
def leases(shared: RedisServer) -> Leases:
    return Leases(shared.emptied().asked(), LONG)


def key(origin: Origin) -> str:
    return f"{{robots:{origin}}}:lease"


def test_one_holds_it_until_it_gives_it_up(leases: Leases) -> None:
    assert leases.holder(ONE) is None
    assert leases.take(ONE, b"a") == b"a"
    assert leases.take(ONE, b"b") == b"a" == leases.holder(ONE)
    assert leases.release(ONE, b"a")
    assert leases.holder(ONE) is None
    assert leases.take(ONE, b"b") == b"b"


def test_nobody_gives_up_what_another_holds(leases: Leases) -> None:
    leases.take(ONE, b"a")
    assert not leases.release(ONE, b"b")
    assert leases.holder(ONE) == b"a"


def test_each_origin_has_its_own(leases: Leases) -> None:
    assert leases.take(ONE, b"a") == b"a"
    assert leases.take(OTHER, b"b") == b"b"


def test_one_that_was_left_behind_expires(shared: RedisServer) -> None:
    leases = Leases(shared.emptied().asked(), LONG)
    leases.take(ONE, b"a")
    assert leases.seconds == LONG
    assert LONG - 60 < shared.client().pttl(key(ONE)) / 1000 <= LONG
    brief = Leases(shared.asked(), 0.05)
    brief.take(OTHER, b"dead")
    wait_until(lambda: leases.take(OTHER, b"b") == b"b")


def test_a_lease_lasts_at_least_a_millisecond(shared: RedisServer) -> None:
    assert Leases(shared.asked(), 0.0).take(ONE, b"a") in (b"a", None)


@pytest.mark.parametrize("host", ["[::1]", "a}b{c.example", "{}.example", "xn--bcher-kva.example"])
def test_whatever_the_host_is_called(leases: Leases, host: str) -> None:
    origin = Origin("http", host, 8080)
    assert leases.take(origin, b"a") == b"a" == leases.holder(origin)
    assert leases.release(origin, b"a")


class TestWithoutAServer:
    def test_all_say_so(self) -> None:
        with RedisServer() as server:
            leases = Leases(server.asked(), LONG)
            leases.take(ONE, b"a")
            server.kill()
            for call in (
                lambda: leases.take(ONE, b"a"),
                lambda: leases.holder(ONE),
                lambda: leases.release(ONE, b"a"),
            ):
                with pytest.raises(ServerAwayError):
                    call()

    def test_a_full_server_gives_none_and_takes_back_what_it_gave(self) -> None:
        with RedisServer() as server:
            leases = Leases(server.asked(), LONG)
            leases.take(ONE, b"a")
            server.run_out_of_memory()
            with pytest.raises(ServerError):
                leases.take(OTHER, b"b")
            assert leases.holder(ONE) == b"a"
            assert leases.release(ONE, b"a")

    def test_one_that_was_restarted_runs_the_script_again(self) -> None:
        with RedisServer() as server:
            leases = Leases(server.asked(), LONG)
            leases.take(ONE, b"a")
            leases.release(ONE, b"a")
            server.fail_over_to_an_empty_one()
            assert not leases.release(ONE, b"a")


def test_in_a_cluster_its_key_is_where_the_record_is() -> None:
    with RedisServer(cluster=True) as server:
        leases = Leases(server.asked(), LONG)
        assert leases.take(ONE, b"a") == b"a" == leases.holder(ONE)
        assert leases.release(ONE, b"a")
        slot: Any = server.client().cluster
        assert slot("KEYSLOT", key(ONE)) == slot("KEYSLOT", key(ONE).replace("lease", "record"))


class Model:
    """What must be true, in a dict."""

    def __init__(self) -> None:
        self.holders: dict[Origin, bytes] = {}

    def take(self, origin: Origin, token: bytes) -> bytes | None:
        return self.holders.setdefault(origin, token)

    def holder(self, origin: Origin) -> bytes | None:
        return self.holders.get(origin)

    def release(self, origin: Origin, token: bytes) -> bool:
        held = self.holders.get(origin) == token
        if held:
            del self.holders[origin]
        return held


steps = st.lists(
    st.tuples(
        st.sampled_from(["take", "take", "holder", "release", "release", "expire", "forget"]),
        st.sampled_from(ORIGINS),
        st.sampled_from([b"a", b"b", b"c"]),
    ),
    max_size=30,
)


def check_against_the_model(server: RedisServer, steps: list[Any]) -> None:
    client = server.client()
    client.flushall()
    workers = {token: Leases(server.asked(), LONG) for token in (b"a", b"b", b"c")}
    model = Model()
    for what, origin, token in steps:
        if what == "expire":
            client.pexpire(key(origin), 0)
            model.holders.pop(origin, None)
        elif what == "forget":
            client.script_flush()
        elif what == "holder":
            held = model.holder(origin)
            assert workers[token].holder(origin) == held
        else:
            asked = getattr(workers[token], what)(origin, token)
            assert asked == getattr(model, what)(origin, token)
    for worker in workers.values():
        worker._server.close()
    client.close()


@given(steps)
def test_it_does_what_a_dict_does(shared: RedisServer, steps: list[Any]) -> None:
    check_against_the_model(shared, steps)


@pytest.mark.stress
@settings(max_examples=3_000)
@given(steps)
def test_it_does_what_a_dict_does_whatever_comes_between(
    shared: RedisServer, steps: list[Any]
) -> None:
    check_against_the_model(shared, steps)
