"""New requests on their way to the server."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

from scrapy.utils.request import request_from_dict

from scrapy_robots_plus.cluster.requests import Stored
from scrapy_robots_plus.server import ServerError

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy import Request, Spider

    from scrapy_robots_plus.cluster.requests import HostQueue

    from .hosts import Hosts
    from .link import Link
    from .reports import QueueReports


class Serialization:
    """How the project writes requests: ``SCHEDULER_SERIALIZER``."""

    def __init__(self, spider: Spider, serializer: Any) -> None:
        self._spider = spider
        self._serializer = serializer

    def written(self, request: Request) -> bytes:
        """Raises anything, for what cannot be written."""
        data = self._serializer.dumps(request.to_dict(spider=self._spider))
        return data.encode("utf-8", "surrogatepass") if isinstance(data, str) else bytes(data)

    def read(self, data: bytes) -> Request:
        """Raises anything: its callback may have been renamed, its class may be gone."""
        return request_from_dict(self._serializer.loads(data), spider=self._spider)


class Pushing:
    """Gives requests to the server, or keeps them until it is back, in their order."""

    AT_ONCE = 200
    """Requests of one attempt after a failure."""

    def __init__(
        self,
        link: Link,
        queue: HostQueue,
        hosts: Hosts,
        serialization: Serialization,
        reports: QueueReports,
    ) -> None:
        self._link = link
        self._queue = queue
        self._hosts = hosts
        self._serialization = serialization
        self._reports = reports
        self.seen_key = ""
        """The set of fingerprints of the duplicate filter, if it is ours."""
        self.kept: deque[Stored] = deque()
        """Those that wait for the server."""
        self.unwritable: deque[Request] = deque()
        """Those that no server can keep."""

    def __len__(self) -> int:
        return len(self.kept) + len(self.unwritable)

    def stored(self, request: Request, fingerprint: str = "") -> Stored | None:
        """None if it cannot be written."""
        try:
            data = self._serialization.written(request)
        except Exception as error:  # noqa: BLE001 - any serializer may be in use
            self._reports.cannot_be_written(request, error)
            return None
        host = self._hosts.host_of(request)
        return Stored(host, request.priority, data, fingerprint)

    def push(self, stored: Stored) -> bool | None:
        """Whether it may be due at once; None if it was seen before."""
        if not self.kept:
            try:
                return self._push([stored])[0]
            except ServerError as error:
                self._reports.failed(error)
        self.kept.append(stored)
        self._reports.kept()
        return False

    def try_again(self, tell: Callable[[ServerError], None]) -> None:
        """Gives the server what was kept; *tell* is called if it cannot be done."""
        while self.kept:
            batch = [self.kept[at] for at in range(min(self.AT_ONCE, len(self.kept)))]
            try:
                self._push(batch)
            except ServerError as error:
                tell(error)
                return
            for _ in batch:
                self.kept.popleft()

    def _push(self, requests: list[Stored]) -> list[bool | None]:
        return self._link.run(lambda _: self._queue.push(requests, self.seen_key))
