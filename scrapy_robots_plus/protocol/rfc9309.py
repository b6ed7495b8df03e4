"""The limits and the grammar of RFC 9309, each beside its section."""

from __future__ import annotations

from typing import Final

MAX_BYTES: Final = 512_000
"""The number of octets of a body that are read: the limit must be at least 500 KiB (2.5)."""

MAX_LINE: Final = 2083 * 8 - 1
"""The number of octets of a line that are read. The RFC sets no limit; this is the reference
parser's, eight times the longest URL that browsers used to accept."""

MAX_REDIRECTS: Final = 5
"""The number of redirects in a row that are followed: it should be at least five (2.3.1.2)."""

EXPIRY: Final = 86_400
"""The seconds for which a copy may be used: no more than 24 hours (2.4)."""

UNRESERVED: Final = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
"""Octets that mean the same whether escaped or not (RFC 3986 2.3)."""

RESERVED: Final = frozenset(b":/?#[]@!$&'()*+,;=")
"""Octets whose meaning may change when they are escaped (RFC 3986 2.2)."""

SENT_ESCAPED: Final = frozenset(b"[]'")
"""Reserved octets that clients send escaped: in a rule, they mean their escape (2.2.2). No path or
query may contain a raw ``[`` or ``]`` (RFC 3986 3.3, 3.4), and clients escape ``'`` as well."""
