"""How soon a request may be sent: floors under the delays of downloader slots.

``pacing.py`` is what others ask. It ties an origin to a slot (``floors.py``), and ``slot_floor.py``
sets the delay of that slot: from a Crawl-delay, from a Retry-After (``backoff.py``), or from
refusals (``refusals.py`` counts them, ``slowing.py`` acts on them, ``throttle.py`` finds the pace).
"""
