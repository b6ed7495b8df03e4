"""What answers at the address of a Redis server may be anything."""

from __future__ import annotations

import socket
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from scrapy_robots_plus.storage.redis_server import Server, ServerAwayError, ServerError

if TYPE_CHECKING:
    from collections.abc import Iterator

pytest.importorskip("redis")

AWAY = {
    "loading": b"-LOADING Redis is loading the dataset in memory\r\n",
    "without AUTH": b"-ERR unknown command `AUTH`, with args: `crawler` `5ecret` \r\n",
    "full": b"-ERR max number of clients reached\r\n",
    "a number that is none": b":abc\r\n",
    "a length that is none": b"$zz\r\n",
    "an array that is none": b"*x\r\n",
    "deep": b"*1\r\n" * 5_000 + b":1\r\n",
    "null": b"$-1\r\n",
    "numbers": b"*2\r\n:1\r\n:2\r\n",
    "not UTF-8": b"-\xff\xfe\r\n",
    "nowhere": b"-MOVED\r\n",
    "empty": b"-\r\n",
    "HTTP": b"HTTP/1.1 400 Bad Request\r\n\r\n",
    "zeros": bytes(100) + b"\r\n",
    "nothing": b"",
}


@contextmanager
def answering(answer: bytes) -> Iterator[str]:
    """The URL of a server that gives *answer* to each command; an empty one hangs up."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=_accept, args=(listening, answer), daemon=True).start()
        yield f"redis://crawler:5ecret@127.0.0.1:{listening.getsockname()[1]}/0?socket_timeout=0.2"
        listening.shutdown(socket.SHUT_RDWR)


def _accept(listening: socket.socket, answer: bytes) -> None:
    while True:
        try:
            connection, _ = listening.accept()
        except OSError:
            return
        threading.Thread(target=_talk, args=(connection, answer), daemon=True).start()


def _talk(connection: socket.socket, answer: bytes) -> None:
    with connection:
        try:
            while answer and (asked := connection.recv(65_536)):
                connection.sendall(answer * max(1, asked.count(b"*")))
        except OSError:
            return


@pytest.mark.parametrize("answer", AWAY.values(), ids=AWAY)
@pytest.mark.parametrize("options", ["", "&cluster=true"])
def test_is_an_error_soon_and_shows_no_password(answer: bytes, options: str) -> None:
    with answering(answer) as url:
        server = Server(url + options)
        started = time.monotonic()
        with pytest.raises(ServerError) as caught:
            server.run(lambda client: client.scan(0))
        assert time.monotonic() - started < 10
        assert "5ecret" not in str(caught.value)
        assert "crawler" not in str(caught.value)
        server.close()


@pytest.mark.parametrize("answer", [b"-LOADING\r\n", b"", AWAY["HTTP"]])
def test_is_left_alone_for_a_while(answer: bytes) -> None:
    with answering(answer) as url:
        server = Server(url, lambda: 1000.0)
        asked = []
        for _ in range(5):
            with pytest.raises(ServerAwayError):
                server.run(lambda client: asked.append(client.ping()))
        assert asked == []
        server.close()


@pytest.mark.parametrize(
    ("answer", "is_lasting"),
    [
        (b"-WRONGTYPE Operation against a key holding the wrong kind of value", True),
        (b"-NOAUTH Authentication required.", True),
        (b"-WRONGPASS invalid username-password pair or user is disabled.", True),
        (b"-NOPERM User crawler has no permissions to run the 'scan' command", True),
        (b"-CROSSSLOT Keys in request don't hash to the same slot", True),
        (b"-ERR unknown command 'SCAN', with args beginning with: '0'", True),
        (b"-ERR You can't run this", True),
        (b"-MOVED 1 127.0.0.1:1", True),
        (b"-OOM command not allowed when used memory > 'maxmemory'.", False),
        (b"-READONLY You can't write against a read only replica.", False),
        (b"-LOADING Redis is loading the dataset in memory", False),
        (b"-ERR max number of clients reached", False),
        (b"", False),
    ],
)
def test_an_error_is_lasting_if_it_would_come_again(answer: bytes, is_lasting: bool) -> None:
    with answering(answer and answer + b"\r\n") as url:
        server = Server(url)
        with pytest.raises(ServerError) as caught:
            server.run(lambda client: client.scan(0))
        assert caught.value.is_lasting is is_lasting
        server.close()
