"""An error of this package itself closes the crawl, instead of leaving it idle for ever.

Scrapy catches what a queue, a signal handler or a timer raises, logs it, and goes on without the
request, the delay or the wake-up that came of it. So each way in is guarded:

- methods that Scrapy calls: :func:`guarded`;
- handlers of signals and timers, wherever they are: :class:`OwnErrors`, by itself;
- what a request meets on its way: ``RobotsMiddleware.process_exception`` asks
  :func:`is_of_this_package`.

What is queued stays where it is. Exceptions of others take their usual way.
"""

from __future__ import annotations

import logging
import platform
from functools import partial, wraps
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import ReferenceType, WeakKeyDictionary

import scrapy
import twisted

from scrapy_robots_plus import compat
from scrapy_robots_plus._version import __version__

from . import stats

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy.crawler import Crawler

    from .clock import CallLater, Cancellable

logger = logging.getLogger(__name__)

REASON = "robots_error"
"""Why the spider is closed."""

_MISTAKES = (ArithmeticError, AssertionError, AttributeError, LookupError, NameError, TypeError)
"""Nobody raises these on purpose."""
_PACKAGE = f"{__name__.partition('.')[0]}."
_METHOD = TypeVar("_METHOD", bound="Callable[..., Any]")

_of_crawls: WeakKeyDictionary[Crawler, ReferenceType[OwnErrors]] = WeakKeyDictionary()
"""Weak on both sides: the signals of a crawler hold them."""


class OwnErrors:
    """Those of one crawl. The first is told and closes it; the others are counted."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self.happened = False
        compat.watch_signals(crawler, self._handler_failed)

    @classmethod
    def of(cls, crawler: Crawler) -> OwnErrors:
        """Those of *crawler*."""
        reference = _of_crawls.get(crawler)
        found = None if reference is None else reference()
        if found is None:
            found = cls(crawler)
            _of_crawls[crawler] = ReferenceType(found)
        return found

    def tell(self, part: str, error: BaseException) -> None:
        """*error* was raised in *part*."""
        compat.stats_of(self._crawler).inc_value(stats.OWN_ERRORS)
        if self.happened:
            return
        self.happened = True
        logger.error(
            "An error of scrapy-robots-plus itself, in %s: %r. The crawl is closed (%s); what its "
            "job or its shared queue holds stays there. Please report this, with the lines below: "
            "scrapy-robots-plus %s, Scrapy %s, Twisted %s, Python %s",
            part,
            error,
            REASON,
            __version__,
            scrapy.__version__,
            twisted.__version__,
            platform.python_version(),
            exc_info=error,
            extra={"spider": self._crawler.spider},
        )
        compat.close_crawl(self._crawler, REASON)

    def timers(self, call_later: CallLater) -> CallLater:
        """*call_later*, for functions that may raise."""

        def guarded_later(seconds: float, call: Callable[[], None]) -> Cancellable:
            return call_later(seconds, partial(self._ring, call))

        return guarded_later

    def _ring(self, call: Callable[[], None]) -> None:
        try:
            call()
        except Exception as error:  # noqa: BLE001 - whatever it is
            self.tell("a timer", error)

    def _handler_failed(self, handler: object, error: Exception) -> None:
        if is_of_this_package(error):
            self.tell(f"a handler of a signal, {getattr(handler, '__qualname__', '?')}", error)


def guarded(part: str, otherwise: object = None) -> Callable[[_METHOD], _METHOD]:
    """Decorates a method that Scrapy calls, of an object with the attribute ``crawler``.

    What it raises is told as an error in *part*; then it returns *otherwise*.
    """

    def decorate(method: _METHOD) -> _METHOD:
        @wraps(method)
        def instead(self: Any, *arguments: Any, **named: Any) -> Any:
            try:
                return method(self, *arguments, **named)
            except Exception as error:  # noqa: BLE001 - whatever it is
                OwnErrors.of(self.crawler).tell(part, error)
                return otherwise

        return instead  # type: ignore[return-value]

    return decorate


def is_of_this_package(error: BaseException) -> bool:
    """Whether *error* is a mistake in the code of this package: raised there, not on purpose."""
    trace, module = error.__traceback__, None
    while trace is not None:
        module, trace = trace.tb_frame.f_globals.get("__name__"), trace.tb_next
    return isinstance(error, _MISTAKES) and f"{module}.".startswith(_PACKAGE)
