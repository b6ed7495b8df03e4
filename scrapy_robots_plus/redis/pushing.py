"""New requests on their way to the server."""

from __future__ import annotations

from collections import deque
from itertools import islice
from typing import TYPE_CHECKING, Any

from scrapy.utils.request import request_from_dict

from scrapy_robots_plus.crawl.request_fields import fields_of, priority_of, unusual_fields_of
from scrapy_robots_plus.storage.redis.connection import ServerError

from .host_queue import Stored

if TYPE_CHECKING:
    from scrapy import Request, Spider

    from .host_states import HostStates
    from .queue_log import QueueLog
    from .session import Session


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
    """Gives requests to the server, or keeps them until it is back, in their order."""

    AT_ONCE = 200
    """Requests of one attempt after a failure."""
    MOST = 2_000
    """Requests of all attempts at one time: the engine waits meanwhile."""

    def __init__(
        self, session: Session, hosts: HostStates, serialization: Serialization, log: QueueLog
    ) -> None:
        self._session = session
        self._hosts = hosts
        self._serialization = serialization
        self._log = log
        self.seen_key = ""
        """The set of fingerprints of the duplicate filter, if it is ours."""
        self.kept: deque[Stored] = deque()
        """Those that wait for the server."""
        self.unwritable: deque[Request] = deque()
        """Those that no server can keep."""
        self._recent: deque[tuple[float, Stored]] = deque(maxlen=self.MOST)
        """Those that pages have yielded with which the engine is not done, and when."""
        self._seen_here: set[str] = set()
        """Fingerprints of these."""

    def __len__(self) -> int:
        return len(self.kept) + len(self.unwritable)

    def stored(self, data: bytes, score: float) -> Stored:
        """A request that scrapy-redis has written, to be taken over."""
        try:
            request = self._serialization.read(data)
        except Exception:  # noqa: BLE001 - whoever takes it says what is wrong, and sets it aside
            return Stored("", -score, data)
        return Stored(self._hosts.host_of(request), priority_of(request), data)

    def push(self, request: Request, fingerprint: str) -> bool | None:
        """Whether *request* may be due at once; None if it was seen before."""
        try:
            data = self._serialization.written(request)
        except Exception as error:  # noqa: BLE001 - any serializer may be in use
            return self._keep_unwritable(request, fingerprint, error)
        host = self._hosts.host_of(request)
        return self._push(Stored(host, priority_of(request), data, fingerprint))

    def _keep_unwritable(self, request: Request, fingerprint: str, error: Exception) -> bool | None:
        """The server may be away: what was seen is remembered here, too."""
        if fingerprint:
            was_seen = fingerprint in self._seen_here
            self._seen_here.add(fingerprint)
            if was_seen or not self._session.is_new(self.seen_key, fingerprint):
                return None
        self._log.cannot_be_written(request, error)
        self.unwritable.append(request)
        return True

    def _push(self, stored: Stored) -> bool | None:
        if not self.kept:
            try:
                is_due = self._session.push([stored], self.seen_key)[0]
            except ServerError:
                pass
            else:
                if is_due is not None:
                    self._recent.append((self._session.now(), stored))
                return is_due
        self.kept.append(stored)
        self._log.kept()
        return False

    def done_with_pages_until(self, moment: float) -> None:
        """The engine is done with all pages that it got before."""
        while self._recent and self._recent[0][0] < moment:
            self._recent.popleft()

    def push_again(self) -> None:
        """The server has lost data: what unfinished pages have yielded nobody else would find."""
        self.kept.extend(stored for _, stored in self._recent)
        self._recent.clear()

    def try_again(self) -> None:
        """Gives the server a part of what was kept."""
        self._give(self.MOST)

    def give_all(self) -> None:
        """Gives the server all that was kept."""
        self._give(len(self.kept))

    def _give(self, most: int) -> None:
        left = max(0, len(self.kept) - most)
        while len(self.kept) > left:
            batch = list(islice(self.kept, min(self.AT_ONCE, len(self.kept) - left)))
            try:
                self._session.push(batch, self.seen_key)
            except ServerError:
                return
            for _ in batch:
                self.kept.popleft()
