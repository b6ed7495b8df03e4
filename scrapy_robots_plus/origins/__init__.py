"""What is known of a site?

``policies.py`` has the policy of each origin; ``store_or_site.py`` looks for its robots.txt in the
store and, by ``fetcher.py``, at the site. ``freshness.py`` and ``judging.py`` are pure.
"""
