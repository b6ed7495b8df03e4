"""The limits and the grammar of RFC 9309, each beside its section."""

from __future__ import annotations

from typing import Final

MAX_BYTES: Final = 512_000
"""Octets of a body that are read: the parsing limit must be at least 500 KiB (2.5)."""

MAX_LINE: Final = 2083 * 8 - 1
"""Octets of a line that are read. The RFC sets none; this is the reference parser's, eight times
the longest URL that browsers used to take."""

MAX_REDIRECTS: Final = 5
"""Redirects in a row that are followed: crawlers should follow at least five (2.3.1.2)."""

EXPIRY: Final = 86_400
"""Seconds that a copy may be used: no more than 24 hours (2.4)."""

WHITESPACE: Final = b" \t\n\v\f\r"
"""What is trimmed from keys and values. The RFC has space and tab (2.2, ``WS``); the reference
parser trims the other three as well."""

TOKEN_OCTETS: Final = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_-")
"""What a product token may hold (2.2.1)."""

UNRESERVED: Final = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
"""Octets that mean the same escaped or not (RFC 3986 2.3)."""

RESERVED: Final = frozenset(b":/?#[]@!$&'()*+,;=")
"""Octets that may mean something else when they are escaped (RFC 3986 2.2)."""
