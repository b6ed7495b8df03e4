"""Signals of the package, beside Scrapy's own ``robots_parsed`` (Scrapy 2.18 and later)."""

request_disallowed = object()
"""Sent when a request is dropped: ``handler(request, verdict)``, not asynchronous."""
