"""What is known of a site?

``policies.py`` has the policy of each origin; ``retrieval.py`` looks for its robots.txt in the
store and, by ``fetcher.py``, at the site. ``decide.py`` and ``judging.py`` are pure.
"""
