"""The exceptions of requests that are dropped because of robots.txt, or of their hosts, and the
signals of the package, beside Scrapy's own ``robots_parsed`` (Scrapy 2.18 and later).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.exceptions import DropItem, IgnoreRequest

from scrapy_robots_plus.protocol.printable import printable
from scrapy_robots_plus.protocol.verdict import Reason, Verdict

if TYPE_CHECKING:
    from scrapy_robots_plus.protocol.directives import PageStatement


class RobotsIgnored(IgnoreRequest):
    """A request was dropped for its robots.txt: a :exc:`~scrapy_robots_plus.RobotsDisallowed`, a
    :exc:`~scrapy_robots_plus.RobotsUnreachable` or a
    :exc:`~scrapy_robots_plus.RobotsUseDisallowed`. Or its host was given up or refuses
    pages: a :exc:`~scrapy_robots_plus.RobotsGivenUp`, a :exc:`~scrapy_robots_plus.RobotsWalled`.

    It is an :exc:`~scrapy.exceptions.IgnoreRequest`, as Scrapy's own middleware raises.
    """

    SAYS = "Forbidden by robots.txt"
    """What happened to the request, in words."""

    def __init__(self, url: str, verdict: Verdict) -> None:
        super().__init__(url, verdict)
        self.url = url
        """What was denied, a :class:`str`."""
        self.verdict = verdict
        """Why, a :class:`~scrapy_robots_plus.Verdict`."""

    def __str__(self) -> str:  # made when it is asked for: of most, nobody does
        return f"{self.SAYS}: {printable(self.url)} ({self.verdict.describe()})"


class RobotsDisallowed(RobotsIgnored):
    """The robots.txt was read and does not let the request through (RFC 9309 2.3.1.1)."""


class RobotsUnreachable(RobotsIgnored):
    """The robots.txt cannot be read, so nothing may be fetched (RFC 9309 2.3.1.4). Or the spider
    closed before it was read.
    """


class RobotsGivenUp(RobotsIgnored):
    """The host has answered nothing but 429, and is given up (``ROBOTS_GIVE_UP_AFTER``)."""

    SAYS = "Given up"


class RobotsWalled(RobotsIgnored):
    """The site refuses pages that its robots.txt allows, and ``ROBOTS_WALLS`` is ``stop``."""

    SAYS = "Walled off"


class RobotsUseDisallowed(RobotsIgnored):
    """The site objects to a use in ``ROBOTS_AI_USES``, in its robots.txt or in a header of the
    page, and ``ROBOTS_AI_POLICY`` is ``skip``."""

    SAYS = "Skipped for a preference of its site"


class RobotsDuplicate(IgnoreRequest):
    """Another URL was requested that the site's Clean-param calls equal (``ROBOTS_CLEAN_PARAM``).

    It is an :exc:`~scrapy.exceptions.IgnoreRequest`.
    """

    def __init__(self, url: str, cleaned: str) -> None:
        super().__init__(f"Equal to one before by Clean-param: {printable(url)}")
        self.url = url
        """What was dropped, a :class:`str`."""
        self.cleaned = cleaned
        """The same without the parameters that do not count, a :class:`str`."""


class RobotsOverrideError(IgnoreRequest, ValueError):
    """The ``robots_override`` in the meta of a request is wrong, so the request is not sent.

    The message names key, value, and what is expected; the keys are those of ``ROBOTS_OVERRIDES``.
    It is an :exc:`~scrapy.exceptions.IgnoreRequest`.
    """


class RobotsNoindex(DropItem):
    """An item was dropped because its page says ``noindex``, and ``ROBOTS_NOINDEX`` is ``obey``.

    Nothing raises it: it is the exception in Scrapy's signal ``item_dropped``.
    """

    def __init__(self, url: str, statement: PageStatement) -> None:
        super().__init__(f"{printable(url)} says {statement.describe()}", log_level="DEBUG")
        self.url = url
        """The page, a :class:`str`."""
        self.statement = statement
        """What it says, a :class:`~scrapy_robots_plus.protocol.directives.PageStatement`."""


class HeldAtClosing(IgnoreRequest):
    """The spider closed while the request waited for its host, or for a connection of this
    machine.
    """

    def __init__(self) -> None:
        waited_for = "its host, other crawls or a connection of this machine"
        super().__init__(f"the spider closed while the request waited for {waited_for}")


class HeldAtDenial(IgnoreRequest):
    """While the request waited, its host was given up, or rules came that deny it."""


_OF_REASON: dict[Reason, type[RobotsIgnored]] = {
    Reason.AI_PREFERENCE: RobotsUseDisallowed,
    Reason.GIVEN_UP: RobotsGivenUp,
    Reason.WALLED: RobotsWalled,
}


def denial_of(verdict: Verdict) -> type[RobotsIgnored]:
    """The exception to raise when *verdict* denies a URL."""
    kind = RobotsUnreachable if verdict.reason.is_unread else RobotsDisallowed
    return _OF_REASON.get(verdict.reason, kind)


request_disallowed = object()
"""Sent when a request is dropped, beside Scrapy's own signals, which come later.

``handler(request, verdict)``, not asynchronous, gets the :class:`scrapy.Request
<scrapy.http.Request>` and the :class:`~scrapy_robots_plus.Verdict`."""

request_not_followed = object()
"""Sent when a request is dropped because it was made of a page with ``nofollow``, and
``ROBOTS_NOFOLLOW`` is ``obey``.

``handler(request, response, statement)``, not asynchronous, gets the :class:`scrapy.Request
<scrapy.http.Request>`, the page, and the
:class:`~scrapy_robots_plus.protocol.directives.PageStatement` of the page. For items of a page with
``noindex`` there is Scrapy's ``item_dropped``."""

robots_changed = object()
"""Sent when a robots.txt has changed during the crawl (RFC 9309 2.4).

``handler(origin, before, after)``, not asynchronous. ``origin`` is an
:class:`~scrapy_robots_plus.Origin`, ``before`` and ``after`` are a
:class:`~scrapy_robots_plus.Policy` each. What has changed,
:func:`~scrapy_robots_plus.protocol.difference.difference` of ``before.parsed`` and ``after.parsed``
says."""

sitemaps_found = object()
"""Sent when the sitemaps that a robots.txt names are known (https://www.sitemaps.org/protocol.html).

``handler(origin, urls)``, not asynchronous. ``origin`` is the :class:`~scrapy_robots_plus.Origin`
of the robots.txt, ``urls`` a tuple of :class:`str`: absolute http and https URLs of any host, each
once, in the order of the file, at least one and at most 5,000. A file that comes
from ``ROBOTS_STORE`` or a cache counts like one that was fetched. Sent once for each origin of a
crawl, and again if a refresh brings another list."""
