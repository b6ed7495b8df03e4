"""The exceptions for requests that are dropped because of robots.txt or of their hosts, and the
signals of the package, beside Scrapy's own ``robots_parsed`` (Scrapy 2.18 and later).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.exceptions import DropItem, IgnoreRequest

from scrapy_robots_plus.protocol.printable import printable
from scrapy_robots_plus.protocol.verdict import Verdict

if TYPE_CHECKING:
    from scrapy_robots_plus.protocol.directives import PageStatement


class RobotsIgnored(IgnoreRequest):
    """The base class of the exceptions for requests that are dropped.

    Because of robots.txt: :exc:`~scrapy_robots_plus.RobotsDisallowed`,
    :exc:`~scrapy_robots_plus.RobotsUnreachable`, :exc:`~scrapy_robots_plus.RobotsUseDisallowed`.
    Because the host was given up or refuses pages: :exc:`~scrapy_robots_plus.RobotsGivenUp`,
    :exc:`~scrapy_robots_plus.RobotsWalled`.

    It is an :exc:`~scrapy.exceptions.IgnoreRequest`, as Scrapy's own middleware raises.
    """

    SAYS = "Forbidden by robots.txt"
    """What happened to the request, in words."""

    def __init__(self, url: str, verdict: Verdict) -> None:
        super().__init__(url, verdict)
        self.url = url
        """The URL that was denied, a :class:`str`."""
        self.verdict = verdict
        """The reason, a :class:`~scrapy_robots_plus.Verdict`."""

    def __str__(self) -> str:  # made on demand: most are never shown
        return f"{self.SAYS}: {printable(self.url)} ({self.verdict.describe()})"


class RobotsDisallowed(RobotsIgnored):
    """Raised when the robots.txt was read and denies the request (RFC 9309 2.3.1.1)."""


class RobotsUnreachable(RobotsIgnored):
    """Raised when the robots.txt cannot be read, so nothing may be fetched (RFC 9309 2.3.1.4), or
    when the spider closed before it was read.
    """


class RobotsGivenUp(RobotsIgnored):
    """Raised when the host answers nothing but 429 and is given up (``ROBOTS_GIVE_UP_AFTER``)."""

    SAYS = "Given up"


class RobotsWalled(RobotsIgnored):
    """Raised when ``ROBOTS_WALLS`` is ``stop`` and a site refuses pages that robots.txt allows."""

    SAYS = "Walled off"


class RobotsUseDisallowed(RobotsIgnored):
    """Raised when the site objects to a use in ``ROBOTS_AI_USES``, in its robots.txt or in a header
    of the page, and ``ROBOTS_AI_POLICY`` is ``skip``."""

    SAYS = "Skipped for a preference of its site"


class RobotsDuplicate(IgnoreRequest):
    """Raised when a site's Clean-param calls a URL equal to one before (``ROBOTS_CLEAN_PARAM``).

    It is an :exc:`~scrapy.exceptions.IgnoreRequest`.
    """

    def __init__(self, url: str, cleaned: str) -> None:
        super().__init__(f"Equal to an earlier URL by Clean-param: {printable(url)}")
        self.url = url
        """The URL that was dropped, a :class:`str`."""
        self.cleaned = cleaned
        """The URL without the parameters that do not count, a :class:`str`."""


class RobotsOverrideError(IgnoreRequest, ValueError):
    """Raised when the ``robots_override`` in a request's meta is wrong, so it is not sent.

    The message names key, value and what is expected; the keys are those of ``ROBOTS_OVERRIDES``.
    It is an :exc:`~scrapy.exceptions.IgnoreRequest`.
    """


class RobotsNoindex(DropItem):
    """The exception for items that are dropped because their page says ``noindex``, and
    ``ROBOTS_NOINDEX`` is ``obey``.

    It is never raised, only sent with Scrapy's signal ``item_dropped``.
    """

    def __init__(self, url: str, statement: PageStatement) -> None:
        super().__init__(f"{printable(url)} says {statement.describe()}", log_level="DEBUG")
        self.url = url
        """The URL of the page, a :class:`str`."""
        self.statement = statement
        """What the page says, a :class:`~scrapy_robots_plus.protocol.directives.PageStatement`."""


request_disallowed = object()
"""The signal sent when a request is dropped, before Scrapy's own signals of that.

``handler(request, verdict)``, which must not be asynchronous, gets the :class:`scrapy.Request
<scrapy.http.Request>` and the :class:`~scrapy_robots_plus.Verdict`."""

request_not_followed = object()
"""The signal sent when a request is dropped because it comes from a page with ``nofollow``, and
``ROBOTS_NOFOLLOW`` is ``obey``.

``handler(request, response, statement)``, which must not be asynchronous, gets the
:class:`scrapy.Request <scrapy.http.Request>`, the page, and the
:class:`~scrapy_robots_plus.protocol.directives.PageStatement` of the page. For items of a page with
``noindex``, connect to Scrapy's ``item_dropped``."""

robots_changed = object()
"""The signal sent when a robots.txt has changed during the crawl (RFC 9309 2.4).

``handler(origin, before, after)``, which must not be asynchronous, gets an
:class:`~scrapy_robots_plus.Origin` and the old and the new :class:`~scrapy_robots_plus.Policy`.
:func:`~scrapy_robots_plus.protocol.difference.difference` of ``before.parsed`` and ``after.parsed``
says what has changed."""

sitemaps_found = object()
"""The signal sent when the sitemaps that a robots.txt names are known
(https://www.sitemaps.org/protocol.html).

``handler(origin, urls)``, which must not be asynchronous, gets the
:class:`~scrapy_robots_plus.Origin` of the robots.txt and a tuple of :class:`str`: absolute http and
https URLs of any host, each once, in the order of the file, at least one and at most 5,000. A file
from ``ROBOTS_STORE`` or a cache counts like one that was fetched. The signal is sent once for each
origin of a crawl, and again if a refresh brings another list."""
