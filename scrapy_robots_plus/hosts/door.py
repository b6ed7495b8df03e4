"""The wait between a downloader slot and the download handler: what leaves here, leaves in time."""

from __future__ import annotations

from collections import OrderedDict
from math import inf
from typing import TYPE_CHECKING

from scrapy import Request, signals

from scrapy_robots_plus import compat
from scrapy_robots_plus.compat import ClosingWatch, DownloadFunction
from scrapy_robots_plus.crawl import stats
from scrapy_robots_plus.crawl.recent import Recent
from scrapy_robots_plus.crawl.requests import (
    TAP_META_KEY,
    origin_of,
    slot_is_left_over,
    valid_origin_of,
)
from scrapy_robots_plus.origins.agents import Agents
from scrapy_robots_plus.origins.tally import Tally
from scrapy_robots_plus.protocol.standing import Site, Standing
from scrapy_robots_plus.settings.options import OnWall

from .backoff import BUSY, HeldAtClosing, HeldAtGivingUp, left_said, wait_asked_for
from .given_up import GivenUp
from .line import Doorway, HostLine
from .quota import Quota
from .shared_pace import SharedPace, shared_pace
from .slots import SlotTimes
from .slowing import Slowing
from .walls import Walls

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from typing_extensions import Self

    from scrapy_robots_plus.crawl.clock import Clock
    from scrapy_robots_plus.crawl.crawl import Crawl
    from scrapy_robots_plus.origins.policy import Policy
    from scrapy_robots_plus.protocol.origin import Origin
    from scrapy_robots_plus.settings.robots_settings import RobotsSettings

    from .pace import Pace
    from .throttle import Throttle


