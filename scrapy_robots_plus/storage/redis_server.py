"""The connection to a Redis server, with short timeouts and one kind of error."""

from __future__ import annotations

import re
import time
from contextlib import suppress
from math import ceil, inf
from pathlib import Path
from traceback import walk_tb
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, TypeVar, cast

from scrapy_robots_plus.protocol.printable import printable

from .record import StoreError
from .redis_url import hidden, is_cluster, secrets_in

if TYPE_CHECKING:
    from collections.abc import Callable

    from redis import Redis

_T = TypeVar("_T")

SECONDS = 1.0
"""The timeout for connecting, and for each answer. Options of the URL can set another."""

FIRST_PAUSE = 0.5
LONGEST_PAUSE = 10.0
"""The longest pause in seconds after a server did not answer. Pauses double from FIRST_PAUSE."""

_SWAP = Path(__file__).with_name("swap.lua").read_bytes()

_LASTING = re.compile(r"\bWRONGTYPE\b|unknown command|can't run|permission")
"""What errors that a retry does not mend say, if redis-py has no class of its own for them."""


class ServerError(StoreError):
    """The failure of a Redis server to do what it was asked.

    The message names the server, without user and password, and says why.
    """

    is_lasting = False
    """Whether a retry would fail, too: the user may not, the password is wrong, a key holds
    something else, or the server is a node of a cluster and the client does not know."""


class ServerAwayError(ServerError):
    """The error for a server that does not answer, or is left alone as it did not answer before."""


class Server:
    """A Redis server or cluster, used from any thread, one call after another.

    The first call connects. A server that does not answer is left alone for a growing pause, from
    :data:`FIRST_PAUSE` to *longest_pause* seconds. Calls fail at once meanwhile, so that a dead
    server costs no more than a timeout now and then.
    """

    def __init__(
        self,
        url: str,
        monotonic: Callable[[], float] = time.monotonic,
        *,
        longest_pause: float = LONGEST_PAUSE,
    ) -> None:
        self.restarts = 0
        """How many times another process answered than before: the latest data may be lost."""
        self._processes: dict[str, bytes] = {}
        """The process that answered last, by node of a cluster; "" for a single server."""
        self.name = hidden(url)
        """The URL without user, password and options, for messages."""
        self._url = url
        self._monotonic = monotonic
        self._client: Redis | None = None
        self._pause, self._longest_pause = 0.0, longest_pause
        self._alone_until = -inf
        self._why = ""

    for_a_cluster = "the URL needs the option cluster=true"
    """The hint in messages about what to set for a Redis Cluster."""

    def run(self, call: Callable[[Redis], _T]) -> _T:
        """Returns the result of *call*, which gets the client and does nothing but use it.

        Raises :class:`ServerError` if the server answers with an error, :class:`ServerAwayError`
        if it does not answer.
        """
        if self._monotonic() < self._alone_until:
            raise ServerAwayError(self._why)
        try:
            result = call(self._connected())
        except Exception as error:  # noqa: BLE001 - told apart there
            self._failed(error)
        self._pause = 0.0
        return result

    def look(self, key: str | bytes, most: int = 0) -> Seen:
        """Returns the value at *key*, up to *most* bytes of it; 0 for all. Raises as :meth:`run`.

        Counts in :attr:`restarts` if another process answers than before.
        """
        seen: Seen = self._run_script(key, most)
        node = ""
        if is_cluster(self._url):
            node = self.run(lambda client: cast("Any", client).get_node_from_key(key).name)
        self.restarts += self._processes.get(node, seen.process) != seen.process
        self._processes[node] = seen.process
        return seen

    def swap(
        self,
        key: str | bytes,
        was: bytes,
        new: bytes,
        seconds: float = 0.0,
        most: int = 0,
        *,
        though_full: bool = False,
    ) -> Seen | None:
        """Sets *key* to *new* for *seconds* if its value still begins with *was*.

        *was*: as :meth:`look` found it. An empty *new* deletes the key. *though_full*: writes even
        if the server is out of memory. Returns None if it has written; if another client has
        changed the value, what :meth:`look` would return. Raises as :meth:`run`.
        """
        milliseconds = max(1, ceil(seconds * 1000))
        arguments = (most, was, new, milliseconds, int(though_full))
        return cast("Seen | None", self._run_script(key, *arguments))

    def _run_script(self, key: str | bytes, *arguments: bytes | int) -> Any:
        told: Any = self.run(lambda client: client.register_script(_SWAP)([key], arguments))
        if told == 1:
            return None
        value, (seconds, microseconds), process = told
        return Seen(value, int(seconds) + int(microseconds) / 1e6, process)

    def close(self) -> None:
        """Closes the connection for good. Never raises."""
        client, self._client = self._client, None
        self._alone_until, self._why = inf, f"{self.name}: the connection is closed"
        if client is not None:
            with suppress(Exception):  # it is no longer needed
                getattr(client, "disconnect_connection_pools", list)()  # close() keeps them open
                client.close()

    def _connected(self) -> Redis:
        if self._client is None:
            self._client = connect(self._url)
        return self._client

    def _failed(self, error: Exception) -> NoReturn:
        from redis import exceptions

        moved = exceptions.MovedError
        lasting = moved, exceptions.AuthenticationError, exceptions.ClusterCrossSlotError
        words = str(error) or type(error).__name__
        is_lasting = isinstance(error, lasting) or bool(_LASTING.search(words))
        if isinstance(error, moved):
            words = f"the server belongs to a Redis Cluster: {self.for_a_cluster}"
        for secret in secrets_in(self._url):  # some servers quote an unknown command
            words = words.replace(secret, "***")
        why = f"{self.name}: {printable(words.rstrip('.'), 300)}"
        if isinstance(error, (exceptions.ResponseError, exceptions.DataError)):
            self._pause, told = 0.0, ServerError(why)
        elif _is_of_redis(error):
            self._why, told = why, ServerAwayError(why)
            self._pause = min(max(self._pause * 2, FIRST_PAUSE), self._longest_pause)
            self._alone_until = self._monotonic() + self._pause
        else:
            raise error
        told.is_lasting = is_lasting
        raise told from None  # its text may hold the password


