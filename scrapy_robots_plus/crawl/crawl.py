"""The objects that the parts of this package share in one crawl."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property, partial, wraps
from typing import Any, Protocol, TypeVar, cast

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.http import Response
from scrapy.statscollectors import StatsCollector
from scrapy.utils.versions import get_versions

from scrapy_robots_plus import compat
from scrapy_robots_plus._version import __version__
from scrapy_robots_plus.protocol.origin import Origin
from scrapy_robots_plus.protocol.product_token import AgentNames
from scrapy_robots_plus.protocol.standing import Site
from scrapy_robots_plus.settings.all_settings import OVERRIDE_KEYS
from scrapy_robots_plus.settings.checks import WrongPartsError
from scrapy_robots_plus.settings.override import override_from
from scrapy_robots_plus.settings.robots_settings import (
    RobotsSettings,
    RobotsSettingsError,
    report_unknown_settings,
)

from . import stats
from .clock import DEFAULT_CLOCK, CallLater, Clock
from .events import RobotsOverrideError
from .log import crawl_log
from .recent import Recent
from .requests import OVERRIDE_META_KEY, origin_to_ask, override_belongs

logger = crawl_log(__name__)

REASON = "robots_error"
"""The reason for which the spider is closed after an error of this package."""

_MISTAKES = (ArithmeticError, AssertionError, AttributeError, LookupError, NameError, TypeError)
"""Exceptions that nobody raises on purpose."""
_PACKAGE = f"{__name__.partition('.')[0]}."
_METHOD = TypeVar("_METHOD", bound="Callable[..., Any]")


class OwnErrors:
    """The handling of this package's own errors: they close the crawl, instead of leaving it idle
    forever. The first is logged and closes it; the others are only counted.

    Scrapy catches what a queue, a signal handler or a timer raises, logs it, and goes on without
    the request, the delay or the wake-up that was due. So each way in is guarded:

    - methods that Scrapy calls: by :func:`guarded`;
    - signal handlers, timers and loops, wherever they are: by this class;
    - the downloader middlewares and the download of a request: by
      ``RobotsMiddleware.process_exception``, which asks :func:`is_of_this_package`.

    Queued requests stay where they are. Exceptions of other code take their usual way.
    """

    def __init__(self, crawl: Crawl) -> None:
        self._crawl = crawl
        self.happened = False
        compat.watch_signals(crawl.crawler, self._handler_failed)

    def tell(self, part: str, error: BaseException) -> None:
        """Counts *error*, raised in *part*; logs the first one, and closes the crawl for it."""
        self._crawl.stats.inc_value(stats.OWN_ERRORS)
        if self.happened:
            return
        self.happened = True
        logger(self._crawl.crawler).error(
            "An error of scrapy-robots-plus itself, in %s: %r. The crawl is closed (%s); what its "
            "job or its shared queue holds stays there. Please report this, with the lines below: "
            "scrapy-robots-plus %s, %s",
            part,
            error,
            REASON,
            __version__,
            ", ".join(map(" ".join, get_versions(["Scrapy", "Twisted", "Python"]))),
            exc_info=error,
        )
        compat.close_crawl(self._crawl.crawler, REASON)

    def timers(self, call_later: CallLater) -> CallLater:
        """Returns *call_later* for functions that may raise: it tells their errors."""
        return lambda seconds, call: call_later(seconds, partial(self._ring, call))

    def repeat(self, seconds: float, call: Callable[[], object]) -> Callable[[], None]:
        """Does as :func:`.compat.repeat`, and tells the errors of *call*."""
        return compat.repeat(seconds, partial(self._ring, call))

    def _ring(self, call: Callable[[], object]) -> None:
        try:
            call()
        except Exception as error:  # noqa: BLE001 - whatever it is
            self.tell("a timer", error)

    def _handler_failed(self, handler: object, error: Exception) -> None:
        if is_of_this_package(error):
            self.tell(f"a handler of a signal, {getattr(handler, '__qualname__', '?')}", error)


def guarded(part: str, otherwise: object = None) -> Callable[[_METHOD], _METHOD]:
    """Decorates a method that Scrapy calls, of an object with the attribute ``crawler``.

    What the method raises is told as an error in *part*; it then returns *otherwise*.
    """

    def decorate(method: _METHOD) -> _METHOD:
        @wraps(method)
        def instead(self: Any, *arguments: Any, **named: Any) -> Any:
            try:
                return method(self, *arguments, **named)
            except Exception as error:  # noqa: BLE001 - whatever it is
                Crawl.of(self.crawler).errors.tell(part, error)
                return otherwise

        return instead  # type: ignore[return-value]

    return decorate


def is_of_this_package(error: BaseException) -> bool:
    """Returns whether *error* is a mistake in this package's code: raised there, not on purpose."""
    if not isinstance(error, _MISTAKES):
        return False
    trace, module = error.__traceback__, None
    while trace is not None:
        module, trace = trace.tb_frame.f_globals.get("__name__"), trace.tb_next
    return f"{module}.".startswith(_PACKAGE)


class TakesBack(Protocol):
    """The queue in use, as seen by code that returns requests to it."""

    def takes_back(self, request: Request, origin: Origin, /) -> bool:
        """Returns whether the queue handed out *request*, and takes it back while the robots.txt of
        *origin* cannot be read.
        """


_Part = TypeVar("_Part")

_ATTRIBUTE = "_scrapy_robots_plus"
"""The attribute of a crawler that holds its Crawl."""


