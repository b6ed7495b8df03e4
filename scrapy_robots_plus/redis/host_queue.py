"""The queue of one crawl on a Redis server, as one of its workers sees it."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from math import inf
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from redis.commands.core import Script

_ANSWERS = {ord("-"): None, ord("0"): False, ord("1"): True}
"""To a push."""
LONGEST = 3.2e9
"""Seconds: a hundred years."""
_MOST_URGENT = 1e15
"""An integer may be too large for a float."""


class Report(NamedTuple):
    """What has become of a request, or of a host."""

    what: str
    """"ended", "freed", "back", "pace", "left" or "pause": ``exchange.lua`` says what each does."""
    id: bytes = b""
    host: str = ""
    ago: float = 0.0
    """Seconds. Below 0 a request may be under way for that many more."""
    seconds: float = 0.0
    """The delay that is to be kept between requests to the host, or a pause of it."""

    @property
    def arguments(self) -> tuple[bytes | str | int, ...]:
        """What the script is told."""
        passed = int(min(max(self.ago, -LONGEST), LONGEST) * 1000 // 1)
        return self.what, self.id, encoded(self.host), passed, _milliseconds(self.seconds)


class Stored(NamedTuple):
    """A request as the server keeps it."""

    host: str
    priority: float
    """The highest is the most urgent."""
    data: bytes
    fingerprint: str = ""
    """If it is in the set of those that were seen, the request is dropped; "" for none."""


class Taken(NamedTuple):
    """A request that a worker has got."""

    id: bytes
    host: str
    holds: bool
    """Whether no other request to the host is handed out until this one is reported."""
    delay: float | None
    """Seconds to keep between requests to the host; None if that is unknown."""
    data: bytes


class Exchange(NamedTuple):
    """The answer to a worker."""

    taken: list[Taken]
    wait: float
    """Seconds until a host is due; infinity if nobody knows, 0 if it got as much as it can take."""
    waiting: int | None
    """How many requests wait; None if it got as much as it can take."""
    more: bool
    """Whether the next exchange would give back more requests of a dead worker, forget more hosts,
    or look for more that was lost."""
    forgotten: bool
    """Whether the worker was taken for dead: others have what it had. It got nothing, and is not
    alive."""
    lost: bool
    """Whether the server has lost data since the worker was last alive: it may not know what the
    worker has, or count as the worker's what that has never got. It got nothing, and is alive."""


class State(NamedTuple):
    """What there is beside one worker."""

    waiting: int
    """Requests that wait."""
    elsewhere: int
    """Requests that other workers have."""
    workers: int
    """Other workers that are alive."""
    lost: int
    """Requests that were lost with their keys."""