class Seen(NamedTuple):
    """The value at a key of a server, as it was read."""

    value: bytes
    """The bytes at the key; empty if there are none, or a value of another type."""
    now: float
    """The server's time, in seconds since the epoch."""
    process: bytes
    """The ``run_id`` of the process that answered; empty if the user may not run INFO."""


def _is_of_redis(error: Exception) -> bool:
    """Returns whether redis-py raised *error*.

    It may raise anything if what answers is not a Redis server.
    """
    frames = walk_tb(error.__traceback__)
    modules = [frame.f_globals.get("__name__", "") for frame, _ in frames]
    return any(module.partition(".")[0] == "redis" for module in modules)


def connect(url: str) -> Redis:
    """Returns a client for *url*. One of a single server connects when it is first used.

    It waits :data:`SECONDS` for each answer, never retries, and returns bytes. Raises what redis-py
    does if *url* cannot be used, or no node of a cluster answers.
    """
    import redis
    from redis.backoff import NoBackoff
    from redis.retry import Retry

    options: dict[str, Any] = {
        "socket_connect_timeout": SECONDS,
        "socket_timeout": SECONDS,
        "retry": Retry(NoBackoff(), 0),
        "decode_responses": False,
        "protocol": 2,
    }
    kind = redis.RedisCluster if is_cluster(url) else redis.Redis
    # The option ``cluster`` is ours.
    place, mark, given = url.partition("?")
    kept = [each for each in given.split("&") if each.partition("=")[0] != "cluster"]
    return cast("Redis", kind.from_url(place + mark + "&".join(kept), **options))
