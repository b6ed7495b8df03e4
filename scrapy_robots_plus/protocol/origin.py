"""The origin that one robots.txt applies to."""

from __future__ import annotations

import re
from typing import NamedTuple
from urllib.parse import ParseResult, SplitResult, urlsplit

ROBOTS_TXT = "/robots.txt"
TDMREP = "/.well-known/tdmrep.json"
"""The file that says whether an origin's content may be mined (TDM Reservation Protocol)."""

_DEFAULT_PORTS = {"http": 80, "https": 443}
_SCHEMES = {scheme: scheme for scheme in _DEFAULT_PORTS}  # the same string for all origins
_BARE_URL = re.compile(r"(https?)://([a-z0-9._-]+)(?::([1-9][0-9]{0,3}|[1-5][0-9]{4}))?(?![^/?#])")

LONGEST_URL = 8_000
"""The longest URL that is kept of those a site names (RFC 9110 4.1 recommends 8,000 octets)."""


class Origin(NamedTuple):
    """A scheme, host and port: each origin has its own robots.txt (RFC 9309 2.3, RFC 6454)."""

    scheme: str
    """``http`` or ``https``."""
    host: str
    """The host in lower case; an IPv6 address has no brackets."""
    port: int
    """The port: that of the scheme, 80 or 443, if the URL names none."""
    path: str = ROBOTS_TXT
    """The file that is meant: ``/robots.txt``, or W3C's ``/.well-known/tdmrep.json``."""

    @classmethod
    def of(cls, url: str | SplitResult | ParseResult) -> Origin | None:
        """Returns the origin of *url*; None without a host, or if it is neither http nor https.

        robots.txt applies to no other URLs. Raises ValueError if the port or an IPv6 address is
        invalid.
        """
        if isinstance(url, str) and (plain := cls.plain(url)):
            return plain
        parts = urlsplit(url) if isinstance(url, str) else url
        if parts.scheme not in _DEFAULT_PORTS or not parts.hostname:
            return None
        port = _DEFAULT_PORTS[parts.scheme] if parts.port is None else parts.port
        return cls(_SCHEMES[parts.scheme], parts.hostname, port)

    @classmethod
    def plain(cls, url: str) -> Origin | None:
        """Returns the origin of *url* in a third of the time; None if only :meth:`of` can tell.

        Most URLs are plain: lower case, without a user.
        """
        bare = _BARE_URL.match(url)
        if bare is None:
            return None
        scheme, host, named = bare.groups()
        port = int(named) if named else _DEFAULT_PORTS[scheme]
        return tuple.__new__(cls, (_SCHEMES[scheme], host, port, ROBOTS_TXT))  # as ``_make`` does

    @property
    def authority(self) -> str:
        """``host`` or ``host:port``, as in a URL."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def robots_url(self) -> str:
        """The URL of the origin's robots.txt (RFC 9309 2.3), or of the other file that is meant."""
        return f"{self.scheme}://{self.authority}{self.path}"

    @property
    def tdmrep(self) -> Origin:
        """The origin with its ``tdmrep.json`` as the file that is meant."""
        return self._replace(path=TDMREP)

    def __str__(self) -> str:
        return f"{self.scheme}://{self.authority}{'' if self.path == ROBOTS_TXT else self.path}"
