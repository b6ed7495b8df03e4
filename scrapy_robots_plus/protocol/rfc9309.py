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

UNRESERVED: Final = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
"""Octets that mean the same escaped or not (RFC 3986 2.3)."""

RESERVED: Final = frozenset(b":/?#[]@!$&'()*+,;=")
"""Octets that may mean something else when they are escaped (RFC 3986 2.2)."""

SENT_ESCAPED: Final = frozenset(b"[]'")
"""Reserved octets that arrive escaped: a rule which has one means its escape (2.2.2). No path or
query may hold a raw ``[`` or ``]`` (RFC 3986 3.3, 3.4), and clients escape ``'`` as well."""
