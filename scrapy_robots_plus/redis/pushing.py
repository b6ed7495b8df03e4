"""New requests on their way to the server."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from itertools import accumulate, islice
from typing import Any

from scrapy import Request, Spider
from scrapy.crawler import Crawler
from scrapy.utils.request import request_from_dict

from scrapy_robots_plus import compat
from scrapy_robots_plus.crawl import stats
from scrapy_robots_plus.crawl.log import Once, crawl_log
from scrapy_robots_plus.crawl.requests import (
    chosen_slot,
    fields_of,
    priority_of,
    unusual_fields_of,
    valid_origin_of,
)
from scrapy_robots_plus.protocol.printable import counted, printable

from .host_queue import Stored
from .session import Session

logger = crawl_log(__name__)


class Serialization:
    """The way in which the project serializes requests: ``SCHEDULER_SERIALIZER``."""

    def __init__(self, spider: Spider, serializer: Any) -> None:
        self._spider = spider
        self._serializer = serializer
        is_scrapy_rediss = getattr(serializer, "__name__", "") == "scrapy_redis.picklecompat"
        # The project's own serializer may expect the fields that every request has.
        self._fields_of = unusual_fields_of if is_scrapy_rediss else fields_of

    def written(self, request: Request) -> bytes:
        """Returns *request* as bytes. Raises anything if it cannot be serialized."""
        data = self._serializer.dumps(self._fields_of(request, self._spider))
        return data.encode("utf-8", "surrogatepass") if isinstance(data, str) else bytes(data)

    def read(self, data: bytes) -> Request:
        """Returns the request in *data*. Raises anything: its callback or class may be gone."""
        return request_from_dict(self._serializer.loads(data), spider=self._spider)


class Pushing:
    """New requests, until the server has them. They are given to it in their order, in batches.

    They are kept here while the server is away, too. A page is not reported as dealt with before
    the server has all requests that it yielded, so that a kill loses none of them.
    """

    AT_ONCE = 200
    """The most requests that are given to the server in one step."""
    BYTES_AT_ONCE = 250_000
    """The most bytes of requests that are given in one step, unless one alone is larger: the answer
    must come in time, or all is sent again."""
    SECONDS = 0.2
    """Seconds after which no more are given at one time: the engine waits meanwhile."""
    REMEMBERED = 2_000
    """The most requests that are given again if the server loses them."""

    def __init__(self, crawler: Crawler, session: Session, serialization: Serialization) -> None:
        self._crawler = crawler
        self._log = logger(crawler)
        self._stats = crawler.stats
        self._session = session
        self._serialization = serialization
        self.seen_key = ""
        """The key of the fingerprints of the duplicate filter, if that is ours; else empty."""
        self.on_given: Callable[[bool], object] = bool
        """Callback for each new request that the server got, with whether it may be due at once."""
        self.on_seen: Callable[[Request], object] = bool
        """Callback for each request that counted as new, but that the server has seen before."""
        self.kept: deque[tuple[Stored, Request | None]] = deque()
        """Requests that wait for the server: serialized, and as objects unless it is away."""
        self._is_away = False
        """Whether the server did not take the first of :attr:`kept`."""
        self._is_refused = False
        """Whether the server answered, but refused the first of :attr:`kept`: it may be full."""
        self._is_too_large = False
        """Whether the server answered, but did not get the first of :attr:`kept` in time."""
        self.unwritable: deque[Request] = deque()
        """Requests that cannot be serialized or are too large, and so stay here."""
        self._of_memory = Once()
        self._recent: deque[tuple[float, Stored]] = deque(maxlen=self.REMEMBERED)
        """Requests that the server got from pages whose end it may not know of, and when."""
        self._seen_here: set[str] = set()
        """The fingerprints of all requests that are kept here, serialized or not."""
        self._looked_up: tuple[Request | None, str] = None, ""
        """The request that :meth:`is_seen` was last asked about, and its fingerprint."""
        self._soon = session.alarm(self.give)

    def __len__(self) -> int:
        return len(self.kept) + len(self.unwritable)

    @property
    def holds_pages(self) -> bool:
        """Whether pages must not be reported as ended, as requests from them still wait here.

        A full server gets no requests until pages end, which makes room: then this is False.
        """
        return bool(self.kept) and not self._is_refused

    def stored(self, data: bytes, score: float) -> Stored:
        """Returns the request in *data*, which scrapy-redis has written, ready to be pushed."""
        try:
            request = self._serialization.read(data)
        except Exception:  # noqa: BLE001 - whoever takes it says what is wrong, and sets it aside
            return Stored("", -score, data)
        return Stored(self._host_of(request), priority_of(request), data)

    def _host_of(self, request: Request) -> str:
        """Returns the slot that was chosen for *request*, or else its host, without the port."""
        downloader = self._crawler.engine.downloader
        origin = valid_origin_of(request)
        slot = compat.scopes_key(downloader, request) or chosen_slot(request)
        host = slot or (origin.host if origin else compat.slot_key(downloader, request))
        return str(host)  # Scrapy takes any object for a slot

    def is_seen(self, request: Request, fingerprint: str) -> bool:
        """Returns whether a request like *request* waits here. If not, it is pushed next.

        The server looks it up then; in a Redis Cluster, the server is asked at once instead.
        """
        if self._session.is_cluster:
            return not self._session.is_new(self.seen_key, fingerprint)
        self._looked_up = request, fingerprint
        return fingerprint in self._seen_here

    def push(self, request: Request) -> None:
        """Adds *request*, to be given to the server unless that has seen one like it."""
        looked_up, fingerprint = self._looked_up
        if request is not looked_up:
            fingerprint = ""
        self._looked_up = None, ""
        try:
            data = self._serialization.written(request)
        except Exception as error:  # noqa: BLE001 - any serializer may be in use
            if fingerprint and not self._session.is_new(self.seen_key, fingerprint):
                self.on_seen(request)
                return
            self._keep_unwritable(request, str(error) or repr(error))
        else:
            stored = Stored(self._host_of(request), priority_of(request), data, fingerprint)
            if self._is_away:  # maybe for long: the serialized form takes the least memory
                self._stats.inc_value(stats.SHARED_QUEUE_KEPT)
                self.kept.append((stored, None))
            else:
                self.kept.append((stored, request))
                self._soon.set(self._session.now())
        if fingerprint:
            self._seen_here.add(fingerprint)

    def _keep_unwritable(self, request: Request, why: str, kind: str = "unwritable") -> None:
        self._stats.inc_value(stats.QUEUE_KEPT_IN_MEMORY)
        if self._of_memory.is_first(kind):
            self._log.warning(
                "Requests cannot be shared with other workers, such as %s (%s). They stay in "
                "memory, and are lost when this worker is stopped. Their number is in %s",
                printable(request.url),
                printable(why),
                stats.QUEUE_KEPT_IN_MEMORY,
            )
        self.unwritable.append(request)

    def _set_apart(self) -> None:
        """Leaves the first of :attr:`kept` to this worker, unless the server has got it after all.

        It would be sent to the server for ever, and all others wait behind it.
        """
        (stored, _), self._is_too_large = self.kept.popleft(), False
        if stored.fingerprint and not self._session.is_new(self.seen_key, stored.fingerprint):
            return
        try:
            request = self._serialization.read(stored.data)
        except Exception as error:  # noqa: BLE001 - any serializer may be in use
            self._stats.inc_value(stats.QUEUE_LOST)
            self._log.error(
                "A request is too large for the queue, and lost: it cannot be read (%s)",
                printable(repr(error)),
            )
            return
        size = f"{len(stored.data) / 1000:,.0f} kB"
        why = f"the server did not get {size} in time; socket_timeout in REDIS_PARAMS allows more"
        self._keep_unwritable(request, why, "large")

    def done_with_pages_until(self, moment: float) -> None:
        """Notes that the server knows the end of all pages that the worker got before."""
        while self._recent and self._recent[0][0] < moment:
            self._recent.popleft()

    def push_again(self) -> None:
        """Pushes again what unfinished pages have yielded, as the server may have lost it."""
        self.kept.extend((stored, None) for _, stored in self._recent)
        self._recent.clear()

    def clear(self) -> None:
        """Drops all requests that wait here, and those that would be pushed again."""
        self.kept.clear()
        self.unwritable.clear()
        self._recent.clear()
        self._seen_here.clear()
        self._is_too_large = False

    def _next_batch(self) -> list[tuple[Stored, Request | None]]:
        first = list(islice(self.kept, self.AT_ONCE))
        sizes = accumulate(len(stored.data) for stored, _ in first)
        fits = sum(size <= self.BYTES_AT_ONCE for size in sizes)
        return first[: max(fits, 1)]

    def _attempt(self, requests: list[Stored]) -> list[bool | None] | None:
        """Gives *requests* to the server; returns None if it is away or refuses them.

        Before what is large, it asks the server something small, to tell which of the two fails.
        """
        is_large = len(requests[0].data) > self.BYTES_AT_ONCE
        if is_large and self._session.state() is None:
            return None
        answers = self._session.attempt(self._session.queue.push, requests, self.seen_key)
        self._is_too_large = is_large and answers is None and self._session.is_away
        return answers

    def give(self, *, seconds: float = SECONDS) -> None:
        """Gives the server what waits, if it answers. Begins no further step after *seconds*."""
        self._soon.cancel()
        until = self._session.now() + seconds
        if self._is_too_large and self._session.state() is not None:
            self._set_apart()
        while self.kept:
            batch = self._next_batch()
            answers = self._attempt([stored for stored, _ in batch])
            if answers is None:
                if not self._is_away:
                    self._stats.inc_value(stats.SHARED_QUEUE_KEPT, len(self.kept))
                    # If only its answer was lost, it has seen them, but they are no duplicates:
                    # without the objects, on_seen() is not called.
                    self.kept = deque((stored, None) for stored, _ in self.kept)
                self._is_away, self._is_refused = True, not self._session.is_away
                return
            for (stored, request), is_due in zip(batch, answers, strict=True):
                self.kept.popleft()
                self._seen_here.discard(stored.fingerprint)
                if is_due is not None:
                    self._recent.append((self._session.now(), stored))
                    self.on_given(is_due)
                elif request is not None:
                    self.on_seen(request)
            self._is_refused = False
            if self._session.now() >= until:
                break
        self._is_away = self._is_away and bool(self.kept)

    def tell_lost(self) -> None:
        """Counts and logs the requests that are still here, and lost, as the crawl has ended."""
        if len(self):
            self._stats.inc_value(stats.QUEUE_LOST, len(self))
            self._log.error(
                "%s could not be given to the queue of requests before the crawl ended",
                counted(len(self), "request"),
            )
