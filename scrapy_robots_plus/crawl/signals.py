"""Signals of the package, beside Scrapy's own ``robots_parsed`` (Scrapy 2.18 and later)."""

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

``handler(origin, before, after, change)``, not asynchronous. ``origin`` is an
:class:`~scrapy_robots_plus.Origin`, ``before`` and ``after`` are a
:class:`~scrapy_robots_plus.Policy` each, ``change`` is a
:class:`~scrapy_robots_plus.RobotsChange`."""

sitemaps_found = object()
"""Sent when the sitemaps that a robots.txt names are known (https://www.sitemaps.org/protocol.html).

``handler(origin, urls)``, not asynchronous. ``origin`` is the :class:`~scrapy_robots_plus.Origin`
of the robots.txt, ``urls`` a tuple of :class:`str`: absolute http and https URLs of any host, each
once, in the order of the file, at least one and at most 5,000. A file that comes
from ``ROBOTS_STORE`` or a cache counts like one that was fetched. Sent once for each origin of a
crawl, and again if a refresh brings another list."""
