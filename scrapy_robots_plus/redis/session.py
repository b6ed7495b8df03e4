"""The communication of a worker with the server, which may be away."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from math import inf
from typing import Any, TypeVar
from uuid import uuid4

from scrapy.crawler import Crawler
from scrapy.settings import BaseSettings

from scrapy_robots_plus._version import __version__
from scrapy_robots_plus.crawl import stats
from scrapy_robots_plus.crawl.clock import Alarm
from scrapy_robots_plus.crawl.crawl import Crawl
from scrapy_robots_plus.crawl.log import crawl_log
from scrapy_robots_plus.origins.agents import Agents
from scrapy_robots_plus.protocol.printable import counted, printable
from scrapy_robots_plus.protocol.product_token import product_tokens
from scrapy_robots_plus.settings.scrapys_own import redis_url
from scrapy_robots_plus.storage.redis_server import Server, ServerAwayError, ServerError
from scrapy_robots_plus.storage.redis_url import is_cluster

from .host_queue import Exchange, HostQueue, QueueState, Report

logger = crawl_log(__name__)

_T = TypeVar("_T")


class Link(Server):
    """The server of scrapy-redis, with short timeouts, and left alone for a while if it is away."""

    for_a_cluster = 'set REDIS_PARAMS = {"redis_cls": "redis.RedisCluster"}'

    def __init__(self, client: Any, settings: BaseSettings) -> None:
        """Makes a client for the server of scrapy-redis's *client*, by the URL in *settings*.

        Uses *client* itself for a cluster, or if no URL leads there as the same user.
        """
        url = redis_url(settings)
        super().__init__(url or "")
        if url is None or is_cluster(url) or _place(self._connected()) != _place(client):
            self.name, self._client = "the server of scrapy-redis", client
        self.client: Any = self._connected()


_PLACE = ("path", "host", "port", "db", "username", "password", "credential_provider")


def _place(client: Any) -> list[str]:
    """Returns where *client* leads and as which user, if it names its one server itself."""
    options = getattr(getattr(client, "connection_pool", None), "connection_kwargs", {})
    options = {**options, "host": str(options.get("host") or "").lower()}
    return [str(options.get(each) or 0) for each in _PLACE]


class Session:
    """The communication of one worker with the server, by reports and exchanges.

    Reports are kept until the server has them. No method raises, whatever the server does.
    """

    SOON = 0.05
    """Seconds within which the server is told that a host is free."""
    LATER = 0.5
    """Seconds within which the server is told of everything else."""
    TOLD_AT_ONCE = 1000
    """The most reports in one exchange: the server does nothing else meanwhile."""
    HEARTBEATS = 4
    """How many times in each lifetime the worker says that it is alive."""
    TELLS_EVERY = 600.0
    """The least seconds between two log lines that the server cannot be used: one that is full may
    refuse every second call."""

    def __init__(self, crawler: Crawler, client: Any, key: str) -> None:
        crawl = Crawl.of(crawler)
        self._lifetime = crawl.settings.worker_lifetime
        self._clock = crawl.clock
        self._log = logger(crawler)
        self._stats = crawler.stats
        self._tell_away_at = -inf
        self._is_told_away = False
        self._told_lost = 0
        self._link = Link(client, crawler.settings)
        self.client = self._link.client
        self.now = crawl.clock.monotonic
        self.queue = HostQueue(self.client, key, uuid4().hex, self._lifetime)
        self.on_flush: Callable[[], object] = self.exchange
        """Callback when reports have waited for long enough; it makes an exchange."""
        self._untold: list[tuple[Report, float]] = []
        """The reports that the server has not got, and when each was made."""
        self._flush = self.alarm(lambda: self.on_flush())
        self.is_unsure = False
        """Whether the server and the worker may disagree on which requests the worker has."""
        self._renew_at = self._reap_at = self._compare_at = 0.0
        self._valid_until = -inf
        """Until when the server surely counts the worker as alive; -infinity before it ever did."""
        self.is_away = False
        """Whether the server did not answer the last call."""
        self.is_refused = False
        """Whether the server has refused the worker from the start, and always will."""

    def begin(self, terms: Mapping[str, str]) -> None:
        """Announces the worker, and logs problems. *terms*: what must be equal in all workers."""
        self.exchange()
        if self.is_refused:
            return
        policy = self._info("memory", "maxmemory_policy")
        if policy.startswith("allkeys"):
            self._log.warning(
                "The Redis server of the queue has maxmemory-policy %s: it deletes requests and "
                "fingerprints when its memory is full. Set volatile-ttl or noeviction",
                policy,
            )
        self.state()
        for name, there in (self.attempt(self.queue.agree, terms) or {}).items():
            self._log.warning(
                "This worker shares its requests with others, but %s is %s here, and %s there: "
                "each host gets the pace of the worker that asked it last. Give all workers the "
                "same settings",
                name,
                printable(terms[name]),
                printable(there),
            )

    def _info(self, section: str, name: str) -> str:
        """Returns the field *name* of INFO; "" if the server is away, or the user may not ask."""
        from redis.exceptions import ResponseError

        def ask() -> str:
            try:
                return str(self.client.info(section).get(name))
            except ResponseError:  # the user may not ask
                return ""

        return self.attempt(ask) or ""

    def tell(self, report: Report, *, soon: bool = True) -> None:
        """Keeps *report* for an exchange, *soon* or later. Its ``ago`` counts from now."""
        now = self.now()
        self._untold.append((report, now))
        self._flush.set(now + (self.SOON if soon else self.LATER))

    def alarm(self, ring: Callable[[], object]) -> Alarm:
        """Returns an alarm that calls *ring* at a moment by :attr:`now`."""
        return Alarm(ring, self.now, self._clock.call_later)

    @property
    def has_to_renew(self) -> bool:
        """Whether it is time to tell the server that the worker is alive."""
        return self.now() >= self._renew_at

    @property
    def is_alive(self) -> bool:
        """Whether the server surely counts the worker as alive, so that its leases are valid."""
        return self.now() < self._valid_until

    def exchange(self, most: int = 0, unknown: int = 0) -> Exchange | None:
        """Sends reports and asks for requests, see :meth:`.HostQueue.exchange`.

        Returns None if the server is away.
        """
        self._flush.cancel()
        untold, self._untold = self._untold[: self.TOLD_AT_ONCE], self._untold[self.TOLD_AT_ONCE :]
        now, renew = self.now(), self.has_to_renew
        told = self.attempt(
            self.queue.exchange,
            most,
            unknown,
            [each._replace(ago=each.ago + now - since) for each, since in untold],
            known=self._valid_until > -inf,
            renew=renew,
            reap=now >= self._reap_at,
        )
        if told is None:
            self._untold = untold + self._untold
            self._reap_at = now + self._lifetime  # the others could not report either
            self._flush.set(now + self.LATER)
            return None
        if told.forgotten:
            if not self._untold:  # what reports say of hosts still counts
                self._was_forgotten()
        elif renew or told.lost:
            self._valid_until = now + self._lifetime
            self._renew_at = now if told.more else now + self._lifetime / self.HEARTBEATS
        if told.lost:
            self._stats.inc_value(stats.SHARED_QUEUE_LOSSES)
            self._log.warning(
                "The Redis server of the queue was started again, another one has taken over, or "
                "it has lost keys. Requests that only it had may be lost, and some may be sent "
                "twice. Each host with a delay is left alone for that long once",
            )
            self.is_unsure = True
        if self._untold:
            self._flush.set(now)
        return told

    def compare(self, ids: Callable[[], set[bytes]]) -> set[bytes]:
        """Gives back what the server counts as the worker's but the worker does not have.

        An answer may have been lost, or the server may have come back with older data. *ids*
        returns the ids of all that the worker has. Returns those that the server does not know.
        """
        now = self.now()
        if self._untold or not (self.is_unsure or now >= self._compare_at):
            return set()
        held = self.attempt(self.queue.held)
        if held is None:
            return set()
        self.is_unsure = False
        self._compare_at = now + self._lifetime / self.HEARTBEATS
        own = ids()
        for id_ in held - own:
            self.tell(Report("back", id_))
        return own - held

    def renew(self) -> None:
        """Tells the server at once that the worker is alive."""
        self._renew_at = 0.0
        self.on_flush()

    @cached_property
    def is_cluster(self) -> bool:
        """Whether the server is part of a Redis Cluster, where a script may touch only keys of one
        hash slot: not those of the queue and others together.
        """
        return self._info("cluster", "cluster_enabled") == "1"

    def is_new(self, key: str, fingerprint: str) -> bool:
        """Adds *fingerprint* to the set at *key*; returns False if the server had it already."""
        return self.attempt(self.client.sadd, key, fingerprint) != 0

    def state(self) -> QueueState | None:
        """Returns :meth:`.HostQueue.state`; None if the server is away. Logs what was lost."""
        state = self.attempt(self.queue.state)
        if state is not None and state.lost not in (0, self._told_lost):
            self._told_lost = state.lost
            self._stats.set_value(stats.SHARED_QUEUE_LOST, state.lost)
            self._log.warning(
                "%s that waited in Redis were lost there: the server has deleted their keys. The "
                "spider may have to be run again for these pages. When you have dealt with it, "
                "delete the key %s to end this warning",
                counted(state.lost, "request"),
                self.queue.key("lost"),
            )
        return state

    def leave(self) -> None:
        """Sends the remaining reports, and gives back what the worker has."""
        while self._untold and self.exchange() is not None:
            pass
        self._flush.cancel()
        self.attempt(self.queue.leave)

    def close(self) -> None:
        """Closes the connection. Nothing more is sent."""
        self._flush.cancel()
        self._link.close()

    def attempt(self, call: Callable[..., _T], *arguments: Any, **named: Any) -> _T | None:
        """Returns the result of *call*; None if the server is away, or refuses it."""
        try:
            result = self._link.run(lambda _: call(*arguments, **named))
        except ServerError as error:
            self._failed(error)
            return None
        self.is_away = False
        if self._is_told_away and not self.is_refused:
            self._is_told_away = False
            self._log.info("The queue of requests can be used again")
        return result

    def _failed(self, error: ServerError) -> None:
        """Notes and logs *error*. Other workers could not report either: they get time to do so."""
        self._stats.inc_value(stats.SHARED_QUEUE_ERRORS)
        self.is_away = isinstance(error, ServerAwayError)
        self.is_refused = self.is_refused or (error.is_lasting and self._valid_until == -inf)
        now = self.now()
        if now >= self._tell_away_at and not self._is_told_away:
            self._tell_away_at, self._is_told_away = now + self.TELLS_EVERY, True
            if self.is_refused:  # it always will be: the crawl is closed
                self._log.error("The queue of requests cannot be used: %s", printable(error))
            else:
                self._log.warning(
                    "The queue of requests cannot be used (%s). Until it can, new requests are "
                    "kept in memory, and no others are sent. Further errors are counted as %s",
                    printable(error),
                    stats.SHARED_QUEUE_ERRORS,
                )
        self.is_unsure = True

    def _was_forgotten(self) -> None:
        """Starts anew under another name, as other workers have the requests of this one."""
        self._stats.inc_value(stats.SHARED_QUEUE_FORGOTTEN)
        self._log.warning(
            "The server does not know this worker any more: it was not heard of for longer than "
            "ROBOTS_WORKER_LIFETIME, so that other workers have its requests now and some may be "
            "sent twice",
        )
        self.queue.worker = uuid4().hex
        self._renew_at, self._valid_until = 0.0, -inf


TERMS = ("crawl_delay_obey", "crawl_delay_max", "crawl_delay_too_long", "default_delay")
"""The settings that must be equal in all workers."""


def terms(crawler: Crawler, crawl: Crawl) -> dict[str, str]:
    """Returns what must be equal in all workers, so that none undoes the pace of the others.

    The values are text, by the names that a user knows.
    """
    found: dict[str, object] = {
        "the version of scrapy-robots-plus": __version__,
        "whether robots.txt is obeyed": crawl.holds_requests,
        "DOWNLOAD_DELAY": crawler.settings.getfloat("DOWNLOAD_DELAY"),
        **{f"ROBOTS_{name.upper()}": getattr(crawl.settings, name) for name in TERMS},
    }
    if crawl.holds_requests:
        found["the product token"] = next(iter(product_tokens(crawl.get(Agents).default)), "*")
    return {name: str(value) for name, value in found.items()}
