"""The queue class for scrapy-redis."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy_robots_plus.crawl.crawl import Crawl, guarded

from .worker import Worker

if TYPE_CHECKING:
    from scrapy import Request, Spider
    from scrapy.crawler import Crawler


class RobotsQueue:
    """``SCHEDULER_QUEUE_CLASS`` of scrapy-redis: many workers ask each host as one crawler would.

    The requests of each host wait in a queue of their own. A host is handed out when it is due, by
    the clock of the server: Crawl-delay, Request-rate, Visit-time, Retry-After and the delays of
    the project are kept by all workers together. A request that was handed out is leased: if its
    worker is not heard of for ``ROBOTS_WORKER_LIFETIME`` seconds, another gets it.

    Requests are written with ``SCHEDULER_SERIALIZER``. Raises TypeError, like the queues of
    scrapy-redis, if that lacks ``loads`` or ``dumps``.
    """

    def __init__(self, server: Any, spider: Spider, key: str, serializer: Any = None) -> None:
        """Called by scrapy-redis. *server*: its connection, from which this one is made. *key*:
        where requests are; requests in a queue of scrapy-redis itself at this key are taken over.
        """
        if serializer is None:
            from scrapy_redis import picklecompat

            serializer = picklecompat
        for method in ("loads", "dumps"):
            if not hasattr(serializer, method):
                raise TypeError(f"serializer does not implement {method!r} function: {serializer}")
        self.server = server
        self.spider = spider
        self.key = key % {"spider": spider.name}
        self.serializer = serializer
        self.worker = Worker(spider.crawler, server, self.key, serializer)

    @property
    def crawler(self) -> Crawler:
        """That of the spider."""
        return self.spider.crawler

    @guarded("the shared queue", otherwise=1)
    def __len__(self) -> int:
        """How many requests wait, for any worker."""
        return len(self.worker)

    def push(self, request: Request) -> None:
        """Adds *request*. While the server is away it is kept in memory."""
        try:
            if not self.worker.was_pushed(request):
                self.worker.push(request)
        except Exception as error:  # noqa: BLE001 - it would be lost
            Crawl.of(self.crawler).errors.tell("the shared queue", error)
            self.worker.stranded.append(request)

    @guarded("the shared queue")
    def pop(self, timeout: float = 0) -> Request | None:
        """A request that may be sent now; None if there is none, or the server is away.

        Never waits. A worker that has had nothing to do for *timeout* seconds may be closed.
        """
        self.worker.patience = timeout
        return self.worker.next()

    def clear(self) -> None:
        """Removes all requests. At the end of a crawl, only if no other worker is alive."""
        self.worker.clear()
