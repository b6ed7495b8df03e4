"""What a crawl asks and tells the other crawls that keep one pace with it, host by host."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar
from uuid import uuid4

from scrapy import Request
from scrapy.crawler import Crawler
from twisted.internet.defer import fail

from scrapy_robots_plus import compat
from scrapy_robots_plus.crawl import stats
from scrapy_robots_plus.crawl.clock import DEFAULT_CLOCK, Now
from scrapy_robots_plus.crawl.log import crawl_log
from scrapy_robots_plus.crawl.recent import Recent
from scrapy_robots_plus.origins.agents import Agents
from scrapy_robots_plus.protocol.product_token import product_tokens
from scrapy_robots_plus.settings.robots_settings import RobotsSettings

from .book import LEAST_WAIT, Book, BookInMemory

if TYPE_CHECKING:
    from twisted.internet.defer import Deferred
    from twisted.python.failure import Failure


logger = crawl_log(__name__)

_T = TypeVar("_T")

GO_SECONDS = 2.0
"""Seconds for which the permission of a book elsewhere is valid, from when it was asked. A later
one is given back, and asked for again. How long the question waited in line does not count.
"""


class Ask(NamedTuple):
    """The question whether a request may leave now, as far as other crawls are concerned.

    Its own crawl has no objection: the delay has passed since its last request to the host.
    """

    host: str
    """The host, in lower case, without the port. A crawl asks for one of its requests at a time."""
    delay: float
    """Seconds to keep between this request and those before and after it, of any crawl."""
    patience: float
    """Seconds for which the request may be under way to the host before it counts as sent."""
    since: float
    """Seconds since this crawl's last request to the host left; infinity if there was none."""
    request: Request

    def wait_alone(self, crawls: int) -> float:
        """Returns the seconds to wait if nobody can be asked: as if so many *crawls* took turns.

        A last request that may still be under way counts as if it left now.
        """
        return max(0.0, self.delay * crawls - max(0.0, self.since))


class SharedPace(Protocol):
    """The pace of several crawls, which decides whose request to a host with a delay leaves next.

    No method waits or raises an exception.
    """

    def ask(self, asked: Ask, answer: Callable[[float], None]) -> None:
        """Calls *answer* once, now or later in this loop: with 0.0 if the request may leave at
        once, otherwise with the seconds after which to ask again.

        A crawl that asks again keeps its place. A request that was allowed leaves at once, or
        :meth:`unused` follows.
        """

    def left(self, host: str, ago: float, delay: float) -> None:
        """Records that the crawl's last request to *host* left at least *ago* seconds ago: its
        answer has come, or it failed, or it went without asking.

        If *ago* is below 0, it may still be under way for that many seconds.
        """

    def unused(self, host: str, ago: float, delay: float) -> None:
        """Records that no request waits for what was asked last. *ago*: see :meth:`left`; infinity
        if the crawl has sent nothing yet.
        """

    def leave_alone(self, host: str, seconds: float) -> None:
        """Records that *host* has asked for no requests for *seconds*."""

    def close(self) -> Deferred[bool] | None:
        """Closes the pace after the last call; the end of the crawl waits for the Deferred."""


class BookedPace:
    """The :class:`SharedPace` of crawls with the same book."""

    def __init__(self, book: Book) -> None:
        self._book = book
        self._who = uuid4().hex
        self._moments: dict[str, float | None] = {}
        """The moments that are booked, by host; None if a request may go."""

    def ask(self, asked: Ask, answer: Callable[[float], None]) -> None:
        answer(self.wait(asked))

    def wait(self, asked: Ask) -> float:
        """Returns what :meth:`ask` answers. Raises what the book does, as all methods here do."""
        host, delay, patience = asked.host, asked.delay, asked.patience
        moment = self._moments.get(host)
        wait: float
        wait, moment = self._book.change(host, "ask", self._who, delay, patience, moment)
        self._moments[host] = moment
        return wait

    def left(self, host: str, ago: float, delay: float) -> None:
        if self._moments.get(host, ago) is None:
            del self._moments[host]
        self._book.change(host, "left", self._who, ago, delay)

    def unused(self, host: str, ago: float, delay: float) -> None:
        if host in self._moments:
            moment = self._moments.pop(host)
            self._book.change(host, "unused", self._who, ago, delay, moment)

    def leave_alone(self, host: str, seconds: float) -> None:
        self._book.change(host, "leave_alone", seconds)

    def close(self) -> Deferred[bool] | None:
        """See :meth:`SharedPace.close`."""
        self._book = BookInMemory(DEFAULT_CLOCK.monotonic)
        return None


