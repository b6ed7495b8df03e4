"""Signals of the package, beside Scrapy's own ``robots_parsed`` (Scrapy 2.18 and later)."""

request_disallowed = object()
"""Sent when a request is dropped: ``handler(request, verdict)``, not asynchronous."""

robots_changed = object()
"""Sent when a robots.txt says something else than before, not asynchronous:
``handler(origin, before, after, change)``. ``before`` and ``after`` are a
:class:`~scrapy_robots_plus.crawl.policies.policy.Policy` each, ``change`` is a
:class:`~scrapy_robots_plus.crawl.policies.changes.RobotsChange`."""
