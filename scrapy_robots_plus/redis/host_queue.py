"""The queue of one crawl on a Redis server, as one of its workers sees it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from math import inf
from typing import Any, NamedTuple

_SCRIPTS = ("push", "exchange", "ask", "leave", "state", "clear")
"""The names of the Lua files; each is preceded by ``common.lua``."""
_ANSWERS = {ord("-"): None, ord("0"): False, ord("1"): True}
"""What each answer of ``push.lua`` means, see :meth:`HostQueue.push`."""
LONGEST = 3.2e9
"""The longest time that the server is told, in seconds: a hundred years."""
_MOST_URGENT = 1e15
"""The bound of priorities: an integer may be too large for a float."""


class Report(NamedTuple):
    """What has happened to a request or a host, as a worker reports it."""

    what: str
    """The kind: "ended", "freed", "back", "pace", "left" or "pause", see ``exchange.lua``."""
    id: bytes = b""
    host: str = ""
    ago: float = 0.0
    """How many seconds ago it happened; below 0, for how many more it may be under way."""
    seconds: float = 0.0
    """Seconds to keep between requests to the host, or to leave it alone."""

    @property
    def arguments(self) -> tuple[bytes | str | int, ...]:
        """The arguments of the script that stand for this report."""
        passed = int(min(max(self.ago, -LONGEST), LONGEST) * 1000 // 1)
        return self.what, self.id, encoded(self.host), passed, _milliseconds(self.seconds)


class Stored(NamedTuple):
    """A request as the server keeps it."""

    host: str
    priority: float
    """The priority of the request; the highest is the most urgent."""
    data: bytes
    fingerprint: str = ""
    """The fingerprint by which the request is dropped if it was seen before; "" for none."""


class Taken(NamedTuple):
    """A request that the server has handed out to this worker."""

    id: bytes
    host: str
    holds: bool
    """Whether no other request to the host is handed out until this one is reported."""
    delay: float | None
    """Seconds to keep between requests to the host; None if the delay is unknown."""
    data: bytes


class Exchange(NamedTuple):
    """The answer of the server to an exchange."""

    taken: list[Taken]
    wait: float
    """Seconds until a host is due; infinity if unknown, 0 if the worker got all it asked for."""
    waiting: int | None
    """How many requests wait; None if the worker got all it asked for."""
    more: bool
    """Whether the next exchange has more to do: give back requests of a dead worker, forget hosts,
    or look for what was lost."""
    forgotten: bool
    """Whether the worker was taken for dead, so that others have its requests. It got nothing, and
    does not count as alive."""
    lost: bool
    """Whether the server has lost data since the worker was last alive: it may not know of requests
    that the worker has, or count some as the worker's that it never got. The worker got nothing,
    and counts as alive."""


class QueueState(NamedTuple):
    """The state of the queue, as one worker sees it."""

    waiting: int
    elsewhere: int
    """The number of requests that other workers have."""
    workers: int
    """The number of other workers that are alive."""
    lost: int
    """The number of requests that were lost with their keys."""


class HostQueue:
    """The queue of one crawl on a Redis server, whose clock says which hosts are due.

    Each script is one round trip. *client* is a client of redis-py that returns bytes. All errors
    of the server are raised as ``redis.exceptions.RedisError`` or OSError.
    """

    MOVED_AT_ONCE = 500
    """How many requests are taken over in one step."""

    def __init__(self, client: Any, key: str, worker: str, lifetime: float) -> None:
        """Takes the *key* of scrapy-redis's queue, and the unique name of this *worker*.

        *lifetime*: seconds after which a worker that is not heard of is taken for dead.
        """
        self._client = client
        self._scripts = {name: client.register_script(_text(name)) for name in _SCRIPTS}
        self._lifetime = round(lifetime * 1000)
        self._moved_key = key
        self._base = in_its_slot(key)
        self._era: bytes | str = ""
        """The era at the last exchange. A loss of data begins a new one, see ``common.lua``."""
        self.worker = worker

    def key(self, name: str) -> str:
        """Returns one of the keys of the queue, which docs/cluster-operation.md lists."""
        return f"{self._base}:{name}"

    def push(
        self, requests: Sequence[Stored], seen: str = "", moved_from: str = ""
    ) -> list[bool | None]:
        """Adds *requests*, except those whose fingerprint is in the set *seen*.

        With *moved_from*, a queue of scrapy-redis, moves them from there; the first is the next
        to go. Returns for each whether it may be due at once; None if it was seen before, or
        another worker took it.
        """
        has_fingerprints = any(each.fingerprint for each in requests)
        keys = [key for key in (seen if has_fingerprints else "", moved_from) if key]
        arguments: list[Any] = ["move" if moved_from else ""]
        for each in requests:
            score = -max(-_MOST_URGENT, min(each.priority, _MOST_URGENT))  # the lowest comes first
            arguments += (encoded(each.host), score, each.data, each.fingerprint)
        return [_ANSWERS[each] for each in self._run("push", arguments, *keys)]

    def exchange(
        self,
        most: int = 0,
        unknown: int = 0,
        reports: Iterable[Report] = (),
        *,
        known: bool = False,
        renew: bool = False,
        reap: bool = True,
    ) -> Exchange:
        """Sends *reports*; takes up to *most* requests to hosts of known pace, *unknown* to others.

        *known*: the worker has been alive before. *renew*: it is alive for its lifetime from now
        on. *reap*: requests of a dead worker are given back, if *renew* is set.
        """
        era = (self._era or "none") if known else ""
        arguments: list[Any] = [self.worker, era, self._lifetime, int(renew), int(renew and reap)]
        arguments += [most, unknown]
        for report in reports:
            arguments += report.arguments
        more, status, self._era, wait, waiting, *taken = self._run("exchange", arguments)
        return Exchange(
            [_taken(*taken[at : at + 2]) for at in range(0, len(taken), 2)],
            inf if wait < 0 else wait / 1000,
            None if waiting < 0 else waiting,
            bool(more),
            forgotten=status == 1,
            lost=status == 2,
        )

    def ask(self, id_: bytes, host: str, delay: float) -> float:
        """Asks for the turn of *host* for a request that is not from the queue.

        Returns 0.0 if it may leave now, and is to be reported then; else after how many seconds to
        ask again; below 0 if the worker is not known to be alive.
        """
        asked = [self.worker, id_, encoded(host), _milliseconds(delay)]
        return float(self._run("ask", asked)) / 1000

    def held(self) -> set[bytes]:
        """Returns the ids of all requests that the worker has, as far as the server knows."""
        return set(self._client.hkeys(self.key(f"out:{self.worker}")))

    def set_aside(self, data: bytes) -> int:
        """Sets aside a request that cannot be read. Returns how many are set aside."""
        return int(self._client.rpush(self.key("aside"), data))

    def leave(self) -> None:
        """Gives back the requests of the worker, in pieces, and removes it from the workers."""
        while self._run("leave", [self.worker]):
            pass

    def agree(self, terms: Mapping[str, str]) -> dict[str, str]:
        """Returns those of *terms* that differ from the first worker's, with its values.

        If several workers start together, one of them is the first.
        """
        key = self.key("terms")
        if not self.state().workers:
            self._client.delete(key)
        for name, own in terms.items():
            self._client.hsetnx(key, name, own)
        found = {name.decode(): each.decode() for name, each in self._client.hgetall(key).items()}
        return {name: there for name, there in found.items() if terms.get(name, there) != there}

    def state(self) -> QueueState:
        """Returns how many requests wait, and what the other workers have."""
        return QueueState(*self._run("state", [self.worker]))

    def clear(self) -> None:
        """Removes all requests that wait, in pieces."""
        while self._run("clear", []):
            pass

    def move_all(self, stored: Callable[[bytes, float], Stored]) -> int:
        """Takes over all requests in the queue of scrapy-redis, if there is one; returns how many.

        *stored* makes what is pushed from the data and the score of a request. Several workers may
        do this at once.
        """
        moved = 0
        while found := self._unmoved(self.MOVED_AT_ONCE):
            answers = self.push([stored(*each) for each in found], moved_from=self._moved_key)
            moved += sum(each is not None for each in answers)
        return moved

    def _unmoved(self, number: int) -> list[tuple[bytes, float]]:
        """Returns up to *number* requests of scrapy-redis with scores, the next to go first."""
        key, kind = self._moved_key, self._client.type(self._moved_key)
        if kind == b"zset":
            return list(self._client.zrange(key, 0, number - 1, withscores=True))
        if kind == b"list":
            return [(data, 0.0) for data in reversed(self._client.lrange(key, -number, -1))]
        return []

    def _run(self, name: str, arguments: list[Any], *keys: str) -> Any:
        """Runs the script *name*, which is sent once, and called by its digest from then on."""
        return self._scripts[name](keys=[self.key("due"), *keys], args=arguments)


@cache
def _text(name: str) -> str:
    folder = files(__package__)
    return "\n".join(folder.joinpath(f"{each}.lua").read_text("utf-8") for each in ("common", name))


def in_its_slot(key: str) -> str:
    """Returns a prefix for keys that lie in the hash slot of *key*.

    In a Redis Cluster, a script may touch only keys of one slot
    (https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/#hash-tags).
    """
    opening = key.find("{")
    has_hash_tag = opening >= 0 and key.find("}", opening) > opening + 1
    return key if has_hash_tag else f"{{{key}}}"


def encoded(host: str) -> bytes:
    """Returns *host* in UTF-8. It may be the name of a slot, which may hold any characters."""
    return host.encode("utf-8", "surrogatepass")


def _milliseconds(seconds: float) -> int:
    """Returns *seconds* in milliseconds, rounded up so that no delay is too short."""
    return -int(-min(max(seconds, 0.0), LONGEST) * 1000 // 1)


def _taken(told: bytes, data: bytes) -> Taken:
    id_, holds, delay, host = told.split(b" ", 3)
    known = None if int(delay) < 0 else int(delay) / 1000
    return Taken(id_, host.decode("utf-8", "surrogatepass"), holds == b"1", known, data)