class Crawl:
    """What the parts of one crawl share. :meth:`of` finds it; the first part that asks creates it.

    Any part may be missing, and several crawlers may run in one process. Scrapy creates the parts
    in this order:

    1. ``RobotsExtension``, before the engine exists.
    2. ``RobotsDownloader``, which creates ``RobotsMiddleware``, which sets ``has_middleware``.
       If the middleware is missing or switched off by the settings, policies and everything that
       depends on them must not be used.
    3. ``RobotsPriorityQueue``, one in memory, and one on disk if there is a job. The first of them
       creates the state they share, and sets ``queue``.

    Policies, the door and so on are created on first use, by the middleware: see :meth:`get`.
    """

    def __init__(self, crawler: Crawler, clock: Clock = DEFAULT_CLOCK) -> None:
        self.crawler = crawler
        self.errors = errors = OwnErrors(self)
        self.clock = replace(clock, call_later=errors.timers(clock.call_later))
        self._parts: dict[type, Any] = {}
        self._overridden: Recent[tuple[RobotsSettings, str], RobotsSettings] = Recent(256)
        """The settings made of overrides, by the settings below and the text of the override."""
        self.has_middleware = False
        """Whether the middleware is in use, so that each request is checked."""
        self.decision_listeners: list[Callable[[Request, Origin, AgentNames, Any], None]] = []
        """Functions that get each request that passes or is refused, its origin, the agent it was
        judged as, and the decision. A request that is judged again, as another, comes again."""
        self.exemption_listeners: list[Callable[[Request], None]] = []
        """Functions that get each request that ``dont_obey_robotstxt`` lets pass unjudged."""
        self.standing_listeners: list[Callable[[Origin, Site, str], None]] = []
        """Functions that get each origin that begins to treat the crawl differently, how it does,
        and the URL that decided; only if the crawl enforces robots.txt."""
        self.tells_answers = False
        """Whether ``RobotsDownloader`` is in use, which calls the listeners to answers."""
        self.answer_listeners: list[Callable[[Request, Response], None]] = []
        """Functions that get each response of a download handler, and its request."""
        self.end_listeners: list[Callable[[Request], None]] = []
        """Functions that ``RobotsDownloader`` calls with each request that it is done with, except
        those for robots.txt. Another downloader does not."""
        self.queue: TakesBack | None = None
        """What the queues share, where requests wait for robots.txt and delays; None if another
        queue or scheduler is in use."""

    @classmethod
    def of(cls, crawler: Crawler, clock: Clock = DEFAULT_CLOCK) -> Crawl:
        """Returns the Crawl of *crawler*, creating it if needed; only the first *clock* counts."""
        crawl = getattr(crawler, _ATTRIBUTE, None)
        if not isinstance(crawl, cls):
            crawl = cls(crawler, clock)
            setattr(crawler, _ATTRIBUTE, crawl)
        return crawl

    @property
    def stats(self) -> StatsCollector:
        """The stats collector of the crawler."""
        return self.crawler.stats

    @property
    def is_closing(self) -> bool:
        """Whether the engine is waiting for its last requests, or has ended."""
        return compat.is_closing(self.crawler)

    @cached_property
    def settings(self) -> RobotsSettings:
        """The checked settings of the crawl. If they are wrong, RobotsSettingsError stops it."""
        try:
            settings = RobotsSettings.from_settings(self.crawler.settings)
        except RobotsSettingsError as error:
            report_unknown_settings(self.crawler.settings)  # otherwise the middleware does
            compat.end_crawl(self.crawler, error)
            raise
        return settings.with_changes(now=self.clock.wall)

    @property
    def holds_requests(self) -> bool:
        """Whether requests wait for robots.txt files and delays."""
        return self.has_middleware and self.settings.enforces

    def origin_to_wait_for(self, request: Request) -> Origin | None:
        """Returns the origin whose robots.txt must be known before *request* is sent; None if none
        must.
        """
        try:
            origin = origin_to_ask(request)
            if origin is None or OVERRIDE_META_KEY not in request.meta:
                return origin
            return origin if self.settings_of(request, origin).needs_file else None
        except ValueError:  # it will fail in the middleware, which calls its errback
            return None

    def settings_of(self, request: Request, origin: Origin) -> RobotsSettings:
        """Returns the settings of *request* to *origin*: the same object for the same override.

        Raises RobotsOverrideError, naming key and value, if its own override is wrong.
        """
        settings, value = self.settings.for_origin(origin), request.meta.get(OVERRIDE_META_KEY)
        if value is None:
            return settings
        text = repr(value)
        if not override_belongs(request, origin, text):
            return settings
        key = settings, text
        made = self._overridden.get(key)
        try:
            made = made or settings.under(override_from(value, OVERRIDE_KEYS))
        except WrongPartsError as error:
            raise RobotsOverrideError("; ".join(error.of(OVERRIDE_META_KEY))) from error
        if made.reads_pages and not self.settings.reads_any_pages:
            raise RobotsOverrideError(
                f"{OVERRIDE_META_KEY}: nofollow and noindex have no effect, as this crawl reads no "
                "pages; expected another value than ignore in ROBOTS_NOFOLLOW, ROBOTS_NOINDEX or "
                "ROBOTS_OVERRIDES"
            )
        self._overridden.put(key, made)
        return settings if self.settings.has_ended(made, origin) else made

    def get(self, kind: type[_Part]) -> _Part:
        """Returns the one object of *kind* in this crawl, made on first use, by ``of_crawl`` if
        *kind* has that.

        Call it only if the middleware is in use.
        """
        part = self._parts.get(kind)
        if part is None:
            make: Callable[[Crawl], _Part] = getattr(kind, "of_crawl", kind)
            part = self._parts[kind] = make(self)
        return cast("_Part", part)
