"""The door, between downloader slots and download handlers: no request leaves it too early."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from itertools import islice
from math import inf

from scrapy import Request, signals
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Response
from scrapy.utils.python import global_object_name
from twisted.internet.defer import Deferred

from scrapy_robots_plus import compat
from scrapy_robots_plus.compat import ClosingWatch, DownloadFunction
from scrapy_robots_plus.crawl.clock import Alarm
from scrapy_robots_plus.crawl.crawl import Crawl
from scrapy_robots_plus.crawl.log import crawl_log
from scrapy_robots_plus.crawl.requests import (
    HOST_META_KEY,
    TAP_META_KEY,
    says_not_to_ask,
    slot_is_left_over,
    valid_origin_of,
)
from scrapy_robots_plus.origins.agents import Agents
from scrapy_robots_plus.origins.policy import Policy
from scrapy_robots_plus.protocol.crawl_delay import VisitTime
from scrapy_robots_plus.protocol.origin import Origin

from .given_up import GivenUp
from .line import Doorway, HostLine
from .pace import Pace
from .shared_pace import shared_pace

logger = crawl_log(__name__)


class HeldAtClosing(IgnoreRequest):
    """Raised when the spider closes while a request waits for its host, or for a connection of this
    machine.
    """

    def __init__(self) -> None:
        waited_for = "its host, other crawls or a connection of this machine"
        super().__init__(f"the spider closed while the request waited for {waited_for}")


class HeldAtDenial(IgnoreRequest):
    """Raised when, while a request waits, its host or site is given up, or new rules deny it."""


class Door(Doorway):
    """The place where the pace of each host is kept: the handover to a download handler.

    Whatever slot, queue, redirect, retry or extension a request comes from, it passes here, and
    only from here on can a site measure a gap. Only fetches of robots.txt do not wait.

    A host has a line while it has a pace: robots.txt asks for a delay or names visiting hours, or
    the host has asked the crawler to wait or has refused requests. There are at most as many lines
    as robots.txt files are kept, or :data:`LEAST`, unless more are needed; the least recently used
    go first.

    Scrapy's slots keep their own delay, jitter and AutoThrottle. The slot that is a host's own
    shows the Crawl-delay, too.
    """

    DRAINS_SECONDS = 5.0
    """Seconds for which requests that wait only for short delays still go while the spider
    closes."""
    LEAST = 1_000
    """How many lines are kept in any case: requests may be on their way to them."""
    TRIM_SECONDS = 1.0
    """Minimum seconds between two searches for lines that are no longer needed."""

    def __init__(self, crawl: Crawl) -> None:
        crawler = crawl.crawler
        super().__init__(crawl, shared_pace(crawler, crawl.settings, crawl.get(Agents)))
        self._most = max(crawl.settings.cache_size, self.LEAST)
        self._closing_watch = ClosingWatch(crawler, self._fail_waiting, crawl.errors.repeat)
        self.lines: OrderedDict[str, HostLine] = OrderedDict()
        """The lines of the hosts that have a pace, by host name."""
        self._outside: dict[Request, Deferred[None]] = {}
        """The requests that wait outside of lines, each with what ends its wait."""
        self._is_open = False
        self._trim_at = 0.0
        self._closing_since = inf
        crawler.signals.connect(self._spider_closed, signals.spider_closed)

    # For the middleware and the queue

    def expect(self, request: Request, origin: Origin, policy: Policy) -> None:
        """Puts *policy*, under which *request* has passed, in force for its host.

        So it leaves at least one delay after the last request there, and during visiting hours.
        """
        meta = request.meta
        if compat.SLOT_META_KEY in meta and slot_is_left_over(request):
            del meta[compat.SLOT_META_KEY]
        meta[HOST_META_KEY] = origin.host
        if not (self.lines or policy.is_paced):
            return
        self.keep(origin, policy.delay or 0.0, policy.paces.visits)
        line = self.lines.get(origin.host)
        if line is not None:
            self.lines.move_to_end(origin.host)
            self._trim(line, self.clock.monotonic())

    def keep(self, origin: Origin, delay: float, visits: VisitTime | None) -> None:
        """Keeps what the robots.txt of *origin* asks for: *delay* seconds, the hours *visits*."""
        if delay or visits or origin.host in self.lines:
            self.line(origin.host).pace.keep(origin, delay, visits)

    def pace_of(self, host: str) -> Pace | None:
        """Returns the pace of *host*; None if nothing delays it."""
        line = self.lines.get(host)
        return None if line is None else line.pace

    # What happens to a request

    async def _download(self, download: DownloadFunction, request: Request) -> Response:
        """Runs in place of *download*: calls it when *request* may leave."""
        if TAP_META_KEY in request.meta:
            return await download(request)
        line, now = self._line_of(request), self.clock.monotonic
        key = request.meta.get(compat.SLOT_META_KEY, "")
        try:
            # The slot has its own delay after others of its requests that have waited here.
            while line is None and (wait := self.slot_lets_go_at(key) - now()) > 0:
                await self.wait(request, wait)
                line = self._line_of(request)
            if line is not None:
                await line.let_through(request)
                line.handed_over(request)
            elif key in self.last_of_slots:
                self.left_slot(key, now())
            response = await download(request)
        except BaseException:
            if line is not None and line.pace.failed(request, now()):
                line.changed()
            raise
        finally:
            if self.wanting:
                self.place_is_free(key)
        if line is not None and line.pace.departures.answered(request, now()):
            line.changed()
        return response

    async def wait(self, request: Request, seconds: float) -> None:
        """Waits outside of a line. Raises HeldAtDenial or HeldAtClosing as soon as *request* is to
        fail, as if it waited in one.
        """
        ends = self._outside[request] = Deferred()

        def ring() -> None:
            if self._outside.pop(request, None):  # else it has failed in this turn of the loop
                ends.callback(None)

        alarm = Alarm(ring, self.clock.monotonic, self.clock.call_later)
        alarm.set(self.clock.monotonic() + seconds)
        try:
            await compat.wait_for(ends)
        finally:
            alarm.cancel()
            self._outside.pop(request, None)

    def _headers_received(self, request: Request, **_: object) -> None:
        line = self._line_of(request)
        if line is not None and line.pace.departures.answered(request, self.clock.monotonic()):
            line.changed()

    def _downloaded(self, request: Request, **_: object) -> None:
        line = self._line_of(request)
        if line is not None:
            line.show()  # again: AutoThrottle, which hears of an answer first, may have changed it

    # What an answer says

    def answer_was_read(self, request: Request, host: str, *, is_pause: bool) -> None:
        """Updates the line of *host* after the answer to *request* was read.

        *is_pause*: it asked for a pause. Other crawls are told of that, too.
        """
        line, now = self.lines.get(host), self.clock.monotonic()
        if line is None:
            self._forget_some(now)
            return
        if is_pause:
            seconds = line.pace.pause_until - now
            if seconds > 0:
                self.shared_pace.leave_alone(host, seconds)
            line.look()
            self.changed(host, None)
        line.pace.phases.pop(request, None)
        self._trim(line, now)

    def drop(self, host: str, given_up: GivenUp) -> None:
        """Fails the requests to those origins of *host* that are *given_up*, except those that
        robots.txt does not apply to: these wait on.
        """

        def is_dropped(origin: Origin, request: Request) -> bool:
            return origin in given_up and not says_not_to_ask(request)

        self._fail(HeldAtDenial, {host: self.lines.get(host)}, is_dropped)

    def recheck(self, origin: Origin, denies: Callable[[Request], bool]) -> None:
        """Fails the requests to *origin* that wait here or in a slot and that *denies* is true of.

        All others here are looked at: their pace may be another one, too.
        """
        lines = {origin.host: self.lines.get(origin.host)}
        self._fail(HeldAtDenial, lines, lambda its, request: its == origin and denies(request))

    # The lines

    def _line_of(self, request: Request) -> HostLine | None:
        origin = valid_origin_of(request) if self.lines else None
        return None if origin is None else self.lines.get(origin.host)

    def line(self, host: str) -> HostLine:
        """Returns the line of *host*, creating it if there is none."""
        line = self.lines.get(host)
        if line is None:
            if not self._is_open:
                self._open()
            line = self.lines[host] = HostLine(host, self)
        return line

    def _open(self) -> None:
        """Stands before the download handlers from now on: a crawl without delays pays nothing."""
        self._is_open = True
        crawler = self.crawl.crawler
        crawler.signals.connect(self._headers_received, signals.headers_received)
        crawler.signals.connect(self._downloaded, signals.response_downloaded)
        if not compat.intercept_downloads(crawler, self._download):
            logger(crawler).warning(
                "Delays and pauses of hosts cannot be kept, because DOWNLOADER is %s, which has no "
                "handlers as Scrapy's has. To change that, set "
                'DOWNLOADER = "scrapy_robots_plus.RobotsDownloader".',
                global_object_name(type(crawler.engine.downloader)),
            )
        self._closing_watch.start()

    def _trim(self, line: HostLine, now: float) -> None:
        """Ends *line* if nothing delays its host any more."""
        if not line.pace.has_effect(now):
            line.show()
            line.look()
            if line.is_empty:
                self._end(line)
            self.changed(line.host, None)
        self._forget_some(now)

    def _forget_some(self, now: float) -> None:
        """Ends the least recently used lines beyond the limit, except those still needed."""
        excess = len(self.lines) - self._most
        if excess <= 0 or now < self._trim_at:
            return
        self._trim_at = now + self.TRIM_SECONDS
        for line in list(islice(self.lines.values(), excess)):
            is_idle = line.is_empty and line.pace.due_at() <= now
            if is_idle and not line.pace.has_closed(self.clock.wall()):
                self._end(line)

    def _end(self, line: HostLine) -> None:
        """Ends *line*, whose slot shows its own delay again: nothing has to wait there."""
        line.show(0.0)
        line.turn.give_back()
        self.lines.pop(line.host, None)

    # The end of waiting

    def _fail_waiting(self) -> None:
        """Fails requests for which the closing spider would have to wait long."""
        self._closing_since = min(self._closing_since, self.clock.monotonic())
        latest = self._closing_since + self.DRAINS_SECONDS
        wall = self.clock.wall()
        late = {host: line for host, line in self.lines.items() if line.is_late(latest)}
        closed = {host: line for host, line in self.lines.items() if line.pace.has_closed(wall)}

        def waits_long(origin: Origin, _: Request) -> bool:
            return origin.host in late or closed[origin.host].pace.opens_in(origin, wall) > 0

        if late or closed:
            self._fail(HeldAtClosing, {**late, **closed}, waits_long)

    def _fail(
        self,
        error: type[Exception],
        lines: Mapping[str, HostLine | None],
        fails: Callable[[Origin, Request], bool],
    ) -> None:
        """Fails the requests to hosts in *lines* that *fails* is true of, in slots and lines, and
        outside of them.
        """

        def fails_here(request: Request) -> bool:
            origin = valid_origin_of(request)
            return origin is not None and origin.host in lines and fails(origin, request)

        failing = list(filter(fails_here, self._outside))
        for ends in [self._outside.pop(each) for each in failing]:
            ends.errback(error())
        self.slots.fail_queued(error, fails_here)
        for line in lines.values():
            if line is not None:
                line.fail(error, fails_here)

    async def _spider_closed(self) -> None:
        for line in self.lines.values():
            line.turn.give_back()
        closed = self.shared_pace.close()
        if closed is not None:
            await compat.wait_for(closed)