class PaceBetweenProcesses:
    """The :class:`SharedPace` with a book elsewhere, asked in a thread one call after another.

    While the book cannot be asked, each crawl keeps the delays on its own, as if *workers* crawls
    took turns: that many times as long. But first it keeps asking: others may have noticed nothing.
    """

    ASKS_SECONDS, ASKS_EVERY = 5.0, 0.5
    """Seconds for which a crawl keeps asking before it goes on alone, and between two questions."""
    HANGS_SECONDS = 6.0
    """Seconds after which nobody waits for a call any more: a book answers or fails before."""
    TELLS_EVERY = 600.0
    """The least seconds between two warnings in the log."""
    CLOSING_SECONDS = 2.0
    """Seconds for which the end of a crawl waits at most until all is told."""

    def __init__(
        self, crawler: Crawler, book: Book, workers: int, now: Now = DEFAULT_CLOCK.monotonic
    ) -> None:
        self._pace, self._book = BookedPace(book), book
        self._crawler = crawler
        self._workers = workers
        self._now = now
        self._stats = crawler.stats
        self._courier = compat.Courier("robots-pace")
        self._tell_at = -inf
        self._unanswered_since = inf

    def ask(self, asked: Ask, answer: Callable[[float], None]) -> None:
        # It may leave some time after the book has allowed it.
        patient, sent_at = asked._replace(patience=asked.patience + GO_SECONDS), self._now()

        def call() -> tuple[float, float]:
            return self._now(), self._pace.wait(patient)

        def answered(told: tuple[float, float]) -> None:
            at, wait = told
            now, self._unanswered_since = self._now(), inf
            if not wait and now >= at + GO_SECONDS:
                self.unused(asked.host, asked.since + now - sent_at, asked.delay)
                wait = LEAST_WAIT
            answer(wait)

        def failed(failure: Failure) -> None:
            self._failed(failure)
            now = self._now()
            hangs_since = now - self._courier.busy_for  # in the future if nothing hangs
            self._unanswered_since = min(self._unanswered_since, now, hangs_since)
            is_alone = now >= self._unanswered_since + self.ASKS_SECONDS
            answer(asked.wait_alone(self._workers) if is_alone else self.ASKS_EVERY)

        made = self._made(call)
        made.addCallbacks(answered, failed)
        self._watch(made)

    def left(self, host: str, ago: float, delay: float) -> None:
        self._send(lambda late: self._pace.left(host, ago + late, delay))

    def unused(self, host: str, ago: float, delay: float) -> None:
        self._send(lambda late: self._pace.unused(host, ago + late, delay))

    def leave_alone(self, host: str, seconds: float) -> None:
        self._send(lambda late: self._pace.leave_alone(host, seconds - late))

    def close(self) -> Deferred[bool] | None:
        """See :meth:`SharedPace.close`."""
        self._send(lambda _: self._book.close())
        return self._courier.close(self.CLOSING_SECONDS)

    def _send(self, call: Callable[[float], object]) -> None:
        """Makes *call* with the number of seconds by which it is late."""
        sent_at = self._now()
        self._made(lambda: call(self._now() - sent_at)).addErrback(self._failed)

    def _made(self, call: Callable[[], _T]) -> Deferred[_T]:
        """Makes *call* in the thread; fails at once if an earlier one hangs there."""
        return fail(self._no_answer()) if self._hangs else self._courier.send(call)

    def _watch(self, made: Deferred[_T]) -> None:
        """Fails *made* as soon as it, or a call before it, hangs. Time in line does not count."""
        if made.called:
            return
        if self._hangs:
            made.errback(self._no_answer())
        else:
            DEFAULT_CLOCK.call_later(self.ASKS_EVERY, lambda: self._watch(made))

    @property
    def _hangs(self) -> bool:
        return self._courier.busy_for >= self.HANGS_SECONDS

    def _no_answer(self) -> Exception:
        return compat.CourierLateError(f"no answer for {self.HANGS_SECONDS:g} s")

    def _failed(self, failure: Failure) -> None:
        self._stats.inc_value(stats.SHARED_PACE_ERRORS)
        if self._now() >= self._tell_at:
            self._tell_at = self._now() + self.TELLS_EVERY
            logger(self._crawler).warning(
                "ROBOTS_SHARED_PACE: %s. If it cannot be asked again within %d s, the crawl keeps "
                "delays on its own until it can, multiplied by ROBOTS_WORKERS (%d); further errors "
                "are counted as %s.",
                failure.value,
                self.ASKS_SECONDS,
                self._workers,
                stats.SHARED_PACE_ERRORS,
            )


_books: Recent[str, BookInMemory] = Recent(100)
"""The books of this process, by product token. A book outlives its crawls: the next crawl may begin
before a host may be asked again."""


def shared_pace(crawler: Crawler, settings: RobotsSettings, agents: Agents) -> SharedPace:
    """Returns the pace of a crawl, as ``ROBOTS_SHARED_PACE`` says. It is shared by crawls with the
    same product token, by which sites know them.
    """
    value = settings.shared_pace
    group = next(iter(product_tokens(agents.default)), "*")
    if value not in ("off", "process"):
        return PaceBetweenProcesses(crawler, open_book(value, group), settings.workers)
    book = BookInMemory(DEFAULT_CLOCK.monotonic)
    if value == "process":
        book = _books.get(group, book)
        _books.put(group, book)
    return BookedPace(book)


def open_book(value: str, group: str) -> Book:
    """Returns the book at *value*, from ``ROBOTS_SHARED_PACE``, of the crawls in *group*."""
    if value.startswith("sqlite:"):
        from .book_in_file import BookInFile

        return BookInFile(Path(value.removeprefix("sqlite:")), group)
    from .book_on_server import BookOnServer

    return BookOnServer(value, group)
