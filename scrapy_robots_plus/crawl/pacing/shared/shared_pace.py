"""What crawls that keep one pace together are asked and told."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy import Request
    from twisted.internet.defer import Deferred


GO_SECONDS = 2.0
"""A request that may leave does so within this time of the question, or not at all."""


class Ask(NamedTuple):
    """May a request leave now, as far as other crawls are concerned?

    Its own crawl has no objection: the delay has passed since its last request to the host.
    """

    host: str
    """In lower case, without the port."""
    ticket: str
    """Who asks: a slot of a crawl, as ``crawl/slot``. It asks for one request at a time."""
    delay: float
    """Seconds to keep between this request and those before and after it, of any crawl."""
    patience: float
    """For how many seconds the request may be under way to the host before it counts as sent."""
    since: float
    """Seconds since the last request of this slot has left; infinity if there was none."""
    request: Request | None
    """None if there is none yet: the turn is only reserved."""

    def wait_alone(self, crawls: int) -> float:
        """Seconds to wait if nobody can be asked: as if so many crawls took turns.

        While the last request may be under way, it is not known to be longer.
        """
        return max(0.0, self.delay * crawls - max(0.0, self.since))


class SharedPace(Protocol):
    """Decides whose request to a host leaves next. Hosts without a delay are not asked about.

    None of its methods waits, and none raises an exception.
    """

    def ask(self, asked: Ask, answer: Callable[[float], None]) -> None:
        """Calls *answer* once, now or later in this loop: with 0.0 if the request may leave at
        once, otherwise with the seconds after which to ask again.

        If there is no request yet, 0.0 says that it is time to come with one. Who asks again keeps
        its place. A request that was allowed leaves at once, or :meth:`unused` follows.
        """

    def left(self, host: str, ticket: str, ago: float, delay: float) -> None:
        """The last request of *ticket* left no later than *ago* seconds ago: its answer has come,
        or it failed, or it went without a turn.

        If *ago* is below 0, it may still be under way for so many seconds.
        """

    def unused(self, host: str, ticket: str, ago: float) -> None:
        """*ticket* gives its turn back: no request waits for it. *ago*: see :meth:`left`; infinity
        if it has sent nothing yet.
        """

    def leave_alone(self, host: str, seconds: float) -> None:
        """The host has asked for no requests for so long."""

    def close(self) -> Deferred[bool] | None:
        """The crawl is over; nothing else is called after that. Its end waits for the Deferred."""
