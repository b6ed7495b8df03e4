"""What answers say of the pace of a host: Retry-After (``backoff.py``) and refusals.

``throttle.py`` says what is a refusal and finds the pace, ``slowing.py`` acts on it.
``shared`` is what crawls that keep one pace ask each other.
"""
