"""New requests on their way to the server."""

from __future__ import annotations

from collections import deque
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

from scrapy.utils.request import request_from_dict

from scrapy_robots_plus import compat
from scrapy_robots_plus.crawl import stats
from scrapy_robots_plus.crawl.log import Once, crawl_log
from scrapy_robots_plus.crawl.requests import fields_of, priority_of, unusual_fields_of
from scrapy_robots_plus.protocol.printable import counted, printable

from .host_queue import Stored

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy import Request, Spider
    from scrapy.crawler import Crawler

    from .host_states import HostStates
    from .session import Session

logger = crawl_log(__name__)


class Serialization:
    """How the project writes requests: ``SCHEDULER_SERIALIZER``."""

    def __init__(self, spider: Spider, serializer: Any) -> None:
        self._spider = spider
        self._serializer = serializer
        is_scrapy_rediss = getattr(serializer, "__name__", "") == "scrapy_redis.picklecompat"
        # One of the project may look for fields that every request has.
        self._fields_of = unusual_fields_of if is_scrapy_rediss else fields_of

    def written(self, request: Request) -> bytes:
        """Raises anything, for what cannot be written."""
        data = self._serializer.dumps(self._fields_of(request, self._spider))
        return data.encode("utf-8", "surrogatepass") if isinstance(data, str) else bytes(data)

    def read(self, data: bytes) -> Request:
        """Raises anything: its callback may have been renamed, its class may be gone."""
        return request_from_dict(self._serializer.loads(data), spider=self._spider)


class Pushing:
    """Gives requests to the server, those of a moment together, in their order.

    Until then, and while the server is away, they are kept here. A page that has yielded some is
    not reported as dealt with before they are given, so that a kill loses none of them.
    """

    AT_ONCE = 200
    """Requests that are given in one step."""
    MOST = 2_000
    """Requests that are given at one time: the engine waits meanwhile."""

    def __init__(
        self, crawler: Crawler, session: Session, hosts: HostStates, serialization: Serialization
    ) -> None:
        self._log = logger(crawler)
        self._stats = compat.stats_of(crawler)
        self._session = session
        self._hosts = hosts
        self._serialization = serialization
        self.seen_key = ""
        """The set of fingerprints of the duplicate filter, if it is ours."""
        self.on_given: Callable[[bool], object] = bool
        """Called for each new request that the server got, with whether it may be due at once."""
        self.on_seen: Callable[[Request], object] = bool
        """Called for each request that counted as new, and that the server has seen before."""
        self.kept: deque[tuple[Stored, Request | None]] = deque()
        """Those that wait for the server; as themselves, too, unless that is away."""
        self._is_away = False
        """Whether the server did not take the first of them."""
        self._is_refused = False
        """Whether it was there, and refused: it may be full."""
        self.unwritable: deque[Request] = deque()
        """Those that no server can keep."""
        self._of_memory = Once()
        self._recent: deque[tuple[float, Stored]] = deque(maxlen=self.MOST)
        """Those that pages have yielded of whose end the server has not heard, and when."""
        self._seen_here: set[str] = set()
        """Fingerprints of what is kept here, written or not."""
        self._looked_up: tuple[Request | None, str] = None, ""
        """The last request of :meth:`is_seen`, and its fingerprint."""
        self._soon = session.alarm(self.give)

    def __len__(self) -> int:
        return len(self.kept) + len(self.unwritable)

    @property
    def holds_pages(self) -> bool:
        """Whether what some pages have led to waits for the server. One that is full gets nothing
        until pages end: that makes room.
        """
        return bool(self.kept) and not self._is_refused

    def stored(self, data: bytes, score: float) -> Stored:
        """A request that scrapy-redis has written, to be taken over."""
        try:
            request = self._serialization.read(data)
        except Exception:  # noqa: BLE001 - whoever takes it says what is wrong, and sets it aside
            return Stored("", -score, data)
        return Stored(self._hosts.host_of(request), priority_of(request), data)

    def is_seen(self, request: Request, fingerprint: str) -> bool:
        """Whether one like *request* waits here. Else it is pushed next, and the server is asked.

        In a Redis Cluster, it is asked now.
        """
        if self._session.is_cluster:
            return not self._session.is_new(self.seen_key, fingerprint)
        self._looked_up = request, fingerprint
        return fingerprint in self._seen_here

    def push(self, request: Request) -> None:
        """Adds *request*, unless the server has seen one like it."""
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
            self._keep_unwritable(request, error)
        else:
            stored = Stored(self._hosts.host_of(request), priority_of(request), data, fingerprint)
            if self._is_away:  # maybe for long: what is written takes the least memory
                self._stats.inc_value(stats.SHARED_QUEUE_KEPT)
                self.kept.append((stored, None))
            else:
                self.kept.append((stored, request))
                self._soon.set(self._session.now())
        if fingerprint:
            self._seen_here.add(fingerprint)

    def _keep_unwritable(self, request: Request, error: Exception) -> None:
        self._stats.inc_value(stats.QUEUE_KEPT_IN_MEMORY)
        if self._of_memory.is_first():
            self._log.warning(
                "Requests cannot be shared with other workers, such as %s (%s). They stay in "
                "memory, and are lost when this worker is stopped. Their number is in %s",
                printable(request.url),
                printable(str(error) or repr(error)),
                stats.QUEUE_KEPT_IN_MEMORY,
            )
        self.unwritable.append(request)

    def done_with_pages_until(self, moment: float) -> None:
        """The server has heard of the end of all pages that the worker got before."""
        while self._recent and self._recent[0][0] < moment:
            self._recent.popleft()

    def push_again(self) -> None:
        """The server has lost data: what unfinished pages have yielded nobody else would find."""
        self.kept.extend((stored, None) for _, stored in self._recent)
        self._recent.clear()

    def clear(self) -> None:
        """Drops all that is kept."""
        self.kept.clear()
        self._seen_here.clear()

    def give(self, most: int = MOST) -> None:
        """Gives the server what is kept, if it is there."""
        self._soon.cancel()
        while self.kept and most > 0:
            batch = list(islice(self.kept, min(self.AT_ONCE, most)))
            requests = [stored for stored, _ in batch]
            give = partial(self._session.queue.push, requests, self.seen_key)
            answers = self._session.attempt(give)
            if answers is None:
                if not self._is_away:
                    self._stats.inc_value(stats.SHARED_QUEUE_KEPT, len(self.kept))
                    # If only its answer was lost, it has got them: they are no duplicates.
                    self.kept = deque((stored, None) for stored, _ in self.kept)
                self._is_away, self._is_refused = True, not self._session.is_away
                return
            most -= len(batch)
            for (stored, request), is_due in zip(batch, answers, strict=True):
                self.kept.popleft()
                self._seen_here.discard(stored.fingerprint)
                if is_due is not None:
                    self._recent.append((self._session.now(), stored))
                    self.on_given(is_due)
                elif request is not None:
                    self.on_seen(request)
            self._is_refused = False
        self._is_away = self._is_away and bool(self.kept)

    def close(self) -> None:
        """Gives the server all that is kept."""
        self.give(len(self.kept))

    def tell_lost(self) -> None:
        """The crawl has ended: what is still kept is lost."""
        if len(self):
            self._stats.inc_value(stats.QUEUE_LOST, len(self))
            self._log.error(
                "%s could not be given to the queue of requests before the crawl ended",
                counted(len(self), "request"),
            )
