"""What a worker and the server tell each other, if the server is there."""

from __future__ import annotations

from functools import cached_property, partial
from math import inf
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import uuid4

from scrapy_robots_plus._version import __version__
from scrapy_robots_plus.crawl.clock import Alarm, Clock
from scrapy_robots_plus.origins.agents import Agents
from scrapy_robots_plus.protocol.product_token import product_tokens
from scrapy_robots_plus.storage.redis_server import ServerAwayError, ServerError

from .host_queue import Exchange, HostQueue, Loss, Report, State, Stored
from .link import Link

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from scrapy.crawler import Crawler

    from scrapy_robots_plus.crawl.crawl import Crawl

    from .queue_log import QueueLog

_T = TypeVar("_T")


class Session:
    """Reports are kept until the server has them. Only :meth:`push` raises, if the server fails."""

    SOON = 0.05
    """Seconds within which the server is told that a host is free."""
    LATER = 0.5
    """Seconds within which it is told of all else."""
    TOLD_AT_ONCE = 1000
    """Reports of one exchange: the server does nothing else meanwhile."""
    HEARTBEATS = 4
    """In each lifetime."""

    def __init__(
        self,
        client: Any,
        key: str,
        lifetime: float,
        clock: Clock,
        reports: QueueLog,
        *,
        ids: Callable[[], set[bytes]],
        void: Callable[[set[bytes]], object],
        tell_again: Callable[[], object] = list,
    ) -> None:
        """*ids* returns those of all requests and turns that the worker has; *void* is called with
        those that have become meaningless, *tell_again* when the server may have lost what it was
        told of departures.
        """
        self._lifetime = lifetime
        self._reports = reports
        self._ids = ids
        self._void = void
        self._tell_again = tell_again
        self._link = Link(client)
        self.now = clock.monotonic
        self.queue = HostQueue(self._link.client, key, uuid4().hex, lifetime)
        self.on_flush: Callable[[], object] = self.exchange
        """Called when reports have waited for long enough; makes an exchange."""
        self._untold: list[Callable[[], Report]] = []
        self._flush = Alarm(self._flush_now, self.now, clock.call_later)
        self._is_known = False
        self.is_unsure = False
        """Whether the server may know something else of what the worker has than the worker."""
        self._renew_at = self._reap_at = self._compare_at = 0.0
        self._tell_by = inf
        self._valid_until = self._lost_at = -inf
        self._loss = Loss(inf, is_known=False)
        self.is_refused = False
        """Whether the server has refused what the worker began with, and always will."""

    def begin(self, terms: Mapping[str, str]) -> None:
        """The worker is alive from now on. *terms*: what must be equal in all workers."""
        self.exchange()
        if self.is_refused:
            return
        policy = self.attempt(self._eviction_policy)
        if policy is not None and policy.startswith("allkeys"):
            self._reports.keys_may_be_evicted(policy)
        self.state()
        for name, there in (self.attempt(lambda: self.queue.agree(terms)) or {}).items():
            self._reports.differs(name, terms[name], there)

    def _eviction_policy(self) -> str:
        from redis.exceptions import ResponseError

        try:
            return str(self._link.client.info("memory").get("maxmemory_policy"))
        except ResponseError:  # the user may not ask
            return ""

    # Reports

    def tell(self, report: Callable[[], Report], *, soon: bool = True) -> None:
        """*report* is made when it is told: it may say how long ago something was."""
        self._untold.append(report)
        self._tell_by = min(self._tell_by, self.now() + self.LATER)
        if soon:
            self._flush.set(self.now() + self.SOON)

    def left(self, id_: bytes, host: str, ago: float, delay: float) -> None:
        """See :meth:`.Report.left`."""
        at = self.now() - ago
        self.tell(lambda: Report.left(id_, host, self.now() - at, delay))

    def pause(self, host: str, seconds: float) -> None:
        """Nothing is to be sent to *host* for *seconds* from now."""
        end = self.now() + seconds
        self.tell(lambda: Report.pause(host, end - self.now()))

    def _flush_now(self) -> None:
        self.on_flush()

    # Questions

    @property
    def is_alive(self) -> bool:
        """Whether the server surely counts the worker as alive, so that its leases are valid."""
        return self.now() < self._valid_until

    def silent_for(self, delay: float) -> float:
        """Seconds for which nothing may be sent to a host with *delay* of which the server knows
        nothing: it may have lost what other workers sent there.
        """
        return max(0.0, self._lost_at + self._loss.silence(delay) - self.now())

    @property
    def has_news(self) -> bool:
        """Whether there is something to tell, if only that the worker is alive."""
        return self.now() >= min(self._tell_by, self._renew_at)

    def exchange(self, most: int = 0, unknown: int = 0) -> Exchange | None:
        """Tells all, and asks for requests, see :meth:`.HostQueue.exchange`; None if the server is
        away.
        """
        self._flush.cancel()
        untold, self._untold = self._untold[: self.TOLD_AT_ONCE], self._untold[self.TOLD_AT_ONCE :]
        now = self.now()
        self._tell_by = now if self._untold else inf
        renew = now >= self._renew_at
        reap = renew and now >= self._reap_at
        reports = [report() for report in untold]
        told = self.attempt(
            partial(
                self.queue.exchange,
                most,
                unknown,
                reports,
                known=self._is_known,
                renew=renew,
                reap=reap,
            )
        )
        if told is None:
            self._untold, self._tell_by = untold + self._untold, now + self.LATER
            return None
        self._lost_at, self._loss = now - told.loss.ago, told.loss
        if told.forgotten:
            if not self._untold:  # what it has to tell of hosts still counts
                self._was_forgotten()
        elif renew or told.lost:
            self._renewed(told, now)
        if told.lost:
            self._reports.data_were_lost()
            self.is_unsure = True
            self._tell_again()
        return told

    def make_sure(self) -> None:
        """Compares what the worker has with what the server counts as the worker's: an answer may
        have been lost, or the server may have come back with older data.
        """
        now = self.now()
        if self._untold or not (self.is_unsure or now >= self._compare_at):
            return
        held = self.attempt(self.queue.held)
        if held is None:
            return
        self.is_unsure = False
        self._compare_at = now + self._lifetime / self.HEARTBEATS
        ids = self._ids()
        for id_ in held - ids:
            self.tell(partial(Report.back, id_))
        self._void(ids - held)

    def renew(self) -> None:
        """Makes sure that the worker is alive."""
        self._renew_at = 0.0
        self.on_flush()

    def push(self, requests: Sequence[Stored], seen_key: str) -> list[bool | None]:
        """See :meth:`.HostQueue.push`. Raises :class:`.ServerError` if the server does not."""
        try:
            answers = self._link.run(lambda _: self.queue.push(requests, seen_key))
        except ServerError as error:
            self._failed(error)
            raise
        return answers

    @cached_property
    def is_cluster(self) -> bool:
        """Whether the server is part of a Redis Cluster, where a script may touch only keys of one
        hash slot: those of the queue, but not those of others too.
        """
        try:
            found = self._link.run(lambda client: client.info("cluster"))
        except ServerAwayError as error:
            self._failed(error)
            return False
        except ServerError:  # the user may not ask
            return False
        return bool(found.get("cluster_enabled"))

    def is_new(self, key: str, fingerprint: str) -> bool:
        """Adds *fingerprint* to a set. While the server is away, all are new."""
        return self.attempt(lambda: self._link.client.sadd(key, fingerprint)) != 0

    def state(self) -> State | None:
        """See :meth:`.HostQueue.state`; None if the server is away. Tells what was lost."""
        state = self.attempt(self.queue.state)
        if state is not None and state.lost:
            self._reports.were_lost(state.lost, self.queue.keys.lost)
        return state

    def delete(self, key: str) -> None:
        self.attempt(lambda: self._link.client.delete(key))

    def leave(self) -> None:
        """The worker ends, and gives back what it has."""
        while self._untold and self.exchange() is not None:
            pass
        self._flush.cancel()
        self.attempt(self.queue.leave)

    def close(self) -> None:
        """Nothing more is told or asked."""
        self._flush.cancel()
        self._link.close()

    def attempt(self, call: Callable[[], _T]) -> _T | None:
        """What *call* returns; None if the server does not do it."""
        try:
            result = self._link.run(lambda _: call())
        except ServerError as error:
            self._failed(error)
            return None
        self._reports.answered()
        return result

    def _failed(self, error: ServerError) -> None:
        """While the server was away, no worker could report: the others get time to do so."""
        if error.is_lasting and not self._is_known:
            self.is_refused = True
            self._reports.cannot_begin(error)
        else:
            self._reports.failed(error)
        self.is_unsure = True
        self._reap_at = self.now() + self._lifetime

    def _renewed(self, told: Exchange, now: float) -> None:
        self._is_known = True
        self._valid_until = now + self._lifetime
        self._renew_at = now if told.more else now + self._lifetime / self.HEARTBEATS

    def _was_forgotten(self) -> None:
        """Others have its requests."""
        self._reports.was_forgotten()
        self.queue.worker = uuid4().hex
        self._is_known, self._renew_at = False, 0.0
        self._valid_until = -inf
        self._void(self._ids())


def terms(crawler: Crawler, crawl: Crawl) -> dict[str, str]:
    """What must be equal in all workers, so that none undoes the pace of the others.

    As text, by the names that a user knows.
    """
    own = crawl.settings
    found: dict[str, object] = {
        "the version of scrapy-robots-plus": __version__,
        "whether robots.txt is obeyed": crawl.holds_requests,
        "DOWNLOAD_DELAY": crawler.settings.getfloat("DOWNLOAD_DELAY"),
        "ROBOTS_CRAWL_DELAY_OBEY": own.crawl_delay_obey,
        "ROBOTS_CRAWL_DELAY_MAX": own.crawl_delay_max,
        "ROBOTS_CRAWL_DELAY_TOO_LONG": own.crawl_delay_too_long,
        "ROBOTS_DEFAULT_DELAY": own.default_delay,
    }
    if crawl.holds_requests:
        found["the product token"] = next(iter(product_tokens(crawl.get(Agents).default)), "*")
    return {name: str(value) for name, value in found.items()}
