"""Signals of the package, beside Scrapy's own ``robots_parsed`` (Scrapy 2.18 and later)."""

request_disallowed = object()
"""Sent when a request is dropped, beside Scrapy's own signals, which come later.

``handler(request, verdict)``, not asynchronous, gets the :class:`scrapy.Request
<scrapy.http.Request>` and the :class:`~scrapy_robots_plus.Verdict`."""

robots_changed = object()
"""Sent when a robots.txt has changed during the crawl (RFC 9309 2.4).

``handler(origin, before, after, change)``, not asynchronous. ``origin`` is an
:class:`~scrapy_robots_plus.Origin`, ``before`` and ``after`` are a
:class:`~scrapy_robots_plus.Policy` each, ``change`` is a
:class:`~scrapy_robots_plus.RobotsChange`."""