class Door:
    """Keeps the pace of each host at the handover to the download handler.

    That is the only moment from which a site can measure a gap: whatever slot, queue, redirect,
    retry or extension a request comes from, it comes through here. A host has a line if it has a
    pace: while robots.txt asks for a delay, or after it has asked the crawler to wait or refused
    requests.
    At most *most* hosts have one, unless more are needed: the least recently used go first.

    A slot of Scrapy keeps its own delay, its jitter and AutoThrottle. The one that is a host's own
    shows the Crawl-delay, too.
    """

    DRAINS_SECONDS = 5.0
    """When the spider closes, requests that wait for nothing but short delays still go for so
    long."""
    TRIM_SECONDS = 1.0
    """Minimum seconds between two searches for lines that are no longer needed."""

    def __init__(
        self,
        crawler: Crawler,
        settings: RobotsSettings,
        clock: Clock,
        given_up: GivenUp,
        pace: SharedPace,
    ) -> None:
        self._crawler = crawler
        self._settings = settings
        self._clock = clock
        self._given_up = given_up
        self._stats = compat.stats_of(crawler)
        self._closing_watch = ClosingWatch(crawler, self._fail_waiting)
        self._pace = pace
        self._changed: Callable[[str], None] = lambda _: None
        self._handed_over: Callable[[str, Request], None] = lambda _, __: None
        self._doorway: Doorway | None = None
        """None until a host has a pace, so that a crawl without delays pays nothing."""
        self.lines: OrderedDict[str, HostLine] = OrderedDict()
        """By host: of those that have a pace."""
        self._trim_at = 0.0
        self._closing_since = inf
        self.walls = Walls(crawler, settings)
        if settings.walls is OnWall.STOP:
            self.walls.subscribe(self._wall_off)
        self._quotas: Recent[str, Quota] = Recent(settings.cache_size)
        """Of hosts that have said what is left of a limit."""
        start = self._closing_watch.start
        self._slowing = Slowing(
            crawler, settings, clock, given_up, start, self._slow_down, self._drop
        )
        crawler.signals.connect(self._response_downloaded, signals.response_downloaded)
        crawler.signals.connect(self._spider_closed, signals.spider_closed)

    # For the middleware and the queue

    @classmethod
    def of_crawl(cls, crawl: Crawl) -> Self:
        pace = shared_pace(crawl.crawler, crawl.settings, crawl.get(Agents))
        door = cls(crawl.crawler, crawl.settings, crawl.clock, crawl.get(GivenUp), pace)
        tally = crawl.get(Tally)

        def tell(origin: Origin, site: Site, url: str) -> None:
            tally.note(origin, site.standing)
            for listener in crawl.standing_listeners:
                listener(origin, site, url)

        door.walls.subscribe(tell)
        return door

    @property
    def waiting(self) -> int:
        """How many requests stand here. They do not count as concurrent ones."""
        return 0 if self._doorway is None else self._doorway.waiting

    def expect(self, request: Request, origin: Origin, policy: Policy) -> None:
        """*request* has passed under *policy*: it leaves at least the policy's delay after the last
        request to its host, and during its visiting hours.
        """
        if slot_is_left_over(request):
            del request.meta[compat.SLOT_META_KEY]
        delay, opens_in = policy.delay or 0.0, policy.opens_in
        line = self.lines.get(origin.host) if self.lines else None
        if line is None:
            if not (delay or opens_in):
                return
            line = self._line(origin.host)
        now = self._clock.monotonic()
        line.pace.keep(origin, delay)
        line.pace.expect(now)
        self.lines.move_to_end(origin.host)
        self._closing_watch.start()
        if opens_in:
            line.pace.shut_for(opens_in, now)
        elif not line.pace.has_effect(now):
            self._end(line)
        self._trim()

    def keep(self, origin: Origin, delay: float) -> None:
        """Keeps *delay* seconds, which the robots.txt of *origin* asks for, from now on."""
        self._line(origin.host).pace.keep(origin, delay)

    def pace_of(self, host: str) -> Pace | None:
        """The pace of the host with this name; None if nothing delays it."""
        line = self.lines.get(host)
        return None if line is None else line.pace

    def subscribe(
        self, changed: Callable[[str], None], handed_over: Callable[[str, Request], None]
    ) -> None:
        """Calls *changed* with each host that may be due at another moment than it was, and
        *handed_over* with each request of a host with a pace that a download handler gets.
        """
        self._changed = changed
        self._handed_over = handed_over

    def share(self, pace: SharedPace) -> None:
        """Keeps *pace* together with other crawls. Called before any request is sent."""
        self._pace = pace
        if self._doorway is not None:
            self._doorway.pace = pace

    # What happens to a request

    async def _download(
        self,
        download: DownloadFunction,
        request: Request,
        stops: bool,  # noqa: ARG002
    ) -> Response:
        """Runs in place of *download*."""
        if TAP_META_KEY in request.meta or self._doorway is None:
            return await download(request)
        line = self._line_of(request)
        key = request.meta.get(compat.SLOT_META_KEY, "")
        try:
            if line is not None:
                await line.let_through(request)
                line.handed_over(request)
            elif key in self._doorway.times:
                await self._wait_for_slot(key, self._doorway)
            response = await download(request)
        except BaseException:
            if line is not None and line.pace.failed(request, self._clock.monotonic()):
                line.changed()
            raise
        finally:
            if self._doorway.wanting:
                self._doorway.place_is_free(key)
        if line is not None and line.pace.answered(request, self._clock.monotonic()):
            line.changed()
        return response

    async def _wait_for_slot(self, key: str, doorway: Doorway) -> None:
        """Keeps the slot's own delay after requests of it that have waited here."""
        now = self._clock.monotonic()
        while (due := doorway.times.due_at(key)) > now:
            await compat.sleep(due - now)
            now = self._clock.monotonic()
        doorway.times.handed_over(key, now)

    def _request_reached_downloader(self, request: Request) -> None:
        line = self._line_of(request)
        if line is not None:
            line.show()

    def _headers_received(self, request: Request, **_: object) -> None:
        line = self._line_of(request)
        if line is not None and line.pace.answered(request, self._clock.monotonic()):
            line.changed()

    def _response_downloaded(self, response: Response, request: Request) -> None:
        if TAP_META_KEY in request.meta:  # that of a robots.txt says nothing about pages
            return
        now = self._clock.monotonic()
        wait = 0.0
        if self._settings.backoff_max:
            wait = wait_asked_for(request, response, self._clock.wall())
            wait = min(wait, self._settings.backoff_max)
        origin = origin_of(request)
        host = "" if origin is None else origin.host
        if origin is not None:
            is_used_up = self._hear_quota(request, response, host, now)
            self.walls.answered(request, response, origin, is_used_up=is_used_up)
        if wait:
            self._stats.inc_value(stats.RETRY_AFTER)
        line = self.lines.get(host)
        is_refused = False
        if origin is not None and self._slowing.is_on:
            sent_in = None if line is None else line.pace.phase_of(request)
            is_refused = self._slowing.hear(request, response, origin, sent_in, wait)
        if origin is not None and wait and origin not in self._given_up:
            self._line(host).pace.leave_alone(wait, now)
        line = self.lines.get(host)
        if line is not None:
            if wait or is_refused:
                self._pause(line, now)
            else:
                line.pace.went_well(now)
            line.pace.is_over(request)
            line.show()  # again, after AutoThrottle
            if not line.pace.has_effect(now):
                self._end(line)
        self._trim()

    def _hear_quota(self, request: Request, response: Response, host: str, now: float) -> bool:
        """Takes in what *response* says is left of a limit. Returns whether nothing is."""
        left, quota = left_said(response, self._clock.wall()), self._quotas.get(host)
        if not self._settings.backoff_max or (left is None and quota is None):
            return False
        quota = quota or Quota(self._settings.backoff_max)
        self._quotas.put(host, quota)
        line = self.lines.get(host)
        under_way = 0 if line is None else line.pace.beside(request)
        is_used_up = quota.heard(left, now, under_way, is_refused=response.status in BUSY)
        if is_used_up:
            self._stats.inc_value(stats.USED_UP)
        if line is not None or quota.is_on(now):
            line = self._line(host)
            line.pace.backoff.quota = quota
            line.look()
            self._changed(host)
        return is_used_up

    def _pause(self, line: HostLine, now: float) -> None:
        """The host is to be left alone: other crawls hear of it, too."""
        seconds = line.pace.backoff.until - now
        if seconds > 0:
            self._pace.leave_alone(line.host, seconds)
        self._closing_watch.start()
        line.look()
        self._changed(line.host)

    # The lines

    def _line_of(self, request: Request) -> HostLine | None:
        origin = valid_origin_of(request) if self.lines else None
        return None if origin is None else self.lines.get(origin.host)

    def _line(self, host: str) -> HostLine:
        """The line of *host*, made if there is none."""
        line = self.lines.get(host)
        if line is None:
            line = self.lines[host] = HostLine(host, self._open())
        return line

    def _open(self) -> Doorway:
        if self._doorway is None:
            slots = compat.Slots(compat.engine_of(self._crawler).downloader)
            self._doorway = Doorway(
                self._clock,
                slots,
                SlotTimes(slots),
                self._pace,
                self._closing_watch.start,
                self._wait_for_others,
                lambda host: self._changed(host),
                lambda host, request: self._handed_over(host, request),
            )
            connect = self._crawler.signals.connect
            connect(self._request_reached_downloader, signals.request_reached_downloader)
            connect(self._headers_received, signals.headers_received)
            compat.stand_before_handlers(self._crawler, self._download)
        return self._doorway

    def _wait_for_others(self) -> None:
        self._stats.inc_value(stats.SHARED_PACE_WAITS)

    def _end(self, line: HostLine) -> None:
        """Nothing delays its host any more."""
        line.show()
        line.look()
        if line.is_empty:
            line.give_back()
            self.lines.pop(line.host, None)
        self._changed(line.host)

    def _trim(self) -> None:
        """Forgets hosts that need no pace, if there are too many."""
        if len(self.lines) <= self._settings.cache_size:
            return
        now = self._clock.monotonic()
        if now < self._trim_at:
            return
        self._trim_at = now + self.TRIM_SECONDS
        for line in list(self.lines.values()):
            if len(self.lines) <= self._settings.cache_size:
                return
            if line.is_empty and not line.pace.is_needed(now):
                line.forget()
                del self.lines[line.host]

    # The end of waiting

    def _slow_down(self, host: str, throttle: Throttle) -> None:
        self._line(host).pace.backoff.throttle = throttle

    def _drop(self, origin: Origin) -> None:
        """*origin* is given up: its requests fail, and no others of its host."""
        line = self._line(origin.host)
        line.pace.end_backoff()
        line.pace.keep(origin, 0.0)

        def is_of_it(request: Request) -> bool:
            return valid_origin_of(request) == origin

        self._open().slots.fail_queued(HeldAtGivingUp, is_of_it)
        line.fail(HeldAtGivingUp, is_of_it)

    def _wall_off(self, origin: Origin, site: Site, _: str) -> None:
        """Requests to a walled site fail, but for a few that try whether it is open again."""
        if site.standing is not Standing.WALLED:
            self._given_up.open(origin)
        elif self._settings.for_origin(origin).obey:
            self._given_up.wall_off(origin)
            self._drop(origin)

    def _fail_waiting(self) -> None:
        """The spider closes: no host that is left alone, or has a long delay, keeps it open."""
        now = self._clock.monotonic()
        self._closing_since = min(self._closing_since, now)
        for line in list(self.lines.values()):
            line.fail_at_closing(HeldAtClosing, self._closing_since + self.DRAINS_SECONDS)

    async def _spider_closed(self) -> None:
        for line in self.lines.values():
            line.give_back()
        closed = self._pace.close()
        if closed is not None:
            await compat.wait_for(closed)
