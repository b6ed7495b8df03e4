"""A real server is asked, and fails in all the ways it can."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest

from scrapy_robots_plus.storage.redis_server import (
    FIRST_PAUSE,
    LONGEST_PAUSE,
    Server,
    ServerAwayError,
    ServerError,
    connect,
)
from tests.redis_proxy import RedisProxy
from tests.redis_server import RedisServer, wait_until

if TYPE_CHECKING:
    pass


class HandClock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def ping(client: Any) -> Any:
    return client.ping()


def test_it_is_asked(server: RedisServer) -> None:
    shared = Server(server.url)
    assert shared.run(lambda client: client.set("a", b"\xff\x00")) is True
    assert shared.run(lambda client: client.get("a")) == b"\xff\x00"
    assert shared.name == server.url
    shared.close()
    shared.close()
    with pytest.raises(ServerError, match="the connection is closed"):
        shared.run(ping)


def test_it_is_asked_through_a_socket_with_user_and_password() -> None:
    with RedisServer(unix=True, user="crawler", password="5ecret") as server:
        shared = Server(server.url)
        assert shared.run(ping) is True
        assert "5ecret" not in shared.name
        shared.close()


def test_it_is_asked_over_tls(server: RedisServer) -> None:
    with RedisProxy(server, tls=True) as proxy:
        shared = Server(proxy.url)
        assert shared.run(ping) is True
        shared.close()
        strict = Server(proxy.url.partition("?")[0])
        with pytest.raises(ServerAwayError, match="certificate"):
            strict.run(ping)
        strict.close()


def test_closed_it_leaves_no_connection_to_a_cluster() -> None:
    with RedisServer(cluster=True) as server, server.client() as client:
        shared = Server(server.url)
        assert shared.run(ping) is True
        used = shared._client
        shared.close()
        wait_until(lambda: len(client.client_list()) == 1)
        assert used is not None


def test_an_error_that_it_answers_costs_no_pause(server: RedisServer) -> None:
    shared = Server(server.url, HandClock())
    for _ in range(3):
        with pytest.raises(ServerError, match="WRONGTYPE") as caught:
            shared.run(lambda client: [client.set("a", 1), client.lpush("a", 1)])
        assert not isinstance(caught.value, ServerAwayError)
    assert shared.run(ping) is True
    shared.close()


def test_a_server_that_is_away_is_left_alone_for_a_growing_pause(server: RedisServer) -> None:
    clock, tried = HandClock(), []

    def counted(client: Any) -> Any:
        tried.append(clock.now)
        return client.ping()

    shared = Server(server.url, clock)
    server.kill()
    for expected in (0.5, 1, 2, 4, 8, 10, 10):
        with pytest.raises(ServerAwayError, match="refused"):
            shared.run(counted)
        clock.now += expected - 0.01
        with pytest.raises(ServerAwayError, match="refused"):
            shared.run(counted)
        clock.now += 0.02
    assert len(tried) == 7
    assert (FIRST_PAUSE, LONGEST_PAUSE) == (0.5, 10)
    server.start()
    assert shared.run(counted) is True
    server.kill()  # it begins anew
    for _ in range(2):
        with pytest.raises(ServerAwayError):
            shared.run(counted)
        clock.now += FIRST_PAUSE + 0.01
    assert len(tried) == 10
    shared.close()


def test_an_error_that_it_answers_ends_the_pauses(server: RedisServer) -> None:
    clock = HandClock()
    shared = Server(server.url, clock)
    server.kill()
    for pause in (0.5, 1.0):
        with pytest.raises(ServerAwayError):
            shared.run(ping)
        clock.now += pause
    server.start()
    with pytest.raises(ServerError, match="WRONGTYPE"):
        shared.run(lambda client: [client.set("a", 1), client.lpush("a", 1)])
    server.kill()
    with pytest.raises(ServerAwayError):
        shared.run(ping)
    server.start()
    clock.now += FIRST_PAUSE
    assert shared.run(ping) is True
    shared.close()


def test_a_server_that_was_restarted_is_asked_again_at_once(server: RedisServer) -> None:
    shared = Server(server.url)
    assert shared.run(ping) is True
    server.fail_over_to_an_empty_one()
    assert shared.run(ping) is True
    shared.close()


def test_a_server_that_hangs_is_not_waited_for_longer_than_said(server: RedisServer) -> None:
    shared = Server(f"{server.url}?socket_timeout=0.2")
    assert shared.run(ping) is True
    server.pause()
    started = time.monotonic()
    try:
        for _ in range(100):
            with pytest.raises(ServerAwayError, match="Timeout"):
                shared.run(ping)
    finally:
        server.resume()
    assert time.monotonic() - started < 5
    shared.close()


def test_a_server_of_another_kind_is_away(server: RedisServer) -> None:
    with RedisProxy(server) as proxy:
        proxy.foreign = True
        shared = Server(proxy.url)
        with pytest.raises(ServerAwayError):
            shared.run(ping)
        shared.close()


@pytest.mark.parametrize(("user", "wrong"), [("", "wr0ng"), ("crawler", "wr0ng"), ("crawler", "")])
def test_a_wrong_password_is_an_error_that_shows_none(user: str, wrong: str) -> None:
    with RedisServer(user=user, password="5ecret") as server:
        shared = Server(server.url_for(user, wrong))
        with pytest.raises(ServerAwayError, match=r"(?i)auth|password") as caught:
            shared.run(ping)
        shown = f"{caught.value} {caught.value!r} {caught.value.__cause__}"
        assert wrong not in shown or not wrong
        shared.close()


def test_a_server_that_repeats_the_password_does_not_reveal_it() -> None:
    """As those do that do not know AUTH, or whose operator renamed it."""
    with RedisServer(password="5ecret") as server:
        shared = Server(server.url)

        def repeat(client: Any) -> Any:
            return client.execute_command("OUTH", "default", "5ecret")

        with pytest.raises(ServerError, match=r"unknown command.*[`']\*\*\*[`']") as caught:
            shared.run(repeat)
        assert "5ecret" not in str(caught.value)
        assert caught.value.__suppress_context__
        shared.close()


def test_what_is_wrong_with_the_call_itself_is_not_hidden(server: RedisServer) -> None:
    shared = Server(server.url)
    for call in (lambda client: 1 / 0, eval("lambda client: 1 / 0", {})):
        with pytest.raises(ZeroDivisionError):
            shared.run(call)
    shared.close()


def test_options_that_cannot_be_used_are_an_error() -> None:
    with pytest.raises(ServerAwayError, match="db"):
        Server("redis://127.0.0.1/0?db=secret").run(ping)


def test_a_key_is_changed_unless_another_client_has_done_so(server: RedisServer) -> None:
    shared = Server(server.url)
    assert shared.look("a").value == b""
    assert shared.swap("a", b"", b"one two", 60) is None
    for was in (b"", b"two"):
        changed = shared.swap("a", was, b"three", 60, most=3)
        assert changed is not None
        assert changed.value == b"one"
    assert shared.look("a").value == b"one two"
    assert shared.look("a", 3).value == b"one"
    assert shared.swap("a", b"one", b"three", 60) is None
    with server.client() as client:
        assert 59_000 < client.pttl("a") <= 60_000
        assert shared.swap("a", b"one", b"")
        assert shared.swap("a", b"three", b"") is None
        assert not client.exists("a")
        client.lpush("a", "x")
        assert shared.look("a").value == b""
        assert shared.swap("a", b"", b"new", 60) is None
        assert client.get("a") == b"new"
        seconds, microseconds = client.time()
        assert shared.look("a").now == pytest.approx(seconds + microseconds / 1e6, abs=5)
        assert shared.look("a").process.decode() == client.info("server")["run_id"]
    shared.close()


def test_a_script_runs_on_a_server_that_forgot_it(server: RedisServer) -> None:
    shared = Server(server.url)
    assert shared.swap("a", b"", b"1", 60) is None
    before = server.usage()
    assert shared.swap("a", b"1", b"2", 60) is None
    assert (server.usage() - before).commands["EVALSHA"] == 1
    with server.client() as client:
        client.script_flush()
    assert shared.swap("a", b"2", b"3", 60) is None
    server.fail_over_to_an_empty_one()
    assert shared.swap("a", b"", b"4", 60) is None
    shared.close()


def test_a_client_of_ones_own_has_the_same_short_waits(server: RedisServer) -> None:
    client = connect(server.url)
    assert client.get_connection_kwargs()["socket_timeout"] == 1
    assert client.ping()
    client.close()


def test_a_node_of_a_cluster_says_how_to_name_it(server: RedisServer) -> None:
    """As redis-py reports the answer ``MOVED`` of a node that does not have the key."""
    from redis.exceptions import MovedError

    def moved(client: Any) -> None:
        raise MovedError("15079 127.0.0.1:7803")

    shared = Server(server.url)
    with pytest.raises(ServerError, match=r": the server .* a Redis Cluster: .* cluster=true$"):
        shared.run(moved)
    shared.close()


@pytest.mark.parametrize("options", ["?cluster=false", "?cluster=false&socket_timeout=2&db=1"])
def test_a_url_may_say_that_its_server_is_no_cluster(server: RedisServer, options: str) -> None:
    client = connect(server.url + options)
    assert client.ping()
    assert client.get_connection_kwargs()["socket_timeout"] == (2 if "&" in options else 1)
    client.close()


def test_an_error_says_what_failed_in_a_line(server: RedisServer) -> None:
    from redis.exceptions import ResponseError

    def fail_without_words(client: Any) -> None:
        raise ResponseError

    shared = Server(server.url)
    with pytest.raises(ServerError) as caught:
        shared.run(fail_without_words)
    assert str(caught.value) == f"{server.url}: ResponseError"
    long = "return redis.error_reply('ERR ' .. string.rep('x', 5000))"
    with pytest.raises(ServerError, match="xxx") as caught:
        shared.run(lambda client: client.eval(long, 0))
    assert len(str(caught.value)) < 400
    shared.close()


def test_whoever_may_not_ask_which_process_it_is_asks_all_the_same() -> None:
    rights = "~* +@read +@write +@scripting +time"
    with RedisServer(user="crawler", password="5ecret", rights=rights) as server:
        shared = Server(server.url)
        assert shared.look("a").process == b""
        server.fail_over_to_an_empty_one()
        assert shared.look("a").process == b""
        assert shared.restarts == 0
        shared.close()


def test_a_restart_is_noticed_and_a_new_connection_is_none(server: RedisServer) -> None:
    with RedisProxy(server) as proxy:
        shared = Server(proxy.url)
        assert shared.look("a").value == b""
        proxy.cut()
        assert shared.look("a").value == b""
        assert shared.restarts == 0
        server.fail_over_to_an_empty_one()
        proxy.cut()
        assert shared.look("a").value == b""
        assert shared.restarts == 1
        shared.close()


def test_each_node_of_a_cluster_is_a_process_of_its_own() -> None:
    with RedisServer(cluster=True) as server:
        shared = Server(server.url)
        shared.look("a")
        shared._processes["127.0.0.1:1"] = b"another"
        shared.look("a")
        assert shared.restarts == 0
        shared._processes = dict.fromkeys(shared._processes, b"another")
        shared.look("a")
        assert shared.restarts == 1
        shared.close()
