"""What answers say of the pace of a host: Retry-After (``backoff.py``) and refusals.

``refusals.py`` counts refusals, ``slowing.py`` acts on them, ``throttle.py`` finds the pace.
``shared`` is what crawls that keep one pace ask each other.
"""
