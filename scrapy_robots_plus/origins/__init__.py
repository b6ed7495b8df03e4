"""What is known of each origin: its robots.txt, and the policy made of it.

``policies.py`` has the policy of each origin; ``store_or_site.py`` gets its robots.txt from the
store, with ``crawl_store.py``, or from the site, with ``fetcher.py``. ``freshness.py`` and
``judging.py`` are pure.
"""