class HostQueue:
    """What is due goes by the clock of the server. Each step is one round trip.

    *client* is one of redis-py, whose answers are bytes. Whatever goes wrong with the server is
    raised as ``redis.exceptions.RedisError`` or OSError.
    """

    MOVED_AT_ONCE = 500
    """Requests that are taken over in one step."""

    def __init__(self, client: Any, key: str, worker: str, lifetime: float) -> None:
        """*key*: that of scrapy-redis's queue. *worker*: a name that no other has.

        *lifetime*: seconds after which a worker that is not heard of is taken to be dead.
        """
        self._client = client
        self._scripts: dict[str, Script] = {}
        self._lifetime = round(lifetime * 1000)
        self._moved_key = key
        self._base = in_its_slot(key)
        self._era: bytes | str = ""
        """What the server knew without a gap when it was last asked."""
        self.worker = worker

    def key(self, name: str) -> str:
        """One of the keys of the queue, which docs/cluster-operation.md lists."""
        return f"{self._base}:{name}"

    def push(
        self, requests: Sequence[Stored], seen: str = "", moved_from: str = ""
    ) -> list[bool | None]:
        """Adds *requests*; of those with a fingerprint, the ones that are not in the set *seen*.

        Or takes them out of *moved_from*, a queue of scrapy-redis, the next to go first. Returns
        for each whether it may be due at once; None if it was seen, or taken by another worker.
        """
        if not any(each.fingerprint for each in requests):
            seen = ""
        keys = [seen or moved_from] if seen or moved_from else []
        arguments: list[Any] = ["move" if moved_from else ""]
        for each in requests:
            score = -max(-_MOST_URGENT, min(each.priority, _MOST_URGENT))  # lowest comes first
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
        """Tells *reports*, and takes up to *most* requests to hosts whose pace is known, and up to
        *unknown* to others.

        *known*: the worker has been alive before. *renew*: it is alive for its lifetime from now
        on. *reap*: then what a dead one has is given back.
        """
        era = (self._era or "none") if known else ""
        arguments: list[Any] = [self.worker, era, self._lifetime, int(renew), int(renew and reap)]
        arguments += [most, unknown]
        for report in reports:
            arguments += report.arguments
        told = self._run("exchange", arguments)
        more, status, self._era, wait, waiting, *taken = told
        return Exchange(
            [_taken(*taken[at : at + 2]) for at in range(0, len(taken), 2)],
            inf if wait < 0 else wait / 1000,
            None if waiting < 0 else waiting,
            bool(more),
            forgotten=status == 1,
            lost=status == 2,
        )

    def ask(self, id_: bytes, host: str, delay: float) -> float:
        """Asks for the turn of *host* for a request from elsewhere, which is to be reported.

        Returns 0.0 if it may go now, else after how many seconds to ask again; below 0 if the
        worker is not known to be alive.
        """
        asked = [self.worker, id_, encoded(host), round(delay * 1000)]
        return float(self._run("ask", asked)) / 1000

    def held(self) -> set[bytes]:
        """The ids of all that the worker has, as far as the server knows."""
        return set(self._client.hkeys(self.key(f"out:{self.worker}")))

    def set_aside(self, data: bytes) -> int:
        """Keeps a request that cannot be read. Returns how many there are."""
        return int(self._client.rpush(self.key("aside"), data))

    def leave(self) -> None:
        """The worker ends, and gives back its requests, in pieces."""
        while self._run("leave", [self.worker]):
            pass

    def agree(self, terms: Mapping[str, str]) -> dict[str, str]:
        """Which of *terms* are others than those of the workers that are there, and how they have
        them. The first one decides, also of several that start together.
        """
        key = self.key("terms")
        if not self.state().workers:
            self._client.delete(key)
        for name, own in terms.items():
            self._client.hsetnx(key, name, own)
        found = {name.decode(): each.decode() for name, each in self._client.hgetall(key).items()}
        return {name: there for name, there in found.items() if terms.get(name, there) != there}

    def state(self) -> State:
        """What waits, and what the other workers are and have."""
        return State(*self._run("state", [self.worker]))

    def clear(self) -> None:
        """Removes all requests, in pieces."""
        while self._run("clear", []):
            pass

    def move_all(self, stored: Callable[[bytes, float], Stored]) -> int:
        """Takes over all requests in the queue of scrapy-redis, if there is one.

        *stored* makes what is pushed from the data and the score of a request. Returns how many
        were moved; several workers may do so at once.
        """
        moved = 0
        while found := self._unmoved(self.MOVED_AT_ONCE):
            answers = self.push([stored(*each) for each in found], moved_from=self._moved_key)
            moved += sum(each is not None for each in answers)
        return moved

    def _unmoved(self, number: int) -> list[tuple[bytes, float]]:
        """Up to *number* requests of scrapy-redis, each with its score; the next to go first."""
        key, kind = self._moved_key, self._client.type(self._moved_key)
        if kind == b"zset":
            return list(self._client.zrange(key, 0, number - 1, withscores=True))
        if kind == b"list":
            return [(data, 0.0) for data in reversed(self._client.lrange(key, -number, -1))]
        return []

    def _run(self, name: str, arguments: list[Any], *keys: str) -> Any:
        """Each script is sent once, and named by its digest from then on."""
        script = self._scripts.get(name)
        if script is None:
            script = self._scripts[name] = self._client.register_script(_text(name))
        return script(keys=[self.key("due"), *keys], args=arguments)


@cache
def _text(name: str) -> str:
    folder = files(__package__)
    return "\n".join(folder.joinpath(f"{each}.lua").read_text("utf-8") for each in ("common", name))


def in_its_slot(key: str) -> str:
    """What keys begin with that lie in the hash slot of *key*, so that a script may touch all of
    them in a Redis Cluster, too
    (https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/#hash-tags).
    """
    opening = key.find("{")
    has_hash_tag = opening >= 0 and key.find("}", opening) > opening + 1
    return key if has_hash_tag else f"{{{key}}}"


def encoded(host: str) -> bytes:
    """*host* in UTF-8. It may be the name of a slot, which may hold any characters."""
    return host.encode("utf-8", "surrogatepass")


def _milliseconds(seconds: float) -> int:
    """Rounded up, so that no delay is too short."""
    return -int(-min(max(seconds, 0.0), LONGEST) * 1000 // 1)


def _taken(told: bytes, data: bytes) -> Taken:
    id_, holds, delay, host = told.split(b" ", 3)
    known = None if int(delay) < 0 else int(delay) / 1000
    return Taken(id_, host.decode("utf-8", "surrogatepass"), holds == b"1", known, data)
