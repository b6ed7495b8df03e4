"""The limits of RFC 9309, each beside its section."""

MAX_REDIRECTS = 5
"""2.3.1.2: crawlers should follow at least five consecutive redirects."""

MIN_PARSED_BYTES = 512_000
"""2.5: the parsing limit must be at least 500 kibibytes."""

MAX_CACHE_SECONDS = 86_400.0
"""2.4: a cached version should not be used for more than 24 hours."""
